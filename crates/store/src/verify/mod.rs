//! Checking journal and archive, each by itself and against each other.
//!
//! Everything is read once: the journals group by group, and with each visit
//! the archive records it names; then what no visit named. Nothing is changed.

mod archive;
mod finding;
mod journal;

use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::journal::JournalError;
use crate::positions::Positions;
use archive::Extents;

pub use finding::{Finding, Severity};

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
}

impl VerifyCounts {
    /// Whether nothing that was committed is lost or wrong.
    pub fn is_sound(&self) -> bool {
        self.damages == 0
    }
}

/// What the two halves share.
struct Report<'a> {
    counts: VerifyCounts,
    with: &'a mut dyn FnMut(Finding),
}

impl Report<'_> {
    fn find(&mut self, finding: Finding) {
        let count = match finding.severity() {
            Severity::Note => &mut self.counts.notes,
            Severity::Warning => &mut self.counts.warnings,
            Severity::Damage => &mut self.counts.damages,
        };
        *count += 1;
        (self.with)(finding);
    }
}

/// Verify the journals in a folder and the archive they name. `with` is told
/// every finding, `progress` the counts so far after each group.
pub fn verify_journal(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    archive_folder: &Path,
    with: &mut dyn FnMut(Finding),
    progress: &mut dyn FnMut(&VerifyCounts),
) -> Result<VerifyCounts, JournalError> {
    let mut report = Report {
        counts: VerifyCounts::default(),
        with,
    };
    let mut extents = Extents::new(&**disk, archive_folder);
    let mut positions = Positions::open(Arc::clone(disk), folder);
    journal::check_all(
        disk,
        folder,
        &mut report,
        &mut |position, record, report| {
            journal::check_links(&mut positions, position, record, report)?;
            extents.check(position, record, report)
        },
        progress,
    )?;
    extents.check_unnamed(&mut report, progress)?;
    Ok(report.counts)
}
