//! Merges runs of neighbouring age into one, in steps.
//!
//! A merge of gigabytes takes long, and small merges must not wait for it:
//! each step is a job of its own, and between two of them another merge can
//! have its turn.

use super::super::RunsError;
use super::buffer::Buffer;
use super::builder::{Build, RunBuilder};
use super::cursor::Ranges;
use super::filter;
use super::merged::Merged;
use super::range::{is_before, later_end};
use super::run::Held;
use super::view::add_run;

/// How much one step does, in bytes of entries.
const STEP: u64 = 32 << 20;
/// What passing an entry costs, compared with copying its bytes.
const ENTRY: u64 = 48;

/// Write a frozen buffer as a run.
pub(super) fn write_buffer(buffer: &Buffer, build: Build) -> Result<Option<Held>, RunsError> {
    let mut builder = RunBuilder::new(build);
    for (key, value) in buffer.chunks().flatten() {
        builder.add(key, value)?;
    }
    for (from, to) in buffer.removed().iter() {
        builder.add_range(from, to)?;
    }
    builder.finish()
}

/// A merge that has not ended.
pub(super) struct Merge {
    /// The newest first.
    inputs: Vec<Held>,
    /// Runs older than all inputs: while one of them may hold a removed key,
    /// the removal stays.
    older: Vec<Held>,
    build: Build,
    going: Option<(Merged<'static>, RunBuilder)>,
}

pub(super) enum Step {
    More(Box<Merge>),
    /// `None`: nothing was left.
    Done(Option<Held>),
}

impl Merge {
    pub fn new(inputs: Vec<Held>, older: Vec<Held>, build: Build) -> Merge {
        Merge {
            inputs,
            older,
            build,
            going: None,
        }
    }

    pub fn step(mut self: Box<Merge>) -> Result<Step, RunsError> {
        let (mut merged, mut builder) = match self.going.take() {
            Some(going) => going,
            None => self.begin()?,
        };
        let mut work = 0;
        while let Some(found) = merged.find()? {
            let (key, value) = (found.key(), found.value());
            if value.is_some() || self.is_below(key) {
                builder.add(key, value)?;
            }
            work += ENTRY + (key.len() + value.map_or(0, <[u8]>::len)) as u64;
            found.pass()?;
            if work >= STEP {
                self.going = Some((merged, builder));
                return Ok(Step::More(self));
            }
        }
        self.merge_ranges(&mut builder)?;
        builder.finish().map(Step::Done)
    }

    fn begin(&self) -> Result<(Merged<'static>, RunBuilder), RunsError> {
        let mut merged = Merged::default();
        for (age, held) in self.inputs.iter().enumerate() {
            add_run(&mut merged, age, held, &[], &[])?;
        }
        Ok((merged, RunBuilder::new(self.build.clone())))
    }

    /// Whether an older run may hold the key.
    fn is_below(&self, key: &[u8]) -> bool {
        if self.older.is_empty() {
            return false;
        }
        let prefix = self.build.config.filter.prefix();
        let hash = filter::hash(&key[..key.len().min(prefix)]);
        self.older.iter().any(|held| held.may_hold_key(key, hash).0)
    }

    /// All removed ranges of the inputs as one row, without those under
    /// which nothing lies.
    fn merge_ranges(&self, builder: &mut RunBuilder) -> Result<(), RunsError> {
        let mut rows = Vec::new();
        for held in &self.inputs {
            if held.run.facts.ranges > 0 {
                rows.push(Ranges::of_run(held, &[], &[])?);
            }
        }
        let mut current: Option<(Vec<u8>, Vec<u8>)> = None;
        loop {
            let first = rows
                .iter_mut()
                .filter(|row| row.current().is_some())
                .min_by(|one, other| {
                    let from = |row: &Ranges<'_>| row.current().map(|(from, _)| from.to_vec());
                    from(one).cmp(&from(other))
                });
            let Some(row) = first else { break };
            let Some((from, to)) = row.current() else {
                break;
            };
            match &mut current {
                Some((_, end)) if end.is_empty() || from <= &end[..] => {
                    let end_of_both = later_end(end, to).to_vec();
                    *end = end_of_both;
                }
                _ => {
                    let done = current.replace((from.to_vec(), to.to_vec()));
                    self.add_range(builder, done)?;
                }
            }
            row.advance()?;
        }
        self.add_range(builder, current)
    }

    fn add_range(
        &self,
        builder: &mut RunBuilder,
        range: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<(), RunsError> {
        let Some((from, to)) = range.filter(|(from, to)| is_before(from, to)) else {
            return Ok(());
        };
        match self.older.iter().any(|held| held.may_hold(&from, &to).0) {
            true => builder.add_range(&from, &to),
            false => Ok(()),
        }
    }
}
