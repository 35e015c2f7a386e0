//! What a shard shows of itself: its gauges, and the URLs that wait.

use std::sync::atomic::Ordering;

use rhumb_frontier::{LaneId, Queued};

use crate::door::{Piece, Wanted};
use crate::shard::Shard;

/// URLs in one piece of a list: visits wait while it is made.
const LISTING_PIECE: usize = 1000;

impl Shard {
    /// A piece of a list. Nothing is kept for the next one: whoever asks may
    /// take any time to do so, or never do.
    pub fn list(&self, wanted: Wanted) -> Piece {
        let frontier = self.frontier.borrow();
        let mut urls = Vec::new();
        let mut last = None;
        let mut take = |item: Queued| {
            last = Some((LaneId(item.key.lane), item.place));
            urls.push(item.url.to_string());
            urls.len() < LISTING_PIECE
        };
        let read = match wanted {
            // No more than there are connections.
            Wanted::InFlight => {
                let urls = frontier.in_flight().map(ToString::to_string).collect();
                return Piece { urls, next: None };
            }
            Wanted::Waiting(None) => frontier.waiting(&mut take),
            Wanted::Waiting(Some((lane, place))) => frontier.waiting_behind(lane, place, &mut take),
        };
        if let Err(error) = read {
            self.fail(&error.to_string());
        }
        let is_full = urls.len() >= LISTING_PIECE;
        Piece {
            urls,
            next: last.filter(|_| is_full).map(|at| Wanted::Waiting(Some(at))),
        }
    }

    /// Nothing is under way any more: what was abandoned is still to be done.
    pub fn publish_last(&self) {
        let gauges = &self.shared.counters.gauges[self.id];
        let left = self.frontier.borrow().counts().entries;
        gauges.queued.store(left, Ordering::Relaxed);
        for none in [&gauges.in_flight, &gauges.committing, &gauges.connections] {
            none.store(0, Ordering::Relaxed);
        }
    }

    /// Show this shard's gauges.
    pub fn publish(&self) {
        let gauges = &self.shared.counters.gauges[self.id];
        let frontier = self.frontier.borrow();
        let turns = self.turns.get();
        let committing = frontier.in_flight().len().saturating_sub(turns);
        gauges.queued.store(frontier.queued(), Ordering::Relaxed);
        gauges.hosts.store(frontier.lanes(), Ordering::Relaxed);
        gauges.in_flight.store(turns as u64, Ordering::Relaxed);
        gauges
            .committing
            .store(committing as u64, Ordering::Relaxed);
        let untaken = self.tails.borrow().len() + self.admissions.waiting();
        gauges.untaken.store(untaken as u64, Ordering::Release);
        let connections = turns + self.parked.borrow().len();
        gauges
            .connections
            .store(connections as u64, Ordering::Relaxed);
    }
}
