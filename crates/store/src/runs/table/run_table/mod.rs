//! The table over runs: the buffer that is filled, frozen ones that are being
//! written, and the runs, with merges in the background.

mod merging;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use super::super::{RunFolder, Running, RunsError, Worker};
use super::buffer::Buffer;
use super::builder::Build;
use super::merge::write_buffer;
use super::run::Held;
use super::snapshot::{Piece, Snapshot, Written, piece_of};
use super::view::{self, TableReader};
use super::{MAX_KEY, MAX_VALUE, RunState, Table, TableConfig};
use merging::Merging;

struct Frozen {
    buffer: Arc<Buffer>,
    bytes: usize,
    written: Written,
    write: Running<Result<Option<Held>, RunsError>>,
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
