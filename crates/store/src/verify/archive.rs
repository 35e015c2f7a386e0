//! The archive: what the journals name is there and whole, and what is there
//! is named.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::{Finding, Report, VerifyCounts};
use crate::archive::is_archive_name;
use crate::disk::{Disk, ReadFile};
use crate::journal::JournalError;
use crate::record::{Position, Record};
use crate::visit::{Extent, Visit};
use crate::warc::digest_text;
use crate::warc_reader::{DigestCheck, Flaw, Packing, Unpacker, WarcRecord, read_record};

/// Files that are open at a time.
const OPEN_FILES: usize = 32;

/// The parts of the archive that were named so far. Records stand side by
/// side, so of a sound file this is one long part.
pub struct Extents<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
    named: BTreeMap<String, Named>,
    open: HashMap<String, (Box<dyn ReadFile>, u64)>,
    unpacker: Unpacker,
}

#[derive(Default)]
struct Named {
    /// From start to end, none touching the next.
    parts: BTreeMap<u64, u64>,
    missing: bool,
}

impl Named {
    fn add(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.parts.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.parts.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.parts.insert(from, to);
    }
}

impl<'a> Extents<'a> {
    pub fn new(disk: &'a dyn Disk, folder: &Path) -> Extents<'a> {
        Extents {
            disk,
            folder: folder.to_owned(),
            named: BTreeMap::new(),
            open: HashMap::new(),
            unpacker: Unpacker::default(),
        }
    }

    /// Check all that a record names.
    pub fn check(
        &mut self,
        position: Position,
        record: &Record,
        report: &mut Report<'_>,
    ) -> Result<(), JournalError> {
        for (nth, extent) in record.extents().iter().enumerate() {
            let named = self.named.entry(extent.file.clone()).or_default();
            let end = extent.offset.saturating_add(extent.length);
            named.add(extent.offset, end);
            if named.missing {
                continue;
            }
            if !self.open_file(&extent.file)? {
                report.find(Finding::ArchiveFileMissing {
                    file: extent.file.clone(),
                    position,
                });
                if let Some(named) = self.named.get_mut(&extent.file) {
                    named.missing = true;
                }
                continue;
            }
            match record {
                Record::Visit(visit) => self.check_visit(visit, nth, extent, report)?,
                _ => self.check_row(extent, report)?,
            }
        }
        Ok(())
    }

    fn check_visit(
        &mut self,
        visit: &Visit,
        nth: usize,
        extent: &Extent,
        report: &mut Report<'_>,
    ) -> Result<(), JournalError> {
        let (file, offset) = (extent.file.clone(), extent.offset);
        let url = visit.url.clone();
        let end = offset.saturating_add(extent.length);
        let record = match self.read(&file, offset, end, report)? {
            Ok(record) if record.stored_length == extent.length => record,
            flawed => {
                let flaw = flawed.err().unwrap_or(Flaw::Length).to_string();
                report.find(Finding::BadExtent {
                    file,
                    offset,
                    url,
                    flaw,
                });
                return Ok(());
            }
        };
        if record.target != url {
            report.find(Finding::WrongTarget {
                file,
                offset,
                url,
                found: record.target,
            });
            return Ok(());
        }
        let is_answer = matches!(record.kind.as_str(), "response" | "revisit" | "resource");
        if is_answer != (nth == 0) || record.kind == "warcinfo" {
            report.find(Finding::WrongKind {
                file,
                offset,
                url,
                kind: record.kind,
            });
            return Ok(());
        }
        let stated = visit.payload_digest.as_ref().map(digest_text);
        let other = is_answer
            && !record.payload_digest.is_empty()
            && stated.is_some_and(|stated| stated != record.payload_digest);
        if other || record.digest == DigestCheck::Differs {
            report.find(Finding::WrongDigest { file, offset, url });
        }
        Ok(())
    }

    /// Several records, one after the other, of visits that are not known.
    fn check_row(&mut self, extent: &Extent, report: &mut Report<'_>) -> Result<(), JournalError> {
        let end = extent.offset.saturating_add(extent.length);
        let mut offset = extent.offset;
        while offset < end {
            match self.read(&extent.file, offset, end, report)? {
                Ok(record) => offset += record.stored_length.max(1),
                Err(flaw) => {
                    report.find(Finding::BadExtent {
                        file: extent.file.clone(),
                        offset,
                        url: "an earlier visit".to_owned(),
                        flaw: flaw.to_string(),
                    });
                    break;
                }
            }
        }
        Ok(())
    }

    /// The records that no visit named: each file begins with one.
    pub fn check_unnamed(
        &mut self,
        report: &mut Report<'_>,
        progress: &mut dyn FnMut(&VerifyCounts),
    ) -> Result<(), JournalError> {
        let names = self.disk.list(&self.folder);
        for name in names.map_err(JournalError::io(&self.folder))? {
            let named = self.named.remove(&name);
            if named.is_none() && !is_archive_name(&name) {
                if name.ends_with(".forget") {
                    report.find(Finding::LeftOver { file: name });
                }
                continue;
            }
            report.counts.archive_files += 1;
            if Packing::of(&name).is_some() && self.open_file(&name)? {
                let parts = named.unwrap_or_default().parts;
                self.check_between(&name, &parts, report)?;
            }
            progress(&report.counts);
        }
        Ok(())
    }

    fn check_between(
        &mut self,
        name: &str,
        parts: &BTreeMap<u64, u64>,
        report: &mut Report<'_>,
    ) -> Result<(), JournalError> {
        let length = self.open.get(name).map_or(0, |(_, length)| *length);
        let mut at = 0;
        for (&from, &to) in parts {
            // A file shorter than what visits name is told with those visits.
            if from > length {
                break;
            }
            self.check_gap(name, at, from, report)?;
            at = at.max(to);
        }
        // Behind the last: written, but not committed.
        if at < length && !parts.is_empty() {
            report.find_unnamed(Finding::Uncommitted {
                file: name.to_owned(),
                bytes: length - at,
            });
        } else if parts.is_empty() && length > 0 && !self.is_just_begun(name, length, report)? {
            report.find_unnamed(Finding::UnnamedFile {
                file: name.to_owned(),
                bytes: length,
            });
        }
        Ok(())
    }

    /// Whether there is nothing in a file but the record about itself.
    fn is_just_begun(
        &mut self,
        name: &str,
        length: u64,
        report: &mut Report<'_>,
    ) -> Result<bool, JournalError> {
        let first = self.read(name, 0, length, report)?;
        Ok(first.is_ok_and(|record| record.kind == "warcinfo" && record.stored_length == length))
    }

    fn check_gap(
        &mut self,
        name: &str,
        from: u64,
        to: u64,
        report: &mut Report<'_>,
    ) -> Result<(), JournalError> {
        let mut offset = from;
        while offset < to {
            match self.read(name, offset, to, report)? {
                Ok(record) => {
                    if record.kind != "warcinfo" {
                        report.find_unnamed(Finding::UnnamedRecord {
                            file: name.to_owned(),
                            offset,
                            kind: record.kind,
                            url: record.target,
                        });
                    }
                    offset += record.stored_length.max(1);
                }
                Err(_) => {
                    report.find(Finding::UnnamedBytes {
                        file: name.to_owned(),
                        offset,
                        bytes: to - offset,
                    });
                    break;
                }
            }
        }
        Ok(())
    }

    /// The disk's failures are errors; a record's are for the caller to tell.
    fn read(
        &mut self,
        name: &str,
        offset: u64,
        end: u64,
        report: &mut Report<'_>,
    ) -> Result<Result<WarcRecord, Flaw>, JournalError> {
        let (Some((file, length)), Some(packing)) = (self.open.get(name), Packing::of(name)) else {
            return Ok(Err(Flaw::NotARecord));
        };
        if end > *length {
            return Ok(Err(Flaw::Length));
        }
        let record = match read_record(&mut self.unpacker, &**file, offset, end, packing) {
            Err(Flaw::Io(error)) => {
                return Err(JournalError::io(&self.folder.join(name))(error));
            }
            other => other,
        };
        if let Ok(record) = &record {
            report.counts.archive_records += 1;
            report.counts.archive_bytes += record.stored_length;
        }
        Ok(record)
    }

    fn open_file(&mut self, name: &str) -> Result<bool, JournalError> {
        if self.open.contains_key(name) {
            return Ok(true);
        }
        let path = self.folder.join(name);
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            other => other.map_err(JournalError::io(&path))?,
        };
        let length = file.length().map_err(JournalError::io(&path))?;
        if self.open.len() >= OPEN_FILES {
            self.open.clear();
        }
        self.open.insert(name.to_owned(), (file, length));
        Ok(true)
    }
}
