//! The timing heap: *take* and *put back*.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::time::Duration;

use rhumb_store::Timestamp;
use rhumb_store::runs::RunsError;

use crate::frontier::Frontier;
use crate::lane::{Lane, LaneId, Place, Queued};

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
    /// A server that takes long to answer gets so many times as long to rest,
    /// where the delay is not zero.
    pub rest_factor: u32,
    /// But no more than this.
    pub most_rest: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            per_host: 1,
            delay: Duration::from_secs(1),
            visits_per_turn: 1,
            rest_factor: 0,
            most_rest: Duration::ZERO,
        }
    }
}

impl Pace {
    /// How long a server rests that took so long to answer; zero where that
    /// is no more than the delay.
    fn rest_after(&self, answer: Duration) -> Duration {
        let rest = answer.saturating_mul(self.rest_factor).min(self.most_rest);
        match self.delay {
            Duration::ZERO => Duration::ZERO,
            delay if rest <= delay => Duration::ZERO,
            _ => rest,
        }
    }

    pub(crate) fn delay_of(&self, lane: &Lane) -> Duration {
        self.delay.max(lane.own_delay).max(lane.slow_rest)
    }
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

impl Frontier {
    /// Take the lane whose time has come first, if any has.
    pub fn take(&mut self, now: Duration) -> Result<Option<Turn>, RunsError> {
        self.fill_bench(now)?;
        if now < self.floor {
            return Ok(None);
        }
        while let Some(&Reverse((due, sequence, id))) = self.heap.peek() {
            if due > now {
                break;
            }
            self.heap.pop();
            let Some(lane) = self.lanes.get_mut(&id) else {
                continue;
            };
            if lane.scheduled != Some(sequence) {
                continue;
            }
            lane.scheduled = None;
            if lane.next_allowed_at > now || lane.taken >= self.pace.per_host {
                self.schedule(id);
                continue;
            }
            self.refill(id)?;
            let Some(lane) = self.lanes.get_mut(&id) else {
                continue;
            };
            if lane.head.is_empty() {
                if lane.is_idle() {
                    self.leave_bench(id, now);
                }
                continue;
            }
            lane.taken += 1;
            // What a slow answer adds is known when the turn ends.
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
            return Ok(Some(turn));
        }
        self.grow_bench();
        Ok(None)
    }

    /// Take this very lane for one visit, whether it has URLs waiting or not.
    /// The inner error says when to try again.
    pub fn take_this(
        &mut self,
        lane: LaneId,
        now: Duration,
    ) -> Result<Result<Turn, Duration>, RunsError> {
        self.enter_bench(lane, Place::default(), now)?;
        let Some(entry) = self.lanes.get_mut(&lane) else {
            return Ok(Err(now + BUSY_AGAIN));
        };
        let delay = self.pace.delay.max(entry.own_delay);
        if entry.taken >= self.pace.per_host || entry.waits_for_address {
            return Ok(Err(now + delay.max(BUSY_AGAIN)));
        }
        let earliest = entry.next_allowed_at.max(self.floor);
        if earliest > now {
            return Ok(Err(earliest));
        }
        entry.taken += 1;
        entry.next_allowed_at = now + delay;
        Ok(Ok(Turn {
            lane,
            visits_left: 1,
            seat: None,
        }))
    }

    /// Whether this turn's lane has another URL at hand.
    pub fn has_more(&self, turn: &Turn) -> bool {
        self.lanes.get(&turn.lane).is_some_and(|l| !l.is_empty())
    }

    /// The URL this turn visits next: it leaves the queue's head, and is in
    /// flight until `finish` or `give_back`.
    pub fn pop(&mut self, turn: &Turn) -> Result<Option<Queued>, RunsError> {
        self.refill(turn.lane)?;
        let lane = self.lanes.get_mut(&turn.lane);
        let Some(item) = lane.and_then(|lane| lane.head.pop_front()) else {
            return Ok(None);
        };
        self.out.insert(item.key, (item.url.clone(), item.place));
        Ok(Some(item))
    }

