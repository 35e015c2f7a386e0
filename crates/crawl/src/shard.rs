//! A shard: a whole crawler on one thread, for its share of the sites.
//!
//! One task looks at the inbox, takes links in, and starts turns; each turn
//! is a task of its own on the same thread. They share the shard's state by
//! short borrows that never reach over an `await`.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use rhumb_fetch::{Connection, Fetcher, Resolver};
use rhumb_frontier::{Frontier, LaneId, MemorySet, Queued, Ticket, UrlSet};
use rhumb_robots::Rules;
use rhumb_store::{Admission, Admitted, Control as ControlRecord, Fate, Record, Seed};
use rhumb_url::{KeyedUrl, Keyer, Url, UrlKey};

use crate::catch_up::CatchUp;
use crate::commit::Committer;
use crate::control::Ending;
use crate::door::{Committed, Message};
use crate::exchange::{LinkBatch, Received, batches_of, offered_by};
use crate::recover::{ShardState, queue};
use crate::robots::RobotsCache;
use crate::shared::Shared;
use crate::turn;

/// Link messages taken from one sender before the others get their turn.
const BATCHES_AT_A_TIME: usize = 256;
/// URLs in one piece of a listing.
const LISTING_PIECE: usize = 1000;

/// Links or seeds whose answer from the URL set is awaited.
enum Offered {
    Links(LinkBatch),
    Seeds(Vec<KeyedUrl>, Option<SyncSender<()>>),
}

pub struct Shard {
    pub id: usize,
    pub shared: Arc<Shared>,
    pub fetcher: Fetcher,
    pub resolver: Resolver,
    pub committer: Committer,
    pub frontier: RefCell<Frontier>,
    pub robots: RefCell<RobotsCache>,
    pub given_up: RefCell<HashMap<LaneId, String>>,
    pub in_flight: RefCell<HashMap<UrlKey, Url>>,
    /// Connections kept open for their host's next turn.
    pub parked: RefCell<HashMap<u64, (Connection, Duration)>>,
    turns: Cell<usize>,
    max_turns: usize,
    set: RefCell<MemorySet>,
    offers: RefCell<VecDeque<(Ticket, Offered)>>,
    tickets: Cell<u64>,
    /// Readers of the journals of senders that this shard fell behind.
    catching_up: RefCell<HashMap<usize, CatchUp>>,
    /// The disk failed: what is in flight cannot be committed any more.
    failed: Cell<bool>,
}

impl Shard {
    pub fn new(
        id: usize,
        shared: Arc<Shared>,
        state: ShardState,
        fetcher: Fetcher,
        resolver: Resolver,
        committer: Committer,
    ) -> Shard {
        let config = &shared.config;
        let shards = shared.shards();
        let share = config.connections / shards;
        let extra = usize::from(id < config.connections % shards);
        Shard {
            id,
            fetcher,
            resolver,
            committer,
            robots: RefCell::new(RobotsCache::new(
                config.robots_cache.div_ceil(shards),
                config.robots_ttl,
            )),
            given_up: RefCell::new(state.given_up),
            frontier: RefCell::new(state.frontier),
            set: RefCell::new(state.set),
            in_flight: RefCell::default(),
            parked: RefCell::default(),
            turns: Cell::new(0),
            max_turns: (share + extra).max(1),
            offers: RefCell::default(),
            tickets: Cell::new(0),
            catching_up: RefCell::default(),
            failed: Cell::new(false),
            shared,
        }
    }

    pub fn now(&self) -> Duration {
        self.shared.clock.elapsed()
    }

