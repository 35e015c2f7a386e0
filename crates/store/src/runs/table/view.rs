//! Reads over buffers and runs, the newest first.

use std::sync::Arc;

use super::super::RunsError;
use super::buffer::Buffer;
use super::cursor::{Entries, Ranges, RunCursor};
use super::filter;
use super::merged::Merged;
use super::range::is_empty;
use super::run::Held;

pub(super) fn get<'a>(
    buffers: impl Iterator<Item = &'a Buffer>,
    runs: &[Held],
    filter_prefix: usize,
    key: &[u8],
) -> Result<Option<Vec<u8>>, RunsError> {
    for buffer in buffers {
        if let Some(found) = buffer.get(key) {
            return Ok(found.map(<[u8]>::to_vec));
        }
    }
    let hash = filter::hash(&key[..key.len().min(filter_prefix)]);
    for held in runs {
        let (entries, ranges) = held.may_hold_key(key, hash);
        if entries && let Some(found) = held.find(key)? {
            return Ok(found);
        }
        if ranges && held.covers(key)? {
            return Ok(None);
        }
    }
    Ok(None)
}

pub(super) fn scan<'a>(
    buffers: impl Iterator<Item = &'a Buffer>,
    runs: &[Held],
    from: &[u8],
    to: &'a [u8],
    with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), RunsError> {
    if is_empty(from, to) {
        return Ok(());
    }
    let mut merged = Merged::default();
    let mut age = 0;
    for buffer in buffers {
        merged.add_entries(age, Entries::Buffer(buffer.cursor(from, to)));
        merged.add_ranges(age, Ranges::of_buffer(buffer.removed(), from));
        age += 1;
    }
    for held in runs {
        add_run(&mut merged, age, held, from, to)?;
        age += 1;
    }
    while let Some(found) = merged.find()? {
        if let Some(value) = found.value()
            && !with(found.key(), value)
        {
            break;
        }
        found.pass()?;
    }
    Ok(())
}

/// What a run has of a range, if its filter does not rule it out.
pub(super) fn add_run(
    merged: &mut Merged<'_>,
    age: usize,
    held: &Held,
    from: &[u8],
    to: &[u8],
) -> Result<(), RunsError> {
    let (entries, ranges) = held.may_hold(from, to);
    if entries && let Some((from, to)) = held.run.clip(from, to) {
        let cursor = RunCursor::entries(held, from, to)?;
        merged.add_entries(age, Entries::Run(Box::new(cursor)));
    }
    if ranges {
        merged.add_ranges(age, Ranges::of_run(held, from, to)?);
    }
    Ok(())
}

/// A range of a table as it was at one moment, to be read on another thread.
pub struct TableReader {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    /// The newest first; the first is a copy of what the range had in the
    /// buffer that is being filled.
    pub(super) buffers: Vec<Arc<Buffer>>,
    pub(super) runs: Vec<Held>,
}

impl TableReader {
    /// In key order over the whole range, until `with` says stop (false).
    pub fn scan(&self, with: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), RunsError> {
        let buffers = self.buffers.iter().map(|buffer| &**buffer);
        scan(buffers, &self.runs, &self.from, &self.to, with)
    }
}
