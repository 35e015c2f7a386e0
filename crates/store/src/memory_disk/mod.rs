//! A disk in memory that fails as it is told to and can lose what was not
//! synced.

mod faults;
mod files;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{AppendFile, Disk, Locked, ReadFile, temporary_name};
use faults::{Change, Faults};
use files::{Files, Inode};

pub use faults::Fault;
pub use files::Unsynced;

#[derive(Default)]
struct State {
    files: Files,
    faults: Faults,
}

/// Clones share their files, as two handles on one disk would.
#[derive(Default, Clone)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

impl MemoryDisk {
    /// After so many more writes (for [`Fault::Sync`]: syncs) this happens.
    /// A write is whatever changes the disk: bytes, names and syncs.
    pub fn plan(&self, after: u64, fault: Fault) {
        self.lock().faults.plan(after, fault);
    }

    /// From now on only so many writes succeed.
    pub fn fail_after(&self, writes: u64) {
        self.plan(writes, Fault::Broken);
    }

    /// No plan any more, and space for everything.
    pub fn repair(&self) {
        self.lock().faults.repair();
    }

    /// So many more bytes find room; `None`: any number.
    pub fn set_free_bytes(&self, free: Option<u64>) {
        self.lock().faults.set_free(free);
    }

    /// Writes that were asked for so far.
    pub fn writes(&self) -> u64 {
        self.lock().faults.writes()
    }

    /// Syncs, of files and folders, among them.
    pub fn syncs(&self) -> u64 {
        self.lock().faults.syncs()
    }

    /// Writes that were made to fail so far.
    pub fn failures(&self) -> u64 {
        self.lock().faults.injected()
    }

    /// The disk as the next process finds it when power was lost, and with it
    /// some of what was not synced. It works; and whoever still has the old
    /// one cannot reach it, as the dead cannot.
    #[must_use]
    pub fn after_power_loss(&self, unsynced: Unsynced) -> MemoryDisk {
        let files = self.lock().files.after_power_loss(unsynced);
        let faults = Faults::default();
        MemoryDisk {
            state: Arc::new(Mutex::new(State { files, faults })),
        }
    }

    /// Lose power: every file keeps what was synced and, of the rest, only
    /// `torn` bytes. Writes succeed again.
    pub fn crash(&self, torn: usize) {
        let mut state = self.lock();
        state.faults.repair();
        state.files.tear(torn);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_inode(&self, path: &Path) -> io::Result<Handle> {
        let inode = self.lock().files.get(path).cloned();
        Ok(Handle {
            disk: self.clone(),
            inode: inode.ok_or_else(|| missing(path))?,
        })
    }
}

impl State {
    /// A change that takes place as a whole or not at all.
    fn allow(&mut self, change: Change) -> io::Result<()> {
        self.faults.judge(change).failure.map_or(Ok(()), Err)
    }
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("no file {}", path.display()),
    )
}

struct Handle {
    disk: MemoryDisk,
    inode: Inode,
}

impl AppendFile for Handle {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        let verdict = state.faults.judge(Change::Bytes(bytes.len()));
        let landed = &bytes[..verdict.bytes];
        self.inode.lock().bytes.extend_from_slice(landed);
        verdict.failure.map_or(Ok(()), Err)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.lock().allow(Change::Sync)?;
        let mut content = self.inode.lock();
        content.synced = content.bytes.len();
        Ok(())
    }

    fn length(&self) -> u64 {
        self.inode.length() as u64
    }
}

impl ReadFile for Handle {
    fn length(&self) -> io::Result<u64> {
        Ok(AppendFile::length(self))
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let content = self.inode.lock();
        let start = offset as usize;
        let wanted = content.bytes.get(start..start + buffer.len());
        buffer.copy_from_slice(wanted.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Disk for MemoryDisk {
    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.lock();
        let paths = state.files.in_folder(folder);
        let names = paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        Ok(names.collect())
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.lock();
        if state.files.get(path).is_none() {
            state.allow(Change::Other)?;
            state.files.insert(path, Inode::default());
        }
        drop(state);
        Ok(Box::new(self.open_inode(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(self.open_inode(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open_inode(path)?;
        let content = file.inode.lock();
        Ok(content.bytes.clone())
    }

    /// Like the real one, a replacement that fails half-way leaves what it
    /// has written under another name.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let verdict = state.faults.judge(Change::Bytes(bytes.len()));
        let inode = Inode::durable(bytes[..verdict.bytes].to_vec());
        if let Some(failure) = verdict.failure {
            state.files.insert(&temporary_name(path), inode);
            return Err(failure);
        }
        state.files.remove(&temporary_name(path));
        let old = state.files.insert(path, inode);
        state
            .faults
            .give_back(old.map_or(0, |inode| inode.length()));
        state
            .files
            .sync_folder(path.parent().unwrap_or(Path::new("")));
        Ok(())
    }

    /// The name lasts; the bytes only if they were synced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.allow(Change::Other)?;
        let inode = state.files.remove(from).ok_or_else(|| missing(from))?;
        let old = state.files.insert(to, inode);
        state
            .faults
            .give_back(old.map_or(0, |inode| inode.length()));
        state
            .files
            .sync_folder(to.parent().unwrap_or(Path::new("")));
        Ok(())
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.allow(Change::Other)?;
        let inode = state.files.get(path).cloned();
        let inode = inode.ok_or_else(|| missing(path))?;
        let mut content = inode.lock();
        let before = content.bytes.len();
        content.bytes.truncate(length as usize);
        content.synced = content.bytes.len();
        state.faults.give_back(before - content.bytes.len());
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.allow(Change::Other)?;
        let removed = state.files.remove(path).ok_or_else(|| missing(path))?;
        state.faults.give_back(removed.length());
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.allow(Change::Sync)?;
        state.files.sync_folder(folder);
        Ok(())
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(self.lock().faults.free())
    }

    /// Nobody else can reach this disk.
    fn lock(&self, _path: &Path, _owner: &str) -> io::Result<Locked> {
        Ok(Locked::Held(Box::new(())))
    }
}
