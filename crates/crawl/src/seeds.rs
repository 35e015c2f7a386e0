//! Where seeds come from: the command line, files, standard input. Streamed:
//! a file of millions costs no memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use rhumb_url::{Refusal, Url};

#[derive(Debug, Clone)]
pub enum SeedSource {
    Given(String),
    /// One URL a line; empty lines and lines that begin with `#` are passed over.
    File(PathBuf),
    Stdin,
}

/// One seed, or what is wrong with a line.
struct SeedLine {
    text: String,
    url: Result<Url, Refusal>,
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("seeds: {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("`{text}` cannot be a seed: {why}")]
    NotAUrl { text: String, why: Refusal },
}

/// All seeds of a run. Opening it reads up to the first good one, so that
/// what cannot work is known before a crawl directory is made.
pub struct Seeds {
    first: Option<Url>,
    rest: Box<dyn Iterator<Item = Result<Url, SeedError>> + Send>,
    /// Lines passed over before the first good one.
    skipped: Vec<SeedError>,
}

impl Seeds {
    pub fn open(sources: &[SeedSource]) -> Result<Seeds, SeedError> {
        let mut inputs = Vec::new();
        for source in sources {
            let input = source.open().map_err(|error| SeedError::Unreadable {
                path: source.path(),
                error,
            })?;
            inputs.push((source.clone(), input));
        }
        let mut rest = inputs
            .into_iter()
            .flat_map(|(source, input)| seed_lines(input).map(move |line| source.check(line)));
        let mut skipped = Vec::new();
        let mut first = None;
        for seed in rest.by_ref() {
            match seed {
                Ok(url) => {
                    first = Some(url);
                    break;
                }
                Err(error) => skipped.push(error),
            }
            if skipped.len() >= MAX_SKIPPED {
                break;
            }
        }
        Ok(Seeds {
            first,
            rest: Box::new(rest),
            skipped,
        })
    }

    /// No seeds.
    pub fn none() -> Seeds {
        Seeds {
            first: None,
            rest: Box::new(std::iter::empty()),
            skipped: Vec::new(),
        }
    }

    pub fn first(&self) -> Option<&Url> {
        self.first.as_ref()
    }

    /// What was wrong with the lines before the first good one.
    pub fn skipped(&self) -> &[SeedError] {
        &self.skipped
    }

    pub fn urls(self) -> impl Iterator<Item = Result<Url, SeedError>> {
        self.first.map(Ok).into_iter().chain(self.rest)
    }
}

/// An input of which so many lines are no URLs is no list of seeds.
const MAX_SKIPPED: usize = 1000;

/// A line longer than this is no URL; it is read over without being kept.
const MAX_LINE: u64 = 16 << 10;

impl SeedSource {
    fn path(&self) -> PathBuf {
        match self {
            SeedSource::File(path) => path.clone(),
            SeedSource::Given(_) => PathBuf::from("command line"),
            SeedSource::Stdin => PathBuf::from("standard input"),
        }
    }

    fn check(&self, line: io::Result<SeedLine>) -> Result<Url, SeedError> {
        let line = line.map_err(|error| SeedError::Unreadable {
            path: self.path(),
            error,
        })?;
        line.url.map_err(|why| SeedError::NotAUrl {
            text: line.text.chars().take(100).collect(),
            why,
        })
    }

    /// Open it, so that a file that cannot be read is told before anything
    /// else happens.
    fn open(&self) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            SeedSource::Given(text) => Box::new(io::Cursor::new(text.clone().into_bytes())),
            SeedSource::File(path) => {
                Box::new(BufReader::with_capacity(1 << 16, File::open(path)?))
            }
            SeedSource::Stdin => Box::new(BufReader::with_capacity(1 << 16, io::stdin())),
        })
    }
}

/// The seeds of one source, line by line.
fn seed_lines(mut input: Box<dyn BufRead + Send>) -> impl Iterator<Item = io::Result<SeedLine>> {
    let mut buffer = Vec::new();
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            buffer.clear();
            match read_line(&mut *input, &mut buffer) {
                Err(error) => {
                    // It would fail again, for ever.
                    failed = true;
                    return Some(Err(error));
                }
                Ok(false) => return None,
                Ok(true) => {}
            }
            let text = String::from_utf8_lossy(&buffer);
            let text = text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            if !text.is_empty() && !text.starts_with('#') {
                return Some(Ok(SeedLine {
                    url: Url::parse_seed(text),
                    text: text.to_owned(),
                }));
            }
        }
        None
    })
}

/// Read to the end of the line, keeping at most `MAX_LINE` bytes of it;
/// `false` at the end of the input.
fn read_line(mut input: &mut dyn BufRead, buffer: &mut Vec<u8>) -> io::Result<bool> {
    use io::Read;
    if (&mut input).take(MAX_LINE).read_until(b'\n', buffer)? == 0 {
        return Ok(false);
    }
    if buffer.len() as u64 == MAX_LINE && buffer.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seeds_comments_or_mistakes() {
        let long = "x".repeat(100_000);
        let text = format!(
            "\u{feff}http://a.test/\r\n\n# no\n  b.test/x \nhttp://[\n{long}\nhttp://c.test/"
        );
        let lines: Vec<SeedLine> = seed_lines(SeedSource::Given(text).open().unwrap())
            .map(Result::unwrap)
            .collect();
        let good: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.url.as_ref().ok())
            .map(Url::as_str)
            .collect();
        assert_eq!(
            good,
            ["http://a.test/", "http://b.test/x", "http://c.test/"]
        );
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn an_input_that_cannot_be_read_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let sources = [
            SeedSource::Given("http://a.test/".to_owned()),
            SeedSource::File(folder.path().to_owned()),
        ];
        let seeds: Vec<_> = Seeds::open(&sources).unwrap().urls().take(5).collect();
        assert_eq!(seeds.len(), 2);
        assert!(seeds[0].is_ok() && seeds[1].is_err());
    }
}
