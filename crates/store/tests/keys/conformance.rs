//! One suite for every implementation of `Keys`.

use std::collections::HashSet;
use std::time::Duration;

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{KeySet, KeySetConfig, Keys, MemoryKeys, Worker};

use crate::model::{Checked, Random, folder, small};

/// The same questions to any set.
fn conforms<K: Keys>(seed: u64, make: impl FnOnce(&mut Random) -> K) {
    let mut random = Random(seed);
    let set = make(&mut random);
    let mut checked = Checked::new(set, HashSet::new());
    for _ in 0..150 {
        checked.step(&mut random, 200).unwrap();
    }
    checked.settle().unwrap();
    for _ in 0..500 {
        let key = random.key(300);
        checked.check_contains(key);
    }
    assert!(checked.known.len() > 1000, "too few keys to tell");
}

fn threaded(name: &str) -> Worker {
    Worker::start(name, || ()).unwrap()
}

fn on_disk(random: &mut Random, soon: Worker, merges: Worker) -> KeySet {
    KeySet::new(&folder(&MemoryDisk::default()), small(random), soon, merges)
}

#[test]
fn in_memory_every_key_is_new_once() {
    (0..100).for_each(|seed| conforms(seed, |_| MemoryKeys::default()));
}

#[test]
fn on_disk_every_key_is_new_once() {
    for seed in 0..100 {
        conforms(seed, |random| {
            on_disk(random, Worker::inline(), Worker::inline())
        });
    }
}

#[test]
fn on_disk_with_threads_every_key_is_new_once() {
    for seed in 0..100 {
        conforms(seed, |random| {
            on_disk(random, threaded("soon"), threaded("merges"))
        });
    }
}

#[test]
fn on_disk_with_one_thread_for_all_every_key_is_new_once() {
    for seed in 0..50 {
        let worker = threaded("both");
        conforms(seed, |random| on_disk(random, worker.clone(), worker));
    }
}

#[test]
fn while_nothing_is_on_disk_every_answer_comes_at_once() {
    let worker = Worker::inline();
    let folder = folder(&MemoryDisk::default());
    let set = KeySet::new(
        &folder,
        KeySetConfig::within(1 << 20),
        worker.clone(),
        worker,
    );
    let mut checked = Checked::new(set, HashSet::new());
    let mut random = Random(5);
    for _ in 0..50 {
        let keys: Vec<u128> = (0..30).map(|_| random.key(100)).collect();
        checked.offer(&keys);
        checked.tend().unwrap();
        assert_eq!(checked.set.pending(), 0);
    }
}

#[test]
fn keys_wait_for_their_batch_no_longer_than_told() {
    let worker = Worker::inline();
    let config = KeySetConfig {
        buffer_keys: 600,
        filter_bytes: 0,
        confirm_keys: 1000,
        confirm_after: Duration::from_secs(5),
        ..KeySetConfig::default()
    };
    let set = KeySet::new(
        &folder(&MemoryDisk::default()),
        config,
        worker.clone(),
        worker,
    );
    let mut checked = Checked::new(set, HashSet::new());
    let keys: Vec<u128> = (1..=600).collect();
    checked.offer(&keys);
    while checked.set.runs() == 0 {
        checked.tend().unwrap();
    }
    checked.tend().unwrap();
    checked.offer(&[3, 3, 4]);
    assert_eq!(checked.set.pending(), 3);
    assert_eq!(checked.set.due(), Some(Duration::from_secs(5)));
    checked.now = Duration::from_millis(4999);
    for _ in 0..5 {
        checked.tend().unwrap();
    }
    assert_eq!(checked.set.pending(), 3);
    checked.now = Duration::from_secs(5);
    checked.tend().unwrap();
    assert_eq!(checked.set.due(), None, "the worker rings");
    checked.tend().unwrap();
    assert_eq!(checked.set.pending(), 0);
}
