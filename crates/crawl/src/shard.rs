//! A shard: a whole crawler on one thread, for its share of the sites.
//!
//! One task looks at the inbox, takes links in, and starts turns; each turn
//! is a task of its own on the same thread. They share the shard's state by
//! short borrows that never reach over an `await`.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rhumb_fetch::{Connection, Fetcher, Resolver};
use rhumb_frontier::{Frontier, LaneId};
use rhumb_store::runs::RunsError;
use rhumb_store::{Control as ControlRecord, Position, Record};

use crate::admission::Admissions;
use crate::again::QueuedAgain;
use crate::catch_up::CatchUp;
use crate::commit::Committer;
use crate::control::Ending;
use crate::door::{Committed, Message};
use crate::exchange::batches_of;
use crate::freezing::Freezing;
use crate::host_status::host_status;
use crate::manifest::Mark;
use crate::recover::{ShardState, Tail};
use crate::robots::{self, RobotsCache};
use crate::settled::Settled;
use crate::shared::Shared;
use crate::turn;

/// How often a shard that leaves looks whether its state is written.
const LEAVING: Duration = Duration::from_millis(1);

pub struct Shard {
    pub id: usize,
    pub shared: Arc<Shared>,
    pub fetcher: Fetcher,
    pub resolver: Resolver,
    pub committer: Committer,
    pub frontier: RefCell<Frontier>,
    pub robots: RefCell<RobotsCache>,
    /// Connections kept open for their host's next turn.
    pub parked: RefCell<HashMap<u64, (Connection, Duration)>>,
    pub admissions: Admissions,
    pub queued_again: QueuedAgain,
    /// Hosts whose robots.txt is being asked for.
    pub robots_awaited: RefCell<HashSet<u64>>,
    pub freezing: Freezing,
    pub turns: Cell<usize>,
    max_turns: usize,
    /// Readers of the journals of senders that this shard fell behind.
    pub catching_up: RefCell<HashMap<usize, CatchUp>>,
    /// Journals of earlier runs whose links are not all taken in.
    pub tails: RefCell<VecDeque<(Tail, CatchUp)>>,
    /// What all handed to the commit thread before it left came to.
    marked: Cell<Option<Position>>,
    /// Bytes received that no record tells of yet: of attempts that are
    /// repeated, and what stood beside documents.
    unrecorded: Cell<u64>,
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
        let mut settled = Settled::new(&state.settled);
        for tail in &state.tails {
            // Holds the journal's mark back until the tail has been read.
            let before = Mark {
                epoch: 0,
                sequence: tail.from,
            };
            settled.open(tail.journal, before, 1);
        }
        let tails = state.tails.into_iter().map(|tail| {
            let disk = Arc::clone(&shared.disk);
            let reader = CatchUp::new(disk, &shared.journal_folder, tail.journal);
            (tail, reader)
        });
        Shard {
            id,
            fetcher,
            resolver,
            committer,
            robots: RefCell::new(RobotsCache::new(
                config.robots_cache.div_ceil(shards),
                robots::lifetime(config),
            )),
            frontier: RefCell::new(state.frontier),
            admissions: Admissions::new(state.seen, settled),
            queued_again: QueuedAgain::default(),
            robots_awaited: RefCell::default(),
            freezing: Freezing::new(shared.clock.elapsed() + config.checkpoint_interval),
            parked: RefCell::default(),
            turns: Cell::new(0),
            max_turns: (share + extra).max(1),
            catching_up: RefCell::default(),
            tails: RefCell::new(tails.collect()),
            marked: Cell::new(None),
            unrecorded: Cell::new(0),
            failed: Cell::new(false),
            shared,
        }
    }

    pub fn now(&self) -> Duration {
        self.shared.clock.elapsed()
    }

    /// Crawl until the crawl ends.
    pub async fn run(self: Rc<Self>) {
        let mut ending_since = None;
        loop {
            self.read_inbox();
            if let Err(error) = self.tend() {
                self.fail(&error.to_string());
            }
            let more_seeds = self.take_in_seeds();
            let more = self.take_in_links() || more_seeds;
            self.tend_checkpoint();
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
        if self.is_all_committed() && !self.failed.get() {
            self.leave().await;
        }
        self.publish_last();
    }

    /// The last record, and the last checkpoint.
    async fn leave(&self) {
        let time = self.shared.clock.wall();
        self.committer.record(Record::Control(ControlRecord {
            time,
            command: ControlRecord::STOPPED.to_owned(),
            ..ControlRecord::default()
        }));
        self.marked.set(None);
        self.committer.mark();
        let position = loop {
            self.read_inbox();
            match self.marked.get() {
                _ if self.failed.get() => return,
                Some(position) => break position,
                None => tokio::time::sleep(LEAVING).await,
            }
        };
        let Some(frozen) = self.freeze(position, Some(time)) else {
            return;
        };
        while !frozen.is_written() {
            if let Err(error) = self.tend_tables() {
                return self.fail(&error.to_string());
            }
            tokio::time::sleep(LEAVING).await;
        }
        self.shared.left_behind(self.id, frozen);
    }

    /// The state cannot be read or written: end the crawl, and say why.
    pub fn fail(&self, reason: &str) {
        self.failed.set(true);
        let ending = Ending::Failed(reason.to_owned());
        self.shared.control.end(ending);
        self.shared.ring_all();
    }

    /// Take in what background work has done.
    fn tend(&self) -> Result<(), RunsError> {
        if self.freezing.is_marking() {
            return Ok(());
        }
        self.settle()?;
        let idle = self.turns.get() == 0 && self.frontier.borrow().queued() == 0;
        let mut seen = self.admissions.seen.borrow_mut();
        if idle && seen.pending() > 0 {
            seen.hurry();
        }
        drop(seen);
        self.frontier.borrow_mut().tend()
    }

    fn tend_tables(&self) -> Result<(), RunsError> {
        self.settle()?;
        self.frontier.borrow_mut().tend()
    }

    /// The state cannot take more for now.
    pub fn is_congested(&self) -> bool {
        self.admissions.seen.borrow().is_congested() || self.frontier.borrow().is_congested()
    }

    fn may_leave(&self, since: Duration) -> bool {
        self.is_all_committed()
            || self.failed.get()
            || self.shared.control.is_abandoned()
            || self.now() >= since + self.shared.config.stop_grace
    }

    /// No visit is under way, none waits for the disk, and no seed waits to be
    /// written down.
    fn is_all_committed(&self) -> bool {
        self.turns.get() == 0
            && self.frontier.borrow().in_flight().len() == 0
            && self.has_all_seeds()
    }

    async fn wait(&self, ending_since: Option<Duration>) {
        let bell = self.shared.doors[self.id].bell.notified();
        let due = match ending_since {
            Some(since) => Some(since + self.shared.config.stop_grace),
            None if self.can_start() => self.frontier.borrow().next_due(),
            None => None,
        };
        let asked = self.admissions.seen.borrow().due();
        let checkpoint = Some(self.freezing.next_at()).filter(|at| *at > self.now());
        let until = [due, asked, checkpoint].into_iter().flatten().min();
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
            && !self.shared.byte_budget.is_spent()
            && !self.is_congested()
    }

    fn start_turns(self: &Rc<Self>) {
        while self.can_start() {
            let taken = self.frontier.borrow_mut().take(self.now());
            let turn = match taken {
                Ok(Some(turn)) => turn,
                Ok(None) => break,
                Err(error) => return self.fail(&error.to_string()),
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

    /// The next visit's record tells of these bytes.
    pub fn leave_to_next_record(&self, bytes: u64) {
        self.unrecorded.set(self.unrecorded.get() + bytes);
    }

    pub fn take_unrecorded(&self) -> u64 {
        self.unrecorded.take()
    }

    /// Why nothing of a lane is visited any more.
    pub fn given_up(&self, lane: LaneId) -> Option<String> {
        let frontier = self.frontier.borrow();
        frontier.given_up(lane).map(str::to_owned)
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
                Message::Marked(position) => {
                    self.marked.set(Some(position));
                    if self.freezing.is_marking() {
                        self.freeze_at(position);
                        // What had to wait for this comes next.
                        self.ring();
                    }
                }
                Message::CommitFailed(reason) => self.fail(&reason),
                Message::Seat {
                    lane,
                    address,
                    earliest,
                } => self.take_seat(lane, address, earliest),
                Message::List { wanted, reply } => {
                    // Whoever asked may have gone.
                    let _ = reply.try_send(self.list(wanted));
                }
                Message::Host { url, reply } => {
                    let (frontier, print) = (self.frontier.borrow(), &self.shared.print);
                    match host_status(&frontier, print, &url, self.now()) {
                        Ok(status) => drop(reply.try_send(status)),
                        Err(error) => self.fail(&error.to_string()),
                    }
                }
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
        self.shared.counters.tallies[self.id].apply(&visit);
        let scope = self.shared.config.scope.as_str();
        self.shared.notes.look_at(&visit, scope);
        self.frontier.borrow_mut().finish(&follow.key);
        self.queued_again.visited(&follow.key);
        self.freezing.note(&visit);
        let (print, shards) = (&self.shared.print, self.shared.shards());
        for (owner, batch) in batches_of(&visit, follow.offered, position, print, shards) {
            self.shared.pending.add(1);
            self.shared.exchange.send(self.id, owner, batch);
            if owner != self.id {
                self.shared.doors[owner].bell.notify_one();
            }
        }
        self.shared.applied[self.id].store(position.sequence, Ordering::Release);
        self.shared.pending.done(1);
    }

    /// A seat at an address was handed to one of our lanes.
    pub fn take_seat(&self, lane: LaneId, address: IpAddr, earliest: Duration) {
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
}
