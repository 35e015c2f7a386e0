//! A shard's door: what others hand to it, and the bell.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rhumb_frontier::LaneId;
use rhumb_store::{Position, Visit};
use rhumb_url::{Url, UrlKey};
use tokio::sync::Notify;

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
    /// Another visit brought the same content before.
    pub duplicate: bool,
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
    Seeds {
        urls: Vec<Url>,
        /// Told once the seeds are in the journal.
        taken: Option<SyncSender<()>>,
    },
    /// Send the URLs that wait, or those in flight, in pieces.
    List {
        in_flight: bool,
        reply: SyncSender<Vec<String>>,
    },
}

/// How many messages may wait before whoever reads seeds has to.
const ROOM_FOR_SEEDS: usize = 64;

#[derive(Default)]
pub struct Door {
    inbox: Mutex<VecDeque<Message>>,
    room: Condvar,
    pub bell: Notify,
}

impl Door {
    pub fn put(&self, message: Message) {
        self.lock().push_back(message);
        self.bell.notify_one();
    }

    /// Put seeds in; waits while the shard is behind.
    pub fn put_seeds(&self, urls: Vec<Url>, taken: Option<SyncSender<()>>) {
        let mut inbox = self.lock();
        while inbox.len() >= ROOM_FOR_SEEDS {
            inbox = self
                .room
                .wait(inbox)
                .unwrap_or_else(PoisonError::into_inner);
        }
        inbox.push_back(Message::Seeds { urls, taken });
        drop(inbox);
        self.bell.notify_one();
    }

    pub fn take_all(&self) -> VecDeque<Message> {
        let taken = std::mem::take(&mut *self.lock());
        self.room.notify_all();
        taken
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
