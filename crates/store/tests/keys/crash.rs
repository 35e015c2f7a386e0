//! Power lost at every write: the last manifest is the set of its moment.

use std::collections::HashSet;
use std::path::Path;

use rhumb_store::runs::{KeyRunState, KeySet, KeySetConfig, KeySnapshot, RunsError, Worker};
use rhumb_store::{Disk, MemoryDisk};
use serde::{Deserialize, Serialize};

use crate::model::{Checked, Random, folder};

const MANIFEST: &str = "/manifest";

#[derive(Default, Serialize, Deserialize)]
struct Manifest {
    #[serde(default)]
    runs: Vec<KeyRunState>,
}

fn config() -> KeySetConfig {
    KeySetConfig {
        buffer_keys: 40,
        filter_bytes: 512,
        cache_keys: 8,
        confirm_keys: 30,
        merge_width: 3,
        block_bytes: 128,
        ..KeySetConfig::default()
    }
}

fn opened(disk: &MemoryDisk) -> KeySet {
    let text = disk.read(Path::new(MANIFEST)).unwrap_or_default();
    let manifest: Manifest = toml::from_str(std::str::from_utf8(&text).unwrap()).unwrap();
    let folder = folder(disk);
    let names: Vec<String> = manifest.runs.iter().map(|run| run.name.clone()).collect();
    folder.remove_others(&names).unwrap();
    let worker = Worker::inline();
    KeySet::open(&folder, config(), worker.clone(), worker, &manifest.runs).unwrap()
}

/// Crawl until the disk fails; `durable` is what the last manifest holds.
fn crawl(
    disk: &MemoryDisk,
    random: &mut Random,
    known: HashSet<u128>,
    durable: &mut HashSet<u128>,
) -> Result<(), RunsError> {
    let mut set = opened(disk);
    let mut before = set.opened();
    let mut checked = Checked::new(set, known);
    for _ in 0..10 {
        for _ in 0..8 {
            checked.step(random, 60)?;
        }
        let snapshot: KeySnapshot = checked.set.snapshot();
        let moment = checked.known.clone();
        while !snapshot.is_written() {
            checked.step(random, 60)?;
        }
        snapshot.keep(true);
        let manifest = Manifest {
            runs: snapshot.runs(),
        };
        let text = toml::to_string(&manifest).unwrap();
        disk.replace(Path::new(MANIFEST), text.as_bytes())
            .map_err(RunsError::io(Path::new(MANIFEST)))?;
        *durable = moment;
        if let Some(before) = before.replace(snapshot) {
            before.keep(false);
        }
    }
    Ok(())
}

#[test]
fn after_a_crash_at_any_write_the_last_manifest_holds() {
    let mut writes = 0;
    loop {
        let disk = MemoryDisk::default();
        let mut random = Random(writes);
        let mut durable = HashSet::new();
        disk.fail_after(writes);
        let done = crawl(&disk, &mut random, HashSet::new(), &mut durable);
        disk.crash(random.below(3) as usize * 20);
        let set = opened(&disk);
        let checked = Checked::new(set, durable.clone());
        for _ in 0..200 {
            checked.check_contains(random.key(80));
        }
        drop(checked);
        // And the next run goes on from there, to fail once more.
        disk.fail_after(random.below(60));
        let known = durable.clone();
        let _ = crawl(&disk, &mut random, known, &mut durable);
        disk.crash(0);
        Checked::new(opened(&disk), durable);
        if done.is_ok() {
            break;
        }
        writes += 1;
    }
    assert!(writes > 100, "only {writes} writes: too few to tell");
}
