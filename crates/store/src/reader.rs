//! Reading a journal: from any sequence, group by group, also while it grows.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Disk;
use crate::group::{Group, Header};
use crate::journal::JournalError;
use crate::segment::{Segment, parse_name};

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

/// Which journals have segments of which epochs.
pub fn epochs_in(disk: &dyn Disk, folder: &Path) -> io::Result<BTreeSet<(u16, u32)>> {
    let names = disk.list(folder)?;
    let firsts = names.iter().filter_map(|name| parse_name(name));
    Ok(firsts.map(|first| (first.journal, first.epoch)).collect())
}

/// The highest epoch that any segment's name tells of.
pub fn last_epoch_in(disk: &dyn Disk, folder: &Path) -> io::Result<u32> {
    let names = disk.list(folder)?;
    let epochs = names
        .iter()
        .filter_map(|name| Some(parse_name(name)?.epoch));
    Ok(epochs.max().unwrap_or(0))
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
    torn: Vec<(PathBuf, u64)>,
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
        Group::decompress(header, &stored).map(Some).map_err(|_| {
            let (path, offset) = match &self.current {
                Some(segment) => (segment.path().to_owned(), segment.offset - header.length()),
                None => (self.folder.clone(), 0),
            };
            JournalError::Damaged { path, offset }
        })
    }

    /// Asked at the end: whether that was the journal's, or damage with
    /// records behind it that were not read. What is torn at the very end is
    /// no damage: it was not committed, or is being written.
    pub fn check_end(&self) -> Result<(), JournalError> {
        if let Some((path, offset)) = self.torn.first() {
            return Err(JournalError::Corrupt {
                path: path.clone(),
                offset: *offset,
            });
        }
        match &self.current {
            Some(segment) if segment.is_torn()? && segment.is_damaged_here()? => {
                Err(JournalError::Corrupt {
                    path: segment.path().to_owned(),
                    offset: segment.offset,
                })
            }
            _ => Ok(()),
        }
    }

    /// Where the group that was read last begins.
    pub(crate) fn place_before(&self, group: &Group) -> Option<(String, u64)> {
        let segment = self.current.as_ref()?;
        Some((segment.name.clone(), segment.offset - group.stored_length()))
    }

    /// Cut the journal's last segment to its last good group. Earlier ones
    /// were synced before their successor began: what is torn there is damage.
    pub(crate) fn cut_torn_tail(mut self) -> Result<(), JournalError> {
        if let Some((path, offset)) = self.torn.pop() {
            return Err(JournalError::Corrupt { path, offset });
        }
        let Some(segment) = self.current.take() else {
            return Ok(());
        };
        if !segment.is_torn()? {
            return Ok(());
        }
        let path = segment.path();
        if segment.good_group_after(segment.offset)?.is_some() {
            return Err(JournalError::Corrupt {
                path: path.to_owned(),
                offset: segment.offset,
            });
        }
        let cut = self.disk.cut(path, segment.offset);
        cut.map_err(JournalError::io(path))
    }

    /// Step over the next whole group that ends at or after `from`, moving
    /// on to later segments.
    fn advance(&mut self) -> Result<Option<(Header, Vec<u8>)>, JournalError> {
        loop {
            let Some(segment) = &mut self.current else {
                if self.enter_segment(None)? {
                    continue;
                }
                return Ok(None);
            };
            if let Some(found) = segment.next_whole(self.from)? {
                return Ok(Some(found));
            }
            let name = segment.name.clone();
            if self.successor_of(Some(&name))?.is_none() {
                return Ok(None);
            }
            // A segment that has a successor has all its groups; one may have
            // been written between the first look and the question.
            if let Some(segment) = &mut self.current
                && let Some(found) = segment.next_whole(self.from)?
            {
                return Ok(Some(found));
            }
            self.enter_segment(Some(&name))?;
        }
    }

    fn enter_segment(&mut self, after: Option<&str>) -> Result<bool, JournalError> {
        let Some(name) = self.successor_of(after)? else {
            return Ok(false);
        };
        let entered = Segment::open(&*self.disk, &self.folder, &name)?;
        if let Some(left) = self.current.replace(entered)
            && left.is_torn()?
        {
            self.torn.push((left.path().to_owned(), left.offset));
        }
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
}
