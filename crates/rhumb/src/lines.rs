//! Questions from standard input, one a line: any bytes, of any length.

use std::io::{self, BufRead, BufReader, Read, StdinLock};

use crate::failure::Failure;

/// A longer line is no URL; it is read over without being kept.
const MAX_LINE: usize = 64 << 10;

/// What is kept of such a line.
const SHOWN: usize = 100;

/// Without the white space around it.
pub enum Line {
    Text(String),
    /// With a mark for each of its bytes that are no UTF-8 text.
    NotUtf8(String),
    /// The beginning of it.
    TooLong(String),
}

pub struct Lines {
    input: BufReader<StdinLock<'static>>,
    line: Vec<u8>,
}

impl Lines {
    pub fn of_stdin() -> Lines {
        Lines {
            input: BufReader::with_capacity(MAX_LINE, io::stdin().lock()),
            line: Vec::new(),
        }
    }

    /// Whether the next line can be read without waiting for it.
    pub fn is_next_at_hand(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    /// The next line; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Line>, Failure> {
        self.read().map_err(Failure::io("standard input"))
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        self.line.clear();
        let mut start = self.input.by_ref().take(MAX_LINE as u64);
        let length = start.read_until(b'\n', &mut self.line)?;
        if length == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&self.line);
        let text = text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if length == MAX_LINE && !self.line.ends_with(b"\n") {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Line::TooLong(text.chars().take(SHOWN).collect())));
        }
        let text = text.to_owned();
        Ok(Some(match std::str::from_utf8(&self.line) {
            Ok(_) => Line::Text(text),
            Err(_) => Line::NotUtf8(text),
        }))
    }
}

/// What to say of a line that is too long.
pub const TOO_LONG: &str = "the line is longer than any URL";
