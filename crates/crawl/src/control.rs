//! Whether the crawl runs, rests or ends, and why.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Serialize, Serializer};

/// Why a run of the crawl came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is queued or in flight anywhere.
    Finished,
    PageLimit,
    ByteLimit,
    TimeLimit,
    /// Ctrl-C, a termination signal or a closed terminal.
    Interrupted,
    /// `rhumb stop`.
    Stopped,
    Failed(String),
}

impl Ending {
    pub fn label(&self) -> &'static str {
        match self {
            Ending::Finished => "finished",
            Ending::PageLimit => "page-limit",
            Ending::ByteLimit => "byte-limit",
            Ending::TimeLimit => "time-limit",
            Ending::Interrupted => "interrupted",
            Ending::Stopped => "stopped",
            Ending::Failed(_) => "failed",
        }
    }
}

/// A word, whatever the ending: whoever reads it compares words.
impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

#[derive(Default)]
pub struct Control {
    /// Enough seeds have been read: visits may begin.
    open: AtomicBool,
    paused: AtomicBool,
    disk_full: AtomicBool,
    ending: Mutex<Option<Ending>>,
    is_ending: AtomicBool,
    /// End at once, without waiting for visits under way.
    abandon: AtomicBool,
}

impl Control {
    pub fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    pub fn is_closed(&self) -> bool {
        !self.open.load(Ordering::SeqCst)
    }

    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::SeqCst);
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    pub fn set_disk_full(&self, full: bool) {
        self.disk_full.store(full, Ordering::SeqCst);
    }

    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::SeqCst)
    }

    /// No visit may begin now.
    pub fn holds(&self) -> bool {
        self.is_closed() || self.is_paused() || self.is_disk_full() || self.is_ending()
    }

    /// The first reason given is the one that counts, but for a failure: it
    /// counts also when it comes while the crawl is ending.
    pub fn end(&self, ending: Ending) {
        let mut slot = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |ending: &Ending| matches!(ending, Ending::Failed(_));
        match &*slot {
            Some(first) if failed(first) || !failed(&ending) => {}
            _ => *slot = Some(ending),
        }
        self.is_ending.store(true, Ordering::SeqCst);
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    pub fn ending(&self) -> Option<Ending> {
        let slot = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        slot.clone()
    }

    pub fn abandon(&self) {
        self.abandon.store(true, Ordering::SeqCst);
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandon.load(Ordering::SeqCst)
    }
}

/// Work that is not finished anywhere: URLs queued or in flight, link
/// messages not yet received, seeds still being read. What follows from a
/// piece of work is added before that piece is taken off, so zero means that
/// the crawl is at its end and never that a message is on its way.
#[derive(Default)]
pub struct Pending(AtomicI64);

impl Pending {
    pub fn add(&self, count: usize) {
        self.0.fetch_add(count as i64, Ordering::SeqCst);
    }

    pub fn done(&self, count: usize) {
        self.0.fetch_sub(count as i64, Ordering::SeqCst);
    }

    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}
