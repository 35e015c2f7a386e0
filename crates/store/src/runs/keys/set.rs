//! The set as its owner sees it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::block::{host_of, url_of};
use super::buffer::{Buffer, Cache};
use super::filter::Filter;
use super::growth::{self, Growth};
use super::run::{KeyRun, KeyRunState};
use super::scan::add_to_filter;
use super::search::{self, Asked, Confirmed};
use super::snapshot::{KeySnapshot, Slot};
use super::tending::{Batch, Merging};
use super::{KeySetConfig, Keys, Verdict};
use crate::runs::{RunFolder, Running, RunsError, Worker};

/// One that is filled, one that is written, one that is ready: they go round.
pub(super) const BUFFERS: usize = 3;

/// Keys of an offer that are looked at together.
const AT_ONCE: usize = 64;

/// A buffer that takes no more keys, on its way to being a run.
pub(super) struct Frozen {
    pub buffer: Arc<Buffer>,
    pub slot: Slot,
    /// Its run is among the runs and in the filter.
    pub is_installed: bool,
}

/// See the module's own words. All calls are the owner's, on one thread.
///
/// Dropping it forgets what no kept snapshot names.
pub struct KeySet {
    pub(super) folder: RunFolder,
    pub(super) config: KeySetConfig,
    pub(super) soon: Worker,
    pub(super) merges: Worker,
    pub(super) live: Buffer,
    /// Oldest first.
    pub(super) frozen: Vec<Frozen>,
    pub(super) runs: Vec<Arc<KeyRun>>,
    pub(super) filter: Arc<Filter>,
    pub(super) cache: Cache,
    /// Waiting for the next batch, since the time beside.
    pub(super) gathering: Vec<Asked>,
    pub(super) gathering_since: Duration,
    /// Lists of the batch before, used again.
    pub(super) used: Confirmed,
    pub(super) is_hurried: bool,
    pub(super) batch: Option<Batch>,
    pub(super) flushing: Option<Running<Result<Arc<KeyRun>, RunsError>>>,
    pub(super) merging: Option<Merging>,
    pub(super) growth: Growth,
    /// Buffers that were written are cleared off this thread and used again.
    pub(super) clearing: Vec<Running<Buffer>>,
    pub(super) spare: Vec<Buffer>,
    pub(super) is_broken: bool,
    opened: Option<KeySnapshot>,
    count: u64,
}

impl KeySet {
    pub fn new(folder: &RunFolder, config: KeySetConfig, soon: Worker, merges: Worker) -> KeySet {
        let filter = Filter::of_bytes(growth::bytes_for(config.buffer_keys as u64, &config));
        KeySet {
            folder: folder.clone(),
            live: Buffer::with_room(config.buffer_keys),
            cache: Cache::of_keys(config.cache_keys),
            config,
            soon,
            merges,
            frozen: Vec::new(),
            runs: Vec::new(),
            filter: Arc::new(filter),
            gathering: Vec::new(),
            gathering_since: Duration::ZERO,
            used: Confirmed::default(),
            is_hurried: false,
            batch: None,
            flushing: None,
            merging: None,
            growth: Growth::Idle,
            clearing: Vec::new(),
            spare: Vec::new(),
            is_broken: false,
            opened: None,
            count: 0,
        }
    }

    /// The set that a manifest names. Reads every run once, for the filter
    /// and the exact count.
    pub fn open(
        folder: &RunFolder,
        config: KeySetConfig,
        soon: Worker,
        merges: Worker,
        runs: &[KeyRunState],
    ) -> Result<KeySet, RunsError> {
        let mut set = KeySet::new(folder, config, soon, merges);
        let mut opened = Vec::with_capacity(runs.len());
        for state in runs {
            let file = folder.shared(&state.name)?;
            // Before anything can fail: a run that a manifest names stays,
            // damaged or not. The hold is counted, the flag is not: another
            // set may have opened the file too.
            file.hold();
            file.keep(false);
            opened.push(KeyRun::open(file, state)?);
        }
        let keys = opened.iter().map(|run| run.keys).sum();
        let bytes = growth::bytes_for(keys, &set.config);
        let filter = Filter::of_bytes(bytes.max(set.filter.bytes()));
        for run in &mut opened {
            run.keys = add_to_filter(run, &filter)?;
            set.count += run.keys;
        }
        set.filter = Arc::new(filter);
        let runs: Vec<_> = opened.into_iter().map(Arc::new).collect();
        let snapshot = KeySnapshot::new(runs.iter().map(slot_of).collect());
        snapshot.keep(true);
        runs.iter().for_each(|run| run.file.release());
        set.opened = Some(snapshot);
        set.runs = runs.into_iter().filter(|run| run.keys > 0).collect();
        Ok(set)
    }

    /// The state it was opened from, kept: to be let go, as any snapshot,
    /// when another manifest has taken its place.
    pub fn opened(&mut self) -> Option<KeySnapshot> {
        self.opened.take()
    }

    /// The set at this moment, without the keys that are pending. It costs no
    /// time now, and is whole when `tend` has seen its buffers written.
    pub fn snapshot(&mut self) -> KeySnapshot {
        self.freeze();
        let unwritten = self.frozen.iter().filter(|frozen| !frozen.is_installed);
        let mut slots: Vec<Slot> = unwritten.map(|frozen| Arc::clone(&frozen.slot)).collect();
        slots.extend(self.runs.iter().map(slot_of));
        KeySnapshot::new(slots)
    }

    /// Too much waits to be looked up or written: the owner should offer no
    /// more before `tend` has answered. Memory is bounded only if it does.
    pub fn is_congested(&self) -> bool {
        let is_last_buffer = self.frozen.len() + 1 >= BUFFERS;
        self.gathering.len() >= 2 * self.config.confirm_keys.max(1)
            || (is_last_buffer && self.live.len() > self.config.buffer_keys / 2)
    }

