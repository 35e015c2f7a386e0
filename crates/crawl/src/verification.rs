//! Whether journal, archive and state of a crawl are sound, and agree.
//!
//! The journal is the truth about the state. So where it cannot be read
//! whole, the state is only read by itself: whatever a comparison found would
//! be the journal's damage told a second time.

use std::path::Path;
use std::sync::Arc;

use rhumb_store::runs::RunsError;
use rhumb_store::{
    CrawlDirectory, Disk, Finding, Part, Position, RealDisk, Record, Severity, SystemClock,
    VerifyCounts, verify_journal,
};
use rhumb_url::Url;

use crate::admission::set_key;
use crate::config::Config;
use crate::engine::CrawlError;
use crate::identity::our_identity;
use crate::manifest::Manifest;
use crate::opening::shard_state;
use crate::recover::each_record;
use crate::state::StateFolder;
use crate::stopped::Stopped;
use crate::views::{Mention, Views};

/// URLs between two signs of life.
const TELL_EVERY: u64 = 100_000;

/// What a check found.
pub struct Verified {
    pub journal: VerifyCounts,
    /// URLs admitted, waiting and visited, by the journal and by the state.
    pub admitted: u64,
    pub queued: u64,
    pub visited: u64,
    /// Whether the state was compared with the journal.
    pub compared: bool,
    /// What is wrong with the state, by itself or against the journal.
    pub state_damages: u64,
}

impl Verified {
    /// Whether nothing is lost or wrong. A kill may leave archive records that
    /// no visit names: they are told, but they are no damage.
    pub fn is_sound(&self) -> bool {
        self.journal.is_sound() && self.state_damages == 0
    }

    pub fn archive_damages(&self) -> u64 {
        self.journal.damages - self.journal.journal_damages
    }

    /// What to do about what was found, one sentence or two for each part.
    pub fn advice(&self) -> Vec<&'static str> {
        if self.journal.unfinished_forget {
            return vec![
                "A takedown was interrupted: run `rhumb forget` again as before, which finishes it \
                 (the next `rhumb crawl` or `rhumb rebuild` does so too), and then `rhumb verify`.",
            ];
        }
        let journal = self.journal.journal_damages;
        let mut advice = Vec::new();
        if journal > self.journal.lost_ends {
            advice.push(
                "The journal is damaged: restore the files named above in journal/ from a copy. \
                 `rhumb rebuild` cannot help, because it reads the journal.",
            );
        } else if journal > 0 {
            advice.push(
                "The journal lost its end: restore journal/ from a copy, or let `rhumb rebuild` \
                 make the state again from what is left; what is lost is fetched again.",
            );
        }
        if self.archive_damages() > 0 {
            advice.push(
                "The archive is damaged: restore the files named above in warc/ from a copy. \
                 Journal and state do not depend on them, and the other records can be read.",
            );
        } else if self.journal.warnings > 0 {
            advice.push(
                "The archive has records that no visit names; nothing that was committed is lost.",
            );
        }
        if self.state_damages > 0 {
            advice.push(match journal {
                0 => "The state is damaged: `rhumb rebuild` makes it again from the journal, without fetching.",
                _ => "The state is damaged too: `rhumb rebuild` can make it again once the journal is restored.",
            });
        }
        advice
    }
}

type Tell<'a> = dyn FnMut(Part, Severity, String) + 'a;

/// Check journal, archive and state by themselves and against each other.
/// `with` is told every finding with its place and severity, `progress` how
/// far it is.
pub fn verify(
    dir: &Path,
    with: &mut Tell<'_>,
    progress: &mut dyn FnMut(String),
) -> Result<Verified, CrawlError> {
    verify_on(&(Arc::new(RealDisk) as Arc<dyn Disk>), dir, with, progress)
}

