//! The commit: a shard's one I/O thread, which makes visits true.
//!
//! Order: the archive's records, then the journal record that names where
//! they stand. That record is the commit. Whatever has gathered while the
//! thread was writing becomes the next group.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use rhumb_store::{Archive, Capture, Clock, Journal, Record, Visit};
use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::door::Message;
use crate::shared::Shared;

/// A group is written when it holds this much…
const GROUP_BYTES: usize = 256 << 10;
/// …or is this old. Groups of one page are dear: a small frame compresses
/// badly, and every group costs a write and two wake-ups.
const GROUP_AGE: Duration = Duration::from_millis(5);
/// What a visit weighs besides its document.
const VISIT_KIB: usize = 8;

pub enum Work {
    Visit {
        visit: Box<Visit>,
        capture: Option<Capture<Bytes>>,
        /// Its share of the bytes that may wait.
        room: OwnedSemaphorePermit,
    },
    Record(Record),
    /// Say so when everything before this is written.
    Tell(SyncSender<()>),
}

/// The shard's end: hands over work and waits while too much is waiting.
#[derive(Clone)]
pub struct Committer {
    work: UnboundedSender<Work>,
    room: Arc<Semaphore>,
    room_kib: usize,
}

impl Committer {
    pub fn new(commit_bytes: u64) -> (Committer, UnboundedReceiver<Work>) {
        let (work, receiver) = unbounded_channel();
        let room_kib = ((commit_bytes >> 10) as usize).clamp(VISIT_KIB, Semaphore::MAX_PERMITS);
        let committer = Committer {
            work,
            room: Arc::new(Semaphore::new(room_kib)),
            room_kib,
        };
        (committer, receiver)
    }

    pub async fn visit(&self, visit: Box<Visit>, capture: Option<Capture<Bytes>>) {
        let bytes = capture.as_ref().map_or(0, |e| e.wire.len());
        let kib = (bytes >> 10).saturating_add(VISIT_KIB).min(self.room_kib);
        let room = Arc::clone(&self.room).acquire_many_owned(kib as u32).await;
        // The semaphore is never closed; a closed channel means that the
        // thread has failed, and has said so.
        if let Ok(room) = room {
            let _ = self.work.send(Work::Visit {
                visit,
                capture,
                room,
            });
        }
    }

    /// Tell somebody once all that was handed over so far is in the journal.
    pub fn tell_when_written(&self, listener: SyncSender<()>) {
        let _ = self.work.send(Work::Tell(listener));
    }

    pub fn record(&self, record: Record) {
        let _ = self.work.send(Work::Record(record));
    }
}

/// The thread's body: until the shard hangs up, or the disk fails.
pub fn run(
    mut work: UnboundedReceiver<Work>,
    mut journal: Journal,
    mut archive: Option<Archive>,
    shared: &Shared,
    shard: usize,
) {
    let result = commit_all(&mut work, &mut journal, &mut archive, shared, shard);
    if let Err(reason) = result {
        shared.doors[shard].put(Message::CommitFailed(reason));
        // Let whoever waits for room go on: the shard is about to stop.
        while work.blocking_recv().is_some() {}
    }
}

fn commit_all(
    work: &mut UnboundedReceiver<Work>,
    journal: &mut Journal,
    archive: &mut Option<Archive>,
    shared: &Shared,
    shard: usize,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| error.to_string())?;
    let mut sync = SyncTimer::new(&shared.clock, shared.config.sync_interval);
    loop {
        let wait = sync.due_in();
        let first = runtime.block_on(async {
            match wait {
                None => Ok(work.recv().await),
                Some(wait) => tokio::time::timeout(wait, work.recv()).await,
            }
        });
        match first {
            Ok(Some(first)) => {
                let deadline = tokio::time::Instant::now() + GROUP_AGE;
                let mut more = || runtime.block_on(next_for_group(work, deadline));
                commit_group(first, &mut more, journal, archive, shared, shard)?;
                sync.written();
            }
            Ok(None) => {
                sync_both(journal, archive)?;
                return Ok(());
            }
            Err(_) => {}
        }
        if sync.is_due() {
            sync_both(journal, archive)?;
            sync.synced();
        }
    }
}

/// What is at hand, or comes before the group is too old.
async fn next_for_group(
    work: &mut UnboundedReceiver<Work>,
    deadline: tokio::time::Instant,
) -> Option<Work> {
    match work.try_recv() {
        Ok(item) => Some(item),
        Err(TryRecvError::Disconnected) => None,
        Err(TryRecvError::Empty) => tokio::time::timeout_at(deadline, work.recv())
            .await
            .ok()
            .flatten(),
    }
}

fn commit_group(
    first: Work,
    more: &mut dyn FnMut() -> Option<Work>,
    journal: &mut Journal,
    archive: &mut Option<Archive>,
    shared: &Shared,
    shard: usize,
) -> Result<(), String> {
    let mut visits = Vec::new();
    let mut rooms = Vec::new();
    let mut listeners = Vec::new();
    let mut next = Some(first);
    while let Some(item) = next {
        match item {
            Work::Record(record) => {
                journal.push(&record);
            }
            Work::Tell(listener) => listeners.push(listener),
            Work::Visit {
                mut visit,
                capture,
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
                    visits.push((position, visit));
                }
                rooms.push(room);
            }
        }
        let gathered = journal.pending_bytes() + archive.as_ref().map_or(0, Archive::pending_bytes);
        next = if gathered < GROUP_BYTES { more() } else { None };
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
    visits: &mut Vec<(rhumb_store::Position, Box<Visit>)>,
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
