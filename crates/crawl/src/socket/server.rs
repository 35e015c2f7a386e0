//! The side that answers. Each asker has a thread of his own: one who reads a
//! long list slowly, or waits for a checkpoint, holds up nobody else.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rhumb_store::runs::RunsError;
use rhumb_store::{CrawlDirectory, Positions};
use rhumb_url::Url;

use super::{Answer, Asked, Place, Question, Status};
use crate::control::Ending;
use crate::door::{Door, Message, Piece, Wanted};
use crate::explain::facts;
use crate::handle::Handle;
use crate::host_status::{HostStatus, host_url};
use crate::views::{Mention, Views};

/// A longer path cannot be a socket's on every system we run on.
const MAX_SOCKET_PATH: usize = 100;
/// Askers at a time; more are told to come again.
pub const MAX_ASKERS: usize = 32;
/// Of these, lists: they may be read for hours, and others must find room.
const MAX_LISTS: usize = 16;
/// Whoever asks must do so within this time, and take a short answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon whoever waits for a reader or a shard sees that the crawl ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The listening socket; dropping it takes it away.
pub struct Server {
    path: PathBuf,
    note: PathBuf,
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.desk.ended.store(true, Ordering::SeqCst);
        // Wake the listener. Where its file is gone, nobody can: it ends with
        // the process.
        let woken = UnixStream::connect(&self.path).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.note);
    }
}

pub fn serve(directory: &CrawlDirectory, handle: &Handle) -> io::Result<Server> {
    let state = std::path::absolute(directory.state())?;
    let mut path = state.join("control.sock");
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        path = std::env::temp_dir().join(format!("rhumb-{}.sock", std::process::id()));
    }
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let note = state.join("socket");
    let shared = handle.shared();
    let desk = Arc::new(Desk {
        place: Place::of(&state)?,
        handle: handle.clone(),
        journal: Mutex::new(Positions::open(
            Arc::clone(&shared.disk),
            &shared.journal_folder,
        )),
        ended: AtomicBool::new(false),
        askers: Arc::default(),
        lists: Arc::default(),
    });
    std::fs::write(&note, path.as_os_str().as_encoded_bytes())?;
    let at_desk = Arc::clone(&desk);
    let thread = std::thread::Builder::new()
        .name("socket".to_owned())
        .spawn(move || listen(&listener, &at_desk))?;
    Ok(Server {
        path,
        note,
        desk,
        thread: Some(thread),
    })
}

fn listen(listener: &UnixListener, desk: &Arc<Desk>) {
    for stream in listener.incoming() {
        if desk.ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else {
            // No file descriptor is left for it: one may be later.
            std::thread::sleep(LOOK_EVERY);
            continue;
        };
        let Some(seat) = desk.askers.take(MAX_ASKERS) else {
            // So short an answer is taken without waiting.
            let _ = write_line(&mut &stream, &Answer::Busy);
            continue;
        };
        let desk = Arc::clone(desk);
        // Without a thread the asker sees that nobody answers.
        let _ = std::thread::Builder::new()
            .name("asker".to_owned())
            .spawn(move || {
                let _ = desk.answer(&stream);
                drop(seat);
            });
    }
}

/// A bounded number of places.
#[derive(Default)]
struct Seats(AtomicUsize);

/// One that is taken, until it is dropped.
struct Seat(Arc<Seats>);

