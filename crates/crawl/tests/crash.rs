//! A small crawl on a disk in memory that fails after some number of writes
//! and then loses what was not synced: whatever the number, the crawl goes on
//! and brings home exactly the reachable set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rhumb_crawl::{
    Config, Crawl, CrawlError, Ending, Handle, Observer, SeedSource, Seeds, Snapshot,
};
use rhumb_sim::{Sim, SimConfig};
use rhumb_store::{Disk, JournalReader, MemoryDisk, Record, State, SystemClock, journals_in};

struct Silent;

impl Observer for Silent {
    fn note(&mut self, _text: &str) {}
    fn progress(&mut self, _counts: &Snapshot, _control: &Handle) {}
}

fn config(sim: &Sim) -> Config {
    let mut config = Config::default();
    let dns = sim.dns_addr().unwrap().to_string();
    let settings = [
        ("scope", "any"),
        ("delay", "0s"),
        ("dns", dns.as_str()),
        ("threads", "2"),
        ("connections", "8"),
        ("sync_interval", "0s"),
        ("journal_roll", "20Ki"),
        ("warc_roll", "200Ki"),
    ];
    for (key, value) in settings {
        config.set(key, value).unwrap();
    }
    config
}

fn run(disk: &MemoryDisk, dir: &Path, sim: &Sim) -> Result<Ending, CrawlError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let clock = Arc::new(SystemClock::default());
    let crawl = Crawl::open_with(dir, config(sim), disk, clock)?;
    let seeds = Seeds::open(&[SeedSource::Given(sim.seed_url())]).unwrap();
    Ok(crawl.run(seeds, &mut Silent)?.ending)
}

/// Every visited URL and how often it was visited; the archive's extents must
/// lie within its files.
fn visits(disk: &MemoryDisk, dir: &Path) -> BTreeMap<String, (State, u32)> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let folder = dir.join("journal");
    let mut visits = BTreeMap::new();
    for journal in journals_in(&*disk, &folder).unwrap() {
        let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
        while let Some(group) = reader.next_group().unwrap() {
            for (_, record) in group.records() {
                let Record::Visit(visit) = record.unwrap() else {
                    continue;
                };
                for extent in &visit.extents {
                    let file = disk.open(&dir.join("warc").join(&extent.file)).unwrap();
                    assert!(extent.offset + extent.length <= file.length().unwrap());
                }
                let entry = visits
                    .entry(visit.url)
                    .or_insert((visit.outcome.state(), 0));
                entry.1 += 1;
            }
        }
    }
    visits
}

#[test]
fn a_crawl_survives_a_disk_that_fails_after_any_write() {
    let sim = Sim::start(SimConfig {
        hosts: 6,
        pages: 200,
        seed: 3,
        port: 0,
        dns_port: Some(0),
        ..SimConfig::default()
    })
    .unwrap();
    let truth = sim.web().truth();
    let reachable: BTreeSet<&String> = truth.pages.iter().chain(&truth.redirects).collect();
    let dir = Path::new("crawl");
    let mut failures = 0;
    for writes in (1..60).chain((60..200).step_by(9)) {
        let disk = MemoryDisk::default();
        let mut left = writes;
        let ending = loop {
            disk.fail_after(left);
            match run(&disk, dir, &sim) {
                Ok(Ending::Failed(_)) | Err(_) => failures += 1,
                Ok(ending) => break ending,
            }
            disk.crash(left as usize % 97);
            // A disk that fails at once for ever gets nowhere: let it last
            // longer each time.
            left = left * 2 + 40;
        };
        assert_eq!(ending, Ending::Finished);
        let visits = visits(&disk, dir);
        let fetched: BTreeSet<&String> = visits
            .iter()
            .filter(|(_, (state, _))| *state == State::Fetched)
            .map(|(url, _)| url)
            .collect();
        assert_eq!(fetched, reachable, "after {writes} writes");
        assert!(visits.values().all(|(_, times)| *times == 1));
    }
    assert!(failures > 20, "only {failures} runs failed");
}
