//! Opening the state of a crawl: its tables and sets, on disk or in memory.

use std::path::Path;
use std::sync::Arc;

use rhumb_store::Disk;
use rhumb_store::runs::{
    KeyRunState, KeySet, Keys, MemoryKeys, MemoryTable, RunFolder, RunState, RunTable, RunsError,
    Table, TableConfig, Worker,
};

use crate::config::Config;
use crate::manifest::{Manifest, first_lane};
use crate::shares::Shares;

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
    shares: Shares,
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
            shares: Shares {
                memory: config.memory.0,
                shards: config.threads.max(1),
            },
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
            shares: Shares {
                memory: 64 << 20,
                shards: 1,
            },
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
        let from = first_lane(shard, self.shares.shards).unwrap_or(u64::MAX);
        let to = first_lane(shard + 1, self.shares.shards);
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
            self.shares.seen(),
            self.soon.clone(),
            self.merges.clone(),
            &seen,
        )?;
        Ok(ShardTables {
            seen: Box::new(seen),
            queue: self.table(self.shares.queue(), &queue)?,
            rows: self.table(self.shares.rows(), &rows)?,
        })
    }

    pub fn views(&self, manifest: &Manifest) -> Result<ViewTables, RunsError> {
        let views = &manifest.views;
        Ok(ViewTables {
            content: self.table(self.shares.content(), &views.content)?,
            index: self.table(self.shares.index(), &views.index)?,
            seeds: self.table(self.shares.seeds(), &views.seeds)?,
        })
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
