//! A crawl of a small simulated web on a disk in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb_crawl::{
    Config, Crawl, CrawlError, Ending, Handle, Observer, SeedSource, Seeds, Snapshot, verify_on,
};
use rhumb_sim::{Sim, SimConfig};
use rhumb_store::{
    Disk, JournalReader, MemoryDisk, Record, Severity, State, SystemClock, Unsynced, journals_in,
};

pub const DIR: &str = "crawl";

/// Gives a crawl that pauses for want of space some space.
struct GivesSpace(MemoryDisk);

impl Observer for GivesSpace {
    fn note(&mut self, text: &str) {
        if text.starts_with("paused: the disk has") {
            self.0.repair();
        }
    }

    fn progress(&mut self, _counts: &Snapshot, _control: &Handle) {}
}

pub struct SmallWeb {
    sim: Sim,
    reachable: BTreeSet<String>,
}

impl SmallWeb {
    pub fn start() -> SmallWeb {
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
        let reachable = truth.pages.into_iter().chain(truth.redirects).collect();
        SmallWeb { sim, reachable }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        let dns = self.sim.dns_addr().unwrap().to_string();
        let settings = [
            ("scope", "any"),
            ("delay", "0s"),
            ("dns", dns.as_str()),
            ("threads", "2"),
            ("connections", "8"),
            // Several groups to a sync, so that there is something to lose.
            ("sync_interval", "20ms"),
            // After a failure there is nothing to wait for.
            ("stop_grace", "0s"),
            // Several checkpoints, each shard at its own time.
            ("checkpoint_visits", "25"),
            ("journal_roll", "20Ki"),
            ("warc_roll", "200Ki"),
        ];
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        config
    }

    /// Begin a crawl, or go on with the one that is on the disk.
    pub fn crawl(&self, disk: &MemoryDisk) -> Result<Ending, CrawlError> {
        self.crawl_with(disk, &[])
    }

    /// Likewise, with other settings.
    pub fn crawl_with(
        &self,
        disk: &MemoryDisk,
        settings: &[(&str, &str)],
    ) -> Result<Ending, CrawlError> {
        let mut config = self.config();
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        let door: Arc<dyn Disk> = Arc::new(disk.clone());
        let clock = Arc::new(SystemClock::default());
        let crawl = Crawl::open_with(Path::new(DIR), config, door, clock)?;
        let seeds = Seeds::open(&[SeedSource::Given(self.sim.seed_url())]).unwrap();
        let mut observer = GivesSpace(disk.clone());
        Ok(crawl.run(seeds, &mut observer)?.ending)
    }

    /// What was left on the disk, and what recovery makes of it, is sound:
    /// journal, archive and state by themselves and against each other.
    /// Visits nothing.
    pub fn assert_recovers_soundly(&self, disk: &MemoryDisk, when: &str) {
        // There may not have been a crawl yet.
        if disk.read(&identity()).is_ok() {
            self.assert_sound(disk, &format!("{when}, not recovered"));
        }
        // Beside the crawl that is to go on: it finds the disk as it was left.
        let beside = disk.after_power_loss(Unsynced::Kept);
        if let Err(error) = self.make_state_again(&beside) {
            panic!("{when}: {error}");
        }
        self.assert_sound(&beside, when);
        let visited = visits(&beside);
        for (url, (_, _, first)) in &visited {
            let is_there = first.is_empty() || visited.contains_key(first);
            assert!(is_there, "{when}: {url} repeats {first}, which is lost");
        }
    }

    pub fn assert_sound(&self, disk: &MemoryDisk, when: &str) {
        let door: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut damages = Vec::new();
        let mut note = |_, severity, text| {
            if severity == Severity::Damage {
                damages.push(text);
            }
        };
        let verified = verify_on(&door, Path::new(DIR), &mut note, &mut |_| ()).unwrap();
        assert!(verified.is_sound(), "{when}: {damages:#?}");
    }

    /// Make the state again from the journal alone.
    pub fn make_state_again(&self, disk: &MemoryDisk) -> Result<(), CrawlError> {
        let door: Arc<dyn Disk> = Arc::new(disk.clone());
        let clock = Arc::new(SystemClock::default());
        let crawl = Crawl::open_with(Path::new(DIR), self.config(), door, clock)?;
        crawl.settle(&mut GivesSpace(disk.clone())).map(drop)
    }

    /// The crawl on the disk has the whole reachable set, each page once, is
    /// sound, and would have it all after a loss of power.
    pub fn assert_complete(&self, disk: &MemoryDisk, when: &str) {
        let visits = visits(&disk.after_power_loss(Unsynced::Dropped));
        let fetched: BTreeSet<&String> = visits
            .iter()
            .filter(|(_, (state, ..))| *state == State::Fetched)
            .map(|(url, _)| url)
            .collect();
        let reachable: BTreeSet<&String> = self.reachable.iter().collect();
        let missing: Vec<_> = reachable.difference(&fetched).take(5).collect();
        let extra: Vec<_> = fetched.difference(&reachable).take(5).collect();
        assert!(
            missing.is_empty() && extra.is_empty(),
            "{when}: missing {missing:?}, too many {extra:?}"
        );
        self.assert_sound(disk, when);
        let twice = visits.iter().find(|(_, (_, times, _))| *times != 1);
        assert_eq!(twice, None, "{when}: visited more than once");
    }
}

fn identity() -> PathBuf {
    Path::new(DIR).join("state/identity.toml")
}

pub fn manifest() -> PathBuf {
    Path::new(DIR).join("state/manifest.json")
}

/// Every visited URL, how often it was visited, and the one whose content it
/// repeats; the archive's extents must lie within its files.
fn visits(disk: &MemoryDisk) -> BTreeMap<String, (State, u32, String)> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (folder, archive) = (Path::new(DIR).join("journal"), Path::new(DIR).join("warc"));
    let mut visits = BTreeMap::new();
    for journal in journals_in(&*disk, &folder).unwrap() {
        let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
        while let Some(group) = reader.next_group().unwrap() {
            for (_, record) in group.records() {
                let Record::Visit(visit) = record.unwrap() else {
                    continue;
                };
                for extent in &visit.extents {
                    let file = disk.open(&archive.join(&extent.file)).unwrap();
                    assert!(extent.offset + extent.length <= file.length().unwrap());
                }
                let state = visit.outcome.state();
                let known = (state, 0, visit.duplicate_of);
                visits.entry(visit.url).or_insert(known).1 += 1;
            }
        }
    }
    visits
}
