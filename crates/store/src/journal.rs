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
use crate::record::{Position, Record};
use crate::segment::{Segment, segment_name, segments_in};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("journal: {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "journal: {path} is damaged at byte {offset}, with good records after it; \
         nothing was changed: restore the file from a copy"
    )]
    Corrupt { path: PathBuf, offset: u64 },
    #[error("journal: {path} is damaged at byte {offset}: restore the file from a copy")]
    Damaged { path: PathBuf, offset: u64 },
    #[error(
        "journal: {path} has records at byte {offset} that a later version of the program wrote; \
         use that version"
    )]
    LaterVersion { path: PathBuf, offset: u64 },
    #[error("journal: the record at {position} in {} is not one", folder.display())]
    Malformed { folder: PathBuf, position: Position },
    #[error(
        "journal {journal} ends at record {found}, but record {synced} was written and synced: \
         restore the folder {folder} from a copy, or make the state again from what is left of it \
         (`rhumb rebuild`), which takes what it no longer names out of the archive too"
    )]
    Lost {
        folder: PathBuf,
        journal: u16,
        found: u64,
        synced: u64,
    },
}

impl JournalError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
        let path = path.to_owned();
        move |error| JournalError::Io { path, error }
    }
}

pub struct Journal {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// The first sequence of this writer.
    first: u64,
    next: Position,
    /// The open segment and its path.
    segment: Option<(PathBuf, Box<dyn AppendFile>)>,
    group: GroupBuilder,
    roll_bytes: u64,
    synced: Option<Position>,
}

impl Journal {
    /// A journal that goes on after its last record, in a new epoch. Torn
    /// tails have been cut by then, so the headers of the last segment that
    /// has any tell where that is.
    pub fn begin(
        disk: Arc<dyn Disk>,
        folder: &Path,
        journal: u16,
        epoch: u32,
        roll_bytes: u64,
    ) -> Result<Journal, JournalError> {
        let sequence = last_sequence(&*disk, folder, journal)? + 1;
        Ok(Journal {
            disk,
            folder: folder.to_owned(),
            first: sequence,
            next: Position {
                journal,
                epoch,
                sequence,
            },
            segment: None,
            group: GroupBuilder::new().map_err(JournalError::io(folder))?,
            roll_bytes,
            synced: None,
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
        if let Some((path, file)) = &mut self.segment {
            file.sync().map_err(JournalError::io(path))?;
        }
        self.synced = self.last();
        Ok(())
    }

    /// The last record that stood here when `sync` was called: what a
    /// checkpoint notes, so that the next start looks only at what stands
    /// behind it. (A segment that is full is synced at once, but its archive
    /// records may not be.)
    pub fn synced(&self) -> Option<Position> {
        self.synced
    }

    /// The last record that this writer committed.
    pub fn last(&self) -> Option<Position> {
        (self.next.sequence > self.first).then(|| Position {
            sequence: self.next.sequence - 1,
            ..self.next
        })
    }
}

/// The last sequence of a journal, 0 if it has none.
pub(crate) fn last_sequence(
    disk: &dyn Disk,
    folder: &Path,
    journal: u16,
) -> Result<u64, JournalError> {
    for (first, name) in segments_in(disk, folder)?.iter().rev() {
        if first.journal == journal
            && let Some(last) = Segment::open(disk, folder, name)?.last_sequence()?
        {
            return Ok(last);
        }
    }
    Ok(0)
}
