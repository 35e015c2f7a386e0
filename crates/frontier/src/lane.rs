//! A lane: the URLs that wait for one host name, whatever their scheme and
//! port. HTTP and HTTPS of a name share a lane, and so share their pace.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rhumb_url::{Url, UrlKey};

/// The fingerprint of a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub u64);

/// A URL's place in its lane: lower goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    pub priority: u64,
    /// No two URLs of a lane have the same.
    pub sequence: u64,
}

/// A URL that waits for its visit.
#[derive(Debug, Clone)]
pub struct Queued {
    pub key: UrlKey,
    pub place: Place,
    pub url: Url,
    pub depth: u32,
    /// Redirects in a row that led here.
    pub redirects: u32,
    /// Visits that failed and are to be tried again.
    pub attempts: u32,
    /// The page it was first found on; empty for a seed.
    pub via: Arc<str>,
}

/// A lane on the bench.
#[derive(Default)]
pub(crate) struct Lane {
    /// The first of its URLs, in order.
    pub head: VecDeque<Queued>,
    /// From this place on its URLs are only on disk.
    pub beyond: Option<Place>,
    /// Turns under way.
    pub taken: usize,
    /// No turn begins before this.
    pub next_allowed_at: Duration,
    /// No request goes out before this, where several turns are under way.
    pub next_request_at: Duration,
    /// The host's own wish for a longer delay than the configured one.
    pub own_delay: Duration,
    /// How long it rests because its last answer took long.
    pub slow_rest: Duration,
    /// Its one entry in the timing heap that counts.
    pub scheduled: Option<u64>,
    /// It stands in an address's row and is not to be taken.
    pub waits_for_address: bool,
    /// A seat at an address that was handed to this lane while it waited.
    pub seat: Option<IpAddr>,
    /// Visits that failed in a row.
    pub failures: u32,
    /// Why it is not visited any more; empty while it is.
    pub given_up: String,
}

impl Lane {
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.beyond.is_none()
    }

    /// Nobody is at work on it, or about to be.
    pub fn is_idle(&self) -> bool {
        self.taken == 0 && self.seat.is_none() && !self.waits_for_address
    }

    /// A URL has come that is in the queue on disk: keep it at hand, if it
    /// belongs to the beginning.
    pub fn arrive(&mut self, item: Queued, most: usize) {
        if self.beyond.is_some_and(|beyond| item.place >= beyond) {
            return;
        }
        // What comes later mostly belongs behind.
        match self.head.back().is_none_or(|last| last.place < item.place) {
            true => self.head.push_back(item),
            false => {
                let at = self.head.partition_point(|known| known.place < item.place);
                self.head.insert(at, item);
            }
        }
        if self.head.len() > most
            && let Some(last) = self.head.pop_back()
        {
            self.beyond = Some(last.place);
        }
    }
}
