//! Reading a journal: from any sequence, group by group, also while it grows.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, ReadFile};
use crate::group::{Group, HEADER, Header, MAGIC};
use crate::journal::JournalError;
use crate::record::Position;

/// The journals that have segments in this folder.
pub fn journals_in(disk: &dyn Disk, folder: &Path) -> io::Result<Vec<u16>> {
    let mut journals: Vec<u16> = disk
        .list(folder)?
        .iter()
        .filter_map(|name| Some(parse_name(name)?.journal))
        .collect();
    journals.dedup();
    Ok(journals)
}

/// The highest epoch that any segment's name tells of.
pub fn last_epoch_in(disk: &dyn Disk, folder: &Path) -> io::Result<u32> {
    let names = disk.list(folder)?;
    let epochs = names
        .iter()
        .filter_map(|name| Some(parse_name(name)?.epoch));
    Ok(epochs.max().unwrap_or(0))
}

/// The place of a segment's first record, from its name.
fn parse_name(name: &str) -> Option<Position> {
    let mut parts = name.strip_suffix(".rj")?.split('-');
    Some(Position {
        journal: parts.next()?.strip_prefix('j')?.parse().ok()?,
        epoch: parts.next()?.strip_prefix('e')?.parse().ok()?,
        sequence: parts.next()?.parse().ok()?,
    })
}

struct Segment {
    name: String,
    file: Box<dyn ReadFile>,
    offset: u64,
}

/// What was found at a place in a segment.
enum Step {
    Group(Header, Vec<u8>),
    /// A whole group that was not asked for.
    Passed,
    /// Nothing, or not yet a whole group.
    End,
}

/// A stream of groups that can be asked again after it has ended: the writer
/// may have added to it.
pub struct JournalReader {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    journal: u16,
    /// Sequences below this are passed over.
    from: u64,
    current: Option<Segment>,
    /// Ends of segments that were left although bytes followed.
    torn: Vec<(String, u64)>,
}

impl JournalReader {
    pub fn open(disk: Arc<dyn Disk>, folder: &Path, journal: u16, from: u64) -> JournalReader {
        JournalReader {
            disk,
            folder: folder.to_owned(),
            journal,
            from,
            current: None,
            torn: Vec::new(),
        }
    }

    /// Pass over everything before this sequence from here on.
    pub fn pass_to(&mut self, sequence: u64) {
        self.from = self.from.max(sequence);
    }

    /// The next group that ends at or after the sequence asked for.
    pub fn next_group(&mut self) -> Result<Option<Group>, JournalError> {
        let Some((header, stored)) = self.advance()? else {
            return Ok(None);
        };
        self.from = header.last_sequence() + 1;
        let group = Group::decompress(header, &stored);
        group.map(Some).map_err(|_| self.corrupt_here())
    }

    /// Where the group that was read last begins.
    pub(crate) fn place_before(&self, group: &Group) -> Option<(String, u64)> {
        let segment = self.current.as_ref()?;
        Some((segment.name.clone(), segment.offset - group.stored_length()))
    }

    /// The next group's header, its body checked but not unpacked.
    pub(crate) fn skip_group(&mut self) -> Result<Option<Header>, JournalError> {
        Ok(self.advance()?.map(|(header, _)| header))
    }

    /// Cut the segments read so far to their last good group.
    pub(crate) fn cut_torn_tails(mut self) -> Result<(), JournalError> {
        if let Some(segment) = self.current.take()
            && segment.length()? > segment.offset
        {
            self.torn.push((segment.name, segment.offset));
        }
        for (name, offset) in &self.torn {
            let path = self.folder.join(name);
            let bytes = self.disk.read(&path).map_err(JournalError::io(&path))?;
            if good_group_after(&bytes, *offset as usize) {
                return Err(JournalError::Corrupt {
                    path,
                    offset: *offset,
                });
            }
            self.disk
                .cut(&path, *offset)
                .map_err(JournalError::io(&path))?;
        }
        Ok(())
    }

    /// Step over the next whole group that ends at or after `from`, moving
    /// on to later segments.
    fn advance(&mut self) -> Result<Option<(Header, Vec<u8>)>, JournalError> {
        loop {
            let Some(name) = self.current.as_ref().map(|s| s.name.clone()) else {
                if self.enter_segment(None)? {
                    continue;
                }
                return Ok(None);
            };
            // Asked before looking: a segment that has a successor has all
            // its groups, so nothing written meanwhile can be passed over.
            let has_successor = self.successor_of(Some(&name))?.is_some();
            if let Some(segment) = &mut self.current
                && let Some(found) = segment.next_whole(self.from)?
            {
                return Ok(Some(found));
            }
            if !has_successor || !self.enter_segment(Some(&name))? {
                return Ok(None);
            }
        }
    }

