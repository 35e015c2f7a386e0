//! All that waits, and who is at hand.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use rhumb_store::Timestamp;
use rhumb_store::runs::{RunsError, Snapshot, Table};
use rhumb_url::{Url, UrlKey};

use crate::hasher::ByFingerprint;
use crate::lane::{Lane, LaneId, Place, Queued};
use crate::order::Order;
use crate::queue::UrlQueue;
use crate::rows::HostRows;
use crate::timing::Pace;
use crate::waiting::WaitingLanes;

/// How much of the frontier is in memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Lanes on the bench to begin with; it grows while connections idle
    /// although lanes wait.
    pub bench: usize,
    pub most_bench: usize,
    /// URLs that all lanes on the bench may hold together.
    pub heads: usize,
    /// Lanes whose order is kept while they wait.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bench: 384,
            most_bench: 16_384,
            heads: 1 << 17,
            waiting: 4 << 20,
        }
    }
}

/// The numbers of a frontier that its tables do not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrontierCounts {
    /// URLs in the queue, those in flight included.
    pub entries: u64,
    /// Lanes that were ever on the bench.
    pub lanes: u64,
    /// The last sequence given to a URL.
    pub sequence: u64,
}

pub struct Frontier {
    pub(crate) order: Order,
    pub(crate) pace: Pace,
    pub(crate) limits: Limits,
    pub(crate) queue: UrlQueue,
    pub rows: HostRows,
    pub(crate) lanes: HashMap<LaneId, Lane, ByFingerprint>,
    pub(crate) heap: BinaryHeap<Reverse<(Duration, u64, LaneId)>>,
    pub(crate) entries_in_heap: u64,
    pub(crate) waiting: WaitingLanes,
    /// Lanes there is room for now.
    pub(crate) bench: usize,
    /// URLs taken out and not finished.
    pub(crate) out: HashMap<UrlKey, (Url, Place), ByFingerprint>,
    pub(crate) counts: FrontierCounts,
    /// No lane is taken before this, whether known now or not.
    pub(crate) floor: Duration,
    /// When this run began, and how long the crawl had rested before.
    pub(crate) resumed: (Duration, Duration),
    /// The wall clock when the other one showed zero.
    pub(crate) wall_at_zero: Timestamp,
}

impl Frontier {
    /// Over these tables: the queue, and the rows of hosts.
    pub fn new(
        order: Order,
        pace: Pace,
        limits: Limits,
        queue: Box<dyn Table>,
        rows: Box<dyn Table>,
        wall_at_zero: Timestamp,
    ) -> Frontier {
        Frontier {
            order,
            pace,
            limits,
            queue: UrlQueue::new(queue),
            rows: HostRows::new(rows),
            lanes: HashMap::default(),
            heap: BinaryHeap::new(),
            entries_in_heap: 0,
            waiting: WaitingLanes::new(limits.waiting),
            bench: limits.bench.max(1),
            out: HashMap::default(),
            counts: FrontierCounts::default(),
            floor: Duration::ZERO,
            resumed: (Duration::ZERO, Duration::ZERO),
            wall_at_zero,
        }
    }

    pub fn order(&self) -> Order {
        self.order
    }

    /// URLs that wait.
    pub fn queued(&self) -> u64 {
        self.counts.entries.saturating_sub(self.out.len() as u64)
    }

    pub fn counts(&self) -> FrontierCounts {
        self.counts
    }

    /// The numbers that belong to the tables it was opened with.
    pub fn set_counts(&mut self, counts: FrontierCounts) {
        self.counts = counts;
    }

    /// Count the queue, where its tables were put together from others.
    pub fn count_entries(&mut self) -> Result<(), RunsError> {
        let mut entries = 0;
        self.queue.read_all(&mut |_| {
            entries += 1;
            true
        })?;
        self.counts.entries = entries;
        Ok(())
    }

    /// Lanes at hand.
    pub fn on_bench(&self) -> usize {
        self.lanes.len()
    }

    /// Lanes that were ever at hand, and those that wait to be.
    pub fn lanes(&self) -> u64 {
        self.counts.lanes
    }

