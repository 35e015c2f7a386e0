//! The manifest: which runs are the state of the crawl, and which records of
//! the journals are in them. Replaced as a whole, in one step.
//!
//! Two lines: the manifest as JSON, and its checksum. A figure that changed
//! unnoticed would have records read twice, or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use rhumb_store::runs::{KeyRunState, RunState};
use rhumb_store::{Disk, MANIFEST, Position, Timestamp};
use rhumb_url::{PARTITIONS, Partition};
use serde::{Deserialize, Serialize};

use crate::counters::Counts;
use crate::engine::{CrawlError, io_error};
use crate::takedowns::Takedowns;

const FORMAT: u32 = 2;

/// A place in a journal. Sequences go on over epochs, so they alone say which
/// of two places comes first; those of an epoch that was cut short are given
/// again, but a mark is only made of what is synced, and that is never cut.
/// The epoch may be 0 where it is not known, of an epoch before this run's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, Hash,
)]
pub struct Mark {
    // First, because marks are compared in this order.
    pub sequence: u64,
    pub epoch: u32,
}

impl From<Position> for Mark {
    fn from(position: Position) -> Mark {
        Mark {
            epoch: position.epoch,
            sequence: position.sequence,
        }
    }
}

/// Which of two records of the same URL came later: in one run they stand in
/// one journal, in the next perhaps in another, whose numbers are lower.
pub fn moment(record: Position) -> (u32, u64) {
    (record.epoch, record.sequence)
}

/// How far something has followed each journal.
pub type Marks = BTreeMap<u16, Mark>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// One for each shard there was, in order.
    pub shards: Vec<ShardPart>,
    pub views: ViewsPart,
}

/// The state of the lanes that one shard owned.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ShardPart {
    /// All records of the shard's own journal up to here are in it.
    pub own: Mark,
    /// The links of all visits up to here, by journal, are in it.
    pub settled: Marks,
    pub seen: Vec<KeyRunState>,
    pub queue: Vec<RunState>,
    pub rows: Vec<RunState>,
    pub entries: u64,
    pub lanes: u64,
    pub sequence: u64,
    pub counts: Counts,
    /// Where the committed part of this epoch's archive files ends.
    pub archive: BTreeMap<String, u64>,
    /// When the shard stopped, if this was its last act.
    pub stopped: Option<Timestamp>,
}

/// What follows all journals together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ViewsPart {
    pub applied: Marks,
    pub content: Vec<RunState>,
    pub index: Vec<RunState>,
    pub seeds: Vec<RunState>,
    pub documents: u64,
    pub duplicates: u64,
    #[serde(default)]
    pub takedowns: Takedowns,
}

impl Manifest {
    pub fn new(shards: Vec<ShardPart>, views: ViewsPart) -> Manifest {
        Manifest {
            format: FORMAT,
            shards,
            views,
        }
    }

    /// The newest manifest of a crawl; an empty one if there is none.
    pub fn load(disk: &dyn Disk, folder: &Path) -> Result<Manifest, CrawlError> {
        let path = folder.join(MANIFEST);
        let bytes = match disk.read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Manifest::default());
            }
            other => other.map_err(io_error(&path))?,
        };
        let bad = |reason: String| CrawlError::BadManifest {
            path: path.clone(),
            reason,
        };
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let (json, sum) = (lines.next().unwrap_or_default(), lines.next());
        let whole = sum == Some(checksum(json).as_bytes()) && lines.eq([b""]);
        if !whole {
            return Err(bad("its checksum is wrong".to_owned()));
        }
        let manifest: Manifest =
            serde_json::from_slice(json).map_err(|error| bad(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(bad(format!("format {} is not known", manifest.format)));
        }
        Ok(manifest)
    }

    pub fn store(&self, disk: &dyn Disk, folder: &Path) -> Result<(), CrawlError> {
        let path = folder.join(MANIFEST);
        let mut bytes = serde_json::to_vec(self).map_err(|error| CrawlError::BadManifest {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let sum = checksum(&bytes);
        bytes.extend_from_slice(format!("\n{sum}\n").as_bytes());
        // The names of the runs must not be younger than what names them.
        disk.sync_folder(folder).map_err(io_error(folder))?;
        disk.replace(&path, &bytes).map_err(io_error(&path))
    }

    /// Take the manifest away for good: the state is to be made again. After a
    /// loss of power it must not lead to what is no longer true.
    pub fn remove(disk: &dyn Disk, folder: &Path) -> Result<(), CrawlError> {
        let path = folder.join(MANIFEST);
        match disk.remove(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_error(&path)(error))
            }
            _ => disk.sync_folder(folder).map_err(io_error(folder)),
        }
    }

    /// The part whose shard owned a lane, and that shard's journal.
    pub fn part_of(&self, lane: u64) -> Option<(u16, &ShardPart)> {
        let shard = Partition::of_lane(lane).shard(self.shards.len().max(1));
        Some((shard as u16, self.shards.get(shard)?))
    }

    /// Whether a record of a lane's owner is in the state already. In the
    /// epoch of the part, its owner wrote to its own journal alone.
    pub fn has(&self, lane: u64, position: Position) -> bool {
        self.part_of(lane).is_some_and(|(journal, part)| {
            position.epoch < part.own.epoch
                || (position.epoch == part.own.epoch
                    && (position.journal != journal || position.sequence <= part.own.sequence))
        })
    }

    /// The last record of each journal that must be there, because a manifest
    /// speaks only of what is synced.
    pub fn synced(&self) -> Vec<Position> {
        let followed = self.followed().into_iter();
        followed
            .map(|(journal, mark)| Position {
                journal,
                epoch: mark.epoch,
                sequence: mark.sequence,
            })
            .collect()
    }

    /// The furthest mark of each journal, also of those that no shard goes on
    /// with.
    fn followed(&self) -> Marks {
        let own = (0..).zip(self.shards.iter().map(|part| part.own));
        let settled = self.shards.iter().flat_map(|part| &part.settled);
        let others = settled.chain(&self.views.applied);
        let mut followed = Marks::new();
        for (journal, mark) in own.chain(others.map(|(journal, mark)| (*journal, *mark))) {
            let furthest = followed.entry(journal).or_default();
            *furthest = mark.max(*furthest);
        }
        followed
    }

    /// The names of all runs.
    pub fn runs(&self) -> Vec<String> {
        let mut names = Vec::new();
        for part in &self.shards {
            names.extend(part.seen.iter().map(|run| run.name.clone()));
            names.extend(part.queue.iter().map(|run| run.name.clone()));
            names.extend(part.rows.iter().map(|run| run.name.clone()));
        }
        let views = &self.views;
        for runs in [&views.content, &views.index, &views.seeds] {
            names.extend(runs.iter().map(|run| run.name.clone()));
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn checksum(json: &[u8]) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(json))
}

/// The first lane of a shard; `None` behind the last shard.
pub fn first_lane(shard: usize, shards: usize) -> Option<u64> {
    let partition = (shard * PARTITIONS as usize).div_ceil(shards);
    (partition < PARTITIONS as usize).then(|| Partition(partition as u16).first_lane())
}
