//! A disk in memory that can lose what was not synced.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{AppendFile, Disk, Locked, ReadFile};

#[derive(Default, Clone)]
struct Content {
    bytes: Vec<u8>,
    /// How much of it a crash leaves.
    synced: usize,
}

#[derive(Default)]
struct Files {
    files: BTreeMap<PathBuf, Content>,
    /// Writes still allowed before every further one fails; `None`: all.
    writes_left: Option<u64>,
}

/// Clones share their files, as two handles on one disk would.
#[derive(Default, Clone)]
pub struct MemoryDisk {
    inner: Arc<Mutex<Files>>,
}

impl MemoryDisk {
    /// From now on only so many writes succeed.
    pub fn fail_after(&self, writes: u64) {
        self.lock().writes_left = Some(writes);
    }

    /// Lose power: every file keeps what was synced and, of the rest, only
    /// `torn` bytes. Writes succeed again.
    pub fn crash(&self, torn: usize) {
        let mut inner = self.lock();
        inner.writes_left = None;
        for content in inner.files.values_mut() {
            let kept = content.bytes.len().min(content.synced + torn);
            content.bytes.truncate(kept);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn spend_write(&mut self) -> io::Result<()> {
        match &mut self.writes_left {
            None => Ok(()),
            Some(0) => Err(io::Error::other("injected: the disk fails")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
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
    path: PathBuf,
}

impl AppendFile for Handle {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.spend_write()?;
        let content = inner.files.entry(self.path.clone()).or_default();
        content.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.spend_write()?;
        if let Some(content) = inner.files.get_mut(&self.path) {
            content.synced = content.bytes.len();
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        let inner = self.disk.lock();
        inner.files.get(&self.path).map_or(0, |c| c.bytes.len()) as u64
    }
}

impl ReadFile for Handle {
    fn length(&self) -> io::Result<u64> {
        Ok(AppendFile::length(self))
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let inner = self.disk.lock();
        let content = inner
            .files
            .get(&self.path)
            .ok_or_else(|| missing(&self.path))?;
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
        let inner = self.lock();
        Ok(inner
            .files
            .keys()
            .filter(|path| path.parent() == Some(folder))
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect())
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.lock().files.entry(path.to_owned()).or_default();
        Ok(Box::new(Handle {
            disk: self.clone(),
            path: path.to_owned(),
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        if !self.lock().files.contains_key(path) {
            return Err(missing(path));
        }
        Ok(Box::new(Handle {
            disk: self.clone(),
            path: path.to_owned(),
        }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inner = self.lock();
        let content = inner.files.get(path).ok_or_else(|| missing(path))?;
        Ok(content.bytes.clone())
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        inner.spend_write()?;
        inner.files.insert(
            path.to_owned(),
            Content {
                bytes: bytes.to_vec(),
                synced: bytes.len(),
            },
        );
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.spend_write()?;
        let content = inner.files.remove(from).ok_or_else(|| missing(from))?;
        inner.files.insert(to.to_owned(), content);
        Ok(())
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        let mut inner = self.lock();
        inner.spend_write()?;
        let content = inner.files.get_mut(path).ok_or_else(|| missing(path))?;
        content.bytes.truncate(length as usize);
        content.synced = content.bytes.len();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.spend_write()?;
        let removed = inner.files.remove(path);
        removed.map(drop).ok_or_else(|| missing(path))
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Nobody else can reach this disk.
    fn lock(&self, _path: &Path, _owner: &str) -> io::Result<Locked> {
        Ok(Locked::Held(Box::new(())))
    }
}
