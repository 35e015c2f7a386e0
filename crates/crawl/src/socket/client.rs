//! The side that asks.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Answer, Asked, Place, Question};

#[derive(Debug, thiserror::Error)]
pub enum AskError {
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
    let in_place = dir.join("state").join("control.sock");
    // The folder may have been moved since the note was written.
    let stream = match UnixStream::connect(in_place).or_else(|_| UnixStream::connect(&path)) {
        Ok(stream) => stream,
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
        written => written?,
    }
    let mut answers = BufReader::new(&stream);
    loop {
        line.clear();
        match answers.read_line(&mut line) {
            // A line that is not whole is the last that came.
            Ok(_) if !line.ends_with('\n') => return Err(AskError::Ended),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Err(AskError::Ended);
            }
            read => read?,
        };
        match serde_json::from_str(&line).map_err(io::Error::from)? {
            Answer::Done => return Ok(Some(())),
            Answer::Elsewhere => return Ok(None),
            Answer::Busy => return Err(AskError::Busy),
            answer => each(answer).map_err(AskError::Output)?,
        }
    }
}
