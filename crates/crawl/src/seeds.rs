//! Where seeds come from: the command line, files, standard input. Streamed:
//! a file of millions costs no memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::PathBuf;

use rhumb_url::{Refusal, Url};

use crate::seed_lines::{SeedLine, parse, seed_lines};

#[derive(Debug, Clone)]
pub enum SeedSource {
    Given(String),
    /// One URL a line; empty lines and lines that begin with `#` are passed over.
    File(PathBuf),
    Stdin,
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("seeds: {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}`{}` cannot be a seed: {why}; {}", shown_place(place), shown(text), why.remedy())]
    NotAUrl {
        /// The input and its line; none for what was typed.
        place: Option<(PathBuf, u64)>,
        text: String,
        why: Refusal,
    },
}

impl SeedError {
    fn not_a_url(place: Option<(PathBuf, u64)>, text: &str, why: Refusal) -> SeedError {
        let text = text.chars().take(100).collect();
        SeedError::NotAUrl { place, text, why }
    }
}

type SeedLines = Box<dyn Iterator<Item = Result<Url, SeedError>> + Send>;

/// All seeds of a run, in two parts: those of inputs that can be read
/// through, and those of inputs that may be slow or have no end.
pub struct Seeds {
    first: Option<Url>,
    /// The first of the lines passed over before the first good one.
    skipped: Vec<SeedError>,
    /// How many those were.
    skipped_count: u64,
    looked: bool,
    pub(crate) bounded: SeedLines,
    pub(crate) endless: Option<SeedLines>,
}

impl Seeds {
    /// Whether a text can be a seed.
    pub fn check(text: &str) -> Result<(), SeedError> {
        let checked = parse(text).map(drop);
        checked.map_err(|why| SeedError::not_a_url(None, text, why))
    }

    pub fn open(sources: &[SeedSource]) -> Result<Seeds, SeedError> {
        let (mut bounded, mut endless) = (Vec::new(), Vec::new());
        for source in sources {
            let input = source.open().map_err(|error| SeedError::Unreadable {
                path: source.path(),
                error,
            })?;
            match input.has_end {
                true => bounded.push((source.clone(), input.lines)),
                false => endless.push((source.clone(), input.lines)),
            }
        }
        let has_end = endless.is_empty();
        Ok(Seeds {
            bounded: Box::new(lines_of(bounded)),
            endless: match has_end {
                true => None,
                false => Some(Box::new(lines_of(endless))),
            },
            ..Seeds::none()
        })
    }

    /// No seeds.
    pub fn none() -> Seeds {
        Seeds {
            first: None,
            skipped: Vec::new(),
            skipped_count: 0,
            looked: false,
            bounded: Box::new(std::iter::empty()),
            endless: None,
        }
    }

    /// Whether all of them can be read without waiting for anybody.
    pub fn has_end(&self) -> bool {
        self.endless.is_none()
    }

    /// The first good one, so that what cannot work is known before a crawl
    /// directory is made. Waits for it, where seeds are still to come.
    pub fn first(&mut self) -> Option<&Url> {
        if !self.looked {
            self.looked = true;
            let endless = self.endless.iter_mut().flatten();
            for seed in self.bounded.by_ref().chain(endless) {
                match seed {
                    Ok(url) => {
                        self.first = Some(url);
                        break;
                    }
                    Err(error) => {
                        self.skipped_count += 1;
                        if self.skipped.len() < SKIPPED_KEPT {
                            self.skipped.push(error);
                        }
                    }
                }
            }
        }
        self.first.as_ref()
    }

    /// What was wrong with the first of the lines before the first good one.
    pub fn skipped(&self) -> &[SeedError] {
        &self.skipped
    }

    /// How many lines were no URLs before the first good one.
    pub fn skipped_count(&self) -> u64 {
        self.skipped_count
    }

    /// All of them, to the end.
    pub fn urls(mut self) -> impl Iterator<Item = Result<Url, SeedError>> {
        let read = self.take_read();
        read.chain(self.bounded)
            .chain(self.endless.into_iter().flatten())
    }

    /// What has been read to find the first one, but for the lines passed
    /// over that were only counted.
    pub(crate) fn take_read(&mut self) -> impl Iterator<Item = Result<Url, SeedError>> + use<> {
        let skipped = std::mem::take(&mut self.skipped).into_iter();
        skipped.map(Err).chain(self.first.take().map(Ok))
    }
}

