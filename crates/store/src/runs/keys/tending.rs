//! What goes on behind the set: buffers become runs, runs are merged, gathered
//! keys are looked up. Every step is taken on the owner's thread, every piece
//! of work done by a worker.

use std::sync::Arc;
use std::time::Duration;

use super::buffer::Buffer;
use super::filter::Filter;
use super::run::{KeyRun, KeyRunWriter};
use super::scan::merge;
use super::search::{Confirmed, confirm};
use super::set::{BUFFERS, Frozen, KeySet};
use super::snapshot::Slot;
use crate::runs::{RunFolder, Running, RunsError};

/// Answers given in one call, so that a large batch does not hold its owner up.
const ANSWERS_PER_CALL: usize = 8 << 10;

/// Keys being looked up. The frozen buffers stay until all are answered.
pub(super) struct Batch {
    len: usize,
    room: usize,
    job: Running<Result<Confirmed, RunsError>>,
    confirmed: Option<Confirmed>,
}

impl Batch {
    /// Keys without an answer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many keys there is memory for.
    pub fn room(&self) -> usize {
        self.room
    }

    pub fn has_answers(&self) -> bool {
        self.confirmed.is_some()
    }
}

pub(super) struct Merging {
    inputs: Vec<Arc<KeyRun>>,
    job: Running<Result<KeyRun, RunsError>>,
}

impl KeySet {
    pub(super) fn advance(
        &mut self,
        now: Duration,
        answers: &mut Vec<(u64, bool)>,
    ) -> Result<(), RunsError> {
        self.install_flushed()?;
        self.answer(answers)?;
        self.retire();
        self.install_merged()?;
        self.advance_growth()?;
        self.start_flush();
        self.start_merge();
        self.start_batch(now);
        Ok(())
    }

    fn install_flushed(&mut self) -> Result<(), RunsError> {
        let Some(flushing) = &self.flushing else {
            return Ok(());
        };
        let Some(run) = flushing.take()? else {
            return Ok(());
        };
        self.flushing = None;
        let run = run?;
        self.growth.note(&run);
        self.runs.push(run);
        if let Some(frozen) = self.frozen.iter_mut().find(|f| !f.is_installed) {
            frozen.is_installed = true;
        }
        Ok(())
    }

    fn answer(&mut self, answers: &mut Vec<(u64, bool)>) -> Result<(), RunsError> {
        let Some(mut batch) = self.batch.take() else {
            return Ok(());
        };
        if batch.confirmed.is_none() {
            batch.confirmed = batch.job.take()?.transpose()?;
        }
        if let Some(confirmed) = &mut batch.confirmed {
            let from = confirmed.found.len().saturating_sub(ANSWERS_PER_CALL);
            for asked in confirmed.found.drain(from..) {
                self.cache.put(asked.key());
                answers.push((asked.token, false));
                batch.len -= 1;
            }
            let from = confirmed.missing.len().saturating_sub(ANSWERS_PER_CALL);
            for asked in confirmed.missing.drain(from..) {
                let is_new = !self.in_memory(asked.key());
                if is_new {
                    self.enter(asked.key());
                }
                answers.push((asked.token, is_new));
                batch.len -= 1;
            }
        }
        if batch.len > 0 {
            self.batch = Some(batch);
        } else {
            self.used = batch.confirmed.unwrap_or_default();
        }
        Ok(())
    }

    /// Let go of buffers whose runs answer for them.
    fn retire(&mut self) {
        let mut cleared = Vec::new();
        self.clearing.retain(|clearing| match clearing.take() {
            Ok(Some(buffer)) => {
                cleared.push(buffer);
                false
            }
            still => still.is_ok(),
        });
        self.spare.append(&mut cleared);
        if self.batch.is_some() {
            return;
        }
        let done: Vec<_> = self.frozen.extract_if(.., |f| f.is_installed).collect();
        for Frozen { buffer, slot, .. } in done {
            match Arc::try_unwrap(buffer) {
                Ok(mut buffer) if self.buffers() < BUFFERS => {
                    self.clearing.push(self.soon.run(move || {
                        // Merged away already, its run ends here.
                        drop(slot);
                        buffer.clear();
                        buffer
                    }));
                }
                // Giving so much memory back takes longer than the owner has.
                other => drop(self.soon.run(move || drop((slot, other)))),
            }
        }
    }

