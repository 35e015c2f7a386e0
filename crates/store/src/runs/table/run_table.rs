//! The table over runs: the buffer that is filled, frozen ones that are being
//! written, and the runs, with merges in the background.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use super::super::{RunFolder, Running, RunsError, Worker};
use super::buffer::Buffer;
use super::builder::Build;
use super::merge::{Merge, Step, write_buffer};
use super::run::{Held, Run};
use super::snapshot::{Piece, Snapshot, Written, piece_of};
use super::tiers::{self, Weight};
use super::view::{self, TableReader};
use super::{MAX_KEY, MAX_VALUE, RunState, Table, TableConfig};

/// Merges of different tiers that may be under way at once.
const MERGES: usize = 6;

struct Frozen {
    buffer: Arc<Buffer>,
    bytes: usize,
    written: Written,
    write: Running<Result<Option<Held>, RunsError>>,
}

struct Merging {
    inputs: Vec<Arc<Run>>,
    weight: u64,
    state: MergeState,
}

enum MergeState {
    Waiting(Box<Merge>),
    Running(Running<Result<Step, RunsError>>),
}

/// An ordered map larger than memory. It has no log of its own: what was not
/// in a snapshot when the process ends has to be put again.
pub struct RunTable {
    folder: RunFolder,
    config: Arc<TableConfig>,
    soon: Worker,
    merges: Worker,
    buffer: Buffer,
    /// The newest first.
    frozen: VecDeque<Frozen>,
    /// The newest first.
    runs: Vec<Held>,
    merging: Vec<Merging>,
    /// Runs have come or gone since merges were last chosen.
    changed: bool,
    reclaim: bool,
}

impl RunTable {
    /// An empty table. `soon` writes buffers; `merges` may take longer.
    pub fn new(folder: &RunFolder, config: TableConfig, soon: Worker, merges: Worker) -> RunTable {
        RunTable {
            folder: folder.clone(),
            config: Arc::new(config.within_reason()),
            soon,
            merges,
            buffer: Buffer::default(),
            frozen: VecDeque::new(),
            runs: Vec::new(),
            merging: Vec::new(),
            changed: true,
            reclaim: false,
        }
    }

    /// The table that a manifest describes, the newest run first. Tables of
    /// one folder that name the same run share its file. The files are kept;
    /// a snapshot taken right away stands for that manifest, to let them go
    /// when there is a newer one.
    pub fn open(
        folder: &RunFolder,
        config: TableConfig,
        soon: Worker,
        merges: Worker,
        runs: &[RunState],
    ) -> Result<RunTable, RunsError> {
        let mut table = RunTable::new(folder, config, soon, merges);
        let mut filter_bytes = table.config.filter_bytes;
        let mut index_bytes = table.config.index_bytes;
        for state in runs {
            let file = folder.shared(&state.name)?;
            file.keep(true);
            let held = Held::open(file, state, &table.config, filter_bytes, index_bytes)?;
            filter_bytes = filter_bytes.saturating_sub(filter_bytes_of(&held));
            index_bytes = index_bytes.saturating_sub(part_bytes_of(&held));
            table.runs.push(held);
        }
        Ok(table)
    }

    /// To be called often by the owner: takes in what the workers have done
    /// and gives them more. Never waits and never touches the disk. An error
    /// is that of a background job; what it was to write is still in memory,
    /// but will not be written.
    pub fn tend(&mut self) -> Result<(), RunsError> {
        self.install_written()?;
        self.install_merged()?;
        if self.buffer.bytes() >= self.config.buffer_bytes {
            self.freeze();
        }
        self.start_merges();
        self.run_a_step();
        Ok(())
    }

    /// Whether buffers wait to be written, or runs to be merged, beyond their
    /// limits: the owner should hold back what is new and go on tending.
    pub fn is_congested(&self) -> bool {
        let waiting: usize = self.frozen.iter().map(|frozen| frozen.bytes).sum();
        waiting > self.config.waiting_bytes || self.runs.len() > self.config.most_runs
    }

    /// Everything put so far, as of this moment.
    pub fn snapshot(&mut self) -> Snapshot {
        self.freeze();
        let frozen = self.frozen.iter();
        let frozen = frozen.map(|frozen| Piece::Frozen(Arc::clone(&frozen.written)));
        Snapshot {
            pieces: frozen.chain(self.runs.iter().map(piece_of)).collect(),
        }
    }

