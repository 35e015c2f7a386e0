//! Files that come and go, memory that is bounded, work in the background.

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{FilterOn, RunTable, Table, TableConfig, Worker};

use super::{Random, all, empty, files, folder, reopened, scanned, small};

fn number(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

#[test]
fn files_of_no_manifest_go_with_their_table() {
    let disk = MemoryDisk::default();
    let folder = folder(&disk);
    let mut table = empty(&folder, small(FilterOn::Key));
    for n in 0..2000 {
        table.put(&number(n), &[7; 30]);
        table.tend().unwrap();
    }
    assert_eq!(files(&disk).len(), table.runs());
    drop(table);
    assert!(files(&disk).is_empty());
}

#[test]
fn only_the_files_of_the_newest_manifest_stay() {
    let disk = MemoryDisk::default();
    let folder = folder(&disk);
    let config = small(FilterOn::Key);
    let mut table = empty(&folder, config.clone());
    let mut manifest = table.snapshot();
    for n in 0..3000_u64 {
        table.put(&number(n * 7 % 3001), &[7; 30]);
        table.tend().unwrap();
        if n % 500 == 499 {
            let new = table.snapshot();
            table.tend().unwrap();
            assert!(new.is_written());
            new.keep(true);
            manifest.keep(false);
            new.keep(true);
            manifest = new;
            let named: Vec<_> = manifest.runs().into_iter().map(|run| run.name).collect();
            assert!(named.iter().all(|name| files(&disk).contains(name)));
        }
    }
    let before = all(&table);
    drop(table);
    let again = reopened(&folder, config, &manifest);
    assert_eq!(all(&again), before);
    assert_eq!(files(&disk).len(), manifest.runs().len());
}

#[test]
fn what_was_removed_gives_its_space_back() {
    let disk = MemoryDisk::default();
    let mut table = empty(&folder(&disk), small(FilterOn::Prefix(8)));
    for turn in 0..40_000_u64 {
        let mut key = number(turn % 50).to_vec();
        key.extend(number(turn));
        table.put(&key, &[3; 30]);
        if turn % 1000 == 999 {
            // Take every lane whole, as a crawl that keeps up would.
            for lane in 0..50 {
                table.remove_range(&number(lane), &number(lane + 1));
            }
        }
        table.tend().unwrap();
    }
    assert!(all(&table).is_empty());
    assert!(table.bytes_on_disk() < 400_000, "{}", table.bytes_on_disk());
    drop(table.snapshot());
    table.tend().unwrap();
    table.reclaim();
    (0..4).for_each(|_| table.tend().unwrap());
    assert_eq!((table.runs(), table.bytes_on_disk()), (0, 0));
    assert!(files(&disk).is_empty());
}

#[test]
fn filters_and_fences_keep_to_their_budgets() {
    let config = TableConfig {
        filter_bytes: 2 << 10,
        index_bytes: 4 << 10,
        buffer_bytes: 16 << 10,
        ..small(FilterOn::Key)
    };
    let disk = MemoryDisk::default();
    let folder = folder(&disk);
    let mut table = empty(&folder, config.clone());
    for n in 0..30_000_u64 {
        table.put(&number(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)), &[7; 10]);
        table.tend().unwrap();
        // Beside the budgets: the buffer, and the tops of the fences.
        assert!(table.bytes_in_memory() < (16 + 6 + 12) << 10);
    }
    let snapshot = table.snapshot();
    table.tend().unwrap();
    let again = reopened(&folder, config, &snapshot);
    assert!(again.bytes_in_memory() < (6 + 12) << 10);
    assert_eq!(scanned(&again, &[], &[]).len(), 30_000);
}

#[test]
fn a_buffer_stays_charged_for_its_bytes_and_congests_the_table() {
    let disk = MemoryDisk::default();
    // Workers that never do anything.
    let (door, held) = std::sync::mpsc::channel::<()>();
    let stuck = Worker::start("stuck", || {}).unwrap();
    drop(stuck.run(move || held.recv()));
    let config = small(FilterOn::Key);
    let mut table = RunTable::new(&folder(&disk), config, stuck.clone(), stuck);
    let mut put = 0;
    while !table.is_congested() {
        table.put(&number(put), &[1; 100]);
        table.tend().unwrap();
        put += 1;
        assert!(put < 1000);
    }
    assert!(table.bytes_in_memory() >= put as usize * 108);
    let snapshot = table.snapshot();
    assert!(!snapshot.is_written());
    assert_eq!(all(&table).len() as u64, put);
    drop(door);
    while table.is_congested() || !snapshot.is_written() {
        table.tend().unwrap();
        std::thread::yield_now();
    }
    assert_eq!(all(&table).len() as u64, put);
}

#[test]
fn nothing_is_missing_while_workers_write_and_merge() {
    let disk = MemoryDisk::default();
    let folder = folder(&disk);
    let soon = Worker::start("soon", || {}).unwrap();
    let merges = Worker::start("merges", || {}).unwrap();
    let config = small(FilterOn::Prefix(8));
    let mut table = RunTable::new(&folder, config.clone(), soon, merges);
    let mut random = Random(77);
    for n in 0..20_000_u64 {
        table.put(&number(n), &number(n * 3));
        table.tend().unwrap();
        while table.is_congested() {
            std::thread::yield_now();
            table.tend().unwrap();
        }
        let old = random.below(n + 1);
        assert_eq!(
            table.get(&number(old)).unwrap(),
            Some(number(old * 3).to_vec())
        );
    }
    let snapshot = table.snapshot();
    while !snapshot.is_written() {
        std::thread::yield_now();
    }
    assert_eq!(all(&table), all(&reopened(&folder, config, &snapshot)));
}