    /// Crawl until the crawl ends.
    pub async fn run(self: Rc<Self>, unadmitted: Vec<LinkBatch>) {
        for batch in unadmitted {
            self.offer_links(batch);
        }
        let mut ending_since = None;
        loop {
            self.read_inbox();
            let more = self.receive_links();
            self.settle_offers();
            if self.shared.control.is_ending() {
                let since = *ending_since.get_or_insert_with(|| self.now());
                if self.may_leave(since) {
                    break;
                }
            } else if !self.shared.control.holds() {
                self.start_turns();
            }
            self.publish();
            if more {
                tokio::task::yield_now().await;
            } else {
                self.wait(ending_since).await;
            }
        }
        // Not where visits were abandoned: then the next start must not trust
        // the times of the last visits it knows.
        if self.is_all_committed() {
            self.committer.record(Record::Control(ControlRecord {
                time: self.shared.clock.wall(),
                command: ControlRecord::STOPPED.to_owned(),
                ..ControlRecord::default()
            }));
        }
        self.publish();
    }

    fn may_leave(&self, since: Duration) -> bool {
        self.is_all_committed()
            || self.failed.get()
            || self.shared.control.is_abandoned()
            || self.now() >= since + self.shared.config.stop_grace
    }

    /// No visit is under way, and none waits for the disk.
    fn is_all_committed(&self) -> bool {
        self.turns.get() == 0 && self.in_flight.borrow().is_empty()
    }

    async fn wait(&self, ending_since: Option<Duration>) {
        let bell = self.shared.doors[self.id].bell.notified();
        let until = match ending_since {
            Some(since) => Some(since + self.shared.config.stop_grace),
            None if self.can_start() => self.frontier.borrow().next_due(),
            None => None,
        };
        match until {
            None => bell.await,
            Some(until) => {
                let wait = until.saturating_sub(self.now());
                let _ = tokio::time::timeout(wait, bell).await;
            }
        }
    }

    fn can_start(&self) -> bool {
        !self.shared.control.holds()
            && self.turns.get() < self.max_turns
            && self.shared.budget.has_room()
    }

    fn start_turns(self: &Rc<Self>) {
        while self.can_start() {
            let taken = self.frontier.borrow_mut().take(self.now());
            let Some(turn) = taken else {
                break;
            };
            self.turns.set(self.turns.get() + 1);
            self.make_room_for_turns();
            let shard = Rc::clone(self);
            tokio::task::spawn_local(async move {
                turn::run(&shard, turn).await;
                shard.turns.set(shard.turns.get() - 1);
                shard.ring();
            });
        }
    }

    /// Parked connections count as connections: they give way to turns.
    fn make_room_for_turns(&self) {
        let mut parked = self.parked.borrow_mut();
        while self.turns.get() + parked.len() > self.max_turns {
            let Some(host) = parked.keys().next().copied() else {
                return;
            };
            parked.remove(&host);
        }
    }

    /// How many connections may be parked now.
    pub fn room_to_park(&self) -> usize {
        // The turn that parks one is about to end.
        self.max_turns.saturating_sub(self.turns.get() - 1)
    }

    /// The time between visits that a host's rules ask for, within reason.
    pub fn own_delay(&self, rules: &Rules) -> Duration {
        let asked = rules.crawl_delay().unwrap_or_default();
        asked.min(self.shared.config.max_crawl_delay)
    }

    pub fn ring(&self) {
        self.shared.doors[self.id].bell.notify_one();
    }

    fn read_inbox(&self) {
        for message in self.shared.doors[self.id].take_all() {
            match message {
                Message::Committed(visits) => {
                    visits.into_iter().for_each(|visit| self.apply(visit));
                }
                Message::CommitFailed(reason) => {
                    self.failed.set(true);
                    self.shared.control.end(Ending::Failed(reason));
                    self.shared.ring_all();
                }
                Message::Seat {
                    lane,
                    address,
                    earliest,
                } => self.take_seat(lane, address, earliest),
                Message::Seeds { urls, taken } => {
                    let mut keyer = Keyer::new(self.shared.print);
                    let urls = urls.into_iter().map(|url| keyer.keyed(url)).collect();
                    self.offer(Offered::Seeds(urls, taken));
                }
                Message::List { in_flight, reply } => self.list(in_flight, &reply),
            }
        }
    }

