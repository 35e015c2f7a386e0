//! The disk that fails as it is told to.

use std::io::{ErrorKind, Result};
use std::path::Path;

use rhumb_store::{AppendFile, Disk, Fault, MemoryDisk, Unsynced};

const FILE: &str = "folder/file";

fn appending(disk: &MemoryDisk) -> Box<dyn AppendFile> {
    disk.append(Path::new(FILE)).unwrap()
}

fn text(disk: &MemoryDisk) -> String {
    String::from_utf8(disk.read(Path::new(FILE)).unwrap()).unwrap()
}

/// Five appends, and which of them failed.
fn five(disk: &MemoryDisk) -> Vec<bool> {
    let mut file = appending(disk);
    (0..5).map(|_| file.append(b"abcd").is_err()).collect()
}

#[test]
fn a_broken_disk_fails_every_write_from_then_on() {
    let disk = MemoryDisk::default();
    disk.plan(3, Fault::Broken);
    // The first write is the file's name.
    assert_eq!(five(&disk), [false, false, true, true, true]);
    assert!(disk.replace(Path::new("other"), b"x").is_err());
    assert!(disk.remove(Path::new(FILE)).is_err());
    assert_eq!(disk.failures(), 5);
    disk.repair();
    assert_eq!(five(&disk), [false; 5]);
}

#[test]
fn one_write_fails_or_lands_by_half() {
    let disk = MemoryDisk::default();
    disk.plan(3, Fault::Once);
    assert_eq!(five(&disk), [false, false, true, false, false]);
    assert_eq!(text(&disk), "abcd".repeat(4));
    let disk = MemoryDisk::default();
    disk.plan(3, Fault::Short);
    assert_eq!(five(&disk), [false, false, true, false, false]);
    assert_eq!(text(&disk), "abcdabcdababcdabcd");
}

#[test]
fn a_replacement_that_fails_leaves_the_file_as_it_was() {
    for fault in [Fault::Once, Fault::Short, Fault::NoSpace] {
        let disk = MemoryDisk::default();
        disk.replace(Path::new(FILE), b"before").unwrap();
        disk.plan(0, fault);
        assert!(disk.replace(Path::new(FILE), b"after it").is_err());
        assert_eq!(text(&disk), "before");
        disk.repair();
        disk.replace(Path::new(FILE), b"after it").unwrap();
        assert_eq!(text(&disk), "after it");
        assert_eq!(disk.list(Path::new("folder")).unwrap(), ["file"]);
    }
}

#[test]
fn a_full_disk_takes_what_finds_room_and_more_once_space_is_given() {
    let disk = MemoryDisk::default();
    disk.set_free_bytes(Some(6));
    let mut file = appending(&disk);
    file.append(b"abcd").unwrap();
    assert_eq!(disk.free_bytes(Path::new("")).unwrap(), 2);
    let failure = file.append(b"abcd").unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::StorageFull);
    assert_eq!(text(&disk), "abcdab");
    file.sync().unwrap();
    disk.cut(Path::new(FILE), 4).unwrap();
    file.append(b"ef").unwrap();
    assert!(file.append(b"g").is_err());
    disk.set_free_bytes(None);
    file.append(b"gh").unwrap();
    assert_eq!(text(&disk), "abcdefgh");

    disk.plan(1, Fault::NoSpace);
    file.append(b"1").unwrap();
    let results: Vec<Result<()>> = (0..3).map(|_| file.append(b"2")).collect();
    assert!(results.iter().all(Result::is_err));
    assert_eq!(disk.free_bytes(Path::new("")).unwrap(), 0);
}

#[test]
fn a_sync_that_fails_syncs_nothing() {
    let disk = MemoryDisk::default();
    let mut file = appending(&disk);
    disk.sync_folder(Path::new("folder")).unwrap();
    disk.plan(1, Fault::Sync);
    file.append(b"first ").unwrap();
    file.sync().unwrap();
    file.append(b"second").unwrap();
    assert!(file.sync().is_err());
    assert_eq!((disk.writes(), disk.syncs(), disk.failures()), (6, 3, 1));
    let next = disk.after_power_loss(Unsynced::Dropped);
    file.append(b"from the dead").unwrap();
    assert_eq!(text(&next), "first ");
}

#[test]
fn an_open_file_outlives_its_name() {
    let disk = MemoryDisk::default();
    disk.replace(Path::new(FILE), b"still here").unwrap();
    let file = disk.open(Path::new(FILE)).unwrap();
    disk.remove(Path::new(FILE)).unwrap();
    assert!(disk.open(Path::new(FILE)).is_err());
    let mut bytes = [0; 10];
    file.read_exact_at(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"still here");
}
