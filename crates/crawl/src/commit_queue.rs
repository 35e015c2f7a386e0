//! What waits for a shard's commit thread.
//!
//! The thread is woken when a group begins and when it is full, not for every
//! piece of work in between: a wake-up costs as much as encoding a visit.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::commit::Work;

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    bytes: usize,
    /// Somebody waits for what is before this to be written.
    urgent: bool,
    hung_up: bool,
}

#[derive(Default)]
pub struct CommitQueue {
    waiting: Mutex<Waiting>,
    bell: Condvar,
}

/// What came of waiting for a group.
pub enum Gathered {
    Group(VecDeque<Work>),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    HungUp,
}

impl CommitQueue {
    /// Add work that weighs so much; `full` is the weight of a whole group.
    pub fn put(&self, work: Work, bytes: usize, full: usize) {
        let mut waiting = self.lock();
        let was_full = waiting.is_ready(full);
        let begins = waiting.work.is_empty();
        waiting.urgent |= matches!(work, Work::Tell(_) | Work::Mark);
        waiting.bytes += bytes;
        waiting.work.push_back(work);
        if begins || (!was_full && waiting.is_ready(full)) {
            self.bell.notify_one();
        }
    }

    /// What the work that waits weighs.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// No more work will be put.
    pub fn hang_up(&self) {
        self.lock().hung_up = true;
        self.bell.notify_one();
    }

    /// Wait for work, at most for `patience`; then let a group gather until
    /// it is full or of a certain age.
    pub fn gather(&self, patience: Option<Duration>, full: usize, age: Duration) -> Gathered {
        let mut waiting = self.lock();
        let give_up = patience.map(|patience| Instant::now() + patience);
        while waiting.work.is_empty() {
            if waiting.hung_up {
                return Gathered::HungUp;
            }
            waiting = match give_up {
                None => self.wait(waiting),
                Some(at) if Instant::now() < at => self.wait_until(waiting, at),
                Some(_) => return Gathered::Nothing,
            };
        }
        let complete = Instant::now() + age;
        while !waiting.is_ready(full) && !waiting.hung_up && Instant::now() < complete {
            waiting = self.wait_until(waiting, complete);
        }
        waiting.bytes = 0;
        waiting.urgent = false;
        Gathered::Group(std::mem::take(&mut waiting.work))
    }

    fn wait<'a>(&self, waiting: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        let waited = self.bell.wait(waiting);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until<'a>(
        &self,
        waiting: MutexGuard<'a, Waiting>,
        at: Instant,
    ) -> MutexGuard<'a, Waiting> {
        let left = at.saturating_duration_since(Instant::now());
        let waited = self.bell.wait_timeout(waiting, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn is_ready(&self, full: usize) -> bool {
        self.urgent || self.bytes >= full
    }
}
