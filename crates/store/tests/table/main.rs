//! The table of runs, and its small brother in memory, from the outside.

mod conformance;
mod crash;
mod damage;
mod life;
mod model;

use std::path::Path;
use std::sync::Arc;

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{
    Compression, FilterOn, RunFolder, RunTable, Snapshot, Table, TableConfig, Worker,
};

const FOLDER: &str = "/state";

/// Small enough that a few hundred entries make many runs.
fn small(filter: FilterOn) -> TableConfig {
    TableConfig {
        buffer_bytes: 12 << 10,
        waiting_bytes: 40 << 10,
        block_bytes: 256,
        compression: Compression::Zstd(1),
        compress_above: 8 << 10,
        filter,
        filter_bytes: 8 << 10,
        index_bytes: 8 << 10,
        fan_in: 3,
        most_runs: 12,
        ..TableConfig::new("test")
    }
}

fn folder(disk: &MemoryDisk) -> RunFolder {
    RunFolder::open(Arc::new(disk.clone()), Path::new(FOLDER)).unwrap()
}

fn files(disk: &MemoryDisk) -> Vec<String> {
    use rhumb_store::Disk;
    disk.list(Path::new(FOLDER)).unwrap()
}

fn empty(folder: &RunFolder, config: TableConfig) -> RunTable {
    RunTable::new(folder, config, Worker::inline(), Worker::inline())
}

fn reopened(folder: &RunFolder, config: TableConfig, snapshot: &Snapshot) -> RunTable {
    let (soon, merges) = (Worker::inline(), Worker::inline());
    RunTable::open(folder, config, soon, merges, &snapshot.runs()).unwrap()
}

fn all(table: &dyn Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    scanned(table, &[], &[])
}

fn scanned(table: &dyn Table, from: &[u8], to: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut note = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        true
    };
    table.scan(from, to, &mut note).unwrap();
    found
}

/// xorshift: the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
