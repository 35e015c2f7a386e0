//! The limit on pages, exact over all shards: a visit reserves its page
//! before it asks, and gives it back if no page comes.

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