/// The seeds of some inputs, one after another.
fn lines_of(
    inputs: Vec<(SeedSource, Box<dyn BufRead + Send>)>,
) -> impl Iterator<Item = Result<Url, SeedError>> + Send {
    inputs
        .into_iter()
        .flat_map(|(source, input)| seed_lines(input).map(move |line| source.check(line)))
}

/// Lines passed over that are kept to be told.
const SKIPPED_KEPT: usize = 10;

/// Bytes of an input that are read at a time.
const BUFFER: usize = 64 << 10;

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
        let place = match self {
            SeedSource::Given(_) => None,
            _ => Some((self.path(), line.number)),
        };
        let url = line.url;
        url.map_err(|why| SeedError::not_a_url(place, &line.text, why))
    }

    /// Open it, so that an input that cannot be read is told before anything
    /// else happens.
    fn open(&self) -> io::Result<Input> {
        match self {
            SeedSource::Given(text) => Ok(Input {
                has_end: true,
                lines: Box::new(io::Cursor::new(text.clone().into_bytes())),
            }),
            SeedSource::File(path) => Input::of(File::open(path)?),
            // A descriptor of our own: whoever waits for it holds no lock
            // that others of the process may need.
            SeedSource::Stdin => Input::of(File::from(io::stdin().as_fd().try_clone_to_owned()?)),
        }
    }
}

fn shown_place(place: &Option<(PathBuf, u64)>) -> String {
    place.as_ref().map_or(String::new(), |(path, line)| {
        format!("{} line {line}: ", path.display())
    })
}

/// A line as it can be printed: a tab inside it must be seen.
fn shown(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// An open source.
struct Input {
    /// It is all there, and can be read through without waiting.
    has_end: bool,
    lines: Box<dyn BufRead + Send>,
}

impl Input {
    /// What can be opened cannot always be read: of a file the beginning is
    /// read at once, of anything else it would have to be waited for.
    fn of(file: File) -> io::Result<Input> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut lines = BufReader::with_capacity(BUFFER, file);
        if metadata.is_file() {
            lines.fill_buf()?;
        }
        Ok(Input {
            has_end: metadata.is_file(),
            lines: Box::new(lines),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_without_end_that_are_no_urls_are_counted_and_the_first_kept() {
        let text = "http://[\n".repeat(5000) + "http://a.test/\nhttp://[\n";
        let mut seeds = Seeds::open(&[SeedSource::Given(text)]).unwrap();
        assert_eq!(seeds.first().map(Url::as_str), Some("http://a.test/"));
        assert_eq!(seeds.skipped_count(), 5000);
        assert_eq!(seeds.skipped().len(), SKIPPED_KEPT);
        let rest = seeds.urls().filter(Result::is_err).count();
        assert_eq!(rest, SKIPPED_KEPT + 1);
    }

    #[test]
    fn a_mistake_is_told_with_its_text_and_what_to_write() {
        for (line, told) in [
            (
                "ht!tp:/x y",
                "`ht!tp:/x y` cannot be a seed: not a URL: `ht!tp` is no scheme",
            ),
            ("ht!tp://x/", "`ht!tp` is no scheme"),
            (
                "http://a.test/\tNews",
                "`http://a.test/\\tNews` cannot be a seed: not a URL: a tab",
            ),
            (
                "http://a.test/ News",
                "`http://a.test/ News` cannot be a seed: not a URL: white space",
            ),
            ("a.test/\u{a0}b", "not a URL: white space"),
            ("ftp://a.test/", "only http and https are crawled"),
            ("http://me@a.test/", "write it without them"),
        ] {
            let source = SeedSource::Given(line.to_owned());
            let mut seeds = Seeds::open(&[source]).unwrap();
            assert!(seeds.first().is_none());
            let message = seeds.skipped()[0].to_string();
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn an_input_that_cannot_be_read_is_told_before_any_seed_is() {
        let folder = tempfile::tempdir().unwrap();
        let good = SeedSource::Given("http://a.test/".to_owned());
        // The last is a file whose first read fails.
        for path in [
            folder.path(),
            &folder.path().join("none"),
            Path::new("/proc/self/mem"),
        ] {
            let sources = [good.clone(), SeedSource::File(path.to_owned())];
            let error = Seeds::open(&sources).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{} was read", path.display()));
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
}
