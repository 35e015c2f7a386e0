//! Opening the state of a crawl: its tables and sets, on disk or in memory.

use std::path::Path;
use std::sync::Arc;

use rhumb_store::Disk;
use rhumb_store::runs::{
    Compression, FilterOn, KeyRunState, KeySet, KeySetConfig, Keys, MemoryKeys, MemoryTable,
    RunFolder, RunState, RunTable, RunsError, Table, TableConfig, Worker,
};

use crate::config::Config;
use crate::manifest::{Manifest, first_lane};

/// Where the state of a crawl is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateKind {
    /// In sorted runs, within `memory`.
    Disk,
    /// In memory alone: every start reads the whole journal.
    Memory,
}

impl StateKind {
    pub fn as_str(self) -> &'static str {
        match self {
            StateKind::Disk => "disk",
            StateKind::Memory => "memory",
        }
    }
}

impl std::str::FromStr for StateKind {
    type Err = String;

    fn from_str(text: &str) -> Result<StateKind, String> {
        match text {
            "disk" => Ok(StateKind::Disk),
            "memory" => Ok(StateKind::Memory),
            _ => Err(format!("`{text}` is none of disk, memory")),
        }
    }
}

/// Hundredths of `memory` for each part of the state. The rest is for heads,
/// pages under way and the program itself.
mod share {
    pub const SEEN: u64 = 45;
    pub const QUEUE: u64 = 20;
    pub const ROWS: u64 = 4;
    pub const CONTENT: u64 = 6;
    pub const INDEX: u64 = 8;
    pub const SEEDS: u64 = 1;
}

/// A shard's share of the state.
pub struct ShardTables {
    pub seen: Box<dyn Keys + Send>,
    pub queue: Box<dyn Table>,
    pub rows: Box<dyn Table>,
}

/// What is kept for all shards together.
pub struct ViewTables {
    pub content: Box<dyn Table>,
    pub index: Box<dyn Table>,
    pub seeds: Box<dyn Table>,
}

/// The folder of the state and the workers beside the shards.
#[derive(Clone)]
pub struct StateFolder {
    kind: StateKind,
    memory: u64,
    shards: usize,
    folder: RunFolder,
    soon: Worker,
    merges: Worker,
}

impl StateFolder {
    /// `bell` is rung after every piece of background work.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        config: &Config,
        bell: impl Fn() + Clone + Send + Sync + 'static,
    ) -> Result<StateFolder, RunsError> {
        let threads = |name| Worker::start(name, bell.clone()).map_err(RunsError::io(path));
        Ok(StateFolder {
            kind: config.state,
            memory: config.memory.0,
            shards: config.threads.max(1),
            folder: RunFolder::open(Arc::clone(disk), path)?,
            soon: threads("state")?,
            merges: threads("merge")?,
        })
    }

    /// For reading alone: what is put stays in memory; only a set that runs
    /// full may leave a file for as long as this lasts.
    pub fn read(disk: &Arc<dyn Disk>, path: &Path) -> StateFolder {
        StateFolder {
            kind: StateKind::Disk,
            memory: 64 << 20,
            shards: 1,
            folder: RunFolder::beside(Arc::clone(disk), path),
            soon: Worker::inline(),
            merges: Worker::inline(),
        }
    }

    /// Does work that must not hold up a shard.
    pub fn worker(&self) -> &Worker {
        &self.soon
    }

    pub fn remove_all_but(&self, manifest: &Manifest) -> Result<(), RunsError> {
        self.folder.remove_others(&manifest.runs())
    }

    /// The tables of one of our shards, from the parts of those there were.
    pub fn shard(&self, shard: usize, manifest: &Manifest) -> Result<ShardTables, RunsError> {
        if self.kind == StateKind::Memory {
            return Ok(ShardTables {
                seen: Box::<MemoryKeys>::default(),
                queue: Box::new(MemoryTable::new()),
                rows: Box::new(MemoryTable::new()),
            });
        }
        let from = first_lane(shard, self.shards).unwrap_or(u64::MAX);
        let to = first_lane(shard + 1, self.shards);
        let (first_key, last_key) = (
            u128::from(from) << 64,
            to.map_or(u128::MAX, |to| (u128::from(to) << 64) - 1),
        );
        let (from, to) = (
            from.to_be_bytes(),
            to.map_or(Vec::new(), |to| to.to_be_bytes().to_vec()),
        );
        let mut seen: Vec<KeyRunState> = Vec::new();
        let (mut queue, mut rows) = (Vec::new(), Vec::new());
        for part in &manifest.shards {
            seen.extend(
                part.seen
                    .iter()
                    .filter_map(|r| r.within(first_key, last_key)),
            );
            queue.extend(part.queue.iter().filter_map(|r| r.within(&from, &to)));
            rows.extend(part.rows.iter().filter_map(|r| r.within(&from, &to)));
        }
        let seen = KeySet::open(
            &self.folder,
            KeySetConfig::within(self.share(share::SEEN) / self.shards),
            self.soon.clone(),
            self.merges.clone(),
            &seen,
        )?;
        let compressed = TableConfig {
            compression: Compression::Zstd(1),
            filter: FilterOn::Prefix(8),
            ..self.config("queue", self.share(share::QUEUE) / self.shards)
        };
        let plain = self.config("rows", self.share(share::ROWS) / self.shards);
        Ok(ShardTables {
            seen: Box::new(seen),
            queue: self.table(compressed, &queue)?,
            rows: self.table(plain, &rows)?,
        })
    }

    pub fn views(&self, manifest: &Manifest) -> Result<ViewTables, RunsError> {
        let views = &manifest.views;
        // The index is asked only by people: it needs no filters.
        let index = TableConfig {
            filter: FilterOn::Nothing,
            ..self.config("index", self.share(share::INDEX))
        };
        let content = self.config("content", self.share(share::CONTENT));
        let seeds = self.config("seeds", self.share(share::SEEDS));
        Ok(ViewTables {
            content: self.table(content, &views.content)?,
            index: self.table(index, &views.index)?,
            seeds: self.table(seeds, &views.seeds)?,
        })
    }

    fn share(&self, hundredths: u64) -> usize {
        (self.memory / 100 * hundredths) as usize
    }

    /// A table that stays within so many bytes of memory: one buffer that is
    /// filled, those being written, filters and fences.
    fn config(&self, kind: &str, bytes: usize) -> TableConfig {
        TableConfig {
            buffer_bytes: (bytes / 4).max(64 << 10),
            waiting_bytes: bytes / 4,
            filter_bytes: bytes / 4,
            index_bytes: bytes / 8,
            ..TableConfig::new(kind)
        }
    }

    fn table(&self, config: TableConfig, runs: &[RunState]) -> Result<Box<dyn Table>, RunsError> {
        if self.kind == StateKind::Memory {
            return Ok(Box::new(MemoryTable::new()));
        }
        let (soon, merges) = (self.soon.clone(), self.merges.clone());
        let table = RunTable::open(&self.folder, config, soon, merges, runs)?;
        Ok(Box::new(table))
    }
}
