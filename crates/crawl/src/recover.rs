//! Recovery: the state of a crawl from its newest checkpoint and what its
//! journals say since, through the functions that run live.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhumb_frontier::{Frontier, LaneId};
use rhumb_store::runs::{Keys, RunsError};
use rhumb_store::{
    Disk, Group, JournalError, JournalReader, Position, Record, Timestamp, journals_in,
};
use rhumb_url::{Fingerprinter, PARTITIONS, Partition, Scope, Url};

use crate::counters::Counters;
use crate::engine::CrawlError;
use crate::manifest::{Manifest, Mark, Marks};
use crate::views::Views;

/// How often a set that owes an answer is asked again.
pub const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The links of visits in a journal of an earlier run that are not all taken
/// in: to be read from `next` through `through`.
#[derive(Debug, Clone)]
pub struct Tail {
    pub journal: u16,
    pub from: u64,
    pub next: u64,
    pub through: u64,
    /// The place of the last record.
    pub end: Mark,
}

/// One shard's share of the state.
pub struct ShardState {
    pub frontier: Frontier,
    pub seen: Box<dyn Keys + Send>,
    pub settled: Marks,
    pub tails: Vec<Tail>,
}

/// Read every record of every journal. Damage to one is told when the others
/// have been read.
pub fn each_record(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    mut with: impl FnMut(Position, Record),
) -> Result<(), JournalError> {
    let mut whole = Ok(());
    for journal in journals(disk, folder)? {
        let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, 0);
        while let Some(group) = reader.next_group()? {
            for (position, record) in group.records() {
                if let Ok(record) = record {
                    with(position, record);
                }
            }
        }
        whole = whole.and(reader.check_end());
    }
    whole
}

fn journals(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Vec<u16>, JournalError> {
    journals_in(&**disk, folder).map_err(|error| JournalError::Io {
        path: folder.to_owned(),
        error,
    })
}

pub fn lane_of(print: &Fingerprinter, url: &Url) -> LaneId {
    LaneId(print.lane(url.name()))
}

pub struct Recovery<'a> {
    pub disk: &'a Arc<dyn Disk>,
    pub folder: &'a Path,
    pub print: &'a Fingerprinter,
    pub manifest: &'a Manifest,
    pub scope: &'a mut Scope,
    pub views: &'a Views,
    pub counters: &'a Counters,
    pub now: Duration,
    pub wall: Timestamp,
    /// Whether the state may be written: not where it is only looked at.
    pub writes: bool,
}

/// What recovery learns about the crawl as a whole.
#[derive(Default)]
pub struct Recovered {
    /// URLs that wait, over all shards, and tails whose links are not taken in.
    pub pending: usize,
    /// Where the committed part of each archive file ends, of those that were
    /// written since the checkpoint.
    pub archive_ends: HashMap<String, u64>,
    pub seeds: u64,
    /// The last record of each journal.
    pub ends: Marks,
    /// When each journal was closed in good order.
    pub stops: BTreeMap<u16, Option<Timestamp>>,
    /// How long nothing was asked of anybody, for certain.
    pub rested: Duration,
}

