//! Checking journal and archive, each by itself and against each other.
//!
//! Everything is read once: the journals group by group, and with each visit
//! the archive records it names; then what no visit named. Nothing is changed.

mod archive;
mod finding;
mod journal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::forget::is_forget_unfinished;
use crate::journal::JournalError;
use crate::positions::Positions;
use crate::record::Position;
use crate::recovery::Accepted;
use archive::Extents;

pub use finding::{Finding, Part, Severity};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyCounts {
    pub segments: u64,
    pub groups: u64,
    pub records: u64,
    pub visits: u64,
    /// Visits that compaction has dropped.
    pub superseded: u64,
    pub archive_files: u64,
    pub archive_records: u64,
    pub archive_bytes: u64,
    pub notes: u64,
    pub warnings: u64,
    pub damages: u64,
    /// Those of the damages that are in the journal.
    pub journal_damages: u64,
    /// Journals that end before a record that was synced. They can be read:
    /// the state can be made again from what is left.
    pub lost_ends: u64,
    /// A takedown was interrupted, so that nothing was looked at.
    pub unfinished_forget: bool,
}

impl VerifyCounts {
    /// Whether nothing that was committed is lost or wrong, for all we know.
    pub fn is_sound(&self) -> bool {
        self.damages == 0 && !self.unfinished_forget
    }
}

/// What the two halves share.
struct Report<'a> {
    counts: VerifyCounts,
    /// The last record of each journal.
    ends: BTreeMap<u16, Position>,
    /// Places of the archive whose visits stand in a damaged journal.
    unexplained: u64,
    /// A record whose archive records may be lost without harm: it was not
    /// synced, and a start cuts it off where they are.
    unsynced: Option<Position>,
    /// Journals that a start would cut before here.
    cut: BTreeSet<u16>,
    with: &'a mut dyn FnMut(Finding),
}

impl Report<'_> {
    fn find(&mut self, mut finding: Finding) {
        if let Some(Position {
            journal, sequence, ..
        }) = self.unsynced
            && finding.is_what_power_takes()
        {
            if !self.cut.insert(journal) {
                return;
            }
            finding = Finding::Unsynced { journal, sequence };
        }
        let count = match finding.severity() {
            Severity::Note => &mut self.counts.notes,
            Severity::Warning => &mut self.counts.warnings,
            Severity::Damage => &mut self.counts.damages,
        };
        *count += 1;
        if finding.severity() == Severity::Damage && finding.part() == Part::Journal {
            self.counts.journal_damages += 1;
        }
        if matches!(finding, Finding::Lost { .. }) {
            self.counts.lost_ends += 1;
        }
        (self.with)(finding);
    }

    /// Something in the archive that no visit names. It is told one by one
    /// only where all visits could be read.
    fn find_unnamed(&mut self, finding: Finding) {
        match self.counts.journal_damages {
            0 => self.find(finding),
            _ => self.unexplained += 1,
        }
    }
}

/// Verify the journals in a folder and the archive they name. The `synced`
/// records must be there. `with` is told every finding, `progress` the counts
/// so far after each group.
pub fn verify_journal(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    archive_folder: &Path,
    synced: &[Position],
    with: &mut dyn FnMut(Finding),
    progress: &mut dyn FnMut(&VerifyCounts),
) -> Result<VerifyCounts, JournalError> {
    let mut report = Report {
        counts: VerifyCounts::default(),
        ends: BTreeMap::new(),
        unexplained: 0,
        unsynced: None,
        cut: BTreeSet::new(),
        with,
    };
    if is_forget_unfinished(&**disk, folder)? {
        report.counts.unfinished_forget = true;
        report.find(Finding::UnfinishedForget);
        return Ok(report.counts);
    }
    let accepted = match Accepted::find(disk, folder, synced) {
        // Told of where it stands.
        Err(JournalError::Damaged { .. }) => Accepted::everything(),
        other => other?,
    };
    let mut extents = Extents::new(&**disk, archive_folder);
    let mut positions = Positions::open(Arc::clone(disk), folder);
    journal::check_all(
        disk,
        folder,
        &mut report,
        &mut |position, record, report| {
            report.ends.insert(position.journal, position);
            if report.cut.contains(&position.journal) {
                return Ok(());
            }
            journal::check_links(&mut positions, position, record, report)?;
            report.unsynced = Some(position).filter(|at| !accepted.has(*at));
            let checked = extents.check(position, record, report);
            report.unsynced = None;
            checked
        },
        progress,
    )?;
    for position in synced {
        let end = report.ends.get(&position.journal);
        let (found, epoch) = end.map_or((0, 0), |end| (end.sequence, end.epoch));
        if found < position.sequence || epoch < position.epoch {
            report.find(Finding::Lost {
                journal: position.journal,
                found,
                synced: position.sequence,
            });
        }
    }
    extents.check_unnamed(&mut report, progress)?;
    if report.unexplained > 0 {
        let places = report.unexplained;
        report.find(Finding::Unexplained { places });
    }
    Ok(report.counts)
}
