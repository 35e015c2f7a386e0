//! A disk that may only be read: a copy on other people's storage, or a
//! directory of another user.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rhumb_crawl::{Ending, verify_on};
use rhumb_store::{AppendFile, Disk, Locked, MemoryDisk, ReadFile, Severity, Unsynced};

use crate::small_crawl::{DIR, SmallWeb};

struct ReadOnly(MemoryDisk);

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for ReadOnly {
    fn create_folder(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.0.list(folder)
    }

    fn append(&self, _: &Path) -> io::Result<Box<dyn AppendFile>> {
        refused()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.0.open(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn replace(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        refused()
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn cut(&self, _: &Path, _: u64) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.0.free_bytes(path)
    }

    fn lock(&self, _: &Path, _: &str) -> io::Result<Locked> {
        refused()
    }
}

#[test]
fn a_directory_that_may_only_be_read_is_verified() {
    let web = SmallWeb::start();
    let whole = MemoryDisk::default();
    assert_eq!(web.crawl(&whole).unwrap(), Ending::Finished);
    // One that was killed has something behind its last checkpoint.
    let disk = MemoryDisk::default();
    disk.fail_after(whole.writes() / 2);
    let ending = web.crawl(&disk);
    assert!(matches!(ending, Ok(Ending::Failed(_))), "{ending:?}");
    let killed = disk.after_power_loss(Unsynced::Kept);
    for disk in [killed, whole] {
        let door: Arc<dyn Disk> = Arc::new(ReadOnly(disk));
        let mut told = Vec::new();
        let mut note = |_, severity, text| told.push((severity, text));
        let verified = verify_on(&door, Path::new(DIR), &mut note, &mut |_| ()).unwrap();
        assert!(verified.is_sound() && verified.compared, "{told:?}");
        let (severity, text) = &told[0];
        assert_eq!(*severity, Severity::Note);
        assert!(text.contains("cannot be locked"), "{text}");
    }
}
