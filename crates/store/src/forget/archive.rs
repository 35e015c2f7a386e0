//! Taking records and names out of archive files.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::edit::edited;
use super::plan::fresh_path;
use super::{ForgetError, ForgetReport};
use crate::disk::Disk;
use crate::journal::JournalError;
use crate::visit::Extent;
use crate::warc_reader::{Flaw, Packing, Unpacker, read_record};

const COPY_BYTES: usize = 1 << 20;
const SYNC_EVERY: u64 = 32 << 20;

/// A part of a file that goes, or makes way for what stands there then.
struct Range {
    from: u64,
    to: u64,
    /// Bytes that take its place.
    new: u64,
    /// By how much nearer to the beginning `from` is afterwards. A packed
    /// record may grow by losing a line.
    nearer: i64,
}

impl Range {
    /// By how much nearer a place behind `from` is afterwards.
    fn nearer_at(&self, place: u64) -> i64 {
        let passed = place.min(self.to) - self.from;
        let new = match place < self.to {
            true => self.new.min(passed),
            false => self.new,
        };
        self.nearer + passed as i64 - new as i64
    }
}

/// The parts of a file that go or change, in order.
#[derive(Default)]
pub struct Cuts {
    ranges: Vec<Range>,
    /// Where records begin that stay, but whose content goes.
    emptied: HashSet<u64>,
}

impl Cuts {
    /// Read a file from record to record. What stands behind the end of the
    /// part that journals name was never committed, and goes too if it is
    /// not a record.
    pub fn find(
        disk: &dyn Disk,
        path: &Path,
        packing: Packing,
        named_end: Option<u64>,
        matches: &dyn Fn(&str) -> bool,
        report: &mut ForgetReport,
    ) -> Result<Cuts, ForgetError> {
        let failed = || JournalError::io(path);
        let file = disk.open(path).map_err(failed())?;
        let length = file.length().map_err(failed())?;
        let mut unpacker = Unpacker::default();
        let mut cuts = Cuts::default();
        let mut offset = 0;
        while offset < length {
            match read_record(&mut unpacker, &*file, offset, length, packing) {
                Ok(record) => {
                    // A record takes bytes, or the next look would be here.
                    let end = offset + record.stored_length.max(1);
                    if !record.target.is_empty() && matches(&record.target) {
                        report.archive_records += 1;
                        report.archive_bytes += end - offset;
                        cuts.add(offset, end, 0);
                        offset = end;
                        continue;
                    }
                    if !record.refers_to.is_empty() && matches(&record.refers_to) {
                        report.revisits_without_content += 1;
                        cuts.emptied.insert(offset);
                    }
                    let new = edited(&*file, offset, &record, packing, matches);
                    if let Some(new) = new.map_err(failed())? {
                        report.archive_records_changed += 1;
                        cuts.add(offset, end, new.len() as u64);
                    }
                    offset = end;
                }
                Err(Flaw::Io(error)) => return Err(failed()(error).into()),
                Err(_) if offset >= named_end.unwrap_or(0) => {
                    cuts.add(offset, length, 0);
                    break;
                }
                Err(flaw) => {
                    return Err(ForgetError::Archive {
                        path: path.to_owned(),
                        offset,
                        flaw,
                    });
                }
            }
        }
        Ok(cuts)
    }

    /// Nothing of the file goes or changes.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether an extent is of a record that refers to content which goes.
    pub fn empties(&self, extent: &Extent) -> bool {
        self.emptied.contains(&extent.offset)
    }

