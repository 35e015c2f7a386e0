//! Writing a segment anew with some of its records gone or changed.
//!
//! The records that are left keep their positions. The new file stands under
//! another name until somebody gives it the old one's.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{AppendFile, Disk};
use crate::group::{Group, SparseBuilder};
use crate::journal::JournalError;
use crate::record::{Position, Record};
use crate::segment::Segment;
use crate::superseded::Superseded;

/// Records are gathered to this size before they are written as a group.
const GROUP_BYTES: usize = 256 << 10;
/// …or when they cover so many sequences.
const GROUP_SPAN: u64 = 1 << 20;
/// New files are synced piece by piece, so that the end is not one long wait.
const SYNC_EVERY: u64 = 32 << 20;

/// What is to become of a record.
pub enum Verdict {
    Keep,
    Change(Record),
    Drop,
    /// Only this is still to be known of it.
    Supersede(Superseded),
}

/// Says what is to become of a record, from its place and its bytes.
pub type Judge<'a> = dyn FnMut(Position, &[u8]) -> Result<Verdict, JournalError> + 'a;

pub struct Rewritten {
    pub bytes_after: u64,
    /// Whether any record is not what it was.
    pub changed: bool,
}

/// Write what `judge` leaves of a segment to the file `to`, synced.
pub fn rewrite(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    name: &str,
    to: &Path,
    judge: &mut Judge<'_>,
) -> Result<Rewritten, JournalError> {
    let mut segment = Segment::open(&**disk, folder, name)?;
    let mut output = Output {
        path: to,
        file: disk.append(to).map_err(JournalError::io(to))?,
        synced: 0,
        gathered: None,
        changed: false,
    };
    let mut next: Option<Position> = None;
    loop {
        let before = segment.offset;
        let Some((header, stored)) = segment.next_whole(0)? else {
            break;
        };
        let damaged = || JournalError::Damaged {
            path: segment.path().to_owned(),
            offset: before,
        };
        let group = Group::decompress(header, &stored).map_err(|_| damaged())?;
        // What is lost between two groups must not be taken for dropped.
        if next.is_some_and(|next| next != group.first()) {
            return Err(damaged());
        }
        next = Some(Position {
            sequence: group.last_sequence() + 1,
            ..group.first()
        });
        output.add(&group, folder, judge)?;
    }
    if segment.is_torn()? {
        return Err(JournalError::Damaged {
            path: segment.path().to_owned(),
            offset: segment.offset,
        });
    }
    output.write_gathered()?;
    output.sync()?;
    Ok(Rewritten {
        bytes_after: output.file.length(),
        changed: output.changed,
    })
}

struct Output<'a> {
    path: &'a Path,
    file: Box<dyn AppendFile>,
    synced: u64,
    gathered: Option<Gathered>,
    changed: bool,
}

impl Output<'_> {
    fn add(
        &mut self,
        group: &Group,
        folder: &Path,
        judge: &mut Judge<'_>,
    ) -> Result<(), JournalError> {
        for (position, bytes) in group.raw_records() {
            let bytes = bytes.map_err(|_| JournalError::Malformed {
                folder: folder.to_owned(),
                position,
            })?;
            let verdict = judge(position, bytes)?;
            self.changed |= !matches!(verdict, Verdict::Keep);
            let gathered = self
                .gathered
                .get_or_insert_with(|| Gathered::new(group.first()));
            gathered.add(position.sequence, bytes, verdict);
        }
        let gathered = self
            .gathered
            .get_or_insert_with(|| Gathered::new(group.first()));
        gathered.next = group.last_sequence() + 1;
        if gathered.bytes >= GROUP_BYTES || gathered.next - gathered.first.sequence >= GROUP_SPAN {
            self.write_gathered()?;
        }
        Ok(())
    }

    fn write_gathered(&mut self) -> Result<(), JournalError> {
        let Some(gathered) = self.gathered.take() else {
            return Ok(());
        };
        let failed = || JournalError::io(self.path);
        if let Some(bytes) = gathered.seal().map_err(failed())? {
            self.file.append(&bytes).map_err(failed())?;
        }
        if self.file.length() - self.synced >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.synced = self.file.length();
        self.file.sync().map_err(JournalError::io(self.path))
    }
}

/// The records of the next group.
struct Gathered {
    first: Position,
    next: u64,
    records: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    /// All that was superseded among them, at the place of the last.
    superseded: Option<(u64, Superseded)>,
}

impl Gathered {
    fn new(first: Position) -> Gathered {
        Gathered {
            first,
            next: first.sequence,
            records: Vec::new(),
            bytes: 0,
            superseded: None,
        }
    }

    fn add(&mut self, sequence: u64, bytes: &[u8], verdict: Verdict) {
        let bytes = match verdict {
            Verdict::Keep => bytes.to_vec(),
            Verdict::Change(record) => {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                bytes
            }
            Verdict::Drop => return,
            Verdict::Supersede(more) => {
                let place = || (sequence, Superseded::default());
                let (at, superseded) = self.superseded.get_or_insert_with(place);
                *at = sequence;
                superseded.visits += more.visits;
                for extent in more.extents {
                    self.bytes += extent.file.len();
                    superseded.add(extent);
                }
                self.bytes += more.emptied.iter().map(|e| e.url.len()).sum::<usize>();
                superseded.emptied.extend(more.emptied);
                return;
            }
        };
        self.bytes += bytes.len();
        self.records.push((sequence, bytes));
    }

    fn seal(mut self) -> std::io::Result<Option<Vec<u8>>> {
        if let Some((sequence, superseded)) = self.superseded.take() {
            let mut bytes = Vec::new();
            Record::Superseded(superseded).encode(&mut bytes);
            let at = self.records.partition_point(|(s, _)| *s < sequence);
            self.records.insert(at, (sequence, bytes));
        }
        let mut builder = SparseBuilder::new(self.first)?;
        for (sequence, bytes) in &self.records {
            builder.push(*sequence, bytes);
        }
        builder.cover_to(self.next);
        builder.finish()
    }
}