    fn install_merged(&mut self) -> Result<(), RunsError> {
        let Some(merging) = &self.merging else {
            return Ok(());
        };
        let Some(merged) = merging.job.take()? else {
            return Ok(());
        };
        let merged = Arc::new(merged?);
        let Some(Merging { inputs, .. }) = self.merging.take() else {
            return Ok(());
        };
        let is_input = |run: &mut Arc<KeyRun>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
        let replaced: Vec<_> = self.runs.extract_if(.., is_input).collect();
        self.runs.push(merged);
        // The last to let go of a large file waits for its removal.
        self.merges.run(move || drop((inputs, replaced)));
        Ok(())
    }

    fn start_flush(&mut self) {
        if self.flushing.is_some() || self.growth.is_finishing() {
            return;
        }
        let Some(frozen) = self.frozen.iter().find(|frozen| !frozen.is_installed) else {
            return;
        };
        let (buffer, slot) = (Arc::clone(&frozen.buffer), Arc::clone(&frozen.slot));
        // The next freeze finds a buffer ready: making one is not its owner's
        // work either.
        if self.spare.is_empty() && self.clearing.is_empty() && self.buffers() < BUFFERS {
            let room = self.config.buffer_keys;
            let fresh = self.soon.run(move || Buffer::with_room(room));
            self.clearing.push(fresh);
        }
        let folder = self.folder.clone();
        let block_bytes = self.config.block_bytes_for(buffer.len() as u64);
        let filter = Arc::clone(&self.filter);
        let flush = move || flush(&folder, block_bytes, &buffer, &filter, &slot);
        self.flushing = Some(self.soon.run(flush));
    }

    fn start_merge(&mut self) {
        if self.merging.is_some() {
            return;
        }
        let width = self.config.merge_width.max(2);
        let tier = |run: &KeyRun| run.keys.max(1).ilog(width as u64);
        let mut runs: Vec<_> = self.runs.iter().collect();
        runs.sort_by_key(|run| run.keys);
        let mut tiers = runs.chunk_by(|a, b| tier(a) == tier(b));
        let Some(full) = tiers.find(|runs| runs.len() >= width) else {
            return;
        };
        let inputs: Vec<Arc<KeyRun>> = full[..width].iter().map(|run| Arc::clone(run)).collect();
        let folder = self.folder.clone();
        let keys = inputs.iter().map(|run| run.keys).sum();
        let block_bytes = self.config.block_bytes_for(keys);
        let sources = inputs.clone();
        let job = move || merge(&folder, &sources, block_bytes);
        let job = self.merges.run(job);
        self.merging = Some(Merging { inputs, job });
    }

    fn start_batch(&mut self, now: Duration) {
        if self.batch.is_some() {
            return;
        }
        if self.gathering.is_empty() {
            self.is_hurried = false;
            return;
        }
        let waited = now.saturating_sub(self.gathering_since);
        let is_due = self.is_hurried
            || self.gathering.len() >= self.config.confirm_keys
            || waited >= self.config.confirm_after;
        if !is_due {
            return;
        }
        self.is_hurried = false;
        let Confirmed { found, missing } = std::mem::take(&mut self.used);
        let asked = std::mem::replace(&mut self.gathering, missing);
        let len = asked.len();
        let room = asked.capacity() + found.capacity().max(len);
        let runs = self.runs.clone();
        let job = self.soon.run(move || confirm(asked, found, &runs));
        self.batch = Some(Batch {
            len,
            room,
            job,
            confirmed: None,
        });
    }
}

/// Write a buffer as a run and let the filter know its keys.
fn flush(
    folder: &RunFolder,
    block_bytes: usize,
    buffer: &Buffer,
    filter: &Filter,
    slot: &Slot,
) -> Result<Arc<KeyRun>, RunsError> {
    let mut writer = KeyRunWriter::begin(folder, block_bytes)?;
    for key in buffer.sorted() {
        filter.add(key);
        writer.push(key)?;
    }
    let run = Arc::new(writer.finish()?);
    // Only this job fills it.
    let _ = slot.set(Arc::clone(&run));
    Ok(run)
}
