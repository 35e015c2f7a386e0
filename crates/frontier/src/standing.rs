//! How a lane stands, for whoever asks.

use std::time::Duration;

use rhumb_store::runs::RunsError;

use crate::frontier::Frontier;
use crate::lane::{LaneId, Place};

/// URLs of one lane that are counted; it may have millions.
const MOST_COUNTED: usize = 100_000;

/// What decides when a host name is visited next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// It is among the hosts at hand.
    pub at_hand: bool,
    /// Turns under way.
    pub under_way: usize,
    /// It waits for a seat at its address.
    pub waits_for_address: bool,
    /// URLs that wait, as far as they are counted.
    pub queued: usize,
    pub more_queued: bool,
    /// No visit begins before this much time has passed.
    pub rests: Duration,
    /// From one visit to the next, as of now.
    pub delay: Duration,
    /// What the host's robots.txt asks for.
    pub own_delay: Duration,
    /// What its last answer, being slow, asks for.
    pub slow_rest: Duration,
    /// Visits that failed in a row.
    pub failures: u32,
    /// Why it is not visited any more; empty while it is.
    pub given_up: String,
}

impl Frontier {
    /// How a lane stands; `None` if nothing was ever found of it.
    pub fn standing(&self, id: LaneId, now: Duration) -> Result<Option<Standing>, RunsError> {
        let mut standing = Standing::default();
        let row = self.rows.lane(id)?;
        if let Some(lane) = self.lanes.get(&id) {
            standing = Standing {
                at_hand: true,
                under_way: lane.taken,
                waits_for_address: lane.waits_for_address,
                rests: lane.next_allowed_at.saturating_sub(now),
                delay: self.pace.delay_of(lane),
                own_delay: lane.own_delay,
                slow_rest: lane.slow_rest,
                failures: lane.failures,
                given_up: lane.given_up.clone(),
                ..standing
            };
        } else if let Some(row) = &row {
            let at = Duration::from_micros(row.next_allowed.0.saturating_sub(self.wall_at_zero.0));
            standing = Standing {
                rests: at.saturating_sub(now),
                delay: self.pace.delay.max(row.own_delay),
                own_delay: row.own_delay,
                failures: row.failures,
                given_up: row.given_up.clone(),
                ..standing
            };
        }
        self.queue.read(id, Place::default(), &mut |item| {
            standing.more_queued = standing.queued == MOST_COUNTED;
            standing.queued += usize::from(!standing.more_queued && !self.is_in_flight(&item.key));
            !standing.more_queued
        })?;
        let known = standing.at_hand || row.is_some() || standing.queued > 0;
        standing.rests = standing.rests.max(self.floor.saturating_sub(now));
        Ok(known.then_some(standing))
    }
}
