//! What a crash tore is cut off before anything else is read.
//!
//! A journal group that is not whole was not committed. Nor was one that was
//! never synced and whose archive records are not there or not whole: the
//! archive is synced before the journal, so whatever stands after such a
//! group was not synced either.
//!
//! What was synced is known from the checkpoint, from the records that say so
//! (`Control::SYNCED`), and from the epoch: what is accepted is synced before
//! the next one begins. In all of that nothing is cut. An archive file that
//! is damaged there, or was moved away, costs its pages and not the journal;
//! `verify` tells of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::control::Control;
use crate::disk::{Disk, ReadFile};
use crate::forget::finish_forget;
use crate::group::Group;
use crate::journal::{Journal, JournalError, last_sequence};
use crate::reader::{JournalReader, journals_in, last_epoch_in};
use crate::record::Position;
use crate::segment::segments_in;
use crate::visit::{Extent, Visit};
use crate::warc_reader::{DigestCheck, Flaw, Packing, Unpacker, read_record};

impl Journal {
    /// Cut every journal in the folder to what was committed, and say which
    /// epoch comes next.
    pub fn recover(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        archive: &Path,
    ) -> Result<u32, JournalError> {
        Journal::recover_from(disk, folder, archive, &[])
    }

    /// As `recover`, but what stands at or before these positions is known to
    /// be synced, and not looked at.
    pub fn recover_from(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        archive: &Path,
        synced: &[Position],
    ) -> Result<u32, JournalError> {
        // Until a takedown is carried out, extents may not be true.
        finish_forget(&**disk, folder, archive)?;
        // By the names, not the records: an epoch that lost all its records
        // was used all the same.
        let last_epoch = last_epoch_in(&**disk, folder).map_err(JournalError::io(folder))?;
        let accepted = Accepted::find(disk, folder, synced)?;
        let mut files = ArchiveFiles {
            disk: &**disk,
            folder: archive,
            open: HashMap::new(),
            unpacker: Unpacker::default(),
            to_sync: BTreeSet::new(),
        };
        for journal in journals_in(&**disk, folder).map_err(JournalError::io(folder))? {
            let mark = synced.iter().filter(|p| p.journal == journal);
            let mark = mark.map(|p| p.sequence).max().unwrap_or(0);
            let found = last_sequence(&**disk, folder, journal)?;
            if found < mark {
                return Err(JournalError::Lost {
                    folder: folder.to_owned(),
                    journal,
                    found,
                    synced: mark,
                });
            }
            let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, mark + 1);
            let mut torn_at = None;
            while let Some(group) = reader.next_group()? {
                if !files.hold(&group, &accepted)? {
                    torn_at = reader.place_before(&group);
                    break;
                }
            }
            match torn_at {
                Some((segment, offset)) => cut_from(disk, folder, journal, &segment, offset)?,
                None => reader.cut_torn_tail()?,
            }
        }
        files.sync()?;
        for (first, name) in segments_in(&**disk, folder)? {
            if first.epoch == last_epoch {
                sync_file(&**disk, &folder.join(name))?;
            }
        }
        Ok(last_epoch + 1)
    }
}

/// What a loss of power leaves for certain.
pub(crate) struct Accepted {
    /// Earlier epochs have been accepted: only this one can be torn.
    last_epoch: u32,
    /// How far it was synced, by journal.
    synced: BTreeMap<u16, u64>,
}

impl Accepted {
    /// From what is known to be synced, and from what the journals say.
    pub fn find(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        synced: &[Position],
    ) -> Result<Accepted, JournalError> {
        let last_epoch = last_epoch_in(&**disk, folder).map_err(JournalError::io(folder))?;
        let mut accepted = Accepted {
            last_epoch,
            synced: BTreeMap::new(),
        };
        for position in synced {
            let known = accepted.synced.entry(position.journal).or_default();
            *known = position.sequence.max(*known);
        }
        let segments = segments_in(&**disk, folder)?;
        let mut last = segments
            .iter()
            .map(|(first, _)| first)
            .filter(|first| first.epoch == last_epoch)
            .peekable();
        while let Some(first) = last.next() {
            let known = accepted.synced.entry(first.journal).or_default();
            let from = first.sequence.max(*known + 1);
            let reader = JournalReader::open(Arc::clone(disk), folder, first.journal, from);
            *known = last_synced(reader)?.max(*known);
            // Its other segments have been read with the first.
            while last.next_if(|next| next.journal == first.journal).is_some() {}
        }
        Ok(accepted)
    }

