//! Looking keys up in runs: many at once in one pass, or one by itself.

use std::sync::Arc;

use super::block::{Groups, NotABlock, key_of};
use super::run::KeyRun;
use crate::runs::RunsError;

/// Blocks are read together up to this size.
const READ_BYTES: u64 = 512 << 10;
/// So many bytes that nobody asked for are read rather than skipped:
/// stopping a read and beginning another costs more.
const GAP_BYTES: u64 = 4 << 10;

/// A key somebody waits to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    pub host: u64,
    pub url: u64,
    pub token: u64,
}

impl Asked {
    pub fn key(&self) -> u128 {
        key_of(self.host, self.url)
    }
}

/// What a batch came to.
#[derive(Default)]
pub struct Confirmed {
    pub found: Vec<Asked>,
    /// In none of the runs.
    pub missing: Vec<Asked>,
}

impl Confirmed {
    /// How many keys there is memory for.
    pub fn room(&self) -> usize {
        self.found.capacity() + self.missing.capacity()
    }
}

/// Look all of them up, in each run only as far as still needed. `found` is
/// an empty list.
pub fn confirm(
    mut asked: Vec<Asked>,
    mut found: Vec<Asked>,
    runs: &[Arc<KeyRun>],
) -> Result<Confirmed, RunsError> {
    asked.sort_unstable();
    found.reserve_exact(asked.len());
    // The largest first: it settles most.
    let mut runs: Vec<&KeyRun> = runs.iter().map(Arc::as_ref).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.keys));
    let mut search = Search::default();
    for run in runs {
        search.pass(run, &mut asked, &mut found)?;
    }
    Ok(Confirmed {
        found,
        missing: asked,
    })
}

pub fn contains(run: &KeyRun, key: u128) -> Result<bool, RunsError> {
    let mut asked = vec![Asked {
        host: (key >> 64) as u64,
        url: key as u64,
        token: 0,
    }];
    let mut found = Vec::new();
    Search::default().pass(run, &mut asked, &mut found)?;
    Ok(!found.is_empty())
}

/// Memory that is used again from run to run.
#[derive(Default)]
struct Search {
    bytes: Vec<u8>,
    /// Blocks of one read and the end of the keys asked of each.
    wanted: Vec<(usize, usize)>,
    hits: Vec<bool>,
}

impl Search {
    /// Move what the run holds from `asked`, which is sorted, to `found`.
    fn pass(
        &mut self,
        run: &KeyRun,
        asked: &mut Vec<Asked>,
        found: &mut Vec<Asked>,
    ) -> Result<(), RunsError> {
        let end = asked.partition_point(|asked| asked.key() <= run.to);
        let mut next = asked[..end].partition_point(|asked| asked.key() < run.from);
        self.hits.clear();
        self.hits.resize(next, false);
        let mut block = 0;
        while next < end {
            let Some(first) = run.block_of(asked[next].key(), block) else {
                // Before the first block.
                self.hits.push(false);
                next += 1;
                continue;
            };
            self.plan(run, first, &asked[..end], next);
            block = self.wanted.last().map_or(first, |last| last.0);
            run.read(first..block + 1, &mut self.bytes)?;
            for &(block, until) in &self.wanted {
                let (bytes, offset) = run.block(&self.bytes, first, block);
                look_up(bytes, offset, &asked[next..until], &mut self.hits)
                    .map_err(|NotABlock| run.file.damaged(offset))?;
                next = until;
            }
        }
        self.hits.resize(asked.len(), false);
        let mut hits = self.hits.iter();
        asked.retain(|asked| {
            let hit = hits.next().is_some_and(|hit| *hit);
            if hit {
                found.push(*asked);
            }
            !hit
        });
        Ok(())
    }

    /// Which blocks, from `first` on, to read at once for the keys from `next` on.
    fn plan(&mut self, run: &KeyRun, first: usize, asked: &[Asked], mut next: usize) {
        self.wanted.clear();
        let offsets = run.offsets();
        let reach = offsets[first] + READ_BYTES;
        let mut block = first;
        loop {
            next += match run.end_of(block) {
                Some(end) => asked[next..].iter().take_while(|a| a.key() < end).count(),
                None => asked.len() - next,
            };
            self.wanted.push((block, next));
            let following = asked.get(next).and_then(|a| run.block_of(a.key(), block));
            match following {
                Some(following)
                    if offsets[following] <= offsets[block + 1] + GAP_BYTES
                        && offsets[following + 1] <= reach =>
                {
                    block = following;
                }
                _ => return,
            }
        }
    }
}

/// One answer for each key, appended.
fn look_up(
    bytes: &[u8],
    offset: u64,
    asked: &[Asked],
    hits: &mut Vec<bool>,
) -> Result<(), NotABlock> {
    let mut groups = Groups::open(bytes, offset)?;
    let mut group = groups.next()?;
    for asked in asked {
        while let Some((host, _)) = group
            && host < asked.host
        {
            group = groups.next()?;
        }
        let hit = match &mut group {
            Some((host, urls)) if *host == asked.host => {
                let before = urls.partition_point(|url| u64::from_le_bytes(*url) < asked.url);
                *urls = &urls[before..];
                urls.first()
                    .is_some_and(|url| u64::from_le_bytes(*url) == asked.url)
            }
            _ => false,
        };
        hits.push(hit);
    }
    Ok(())
}
