//! The bench: the lanes at hand. All others wait on disk.

use std::time::Duration;

use rhumb_store::Timestamp;
use rhumb_store::runs::RunsError;

use crate::frontier::Frontier;
use crate::lane::{Lane, LaneId, Place};
use crate::rows::LaneRow;

/// Lanes that come to the bench in one go: each may cost a few reads.
const AT_A_TIME: usize = 32;
/// URLs that a lane at hand holds.
const LEAST_HEAD: usize = 4;
const MOST_HEAD: usize = 64;
/// A clock that was set back must not close a host for longer.
const LONGEST_REST: Duration = Duration::from_secs(24 * 3600);

impl Frontier {
    /// How many URLs each lane on the bench may hold.
    pub(crate) fn head_room(&self) -> usize {
        (self.limits.heads / self.lanes.len().max(1)).clamp(LEAST_HEAD, MOST_HEAD)
    }

    /// Give lanes that wait the places that are free.
    pub(crate) fn fill_bench(&mut self, now: Duration) -> Result<(), RunsError> {
        for _ in 0..AT_A_TIME {
            if self.lanes.len() >= self.bench || self.waiting.is_empty() {
                break;
            }
            if self.waiting.nobody_known() {
                let lanes = &self.lanes;
                self.waiting
                    .sweep(&self.queue, |lane| lanes.contains_key(&lane))?;
            }
            if let Some((lane, from)) = self.waiting.pop() {
                self.enter_bench(lane, from, now)?;
            }
        }
        Ok(())
    }

    /// A connection is free, lanes wait, and no lane at hand may be taken:
    /// more of them should be at hand.
    pub(crate) fn grow_bench(&mut self) {
        if self.lanes.len() >= self.bench && !self.waiting.is_empty() {
            let more = self.bench + self.bench / 4 + 1;
            self.bench = more.min(self.limits.most_bench.max(self.bench));
        }
    }

    /// Bring a lane to the bench with what is remembered of it. It has
    /// nothing before `from`.
    pub(crate) fn enter_bench(
        &mut self,
        id: LaneId,
        from: Place,
        now: Duration,
    ) -> Result<(), RunsError> {
        if self.lanes.contains_key(&id) {
            return Ok(());
        }
        let mut lane = Lane {
            beyond: Some(from),
            ..Lane::default()
        };
        match self.rows.lane(id)? {
            None => {
                self.counts.lanes += 1;
                self.rows.put_lane(id, &LaneRow::default());
            }
            Some(row) => {
                let (began, rested) = self.resumed;
                let rest = row.next_allowed.0.saturating_sub(self.wall_at_zero.0);
                let rest = Duration::from_micros(rest).min(now + LONGEST_REST);
                lane.next_allowed_at = rest.max(began + row.own_delay.saturating_sub(rested));
                lane.own_delay = row.own_delay;
                lane.failures = row.failures;
                lane.given_up = row.given_up;
            }
        }
        self.lanes.insert(id, lane);
        self.schedule(id);
        Ok(())
    }

    /// Take a lane off the bench that nobody is at work on.
    pub(crate) fn leave_bench(&mut self, id: LaneId, now: Duration) {
        let Some(lane) = self.lanes.get(&id) else {
            return;
        };
        let next = lane.head.front().map(|item| item.place).or(lane.beyond);
        if lane.next_allowed_at > now || lane.failures > 0 {
            self.save_row(id);
        }
        self.lanes.remove(&id);
        if let Some(next) = next {
            self.waiting.leave(id, next);
        }
    }

    /// Where others wait, a lane whose head is used up gives its place to
    /// them. Says whether it did.
    pub(crate) fn make_room(&mut self, id: LaneId, now: Duration) -> bool {
        let crowded = self.lanes.len() >= self.bench && !self.waiting.is_empty();
        let used_up = |lane: &Lane| lane.is_idle() && lane.head.is_empty();
        let leaves = crowded && self.lanes.get(&id).is_some_and(used_up);
        if leaves {
            self.leave_bench(id, now);
        }
        leaves
    }

    /// Read the next URLs of a lane whose head is used up.
    pub(crate) fn refill(&mut self, id: LaneId) -> Result<(), RunsError> {
        let room = self.head_room();
        let Some(lane) = self.lanes.get_mut(&id) else {
            return Ok(());
        };
        let Some(from) = lane.beyond.filter(|_| lane.head.is_empty()) else {
            return Ok(());
        };
        let (head, out) = (&mut lane.head, &self.out);
        let mut beyond = None;
        self.queue.read(id, from, &mut |item| {
            if out.contains_key(&item.key) {
                return true;
            }
            if head.len() == room {
                beyond = Some(item.place);
                return false;
            }
            head.push_back(item);
            true
        })?;
        lane.beyond = beyond;
        Ok(())
    }

    /// Write down what must be known of a lane after it leaves the bench, or
    /// after a crash.
    pub(crate) fn save_row(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(&id) else {
            return;
        };
        let next = self.wall_at_zero.0 + lane.next_allowed_at.as_micros() as u64;
        let row = LaneRow {
            next_allowed: Timestamp(next),
            own_delay: lane.own_delay,
            failures: lane.failures,
            given_up: lane.given_up.clone(),
        };
        self.rows.put_lane(id, &row);
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

    /// Nothing of this lane is visited any more.
    pub fn give_up(&mut self, id: LaneId, reason: &str) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.given_up = reason.to_owned();
            self.save_row(id);
        }
    }

    /// A lane is visited again as if nothing of it had failed.
    pub(crate) fn reopen(&mut self, id: LaneId) -> Result<(), RunsError> {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.failures = 0;
            lane.given_up.clear();
            self.save_row(id);
        } else if let Some(mut row) = self.rows.lane(id)? {
            row.failures = 0;
            row.given_up.clear();
            self.rows.put_lane(id, &row);
        }
        Ok(())
    }

    /// Why nothing of a lane at hand is visited any more.
    pub fn given_up(&self, lane: LaneId) -> Option<&str> {
        let reason = &self.lanes.get(&lane)?.given_up;
        (!reason.is_empty()).then_some(reason)
    }

    /// The journal says that a lane is to be left alone until then.
    pub fn restore_rest(&mut self, lane: LaneId, until: Timestamp) -> Result<(), RunsError> {
        let known = self.rows.lane(lane)?;
        self.counts.lanes += u64::from(known.is_none());
        let mut row = known.unwrap_or_default();
        row.next_allowed = row.next_allowed.max(until);
        self.rows.put_lane(lane, &row);
        Ok(())
    }

    /// What an event in the journal says of a lane: that it was given up, or
    /// which delay it asked for.
    pub fn restore_row(
        &mut self,
        lane: LaneId,
        own_delay: Option<Duration>,
        given_up: Option<&str>,
    ) -> Result<(), RunsError> {
        let known = self.rows.lane(lane)?;
        self.counts.lanes += u64::from(known.is_none());
        let mut row = known.unwrap_or_default();
        if let Some(delay) = own_delay {
            // The longest that any scheme or port of the name asks for, as
            // where it is learnt.
            row.own_delay = row.own_delay.max(delay);
        }
        if let Some(reason) = given_up {
            row.given_up = reason.to_owned();
        }
        self.rows.put_lane(lane, &row);
        Ok(())
    }
}
