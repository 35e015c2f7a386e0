//! The crawl's numbers: counted by the shards, read by everybody.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rhumb_store::{Fact, Fate, Outcome, State, Visit};
use serde::{Deserialize, Serialize};

/// One of each per shard, so that each counts what its own journal says and
/// a checkpoint finds numbers that belong to one moment.
pub struct Counters {
    pub tallies: Vec<Tally>,
    pub gauges: Vec<Gauges>,
}

/// What one shard has counted.
#[derive(Default)]
pub struct Tally {
    fetched: AtomicU64,
    redirects: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    /// Links that stand with an earlier visit.
    repeated: AtomicU64,
    links_dropped: AtomicU64,
    pub urls_seen: AtomicU64,
    bytes: AtomicU64,
    robots_fetched: AtomicU64,
    pub retries: AtomicU64,
    outcomes: Table,
    fates: Table,
}

/// The numbers of a tally at one moment, as a manifest keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub fetched: u64,
    pub redirects: u64,
    pub failed: u64,
    pub refused: u64,
    /// All of them: those in `fates`, and those that stand with an earlier
    /// visit.
    pub links: u64,
    #[serde(default)]
    pub links_dropped: u64,
    pub urls_seen: u64,
    pub bytes: u64,
    pub robots_fetched: u64,
    pub retries: u64,
    pub outcomes: BTreeMap<String, u64>,
    pub fates: BTreeMap<String, u64>,
}

/// Under this name `Snapshot::fates` has the links of pages whose links are
/// those of an earlier one to the letter: what became of them was counted
/// there.
const REPEATED: &str = "repeated";

#[derive(Default)]
pub struct Gauges {
    pub queued: AtomicU64,
    pub in_flight: AtomicU64,
    pub committing: AtomicU64,
    pub hosts: AtomicU64,
    pub connections: AtomicU64,
    /// Link messages and journals of earlier runs not yet taken in.
    pub untaken: AtomicU64,
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

    /// Add counts that `read` gave, in whichever version of the program.
    fn restore<T: ToString>(&self, all: &[T], counts: &BTreeMap<String, u64>) {
        for (name, count) in counts {
            let index = all.iter().position(|case| case.to_string() == *name);
            self.add(index.unwrap_or(CASES - 1), *count);
        }
    }
}

/// The numbers at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    pub fetched: u64,
    pub redirects: u64,
    pub failed: u64,
    /// Visits that were refused; links that were are no visits.
    pub refused: u64,
    /// Documents that repeat another: counted by the views, not by shards.
    pub duplicates: u64,
    pub links: u64,
    /// Links that went no further than their page. Several may name one URL.
    pub links_refused: u64,
    /// Links of pages beyond `max_links`: nothing else is known of them, and
    /// they are not among `links`.
    #[serde(default)]
    pub links_dropped: u64,
    pub urls_seen: u64,
    /// URLs still to be visited; those under way are not among them, unless
    /// the crawl has ended.
    pub queued: u64,
    /// Turns under way.
    pub in_flight: u64,
    /// URLs fetched that wait for the disk.
    pub committing: u64,
    /// Host names seen.
    pub hosts: u64,
    pub connections: u64,
    /// Bytes received, robots.txt and what came to nothing included.
    pub bytes: u64,
    pub robots_fetched: u64,
    pub retries: u64,
    /// Visits by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Those of them that failed: together `failed`.
    pub failures: BTreeMap<String, u64>,
    /// Those of them that were refused: together `refused`.
    pub refusals: BTreeMap<String, u64>,
    /// Links by the fate their finder gave them: together `links`.
    pub fates: BTreeMap<String, u64>,
}

