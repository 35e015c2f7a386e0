//! Snapshots: what they name, what they keep, and who may open them.

use std::collections::HashSet;
use std::path::Path;

use rhumb_store::runs::{KeyRunState, KeySet, KeySnapshot, Keys, Worker};
use rhumb_store::{Disk, MemoryDisk};

use crate::model::{Checked, Random, folder, small};

fn inline(disk: &MemoryDisk, random: &mut Random) -> Checked<KeySet> {
    let worker = Worker::inline();
    let set = KeySet::new(&folder(disk), small(random), worker.clone(), worker);
    Checked::new(set, HashSet::new())
}

fn written(checked: &mut Checked<KeySet>) -> KeySnapshot {
    let snapshot = checked.set.snapshot();
    while !snapshot.is_written() {
        checked.tend().unwrap();
    }
    snapshot
}

fn files(disk: &MemoryDisk) -> HashSet<String> {
    disk.list(Path::new("/state"))
        .unwrap()
        .into_iter()
        .collect()
}

fn named(snapshot: &KeySnapshot) -> HashSet<String> {
    snapshot.runs().into_iter().map(|run| run.name).collect()
}

#[test]
fn a_snapshot_is_the_set_of_its_moment_while_the_set_goes_on() {
    for seed in 0..40 {
        let disk = MemoryDisk::default();
        let mut random = Random(seed);
        let mut checked = inline(&disk, &mut random);
        let mut taken = Vec::new();
        for n in 0..120 {
            checked.step(&mut random, 150).unwrap();
            if n % 30 == 7 {
                taken.push((checked.set.snapshot(), checked.known.clone()));
            }
        }
        checked.settle().unwrap();
        for (snapshot, known) in taken {
            while !snapshot.is_written() {
                checked.tend().unwrap();
            }
            let config = small(&mut random);
            let worker = Worker::inline();
            let (soon, merges) = (worker.clone(), worker);
            let folder = folder(&disk);
            let again = KeySet::open(&folder, config, soon, merges, &snapshot.runs()).unwrap();
            let mut again = Checked::new(again, known);
            (0..300).for_each(|_| again.check_contains(random.key(200)));
            for _ in 0..40 {
                again.step(&mut random, 200).unwrap();
            }
            again.settle().unwrap();
        }
    }
}

#[test]
fn sets_that_share_files_see_each_its_own_range() {
    for seed in 0..40 {
        let disk = MemoryDisk::default();
        let folder = folder(&disk);
        let mut random = Random(seed);
        let worker = Worker::inline();
        let set = KeySet::new(&folder, small(&mut random), worker.clone(), worker.clone());
        let mut checked = Checked::new(set, HashSet::new());
        for _ in 0..100 {
            checked.step(&mut random, 150).unwrap();
        }
        checked.settle().unwrap();
        let snapshot = written(&mut checked);
        snapshot.keep(true);
        let known = checked.known.clone();
        drop(checked);

        let first = random.key(1).max(2);
        let second = first + (u128::MAX - first) / 2;
        let ranges = [(0, first - 1), (first, second), (second + 1, u128::MAX)];
        let mut sets = Vec::new();
        for (from, to) in ranges {
            let within = |run: &KeyRunState| run.within(from, to);
            let runs: Vec<_> = snapshot.runs().iter().filter_map(within).collect();
            let config = small(&mut random);
            let (soon, merges) = (worker.clone(), worker.clone());
            let set = KeySet::open(&folder, config, soon, merges, &runs).unwrap();
            let own = known
                .iter()
                .copied()
                .filter(|key| (from..=to).contains(key));
            sets.push((from, to, Checked::new(set, own.collect())));
        }
        snapshot.keep(false);
        drop(snapshot);
        for _ in 0..60 {
            for (from, to, checked) in &mut sets {
                let keys = (0..60).map(|_| random.key(250));
                let keys: Vec<_> = keys.filter(|key| (*from..=*to).contains(key)).collect();
                checked.offer(&keys);
                checked.tend().unwrap();
            }
        }
        for (from, to, checked) in &mut sets {
            checked.settle().unwrap();
            // Others' keys are not seen, though the files hold them.
            for key in known.iter().filter(|key| !(*from..=*to).contains(key)) {
                assert!(!checked.set.contains(*key).unwrap());
            }
        }
    }
}

#[test]
fn a_file_stays_while_any_snapshot_keeps_it() {
    let disk = MemoryDisk::default();
    let folder = folder(&disk);
    let mut random = Random(3);
    let mut checked = inline(&disk, &mut random);
    for _ in 0..100 {
        checked.step(&mut random, 150).unwrap();
    }
    let snapshot = written(&mut checked);
    snapshot.keep(true);
    let runs = snapshot.runs();
    drop((checked, snapshot));
    let all = files(&disk);
    assert_eq!(all, runs.iter().map(|run| run.name.clone()).collect());

    let worker = Worker::inline();
    let open = |random: &mut Random| {
        let (soon, merges) = (worker.clone(), worker.clone());
        KeySet::open(&folder, small(random), soon, merges, &runs).unwrap()
    };
    let (mut one, mut other) = (open(&mut random), open(&mut random));
    let (of_one, of_other) = (one.opened().unwrap(), other.opened().unwrap());
    of_one.keep(false);
    drop((of_one, one));
    assert_eq!(files(&disk), all, "the other still needs them");
    drop(other);
    assert_eq!(files(&disk), all, "the other's snapshot keeps them");
    of_other.keep(false);
    drop(of_other);
    assert!(files(&disk).is_empty());
}

#[test]
fn only_what_is_live_or_kept_takes_space() {
    let disk = MemoryDisk::default();
    let mut random = Random(8);
    let mut checked = inline(&disk, &mut random);
    let mut kept: Option<KeySnapshot> = None;
    for n in 0..200 {
        checked.step(&mut random, 300).unwrap();
        if n % 20 == 19 {
            let snapshot = written(&mut checked);
            snapshot.keep(true);
            if let Some(old) = kept.replace(snapshot) {
                old.keep(false);
            }
        }
    }
    checked.settle().unwrap();
    let last = written(&mut checked);
    last.keep(true);
    kept.unwrap().keep(false);
    assert!(files(&disk).len() < 40, "merging leaves few runs");
    drop(checked);
    assert_eq!(files(&disk), named(&last));
    last.keep(false);
    drop(last);
    assert!(files(&disk).is_empty());
}
