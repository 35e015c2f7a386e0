//! The bench of lanes and the timing heap: *take* and *put back*.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::lane::{Entry, Lane, LaneId, Queued};
use crate::order::Order;

/// When to look again for a lane that others are visiting.
const BUSY_AGAIN: Duration = Duration::from_millis(50);

/// How a host is to be treated.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Turns that may be under way at one name.
    pub per_host: usize,
    /// From the end of a visit (and from its start) to the next one's start.
    pub delay: Duration,
    /// Visits in one turn, where the delay is zero.
    pub visits_per_turn: usize,
}

/// The right to visit a lane. There is no way to make one but to take it,
/// and the frontier keeps the lane from others until it is put back.
#[derive(Debug)]
pub struct Turn {
    lane: LaneId,
    visits_left: usize,
    /// A seat that was handed over while the lane waited for its address.
    pub seat: Option<IpAddr>,
}

impl Turn {
    pub fn lane(&self) -> LaneId {
        self.lane
    }

    /// Use up one visit; `false` if the turn has none left.
    pub fn spend(&mut self) -> bool {
        let granted = self.visits_left > 0;
        self.visits_left = self.visits_left.saturating_sub(1);
        granted
    }

    /// No visit may follow in this turn.
    pub fn end(&mut self) {
        self.visits_left = 0;
    }

    pub fn is_spent(&self) -> bool {
        self.visits_left == 0
    }
}

pub struct Frontier {
    order: Order,
    pace: Pace,
    lanes: HashMap<LaneId, Lane>,
    heap: BinaryHeap<Reverse<(Duration, u64, LaneId)>>,
    sequence: u64,
    queued: usize,
    /// Every name that ever had a URL here.
    names: HashSet<LaneId>,
    /// No lane is taken before this, whether known now or not.
    floor: Duration,
}

impl Frontier {
    pub fn new(order: Order, pace: Pace) -> Frontier {
        Frontier {
            order,
            pace,
            lanes: HashMap::new(),
            heap: BinaryHeap::new(),
            sequence: 0,
            queued: 0,
            names: HashSet::new(),
            floor: Duration::ZERO,
        }
    }

    /// URLs that wait.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Names that have URLs waiting, a turn under way, or a delay to keep.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Names that ever had a URL here.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// A name whose URLs have all been visited before.
    pub fn know(&mut self, lane: LaneId) {
        self.names.insert(lane);
    }

    /// Put a URL into its lane's queue.
    pub fn admit(&mut self, lane: LaneId, item: Queued) {
        self.sequence += 1;
        let entry = Entry {
            priority: self.order.priority(item.depth, self.sequence),
            sequence: self.sequence,
            item,
        };
        self.names.insert(lane);
        self.lanes.entry(lane).or_default().queue.push(entry);
        self.queued += 1;
        self.schedule(lane);
    }

    /// No turn of this lane begins before `earliest`.
    pub fn hold(&mut self, lane: LaneId, earliest: Duration) {
        let entry = self.lanes.entry(lane).or_default();
        entry.next_allowed_at = entry.next_allowed_at.max(earliest);
        self.schedule(lane);
    }

    /// No turn of any lane begins before `earliest`.
    pub fn hold_all(&mut self, earliest: Duration) {
        self.floor = self.floor.max(earliest);
    }

    /// The host asks for more time between visits than is configured.
    /// Then a turn is one visit more at the most.
    pub fn set_own_delay(&mut self, turn: &mut Turn, delay: Duration) {
        if !delay.is_zero() {
            turn.visits_left = turn.visits_left.min(1);
        }
        if let Some(lane) = self.lanes.get_mut(&turn.lane) {
            lane.own_delay = lane.own_delay.max(delay);
        }
    }

    /// Take the lane whose time has come first, if any has.
    pub fn take(&mut self, now: Duration) -> Option<Turn> {
        if now < self.floor {
            return None;
        }
        while let Some(&Reverse((due, _, id))) = self.heap.peek() {
            if due > now {
                return None;
            }
            self.heap.pop();
            let Some(lane) = self.lanes.get_mut(&id) else {
                continue;
            };
            lane.scheduled = false;
            if lane.next_allowed_at > now || lane.taken >= self.pace.per_host {
                self.schedule(id);
                continue;
            }
            if lane.queue.is_empty() {
                if lane.taken == 0 && lane.seat.is_none() {
                    self.lanes.remove(&id);
                }
                continue;
            }
            lane.taken += 1;
            let delay = self.pace.delay.max(lane.own_delay);
            lane.next_allowed_at = now + delay;
            let turn = Turn {
                lane: id,
                visits_left: if delay.is_zero() {
                    self.pace.visits_per_turn
                } else {
                    1
                },
                seat: lane.seat.take(),
            };
            self.schedule(id);
            return Some(turn);
        }
        None
    }

