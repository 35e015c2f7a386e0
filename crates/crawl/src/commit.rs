//! The commit: a shard's one I/O thread, which makes visits true.
//!
//! Order: the archive's records, then the journal record that names where
//! they stand. That record is the commit. Whatever has gathered while the
//! thread was writing becomes the next group.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use rhumb_store::{Archive, Capture, Clock, Journal, Record, Visit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::commit_queue::{CommitQueue, Gathered};
use crate::door::{Committed, Follow, Message};
use crate::shared::Shared;

/// A group is written when it is made of this much…
const GROUP_BYTES: usize = 512 << 10;
/// …or is this old. Groups of one page are dear: a small frame compresses
/// badly, and every group costs a write and two wake-ups.
const GROUP_AGE: Duration = Duration::from_millis(5);
/// A piece of this size is written although the group goes on.
const MOST_BYTES: usize = 1 << 20;
/// What a record that is no visit weighs, about.
const RECORD_BYTES: usize = 256;
/// What a visit weighs besides its document.
const VISIT_KIB: usize = 8;

pub enum Work {
    Visit {
        visit: Box<Visit>,
        capture: Option<Capture<Bytes>>,
        follow: Follow,
        /// Its share of the bytes that may wait.
        room: OwnedSemaphorePermit,
    },
    Record(Record),
    /// Say so when everything before this is written.
    Tell(SyncSender<()>),
}

/// The shard's end: hands over work and waits while too much is waiting.
/// The thread ends when this is dropped and all is written.
pub struct Committer {
    queue: Arc<CommitQueue>,
    room: Arc<Semaphore>,
    room_kib: usize,
}

impl Committer {
    pub fn new(commit_bytes: u64) -> (Committer, Arc<CommitQueue>) {
        let queue = Arc::new(CommitQueue::default());
        let room_kib = ((commit_bytes >> 10) as usize).clamp(VISIT_KIB, Semaphore::MAX_PERMITS);
        let committer = Committer {
            queue: Arc::clone(&queue),
            room: Arc::new(Semaphore::new(room_kib)),
            room_kib,
        };
        (committer, queue)
    }

    pub async fn visit(&self, visit: Box<Visit>, capture: Option<Capture<Bytes>>, follow: Follow) {
        let bytes = capture.as_ref().map_or(0, |e| e.wire.len());
        let kib = (bytes >> 10).saturating_add(VISIT_KIB).min(self.room_kib);
        let room = Arc::clone(&self.room).acquire_many_owned(kib as u32).await;
        // The semaphore is never closed.
        if let Ok(room) = room {
            let work = Work::Visit {
                visit,
                capture,
                follow,
                room,
            };
            self.queue.put(work, bytes, GROUP_BYTES);
        }
    }

    /// Tell somebody once all that was handed over so far is in the journal.
    pub fn tell_when_written(&self, listener: SyncSender<()>) {
        self.queue.put(Work::Tell(listener), 0, GROUP_BYTES);
    }

    pub fn record(&self, record: Record) {
        self.queue
            .put(Work::Record(record), RECORD_BYTES, GROUP_BYTES);
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.queue.hang_up();
    }
}

/// The thread's body: until the shard hangs up, or the disk fails.
pub fn run(
    queue: &CommitQueue,
    mut journal: Journal,
    mut archive: Option<Archive>,
    shared: &Shared,
    shard: usize,
) {
    let result = commit_all(queue, &mut journal, &mut archive, shared, shard);
    if let Err(reason) = result {
        shared.doors[shard].put(Message::CommitFailed(reason));
        // Let whoever waits for room go on: the shard is about to stop.
        while !matches!(queue.gather(None, 0, Duration::ZERO), Gathered::HungUp) {}
    }
}

fn commit_all(
    queue: &CommitQueue,
    journal: &mut Journal,
    archive: &mut Option<Archive>,
    shared: &Shared,
    shard: usize,
) -> Result<(), String> {
    let mut sync = SyncTimer::new(&shared.clock, shared.config.sync_interval);
    loop {
        match queue.gather(sync.due_in(), GROUP_BYTES, GROUP_AGE) {
            Gathered::Group(group) => {
                commit_group(group, journal, archive, shared, shard)?;
                sync.written();
            }
            Gathered::HungUp => {
                sync_both(journal, archive)?;
                return Ok(());
            }
            Gathered::Nothing => {}
        }
        if sync.is_due() {
            sync_both(journal, archive)?;
            sync.synced();
        }
    }
}

fn commit_group(
    group: VecDeque<Work>,
    journal: &mut Journal,
    archive: &mut Option<Archive>,
    shared: &Shared,
    shard: usize,
) -> Result<(), String> {
    let mut visits = Vec::new();
    let mut rooms = Vec::new();
    let mut listeners = Vec::new();
    for item in group {
        match item {
            Work::Record(record) => {
                journal.push(&record);
            }
            Work::Tell(listener) => listeners.push(listener),
            Work::Visit {
                mut visit,
                capture,
                follow,
                room,
            } => {
                if let (Some(archive), Some(capture)) = (archive.as_mut(), &capture) {
                    visit.extents = archive
                        .add(capture)
                        .map_err(|error| format!("the archive cannot be written: {error}"))?;
                }
                let record = Record::Visit(visit);
                let position = journal.push(&record);
                if let Record::Visit(visit) = record {
                    visits.push(Committed {
                        position,
                        visit,
                        follow,
                    });
                }
                rooms.push(room);
            }
        }
        let gathered = journal.pending_bytes() + archive.as_ref().map_or(0, Archive::pending_bytes);
        if gathered >= MOST_BYTES {
            write_group(journal, archive, &mut visits, &mut rooms, shared, shard)?;
        }
    }
    write_group(journal, archive, &mut visits, &mut rooms, shared, shard)?;
    for listener in listeners {
        let _ = listener.try_send(());
    }
    Ok(())
}

fn write_group(
    journal: &mut Journal,
    archive: &mut Option<Archive>,
    visits: &mut Vec<Committed>,
    rooms: &mut Vec<OwnedSemaphorePermit>,
    shared: &Shared,
    shard: usize,
) -> Result<(), String> {
    if let Some(archive) = archive {
        archive
            .flush()
            .map_err(|error| format!("the archive cannot be written: {error}"))?;
    }
    journal.commit().map_err(|error| error.to_string())?;
    rooms.clear();
    if !visits.is_empty() {
        shared.doors[shard].put(Message::Committed(std::mem::take(visits)));
    }
    Ok(())
}

fn sync_both(journal: &mut Journal, archive: &mut Option<Archive>) -> Result<(), String> {
    if let Some(archive) = archive {
        archive
            .sync()
            .map_err(|error| format!("the archive cannot be synced: {error}"))?;
    }
    journal.sync().map_err(|error| error.to_string())
}

/// When what was written must be made durable.
struct SyncTimer<'a> {
    clock: &'a Arc<dyn Clock>,
    interval: Duration,
    due: Option<Duration>,
}

impl SyncTimer<'_> {
    fn new(clock: &Arc<dyn Clock>, interval: Duration) -> SyncTimer<'_> {
        SyncTimer {
            clock,
            interval,
            due: None,
        }
    }

    fn written(&mut self) {
        let due = self.clock.elapsed() + self.interval;
        self.due.get_or_insert(due);
    }

    fn due_in(&self) -> Option<Duration> {
        Some(self.due?.saturating_sub(self.clock.elapsed()))
    }

    fn is_due(&self) -> bool {
        self.due_in().is_some_and(|wait| wait.is_zero())
    }

    fn synced(&mut self) {
        self.due = None;
    }
}
