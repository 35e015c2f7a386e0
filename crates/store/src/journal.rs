//! The journal: what happened, in order, one per shard.
//!
//! A journal is a row of segment files named by journal, epoch and first
//! sequence; a segment is a row of commit groups. A start of the crawl cuts
//! what a crash tore and goes on in a new epoch with a new segment, so this
//! writer never appends to a file somebody else began.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{AppendFile, Disk};
use crate::group::GroupBuilder;
use crate::reader::JournalReader;
use crate::record::{Position, Record};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("journal: {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "journal: {path} is damaged at byte {offset}, with good records after it; \
         nothing was changed: restore the file from a copy"
    )]
    Corrupt { path: PathBuf, offset: u64 },
}

impl JournalError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
        let path = path.to_owned();
        move |error| JournalError::Io { path, error }
    }
}

pub fn segment_name(first: Position) -> String {
    format!(
        "j{:05}-e{:08}-{:020}.rj",
        first.journal, first.epoch, first.sequence
    )
}

pub struct Journal {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    next: Position,
    /// The open segment and its path.
    segment: Option<(PathBuf, Box<dyn AppendFile>)>,
    group: GroupBuilder,
    roll_bytes: u64,
}

impl Journal {
    /// A journal that goes on after its last record, in a new epoch.
    pub fn begin(
        disk: Arc<dyn Disk>,
        folder: &Path,
        journal: u16,
        epoch: u32,
        roll_bytes: u64,
    ) -> Result<Journal, JournalError> {
        let mut reader = JournalReader::open(Arc::clone(&disk), folder, journal, 0);
        let mut sequence = 1;
        while let Some(header) = reader.skip_group()? {
            sequence = header.last_sequence() + 1;
        }
        Ok(Journal {
            disk,
            folder: folder.to_owned(),
            next: Position {
                journal,
                epoch,
                sequence,
            },
            segment: None,
            group: GroupBuilder::new().map_err(JournalError::io(folder))?,
            roll_bytes,
        })
    }

    /// Add a record to the open group; it is not true before `commit`.
    pub fn push(&mut self, record: &Record) -> Position {
        let position = Position {
            sequence: self.next.sequence + u64::from(self.group.count()),
            ..self.next
        };
        self.group.push(record);
        position
    }

    /// Bytes waiting in the open group, before compression.
    pub fn pending_bytes(&self) -> usize {
        self.group.raw_length()
    }

    /// Write the open group: its records survive the death of the process.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        let count = self.group.count();
        if count == 0 {
            return Ok(());
        }
        let bytes = self
            .group
            .finish(self.next)
            .map_err(JournalError::io(&self.folder))?;
        let (path, file) = match &mut self.segment {
            Some(open) => open,
            none => {
                let path = self.folder.join(segment_name(self.next));
                let file = self.disk.append(&path).map_err(JournalError::io(&path))?;
                self.disk
                    .sync_folder(&self.folder)
                    .map_err(JournalError::io(&self.folder))?;
                none.insert((path, file))
            }
        };
        file.append(&bytes).map_err(JournalError::io(path))?;
        self.next.sequence += u64::from(count);
        if file.length() >= self.roll_bytes {
            file.sync().map_err(JournalError::io(path))?;
            self.segment = None;
        }
        Ok(())
    }

    /// Make everything committed survive a loss of power.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        match &mut self.segment {
            Some((path, file)) => file.sync().map_err(JournalError::io(path)),
            None => Ok(()),
        }
    }
}
