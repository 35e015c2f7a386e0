//! A lane: the URLs that wait for one host name, whatever their scheme and
//! port. HTTP and HTTPS of a name share a lane, and so share their pace.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rhumb_url::{Url, UrlKey};

/// The fingerprint of a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub u64);

/// A URL that waits for its visit.
#[derive(Debug, Clone)]
pub struct Queued {
    pub key: UrlKey,
    pub url: Url,
    pub depth: u32,
    /// Redirects in a row that led here.
    pub redirects: u32,
    /// Visits that failed and are to be tried again.
    pub attempts: u32,
    /// The page it was first found on; empty for a seed.
    pub via: Arc<str>,
}

pub(crate) struct Entry {
    pub priority: u64,
    pub sequence: u64,
    pub item: Queued,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reversed: the heap's greatest is the one to go first.
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.priority, other.sequence).cmp(&(self.priority, self.sequence))
    }
}

#[derive(Default)]
pub(crate) struct Lane {
    pub queue: BinaryHeap<Entry>,
    /// Turns under way.
    pub taken: usize,
    /// No turn begins before this.
    pub next_allowed_at: Duration,
    /// No request goes out before this, where several turns are under way.
    pub next_request_at: Duration,
    /// The host's own wish for a longer delay than the configured one.
    pub own_delay: Duration,
    /// It has its one entry in the timing heap.
    pub scheduled: bool,
    /// It stands in an address's row and is not to be taken.
    pub waits_for_address: bool,
    /// A seat at an address that was handed to this lane while it waited.
    pub seat: Option<IpAddr>,
    /// Visits that failed in a row.
    pub failures: u32,
}
