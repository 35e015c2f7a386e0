//! What went wrong, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use rhumb_crawl::{ConfigError, CrawlError, SeedError};
use rhumb_store::DirectoryError;

/// The codes that `rhumb help` documents.
pub mod code {
    pub const USAGE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const DISK: u8 = 4;
    pub const LIMITS: u8 = 5;
    pub const NOTHING_FETCHED: u8 = 6;
}

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Seeds(#[from] SeedError),
    #[error("{}", tell(.0))]
    Crawl(#[from] CrawlError),
    /// The disk failed while the crawl ran.
    #[error("{0}\nNothing that was committed is lost; `rhumb crawl --dir …` goes on from there.")]
    Disk(String),
    #[error("{0}")]
    NothingFetched(String),
    /// There is no crawl, or none that runs.
    #[error("{0}")]
    NoCrawl(String),
    #[error("{what}: {error}")]
    Io { what: String, error: io::Error },
    #[error("{0}")]
    Other(String),
    /// Whoever reads our output has had enough.
    #[error("output closed")]
    BrokenPipe,
}

impl Failure {
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let what = what.into();
        move |error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Io { what, error },
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) | Failure::Config(_) | Failure::Seeds(_) => code::USAGE,
            Failure::Crawl(error) => match error {
                CrawlError::Config(_) | CrawlError::NoSeeds | CrawlError::Setup(_) => code::USAGE,
                CrawlError::Directory(_) => code::DIRECTORY,
                CrawlError::Journal(_) | CrawlError::Io { .. } => code::DISK,
                CrawlError::TooFewFiles { .. } => code::LIMITS,
                CrawlError::State(_) | CrawlError::BadManifest { .. } | CrawlError::Forget(_) => {
                    code::DISK
                }
                CrawlError::Crashed => 1,
            },
            Failure::Disk(_) => code::DISK,
            Failure::NothingFetched(_) => code::NOTHING_FETCHED,
            Failure::NoCrawl(_) => code::DIRECTORY,
            Failure::Io { .. } => code::USAGE,
            Failure::Other(_) | Failure::BrokenPipe => 1,
        })
    }
}

impl From<CrawlOutput> for Failure {
    fn from(CrawlOutput(error): CrawlOutput) -> Failure {
        match error {
            CrawlError::Io { error, .. } if error.kind() == io::ErrorKind::BrokenPipe => {
                Failure::BrokenPipe
            }
            other => Failure::Crawl(other),
        }
    }
}

/// An error of a command that prints while it reads a crawl.
pub struct CrawlOutput(pub CrawlError);

/// What happened, and what to do next.
fn tell(error: &CrawlError) -> String {
    let next = match error {
        CrawlError::Directory(DirectoryError::InUse { .. }) => {
            "\nAnother crawl runs there: look with `rhumb status --dir …`, end it with `rhumb stop --dir …`, or choose another --dir."
        }
        CrawlError::Directory(DirectoryError::NotACrawl(_)) => {
            "\nName the directory of a crawl with --dir; `rhumb crawl URL` makes a new one."
        }
        _ => "",
    };
    format!("{error}{next}")
}
