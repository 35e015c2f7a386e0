//! An ordered map of byte keys, larger than memory.
//!
//! New entries gather in a sorted buffer; a full buffer is frozen and written
//! as a run; runs of similar size and neighbouring age are merged. A read
//! asks buffer and runs from the newest to the oldest, and filters spare it
//! most of them.

mod arena;
mod block;
mod buffer;
mod builder;
mod chunk;
mod config;
mod cursor;
mod fences;
mod filter;
mod memory;
mod merge;
mod merged;
mod range;
mod removed;
mod run;
mod run_table;
mod snapshot;
mod tiers;
mod view;

pub use config::{Compression, FilterOn, TableConfig};
pub use memory::MemoryTable;
pub use run_table::RunTable;
pub use snapshot::{RunState, Snapshot};
pub use view::TableReader;

use super::RunsError;

/// Longer keys and values are a mistake of the owner: `put` panics.
pub const MAX_KEY: usize = 64 << 10;
pub const MAX_VALUE: usize = 16 << 20;

/// Keys order as bytes do. Ranges are `[from, to)`; the empty `to` stands
/// behind every key.
pub trait Table: Send {
    fn put(&mut self, key: &[u8], value: &[u8]);
    fn remove(&mut self, key: &[u8]);
    /// Everything in the range goes.
    fn remove_range(&mut self, from: &[u8], to: &[u8]);
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RunsError>;
    /// In key order, the newest value of each key, until `with` says stop
    /// (false).
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RunsError>;
    /// To be called often: takes in what background work has done, and never
    /// waits.
    fn tend(&mut self) -> Result<(), RunsError>;
    /// The owner should hold back what is new until `tend` has caught up.
    fn is_congested(&self) -> bool;
    /// All that was put so far, as of this moment; `None` from a table that
    /// keeps nothing on disk.
    fn snapshot(&mut self) -> Option<Snapshot>;
}
