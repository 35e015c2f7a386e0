//! The door to the disk.
//!
//! The crawl appends, reads, lists, cuts and replaces; it needs nothing else
//! of a file system. Tests put a [`MemoryDisk`](crate::MemoryDisk) behind
//! this door and lose what was not synced.

use std::any::Any;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that only grows.
pub trait AppendFile: Send {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
    fn length(&self) -> u64;
}

/// A file that is read at any place, also while somebody appends to it.
pub trait ReadFile: Send + Sync {
    fn length(&self) -> io::Result<u64>;
    /// Fills the buffer or fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// What came of asking for a lock.
pub enum Locked {
    /// Ours for as long as this is kept.
    Held(Box<dyn Any + Send>),
    /// Somebody has it: what they wrote of themselves.
    InUse(String),
}

pub trait Disk: Send + Sync {
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a folder, sorted; none if there is no folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>>;
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Put a whole file in place in one step, durably.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Give a synced file another name in its folder, taking the place of
    /// what has that name, in one step, durably.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Cut a file to a length it already has or exceeds.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Take a file away.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Make the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// Take a lock that ends with its holder, however that ends, and leave
    /// `owner` in the file for whoever comes too late. A file that is there
    /// and may only be read is locked all the same.
    fn lock(&self, path: &Path, owner: &str) -> io::Result<Locked>;
}

#[derive(Default)]
pub struct RealDisk;

struct RealAppend {
    file: File,
    length: u64,
}

impl AppendFile for RealAppend {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn length(&self) -> u64 {
        self.length
    }
}

impl ReadFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl Disk for RealDisk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Box::new(RealAppend { file, length }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(File::open(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let fresh = temporary_name(path);
        let mut file = File::create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        self.sync_folder(path.parent().unwrap_or(Path::new(".")))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        self.sync_folder(to.parent().unwrap_or(Path::new(".")))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let stat = nix::sys::statvfs::statvfs(path)?;
        Ok(widen(stat.blocks_available()) * widen(stat.fragment_size()))
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Locked> {
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path);
        let (mut file, may_write) = match opened {
            Err(error) if is_unwritable(&error) => (File::open(path).map_err(|_| error)?, false),
            other => (other?, true),
        };
        match file.try_lock() {
            Ok(()) => {
                if may_write {
                    file.set_len(0)?;
                    file.write_all(owner.as_bytes())?;
                }
                Ok(Locked::Held(Box::new(file)))
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder)?;
                Ok(Locked::InUse(holder))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Whether a write was refused because nobody, or not we, may write there.
pub(crate) fn is_unwritable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// The system's counts are of other widths on other systems.
fn widen(count: impl Into<u64>) -> u64 {
    count.into()
}

pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}
