//! The commit: a shard's one I/O thread, which makes visits true.
//!
//! Order: the archive's records, then the journal record that names where
//! they stand. That record is the commit. Whatever has gathered while the
//! thread was writing becomes the next group.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bytes::Bytes;
use rhumb_store::runs::RunsError;
use rhumb_store::{
    Archive, Capture, Clock, Control as ControlRecord, Journal, Position, Record, Visit,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::commit_queue::{CommitQueue, Gathered};
use crate::control::Ending;
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
/// How often views that cannot take in more are asked again.
const VIEWS_AGAIN: Duration = Duration::from_millis(2);
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
    /// Tell the shard how far the journal is when everything before this is
    /// written.
    Mark,
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

    /// Ask for `Marked` once all that was handed over so far is written.
    pub fn mark(&self) {
        self.queue.put(Work::Mark, 0, GROUP_BYTES);
    }

    /// So much waits that no seeds should be taken in: unlike visits they
    /// hold no permits, and they come as fast as a disk can be read.
    pub fn is_behind(&self) -> bool {
        self.queue.bytes() >= MOST_BYTES
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
        // The shard may have left already.
        shared.control.end(Ending::Failed(reason.clone()));
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
    // What was synced is told in the journal with the next group, so that a
    // start knows what cannot be torn.
    let mut told = None;
    loop {
        let gathered = queue.gather(sync.due_in(), GROUP_BYTES, GROUP_AGE);
        let ends = matches!(gathered, Gathered::HungUp);
        if let Gathered::Group(group) = gathered {
            let mut commit = Commit {
                journal,
                archive,
                shared,
                shard,
                open: OpenGroup::default(),
            };
            if let Some(synced) = commit.journal.synced().filter(|p| told != Some(*p)) {
                told = Some(synced);
                commit.push(Record::Control(ControlRecord::synced(
                    synced,
                    shared.clock.wall(),
                )));
            }
            commit.all(group)?;
            sync.written();
        }
        if ends || sync.is_due() {
            sync_both(journal, archive)?;
            sync.synced();
            if let Some(position) = journal.synced() {
                shared.synced[shard].store(position.sequence, Ordering::Release);
                shared.doors[shard].bell.notify_one();
            }
        }
        if ends {
            if let Some(synced) = journal.synced().filter(|p| told != Some(*p)) {
                let record = ControlRecord::synced(synced, shared.clock.wall());
                journal.push(&Record::Control(record));
                journal.commit().map_err(|error| error.to_string())?;
            }
            return Ok(());
        }
        wait_for_views(shared)?;
    }
}

/// The views take in what was committed; while they cannot, so do we not.
fn wait_for_views(shared: &Shared) -> Result<(), String> {
    let told = |error: RunsError| error.to_string();
    shared.views.tend().map_err(told)?;
    while shared.views.is_congested() {
        std::thread::sleep(VIEWS_AGAIN);
        shared.views.tend().map_err(told)?;
    }
    Ok(())
}

/// What is written together.
#[derive(Default)]
struct OpenGroup {
    records: Vec<(Position, Record)>,
    follows: Vec<Follow>,
    rooms: Vec<OwnedSemaphorePermit>,
}

struct Commit<'a> {
    journal: &'a mut Journal,
    archive: &'a mut Option<Archive>,
    shared: &'a Shared,
    shard: usize,
    open: OpenGroup,
}

impl Commit<'_> {
    fn all(&mut self, group: VecDeque<Work>) -> Result<(), String> {
        let mut listeners = Vec::new();
        for item in group {
            match item {
                Work::Record(record) => self.push(record),
                Work::Tell(listener) => listeners.push(listener),
                Work::Mark => {
                    self.write()?;
                    if let Some(last) = self.journal.last() {
                        self.shared.doors[self.shard].put(Message::Marked(last));
                    }
                }
                Work::Visit {
                    mut visit,
                    capture,
                    follow,
                    room,
                } => {
                    if let (Some(archive), Some(capture)) = (self.archive.as_mut(), &capture) {
                        visit.extents = archive.add(capture).map_err(archive_error)?;
                    }
                    self.push(Record::Visit(visit));
                    self.open.follows.push(follow);
                    self.open.rooms.push(room);
                }
            }
            let archived = self.archive.as_ref().map_or(0, Archive::pending_bytes);
            if self.journal.pending_bytes() + archived >= MOST_BYTES {
                self.write()?;
            }
        }
        self.write()?;
        for listener in listeners {
            let _ = listener.try_send(());
        }
        Ok(())
    }

    fn push(&mut self, record: Record) {
        let position = self.journal.push(&record);
        self.open.records.push((position, record));
    }

    /// Write the open group, let the views take it in, and tell the shard.
    fn write(&mut self) -> Result<(), String> {
        if let Some(archive) = self.archive {
            archive.flush().map_err(archive_error)?;
        }
        self.journal.commit().map_err(|error| error.to_string())?;
        let OpenGroup {
            records,
            follows,
            rooms,
        } = std::mem::take(&mut self.open);
        drop(rooms);
        let told = |error: RunsError| error.to_string();
        let views = &self.shared.views;
        let entered = records.iter().map(|(position, record)| (*position, record));
        views.enter(entered).map_err(told)?;
        let mut follows = follows.into_iter();
        let mut visits = Vec::new();
        for (position, record) in records {
            if let Record::Visit(visit) = record
                && let Some(follow) = follows.next()
            {
                visits.push(Committed {
                    position,
                    visit,
                    follow,
                });
            }
        }
        let door = &self.shared.doors[self.shard];
        match visits.is_empty() {
            // The shard may wait for room.
            true => door.bell.notify_one(),
            false => door.put(Message::Committed(visits)),
        }
        Ok(())
    }
}

fn archive_error(error: std::io::Error) -> String {
    format!("the archive cannot be written: {error}")
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
