//! The set of all keys ever seen, larger than memory, asked in batches with
//! answers that may come later.
//!
//! A key is 128 bits, both halves good hashes: the host (its upper 10 bits are
//! the partition), then the URL. Sorted, a host's URLs stand together.
//!
//! Of a key that is asked for, one of these decides:
//!
//! 1. the cache of keys found lately, the buffer of new keys and the buffers
//!    being written: seen;
//! 2. the filter over all runs, when it says "certainly not there": new, and
//!    entered into the buffer;
//! 3. otherwise the runs. Such keys are gathered, sorted and looked up by a
//!    worker, so many at once that the cost is a pass over the runs and not
//!    a read for each. Then the owner's thread asks the buffers once more,
//!    because the key may have been entered meanwhile, and answers.
//!
//! # A key is new once
//!
//! Keys enter only on the owner's thread, and only after the live buffer and
//! all frozen ones were asked. What they do not hold is in runs that were
//! whole before, and those are answered for by the filter or by a batch. Two
//! rules make that so:
//!
//! - A frozen buffer goes only when its run is whole, in the filter in use,
//!   and no batch is under way: a batch sees the runs of its beginning.
//! - A larger filter takes the place of the old one only when every run is in
//!   it and no buffer is being written.

mod block;
mod buffer;
mod filter;
mod growth;
mod memory;
mod run;
mod scan;
mod search;
mod set;
mod snapshot;
mod tending;

pub use memory::MemoryKeys;
pub use run::KeyRunState;
pub use set::KeySet;
pub use snapshot::KeySnapshot;

use std::time::Duration;

use super::RunsError;

/// What is known of a key at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was not in the set; now it is.
    New,
    Seen,
    /// `tend` will answer.
    Later,
}

#[derive(Debug, Clone)]
pub struct KeySetConfig {
    /// New keys gathered before they are written as a run.
    pub buffer_keys: usize,
    /// The most the filter may take. While it grows, the smaller one before
    /// it stays beside it: a quarter more.
    pub filter_bytes: usize,
    /// Keys found in runs lately, remembered as seen.
    pub cache_keys: usize,
    /// Keys gathered before they are looked up in the runs.
    pub confirm_keys: usize,
    /// The longest a key waits before its batch begins.
    pub confirm_after: Duration,
    /// So many runs of like size are merged into one.
    pub merge_width: usize,
    /// Blocks have this size, or more where the index of a run would
    /// otherwise take more memory than `index_bytes`.
    pub block_bytes: usize,
    pub index_bytes: usize,
}

impl Default for KeySetConfig {
    fn default() -> KeySetConfig {
        KeySetConfig::within(200 << 20)
    }
}

impl KeySetConfig {
    /// Settings that keep a set within so many bytes of memory.
    pub fn within(bytes: usize) -> KeySetConfig {
        // Three tables (live, written, cleared) and the keys of one, sorted:
        // three eighths. Three lists of keys asked for: a twentieth. (Larger
        // batches are cheaper by the key, but a host's links are asked for
        // again and again until the first answer is known.) The filter and
        // the one before it: eleven twentieths.
        let slots = previous_power_of_two((bytes / 10 / 16).clamp(1 << 8, 1 << 21));
        let confirm_keys = (bytes / 1_600).clamp(1 << 8, 1 << 20);
        KeySetConfig {
            buffer_keys: slots / 4 * 3 - 4,
            filter_bytes: bytes / 16 * 7,
            cache_keys: previous_power_of_two((bytes / 48 / 16).clamp(16, 1 << 18)),
            confirm_keys,
            confirm_after: Duration::from_secs(1),
            merge_width: 8,
            block_bytes: 2 << 10,
            index_bytes: bytes / 32,
        }
    }

    /// The size of the blocks of a run of so many keys. A look-up reads a
    /// whole block for nearly every key: the smaller, the cheaper.
    fn block_bytes_for(&self, keys: u64) -> usize {
        let blocks = (self.index_bytes / run::INDEX_ENTRY_IN_MEMORY).max(1);
        (keys as usize * size_of::<u64>() / blocks).max(self.block_bytes)
    }
}

fn previous_power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// A set of keys that may take its time.
///
/// Each key offered gets one answer, at once or from `tend`; of all answers
/// for the same key exactly one is "new". A key stands in the set from the
/// moment it is answered "new".
pub trait Keys {
    /// One verdict for each key, appended. A key answered later is known by
    /// its token: `first_token` and its place in `keys`.
    fn offer(
        &mut self,
        keys: &[u128],
        first_token: u64,
        now: Duration,
        verdicts: &mut Vec<Verdict>,
    );
    /// Does what is due and appends (token, is new) in any order. Never
    /// blocks.
    fn tend(&mut self, now: Duration, answers: &mut Vec<(u64, bool)>) -> Result<(), RunsError>;
    /// Answer what is pending without waiting for more.
    fn hurry(&mut self);
    fn pending(&self) -> usize;
    /// How many keys the set holds; pending ones are not yet counted.
    fn count(&self) -> u64;
    /// Exact and at once: may read the disk.
    fn contains(&self, key: u128) -> Result<bool, RunsError>;
    /// The owner should hold back new keys until `tend` has caught up.
    fn is_congested(&self) -> bool;
    /// All that was entered so far; `None` from a set that keeps nothing on
    /// disk.
    fn snapshot(&mut self) -> Option<KeySnapshot>;
    /// What it was opened with, once: the manifest that named it still does.
    fn opened(&mut self) -> Option<KeySnapshot>;
    /// When `tend` should be called at the latest, if nothing else happens.
    fn due(&self) -> Option<Duration>;
}