    /// URLs taken out and not finished.
    pub fn in_flight(&self) -> impl ExactSizeIterator<Item = &Url> {
        self.out.values().map(|(url, _)| url)
    }

    pub fn is_in_flight(&self, key: &UrlKey) -> bool {
        self.out.contains_key(key)
    }

    /// So many sequence numbers, in a row, for URLs about to be admitted:
    /// the first.
    pub fn reserve(&mut self, count: usize) -> u64 {
        let first = self.counts.sequence + 1;
        self.counts.sequence += count as u64;
        first
    }

    /// Put a URL into its lane's queue, at the place it has.
    pub fn admit(&mut self, item: Queued) {
        self.counts.sequence = self.counts.sequence.max(item.place.sequence);
        self.counts.entries += 1;
        self.queue.put(&item);
        self.arrive(item);
    }

    /// A URL whose visit failed is to be visited again, and so is its host,
    /// whatever had been given up of it: live, and when it is read back from
    /// the journal.
    pub fn admit_again(&mut self, item: Queued, origin: u64) -> Result<(), RunsError> {
        let lane = LaneId(item.key.lane);
        self.reopen(lane)?;
        self.rows.forget_tries(lane, origin)?;
        self.admit(item);
        Ok(())
    }

    /// A URL in flight was not visited after all.
    pub fn give_back(&mut self, item: Queued) {
        self.out.remove(&item.key);
        self.arrive(item);
    }

    fn arrive(&mut self, item: Queued) {
        let (id, most) = (LaneId(item.key.lane), self.head_room());
        match self.lanes.get_mut(&id) {
            None => self.waiting.add(id, item.place),
            Some(lane) => {
                lane.arrive(item, most);
                self.schedule(id);
            }
        }
    }

    /// The visit of a URL in flight is committed.
    pub fn finish(&mut self, key: &UrlKey) {
        if let Some((_, place)) = self.out.remove(key) {
            self.forget(LaneId(key.lane), place);
        }
    }

    /// A URL is no longer to be visited: live, and when its visit is read
    /// back from the journal.
    pub fn forget(&mut self, lane: LaneId, place: Place) {
        self.queue.remove(lane, place);
        self.counts.entries = self.counts.entries.saturating_sub(1);
    }

    /// Begin a run after the crawl has rested so long: no lane is taken
    /// before its delay, from its last visit on, is over for certain.
    pub fn resume(&mut self, now: Duration, rested: Duration) {
        self.resumed = (now, rested);
        self.floor = now + self.pace.delay.saturating_sub(rested);
    }

    /// The URLs that wait, lane by lane.
    pub fn waiting(&self, with: &mut dyn FnMut(Queued) -> bool) -> Result<(), RunsError> {
        self.queue.read_all(&mut |item| self.if_waiting(item, with))
    }

    /// Those of them that stand behind this place of this lane. A URL keeps
    /// its place while it waits: whoever reads on from the last one he was
    /// given misses none that waits all the time, and sees none twice.
    pub fn waiting_behind(
        &self,
        lane: LaneId,
        place: Place,
        with: &mut dyn FnMut(Queued) -> bool,
    ) -> Result<(), RunsError> {
        let with = &mut |item| self.if_waiting(item, with);
        self.queue.read_behind(lane, place, with)
    }

    fn if_waiting(&self, item: Queued, with: &mut dyn FnMut(Queued) -> bool) -> bool {
        let waits = !self.out.contains_key(&item.key);
        !waits || with(item)
    }

    /// Take in what background work has done.
    pub fn tend(&mut self) -> Result<(), RunsError> {
        self.queue.tend()?;
        self.rows.tend()
    }

    /// No more URLs should be admitted for now.
    pub fn is_congested(&self) -> bool {
        self.queue.is_congested() || self.rows.is_congested()
    }

    /// Queue and rows as of this moment.
    pub fn snapshot(&mut self) -> Option<(Snapshot, Snapshot)> {
        Some((self.queue.snapshot()?, self.rows.snapshot()?))
    }
}
