//! Taking records out of archive files.

use std::collections::HashSet;
use std::path::Path;

use super::plan::fresh_path;
use super::{ForgetError, ForgetReport};
use crate::disk::Disk;
use crate::journal::JournalError;
use crate::visit::Extent;
use crate::warc_reader::{Flaw, Packing, Unpacker, read_record};

const COPY_BYTES: usize = 1 << 20;
const SYNC_EVERY: u64 = 32 << 20;

/// The parts of a file that go, in order, none touching the next.
#[derive(Default)]
pub struct Cuts {
    /// From, to, and how much went before it.
    ranges: Vec<(u64, u64, u64)>,
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
                        cuts.add(offset, end);
                    } else if !record.refers_to.is_empty() && matches(&record.refers_to) {
                        report.revisits_without_content += 1;
                        cuts.emptied.insert(offset);
                    }
                    offset = end;
                }
                Err(Flaw::Io(error)) => return Err(failed()(error).into()),
                Err(_) if offset >= named_end.unwrap_or(0) => {
                    cuts.add(offset, length);
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

    /// Nothing of the file goes.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether an extent is of a record that refers to content which goes.
    pub fn empties(&self, extent: &Extent) -> bool {
        self.emptied.contains(&extent.offset)
    }

    fn add(&mut self, from: u64, to: u64) {
        match self.ranges.last_mut() {
            Some((_, end, _)) if *end == from => *end = to,
            last => {
                let before = last.map_or(0, |(from, to, before)| *before + (*to - *from));
                self.ranges.push((from, to, before));
            }
        }
    }

    /// How many of the bytes before a place go.
    fn before(&self, place: u64) -> u64 {
        let after = self.ranges.partition_point(|(from, _, _)| *from < place);
        let last = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        last.map_or(0, |(from, to, before)| before + (place.min(*to) - from))
    }

    /// Where an extent lies afterwards; nothing if none of it is left.
    pub fn moved(&self, extent: &Extent) -> Option<Extent> {
        let end = extent.offset.saturating_add(extent.length);
        let offset = extent.offset - self.before(extent.offset);
        let length = end - self.before(end) - offset;
        (length > 0).then(|| Extent {
            file: extent.file.clone(),
            offset,
            length,
        })
    }
}

/// Write the file without its cuts beside it, synced.
pub fn cut_out(disk: &dyn Disk, path: &Path, cuts: &Cuts) -> Result<(), JournalError> {
    let fresh = fresh_path(path);
    let failed = || JournalError::io(&fresh);
    let old = disk.open(path).map_err(JournalError::io(path))?;
    let length = old.length().map_err(JournalError::io(path))?;
    let mut new = disk.append(&fresh).map_err(failed())?;
    let mut buffer = vec![0; COPY_BYTES];
    let (mut at, mut synced) = (0, 0);
    let ends = cuts.ranges.iter().map(|(from, to, _)| (*from, *to));
    for (keep_to, go_on) in ends.chain([(length, length)]) {
        while at < keep_to {
            let room = (keep_to - at).min(COPY_BYTES as u64) as usize;
            old.read_exact_at(at, &mut buffer[..room])
                .map_err(JournalError::io(path))?;
            new.append(&buffer[..room]).map_err(failed())?;
            at += room as u64;
            if new.length() - synced >= SYNC_EVERY {
                new.sync().map_err(failed())?;
                synced = new.length();
            }
        }
        at = go_on;
    }
    new.sync().map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_move_to_where_their_bytes_are() {
        let mut cuts = Cuts::default();
        cuts.add(10, 15);
        cuts.add(15, 20);
        cuts.add(50, 60);
        let moved = |offset: u64, length: u64| {
            let extent = Extent {
                file: String::new(),
                offset,
                length,
            };
            cuts.moved(&extent).map(|e| (e.offset, e.length))
        };
        assert_eq!(cuts.ranges.len(), 2);
        assert_eq!(moved(0, 10), Some((0, 10)));
        assert_eq!(moved(10, 10), None);
        assert_eq!(moved(20, 30), Some((10, 30)));
        assert_eq!(moved(60, 5), Some((40, 5)));
        // One extent for several records, some of which go.
        assert_eq!(moved(0, 100), Some((0, 80)));
        assert_eq!(moved(12, 43), Some((10, 30)));
    }
}
