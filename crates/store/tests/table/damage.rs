//! Files that are not as they were written.

use std::path::{Path, PathBuf};

use rhumb_store::runs::{FilterOn, RunState, RunTable, RunsError, Table, TableConfig, Worker};
use rhumb_store::{Disk, MemoryDisk};

use super::{FOLDER, empty, folder, small};

fn config(compress: bool) -> TableConfig {
    TableConfig {
        compress_above: if compress { 0 } else { u64::MAX },
        ..small(FilterOn::Prefix(2))
    }
}

/// One run with several blocks, removals and ranges.
fn one_run(disk: &MemoryDisk, compress: bool) -> (Vec<RunState>, PathBuf, Vec<u8>) {
    let folder = folder(disk);
    let mut table = empty(&folder, config(compress));
    for n in 0..120_u8 {
        table.put(&[n / 9, n, 1], &[n; 12]);
    }
    table.remove(b"gone");
    for n in 0..40_u8 {
        table.remove_range(&[n, 200], &[n, 201]);
    }
    table.remove_range(b"wide", b"z");
    let snapshot = table.snapshot();
    table.tend().unwrap();
    snapshot.keep(true);
    let runs = snapshot.runs();
    let path = Path::new(FOLDER).join(&runs[0].name);
    let bytes = disk.read(&path).unwrap();
    (runs, path, bytes)
}

/// Open and read everything in every way; entries that were found.
fn read_all(disk: &MemoryDisk, runs: &[RunState], compress: bool) -> Result<usize, RunsError> {
    let folder = folder(disk);
    let (soon, merges) = (Worker::inline(), Worker::inline());
    let mut table = RunTable::open(&folder, config(compress), soon, merges, runs)?;
    let mut found = 0;
    table.scan(&[], &[], &mut |_, _| {
        found += 1;
        true
    })?;
    for n in 0..120_u8 {
        assert_eq!(table.get(&[n / 9, n, 1])?, Some(vec![n; 12]));
        table.get(&[n / 9, n])?;
        table.get(&[n, 200, 7])?;
    }
    // A merge reads the ranges too, of a run that is not the oldest.
    table.put(&[0, 0], b"x");
    drop(table.snapshot());
    table.tend()?;
    table.reclaim();
    (0..3).try_for_each(|_| table.tend())?;
    Ok(found)
}

#[test]
fn every_changed_byte_is_told() {
    for compress in [false, true] {
        let disk = MemoryDisk::default();
        let (runs, path, bytes) = one_run(&disk, compress);
        assert_eq!(read_all(&disk, &runs, compress).unwrap(), 120);
        for at in 0..bytes.len() {
            for change in [1, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                disk.replace(&path, &changed).unwrap();
                let told = read_all(&disk, &runs, compress);
                assert!(
                    matches!(told, Err(RunsError::Damaged { .. })),
                    "byte {at} of {}: {:?}",
                    bytes.len(),
                    told.ok()
                );
            }
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_told() {
    let disk = MemoryDisk::default();
    let (runs, path, bytes) = one_run(&disk, true);
    for length in 0..bytes.len() {
        disk.replace(&path, &bytes[..length]).unwrap();
        assert!(read_all(&disk, &runs, true).is_err());
    }
    disk.remove(&path).unwrap();
    let told = read_all(&disk, &runs, true);
    assert!(matches!(told, Err(RunsError::Io { .. })));
}

#[test]
fn bytes_from_elsewhere_in_the_file_are_told() {
    let disk = MemoryDisk::default();
    let (runs, path, bytes) = one_run(&disk, false);
    for start in (0..bytes.len() - 400).step_by(97) {
        let mut changed = bytes.clone();
        changed.copy_within(start..start + 300, start + 100);
        if changed != bytes {
            disk.replace(&path, &changed).unwrap();
            assert!(read_all(&disk, &runs, false).is_err());
        }
    }
}