impl Tally {
    /// Count a committed visit: live and in recovery.
    pub fn apply(&self, visit: &Visit) {
        let add = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        match visit.outcome.state() {
            State::Fetched => add(&self.fetched, 1),
            State::Failed => add(&self.failed, 1),
            _ => add(&self.refused, 1),
        };
        if visit.outcome == Outcome::Redirect {
            add(&self.redirects, 1);
        }
        add(&self.repeated, visit.links_repeated);
        add(&self.links_dropped, visit.number(Fact::LINKS_DROPPED));
        add(&self.bytes, visit.wire_bytes + visit.other_bytes);
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

    /// Count an answer to the request for a robots.txt: live and in recovery.
    pub fn apply_robots(&self, bytes: u64) {
        self.robots_fetched.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let fates = self.fates.read(Fate::ALL);
        Counts {
            fetched: read(&self.fetched),
            redirects: read(&self.redirects),
            failed: read(&self.failed),
            refused: read(&self.refused),
            links: fates.values().sum::<u64>() + read(&self.repeated),
            links_dropped: read(&self.links_dropped),
            urls_seen: read(&self.urls_seen),
            bytes: read(&self.bytes),
            robots_fetched: read(&self.robots_fetched),
            retries: read(&self.retries),
            outcomes: self.outcomes.read(Outcome::ALL),
            fates,
        }
    }

    /// Go on from counts of an earlier run.
    pub fn restore(&self, counts: &Counts) {
        let of_their_own: u64 = counts.fates.values().sum();
        let pairs = [
            (&self.fetched, counts.fetched),
            (&self.redirects, counts.redirects),
            (&self.failed, counts.failed),
            (&self.refused, counts.refused),
            (&self.repeated, counts.links.saturating_sub(of_their_own)),
            (&self.links_dropped, counts.links_dropped),
            (&self.urls_seen, counts.urls_seen),
            (&self.bytes, counts.bytes),
            (&self.robots_fetched, counts.robots_fetched),
            (&self.retries, counts.retries),
        ];
        for (counter, count) in pairs {
            counter.fetch_add(count, Ordering::Relaxed);
        }
        self.outcomes.restore(Outcome::ALL, &counts.outcomes);
        self.fates.restore(Fate::ALL, &counts.fates);
    }
}

impl Snapshot {
    /// What follows from the counts by outcome and by fate. Counted from them
    /// alone, so that the parts make the whole while others go on counting.
    fn group(&mut self) {
        let state_of = |name: &str| {
            let known = Outcome::ALL.iter().find(|outcome| outcome.label() == name);
            known.map_or(State::Refused, |outcome| outcome.state())
        };
        for (name, count) in &self.outcomes {
            let group = match state_of(name) {
                State::Failed => &mut self.failures,
                State::Refused => &mut self.refusals,
                _ => continue,
            };
            group.insert(name.clone(), *count);
        }
        self.failed = self.failures.values().sum();
        self.refused = self.refusals.values().sum();
        let let_through = [Fate::Offered.label(), Fate::Queued.label(), REPEATED];
        let refused = self.fates.iter();
        let refused = refused.filter(|(name, _)| !let_through.contains(&name.as_str()));
        self.links_refused = refused.map(|(_, count)| count).sum();
    }
}

impl Counters {
    pub fn new(shards: usize) -> Counters {
        Counters {
            tallies: (0..shards).map(|_| Tally::default()).collect(),
            gauges: (0..shards).map(|_| Gauges::default()).collect(),
        }
    }

    pub fn fetched(&self) -> u64 {
        self.sum(|tally| &tally.fetched)
    }

    pub fn bytes(&self) -> u64 {
        self.sum(|tally| &tally.bytes)
    }

    fn sum(&self, pick: fn(&Tally) -> &AtomicU64) -> u64 {
        let counts = self.tallies.iter().map(|t| pick(t).load(Ordering::Relaxed));
        counts.sum()
    }

    /// With the duplicates that the views have counted.
    pub fn snapshot(&self, duplicates: u64) -> Snapshot {
        let mut all = Snapshot {
            duplicates,
            ..Snapshot::default()
        };
        for counts in self.tallies.iter().map(Tally::read) {
            all.fetched += counts.fetched;
            all.redirects += counts.redirects;
            all.links += counts.links;
            all.links_dropped += counts.links_dropped;
            all.urls_seen += counts.urls_seen;
            all.bytes += counts.bytes;
            all.robots_fetched += counts.robots_fetched;
            all.retries += counts.retries;
            for (name, count) in counts.outcomes {
                *all.outcomes.entry(name).or_default() += count;
            }
            let of_their_own: u64 = counts.fates.values().sum();
            for (name, count) in counts.fates {
                *all.fates.entry(name).or_default() += count;
            }
            if counts.links > of_their_own {
                let repeated = all.fates.entry(REPEATED.to_owned()).or_default();
                *repeated += counts.links - of_their_own;
            }
        }
        all.group();
        for gauges in &self.gauges {
            let read = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
            all.queued += read(&gauges.queued);
            all.in_flight += read(&gauges.in_flight);
            all.committing += read(&gauges.committing);
            all.hosts += read(&gauges.hosts);
            all.connections += read(&gauges.connections);
        }
        all
    }
}
