//! The side that asks.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use super::{Answer, Asked, Place, Question};

/// How long the crawl may be silent where it only has to look or to nod…
const SOON: Duration = Duration::from_secs(5);
/// …where it has to read its disk, or to wait for one of its shards…
const LATER: Duration = Duration::from_secs(30);
/// …and where a checkpoint is made, which it gives up by itself before.
const MUCH_LATER: Duration = Duration::from_secs(90);

impl Question {
    fn patience(&self) -> Duration {
        match self {
            Question::Status | Question::Pause | Question::Resume | Question::Stop => SOON,
            Question::Queued
            | Question::InFlight
            | Question::Add(_)
            | Question::Why(_)
            | Question::Host(_) => LATER,
            Question::Checkpoint => MUCH_LATER,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the running crawl did not answer within {} seconds", .0.as_secs())]
    NoAnswer(Duration),
    #[error("too many ask the running crawl at this moment")]
    Busy,
    #[error("the crawl ended while it was being asked")]
    Ended,
    /// Whoever was handed the answer could not take it.
    #[error("the answer could not be handed on: {0}")]
    Output(io::Error),
    #[error("the running crawl: {0}")]
    Io(#[from] io::Error),
}

/// Ask the crawl that runs in this directory; `None` if none does. Each line
/// of the answer is handed on as it comes.
pub fn ask(
    dir: &Path,
    question: &Question,
    mut each: impl FnMut(Answer) -> io::Result<()>,
) -> Result<Option<()>, AskError> {
    let Ok(path) = std::fs::read_to_string(dir.join("state").join("socket")) else {
        return Ok(None);
    };
    let patience = question.patience();
    let waited_in_vain = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AskError::NoAnswer(patience),
        io::ErrorKind::ConnectionReset => AskError::Ended,
        _ => AskError::Io(error),
    };
    let in_place = dir.join("state").join("control.sock");
    // The folder may have been moved since the note was written.
    let stream = match connect(&in_place, patience).or_else(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Err(error),
        _ => connect(Path::new(&path), patience),
    }) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err(waited_in_vain(error));
        }
        Err(_) => return Ok(None),
    };
    let mut line = serde_json::to_string(&Asked {
        of: Place::of(&dir.join("state"))?,
        question: question.clone(),
    })
    .map_err(io::Error::from)?;
    line.push('\n');
    match (&stream).write_all(line.as_bytes()) {
        // It has answered before it was asked: that it is busy.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.map_err(waited_in_vain)?,
    }
    let mut answers = BufReader::new(&stream);
    loop {
        line.clear();
        match answers.read_line(&mut line) {
            // A line that is not whole is the last that came.
            Ok(_) if !line.ends_with('\n') => return Err(AskError::Ended),
            read => read.map_err(waited_in_vain)?,
        };
        match serde_json::from_str(&line).map_err(io::Error::from)? {
            Answer::Done => return Ok(Some(())),
            Answer::Elsewhere => return Ok(None),
            Answer::Busy => return Err(AskError::Busy),
            answer => each(answer).map_err(AskError::Output)?,
        }
    }
}

/// A stopped process accepts nobody: then the system lets a limited number in,
/// and the next ones would wait for ever.
fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // On Linux this bounds the wait for a connection too.
    socket.set_write_timeout(Some(patience))?;
    socket.set_read_timeout(Some(patience))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(UnixStream::from(std::os::fd::OwnedFd::from(socket)))
}