impl Seats {
    fn take(self: &Arc<Seats>, most: usize) -> Option<Seat> {
        let more = |taken: usize| (taken < most).then_some(taken + 1);
        let taken = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        taken.is_ok().then(|| Seat(Arc::clone(self)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What all who answer share.
struct Desk {
    place: Place,
    handle: Handle,
    journal: Mutex<Positions>,
    ended: AtomicBool,
    askers: Arc<Seats>,
    lists: Arc<Seats>,
}

impl Desk {
    fn answer(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        let mut reader = BufReader::new(io::Read::take(stream, 16 << 10));
        reader.read_line(&mut line)?;
        let asked: Asked = serde_json::from_str(&line)?;
        let handle = &self.handle;
        let mut out = BufWriter::new(stream);
        if asked.of != self.place {
            write_line(&mut out, &Answer::Elsewhere)?;
            return out.flush();
        }
        match asked.question {
            Question::Status => write_line(&mut out, &Answer::Status(Box::new(status(handle))))?,
            Question::Queued => return self.list(stream, Wanted::Waiting(None)),
            Question::InFlight => return self.list(stream, Wanted::InFlight),
            Question::Pause => handle.pause(true),
            Question::Resume => handle.pause(false),
            Question::Stop => handle.end(Ending::Stopped),
            Question::Why(url) => write_line(&mut out, &self.why(&url))?,
            Question::Host(host) => match self.host(&host)? {
                Ok(Some(status)) => write_line(&mut out, &Answer::Host(Box::new(status)))?,
                Ok(None) => {}
                Err(why) => write_line(&mut out, &Answer::Refused(why))?,
            },
            Question::Checkpoint => {
                if let Err(why) = handle.checkpoint() {
                    write_line(&mut out, &Answer::Refused(why))?;
                }
            }
            Question::Add(seed) => match add(handle, &seed) {
                Ok(true) => write_line(&mut out, &Answer::Known)?,
                Ok(false) => {}
                Err(why) => write_line(&mut out, &Answer::Refused(why))?,
            },
        }
        write_line(&mut out, &Answer::Done)?;
        out.flush()
    }

    fn why(&self, url: &str) -> Answer {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        match facts(&self.handle.shared().views, &mut journal, url) {
            Ok(explanation) => Answer::Explanation(Box::new(explanation)),
            Err(error) => Answer::Refused(error.to_string()),
        }
    }

    /// Piece by piece, each asked for when the one before is on its way: a
    /// list of any length takes the memory of a piece, however slowly it is
    /// read.
    fn list(&self, stream: &UnixStream, wanted: Wanted) -> io::Result<()> {
        let Some(_seat) = self.lists.take(MAX_LISTS) else {
            return write_line(&mut &*stream, &Answer::Busy);
        };
        stream.set_write_timeout(Some(LOOK_EVERY))?;
        let mut out = BufWriter::new(Leisurely {
            stream,
            ended: &self.ended,
        });
        for door in self.handle.shared().doors.iter() {
            let mut next = Some(wanted);
            while let Some(wanted) = next {
                let piece = self.piece(door, wanted)?;
                write_line(&mut out, &Answer::Urls(piece.urls))?;
                next = piece.next;
            }
        }
        write_line(&mut out, &Answer::Done)?;
        out.flush()
    }

    fn piece(&self, door: &Door, wanted: Wanted) -> io::Result<Piece> {
        let (reply, pieces) = sync_channel(1);
        door.put(Message::List { wanted, reply });
        self.hear(&pieces)
    }

    fn host(&self, host: &str) -> io::Result<Result<Option<HostStatus>, String>> {
        let url = match host_url(host) {
            Ok(url) => url,
            Err(why) => return Ok(Err(why)),
        };
        let (reply, statuses) = sync_channel(1);
        let shared = self.handle.shared();
        shared.doors[shared.owner_of(&url)].put(Message::Host { url, reply });
        self.hear(&statuses).map(Ok)
    }

    /// What a shard answers.
    fn hear<T>(&self, answers: &Receiver<T>) -> io::Result<T> {
        loop {
            match answers.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Ok(answer),
                // The shard may have ended with the question in its inbox.
                Err(RecvTimeoutError::Timeout) if !self.ended.load(Ordering::SeqCst) => {}
                Err(_) => return Err(io::ErrorKind::Interrupted.into()),
            }
        }
    }
}

/// Waits for a reader as long as the crawl runs.
struct Leisurely<'a> {
    stream: &'a UnixStream,
    ended: &'a AtomicBool,
}

impl Write for Leisurely<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match (&*self.stream).write(bytes) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        && !self.ended.load(Ordering::SeqCst) => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Take a seed in, and say whether it was known. Also a known one opens the
/// scope to what it stands for.
fn add(handle: &Handle, seed: &str) -> Result<bool, String> {
    let url = Url::parse_seed(seed).map_err(|why| format!("{why}; {}", why.remedy()))?;
    if let Some(why) = handle.shared().refuses_seed(&url) {
        return Err(why);
    }
    let views = &handle.shared().views;
    let known = is_known(views, &url).map_err(|error| error.to_string())?;
    match handle.add_seed(url) {
        true => Ok(known),
        false => Err("the crawl is ending; give it to the next run".to_owned()),
    }
}

/// One whose visit failed is as good as new: it is visited again.
fn is_known(views: &Views, url: &Url) -> Result<bool, RunsError> {
    let found = views.find(url.as_str(), Mention::Found)?.is_some();
    Ok(found && views.failed_visit(url.as_str())?.is_none())
}

fn write_line(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    out.write_all(&line)
}

fn status(handle: &Handle) -> Status {
    Status {
        paused: handle.is_paused(),
        disk_full: handle.is_disk_full(),
        ending: handle.is_ending(),
        seconds: handle.elapsed().as_secs_f64(),
        fetched_this_run: handle.fetched_this_run(),
        shards: handle.shared().shards(),
        max_connections: handle.config().connections,
        documents: handle.documents(),
        counts: handle.snapshot(),
    }
}
