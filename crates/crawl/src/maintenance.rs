//! Work on a crawl that does not run: verify, rebuild, compact, forget.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rhumb_store::{
    Clock, CompactOptions, CompactReport, CrawlDirectory, Disk, Finding, ForgetReport, Journal,
    RealDisk, Record, Severity, SystemClock, VerifyCounts, compact_after, forget, lift,
    verify_journal,
};
use rhumb_url::Url;

use crate::admission::set_key;
use crate::config::Config;
use crate::engine::{Crawl, CrawlError, Observer};
use crate::forgotten::Forgotten;
use crate::identity::our_identity;
use crate::listing::open;
use crate::manifest::{Manifest, Mark, Marks};
use crate::recover::each_record;
use crate::state::StateFolder;
use crate::stopped::Stopped;
use crate::summary::Summary;
use crate::takedowns::Takedowns;
use crate::views::Mention;

/// URLs between two signs of life.
const TELL_EVERY: u64 = 100_000;

/// The directory, locked, and its disk.
fn locked(dir: &Path) -> Result<(CrawlDirectory, Arc<dyn Disk>), CrawlError> {
    open(dir)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let identity = our_identity(&SystemClock::default());
    let directory = CrawlDirectory::open(&disk, dir, &identity)?;
    Ok((directory, disk))
}

/// Make all state again from the journal.
pub fn rebuild(
    dir: &Path,
    config: Config,
    observer: &mut dyn Observer,
) -> Result<Summary, CrawlError> {
    let (directory, disk) = locked(dir)?;
    // A journal that cannot be read whole cannot make the state again.
    Journal::recover(&disk, &directory.journal(), &directory.warc())?;
    Manifest::remove(&*disk, &directory.state())?;
    drop(directory);
    Crawl::open(dir, config)?.settle(observer)
}

/// Rewrite the journal to the latest visit of each URL.
pub fn compact_journal(
    dir: &Path,
    config: Config,
    observer: &mut dyn Observer,
) -> Result<CompactReport, CrawlError> {
    let (directory, disk) = locked(dir)?;
    let folder = directory.journal();
    Journal::recover(&disk, &folder, &directory.warc())?;
    let options = CompactOptions {
        memory: config.memory.0,
        last_segments: true,
    };
    // The views lead to visits that may go: to a document's first one, whose
    // links a later copy would refer to, and to pages with refused links.
    let mut outdated = false;
    let report = compact_after(&disk, &folder, &options, &mut || {
        outdated = true;
        Manifest::remove(&*disk, &directory.state()).map_err(io::Error::other)
    })?;
    drop(directory);
    if outdated {
        Crawl::open(dir, config)?.settle(observer)?;
    }
    Ok(report)
}

/// Remove pages from archive, journal, set and views, and let none come back.
pub fn forget_pages(
    dir: &Path,
    what: &Forgotten,
    config: Config,
    observer: &mut dyn Observer,
) -> Result<ForgetReport, CrawlError> {
    let (directory, disk) = locked(dir)?;
    // First of all: if this is interrupted, the next start makes the state
    // again from whatever the journal says then.
    Manifest::remove(&*disk, &directory.state())?;
    // A state in memory would leave them there, with all they name.
    StateFolder::read(&disk, &directory.state()).remove_all_but(&Manifest::default())?;
    let now = SystemClock::default().wall();
    let matches = |url: &str| what.matches(url);
    let (journal, archive) = (directory.journal(), directory.warc());
    let report = forget(&disk, &journal, &archive, what.as_str(), &matches, now)?;
    drop(directory);
    Crawl::open(dir, config)?.settle(observer)?;
    Ok(report)
}

/// Let what was forgotten be visited again. `false` if no takedown of exactly
/// this holds.
pub fn lift_takedown(
    dir: &Path,
    what: &Forgotten,
    config: Config,
    observer: &mut dyn Observer,
) -> Result<bool, CrawlError> {
    let (directory, disk) = locked(dir)?;
    if !Takedowns::read(dir)?.holds(what) {
        return Ok(false);
    }
    let now = SystemClock::default().wall();
    let (journal, archive) = (directory.journal(), directory.warc());
    lift(&disk, &journal, &archive, what.as_str(), now)?;
    drop(directory);
    Crawl::open(dir, config)?.settle(observer)?;
    Ok(true)
}

/// What a check found.
pub struct Verified {
    pub journal: VerifyCounts,
    /// URLs admitted, waiting and visited, by the journal and by the state.
    pub admitted: u64,
    pub queued: u64,
    pub visited: u64,
    /// Where state and journal disagree.
    pub state_findings: u64,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.journal.is_sound() && self.journal.warnings == 0 && self.state_findings == 0
    }
}