    /// A visit is true now: count it, enter its content, send its links.
    fn apply(&self, committed: Committed) {
        let Committed {
            position,
            visit,
            follow,
        } = committed;
        let duplicate = self.shared.content.enter(&visit);
        self.shared.counters.apply(&visit, duplicate);
        let scope = self.shared.config.scope.as_str();
        self.shared.notes.look_at(&visit, scope);
        self.in_flight.borrow_mut().remove(&follow.key);
        let (print, shards) = (&self.shared.print, self.shared.shards());
        for (owner, batch) in batches_of(&visit, follow.offered, position, print, shards) {
            self.shared.pending.add(1);
            self.shared.exchange.send(self.id, owner, batch);
            if owner != self.id {
                self.shared.doors[owner].bell.notify_one();
            }
        }
        self.shared.pending.done(1);
    }

    /// Take in what other shards, and this one, have found. `true` if there
    /// is more.
    fn receive_links(&self) -> bool {
        let mut more = false;
        for from in 0..self.shared.shards() {
            for taken in 0.. {
                if taken == BATCHES_AT_A_TIME {
                    more = true;
                    break;
                }
                match self.shared.exchange.receive(from, self.id) {
                    Received::Batch(batch) => self.offer_links(batch),
                    Received::Behind {
                        from: first,
                        through,
                    } => {
                        self.catch_up(from, first, through);
                    }
                    Received::Nothing => break,
                }
            }
        }
        more
    }

    /// Read a sender's journal over the messages that found no room: one
    /// group at a time, so that the other work goes on in between.
    fn catch_up(&self, from: usize, first: u64, through: u64) {
        let shared = &self.shared;
        let mut catching_up = self.catching_up.borrow_mut();
        let reader = catching_up.entry(from).or_insert_with(|| {
            CatchUp::new(
                Arc::clone(&shared.disk),
                &shared.journal_folder,
                from as u16,
            )
        });
        let read = reader.read(first, through, |position, visit| {
            let offered = offered_by(visit);
            let batches = batches_of(visit, offered, position, &shared.print, shared.shards());
            for (owner, batch) in batches {
                if owner == self.id {
                    self.offer_links(batch);
                }
            }
        });
        match read {
            Ok(reached) => shared.exchange.caught_up(from, self.id, reached),
            Err(error) => {
                shared.control.end(Ending::Failed(error.to_string()));
                shared.ring_all();
            }
        }
    }

    fn offer_links(&self, batch: LinkBatch) {
        self.offer(Offered::Links(batch));
    }

    fn offer(&self, offered: Offered) {
        let urls = match &offered {
            Offered::Links(batch) => &batch.urls,
            Offered::Seeds(urls, _) => urls,
        };
        let keys: Vec<UrlKey> = urls.iter().map(|url| url.key).collect();
        let ticket = Ticket(self.tickets.get());
        self.tickets.set(ticket.0 + 1);
        self.set.borrow_mut().offer(ticket, &keys);
        self.offers.borrow_mut().push_back((ticket, offered));
    }

    /// Queue what the set says is new.
    fn settle_offers(&self) {
        loop {
            let Some(answer) = self.set.borrow_mut().answer() else {
                return;
            };
            let Some((ticket, offered)) = self.offers.borrow_mut().pop_front() else {
                return;
            };
            debug_assert_eq!(ticket, answer.ticket);
            match offered {
                Offered::Links(mut batch) => {
                    keep_new(&mut batch.urls, &answer.new);
                    self.admit_links(batch);
                }
                Offered::Seeds(mut urls, taken) => {
                    keep_new(&mut urls, &answer.new);
                    self.admit_seeds(urls);
                    if let Some(taken) = taken {
                        self.committer.tell_when_written(taken);
                    }
                }
            }
            self.shared.pending.done(1);
        }
    }

