//! The crawl's numbers: counted by the shards, read by everybody.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rhumb_store::{Fate, Outcome, State, Visit};
use serde::{Deserialize, Serialize};

#[derive(Default)]
pub struct Counters {
    pub fetched: AtomicU64,
    pub redirects: AtomicU64,
    pub failed: AtomicU64,
    pub refused: AtomicU64,
    pub duplicates: AtomicU64,
    pub links: AtomicU64,
    pub urls_seen: AtomicU64,
    pub bytes: AtomicU64,
    pub robots_fetched: AtomicU64,
    pub retries: AtomicU64,
    outcomes: Table,
    fates: Table,
    /// One of each per shard, so that each sets only its own.
    pub gauges: Vec<Gauges>,
}

#[derive(Default)]
pub struct Gauges {
    pub queued: AtomicU64,
    pub in_flight: AtomicU64,
    pub committing: AtomicU64,
    pub hosts: AtomicU64,
    pub connections: AtomicU64,
}

/// Places in a table: the last is shared by all modules.
const CASES: usize = 32;

fn index_in<T: PartialEq>(all: &[T], case: &T) -> usize {
    let index = all.iter().position(|known| known == case);
    index.unwrap_or(CASES - 1).min(CASES - 1)
}

/// A count per case of a closed list, in the list's order.
#[derive(Default)]
struct Table([AtomicU64; CASES]);

impl Table {
    fn add(&self, index: usize, count: u64) {
        self.0[index].fetch_add(count, Ordering::Relaxed);
    }

    fn read<T: ToString>(&self, all: &[T]) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = all
            .iter()
            .zip(&self.0)
            .map(|(case, count)| (case.to_string(), count.load(Ordering::Relaxed)))
            .collect();
        counts.insert(
            "module".to_owned(),
            self.0[CASES - 1].load(Ordering::Relaxed),
        );
        counts.retain(|_, count| *count > 0);
        counts
    }
}

/// The numbers at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    pub fetched: u64,
    pub redirects: u64,
    pub failed: u64,
    pub refused: u64,
    pub duplicates: u64,
    pub links: u64,
    pub urls_seen: u64,
    pub queued: u64,
    /// Turns under way.
    pub in_flight: u64,
    /// URLs fetched that wait for the disk.
    pub committing: u64,
    /// Host names seen.
    pub hosts: u64,
    pub connections: u64,
    pub bytes: u64,
    pub robots_fetched: u64,
    pub retries: u64,
    /// Visits by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Links by the fate their finder gave them.
    pub fates: BTreeMap<String, u64>,
}

impl Counters {
    pub fn new(shards: usize) -> Counters {
        Counters {
            gauges: (0..shards).map(|_| Gauges::default()).collect(),
            ..Counters::default()
        }
    }

    /// Count a committed visit: live and in recovery.
    pub fn apply(&self, visit: &Visit, duplicate: bool) {
        let add = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        match visit.outcome.state() {
            State::Fetched => add(&self.fetched, 1),
            State::Failed => add(&self.failed, 1),
            _ => add(&self.refused, 1),
        };
        if visit.outcome == Outcome::Redirect {
            add(&self.redirects, 1);
        }
        if duplicate {
            add(&self.duplicates, 1);
        }
        add(&self.links, visit.links.len() as u64);
        add(&self.bytes, visit.wire_bytes);
        self.outcomes.add(index_in(Outcome::ALL, &visit.outcome), 1);
        let mut fates = [0; CASES];
        for link in &visit.links {
            fates[index_in(Fate::ALL, &link.fate)] += 1;
        }
        for (index, count) in fates.into_iter().enumerate() {
            if count > 0 {
                self.fates.add(index, count);
            }
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sum = |pick: fn(&Gauges) -> &AtomicU64| self.gauges.iter().map(|g| read(pick(g))).sum();
        Snapshot {
            fetched: read(&self.fetched),
            redirects: read(&self.redirects),
            failed: read(&self.failed),
            refused: read(&self.refused),
            duplicates: read(&self.duplicates),
            links: read(&self.links),
            urls_seen: read(&self.urls_seen),
            queued: sum(|g| &g.queued),
            in_flight: sum(|g| &g.in_flight),
            committing: sum(|g| &g.committing),
            hosts: sum(|g| &g.hosts),
            connections: sum(|g| &g.connections),
            bytes: read(&self.bytes),
            robots_fetched: read(&self.robots_fetched),
            retries: read(&self.retries),
            outcomes: self.outcomes.read(Outcome::ALL),
            fates: self.fates.read(Fate::ALL),
        }
    }
}
