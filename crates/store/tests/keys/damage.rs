//! Damage anywhere in a run is told.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rhumb_store::runs::{KeyRunState, KeySet, KeySetConfig, Keys, RunsError, Worker};
use rhumb_store::{Disk, MemoryDisk};

use crate::model::{Checked, Random, folder};

fn config() -> KeySetConfig {
    KeySetConfig {
        buffer_keys: 60,
        filter_bytes: 0,
        cache_keys: 1,
        confirm_keys: 30,
        block_bytes: 200,
        ..KeySetConfig::default()
    }
}

/// A disk with one set of several runs.
fn disk() -> (MemoryDisk, Vec<KeyRunState>, HashSet<u128>) {
    let disk = MemoryDisk::default();
    let worker = Worker::inline();
    let set = KeySet::new(&folder(&disk), config(), worker.clone(), worker);
    let mut checked = Checked::new(set, HashSet::new());
    let mut random = Random(1);
    for _ in 0..8 {
        checked.step(&mut random, 50).unwrap();
    }
    checked.settle().unwrap();
    let snapshot = checked.set.snapshot();
    while !snapshot.is_written() {
        checked.tend().unwrap();
    }
    snapshot.keep(true);
    (disk, snapshot.runs(), checked.known)
}

fn open(disk: &MemoryDisk, runs: &[KeyRunState]) -> Result<KeySet, RunsError> {
    let worker = Worker::inline();
    KeySet::open(&folder(disk), config(), worker.clone(), worker, runs)
}

fn paths(runs: &[KeyRunState]) -> impl Iterator<Item = PathBuf> {
    runs.iter().map(|run| Path::new("/state").join(&run.name))
}

#[test]
fn opening_tells_a_changed_byte_wherever_it_is() {
    let (disk, runs, _) = disk();
    open(&disk, &runs).unwrap();
    for path in paths(&runs) {
        let good = disk.read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            disk.replace(&path, &bad).unwrap();
            let told = open(&disk, &runs).err();
            assert!(
                matches!(told, Some(RunsError::Damaged { .. })),
                "byte {at} of {}: {told:?}",
                good.len()
            );
        }
        disk.replace(&path, &good).unwrap();
    }
    open(&disk, &runs).unwrap();
}

#[test]
fn opening_tells_a_file_cut_or_grown_at_any_length() {
    let (disk, runs, _) = disk();
    let path = paths(&runs).next().unwrap();
    let good = disk.read(&path).unwrap();
    for length in 0..good.len() {
        disk.replace(&path, &good[..length]).unwrap();
        assert!(matches!(open(&disk, &runs), Err(RunsError::Damaged { .. })));
    }
    assert!(disk.read(&path).is_ok(), "damaged, and yet not removed");
    let grown = [&good[..], &[0]].concat();
    disk.replace(&path, &grown).unwrap();
    assert!(matches!(open(&disk, &runs), Err(RunsError::Damaged { .. })));
    disk.remove(&path).unwrap();
    assert!(matches!(open(&disk, &runs), Err(RunsError::Io { .. })));
}

#[test]
fn damage_that_comes_later_is_told_and_never_answered_wrongly() {
    let (disk, runs, known) = disk();
    for path in paths(&runs) {
        let good = disk.read(&path).unwrap();
        for at in (16..good.len()).step_by(5) {
            let mut set = open(&disk, &runs).unwrap();
            let mut bad = good.clone();
            bad[at] ^= 0x80;
            disk.replace(&path, &bad).unwrap();
            let keys: Vec<u128> = known.iter().copied().collect();
            for key in &keys {
                assert!(set.contains(*key).unwrap_or(true), "denied: {key:x}");
            }
            let (mut verdicts, mut answers) = (Vec::new(), Vec::new());
            set.offer(&keys, 0, Duration::ZERO, &mut verdicts);
            set.hurry();
            while set.pending() > 0 && set.tend(Duration::ZERO, &mut answers).is_ok() {}
            assert!(answers.iter().all(|(_, is_new)| !is_new));
            disk.replace(&path, &good).unwrap();
        }
    }
}
