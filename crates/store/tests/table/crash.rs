//! Power is lost at every single write.

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{FilterOn, RunState, RunTable, Table, Worker};

use super::{Random, all, empty, files, folder, small};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Puts, removes and takes a manifest now and then, until a write fails.
/// What the last manifest said, and what the table held then.
fn work(disk: &MemoryDisk) -> (Vec<RunState>, Pairs, bool) {
    let folder = folder(disk);
    let mut table = empty(&folder, small(FilterOn::Prefix(1)));
    let mut random = Random(4242);
    let mut manifest = table.snapshot();
    let (mut named, mut held) = (Vec::new(), Vec::new());
    for turn in 0..900_u64 {
        let key = random.below(400).to_be_bytes();
        match random.below(10) {
            0 => table.remove(&key[6..]),
            1 => table.remove_range(&key[6..], &(random.below(400).to_be_bytes())[6..]),
            _ => table.put(&key[6..], &turn.to_be_bytes().repeat(6)),
        }
        let mut whole = table.tend().is_ok();
        if turn % 30 == 29 {
            let new = table.snapshot();
            whole &= table.tend().is_ok();
            if new.is_written() {
                new.keep(true);
                manifest.keep(false);
                new.keep(true);
                (named, held) = (new.runs(), all(&table));
                manifest = new;
            }
        }
        if !whole {
            return (named, held, true);
        }
    }
    manifest.keep(true);
    (named, held, false)
}

#[test]
fn after_a_crash_the_last_manifest_gives_its_state() {
    for torn in [0, 7] {
        let mut writes = 0;
        loop {
            let disk = MemoryDisk::default();
            disk.fail_after(writes);
            let (named, held, failed) = work(&disk);
            disk.crash(torn);
            let folder = folder(&disk);
            let names: Vec<_> = named.iter().map(|run| run.name.clone()).collect();
            folder.remove_others(&names).unwrap();
            let mut left = files(&disk);
            left.sort();
            let mut expected = names;
            expected.sort();
            assert_eq!(left, expected);
            let config = small(FilterOn::Prefix(1));
            let (soon, merges) = (Worker::inline(), Worker::inline());
            let mut table = RunTable::open(&folder, config, soon, merges, &named).unwrap();
            assert_eq!(all(&table), held);
            table.put(b"and", b"on");
            drop(table.snapshot());
            table.tend().unwrap();
            assert_eq!(table.get(b"and").unwrap(), Some(b"on".to_vec()));
            if !failed {
                break;
            }
            writes += 1;
        }
        assert!(writes > 50);
    }
}
