//! The journals: checksums, sequences, records, and links kept elsewhere.

use std::path::Path;
use std::sync::Arc;

use super::{Finding, Report, VerifyCounts};
use crate::disk::Disk;
use crate::group::Group;
use crate::journal::JournalError;
use crate::positions::Positions;
use crate::record::{Position, Record};
use crate::segment::{Segment, Step, segments_in};

type EachRecord<'a> =
    dyn FnMut(Position, &Record, &mut Report<'_>) -> Result<(), JournalError> + 'a;

pub fn check_all(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    report: &mut Report<'_>,
    each: &mut EachRecord<'_>,
    progress: &mut dyn FnMut(&VerifyCounts),
) -> Result<(), JournalError> {
    for file in disk.list(folder).map_err(JournalError::io(folder))? {
        if !file.ends_with(".rj") {
            report.find(Finding::LeftOver { file });
        }
    }
    let segments = segments_in(&**disk, folder)?;
    for journal in segments.chunk_by(|(a, _), (b, _)| a.journal == b.journal) {
        let mut next = 1;
        for (at, (first, name)) in journal.iter().enumerate() {
            let mut check = SegmentCheck {
                segment: Segment::open(&**disk, folder, name)?,
                first: *first,
                is_last: at + 1 == journal.len(),
                next: &mut next,
            };
            report.counts.segments += 1;
            check.run(report, each, progress)?;
        }
    }
    Ok(())
}

/// The links that a visit has from another must be there.
pub fn check_links(
    positions: &mut Positions,
    position: Position,
    record: &Record,
    report: &mut Report<'_>,
) -> Result<(), JournalError> {
    let Record::Visit(visit) = record else {
        return Ok(());
    };
    let Some(links_of) = visit.links_of else {
        return Ok(());
    };
    match positions.links_of(visit) {
        Ok(Some(_)) => {}
        // A damaged group is told of where it stands.
        Ok(None) | Err(JournalError::Damaged { .. } | JournalError::Malformed { .. }) => {
            report.find(Finding::LinksMissing { position, links_of });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

struct SegmentCheck<'a> {
    segment: Segment,
    first: Position,
    is_last: bool,
    /// The sequence that the journal's next record should have.
    next: &'a mut u64,
}

impl SegmentCheck<'_> {
    fn run(
        &mut self,
        report: &mut Report<'_>,
        each: &mut EachRecord<'_>,
        progress: &mut dyn FnMut(&VerifyCounts),
    ) -> Result<(), JournalError> {
        loop {
            let offset = self.segment.offset;
            match self.segment.step(0)? {
                Step::Group(header, stored) => match Group::decompress(header, &stored) {
                    Ok(group) => self.check(&group, offset, report, each)?,
                    Err(_) => report.find(self.damaged(offset)),
                },
                Step::Passed => {}
                Step::End => {
                    if !self.skip_damage(offset, report)? {
                        return Ok(());
                    }
                }
            }
            progress(&report.counts);
        }
    }

    fn damaged(&self, offset: u64) -> Finding {
        Finding::DamagedGroup {
            segment: self.segment.name.clone(),
            offset,
        }
    }

    /// Step over what is no group; `false` at the end of the segment.
    fn skip_damage(&mut self, offset: u64, report: &mut Report<'_>) -> Result<bool, JournalError> {
        let length = self.segment.length()?;
        if offset >= length {
            return Ok(false);
        }
        let next = self.segment.good_group_after(offset)?;
        match next {
            None if self.is_last => report.find(Finding::TornTail {
                segment: self.segment.name.clone(),
                bytes: length - offset,
            }),
            _ => report.find(self.damaged(offset)),
        }
        self.segment.offset = next.unwrap_or(length);
        Ok(next.is_some())
    }

    fn check(
        &mut self,
        group: &Group,
        offset: u64,
        report: &mut Report<'_>,
        each: &mut EachRecord<'_>,
    ) -> Result<(), JournalError> {
        let first = group.first();
        report.counts.groups += 1;
        let (journal, sequence) = (first.journal, first.sequence);
        if (journal, first.epoch) != (self.first.journal, self.first.epoch)
            || (offset == 0 && sequence != self.first.sequence)
        {
            report.find(Finding::MisplacedGroup {
                segment: self.segment.name.clone(),
                offset,
            });
        }
        if sequence > *self.next {
            report.find(Finding::Gap {
                segment: self.segment.name.clone(),
                journal,
                from: *self.next,
                through: sequence - 1,
            });
        } else if sequence < *self.next {
            report.find(Finding::Repeated {
                segment: self.segment.name.clone(),
                journal,
                sequence,
            });
        }
        *self.next = group.last_sequence().saturating_add(1).max(*self.next);
        let mut expected = sequence;
        for (position, record) in group.records() {
            report.counts.records += 1;
            expected = position.sequence + 1;
            let Ok(record) = record else {
                let segment = self.segment.name.clone();
                report.find(Finding::MalformedRecord { segment, position });
                continue;
            };
            match &record {
                Record::Visit(_) => report.counts.visits += 1,
                Record::Superseded(s) => report.counts.superseded += s.visits,
                _ => {}
            }
            each(position, &record, report)?;
        }
        // A dense group has a record for every sequence it covers.
        if !group.is_sparse() && expected <= group.last_sequence() {
            report.find(Finding::Gap {
                segment: self.segment.name.clone(),
                journal,
                from: expected,
                through: group.last_sequence(),
            });
        }
        Ok(())
    }
}
