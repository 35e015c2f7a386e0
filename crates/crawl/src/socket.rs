//! The running crawl's local socket: other commands ask and steer through it.
//!
//! A question is one line of JSON, the answer one or more lines. The socket's
//! path stands in `state/socket`, because the folder's own path may be too
//! long for one. A copy of the folder has that note too, and a socket of the
//! same name may come later: so each question says of which folder it is
//! asked, and the crawl of another one does not heed it.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rhumb_store::runs::RunsError;
use rhumb_store::{CrawlDirectory, Positions};
use rhumb_url::Url;
use serde::{Deserialize, Serialize};

use crate::control::Ending;
use crate::counters::Snapshot;
use crate::door::Message;
use crate::explain::{Explanation, facts};
use crate::handle::Handle;
use crate::views::{Mention, Views};

/// A longer path cannot be a socket's on every system we run on.
const MAX_SOCKET_PATH: usize = 100;
/// Whoever asks must do so within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pieces of a listing that may wait to be written.
const PIECES: usize = 100_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    Status,
    Queued,
    InFlight,
    Pause,
    Resume,
    Stop,
    /// Hand in a seed.
    Add(String),
    /// What is known of a URL in normal form, or of a link as it was written.
    Why(String),
    /// Make a checkpoint, and say when it is made.
    Checkpoint,
}

/// Which folder this is, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    device: u64,
    inode: u64,
}

impl Place {
    fn of(folder: &Path) -> io::Result<Place> {
        let metadata = std::fs::metadata(folder)?;
        Ok(Place {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// A question and the state folder it is asked of.
#[derive(Serialize, Deserialize)]
struct Asked {
    of: Place,
    question: Question,
}

/// How a running crawl stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    pub paused: bool,
    pub disk_full: bool,
    pub ending: bool,
    pub seconds: f64,
    pub fetched_this_run: u64,
    pub shards: usize,
    pub max_connections: usize,
    /// Different documents seen.
    pub documents: u64,
    #[serde(flatten)]
    pub counts: Snapshot,
}

/// One line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Status(Box<Status>),
    Urls(Vec<String>),
    Explanation(Box<Explanation>),
    /// The seed was known already, as a seed or from a link.
    Known,
    /// It was not done, and why.
    Refused(String),
    /// The crawl of another folder was asked.
    Elsewhere,
    Done,
}

/// The listening socket; dropping it takes it away.
pub struct Server {
    path: PathBuf,
    note: PathBuf,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
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
    let place = Place::of(&state)?;
    std::fs::write(&note, path.as_os_str().as_encoded_bytes())?;
    let ends = Arc::new(AtomicBool::new(false));
    let (handle, ended) = (handle.clone(), Arc::clone(&ends));
    let thread = std::thread::Builder::new()
        .name("socket".to_owned())
        .spawn(move || {
            let folder = &handle.shared().journal_folder;
            let mut journal = Positions::open(Arc::clone(&handle.shared().disk), folder);
            // One asker at a time: answers are quick, and a slow asker is
            // cut off by the socket's time-outs.
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    let _ = answer(&stream, place, &handle, &mut journal, &ended);
                }
            }
        })?;
    Ok(Server {
        path,
        note,
        ends,
        thread: Some(thread),
    })
}

fn answer(
    stream: &UnixStream,
    place: Place,
    handle: &Handle,
    journal: &mut Positions,
    ended: &AtomicBool,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let mut reader = BufReader::new(io::Read::take(stream, 16 << 10));
    reader.read_line(&mut line)?;
    let asked: Asked = serde_json::from_str(&line)?;
    let mut out = BufWriter::new(stream);
    if asked.of != place {
        write_line(&mut out, &Answer::Elsewhere)?;
        return out.flush();
    }
    match asked.question {
        Question::Status => write_line(&mut out, &Answer::Status(Box::new(status(handle))))?,
        Question::Queued => write_urls(&mut out, handle, false, ended)?,
        Question::InFlight => write_urls(&mut out, handle, true, ended)?,
        Question::Pause => handle.pause(true),
        Question::Resume => handle.pause(false),
        Question::Stop => handle.end(Ending::Stopped),
        Question::Why(url) => write_line(&mut out, &why(handle, journal, &url))?,
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

fn why(handle: &Handle, journal: &mut Positions, url: &str) -> Answer {
    match facts(&handle.shared().views, journal, url) {
        Ok(explanation) => Answer::Explanation(Box::new(explanation)),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// Take a seed in, and say whether it was known. Also a known one opens the
/// scope to what it stands for.
fn add(handle: &Handle, seed: &str) -> Result<bool, String> {
    let url = Url::parse_seed(seed).map_err(|why| format!("{why}; {}", why.remedy()))?;
    if handle.shared().rules.takedown_of(&url).is_some() {
        return Err(handle.shared().why_forgotten(&url));
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
    serde_json::to_writer(&mut *out, answer)?;
    out.write_all(b"\n")
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

fn write_urls(
    out: &mut impl Write,
    handle: &Handle,
    in_flight: bool,
    ended: &AtomicBool,
) -> io::Result<()> {
    for door in handle.shared().doors.iter() {
        let (reply, pieces) = sync_channel(PIECES);
        door.put(Message::List { in_flight, reply });
        loop {
            match pieces.recv_timeout(Duration::from_millis(100)) {
                Ok(piece) => write_line(out, &Answer::Urls(piece))?,
                Err(RecvTimeoutError::Disconnected) => break,
                // The shard may have ended with the question in its inbox.
                Err(RecvTimeoutError::Timeout) if ended.load(Ordering::SeqCst) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    Ok(())
}

/// Ask the crawl that runs in this directory; `None` if none does. Each line
/// of the answer is handed on as it comes.
pub fn ask(
    dir: &Path,
    question: &Question,
    mut each: impl FnMut(Answer) -> io::Result<()>,
) -> io::Result<Option<()>> {
    let Ok(path) = std::fs::read_to_string(dir.join("state").join("socket")) else {
        return Ok(None);
    };
    let in_place = dir.join("state").join("control.sock");
    // The folder may have been moved since the note was written.
    let stream = match UnixStream::connect(in_place).or_else(|_| UnixStream::connect(&path)) {
        Ok(stream) => stream,
        Err(_) => return Ok(None),
    };
    let mut line = serde_json::to_string(&Asked {
        of: Place::of(&dir.join("state"))?,
        question: question.clone(),
    })?;
    line.push('\n');
    (&stream).write_all(line.as_bytes())?;
    for line in BufReader::new(&stream).lines() {
        match serde_json::from_str(&line?)? {
            Answer::Done => return Ok(Some(())),
            Answer::Elsewhere => return Ok(None),
            answer => each(answer)?,
        }
    }
    Err(io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the crawl ended while it was being asked",
    ))
}