/// Check journal, archive and state by themselves and against each other.
/// `with` is told every finding with its severity, `progress` how far it is.
pub fn verify(
    dir: &Path,
    with: &mut dyn FnMut(&'static str, String),
    progress: &mut dyn FnMut(String),
) -> Result<Verified, CrawlError> {
    let (directory, disk) = locked(dir)?;
    let folder = directory.journal();
    let journal = verify_journal(
        &disk,
        &folder,
        &directory.warc(),
        &mut |finding: Finding| with(finding.severity().label(), finding.to_string()),
        &mut |counts| {
            if counts.groups.is_multiple_of(1000) {
                progress(format!("journal and archive: {} records", counts.records));
            }
        },
    )?;
    let stopped = Stopped::open(dir)?;
    let mut verified = Verified {
        journal,
        admitted: 0,
        queued: 0,
        visited: 0,
        state_findings: 0,
    };
    let mut checks = Checks {
        stopped: &stopped,
        verified: &mut verified,
        with,
        progress,
    };
    stopped.views.read_all()?;
    stopped.shard.frontier.rows.read_all()?;
    checks.queue()?;
    checks.journal(&disk, &folder)?;
    checks.counts();
    Ok(verified)
}

/// The state against the journal.
struct Checks<'a> {
    stopped: &'a Stopped,
    verified: &'a mut Verified,
    with: &'a mut dyn FnMut(&'static str, String),
    progress: &'a mut dyn FnMut(String),
}

impl Checks<'_> {
    fn found(&mut self, text: String) {
        self.verified.state_findings += 1;
        (self.with)(Severity::Damage.label(), text);
    }

    /// Whatever waits was admitted, is in the set, and was not visited.
    fn queue(&mut self) -> Result<(), CrawlError> {
        let stopped = self.stopped;
        let mut failed = Ok(());
        stopped.shard.frontier.waiting(&mut |item| {
            self.verified.queued += 1;
            failed = self.queued(item.url.as_str(), set_key(&item.key));
            failed.is_ok()
        })?;
        failed
    }

    fn queued(&mut self, url: &str, key: u128) -> Result<(), CrawlError> {
        let stopped = self.stopped;
        if !stopped.shard.seen.contains(key)? {
            self.found(format!("{url} waits, but is not in the URL set"));
        }
        if stopped.views.find(url, Mention::Found)?.is_none() {
            self.found(format!("{url} waits, but no record admitted it"));
        }
        if stopped.views.find(url, Mention::Visit)?.is_some() {
            self.found(format!("{url} waits, but was visited"));
        }
        Ok(())
    }

    /// Whatever the journal admits or visits is in the set and the index.
    fn journal(&mut self, disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), CrawlError> {
        let mut failed = Ok(());
        let mut ends = Marks::new();
        each_record(disk, folder, |position, record| {
            if failed.is_err() {
                return;
            }
            ends.insert(position.journal, Mark::from(position));
            failed = match &record {
                Record::Seed(seed) if seed.sequence > 0 => self.admitted(&seed.url),
                Record::Admitted(admitted) => admitted
                    .entries
                    .iter()
                    .try_for_each(|entry| self.admitted(&entry.url)),
                Record::Visit(visit) => self.visited(&visit.url),
                _ => Ok(()),
            };
        })?;
        for (journal, part) in (0..).zip(&self.stopped.manifest.shards) {
            let end = ends.get(&journal).copied().unwrap_or_default();
            if end < part.own {
                self.found(format!(
                    "j{journal:05}-….rj: journal {journal} ends at record {}, but record {} is in the checkpoint",
                    end.sequence, part.own.sequence
                ));
            }
        }
        failed
    }

    fn admitted(&mut self, url: &str) -> Result<(), CrawlError> {
        self.verified.admitted += 1;
        if self.verified.admitted.is_multiple_of(TELL_EVERY) {
            (self.progress)(format!("state: {} URLs", self.verified.admitted));
        }
        let Ok(parsed) = Url::from_normal(url) else {
            self.found(format!("{url} was admitted, but is not in normal form"));
            return Ok(());
        };
        if !self.stopped.has_seen(&parsed)? {
            self.found(format!("{url} was admitted, but is not in the URL set"));
        }
        Ok(())
    }

    fn visited(&mut self, url: &str) -> Result<(), CrawlError> {
        self.verified.visited += 1;
        if self.stopped.views.find(url, Mention::Visit)?.is_none() {
            self.found(format!("{url} was visited, but the index does not know"));
        }
        Ok(())
    }

    /// The numbers agree with one another.
    fn counts(&mut self) {
        let counts = self.stopped.counters.snapshot();
        let set = self.stopped.shard.seen.count();
        let queued = self.stopped.shard.frontier.queued();
        let pairs = [
            ("URLs in the set", set, self.verified.admitted),
            (
                "URLs counted as seen",
                counts.urls_seen,
                self.verified.admitted,
            ),
            ("URLs counted as waiting", queued, self.verified.queued),
        ];
        for (what, state, truth) in pairs {
            if state != truth {
                self.found(format!("{what}: {state}, but there are {truth}"));
            }
        }
    }
}
