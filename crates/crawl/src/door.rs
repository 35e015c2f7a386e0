//! A shard's door: what others hand to it, and the bell.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rhumb_frontier::{LaneId, Place};
use rhumb_store::{Position, Visit};
use rhumb_url::{Url, UrlKey};
use tokio::sync::Notify;

use crate::host_status::HostStatus;

/// What follows from a visit once it is true.
pub struct Follow {
    pub key: UrlKey,
    /// The targets of the links it offers, in order.
    pub offered: Vec<Url>,
}

/// A visit that is in the journal.
pub struct Committed {
    pub position: Position,
    pub visit: Box<Visit>,
    pub follow: Follow,
}

pub enum Message {
    /// These visits are in the journal.
    Committed(Vec<Committed>),
    /// Everything handed to the commit thread before a mark is written; the
    /// last record of it.
    Marked(Position),
    /// The disk failed; nothing more can be committed.
    CommitFailed(String),
    /// A lane that waited for its address has a seat there now.
    Seat {
        lane: LaneId,
        address: IpAddr,
        earliest: Duration,
    },
    /// Send a piece of a list.
    List {
        wanted: Wanted,
        reply: SyncSender<Piece>,
    },
    /// Say how this URL's host stands.
    Host {
        url: Url,
        reply: SyncSender<Option<HostStatus>>,
    },
}

/// The URLs that a list is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    InFlight,
    /// Those that wait, behind the last one of the piece before.
    Waiting(Option<(LaneId, Place)>),
}

/// Some of them.
pub struct Piece {
    pub urls: Vec<String>,
    /// What to ask for next, where there may be more.
    pub next: Option<Wanted>,
}

/// Seeds that travel together: one piece of pending work.
pub struct SeedBatch {
    pub urls: Vec<Url>,
    /// Told once the seeds are in the journal.
    pub taken: Option<SyncSender<()>>,
}

/// How many batches may wait before whoever reads seeds has to.
const ROOM_FOR_SEEDS: usize = 64;

#[derive(Default)]
pub struct Door {
    inbox: Mutex<VecDeque<Message>>,
    /// Apart from the rest: a shard may have to let them wait.
    seeds: Mutex<VecDeque<SeedBatch>>,
    pub bell: Notify,
}

impl Door {
    pub fn put(&self, message: Message) {
        lock(&self.inbox).push_back(message);
        self.bell.notify_one();
    }

    pub fn take_all(&self) -> VecDeque<Message> {
        std::mem::take(&mut *lock(&self.inbox))
    }

    pub fn put_seeds(&self, batch: SeedBatch) {
        lock(&self.seeds).push_back(batch);
        self.bell.notify_one();
    }

    pub fn has_room_for_seeds(&self) -> bool {
        lock(&self.seeds).len() < ROOM_FOR_SEEDS
    }

    pub fn has_seeds(&self) -> bool {
        !lock(&self.seeds).is_empty()
    }

    pub fn take_seeds(&self) -> Option<SeedBatch> {
        lock(&self.seeds).pop_front()
    }
}

fn lock<T>(queue: &Mutex<VecDeque<T>>) -> MutexGuard<'_, VecDeque<T>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