/// Likewise, through this door.
pub fn verify_on(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    with: &mut Tell<'_>,
    progress: &mut dyn FnMut(String),
) -> Result<Verified, CrawlError> {
    let ours = our_identity(&SystemClock::default());
    let (directory, unlocked) = CrawlDirectory::read_locked(&**disk, dir, &ours)?;
    let mut notes = 0;
    if let Some(error) = unlocked {
        notes += 1;
        let told = format!(
            "the directory cannot be locked ({error}): what follows is true if no crawl runs here"
        );
        with(Part::State, Severity::Note, told);
    }
    let manifest = state_damage(Manifest::load(&**disk, &directory.state()))?;
    let synced: Vec<Position> = match &manifest {
        Ok(manifest) => manifest.synced(),
        Err(_) => Vec::new(),
    };
    let mut journal = verify_journal(
        disk,
        &directory.journal(),
        &directory.warc(),
        &synced,
        &mut |finding: Finding| with(finding.part(), finding.severity(), finding.to_string()),
        &mut |counts| {
            if counts.groups.is_multiple_of(1000) {
                progress(format!("journal and archive: {} records", counts.records));
            }
        },
    )?;
    journal.notes += notes;
    let mut verified = Verified {
        journal,
        admitted: 0,
        queued: 0,
        visited: 0,
        compared: false,
        state_damages: 0,
    };
    let checked = match manifest {
        // The takedown takes the state away, and it is made again after.
        _ if journal.unfinished_forget => Ok(()),
        Err(damage) => Err(damage),
        Ok(manifest) if journal.journal_damages > 0 => {
            state_damage(read_state(&directory, disk, &manifest))?
        }
        Ok(_) => {
            verified.compared = true;
            state_damage(compare(disk, dir, &mut verified, with, progress))?
        }
    };
    if let Err(damage) = checked {
        verified.compared = false;
        verified.state_damages += 1;
        with(Part::State, Severity::Damage, damage);
    }
    Ok(verified)
}

/// Tells damage to the state's files, which is a finding, from what keeps us
/// from looking. Whether a rebuild helps is for the advice to say.
fn state_damage<T>(result: Result<T, CrawlError>) -> Result<Result<T, String>, CrawlError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(CrawlError::State(RunsError::Damaged { path, offset })) => Ok(Err(format!(
            "{} is damaged at byte {offset}",
            path.display()
        ))),
        Err(CrawlError::State(RunsError::Io { path, error }))
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(Err(format!(
                "{} is not there, but the manifest names it",
                path.display()
            )))
        }
        Err(CrawlError::BadManifest { path, reason }) => {
            Ok(Err(format!("{}: {reason}", path.display())))
        }
        Err(other) => Err(other),
    }
}

/// Read every file of the state, for what is wrong with it by itself.
fn read_state(
    directory: &CrawlDirectory,
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
) -> Result<(), CrawlError> {
    let folder = StateFolder::read(disk, &directory.state());
    let views = folder.views(manifest)?;
    Views::new(directory.identity().hash_seed, views, &manifest.views).read_all()?;
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    let shard = shard_state(&config, &SystemClock::default(), folder.shard(0, manifest)?);
    shard.frontier.rows.read_all()?;
    Ok(shard.frontier.waiting(&mut |_| true)?)
}

fn compare(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    verified: &mut Verified,
    with: &mut Tell<'_>,
    progress: &mut dyn FnMut(String),
) -> Result<(), CrawlError> {
    let stopped = Stopped::open_on(disk, dir)?;
    let mut checks = Checks {
        stopped: &stopped,
        verified,
        with,
        progress,
    };
    stopped.views.read_all()?;
    stopped.shard.frontier.rows.read_all()?;
    checks.queue()?;
    checks.journal()?;
    checks.counts();
    Ok(())
}

/// The state against the journal.
struct Checks<'a, 't> {
    stopped: &'a Stopped,
    verified: &'a mut Verified,
    with: &'a mut Tell<'t>,
    progress: &'a mut dyn FnMut(String),
}

impl Checks<'_, '_> {
    fn found(&mut self, text: String) {
        self.verified.state_damages += 1;
        (self.with)(Part::State, Severity::Damage, text);
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
        if let Some(visit) = stopped.views.find(url, Mention::Visit)?
            && !stopped.views.waits_again(url, visit)?
        {
            self.found(format!("{url} waits, but was visited"));
        }
        Ok(())
    }

    /// Whatever the journal admits or visits is in the set and the index.
    fn journal(&mut self) -> Result<(), CrawlError> {
        let mut failed = Ok(());
        let folder = self.stopped.directory.journal();
        each_record(&self.stopped.disk, &folder, |_, record| {
            if failed.is_err() {
                return;
            }
            failed = match &record {
                Record::Seed(seed) if seed.sequence > 0 && !seed.again => self.admitted(&seed.url),
                Record::Admitted(admitted) => admitted
                    .entries
                    .iter()
                    .try_for_each(|entry| self.admitted(&entry.url)),
                Record::Visit(visit) => self.visited(&visit.url),
                _ => Ok(()),
            };
        })?;
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
        let duplicates = self.stopped.views.duplicates();
        let counts = self.stopped.counters.snapshot(duplicates);
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
