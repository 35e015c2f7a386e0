//! Work on a crawl that does not run: rebuild, compact, forget.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rhumb_store::{
    Clock, CompactOptions, CompactReport, CrawlDirectory, Disk, ForgetReport, Journal, RealDisk,
    SystemClock, compact, forget, lift,
};

use crate::config::Config;
use crate::engine::{Crawl, CrawlError, Observer};
use crate::forgotten::Forgotten;
use crate::identity::our_identity;
use crate::listing::open;
use crate::manifest::Manifest;
use crate::opening::check_journals;
use crate::state::StateFolder;
use crate::summary::Summary;
use crate::takedowns::Takedowns;

/// The directory, locked, and its disk.
fn locked(dir: &Path) -> Result<(CrawlDirectory, Arc<dyn Disk>), CrawlError> {
    open(dir)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let identity = our_identity(&SystemClock::default());
    let directory = CrawlDirectory::open(&disk, dir, &identity)?;
    Ok((directory, disk))
}

/// Cut torn tails, as a start does. A journal that has lost what the state
/// speaks of is refused: the work would take the state away, and with it the
/// knowledge that something is lost.
fn recover(directory: &CrawlDirectory, disk: &Arc<dyn Disk>) -> Result<(), CrawlError> {
    let manifest = match Manifest::load(&**disk, &directory.state()) {
        // It says nothing, and is made again.
        Err(CrawlError::BadManifest { .. }) => Manifest::default(),
        other => other?,
    };
    let (journal, archive) = (directory.journal(), directory.warc());
    check_journals(&**disk, &journal, &manifest)?;
    Journal::recover_from(disk, &journal, &archive, &manifest.synced())?;
    Ok(())
}

/// Make all state again from the journal.
pub fn rebuild(
    dir: &Path,
    config: Config,
    observer: &mut dyn Observer,
) -> Result<Summary, CrawlError> {
    let (directory, disk) = locked(dir)?;
    directory.check_archive(&*disk)?;
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
    recover(&directory, &disk)?;
    let options = CompactOptions {
        memory: config.memory.0,
        last_segments: true,
    };
    // The views lead to visits that may go: to a document's first one, whose
    // links a later copy would refer to, and to pages with refused links.
    let mut outdated = false;
    let report = compact(&disk, &folder, &options, &mut || {
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
    recover(&directory, &disk)?;
    let state = directory.state();
    // Once the new files are there, and before they count: if this is
    // interrupted then, the next start makes the state again from whatever
    // the journal says.
    let mut remove_state = || {
        Manifest::remove(&*disk, &state).map_err(io::Error::other)?;
        // A state in memory would leave them there, with all they name.
        let runs = StateFolder::read(&disk, &state).remove_all_but(&Manifest::default());
        runs.map_err(io::Error::other)
    };
    let now = SystemClock::default().wall();
    let matches = |url: &str| what.matches(url);
    let (journal, archive) = (directory.journal(), directory.warc());
    let report = forget(
        &disk,
        &journal,
        &archive,
        what.as_str(),
        &matches,
        now,
        &mut remove_state,
    )?;
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
