//! The set at one moment.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::run::{KeyRun, KeyRunState};
use crate::runs::RunFile;

/// Where the run of a frozen buffer appears when it has been written.
pub(super) type Slot = Arc<OnceLock<Arc<KeyRun>>>;

/// The runs that together are the set as it was. Their files stay for as long
/// as this lives and, where it is kept, longer.
pub struct KeySnapshot {
    runs: Vec<Slot>,
    kept: Mutex<Vec<Arc<RunFile>>>,
}

impl KeySnapshot {
    pub(super) fn new(runs: Vec<Slot>) -> KeySnapshot {
        KeySnapshot {
            runs,
            kept: Mutex::default(),
        }
    }

    /// Whether every key of it is in a run on disk.
    pub fn is_written(&self) -> bool {
        self.runs.iter().all(|run| run.get().is_some())
    }

    /// For the manifest; whole only once it is written.
    pub fn runs(&self) -> Vec<KeyRunState> {
        self.written().map(|run| run.state()).collect()
    }

    /// Whether a manifest names it. Called once it is written. Runs that
    /// other snapshots keep as well stay for them.
    pub fn keep(&self, kept: bool) {
        let mut held = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        held.drain(..).for_each(|run| run.release());
        if kept {
            held.extend(self.written().map(|run| Arc::clone(&run.file)));
            held.iter().for_each(|run| run.hold());
        }
    }

    fn written(&self) -> impl Iterator<Item = &Arc<KeyRun>> {
        self.runs.iter().filter_map(|run| run.get())
    }
}