    /// A range as it is at this moment, to be read on another thread. Copies
    /// what the buffer has of it.
    pub fn reader(&self, from: &[u8], to: &[u8]) -> TableReader {
        let mut buffers = vec![Arc::new(self.buffer.copy(from, to))];
        buffers.extend(self.frozen.iter().map(|frozen| Arc::clone(&frozen.buffer)));
        let runs = self.runs.iter().filter(|held| {
            let (entries, ranges) = held.may_hold(from, to);
            entries || ranges
        });
        TableReader {
            from: from.to_vec(),
            to: to.to_vec(),
            buffers,
            runs: runs.cloned().collect(),
        }
    }

    /// Merge all runs into one as soon as no other merge is under way: gives
    /// back the space of what was removed, which otherwise waits until its
    /// tier is merged.
    pub fn reclaim(&mut self) {
        self.reclaim = true;
    }

    /// Buffers, filters and fences.
    pub fn bytes_in_memory(&self) -> usize {
        let frozen: usize = self.frozen.iter().map(|frozen| frozen.bytes).sum();
        let held: usize = self.runs.iter().map(resident_bytes).sum();
        self.buffer.bytes() + frozen + held
    }

    pub fn bytes_on_disk(&self) -> u64 {
        self.runs.iter().map(|held| held.run.file.length()).sum()
    }

    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Entries of all runs, with removals and what newer ones replace.
    pub fn entries_on_disk(&self) -> u64 {
        self.runs.iter().map(|held| held.run.facts.entries).sum()
    }

    /// Whether the workers have something of this table to do.
    pub fn is_busy(&self) -> bool {
        self.reclaim || !self.frozen.is_empty() || !self.merging.is_empty()
    }

    fn freeze(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let buffer = Arc::new(std::mem::take(&mut self.buffer));
        let written: Written = Arc::new(OnceLock::new());
        let build = Build {
            folder: self.folder.clone(),
            config: Arc::clone(&self.config),
            compress: buffer.bytes() as u64 >= self.config.compress_above,
            prefixes: (buffer.entries() + buffer.removed().len()) as u64,
            filter_bytes: self.config.filter_bytes,
            index_bytes: self.config.index_bytes,
        };
        let (source, done) = (Arc::clone(&buffer), Arc::clone(&written));
        let write = self.soon.run(move || {
            let held = write_buffer(&source, build)?;
            let _ = done.set(held.as_ref().map(|held| Arc::clone(&held.run)));
            Ok(held)
        });
        self.frozen.push_front(Frozen {
            bytes: buffer.bytes(),
            buffer,
            written,
            write,
        });
    }

    /// From the oldest on, so that runs stay in order of age.
    fn install_written(&mut self) -> Result<(), RunsError> {
        while let Some(oldest) = self.frozen.back() {
            let Some(held) = oldest.write.take()? else {
                break;
            };
            let held = held?;
            let frozen = self.frozen.pop_back();
            // Thousands of pieces of memory: not on this thread.
            drop(self.soon.run(move || drop(frozen)));
            if let Some(held) = held {
                self.changed = true;
                self.runs.insert(0, held);
                self.keep_to_budget();
            }
        }
        Ok(())
    }

    fn install_merged(&mut self) -> Result<(), RunsError> {
        for at in 0..self.merging.len() {
            let MergeState::Running(running) = &self.merging[at].state else {
                continue;
            };
            match running.take()? {
                None => {}
                Some(Ok(Step::More(merge))) => self.merging[at].state = MergeState::Waiting(merge),
                Some(Ok(Step::Done(output))) => self.replace_merged(at, output),
                Some(Err(error)) => {
                    self.merging.swap_remove(at);
                    self.changed = true;
                    return Err(error);
                }
            }
            break;
        }
        Ok(())
    }

    fn replace_merged(&mut self, at: usize, output: Option<Held>) {
        self.changed = true;
        let merging = self.merging.swap_remove(at);
        let first = merging.inputs.first();
        let is_first = |held: &Held| first.is_some_and(|run| Arc::ptr_eq(run, &held.run));
        if let Some(start) = self.runs.iter().position(is_first) {
            let end = start + merging.inputs.len();
            let old: Vec<Held> = self.runs.splice(start..end, output).collect();
            // The last user of a file removes it, which takes time.
            drop(self.soon.run(move || drop((old, merging))));
        }
        self.keep_to_budget();
    }

    /// The newest runs keep their filters and fences, as far as they go.
    fn keep_to_budget(&mut self) {
        let mut filters = self.config.filter_bytes;
        let mut parts = self.config.index_bytes;
        for held in &mut self.runs {
            match filters.checked_sub(filter_bytes_of(held)) {
                Some(left) => filters = left,
                None => held.filter = None,
            }
            match parts.checked_sub(part_bytes_of(held)) {
                Some(left) => parts = left,
                None => held.parts = None,
            }
        }
    }

