//! The running crawl's local socket: other commands ask and steer through it.
//!
//! A question is one line of JSON, the answer one or more lines. The socket's
//! path stands in `state/socket`, because the folder's own path may be too
//! long for one. A copy of the folder has that note too, and a socket of the
//! same name may come later: so each question says of which folder it is
//! asked, and the crawl of another one does not heed it.

mod client;
mod server;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counters::Snapshot;
use crate::explain::Explanation;
use crate::host_status::HostStatus;

pub use client::{AskError, ask};
pub use server::{MAX_ASKERS, serve};

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
    /// How a host stands.
    Host(String),
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
    Host(Box<HostStatus>),
    /// The seed was known already, as a seed or from a link.
    Known,
    /// It was not done, and why.
    Refused(String),
    /// Too many ask at this moment.
    Busy,
    /// The crawl of another folder was asked.
    Elsewhere,
    Done,
}
