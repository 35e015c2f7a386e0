//! A table at one moment, for a manifest.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::range::{earlier_end, is_empty};
use super::run::{Held, Run};

/// A run that a manifest names, and the part of its keys that the table
/// sees: from `from` up to but without `to`; empty means no bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    pub name: String,
    #[serde(default)]
    pub from: Vec<u8>,
    #[serde(default)]
    pub to: Vec<u8>,
}

impl RunState {
    /// The same run, seen only within `[from, to)`; `None` if nothing of it
    /// would be.
    pub fn within(&self, from: &[u8], to: &[u8]) -> Option<RunState> {
        let from = from.max(&self.from);
        let to = earlier_end(to, &self.to);
        (!is_empty(from, to)).then(|| RunState {
            name: self.name.clone(),
            from: from.to_vec(),
            to: to.to_vec(),
        })
    }
}

/// Where the run of a frozen buffer appears once it is written. (A buffer
/// that came to nothing leaves `None`.)
pub(super) type Written = Arc<OnceLock<Option<Arc<Run>>>>;

pub(super) enum Piece {
    Frozen(Written),
    Run(Arc<Run>),
}

/// What a table held when the snapshot was taken. Its files stay for as long
/// as it does, whatever merges do to the table meanwhile.
///
/// Changing from one manifest to the next: `keep(true)` on the new snapshots,
/// write the manifest durably, then `keep(false)` on *all* old ones, then
/// `keep(true)` on all new ones again, and only then drop the old. A file may
/// be in several of them (and, after a change of shards, in several tables);
/// this order keeps it if any new snapshot has it.
pub struct Snapshot {
    pub(super) pieces: Vec<Piece>,
}

impl Snapshot {
    /// Whether all of it is on disk, synced.
    pub fn is_written(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Frozen(written) => written.get().is_some(),
            Piece::Run(_) => true,
        })
    }

    fn written(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Frozen(written) => written.get()?.as_ref(),
            Piece::Run(run) => Some(run),
        })
    }

    /// For the manifest, the newest first. Complete once it `is_written`.
    pub fn runs(&self) -> Vec<RunState> {
        self.written().map(|run| run.state()).collect()
    }

    /// Whether its files outlive their last user.
    pub fn keep(&self, kept: bool) {
        for run in self.written() {
            run.file.keep(kept);
        }
    }
}

pub(super) fn piece_of(held: &Held) -> Piece {
    Piece::Run(Arc::clone(&held.run))
}