    fn enter_segment(&mut self, after: Option<&str>) -> Result<bool, JournalError> {
        let Some(name) = self.successor_of(after)? else {
            return Ok(false);
        };
        let path = self.folder.join(&name);
        let file = self.disk.open(&path).map_err(JournalError::io(&path))?;
        if let Some(left) = self.current.take()
            && left.length()? > left.offset
        {
            self.torn.push((left.name, left.offset));
        }
        self.current = Some(Segment {
            name,
            file,
            offset: 0,
        });
        Ok(true)
    }

    /// The segment after this one; without one, the last that begins at or
    /// before the sequence asked for.
    fn successor_of(&self, after: Option<&str>) -> Result<Option<String>, JournalError> {
        let names = self
            .disk
            .list(&self.folder)
            .map_err(JournalError::io(&self.folder))?;
        let mut mine = names.into_iter().filter_map(|name| {
            let first = parse_name(&name)?;
            (first.journal == self.journal).then_some((name, first.sequence))
        });
        if let Some(after) = after {
            return Ok(mine
                .map(|(name, _)| name)
                .find(|name| name.as_str() > after));
        }
        let mut chosen = mine.next().map(|(name, _)| name);
        for (name, first) in mine {
            if first <= self.from {
                chosen = Some(name);
            }
        }
        Ok(chosen)
    }

    fn corrupt_here(&self) -> JournalError {
        let (name, offset) = self
            .current
            .as_ref()
            .map_or((String::new(), 0), |s| (s.name.clone(), s.offset));
        JournalError::Corrupt {
            path: self.folder.join(name),
            offset,
        }
    }
}

impl Segment {
    fn length(&self) -> Result<u64, JournalError> {
        self.file
            .length()
            .map_err(JournalError::io(Path::new(&self.name)))
    }

    /// Read and step over the next whole group that ends at or after `from`;
    /// earlier ones are passed over by their headers alone.
    fn next_whole(&mut self, from: u64) -> Result<Option<(Header, Vec<u8>)>, JournalError> {
        loop {
            match self.step(from)? {
                Step::Group(header, stored) => return Ok(Some((header, stored))),
                Step::Passed => {}
                Step::End => return Ok(None),
            }
        }
    }

    /// Step over the group that stands here, if it is whole; its body only
    /// if it ends at or after `from`.
    fn step(&mut self, from: u64) -> Result<Step, JournalError> {
        let failed = || JournalError::io(Path::new(&self.name));
        let body = self.offset + HEADER as u64;
        let length = self.length()?;
        if length < body {
            return Ok(Step::End);
        }
        let mut header_bytes = [0; HEADER];
        self.file
            .read_exact_at(self.offset, &mut header_bytes)
            .map_err(failed())?;
        let Some(header) = Header::parse(&header_bytes) else {
            return Ok(Step::End);
        };
        let end = body + u64::from(header.stored_length);
        if length < end {
            return Ok(Step::End);
        }
        if header.last_sequence() < from {
            self.offset = end;
            return Ok(Step::Passed);
        }
        let mut stored = vec![0; header.stored_length as usize];
        self.file
            .read_exact_at(body, &mut stored)
            .map_err(failed())?;
        if !header.verifies(&header_bytes, &stored) {
            return Ok(Step::End);
        }
        self.offset = end;
        Ok(Step::Group(header, stored))
    }
}

/// Whether a whole, unharmed group stands anywhere behind this place: then
/// the damage is not a torn tail.
fn good_group_after(bytes: &[u8], offset: usize) -> bool {
    let tail = bytes.get(offset + 1..).unwrap_or(&[]);
    memchr::memmem::find_iter(tail, &MAGIC).any(|at| {
        let group = &tail[at..];
        let Some(header_bytes) = group.first_chunk::<HEADER>() else {
            return false;
        };
        let Some(header) = Header::parse(header_bytes) else {
            return false;
        };
        group
            .get(HEADER..HEADER + header.stored_length as usize)
            .is_some_and(|stored| header.verifies(header_bytes, stored))
    })
}
