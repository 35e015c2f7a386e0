//! Takedown: pages are removed from archive and journal as if the crawl had
//! never seen them, but for one record that says that it was done.
//!
//! From the archive go all records whose target matches, also those that no
//! visit names any more; everything else stays byte for byte, only nearer to
//! the beginning of its file, but for lines of ours that name what goes: the
//! page by which another was found, and the one that a revisit refers to. What
//! servers sent is not changed, even where a page's own text names it.
//!
//! From the journal go visits, seeds and host events of what matches, links
//! and admissions that lead there, and mentions of it as the way or the
//! duplicate by which another page was found. A page that had been stored as a
//! copy of a forgotten one keeps its visit and its revisit record, but its
//! content is gone with the other's: the visit says so.
//!
//! New files are written beside the old ones. A plan that names them makes it
//! so; from then on they take the others' places, and whoever finds the plan
//! goes on with it ([`finish_forget`], which every recovery calls first).
//! Without a plan the new files are waste and are removed.

mod archive;
mod edit;
mod plan;
mod records;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::is_archive_name;
use crate::clock::Timestamp;
use crate::control::Control;
use crate::disk::Disk;
use crate::group::GroupBuilder;
use crate::journal::{Journal, JournalError, last_sequence};
use crate::reader::{JournalReader, journals_in};
use crate::record::{Position, Record};
use crate::rewrite::rewrite;
use crate::segment::{segment_name, segments_in};
use crate::warc_reader::{Flaw, Packing};
use archive::{Cuts, cut_out};
use plan::{Plan, Room};
use records::Forgetter;

pub use plan::{finish_forget, is_forget_unfinished};

#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "archive: {} is damaged at byte {offset}: {flaw}; nothing was changed, \
         because what stands behind it cannot be told apart", path.display()
    )]
    Archive {
        path: PathBuf,
        offset: u64,
        flaw: Flaw,
    },
}

/// How much was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForgetReport {
    pub visits: u64,
    pub links: u64,
    pub admissions: u64,
    pub seeds: u64,
    pub host_events: u64,
    pub archive_records: u64,
    pub archive_bytes: u64,
    /// Visits of other pages that no longer name the page they repeat.
    pub duplicates_cleared: u64,
    /// Archive records of other pages that refer to content now gone.
    pub revisits_without_content: u64,
    /// Archive records of other pages that no longer name what is gone.
    pub archive_records_changed: u64,
    /// Visits of other pages that got the links which a forgotten one had.
    pub links_moved: u64,
    pub segments_rewritten: u64,
    pub archive_files_rewritten: u64,
}

/// Forget every URL that matches. `subject` names them; it is what the record
/// left behind tells. Only with the crawl's lock: no crawl
/// may run, and its other state is made again afterwards.
///
/// `before` is called once when all new files are written, before any takes an
/// old one's place, and not if none does: whatever was made from the old ones
/// is no longer true then.
pub fn forget(
    disk: &Arc<dyn Disk>,
    journal_folder: &Path,
    archive_folder: &Path,
    subject: &str,
    matches: &dyn Fn(&str) -> bool,
    now: Timestamp,
    before: &mut dyn FnMut() -> io::Result<()>,
) -> Result<ForgetReport, ForgetError> {
    let epoch = Journal::recover(disk, journal_folder, archive_folder)?;
    // The plan of an earlier takedown must not come back among new files.
    let synced = disk.sync_folder(journal_folder);
    synced.map_err(JournalError::io(journal_folder))?;
    let mut report = ForgetReport::default();
    let mut plan = Plan::default();
    let ends = archive_ends(disk, journal_folder)?;
    let mut cuts: HashMap<String, Cuts> = HashMap::new();
    let files = disk.list(archive_folder);
    for name in files.map_err(JournalError::io(archive_folder))? {
        let named = ends.get(&name).copied();
        let Some(packing) = Packing::of(&name) else {
            continue;
        };
        if named.is_none() && !is_archive_name(&name) {
            continue;
        }
        let path = archive_folder.join(&name);
        let found = Cuts::find(&**disk, &path, packing, named, matches, &mut report)?;
        if !found.is_empty() {
            cut_out(&**disk, &path, &found, packing, matches)?;
            report.archive_files_rewritten += 1;
            plan.add(Room::Archive, &name);
        }
        cuts.insert(name, found);
    }
    let mut forgetter = Forgetter::new(disk, journal_folder, matches, &cuts, &mut report);
    for (_, name) in segments_in(&**disk, journal_folder)? {
        let fresh = plan::fresh_path(&journal_folder.join(&name));
        let rewritten = rewrite(disk, journal_folder, &name, &fresh, &mut |at, bytes| {
            forgetter.judge(at, bytes)
        })?;
        if rewritten.changed {
            plan.add(Room::Journal, &name);
        } else {
            disk.remove(&fresh).map_err(JournalError::io(&fresh))?;
        }
    }
    report.segments_rewritten = plan.count(Room::Journal);
    let note = Record::Control(Control {
        time: now,
        command: Control::FORGOTTEN.to_owned(),
        detail: report.sentence(),
        subject: subject.to_owned(),
        ..Control::default()
    });
    let name = write_note(&**disk, journal_folder, epoch, &note)?;
    if !plan.is_empty() {
        before().map_err(JournalError::io(journal_folder))?;
    }
    plan.add(Room::Journal, &name);
    plan.carry_out(&**disk, journal_folder, archive_folder)?;
    Ok(report)
}