    /// When `tend` should be called even if no worker rings.
    pub fn due(&self) -> Option<Duration> {
        match &self.batch {
            Some(batch) => batch.has_answers().then_some(Duration::ZERO),
            None if self.gathering.is_empty() => None,
            None if self.is_hurried => Some(Duration::ZERO),
            None => Some(self.gathering_since + self.config.confirm_after),
        }
    }

    pub fn bytes_in_memory(&self) -> usize {
        let indexes = self.runs.iter().map(|run| run.bytes_in_memory());
        let batch = self.batch.as_ref().map_or(0, Batch::room);
        let pending = self.gathering.capacity() + self.used.room() + batch;
        self.live.bytes() * self.buffers()
            + indexes.sum::<usize>()
            + self.filter.bytes()
            + self.cache.bytes()
            + pending * size_of::<Asked>()
    }

    pub fn bytes_on_disk(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes_on_disk()).sum()
    }

    /// How many buffers there are, all of one size.
    pub(super) fn buffers(&self) -> usize {
        1 + self.frozen.len() + self.clearing.len() + self.spare.len()
    }

    /// Whether the workers have something of this set to do.
    pub fn is_busy(&self) -> bool {
        let at_work = self.batch.is_some() || self.flushing.is_some() || self.merging.is_some();
        at_work || !self.frozen.is_empty() || !matches!(self.growth, Growth::Idle)
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn keys_in_runs(&self) -> u64 {
        self.runs.iter().map(|run| run.keys).sum()
    }

    pub(super) fn in_memory(&self, key: u128) -> bool {
        let frozen = || self.frozen.iter().any(|frozen| frozen.buffer.contains(key));
        self.live.contains(key) || frozen()
    }

    /// Only for a key that is in no run and no buffer.
    pub(super) fn enter(&mut self, key: u128) {
        self.live.insert(key);
        self.count += 1;
        if self.live.len() >= self.config.buffer_keys.max(1) {
            self.freeze();
        }
    }

    fn freeze(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let room = self.config.buffer_keys;
        let fresh = self.spare.pop();
        let fresh = fresh.unwrap_or_else(|| Buffer::with_room(room));
        let full = std::mem::replace(&mut self.live, fresh);
        self.frozen.push(Frozen {
            buffer: Arc::new(full),
            slot: Slot::default(),
            is_installed: false,
        });
    }

    /// `in_runs` is what the filter said; since then no buffer was let go.
    fn judge(&mut self, key: u128, in_runs: bool, token: u64, now: Duration) -> Verdict {
        if self.cache.contains(key) || self.in_memory(key) {
            return Verdict::Seen;
        }
        if !in_runs {
            self.enter(key);
            return Verdict::New;
        }
        if self.gathering.is_empty() {
            self.gathering_since = now;
        }
        if self.gathering.len() == self.gathering.capacity() {
            // Not doubled: it would be most of the memory it takes.
            self.gathering
                .reserve_exact(self.config.confirm_keys / 4 + AT_ONCE);
        }
        self.gathering.push(Asked {
            host: host_of(key),
            url: url_of(key),
            token,
        });
        Verdict::Later
    }
}

fn slot_of(run: &Arc<KeyRun>) -> Slot {
    Arc::new(OnceLock::from(Arc::clone(run)))
}

impl Keys for KeySet {
    fn offer(
        &mut self,
        keys: &[u128],
        first_token: u64,
        now: Duration,
        verdicts: &mut Vec<Verdict>,
    ) {
        verdicts.reserve(keys.len());
        let mut tokens = first_token..;
        let mut in_runs = [false; AT_ONCE];
        for keys in keys.chunks(AT_ONCE) {
            // Nearly every look goes to memory that is in no cache. Without
            // decisions in between, the processor waits for all of them at
            // once and not for one after the other.
            if !self.runs.is_empty() {
                for (in_runs, key) in in_runs.iter_mut().zip(keys) {
                    *in_runs = self.filter.maybe_contains(*key);
                }
            }
            self.cache.touch(keys);
            self.live.touch(keys);
            for frozen in &self.frozen {
                frozen.buffer.touch(keys);
            }
            for ((&key, &in_runs), token) in keys.iter().zip(&in_runs).zip(&mut tokens) {
                verdicts.push(self.judge(key, in_runs, token, now));
            }
        }
    }

    fn tend(&mut self, now: Duration, answers: &mut Vec<(u64, bool)>) -> Result<(), RunsError> {
        if self.is_broken {
            return Err(RunsError::Died);
        }
        let done = self.advance(now, answers);
        self.is_broken = done.is_err();
        done
    }

    fn hurry(&mut self) {
        self.is_hurried = true;
    }

    fn pending(&self) -> usize {
        self.gathering.len() + self.batch.as_ref().map_or(0, Batch::len)
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn contains(&self, key: u128) -> Result<bool, RunsError> {
        if self.cache.contains(key) || self.in_memory(key) {
            return Ok(true);
        }
        if !self.filter.maybe_contains(key) {
            return Ok(false);
        }
        for run in self.runs.iter().filter(|run| run.sees(key)) {
            if search::contains(run, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_congested(&self) -> bool {
        KeySet::is_congested(self)
    }

    fn snapshot(&mut self) -> Option<KeySnapshot> {
        Some(KeySet::snapshot(self))
    }

    fn opened(&mut self) -> Option<KeySnapshot> {
        KeySet::opened(self)
    }

    fn due(&self) -> Option<Duration> {
        KeySet::due(self)
    }
}