impl Recovery<'_> {
    pub fn run(&mut self, shards: &mut [ShardState]) -> Result<Recovered, CrawlError> {
        let mut result = Recovered::default();
        self.begin(shards, &mut result)?;
        self.replay(shards, &mut result)?;
        let (scope, mut seeds) = (&mut *self.scope, 0);
        self.views.each_seed(&mut |url| {
            seeds += 1;
            if let Ok(url) = Url::from_normal(url) {
                scope.add_seed(&url);
            }
        })?;
        result.seeds = seeds;
        // Not every request is a visit in the journal: robots.txt is asked
        // for, visits are tried again or abandoned, and after an unclean stop
        // some are lost. So every host waits its delay from the stop on.
        let stopped = result.stops.values().map(|s| s.unwrap_or(self.wall)).max();
        let rested = self.wall.0.saturating_sub(stopped.unwrap_or_default().0);
        result.rested = Duration::from_micros(rested);
        for shard in &mut *shards {
            shard.frontier.resume(self.now, result.rested);
        }
        self.find_tails(shards, &result);
        let waiting: u64 = shards.iter().map(|s| s.frontier.queued()).sum();
        let tails: usize = shards.iter().map(|s| s.tails.len()).sum();
        result.pending = waiting as usize + tails;
        Ok(result)
    }

    /// The numbers of the checkpoint.
    fn begin(
        &mut self,
        shards: &mut [ShardState],
        result: &mut Recovered,
    ) -> Result<(), RunsError> {
        let parts = &self.manifest.shards;
        let same = parts.len() == shards.len();
        for (at, part) in parts.iter().enumerate() {
            let shard = if same { at } else { 0 };
            self.counters.tallies[shard].restore(&part.counts);
            result.stops.insert(at as u16, part.stopped);
            result
                .archive_ends
                .extend(part.archive.iter().map(|(file, end)| (file.clone(), *end)));
            let frontier = &mut shards[shard].frontier;
            let mut counts = frontier.counts();
            counts.lanes += part.lanes;
            counts.entries += part.entries;
            frontier.set_counts(counts);
        }
        if !same {
            for shard in &mut *shards {
                shard.frontier.count_entries()?;
            }
        }
        // No lane may get a sequence twice, wherever it comes to be.
        let sequence = parts.iter().map(|part| part.sequence).max().unwrap_or(0);
        for shard in shards {
            let mut counts = shard.frontier.counts();
            counts.sequence = sequence;
            shard.frontier.set_counts(counts);
        }
        Ok(())
    }

    /// What the journals say since the checkpoint, epoch by epoch: what one
    /// shard wrote of a URL, another may have gone on with in a later epoch.
    fn replay(
        &mut self,
        shards: &mut [ShardState],
        result: &mut Recovered,
    ) -> Result<(), CrawlError> {
        let mut readers = Vec::new();
        for journal in journals(self.disk, self.folder)? {
            let from = self.first_needed(journal);
            let disk = Arc::clone(self.disk);
            let mut reader = JournalReader::open(disk, self.folder, journal, from);
            let next = reader.next_group()?;
            readers.push((reader, next));
        }
        let epoch_of = |group: &Option<Group>| group.as_ref().map(|group| group.first().epoch);
        while let Some(epoch) = readers.iter().filter_map(|(_, next)| epoch_of(next)).min() {
            for (reader, next) in &mut readers {
                while let Some(group) = next.take_if(|group| group.first().epoch == epoch) {
                    self.replay_group(&group, shards, result)?;
                    if self.writes {
                        self.tend(shards)?;
                    }
                    *next = reader.next_group()?;
                }
            }
        }
        for (reader, _) in &readers {
            reader.check_end()?;
        }
        self.check_reach(result)
    }

    /// What the manifest speaks of must have been read, where it was to be:
    /// damage at the very end of a journal looks like a torn tail.
    fn check_reach(&self, result: &Recovered) -> Result<(), CrawlError> {
        for synced in self.manifest.synced() {
            let read = result.ends.get(&synced.journal).map(|end| end.sequence);
            let found = read.unwrap_or(self.first_needed(synced.journal) - 1);
            if found < synced.sequence {
                return Err(CrawlError::Journal(JournalError::Lost {
                    folder: self.folder.to_owned(),
                    journal: synced.journal,
                    found,
                    synced: synced.sequence,
                }));
            }
        }
        Ok(())
    }

    /// Let full buffers be written, and wait while too many are.
    fn tend(&self, shards: &mut [ShardState]) -> Result<(), RunsError> {
        loop {
            let mut congested = self.views.is_congested();
            self.views.tend()?;
            for shard in &mut *shards {
                shard.frontier.tend()?;
                shard.seen.tend(self.now, &mut Vec::new())?;
                congested |= shard.frontier.is_congested() || shard.seen.is_congested();
            }
            if !congested {
                return Ok(());
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    fn first_needed(&self, journal: u16) -> u64 {
        let views = self.manifest.views.applied.get(&journal);
        let views = views.map_or(0, |mark| mark.sequence);
        let own = self.manifest.shards.get(journal as usize);
        let own = own.map_or(views, |part| part.own.sequence);
        let settled = self.manifest.shards.iter().map(|part| {
            let mark = part.settled.get(&journal);
            mark.map_or(0, |mark| mark.sequence)
        });
        own.min(views).min(settled.min().unwrap_or(0)) + 1
    }

    /// Which journals each shard has still to read for links.
    fn find_tails(&self, shards: &mut [ShardState], result: &Recovered) {
        let count = shards.len();
        let parts = &self.manifest.shards;
        for (at, shard) in shards.iter_mut().enumerate() {
            // The parts whose lanes this shard has now.
            let mine: Vec<&Marks> = (0..PARTITIONS)
                .map(Partition)
                .filter(|partition| partition.shard(count) == at)
                .filter_map(|partition| parts.get(partition.shard(parts.len().max(1))))
                .map(|part| &part.settled)
                .fold(Vec::new(), |mut known, settled| {
                    if !known
                        .last()
                        .is_some_and(|last| std::ptr::eq(*last, settled))
                    {
                        known.push(settled);
                    }
                    known
                });
            for (&journal, &end) in &result.ends {
                let marks = mine.iter().map(|marks| marks.get(&journal).copied());
                let settled = marks.map(Option::unwrap_or_default).min();
                let settled = settled.unwrap_or_default();
                shard.settled.insert(journal, settled.min(end));
                if settled.sequence < end.sequence {
                    let from = settled.sequence + 1;
                    shard.tails.push(Tail {
                        journal,
                        from,
                        next: from,
                        through: end.sequence,
                        end,
                    });
                }
            }
            // Journals without a word since: all they say is taken in.
            for marks in &mine {
                for (&journal, &mark) in *marks {
                    let known = shard.settled.entry(journal).or_insert(mark);
                    if !result.ends.contains_key(&journal) {
                        *known = mark.min(*known);
                    }
                }
            }
        }
    }
}