    /// Whether this turn may send a request now; if not, when to ask again.
    /// Turns are taken a delay apart, but look-ups and connections take their
    /// own time: where several turns of a lane are under way, their requests
    /// are spaced here. The next delay counts from what was sent, not from
    /// what was planned: whoever waits may wake up late.
    pub fn may_send(&mut self, turn: &Turn, now: Duration) -> Result<(), Duration> {
        let Some(lane) = self.lanes.get_mut(&turn.lane) else {
            return Ok(());
        };
        if lane.next_request_at > now {
            return Err(lane.next_request_at);
        }
        lane.next_request_at = now + self.pace.delay_of(lane);
        Ok(())
    }

    /// End a turn. The lane's next one begins no sooner than its delay after
    /// `now`, nor before `earliest`.
    pub fn put_back(&mut self, turn: Turn, now: Duration, earliest: Duration) {
        let Some(lane) = self.lanes.get_mut(&turn.lane) else {
            return;
        };
        lane.taken = lane.taken.saturating_sub(1);
        let usual = now + self.pace.delay.max(lane.own_delay);
        let next = (now + self.pace.delay_of(lane)).max(earliest);
        lane.next_allowed_at = lane.next_allowed_at.max(next);
        if next > usual {
            self.save_row(turn.lane);
        }
        if !self.make_room(turn.lane, now) {
            self.schedule(turn.lane);
        }
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
    /// on. `false` if the lane has no use for it: the seat must go to another.
    pub fn wake(&mut self, lane: LaneId, seat: IpAddr, earliest: Duration) -> bool {
        let Some(entry) = self.lanes.get_mut(&lane) else {
            return false;
        };
        // Several turns of a lane may have waited: it needs one seat.
        let needs_one = !entry.is_empty() && entry.seat.is_none();
        let wanted = entry.waits_for_address && needs_one;
        entry.waits_for_address = false;
        if wanted {
            entry.seat = Some(seat);
            entry.next_allowed_at = entry.next_allowed_at.max(earliest);
        }
        self.schedule(lane);
        wanted
    }

    /// The host asks for more time between visits than is configured.
    /// Then a turn is one visit more at the most.
    pub fn set_own_delay(&mut self, turn: &mut Turn, delay: Duration) {
        if !delay.is_zero() {
            turn.visits_left = turn.visits_left.min(1);
        }
        if let Some(lane) = self.lanes.get_mut(&turn.lane)
            && lane.own_delay < delay
        {
            lane.own_delay = delay;
            self.save_row(turn.lane);
        }
    }

    /// How long the server took to answer.
    pub fn note_answer(&mut self, turn: &Turn, took: Duration) {
        let rest = self.pace.rest_after(took);
        if let Some(lane) = self.lanes.get_mut(&turn.lane) {
            lane.slow_rest = rest;
        }
    }

    /// The journal says that a server took so long to answer, at this time.
    pub fn restore_answer(
        &mut self,
        lane: LaneId,
        end: Timestamp,
        took: Duration,
    ) -> Result<(), RunsError> {
        let rest = self.pace.rest_after(took);
        match rest.is_zero() {
            true => Ok(()),
            false => self.restore_rest(lane, Timestamp(end.0 + rest.as_micros() as u64)),
        }
    }

    /// When the next lane may be taken.
    pub fn next_due(&self) -> Option<Duration> {
        let first = self.heap.peek();
        first.map(|Reverse((due, _, _))| self.floor.max(*due))
    }

    /// Give the lane its one entry in the heap, if it may be taken at all.
    pub(crate) fn schedule(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else {
            return;
        };
        let held = lane.waits_for_address || lane.taken >= self.pace.per_host;
        if lane.scheduled.is_some() || held {
            return;
        }
        self.entries_in_heap += 1;
        lane.scheduled = Some(self.entries_in_heap);
        self.heap
            .push(Reverse((lane.next_allowed_at, self.entries_in_heap, id)));
    }
}
