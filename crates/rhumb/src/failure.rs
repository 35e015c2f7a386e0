//! What went wrong, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use rhumb_crawl::{AskError, ConfigError, CrawlError, SeedError};
use rhumb_store::runs::RunsError;
use rhumb_store::{DirectoryError, ForgetError, JournalError};

use crate::output::say;

/// The codes that `rhumb help` documents.
pub mod code {
    pub const USAGE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const DISK: u8 = 4;
    pub const LIMITS: u8 = 5;
    pub const NOTHING_FETCHED: u8 = 6;
    pub const OUTPUT: u8 = 7;
}

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Seeds(#[from] SeedError),
    #[error(transparent)]
    Crawl(CrawlError),
    /// The disk failed while the crawl ran.
    #[error("{0}")]
    Disk(String),
    #[error("{0}")]
    NothingFetched(String),
    /// There is no crawl, or none that runs.
    #[error("{0}")]
    NoCrawl(String),
    /// One runs, but it does not answer, or not to the end.
    #[error(transparent)]
    NoAnswer(AskError),
    #[error("{what}: {error}")]
    Io { what: String, error: io::Error },
    #[error("{0}")]
    Other(String),
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    /// Whoever reads our output has had enough.
    #[error("output closed")]
    BrokenPipe,
}

impl Failure {
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let what = what.into();
        move |error| Failure::Io { what, error }
    }

    /// The answer could not be written.
    pub fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Output(error),
        }
    }

    /// What to do about it, where the message itself does not say so.
    pub fn next(&self) -> Option<&'static str> {
        Some(match self {
            Failure::Config(ConfigError::File { .. }) => {
                "Check the path and what stands in the file; `rhumb config` prints one to begin from."
            }
            Failure::Config(ConfigError::Value { .. } | ConfigError::Environment { .. }) => {
                "`rhumb config` prints every setting with a comment."
            }
            Failure::Seeds(SeedError::Unreadable { .. }) => {
                "Check the path and its permissions; --seeds - reads standard input."
            }
            Failure::Crawl(error) => return next_of(error),
            Failure::Disk(_) => {
                "Nothing that was committed is lost; `rhumb crawl --dir …` goes on from there."
            }
            Failure::NoAnswer(AskError::NoAnswer(_)) => {
                "Look at its process: one that was stopped (Ctrl-Z, kill -STOP) goes on after `fg` or `kill -CONT`."
            }
            Failure::NoAnswer(AskError::Busy) => {
                "Lists that are still being read (`rhumb urls … | less`) take their place until they are closed."
            }
            Failure::NoAnswer(AskError::Ended) => "Ask again: what it left can be read now.",
            Failure::Output(_) => "Check where the output goes, and the disk there.",
            Failure::Io { .. } => "Check the path, its permissions and the disk.",
            Failure::Other(_) => "That should not happen: please report it with what led to it.",
            _ => return None,
        })
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) | Failure::Config(_) | Failure::Seeds(_) => code::USAGE,
            Failure::Crawl(error) => match error {
                CrawlError::Config(_) | CrawlError::NoSeeds | CrawlError::Setup(_) => code::USAGE,
                CrawlError::Directory(
                    DirectoryError::BadIdentity { .. }
                    | DirectoryError::IdentityLost(_)
                    | DirectoryError::ArchiveOfOthers { .. },
                ) => code::DISK,
                CrawlError::Directory(_) | CrawlError::Ask(_) => code::DIRECTORY,
                CrawlError::Journal(_) | CrawlError::Io { .. } => code::DISK,
                CrawlError::Unsettled(_) => code::DISK,
                CrawlError::TooFewFiles { .. } => code::LIMITS,
                CrawlError::State(_) | CrawlError::BadManifest { .. } | CrawlError::Forget(_) => {
                    code::DISK
                }
                CrawlError::Output(_) => code::OUTPUT,
                CrawlError::Crashed => 1,
            },
            Failure::Disk(_) => code::DISK,
            Failure::NothingFetched(_) => code::NOTHING_FETCHED,
            Failure::NoCrawl(_) | Failure::NoAnswer(_) => code::DIRECTORY,
            Failure::Io { .. } => code::USAGE,
            Failure::Output(_) => code::OUTPUT,
            Failure::Other(_) | Failure::BrokenPipe => 1,
        })
    }
}

impl From<CrawlError> for Failure {
    fn from(error: CrawlError) -> Failure {
        match error {
            CrawlError::Ask(error) => error.into(),
            CrawlError::Output(error) => Failure::output(error),
            other => Failure::Crawl(other),
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error {
            AskError::Output(error) => Failure::output(error),
            AskError::Io(error) => Failure::io("the running crawl")(error),
            other => Failure::NoAnswer(other),
        }
    }
}

/// The end of a command that found something out and had to say it. What it
/// found outranks that nobody took its words.
pub fn verdict(code: u8, said: Result<(), Failure>) -> Result<ExitCode, Failure> {
    match said {
        Err(failure) if code == 0 => return Err(failure),
        Ok(()) | Err(Failure::BrokenPipe) => {}
        Err(failure) => say(format_args!("rhumb: {failure}")),
    }
    Ok(ExitCode::from(code))
}

fn next_of(error: &CrawlError) -> Option<&'static str> {
    Some(match error {
        CrawlError::Config(_) => "`rhumb config` prints every setting with a comment.",
        CrawlError::Directory(DirectoryError::InUse { .. }) => {
            "Another crawl runs there: look with `rhumb status --dir …`, end it with `rhumb stop --dir …`, or choose another --dir."
        }
        CrawlError::Directory(DirectoryError::NotACrawl(_)) => {
            "Name the directory of a crawl with --dir; `rhumb crawl URL` makes a new one."
        }
        CrawlError::Directory(
            DirectoryError::BadIdentity { .. } | DirectoryError::IdentityLost(_),
        ) => "Restore that file from a copy: journal and state cannot be read without it.",
        CrawlError::Directory(DirectoryError::ArchiveOfOthers { .. }) => {
            "A crawl keeps in its archive only what its journal names: choose another --dir, or move the files away; if it is the journal that is lost, restore journal/ and state/ from a copy."
        }
        CrawlError::Directory(DirectoryError::Io { .. }) => {
            "Check the path, its permissions and the disk, or choose another --dir."
        }
        CrawlError::Journal(JournalError::Io { .. }) | CrawlError::Io { .. } => {
            "Check permissions and the disk; nothing that was committed is lost."
        }
        CrawlError::Journal(JournalError::Malformed { .. }) => {
            "Restore the journal from a copy; `rhumb verify` says what else is damaged."
        }
        CrawlError::Forget(ForgetError::Archive { .. }) => {
            "Restore the file from a copy; `rhumb verify` says what else is damaged."
        }
        CrawlError::State(RunsError::Io { .. }) => {
            "Check permissions and the disk; if the file is gone, `rhumb rebuild` makes the state again."
        }
        CrawlError::Unsettled(_) => {
            "Nothing that was committed is lost: see to the disk, then let `rhumb rebuild --dir …` make the state again."
        }
        CrawlError::State(RunsError::Died) => "`rhumb crawl --dir …` goes on from the last commit.",
        CrawlError::Setup(_) => {
            "Check the settings `agent`, `dns` and `verify_tls`; `rhumb config` prints them."
        }
        _ => return None,
    })
}
