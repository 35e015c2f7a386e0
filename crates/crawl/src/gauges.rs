//! What a shard shows of itself: its gauges, and the URLs that wait.

use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use crate::shard::Shard;

/// URLs in one piece of a listing.
const LISTING_PIECE: usize = 1000;

impl Shard {
    pub fn list(&self, in_flight: bool, reply: &SyncSender<Vec<String>>) {
        let frontier = self.frontier.borrow();
        let mut piece = Vec::new();
        let mut hand_on = |url: &str| {
            piece.push(url.to_owned());
            piece.len() < LISTING_PIECE || reply.try_send(std::mem::take(&mut piece)).is_ok()
        };
        if in_flight {
            frontier.in_flight().all(|url| hand_on(url.as_str()));
        } else if let Err(error) = frontier.waiting(&mut |item| hand_on(item.url.as_str())) {
            self.fail(&error.to_string());
        }
        let _ = reply.try_send(piece);
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
