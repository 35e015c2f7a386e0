//! Segment files: their names, and stepping through their groups.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, ReadFile};
use crate::group::{HEADER, Header, MAGIC};
use crate::journal::JournalError;
use crate::record::Position;

/// How much of a damaged file is looked through at a time.
const SEARCH_WINDOW: usize = 32 << 10;

pub fn segment_name(first: Position) -> String {
    format!(
        "j{:05}-e{:08}-{:020}.rj",
        first.journal, first.epoch, first.sequence
    )
}

/// The place of a segment's first record, from its name.
pub fn parse_name(name: &str) -> Option<Position> {
    let mut parts = name.strip_suffix(".rj")?.split('-');
    Some(Position {
        journal: parts.next()?.strip_prefix('j')?.parse().ok()?,
        epoch: parts.next()?.strip_prefix('e')?.parse().ok()?,
        sequence: parts.next()?.parse().ok()?,
    })
}

/// Every segment in a folder with its first place, by journal and age.
pub fn segments_in(
    disk: &dyn Disk,
    folder: &Path,
) -> Result<Vec<(Position, String)>, JournalError> {
    let names = disk.list(folder).map_err(JournalError::io(folder))?;
    Ok(names
        .into_iter()
        .filter_map(|name| Some((parse_name(&name)?, name)))
        .collect())
}

/// A segment being read.
pub struct Segment {
    pub name: String,
    path: PathBuf,
    file: Box<dyn ReadFile>,
    /// Where the next group begins.
    pub offset: u64,
}

/// What was found at a place in a segment.
pub enum Step {
    Group(Header, Vec<u8>),
    /// A whole group that was not asked for.
    Passed,
    /// Nothing, or not yet a whole group.
    End,
}

impl Segment {
    pub fn open(disk: &dyn Disk, folder: &Path, name: &str) -> Result<Segment, JournalError> {
        let path = folder.join(name);
        let file = disk.open(&path).map_err(JournalError::io(&path))?;
        Ok(Segment {
            name: name.to_owned(),
            path,
            file,
            offset: 0,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn length(&self) -> Result<u64, JournalError> {
        self.file.length().map_err(JournalError::io(&self.path))
    }

    /// Whether bytes are left behind the last whole group.
    pub fn is_torn(&self) -> Result<bool, JournalError> {
        Ok(self.length()? > self.offset)
    }

    /// The head of the group that stands at a place, if all of the group's
    /// bytes are there. `length` is the file's.
    pub fn header_at(
        &self,
        offset: u64,
        length: u64,
    ) -> Result<Option<(Header, [u8; HEADER])>, JournalError> {
        if length < offset + HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER];
        self.read_at(offset, &mut bytes)?;
        if Header::is_of_later_version(&bytes) {
            return Err(JournalError::LaterVersion {
                path: self.path.clone(),
                offset,
            });
        }
        let header = Header::parse(&bytes).filter(|h| offset + h.length() <= length);
        Ok(header.map(|header| (header, bytes)))
    }

    /// A group's frame, or nothing if its checksum does not hold.
    pub fn body_at(
        &self,
        offset: u64,
        header: &Header,
        header_bytes: &[u8; HEADER],
    ) -> Result<Option<Vec<u8>>, JournalError> {
        let mut stored = vec![0; header.stored_length as usize];
        self.read_at(offset + HEADER as u64, &mut stored)?;
        Ok(header.verifies(header_bytes, &stored).then_some(stored))
    }

    /// Step over the group that stands here, if it is whole; its body is read
    /// only if it ends at or after `from`.
    pub fn step(&mut self, from: u64) -> Result<Step, JournalError> {
        let length = self.length()?;
        let Some((header, bytes)) = self.header_at(self.offset, length)? else {
            return Ok(Step::End);
        };
        if header.last_sequence() < from {
            self.offset += header.length();
            return Ok(Step::Passed);
        }
        let Some(stored) = self.body_at(self.offset, &header, &bytes)? else {
            return Ok(Step::End);
        };
        self.offset += header.length();
        Ok(Step::Group(header, stored))
    }

    /// Read and step over the next whole group that ends at or after `from`;
    /// earlier ones are passed over by their headers alone.
    pub fn next_whole(&mut self, from: u64) -> Result<Option<(Header, Vec<u8>)>, JournalError> {
        loop {
            match self.step(from)? {
                Step::Group(header, stored) => return Ok(Some((header, stored))),
                Step::Passed => {}
                Step::End => return Ok(None),
            }
        }
    }

    /// The last sequence that any group covers, by the headers alone.
    pub fn last_sequence(&self) -> Result<Option<u64>, JournalError> {
        let length = self.length()?;
        let (mut offset, mut last) = (0, None);
        while let Some((header, _)) = self.header_at(offset, length)? {
            offset += header.length();
            last = Some(header.last_sequence());
        }
        Ok(last)
    }

    /// Whether a whole, unharmed group stands anywhere behind a place, and
    /// where: then damage at that place is not a torn tail.
    pub fn good_group_after(&self, offset: u64) -> Result<Option<u64>, JournalError> {
        let found = self.good_group_between(offset + 1, self.length()?)?;
        Ok(found.map(|(_, place)| place))
    }

    /// Whether no whole group stands here, but one does later. In this order:
    /// of two groups that are being written the first is whole first.
    pub fn is_damaged_here(&self) -> Result<bool, JournalError> {
        if self.good_group_after(self.offset)?.is_none() {
            return Ok(false);
        }
        Ok(match self.header_at(self.offset, self.length()?)? {
            Some((header, bytes)) => self.body_at(self.offset, &header, &bytes)?.is_none(),
            None => true,
        })
    }

    /// The first whole, unharmed group that begins in a stretch, wherever in
    /// a group that stretch begins.
    pub fn good_group_between(
        &self,
        from: u64,
        to: u64,
    ) -> Result<Option<(Position, u64)>, JournalError> {
        let length = self.length()?;
        let mut window = vec![0; SEARCH_WINDOW];
        let mut at = from;
        while at < to {
            let size = length.saturating_sub(at).min(SEARCH_WINDOW as u64) as usize;
            if size < HEADER {
                break;
            }
            self.read_at(at, &mut window[..size])?;
            for found in memchr::memmem::find_iter(&window[..size], &MAGIC) {
                let place = at + found as u64;
                if place < to
                    && let Some((header, bytes)) = self.header_at(place, length)?
                    && self.body_at(place, &header, &bytes)?.is_some()
                {
                    return Ok(Some((header.first, place)));
                }
            }
            // The next window begins where a mark may have been cut in two.
            at += (size - (MAGIC.len() - 1)) as u64;
        }
        Ok(None)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), JournalError> {
        let read: io::Result<()> = self.file.read_exact_at(offset, buffer);
        read.map_err(JournalError::io(&self.path))
    }
}
