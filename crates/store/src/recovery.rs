//! What a crash tore is cut off before anything else is read.
//!
//! A journal group that is not whole was not committed. Nor was one that
//! names archive records which are not there: the archive is synced before
//! the journal, so only a group that was never synced can be in that state,
//! and whatever stands after it was not synced either.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::group::Group;
use crate::journal::{Journal, JournalError};
use crate::reader::{JournalReader, journals_in, last_epoch_in};
use crate::record::Record;

impl Journal {
    /// Cut every journal in the folder to what was committed, and say which
    /// epoch comes next.
    pub fn recover(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        archive: &Path,
    ) -> Result<u32, JournalError> {
        let mut files = ArchiveLengths {
            disk: &**disk,
            folder: archive,
            lengths: HashMap::new(),
        };
        for journal in journals_in(&**disk, folder).map_err(JournalError::io(folder))? {
            let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, 0);
            let mut torn_at = None;
            while let Some(group) = reader.next_group()? {
                if !files.hold(&group) {
                    torn_at = reader.place_before(&group);
                    break;
                }
            }
            match torn_at {
                Some((segment, offset)) => cut_from(disk, folder, journal, &segment, offset)?,
                None => reader.cut_torn_tails()?,
            }
        }
        // By the names, not the records: an epoch that lost all its records
        // was used all the same.
        let last = last_epoch_in(&**disk, folder).map_err(JournalError::io(folder))?;
        Ok(last + 1)
    }
}

/// Cut a journal at a place, and everything that comes after it.
fn cut_from(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    journal: u16,
    segment: &str,
    offset: u64,
) -> Result<(), JournalError> {
    let names = disk.list(folder).map_err(JournalError::io(folder))?;
    let prefix = format!("j{journal:05}-");
    for name in names.iter().filter(|name| name.starts_with(&prefix)) {
        let length = match name.as_str().cmp(segment) {
            std::cmp::Ordering::Less => continue,
            std::cmp::Ordering::Equal => offset,
            std::cmp::Ordering::Greater => 0,
        };
        let path = folder.join(name);
        disk.cut(&path, length).map_err(JournalError::io(&path))?;
    }
    Ok(())
}

/// How long the archive's files are, each asked once.
struct ArchiveLengths<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    lengths: HashMap<String, u64>,
}

impl ArchiveLengths<'_> {
    /// Whether every archive record that a group names lies within its file.
    fn hold(&mut self, group: &Group) -> bool {
        group.records().all(|(_, record)| match record {
            Ok(Record::Visit(visit)) => visit
                .extents
                .iter()
                .all(|extent| extent.offset + extent.length <= self.length(&extent.file)),
            _ => true,
        })
    }

    fn length(&mut self, name: &str) -> u64 {
        if let Some(length) = self.lengths.get(name) {
            return *length;
        }
        let file = self.disk.open(&self.folder.join(name));
        let length = file.and_then(|file| file.length()).unwrap_or(0);
        self.lengths.insert(name.to_owned(), length);
        length
    }
}
