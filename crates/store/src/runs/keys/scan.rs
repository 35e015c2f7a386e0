//! Reading runs from end to end: into a filter, or into one larger run.

use std::sync::Arc;

use super::block::{Groups, NotABlock, key_of};
use super::filter::Filter;
use super::run::{KeyRun, KeyRunWriter};
use crate::runs::{RunFolder, RunsError};

const READ_BYTES: u64 = 64 << 10;

/// All visible keys of a run in ascending order, some blocks at a time.
pub struct Scan<'a> {
    run: &'a KeyRun,
    block: usize,
    bytes: Vec<u8>,
}

impl<'a> Scan<'a> {
    pub fn new(run: &'a KeyRun) -> Scan<'a> {
        Scan {
            run,
            block: 0,
            bytes: Vec::new(),
        }
    }

    /// Append the next keys; `false` when there are none left.
    pub fn next(&mut self, keys: &mut Vec<u128>) -> Result<bool, RunsError> {
        let offsets = self.run.offsets();
        let before = keys.len();
        while keys.len() == before && self.block < self.run.blocks() {
            let first = self.block;
            let reach = offsets[first] + READ_BYTES;
            let within = offsets[first + 1..].partition_point(|end| *end <= reach);
            let end = first + within.max(1);
            self.run.read(first..end, &mut self.bytes)?;
            for block in first..end {
                let (bytes, offset) = self.run.block(&self.bytes, first, block);
                decode(bytes, offset, keys).map_err(|NotABlock| self.run.file.damaged(offset))?;
            }
            self.block = end;
            self.clip(before, keys);
        }
        Ok(keys.len() > before)
    }

    /// Only the first and last blocks can hold keys that are not to be seen.
    fn clip(&self, before: usize, keys: &mut Vec<u128>) {
        let seen = before + keys[before..].partition_point(|key| *key <= self.run.to);
        keys.truncate(seen);
        let unseen = keys[before..].partition_point(|key| *key < self.run.from);
        keys.drain(before..before + unseen);
    }
}

fn decode(bytes: &[u8], offset: u64, keys: &mut Vec<u128>) -> Result<(), NotABlock> {
    let mut groups = Groups::open(bytes, offset)?;
    while let Some((host, urls)) = groups.next()? {
        keys.extend(
            urls.iter()
                .map(|url| key_of(host, u64::from_le_bytes(*url))),
        );
    }
    Ok(())
}

/// Add all visible keys to the filter. Gives their number.
pub fn add_to_filter(run: &KeyRun, filter: &Filter) -> Result<u64, RunsError> {
    let mut scan = Scan::new(run);
    let mut keys = Vec::new();
    let mut count = 0;
    while scan.next(&mut keys)? {
        keys.iter().for_each(|key| filter.add(*key));
        count += keys.len() as u64;
        keys.clear();
    }
    Ok(count)
}

struct Source<'a> {
    scan: Scan<'a>,
    keys: Vec<u128>,
    /// How many of `keys` are already written.
    taken: usize,
}

impl Source<'_> {
    fn refill(&mut self) -> Result<(), RunsError> {
        if self.taken == self.keys.len() {
            self.keys.clear();
            self.taken = 0;
            self.scan.next(&mut self.keys)?;
        }
        Ok(())
    }

    fn take_up_to(&mut self, limit: u128) -> &[u128] {
        let start = self.taken;
        let count = self.keys[start..].partition_point(|key| *key <= limit);
        self.taken += count;
        &self.keys[start..self.taken]
    }
}

/// One run with the visible keys of all these.
pub fn merge(
    folder: &RunFolder,
    runs: &[Arc<KeyRun>],
    block_bytes: usize,
) -> Result<KeyRun, RunsError> {
    let mut writer = KeyRunWriter::begin(folder, block_bytes)?;
    let mut sources: Vec<Source> = runs
        .iter()
        .map(|run| Source {
            scan: Scan::new(run),
            keys: Vec::new(),
            taken: 0,
        })
        .collect();
    let mut round: Vec<u128> = Vec::new();
    loop {
        for source in &mut sources {
            source.refill()?;
        }
        sources.retain(|source| !source.keys.is_empty());
        // Up to here every source has all its keys in memory.
        let lasts = sources.iter().filter_map(|source| source.keys.last());
        let Some(&limit) = lasts.min() else {
            return writer.finish();
        };
        round.clear();
        for source in &mut sources {
            round.extend_from_slice(source.take_up_to(limit));
        }
        // The stable sort finds the ascending pieces and merges them: faster
        // than a heap of sources, one key at a time.
        round.sort();
        round.dedup();
        for &key in &round {
            writer.push(key)?;
        }
    }
}