    fn add(&mut self, from: u64, to: u64, new: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.to == from && last.new == 0 && new == 0 => last.to = to,
            last => {
                let nearer = last.map_or(0, |last| last.nearer_at(last.to));
                self.ranges.push(Range {
                    from,
                    to,
                    new,
                    nearer,
                });
            }
        }
    }

    /// Where a place is afterwards.
    fn place(&self, place: u64) -> u64 {
        let after = self.ranges.partition_point(|range| range.from < place);
        let last = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        let nearer = last.map_or(0, |range| range.nearer_at(place));
        place.saturating_add_signed(-nearer)
    }

    /// Where an extent lies afterwards; nothing if none of it is left.
    pub fn moved(&self, extent: &Extent) -> Option<Extent> {
        let offset = self.place(extent.offset);
        let end = self.place(extent.offset.saturating_add(extent.length));
        let length = end.saturating_sub(offset);
        (length > 0).then(|| Extent {
            file: extent.file.clone(),
            offset,
            length,
        })
    }
}

/// Write the file as it is to be beside it, synced.
pub fn cut_out(
    disk: &dyn Disk,
    path: &Path,
    cuts: &Cuts,
    packing: Packing,
    matches: &dyn Fn(&str) -> bool,
) -> Result<(), JournalError> {
    let fresh = fresh_path(path);
    let failed = || JournalError::io(&fresh);
    let old = disk.open(path).map_err(JournalError::io(path))?;
    let length = old.length().map_err(JournalError::io(path))?;
    let mut new = disk.append(&fresh).map_err(failed())?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut unpacker = Unpacker::default();
    let (mut at, mut synced) = (0, 0);
    let end = Range {
        from: length,
        to: length,
        new: 0,
        nearer: 0,
    };
    for range in cuts.ranges.iter().chain([&end]) {
        while at < range.from {
            let room = (range.from - at).min(COPY_BYTES as u64) as usize;
            old.read_exact_at(at, &mut buffer[..room])
                .map_err(JournalError::io(path))?;
            new.append(&buffer[..room]).map_err(failed())?;
            at += room as u64;
            if new.length() - synced >= SYNC_EVERY {
                new.sync().map_err(failed())?;
                synced = new.length();
            }
        }
        if range.new > 0 {
            // Made again, because all of them together may be large.
            let record = read_record(&mut unpacker, &*old, range.from, range.to, packing);
            let record = record.map_err(|flaw| JournalError::io(path)(io::Error::other(flaw)))?;
            let bytes = edited(&*old, range.from, &record, packing, matches);
            let bytes = bytes.map_err(JournalError::io(path))?.unwrap_or_default();
            new.append(&bytes).map_err(failed())?;
        }
        at = range.to;
    }
    new.sync().map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(cuts: &Cuts, offset: u64, length: u64) -> Option<(u64, u64)> {
        let extent = Extent {
            file: String::new(),
            offset,
            length,
        };
        cuts.moved(&extent).map(|e| (e.offset, e.length))
    }

    #[test]
    fn extents_move_to_where_their_bytes_are() {
        let mut cuts = Cuts::default();
        cuts.add(10, 15, 0);
        cuts.add(15, 20, 0);
        cuts.add(50, 60, 0);
        let moved = |offset, length| moved(&cuts, offset, length);
        assert_eq!(cuts.ranges.len(), 2);
        assert_eq!(moved(0, 10), Some((0, 10)));
        assert_eq!(moved(10, 10), None);
        assert_eq!(moved(20, 30), Some((10, 30)));
        assert_eq!(moved(60, 5), Some((40, 5)));
        // One extent for several records, some of which go.
        assert_eq!(moved(0, 100), Some((0, 80)));
        assert_eq!(moved(12, 43), Some((10, 30)));
    }

    #[test]
    fn extents_of_changed_records_have_their_new_lengths() {
        let mut cuts = Cuts::default();
        cuts.add(10, 20, 4);
        cuts.add(20, 30, 13);
        cuts.add(30, 40, 0);
        let moved = |offset, length| moved(&cuts, offset, length);
        assert_eq!(moved(0, 10), Some((0, 10)));
        assert_eq!(moved(10, 10), Some((10, 4)));
        assert_eq!(moved(20, 10), Some((14, 13)));
        assert_eq!(moved(30, 10), None);
        assert_eq!(moved(40, 10), Some((27, 10)));
        assert_eq!(moved(0, 50), Some((0, 37)));
    }
}
