//! State larger than memory: sorted runs without a log of their own, because
//! the journal is the log.
//!
//! What is new gathers in a buffer in memory; a full buffer is frozen and
//! written as an immutable sorted file, a *run*; runs are merged in the
//! background. Nothing here is durable by itself: a checkpoint freezes every
//! buffer at one moment, waits until the runs are written, and names them in
//! a manifest. Runs that no manifest names are gone at the next start.

mod file;
pub mod keys;
pub mod table;
mod worker;

pub use file::{RunFile, RunFolder, RunWriter};
pub use keys::{KeyRunState, KeySet, KeySetConfig, KeySnapshot, Keys, MemoryKeys, Verdict};
pub use table::{
    Compression, FilterOn, MemoryTable, RunState, RunTable, Snapshot, Table, TableConfig,
    TableReader,
};
pub use worker::{Running, Worker};

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error("state: {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("state: {path} is damaged at byte {offset}; `rhumb rebuild` makes it again")]
    Damaged { path: PathBuf, offset: u64 },
    #[error("state: a background job died")]
    Died,
    /// What failed before, told again to whoever else asks.
    #[error("{0}")]
    Before(String),
}

impl RunsError {
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> RunsError {
        let path = path.to_owned();
        move |error| RunsError::Io { path, error }
    }
}
