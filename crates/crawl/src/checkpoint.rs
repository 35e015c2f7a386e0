//! Checkpoints: the state of the crawl at a place in its journals, so that a
//! start reads only what came after.
//!
//! Each shard makes its own, without stopping: it lets what it has handed to
//! its commit thread be written (a few milliseconds, in which it admits no
//! links), freezes its tables at that moment, and goes on. Once the frozen
//! buffers are runs and the journal is synced that far, the manifest names
//! them. Until every shard of a run has made its first, the manifest of the
//! run before stays as it is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rhumb_store::Disk;
use rhumb_store::runs::{KeySnapshot, Snapshot};

use crate::engine::CrawlError;
use crate::manifest::{Manifest, ShardPart, ViewsPart};
use crate::views::ViewSnapshots;

/// A part of the state as it was at one moment; its files stay while it does.
pub enum Frozen {
    Shard {
        part: Box<ShardPart>,
        seen: KeySnapshot,
        queue: Snapshot,
        rows: Snapshot,
    },
    Views {
        part: Box<ViewsPart>,
        tables: ViewSnapshots,
    },
}

impl Frozen {
    /// Whether all of it is on disk.
    pub fn is_written(&self) -> bool {
        match self {
            Frozen::Shard {
                seen, queue, rows, ..
            } => seen.is_written() && queue.is_written() && rows.is_written(),
            Frozen::Views { tables, .. } => tables.all().iter().all(|t| t.is_written()),
        }
    }

    fn keep(&self, kept: bool) {
        match self {
            Frozen::Shard {
                seen, queue, rows, ..
            } => {
                seen.keep(kept);
                queue.keep(kept);
                rows.keep(kept);
            }
            Frozen::Views { tables, .. } => {
                for table in tables.all() {
                    table.keep(kept);
                }
            }
        }
    }

    /// Write down the names that the runs have got.
    fn name_runs(&mut self) {
        match self {
            Frozen::Shard {
                part,
                seen,
                queue,
                rows,
            } => {
                part.seen = seen.runs();
                part.queue = queue.runs();
                part.rows = rows.runs();
            }
            Frozen::Views { part, tables } => {
                part.content = tables.content.runs();
                part.index = tables.index.runs();
                part.seeds = tables.seeds.runs();
            }
        }
    }
}

/// The newest checkpoint of every part.
struct Current {
    /// What the manifest of the run before names.
    earlier: Vec<Frozen>,
    shards: Vec<Option<Frozen>>,
    views: Option<Frozen>,
}

pub struct Checkpoints {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    current: Mutex<Current>,
}

impl Checkpoints {
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf, shards: usize) -> Checkpoints {
        Checkpoints {
            disk,
            folder,
            current: Mutex::new(Current {
                earlier: Vec::new(),
                shards: (0..shards).map(|_| None).collect(),
                views: None,
            }),
        }
    }

    /// The state that was opened is still the manifest's.
    pub fn hold(&self, opened: Frozen) {
        self.lock().earlier.push(opened);
    }

    /// A part has been written: name it in the manifest, as soon as all parts
    /// are there.
    pub fn put(&self, shard: Option<usize>, mut frozen: Frozen) -> Result<(), CrawlError> {
        let mut current = self.lock();
        frozen.name_runs();
        frozen.keep(true);
        let place = match shard {
            Some(shard) => &mut current.shards[shard],
            None => &mut current.views,
        };
        let replaced = place.replace(frozen);
        let Some(manifest) = current.manifest() else {
            // What nothing names yet may go when it is replaced.
            replaced.iter().for_each(|old| old.keep(false));
            current.keep_all();
            return Ok(());
        };
        manifest.store(&*self.disk, &self.folder)?;
        let old: Vec<Frozen> = current.earlier.drain(..).chain(replaced).collect();
        old.iter().for_each(|old| old.keep(false));
        current.keep_all();
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn manifest(&self) -> Option<Manifest> {
        let shards: Option<Vec<ShardPart>> = self
            .shards
            .iter()
            .map(|part| match part {
                Some(Frozen::Shard { part, .. }) => Some((**part).clone()),
                _ => None,
            })
            .collect();
        match &self.views {
            Some(Frozen::Views { part, .. }) => Some(Manifest::new(shards?, (**part).clone())),
            _ => None,
        }
    }

    /// A file may be in several parts: kept if any has it.
    fn keep_all(&self) {
        let shards = self.shards.iter().flatten();
        for frozen in shards.chain(&self.views).chain(&self.earlier) {
            frozen.keep(true);
        }
    }
}
