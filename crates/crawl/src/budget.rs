//! The limits on pages and bytes, over all shards.
//!
//! That on pages is exact: a visit reserves its page before it asks, and gives
//! it back if no page comes. How many bytes come nobody knows beforehand: once
//! the limit is reached no request begins, and what is under way comes on top.

use std::sync::atomic::{AtomicU64, Ordering};

pub struct PageBudget {
    max: Option<u64>,
    reserved: AtomicU64,
}

impl PageBudget {
    /// `fetched` pages were brought home in earlier runs.
    pub fn new(max: Option<u64>, fetched: u64) -> PageBudget {
        PageBudget {
            max,
            reserved: AtomicU64::new(fetched),
        }
    }

    pub fn has_room(&self) -> bool {
        self.max
            .is_none_or(|max| self.reserved.load(Ordering::SeqCst) < max)
    }

    pub fn reserve(&self) -> bool {
        let Some(max) = self.max else {
            return true;
        };
        self.reserved
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| {
                (n < max).then_some(n + 1)
            })
            .is_ok()
    }

    /// The visit brought no page.
    pub fn release(&self) {
        if self.max.is_some() {
            self.reserved.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// All pages that were allowed are home.
    pub fn is_spent(&self, fetched: u64) -> bool {
        self.max.is_some_and(|max| fetched >= max)
    }
}

pub struct ByteBudget {
    max: Option<u64>,
    received: AtomicU64,
}

impl ByteBudget {
    /// So many bytes were received in earlier runs.
    pub fn new(max: Option<u64>, received: u64) -> ByteBudget {
        ByteBudget {
            max,
            received: AtomicU64::new(received),
        }
    }

    pub fn add(&self, received: u64) {
        self.received.fetch_add(received, Ordering::Relaxed);
    }

    pub fn is_spent(&self) -> bool {
        let received = self.received.load(Ordering::Relaxed);
        self.max.is_some_and(|max| received >= max)
    }
}