    /// Take this very lane for one visit, whether it has URLs waiting or not.
    /// The error says when to try again.
    pub fn take_this(&mut self, lane: LaneId, now: Duration) -> Result<Turn, Duration> {
        let entry = self.lanes.entry(lane).or_default();
        let delay = self.pace.delay.max(entry.own_delay);
        if entry.taken >= self.pace.per_host || entry.waits_for_address {
            return Err(now + delay.max(BUSY_AGAIN));
        }
        let earliest = entry.next_allowed_at.max(self.floor);
        if earliest > now {
            return Err(earliest);
        }
        entry.taken += 1;
        entry.next_allowed_at = now + delay;
        Ok(Turn {
            lane,
            visits_left: 1,
            seat: None,
        })
    }

    /// The URL this turn would visit next.
    pub fn peek(&self, turn: &Turn) -> Option<&Queued> {
        Some(&self.lanes.get(&turn.lane)?.queue.peek()?.item)
    }

    /// The URL this turn visits next: it leaves the queue.
    pub fn pop(&mut self, turn: &Turn) -> Option<Queued> {
        let entry = self.lanes.get_mut(&turn.lane)?.queue.pop()?;
        self.queued -= 1;
        Some(entry.item)
    }

    /// When this turn may send a request. Turns are taken a delay apart, but
    /// look-ups and connections take their own time: where several turns of a
    /// lane are under way, their requests are spaced here.
    pub fn request_time(&mut self, turn: &Turn, now: Duration) -> Duration {
        let Some(lane) = self.lanes.get_mut(&turn.lane) else {
            return now;
        };
        let at = lane.next_request_at.max(now);
        lane.next_request_at = at + self.pace.delay.max(lane.own_delay);
        at
    }

    /// End a turn. The lane's next one begins no sooner than its delay after
    /// `now`, nor before `earliest`.
    pub fn put_back(&mut self, turn: Turn, now: Duration, earliest: Duration) {
        let Some(lane) = self.lanes.get_mut(&turn.lane) else {
            return;
        };
        lane.taken = lane.taken.saturating_sub(1);
        let delay = self.pace.delay.max(lane.own_delay);
        lane.next_allowed_at = lane.next_allowed_at.max(now + delay).max(earliest);
        self.schedule(turn.lane);
    }

    /// End a turn in which nothing was asked of the host: the lane waits in
    /// its address's row until `wake`.
    pub fn wait_for_address(&mut self, turn: Turn) {
        if let Some(lane) = self.lanes.get_mut(&turn.lane) {
            lane.taken = lane.taken.saturating_sub(1);
            lane.waits_for_address = true;
        }
    }

    /// A seat at its address was handed to this lane, for use from `earliest`
    /// on. `false` if the lane is gone: the seat must go to another.
    pub fn wake(&mut self, lane: LaneId, seat: IpAddr, earliest: Duration) -> bool {
        match self.lanes.get_mut(&lane) {
            Some(entry) if entry.waits_for_address && !entry.queue.is_empty() => {
                entry.waits_for_address = false;
                entry.seat = Some(seat);
                entry.next_allowed_at = entry.next_allowed_at.max(earliest);
                self.schedule(lane);
                true
            }
            Some(entry) => {
                entry.waits_for_address = false;
                self.schedule(lane);
                false
            }
            None => false,
        }
    }

    /// Count a visit that failed, or forget the failures after a good one.
    /// Returns how many have failed in a row.
    pub fn note_failure(&mut self, lane: LaneId, failed: bool) -> u32 {
        let Some(lane) = self.lanes.get_mut(&lane) else {
            return 0;
        };
        lane.failures = if failed { lane.failures + 1 } else { 0 };
        lane.failures
    }

    /// When the next lane may be taken.
    pub fn next_due(&self) -> Option<Duration> {
        let first = self.heap.peek();
        first.map(|Reverse((due, _, _))| self.floor.max(*due))
    }

    /// The URLs that wait, lane by lane, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = &Queued> {
        let entries = self.lanes.values().flat_map(|lane| lane.queue.iter());
        entries.map(|entry| &entry.item)
    }

    /// Give the lane its one entry in the heap, if it may be taken at all.
    fn schedule(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else {
            return;
        };
        if lane.scheduled || lane.waits_for_address || lane.taken >= self.pace.per_host {
            return;
        }
        lane.scheduled = true;
        self.sequence += 1;
        self.heap
            .push(Reverse((lane.next_allowed_at, self.sequence, id)));
    }
}