impl ForgetReport {
    fn sentence(&self) -> String {
        format!(
            "{} visits, {} links, {} admissions, {} seeds, {} archive records",
            self.visits, self.links, self.admissions, self.seeds, self.archive_records
        )
    }
}

/// Write down that a takedown no longer holds; what it removed stays removed.
/// Only with the crawl's lock.
pub fn lift(
    disk: &Arc<dyn Disk>,
    journal_folder: &Path,
    archive_folder: &Path,
    subject: &str,
    now: Timestamp,
) -> Result<(), JournalError> {
    let epoch = Journal::recover(disk, journal_folder, archive_folder)?;
    let note = Record::Control(Control {
        time: now,
        command: Control::LIFTED.to_owned(),
        subject: subject.to_owned(),
        ..Control::default()
    });
    let name = write_note(&**disk, journal_folder, epoch, &note)?;
    let path = journal_folder.join(name);
    disk.rename(&plan::fresh_path(&path), &path)
        .map_err(JournalError::io(&path))
}

/// Where the part of each archive file ends that the journals name.
fn archive_ends(disk: &Arc<dyn Disk>, folder: &Path) -> Result<HashMap<String, u64>, JournalError> {
    let mut ends: HashMap<String, u64> = HashMap::new();
    for journal in journals_in(&**disk, folder).map_err(JournalError::io(folder))? {
        let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, 0);
        while let Some(group) = reader.next_group()? {
            for (position, record) in group.records() {
                let record = record.map_err(|_| JournalError::Malformed {
                    folder: folder.to_owned(),
                    position,
                })?;
                for extent in record.extents() {
                    let end = ends.entry(extent.file.clone()).or_default();
                    *end = (*end).max(extent.offset.saturating_add(extent.length));
                }
            }
        }
    }
    Ok(ends)
}

/// A record about a takedown, in a segment and an epoch of its own.
fn write_note(
    disk: &dyn Disk,
    folder: &Path,
    epoch: u32,
    note: &Record,
) -> Result<String, JournalError> {
    let journals = journals_in(disk, folder).map_err(JournalError::io(folder))?;
    let journal = journals.first().copied().unwrap_or(0);
    let place = Position {
        journal,
        epoch,
        sequence: last_sequence(disk, folder, journal)? + 1,
    };
    let name = segment_name(place);
    let fresh = plan::fresh_path(&folder.join(&name));
    let failed = || JournalError::io(&fresh);
    let mut group = GroupBuilder::new().map_err(failed())?;
    group.push(note);
    let bytes = group.finish(place).map_err(failed())?;
    let mut file = disk.append(&fresh).map_err(failed())?;
    file.append(&bytes).map_err(failed())?;
    file.sync().map_err(failed())?;
    Ok(name)
}
