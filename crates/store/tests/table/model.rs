//! Long rows of random operations, against a plain map.

use std::collections::BTreeMap;

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{FilterOn, RunFolder, RunTable, Snapshot, Table, TableConfig, Worker};

use super::{Random, all, empty, files, folder, reopened, scanned, small};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn pairs(model: &Model) -> Vec<(Vec<u8>, Vec<u8>)> {
    model.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Few lanes with many keys each; some keys are short, some long.
fn key(random: &mut Random) -> Vec<u8> {
    let mut key = vec![b'l', b'a' + random.below(6) as u8];
    let tail = [0, 1, 2, 16, 40][random.below(5) as usize];
    key.extend((0..tail).map(|_| b'a' + random.below(3) as u8));
    key
}

fn range(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let from = key(random);
    let to = match random.below(12) {
        0 => key(random),
        1 => vec![b'l', from[1] + 1],
        2 if random.below(20) == 0 => Vec::new(),
        _ => {
            let mut to = from[..2].to_vec();
            to.extend((0..3).map(|_| b'a' + random.below(3) as u8));
            to
        }
    };
    (from, to)
}

fn step(random: &mut Random, table: &mut dyn Table, model: &mut Model) {
    match random.below(100) {
        0..=69 => {
            let key = key(random);
            let value = vec![random.below(256) as u8; random.below(40) as usize];
            table.put(&key, &value);
            model.insert(key, value);
        }
        70..=79 => {
            let key = key(random);
            table.remove(&key);
            model.remove(&key);
        }
        80..=83 => {
            let (from, to) = range(random);
            table.remove_range(&from, &to);
            model.retain(|key, _| key < &from || !(to.is_empty() || key < &to));
        }
        84..=93 => {
            let key = key(random);
            assert_eq!(table.get(&key).unwrap().as_ref(), model.get(&key));
        }
        _ => {
            let (from, to) = range(random);
            let expected: Vec<_> = pairs(model)
                .into_iter()
                .filter(|(key, _)| key >= &from && (to.is_empty() || key < &to))
                .collect();
            assert_eq!(scanned(table, &from, &to), expected);
        }
    }
}

/// All settings in which the ways of reading differ.
fn settings() -> Vec<TableConfig> {
    let mut all = Vec::new();
    for filter in [
        FilterOn::Nothing,
        FilterOn::Prefix(2),
        FilterOn::Prefix(4),
        FilterOn::Key,
    ] {
        all.push(small(filter));
        all.push(TableConfig {
            index_bytes: 0,
            filter_bytes: 256,
            block_bytes: 64,
            ..small(filter)
        });
    }
    all
}

#[test]
fn a_table_of_runs_answers_as_a_map_does() {
    for (seed, config) in settings().into_iter().enumerate() {
        let mut random = Random(seed as u64 * 7919 + 1);
        let disk = MemoryDisk::default();
        let folder = folder(&disk);
        let mut table = empty(&folder, config.clone());
        let mut model = Model::new();
        let mut most_runs = 0;
        for _ in 0..6000 {
            step(&mut random, &mut table, &mut model);
            match random.below(200) {
                0..=99 => table.tend().unwrap(),
                100 => drop(table.snapshot()),
                101 => table.reclaim(),
                102 => {
                    let snapshot = table.snapshot();
                    assert!(snapshot.is_written());
                    snapshot.keep(true);
                    drop(table);
                    table = reopened(&folder, config.clone(), &snapshot);
                }
                103 => {
                    let (from, to) = range(&mut random);
                    let reader = table.reader(&from, &to);
                    let expected = scanned(&table, &from, &to);
                    step(&mut random, &mut table, &mut model);
                    table.tend().unwrap();
                    let mut found = Vec::new();
                    let mut note = |key: &[u8], value: &[u8]| {
                        found.push((key.to_vec(), value.to_vec()));
                        true
                    };
                    reader.scan(&mut note).unwrap();
                    assert_eq!(found, expected);
                }
                _ => {}
            }
            most_runs = most_runs.max(table.runs());
        }
        assert_eq!(all(&table), pairs(&model));
        assert!((3..=20).contains(&most_runs), "{most_runs} runs");
    }
}

#[test]
fn the_table_in_memory_answers_as_a_map_does() {
    let mut random = Random(5);
    let mut table = rhumb_store::runs::MemoryTable::new();
    let mut model = Model::new();
    for _ in 0..3000 {
        step(&mut random, &mut table, &mut model);
    }
    assert_eq!(all(&table), pairs(&model));
}

#[test]
fn a_snapshot_is_the_state_of_its_moment_whatever_comes_after() {
    for (seed, config) in settings().into_iter().enumerate() {
        let mut random = Random(seed as u64 + 99);
        let disk = MemoryDisk::default();
        let folder = folder(&disk);
        let mut table = empty(&folder, config.clone());
        let mut model = Model::new();
        let mut taken: Vec<(Snapshot, Model)> = Vec::new();
        for turn in 0..3000 {
            step(&mut random, &mut table, &mut model);
            table.tend().unwrap();
            if turn % 400 == 0 {
                taken.push((table.snapshot(), model.clone()));
            }
        }
        for (snapshot, then) in &taken {
            assert!(snapshot.is_written());
            assert_eq!(
                all(&reopened(&folder, config.clone(), snapshot)),
                pairs(then)
            );
        }
    }
}

/// Two tables over the runs of one, as after a change of shards.
fn halves(folder: &RunFolder, config: &TableConfig, old: &Snapshot, at: &[u8]) -> [RunTable; 2] {
    [(&[][..], at), (at, &[][..])].map(|(from, to)| {
        let states: Vec<_> = old
            .runs()
            .iter()
            .filter_map(|run| run.within(from, to))
            .collect();
        let (soon, merges) = (Worker::inline(), Worker::inline());
        RunTable::open(folder, config.clone(), soon, merges, &states).unwrap()
    })
}

#[test]
fn tables_that_share_runs_each_see_their_own_keys() {
    for (seed, config) in settings().into_iter().enumerate() {
        let mut random = Random(seed as u64 + 1234);
        let disk = MemoryDisk::default();
        let folder = folder(&disk);
        let mut table = empty(&folder, config.clone());
        let mut model = Model::new();
        for _ in 0..2000 {
            step(&mut random, &mut table, &mut model);
            table.tend().unwrap();
        }
        let old = table.snapshot();
        old.keep(true);
        drop(table);
        let at = b"ldab".to_vec();
        let mut halves = halves(&folder, &config, &old, &at);
        let mut models = [model.clone(), model.split_off(&at)];
        models[0].retain(|key, _| key < &at);
        for (table, model) in halves.iter_mut().zip(&models) {
            assert_eq!(all(table), pairs(model));
            for key in models.iter().flat_map(BTreeMap::keys) {
                assert_eq!(table.get(key).unwrap().as_ref(), model.get(key));
            }
        }
        // Each goes on alone, over keys that the other has too: what it does
        // not see of a shared run never comes back, whatever is merged.
        for (table, model) in halves.iter_mut().zip(&mut models) {
            for turn in 0..2000 {
                step(&mut random, table, model);
                table.tend().unwrap();
                if turn == 1000 {
                    table.reclaim();
                }
            }
            assert_eq!(all(table), pairs(model));
        }
        // Once both have merged the shared runs away and no manifest names
        // them, they are gone.
        let shared = old.runs();
        old.keep(false);
        drop(old);
        let new = halves.each_mut().map(RunTable::snapshot);
        let named: Vec<_> = new
            .iter()
            .flat_map(Snapshot::runs)
            .map(|run| run.name)
            .collect();
        let left = files(&disk);
        for run in shared {
            assert_eq!(left.contains(&run.name), named.contains(&run.name));
        }
    }
}