    /// Where the journals cannot be asked.
    pub fn everything() -> Accepted {
        Accepted {
            last_epoch: u32::MAX,
            synced: BTreeMap::new(),
        }
    }

    pub fn has(&self, position: Position) -> bool {
        let synced = self.synced.get(&position.journal);
        position.epoch < self.last_epoch
            || synced.is_some_and(|synced| position.sequence <= *synced)
    }
}

/// Up to which sequence a journal says that it was synced.
fn last_synced(mut reader: JournalReader) -> Result<u64, JournalError> {
    let mut synced = 0;
    while let Some(group) = reader.next_group()? {
        let said = group
            .raw_records()
            .filter_map(|(_, bytes)| Control::synced_by(bytes.ok()?));
        synced = said.fold(synced, u64::max);
    }
    Ok(synced)
}

/// Cut a journal at a place, and everything that comes after it.
fn cut_from(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    journal: u16,
    segment: &str,
    offset: u64,
) -> Result<(), JournalError> {
    // From the end backwards: if this is interrupted, what is left is still
    // a journal without a hole.
    for (first, name) in segments_in(&**disk, folder)?.iter().rev() {
        if first.journal != journal {
            continue;
        }
        let length = match name.as_str().cmp(segment) {
            std::cmp::Ordering::Less => break,
            std::cmp::Ordering::Equal => offset,
            std::cmp::Ordering::Greater => 0,
        };
        let path = folder.join(name);
        disk.cut(&path, length).map_err(JournalError::io(&path))?;
    }
    Ok(())
}

fn sync_file(disk: &dyn Disk, path: &Path) -> Result<(), JournalError> {
    let synced = disk.append(path).and_then(|mut file| file.sync());
    synced.map_err(JournalError::io(path))
}

/// The archive's files that the journals name, each opened once.
struct ArchiveFiles<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    open: HashMap<String, Option<OpenFile>>,
    unpacker: Unpacker,
    to_sync: BTreeSet<String>,
}

/// A file and its length.
type OpenFile = (Box<dyn ReadFile>, u64);

/// Files that are open at a time.
const OPEN_FILES: usize = 64;

impl ArchiveFiles<'_> {
    /// Whether every archive record is whole that a group names and that may
    /// not have been synced.
    fn hold(&mut self, group: &Group, accepted: &Accepted) -> Result<bool, JournalError> {
        for (position, bytes) in group.raw_records() {
            let Ok(Some((url, extents))) = bytes.and_then(Visit::archived) else {
                continue;
            };
            if accepted.has(position) {
                continue;
            }
            for extent in &extents {
                if !self.holds(url, extent)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn holds(&mut self, url: &str, extent: &Extent) -> Result<bool, JournalError> {
        let Some(end) = extent.offset.checked_add(extent.length) else {
            return Ok(false);
        };
        self.look_up(&extent.file)?;
        let Some(Some((file, length))) = self.open.get(&extent.file) else {
            return Ok(false);
        };
        if end > *length {
            return Ok(false);
        }
        let Some(packing) = Packing::of(&extent.file) else {
            return Ok(true);
        };
        let whole = match read_record(&mut self.unpacker, &**file, extent.offset, end, packing) {
            Ok(record) => {
                record.stored_length == extent.length
                    && record.target == url
                    && (record.checksummed || record.digest != DigestCheck::Differs)
            }
            Err(Flaw::Io(error)) => {
                return Err(JournalError::io(&self.folder.join(&extent.file))(error));
            }
            Err(_) => false,
        };
        self.to_sync.insert(extent.file.clone());
        Ok(whole)
    }

    fn look_up(&mut self, name: &str) -> Result<(), JournalError> {
        if self.open.contains_key(name) {
            return Ok(());
        }
        if self.open.len() >= OPEN_FILES {
            self.open.clear();
        }
        let path = self.folder.join(name);
        let file = self.disk.open(&path).and_then(|file| {
            let length = file.length()?;
            Ok((file, length))
        });
        let file = match file {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // That it cannot be read now does not mean that it is not there.
            Err(error) => return Err(JournalError::io(&path)(error)),
        };
        self.open.insert(name.to_owned(), file);
        Ok(())
    }

    /// Before the journal, as always.
    fn sync(&self) -> Result<(), JournalError> {
        for name in &self.to_sync {
            sync_file(self.disk, &self.folder.join(name))?;
        }
        Ok(())
    }
}