    fn start_merges(&mut self) {
        if self.reclaim && self.merging.is_empty() {
            self.reclaim = false;
            let restricted = self.runs.iter().any(|held| held.run.is_restricted());
            if self.runs.len() > 1 || restricted {
                self.start_merge(0, self.runs.len());
            }
        }
        while self.changed && self.merging.len() < MERGES {
            let weights: Vec<Weight> = self.runs.iter().map(|held| self.weight(held)).collect();
            let TableConfig {
                buffer_bytes,
                fan_in,
                most_runs,
                ..
            } = *self.config;
            let Some(range) = tiers::choose(&weights, buffer_bytes, fan_in, most_runs) else {
                self.changed = false;
                break;
            };
            self.start_merge(range.start, range.end);
        }
    }

    fn weight(&self, held: &Held) -> Weight {
        let mut inputs = self.merging.iter().flat_map(|merging| &merging.inputs);
        Weight {
            bytes: held.run.weight(),
            busy: inputs.any(|run| Arc::ptr_eq(run, &held.run)),
        }
    }

    fn start_merge(&mut self, start: usize, end: usize) {
        let mut inputs = self.runs[start..end].to_vec();
        // Read from end to end they need no filters, and the table may want
        // to be rid of those.
        inputs.iter_mut().for_each(|held| held.filter = None);
        let older = self.runs[end..].to_vec();
        let weight = inputs.iter().map(|held| held.run.weight()).sum();
        // What newer runs have of the budgets is theirs.
        let newer = &self.runs[..start];
        let filters: usize = newer.iter().map(filter_bytes_of).sum();
        let parts: usize = newer.iter().map(part_bytes_of).sum();
        let build = Build {
            folder: self.folder.clone(),
            config: Arc::clone(&self.config),
            compress: weight >= self.config.compress_above,
            prefixes: inputs.iter().map(|held| held.run.facts.prefixes).sum(),
            filter_bytes: self.config.filter_bytes.saturating_sub(filters),
            index_bytes: self.config.index_bytes.saturating_sub(parts),
        };
        self.merging.push(Merging {
            inputs: inputs.iter().map(|held| Arc::clone(&held.run)).collect(),
            weight,
            state: MergeState::Waiting(Box::new(Merge::new(inputs, older, build))),
        });
    }

    /// One step at a time, of the smallest merge: the newest runs are many.
    fn run_a_step(&mut self) {
        let running = |merging: &Merging| matches!(merging.state, MergeState::Running(_));
        if self.merging.iter().any(running) {
            return;
        }
        let Some(next) = (0..self.merging.len()).min_by_key(|at| self.merging[*at].weight) else {
            return;
        };
        let merging = self.merging.swap_remove(next);
        let state = match merging.state {
            MergeState::Waiting(merge) => MergeState::Running(self.merges.run(|| merge.step())),
            running => running,
        };
        self.merging.push(Merging { state, ..merging });
    }

    /// Whether anything older than the buffer may lie in a range.
    fn is_below(&self, from: &[u8], to: &[u8]) -> bool {
        let mut frozen = self.frozen.iter();
        frozen.any(|frozen| frozen.buffer.cursor(from, to).key().is_some())
            || self.runs.iter().any(|held| held.may_hold(from, to).0)
    }

    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let frozen = self.frozen.iter().map(|frozen| &*frozen.buffer);
        std::iter::once(&self.buffer).chain(frozen)
    }
}

fn filter_bytes_of(held: &Held) -> usize {
    held.filter.as_ref().map_or(0, |filter| filter.bytes())
}

fn part_bytes_of(held: &Held) -> usize {
    held.parts.as_ref().map_or(0, |parts| parts.bytes())
}

fn resident_bytes(held: &Held) -> usize {
    let tops = held.run.entries.bytes() + held.run.ranges.bytes();
    tops + filter_bytes_of(held) + part_bytes_of(held)
}

impl Table for RunTable {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        assert!(key.len() <= MAX_KEY && value.len() <= MAX_VALUE);
        self.buffer.put(key, Some(value));
    }

    fn remove(&mut self, key: &[u8]) {
        assert!(key.len() <= MAX_KEY);
        self.buffer.put(key, None);
    }

    fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        assert!(from.len() <= MAX_KEY && to.len() <= MAX_KEY);
        let below = self.is_below(from, to);
        self.buffer.remove_range(from, to, below);
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RunsError> {
        view::get(self.buffers(), &self.runs, self.config.filter.prefix(), key)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RunsError> {
        view::scan(self.buffers(), &self.runs, from, to, with)
    }

    fn tend(&mut self) -> Result<(), RunsError> {
        RunTable::tend(self)
    }

    fn is_congested(&self) -> bool {
        RunTable::is_congested(self)
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        Some(RunTable::snapshot(self))
    }
}
