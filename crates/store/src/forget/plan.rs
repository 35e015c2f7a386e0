//! The plan of a takedown: which new files take the places of old ones.
//!
//! A file of lines, put in place in one step. It names files, never what is
//! forgotten.

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::journal::JournalError;

const PLAN: &str = "forget.plan";
const TITLE: &str = "rhumb forget 1";
/// What a new file is called until it takes the old one's place.
const NEW: &str = ".forget";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Journal,
    Archive,
}

impl Room {
    fn word(self) -> &'static str {
        match self {
            Room::Journal => "journal",
            Room::Archive => "archive",
        }
    }
}

#[derive(Default)]
pub struct Plan {
    files: Vec<(Room, String)>,
}

pub fn fresh_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(NEW);
    path.with_file_name(name)
}

impl Plan {
    pub fn add(&mut self, room: Room, name: &str) {
        self.files.push((room, name.to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn count(&self, room: Room) -> u64 {
        self.files.iter().filter(|(r, _)| *r == room).count() as u64
    }

    /// Decide and do it. The new files are synced; their names are made so
    /// before the plan counts on them.
    pub fn carry_out(
        &self,
        disk: &dyn Disk,
        journal: &Path,
        archive: &Path,
    ) -> Result<(), JournalError> {
        for folder in [archive, journal] {
            disk.sync_folder(folder).map_err(JournalError::io(folder))?;
        }
        let mut text = format!("{TITLE}\n");
        for (room, name) in &self.files {
            text.push_str(&format!("{} {name}\n", room.word()));
        }
        let path = journal.join(PLAN);
        let placed = disk.replace(&path, text.as_bytes());
        placed.map_err(JournalError::io(&path))?;
        finish_forget(disk, journal, archive).map(drop)
    }

    fn parse(text: &str) -> Option<Plan> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let mut plan = Plan::default();
        for line in lines {
            let (word, name) = line.split_once(' ')?;
            let room = [Room::Journal, Room::Archive]
                .into_iter()
                .find(|room| room.word() == word)?;
            if name.is_empty() || name.contains(['/', '\\']) {
                return None;
            }
            plan.add(room, name);
        }
        Some(plan)
    }
}

/// Whether a takedown was decided and is not carried out: until it is, old and
/// new files stand side by side, and journal and archive need not agree.
pub fn is_forget_unfinished(disk: &dyn Disk, journal: &Path) -> Result<bool, JournalError> {
    let names = disk.list(journal).map_err(JournalError::io(journal))?;
    Ok(names.iter().any(|name| name == PLAN))
}

/// Go on with a takedown that was interrupted: carry it out if it had been
/// decided, and clear away what it had written if not. Says whether there was
/// one to carry out.
pub fn finish_forget(
    disk: &dyn Disk,
    journal: &Path,
    archive: &Path,
) -> Result<bool, JournalError> {
    let decided = is_forget_unfinished(disk, journal)?;
    if decided {
        let path = journal.join(PLAN);
        let bytes = disk.read(&path).map_err(JournalError::io(&path))?;
        let plan = std::str::from_utf8(&bytes).ok().and_then(Plan::parse);
        let plan = plan.ok_or(JournalError::Damaged {
            path: path.clone(),
            offset: 0,
        })?;
        swap(disk, journal, archive, &plan)?;
        disk.remove(&path).map_err(JournalError::io(&path))?;
        disk.sync_folder(journal)
            .map_err(JournalError::io(journal))?;
    }
    for folder in [journal, archive] {
        for name in disk.list(folder).map_err(JournalError::io(folder))? {
            if name.ends_with(NEW) {
                let path = folder.join(name);
                disk.remove(&path).map_err(JournalError::io(&path))?;
            }
        }
    }
    Ok(decided)
}

/// What is no longer there under its new name has taken its place already.
fn swap(disk: &dyn Disk, journal: &Path, archive: &Path, plan: &Plan) -> Result<(), JournalError> {
    for (room, folder) in [(Room::Archive, archive), (Room::Journal, journal)] {
        let present = disk.list(folder).map_err(JournalError::io(folder))?;
        for (_, name) in plan.files.iter().filter(|(r, _)| *r == room) {
            let path = folder.join(name);
            let fresh = fresh_path(&path);
            if present.iter().any(|p| *p == format!("{name}{NEW}")) {
                disk.rename(&fresh, &path)
                    .map_err(JournalError::io(&path))?;
            }
        }
    }
    Ok(())
}
