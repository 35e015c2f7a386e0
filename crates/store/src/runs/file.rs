//! Run files: written once, read at any place, gone when nobody needs them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::RunsError;
use crate::disk::{AppendFile, Disk, ReadFile};

const SUFFIX: &str = ".run";
/// Numbers from here on are of those who only look.
const BESIDE: u64 = 900_000_000_000;
/// A run is synced piece by piece, so that its end is not one long wait.
const SYNC_EVERY: u64 = 8 << 20;

/// The folder that holds the runs of a crawl. Clones are the same folder.
#[derive(Clone)]
pub struct RunFolder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    next: Arc<AtomicU64>,
    /// Files in use, by name: whoever asks for one by its name gets the same.
    shared: Arc<Mutex<HashMap<String, Weak<RunFile>>>>,
}

impl RunFolder {
    /// Open the folder; new names come after all that are in it.
    pub fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<RunFolder, RunsError> {
        disk.create_folder(path).map_err(RunsError::io(path))?;
        let names = disk.list(path).map_err(RunsError::io(path))?;
        let numbers = names.iter().filter_map(|name| number_of(name));
        let last = numbers.filter(|number| *number < BESIDE).max();
        Ok(RunFolder {
            disk,
            path: path.to_owned(),
            next: Arc::new(AtomicU64::new(last.map_or(1, |n| n + 1))),
            shared: Arc::default(),
        })
    }

    /// For somebody who looks at a crawl that may be started meanwhile: what
    /// has to be written goes by names that no crawl gives, and is removed
    /// when it is let go.
    pub fn beside(disk: Arc<dyn Disk>, path: &Path) -> RunFolder {
        RunFolder {
            disk,
            path: path.to_owned(),
            next: Arc::new(AtomicU64::new(
                BESIDE + u64::from(std::process::id()) * 1_000,
            )),
            shared: Arc::default(),
        }
    }

    /// Begin a run; `kind` is the first part of its name.
    pub fn create(&self, kind: &str) -> Result<RunWriter, RunsError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{kind}-{number:012}{SUFFIX}");
        let path = self.path.join(&name);
        let file = self.disk.append(&path).map_err(RunsError::io(&path))?;
        Ok(RunWriter {
            folder: self.clone(),
            name,
            path,
            file,
            synced: 0,
        })
    }

    /// A run that a manifest names, and perhaps more than once. It goes when
    /// the last of its users lets it go, unless one of them keeps or holds it.
    pub fn shared(&self, name: &str) -> Result<Arc<RunFile>, RunsError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = shared.get(name).and_then(Weak::upgrade) {
            return Ok(run);
        }
        let run = Arc::new(self.run(name)?);
        shared.retain(|_, run| run.strong_count() > 0);
        shared.insert(name.to_owned(), Arc::downgrade(&run));
        Ok(run)
    }

    /// Let others have this run by its name.
    pub fn share(&self, run: RunFile) -> Arc<RunFile> {
        let run = Arc::new(run);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|_, run| run.strong_count() > 0);
        shared.insert(run.name.clone(), Arc::downgrade(&run));
        run
    }

    /// Take away every run but these: what a crash left behind.
    pub fn remove_others(&self, named: &[String]) -> Result<(), RunsError> {
        let names = self
            .disk
            .list(&self.path)
            .map_err(RunsError::io(&self.path))?;
        for name in names {
            if number_of(&name).is_some() && !named.contains(&name) {
                let path = self.path.join(&name);
                self.disk.remove(&path).map_err(RunsError::io(&path))?;
            }
        }
        Ok(())
    }

    fn run(&self, name: &str) -> Result<RunFile, RunsError> {
        let path = self.path.join(name);
        let file = self.disk.open(&path).map_err(RunsError::io(&path))?;
        let length = file.length().map_err(RunsError::io(&path))?;
        Ok(RunFile {
            disk: Arc::clone(&self.disk),
            name: name.to_owned(),
            path,
            file,
            length,
            kept: AtomicBool::new(false),
            holds: AtomicU64::new(0),
        })
    }
}

fn number_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(SUFFIX)?;
    stem.rsplit_once('-')?.1.parse().ok()
}

/// A run being written. Dropped before its end, it leaves a file that the
/// next start removes.
pub struct RunWriter {
    folder: RunFolder,
    name: String,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    synced: u64,
}

impl RunWriter {
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RunsError> {
        self.file.append(bytes).map_err(RunsError::io(&self.path))?;
        if self.length() - self.synced >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    pub fn length(&self) -> u64 {
        self.file.length()
    }

    fn sync(&mut self) -> Result<(), RunsError> {
        self.synced = self.length();
        self.file.sync().map_err(RunsError::io(&self.path))
    }

    /// The whole run, synced. (The folder is synced with the manifest.)
    pub fn finish(mut self) -> Result<RunFile, RunsError> {
        self.sync()?;
        self.folder.run(&self.name)
    }
}

/// A whole run. Unless a manifest needs it, it is removed when the last user
/// lets it go.
pub struct RunFile {
    disk: Arc<dyn Disk>,
    name: String,
    path: PathBuf,
    file: Box<dyn ReadFile>,
    length: u64,
    kept: AtomicBool,
    holds: AtomicU64,
}

impl RunFile {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills the buffer or fails.
    pub fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), RunsError> {
        self.file
            .read_exact_at(offset, buffer)
            .map_err(RunsError::io(&self.path))
    }

    pub fn damaged(&self, offset: u64) -> RunsError {
        RunsError::Damaged {
            path: self.path.clone(),
            offset,
        }
    }

    /// Whether the newest manifest names it (or is about to).
    pub fn keep(&self, kept: bool) {
        self.kept.store(kept, Ordering::Release);
    }

    /// As `keep(true)`, counted: for a run that several snapshots name.
    pub fn hold(&self) {
        self.holds.fetch_add(1, Ordering::AcqRel);
    }

    /// Take one hold back.
    pub fn release(&self) {
        self.holds.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        let needed = self.kept.load(Ordering::Acquire) || self.holds.load(Ordering::Acquire) > 0;
        if !needed {
            // Left behind, it costs space until the next start.
            let _ = self.disk.remove(&self.path);
        }
    }
}
