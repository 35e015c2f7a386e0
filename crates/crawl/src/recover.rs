//! Recovery: the state of a crawl, made again from its journals.
//!
//! Three passes, each through the same functions that run live: the visits
//! that were committed; what was admitted and not visited since; and the
//! links of visits whose owner had not yet admitted them when the crawl ended.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhumb_frontier::{Frontier, LaneId, MemorySet, Queued, Ticket, UrlSet};
use rhumb_store::{
    Admitted, Clock, Control as ControlRecord, Disk, FORMAT, Fate, Identity, JournalError,
    JournalReader, Position, Record, Timestamp, Visit, journals_in,
};
use rhumb_url::{Fingerprinter, NORMALISER_VERSION, PARTITIONS, Scope, Url, UrlKey};

use crate::content::ContentSeen;
use crate::counters::Counters;
use crate::exchange::{LinkBatch, batches_of, offered_by};

/// The event that closes a host for good.
pub const GIVEN_UP: &str = "given-up";

/// What a crawl directory made by this program says of itself.
pub fn our_identity(clock: &dyn Clock) -> Identity {
    let created = clock.wall();
    // URLs come from strangers, who must not be able to choose collisions.
    let mut seed_material = [0; 16];
    seed_material[..8].copy_from_slice(&created.0.to_le_bytes());
    seed_material[8..].copy_from_slice(&random_bits().to_le_bytes());
    Identity {
        format: FORMAT,
        normaliser: NORMALISER_VERSION,
        suffix_list: rhumb_url::suffix_list_version().to_owned(),
        partitions: PARTITIONS,
        // TOML integers are signed.
        hash_seed: xxhash_rust::xxh3::xxh3_64(&seed_material) >> 1,
        created: created.to_string(),
        program: concat!("rhumb ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// The standard library seeds its maps from the system's randomness.
fn random_bits() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// One shard's share of the state.
pub struct ShardState {
    pub frontier: Frontier,
    pub set: MemorySet,
    pub given_up: HashMap<LaneId, String>,
    /// Links that were committed but not admitted.
    pub unadmitted: Vec<LinkBatch>,
}

/// Read every record of every journal.
pub fn each_record(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    mut with: impl FnMut(Position, Record),
) -> Result<(), JournalError> {
    let journals = journals_in(&**disk, folder).map_err(|error| JournalError::Io {
        path: folder.to_owned(),
        error,
    })?;
    for journal in journals {
        let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, 0);
        while let Some(group) = reader.next_group()? {
            for (position, record) in group.records() {
                if let Ok(record) = record {
                    with(position, record);
                }
            }
        }
    }
    Ok(())
}

pub fn lane_of(print: &Fingerprinter, url: &Url) -> LaneId {
    LaneId(print.lane(url.name()))
}

/// Put an admitted URL in its queue: live and in recovery.
pub fn queue(frontier: &mut Frontier, item: Queued) {
    frontier.admit(LaneId(item.key.lane), item);
}

pub struct Recovery<'a> {
    pub disk: &'a Arc<dyn Disk>,
    pub folder: &'a Path,
    pub print: &'a Fingerprinter,
    pub scope: &'a mut Scope,
    pub content: &'a ContentSeen,
    pub counters: &'a Counters,
    pub delay: Duration,
    pub now: Duration,
    pub wall: Timestamp,
}

/// What the passes learn about the crawl as a whole.
#[derive(Default)]
pub struct Recovered {
    /// URLs that wait, over all shards, and link batches not yet admitted.
    pub pending: usize,
    /// Where the committed part of each archive file ends.
    pub archive_ends: HashMap<String, u64>,
    pub visits: u64,
    pub seeds: u64,
    /// The delays that hosts asked for in their robots.txt.
    own_delays: HashMap<(usize, LaneId), Duration>,
}

impl Recovered {
    /// Also of superseded visits: what they archived stays.
    fn note_extents(&mut self, record: &Record) {
        for extent in record.extents() {
            let end = self.archive_ends.entry(extent.file.clone()).or_default();
            *end = (*end).max(extent.offset + extent.length);
        }
    }
}

impl Recovery<'_> {
    pub fn run(&mut self, shards: &mut [ShardState]) -> Result<Recovered, JournalError> {
        let mut result = Recovered::default();
        let (done, stopped) = self.visits(shards, &mut result)?;
        self.admissions(shards, &done, &mut result)?;
        // Not every request is a visit in the journal: robots.txt is asked
        // for, visits are tried again or abandoned, and after an unclean stop
        // some are lost. So every host waits its delay from the stop on.
        let since_stop = Duration::from_micros(self.wall.0.saturating_sub(stopped.0));
        let until = |delay: Duration| self.now + delay.saturating_sub(since_stop);
        for shard in &mut *shards {
            shard.frontier.hold_all(until(self.delay));
        }
        for ((owner, lane), delay) in result.own_delays.drain() {
            if delay > self.delay.max(since_stop) {
                shards[owner].frontier.hold(lane, until(delay));
            }
        }
        let waiting: usize = shards.iter().map(|s| s.frontier.queued()).sum();
        self.unadmitted(shards)?;
        let batches: usize = shards.iter().map(|s| s.unadmitted.len()).sum();
        result.pending = waiting + batches;
        Ok(result)
    }

    fn shard_of(&self, url: &Url, shards: usize) -> usize {
        self.print.partition(url.site()).shard(shards)
    }

    /// Pass one: count the visits, remember which URLs are done, which hosts
    /// were given up and which asked for a delay. Also says when the crawl
    /// stopped: now, unless every journal says it did.
    fn visits(
        &mut self,
        shards: &mut [ShardState],
        result: &mut Recovered,
    ) -> Result<(HashSet<UrlKey>, Timestamp), JournalError> {
        let mut done = HashSet::new();
        let mut stops: HashMap<u16, Option<Timestamp>> = HashMap::new();
        let count = shards.len();
        each_record(self.disk, self.folder, |position, record| {
            let stopped = match &record {
                Record::Control(c) if c.command == ControlRecord::STOPPED => Some(c.time),
                _ => None,
            };
            stops.insert(position.journal, stopped);
            result.note_extents(&record);
            match record {
                Record::Visit(visit) => {
                    let Ok(url) = Url::from_normal(&visit.url) else {
                        return;
                    };
                    done.insert(self.print.key(&url));
                    result.visits += 1;
                    self.note_visit(&visit);
                }
                Record::HostEvent(event) => {
                    let Ok(url) = Url::parse(&format!("{}/", event.host)) else {
                        return;
                    };
                    let owner = self.shard_of(&url, count);
                    let lane = lane_of(self.print, &url);
                    if event.event == GIVEN_UP {
                        shards[owner].given_up.insert(lane, event.detail);
                    } else {
                        result.own_delays.insert((owner, lane), event.delay);
                    }
                }
                _ => {}
            }
        })?;
        let stopped = stops
            .values()
            .map(|stop| stop.unwrap_or(self.wall))
            .max()
            .unwrap_or_default();
        Ok((done, stopped))
    }

    fn note_visit(&self, visit: &Visit) {
        let duplicate = self.content.enter(visit);
        self.counters.apply(visit, duplicate);
    }

    /// Pass two: everything ever admitted is in the set; what is not done
    /// waits in its queue.
    fn admissions(
        &mut self,
        shards: &mut [ShardState],
        done: &HashSet<UrlKey>,
        result: &mut Recovered,
    ) -> Result<(), JournalError> {
        let count = shards.len();
        let no_via: Arc<str> = Arc::from("");
        each_record(self.disk, self.folder, |_, record| {
            let (entries, depth, redirects, via) = match record {
                Record::Seed(seed) => {
                    result.seeds += 1;
                    if let Ok(url) = Url::from_normal(&seed.url) {
                        self.scope.add_seed(&url);
                    }
                    (vec![seed.url], 0, 0, Arc::clone(&no_via))
                }
                Record::Admitted(Admitted {
                    entries,
                    depth,
                    redirects,
                    via,
                    ..
                }) => {
                    let queued = entries.into_iter().filter(|e| e.fate == Fate::Queued);
                    let urls: Vec<String> = queued.map(|e| e.url).collect();
                    (urls, depth, redirects, Arc::from(via))
                }
                _ => return,
            };
            for url in entries {
                let Ok(url) = Url::from_normal(&url) else {
                    continue;
                };
                let key = self.print.key(&url);
                let shard = &mut shards[self.shard_of(&url, count)];
                shard.set.offer(Ticket(0), &[key]);
                let new = shard.set.answer().is_some_and(|a| a.new == [true]);
                shard.frontier.know(LaneId(key.lane));
                if new && !done.contains(&key) {
                    let item = Queued {
                        key,
                        url,
                        depth,
                        redirects,
                        attempts: 0,
                        via: Arc::clone(&via),
                    };
                    queue(&mut shard.frontier, item);
                }
            }
        })
    }

    /// Pass three: the links that no journal says were admitted or seen.
    fn unadmitted(&mut self, shards: &mut [ShardState]) -> Result<(), JournalError> {
        let count = shards.len();
        each_record(self.disk, self.folder, |position, record| {
            let Record::Visit(visit) = record else {
                return;
            };
            let offered = offered_by(&visit);
            for (owner, mut batch) in batches_of(&visit, offered, position, self.print, count) {
                let shard = &mut shards[owner];
                batch.urls.retain(|url| !shard.set.contains(&url.key));
                if !batch.urls.is_empty() {
                    shard.unadmitted.push(batch);
                }
            }
        })
    }
}
