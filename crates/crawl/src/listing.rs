//! The URLs of a crawl directory by state, from what is committed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use rhumb_store::{CrawlDirectory, Disk, Position, RealDisk, Record, State, SystemClock};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::counters::Snapshot;
use crate::engine::CrawlError;
use crate::identity::our_identity;
use crate::manifest::moment;
use crate::recover::each_record;
use crate::stopped::Stopped;

/// One URL and what decided its state.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub url: String,
    pub state: &'static str,
    /// The outcome of its visit, or the fate of a link to it.
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

pub(crate) fn open(dir: &Path) -> Result<(CrawlDirectory, Arc<dyn Disk>), CrawlError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    Ok((open_on(&*disk, dir)?, disk))
}

pub(crate) fn open_on(disk: &dyn Disk, dir: &Path) -> Result<CrawlDirectory, CrawlError> {
    let ours = our_identity(&SystemClock::default());
    Ok(CrawlDirectory::read(disk, dir, &ours)?)
}

/// Hand every URL of this state to `each`, once.
pub fn list_urls(
    dir: &Path,
    state: State,
    mut each: impl FnMut(Listed) -> io::Result<()>,
) -> Result<(), CrawlError> {
    let mut result = Ok(());
    let mut hand_on = |listed: Listed| {
        if result.is_ok() {
            result = each(listed);
        }
    };
    match state {
        // Nothing is, where nobody crawls; but there must be a crawl.
        State::InFlight => drop(open(dir)?),
        State::Queued => {
            let stopped = Stopped::open(dir)?;
            stopped.shard.frontier.waiting(&mut |item| {
                hand_on(waiting(item.url.as_str()));
                true
            })?;
            stopped.untaken(&mut |url, _| hand_on(waiting(url.as_str())))?;
        }
        State::Fetched | State::Failed | State::Refused => {
            let (directory, disk) = open(dir)?;
            let folder = directory.journal();
            let again = given_again(&disk, &folder);
            each_record(&disk, &folder, |position, record| {
                if let Record::Visit(visit) = record
                    && visit.outcome.state() == state
                    && again.is_the_last(&visit.url, position)
                {
                    hand_on(Listed {
                        url: visit.url,
                        state: state.label(),
                        reason: visit.outcome.to_string(),
                        detail: visit.detail,
                        status: (visit.status > 0).then_some(visit.status),
                        time: Some(visit.time.to_string()),
                    });
                }
            })?;
            if state == State::Refused {
                refused_links(&disk, &folder, &mut hand_on)?;
            }
        }
    }
    result.map_err(CrawlError::Output)
}

/// Seeds that were visited in vain and given again, by fingerprint, with the
/// last word on each: a visit, or that it waits for one.
struct GivenAgain(HashMap<u64, (u32, u64)>);

impl GivenAgain {
    fn is_the_last(&self, url: &str, visit: Position) -> bool {
        // Most crawls have none.
        self.0.is_empty()
            || self
                .0
                .get(&xxh3_64(url.as_bytes()))
                .is_none_or(|last| *last == moment(visit))
    }
}

/// Damage is told by the pass that lists: this one takes what can be read.
fn given_again(disk: &Arc<dyn Disk>, folder: &Path) -> GivenAgain {
    let mut last: HashMap<u64, (u32, u64)> = HashMap::new();
    let _ = each_record(disk, folder, |position, record| {
        if let Record::Seed(seed) = record
            && seed.again
        {
            let known = last.entry(xxh3_64(seed.url.as_bytes())).or_default();
            *known = moment(position).max(*known);
        }
    });
    if !last.is_empty() {
        let _ = each_record(disk, folder, |position, record| {
            if let Record::Visit(visit) = record
                && let Some(known) = last.get_mut(&xxh3_64(visit.url.as_bytes()))
            {
                *known = moment(position).max(*known);
            }
        });
    }
    GivenAgain(last)
}

fn waiting(url: &str) -> Listed {
    Listed {
        url: url.to_owned(),
        state: State::Queued.label(),
        reason: State::Queued.label().to_owned(),
        detail: String::new(),
        status: None,
        time: None,
    }
}

/// URLs that some link named but none was let through to.
fn refused_links(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    hand_on: &mut dyn FnMut(Listed),
) -> Result<(), CrawlError> {
    let mut told: HashSet<u64> = HashSet::new();
    each_record(disk, folder, |_, record| match record {
        Record::Seed(seed) => {
            told.insert(xxh3_64(seed.url.as_bytes()));
        }
        Record::Visit(visit) => {
            let offered = visit.links.iter().filter(|link| !link.fate.is_refusal());
            told.extend(offered.map(|link| xxh3_64(link.url.as_bytes())));
        }
        _ => {}
    })?;
    each_record(disk, folder, |_, record| {
        let Record::Visit(visit) = record else {
            return;
        };
        for link in visit.links {
            if link.fate.is_refusal() && told.insert(xxh3_64(link.url.as_bytes())) {
                hand_on(Listed {
                    url: link.url,
                    state: State::Refused.label(),
                    reason: link.fate.to_string(),
                    detail: format!("found on {}", visit.url),
                    status: None,
                    time: Some(visit.time.to_string()),
                });
            }
        }
    })?;
    Ok(())
}

/// The counts of a crawl that does not run, and how many different documents
/// it has.
pub fn inspect(dir: &Path) -> Result<(Snapshot, u64), CrawlError> {
    let stopped = Stopped::open(dir)?;
    let mut snapshot = stopped.counters.snapshot(stopped.views.duplicates());
    snapshot.queued = stopped.shard.frontier.queued();
    stopped.untaken(&mut |_, _| {
        snapshot.queued += 1;
        snapshot.urls_seen += 1;
    })?;
    snapshot.hosts = stopped.shard.frontier.lanes();
    Ok((snapshot, stopped.views.documents()))
}