    fn admit_links(&self, batch: LinkBatch) {
        if batch.urls.is_empty() {
            return;
        }
        let entries = batch.urls.iter().map(|url| Admission {
            url: url.url.as_str().to_owned(),
            fate: Fate::Queued,
        });
        self.committer.record(Record::Admitted(Admitted {
            source: Some(batch.source),
            via: batch.via.to_string(),
            depth: batch.depth,
            redirects: batch.redirects,
            time: self.shared.clock.wall(),
            entries: entries.collect(),
            ..Admitted::default()
        }));
        self.queue_all(batch.urls, |KeyedUrl { key, url }| Queued {
            key,
            url,
            depth: batch.depth,
            redirects: batch.redirects,
            attempts: 0,
            via: Arc::clone(&batch.via),
        });
    }

    fn admit_seeds(&self, urls: Vec<KeyedUrl>) {
        let time = self.shared.clock.wall();
        for url in &urls {
            self.committer.record(Record::Seed(Seed {
                url: url.url.as_str().to_owned(),
                time,
                ..Seed::default()
            }));
        }
        let via: Arc<str> = Arc::from("");
        self.queue_all(urls, |KeyedUrl { key, url }| Queued {
            key,
            url,
            depth: 0,
            redirects: 0,
            attempts: 0,
            via: Arc::clone(&via),
        });
    }

    fn queue_all(&self, urls: Vec<KeyedUrl>, item: impl Fn(KeyedUrl) -> Queued) {
        self.shared.pending.add(urls.len());
        self.shared
            .counters
            .urls_seen
            .fetch_add(urls.len() as u64, Ordering::Relaxed);
        let mut frontier = self.frontier.borrow_mut();
        for url in urls {
            queue(&mut frontier, item(url));
        }
    }

    /// A seat at an address was handed to one of our lanes.
    fn take_seat(&self, lane: LaneId, address: IpAddr, earliest: Duration) {
        let taken = self.frontier.borrow_mut().wake(lane, address, earliest);
        if !taken {
            self.give_up_seat(address);
        }
    }

    /// Give a seat up; if a lane waits for it, tell the shard it belongs to.
    pub fn give_up_seat(&self, address: IpAddr) {
        let handed_on = self.shared.addresses.put_back(address, self.now());
        if let Some((waiter, earliest)) = handed_on {
            self.shared.doors[waiter.shard].put(Message::Seat {
                lane: waiter.lane,
                address,
                earliest,
            });
        }
    }

    fn list(&self, in_flight: bool, reply: &SyncSender<Vec<String>>) {
        let urls: Vec<String> = if in_flight {
            let urls = self.in_flight.borrow();
            urls.values().map(|url| url.as_str().to_owned()).collect()
        } else {
            let frontier = self.frontier.borrow();
            frontier
                .waiting()
                .map(|q| q.url.as_str().to_owned())
                .collect()
        };
        for piece in urls.chunks(LISTING_PIECE) {
            if reply.try_send(piece.to_vec()).is_err() {
                return;
            }
        }
    }

    /// Show this shard's gauges.
    fn publish(&self) {
        let gauges = &self.shared.counters.gauges[self.id];
        let frontier = self.frontier.borrow();
        let turns = self.turns.get();
        let committing = self.in_flight.borrow().len().saturating_sub(turns);
        gauges
            .queued
            .store(frontier.queued() as u64, Ordering::Relaxed);
        gauges
            .hosts
            .store(frontier.names() as u64, Ordering::Relaxed);
        gauges.in_flight.store(turns as u64, Ordering::Relaxed);
        gauges
            .committing
            .store(committing as u64, Ordering::Relaxed);
        let connections = turns + self.parked.borrow().len();
        gauges
            .connections
            .store(connections as u64, Ordering::Relaxed);
    }
}

fn keep_new(urls: &mut Vec<KeyedUrl>, new: &[bool]) {
    let mut flags = new.iter();
    urls.retain(|_| flags.next().copied().unwrap_or(false));
}
