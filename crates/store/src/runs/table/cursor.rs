//! Walks over the entries, and over the removed ranges, of a buffer or run.

use std::sync::Arc;

use super::super::RunsError;
use super::block::Block;
use super::buffer::BufferCursor;
use super::fences::Fences;
use super::range::{earlier_end, is_before};
use super::removed::RemovedRanges;
use super::run::{Held, Section};

/// Walks over one row of a run's blocks.
pub(super) struct RunCursor {
    held: Held,
    section: Section,
    to: Vec<u8>,
    part: usize,
    fences: Arc<Fences>,
    at: usize,
    block: Block,
    live: bool,
}

impl RunCursor {
    /// At the first entry at or after `from`.
    pub fn entries(held: &Held, from: &[u8], to: &[u8]) -> Result<RunCursor, RunsError> {
        let mut cursor = RunCursor::in_block_of(held, Section::Entries, from, to)?;
        while cursor.live && cursor.block.key() < from {
            cursor.advance()?;
        }
        Ok(cursor)
    }

    /// At the start of the block where `from` belongs.
    fn in_block_of(
        held: &Held,
        section: Section,
        from: &[u8],
        to: &[u8],
    ) -> Result<RunCursor, RunsError> {
        let part = held.run.top(section).find(from);
        let mut cursor = RunCursor {
            fences: held.fences(section, part)?,
            held: held.clone(),
            section,
            to: to.to_vec(),
            part,
            at: 0,
            block: Block::default(),
            live: false,
        };
        cursor.at = cursor.fences.find(from);
        cursor.read()?;
        Ok(cursor)
    }

    /// Read the block it stands at and go to its first entry.
    fn read(&mut self) -> Result<(), RunsError> {
        self.block
            .read(&self.held.run.file, self.fences.frame(self.at))?;
        self.advance()
    }

    pub fn key(&self) -> Option<&[u8]> {
        self.live.then(|| self.block.key())
    }

    pub fn value(&self) -> Option<&[u8]> {
        self.block.value()
    }

    pub fn advance(&mut self) -> Result<(), RunsError> {
        while !self.block.next(&self.held.run.file)? {
            if self.at + 1 < self.fences.len() {
                self.at += 1;
            } else if self.part + 1 < self.held.run.top(self.section).len() {
                self.part += 1;
                self.fences = self.held.fences(self.section, self.part)?;
                self.at = 0;
            } else {
                self.live = false;
                return Ok(());
            }
            self.block
                .read(&self.held.run.file, self.fences.frame(self.at))?;
        }
        self.live = is_before(self.block.key(), &self.to);
        Ok(())
    }

    /// Forward to the first entry at or after `key`, past whole blocks
    /// without reading them.
    pub fn seek(&mut self, key: &[u8]) -> Result<(), RunsError> {
        if !self.live || self.block.key() >= key {
            return Ok(());
        }
        let top = self.held.run.top(self.section);
        if self.part + 1 < top.len() && top.key(self.part + 1) <= key {
            self.part = top.find(key);
            self.fences = self.held.fences(self.section, self.part)?;
            self.at = self.fences.find(key);
            self.read()?;
        } else if self.at + 1 < self.fences.len() && self.fences.key(self.at + 1) <= key {
            self.at = self.fences.find(key);
            self.read()?;
        }
        while self.live && self.block.key() < key {
            self.advance()?;
        }
        Ok(())
    }
}

/// Walks over entries.
pub(super) enum Entries<'a> {
    Buffer(BufferCursor<'a>),
    Run(Box<RunCursor>),
}

impl Entries<'_> {
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Entries::Buffer(cursor) => cursor.key(),
            Entries::Run(cursor) => cursor.key(),
        }
    }

    /// `None`: the key was removed.
    pub fn value(&self) -> Option<&[u8]> {
        match self {
            Entries::Buffer(cursor) => cursor.value(),
            Entries::Run(cursor) => cursor.value(),
        }
    }

    pub fn advance(&mut self) -> Result<(), RunsError> {
        match self {
            Entries::Buffer(cursor) => {
                cursor.advance();
                Ok(())
            }
            Entries::Run(cursor) => cursor.advance(),
        }
    }

    pub fn seek(&mut self, key: &[u8]) -> Result<(), RunsError> {
        match self {
            Entries::Buffer(cursor) => {
                cursor.seek(key);
                Ok(())
            }
            Entries::Run(cursor) => cursor.seek(key),
        }
    }
}

/// Walks over removed ranges, from the first that ends after some key.
pub(super) enum Ranges<'a> {
    Buffer {
        removed: &'a RemovedRanges,
        current: Option<(&'a [u8], &'a [u8])>,
    },
    Run(Box<RunCursor>),
}

impl<'a> Ranges<'a> {
    pub fn of_buffer(removed: &'a RemovedRanges, from: &[u8]) -> Ranges<'a> {
        Ranges::Buffer {
            removed,
            current: removed.first_ending_after(from),
        }
    }

    /// What of the run's ranges this table sees, up to those that begin at
    /// `to`.
    pub fn of_run(held: &Held, from: &[u8], to: &[u8]) -> Result<Ranges<'a>, RunsError> {
        let from = from.max(&held.run.from);
        let to = earlier_end(to, &held.run.to);
        let cursor = RunCursor::in_block_of(held, Section::Ranges, from, to)?;
        let mut ranges = Ranges::Run(Box::new(cursor));
        // Disjoint and sorted: only the last that begins before `from` can
        // reach over it.
        while ranges.current().is_some_and(|(_, to)| !is_before(from, to)) {
            ranges.advance()?;
        }
        Ok(ranges)
    }

    pub fn current(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Ranges::Buffer { current, .. } => *current,
            Ranges::Run(cursor) => {
                let run = &cursor.held.run;
                let from = cursor.key()?.max(&run.from);
                let to = cursor.value().unwrap_or_default();
                Some((from, earlier_end(to, &run.to)))
            }
        }
    }

    pub fn advance(&mut self) -> Result<(), RunsError> {
        match self {
            Ranges::Buffer { removed, current } => {
                *current = current.and_then(|(from, _)| removed.after(from));
                Ok(())
            }
            Ranges::Run(cursor) => cursor.advance(),
        }
    }
}
