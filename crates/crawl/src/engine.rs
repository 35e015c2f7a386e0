//! A crawl from opening its directory to its summary.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use rhumb_fetch::SetupError;
use rhumb_store::runs::RunsError;
use rhumb_store::{
    Clock, CrawlDirectory, DirectoryError, Disk, ForgetError, Journal, JournalError, RealDisk,
    SystemClock,
};
use rhumb_url::{Fingerprinter, Scope};

use crate::checkpoint::Checkpoints;
use crate::config::{Config, ConfigError};
use crate::control::Ending;
use crate::counters::{Counters, Snapshot};
use crate::door::{Door, Message};
use crate::handle::Handle;
use crate::identity::our_identity;
use crate::judge::LinkRules;
use crate::manifest::Manifest;
use crate::opening::{check_journals, cut_archive, hold_opened, shard_state, spool_folder};
use crate::preflight::{self, FILES_PER_SHARD};
use crate::reach::Reach;
use crate::recover::{Recovered, Recovery, ShardState};
use crate::seed_feed::SeedFeed;
use crate::seeds::Seeds;
use crate::shared::{Parts, Shared, dns_config, fetch_config};
use crate::socket::{self, AskError};
use crate::start::start_shard;
use crate::state::{StateFolder, StateKind};
use crate::summary::Summary;
use crate::views::Views;
use crate::watch::watch;

#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    State(#[from] RunsError),
    #[error(transparent)]
    Forget(#[from] ForgetError),
    #[error(
        "{}: {reason}; `rhumb rebuild` makes the state again from the journal", path.display()
    )]
    BadManifest { path: PathBuf, reason: String },
    #[error("the state could not be written: {0}")]
    Unsettled(String),
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error(
        "this crawl needs up to {needed} open files, the system allows {allowed}; \
         raise the limit (ulimit -n {needed}), or lower --connections (each takes one) \
         or --threads (each takes {})",
        FILES_PER_SHARD
    )]
    TooFewFiles { needed: u64, allowed: u64 },
    /// Whoever was handed the answer could not take it.
    #[error("the answer could not be handed on: {0}")]
    Output(std::io::Error),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("a new crawl needs a seed: a URL, or --seeds FILE")]
    NoSeeds,
    #[error("{0}")]
    Setup(#[from] SetupError),
    #[error(
        "a thread of the crawl ended by a fault of its own; `rhumb crawl --dir` goes on from the last commit"
    )]
    Crashed,
}

pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> CrawlError {
    let path = path.to_owned();
    move |error| CrawlError::Io { path, error }
}

/// Hears how the crawl goes.
pub trait Observer {
    /// Something a person should know.
    fn note(&mut self, text: &str);
    /// Several times a second.
    fn progress(&mut self, counts: &Snapshot, control: &Handle);
}

/// A crawl whose directory is locked and whose state is open.
pub struct Crawl {
    directory: CrawlDirectory,
    handle: Handle,
    shards: Vec<ShardState>,
    recovered: Recovered,
}

impl Crawl {
    pub fn open(dir: &Path, config: Config) -> Result<Crawl, CrawlError> {
        Crawl::open_with(
            dir,
            config,
            Arc::new(RealDisk),
            Arc::new(SystemClock::default()),
        )
    }

    /// Open through these doors.
    pub fn open_with(
        dir: &Path,
        config: Config,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Result<Crawl, CrawlError> {
        let mut rules = LinkRules::new(&config)?;
        fetch_config(&config)?;
        let reach = Reach::new(&config, &dns_config(&config)?);
        let needed = preflight::files_needed(&config);
        let allowed = preflight::raise_file_limit();
        if needed > allowed {
            return Err(CrawlError::TooFewFiles { needed, allowed });
        }
        let directory = CrawlDirectory::open(&disk, dir, &our_identity(&*clock))?;
        let config_path = directory.config();
        disk.replace(&config_path, config.to_kept_toml().as_bytes())
            .map_err(io_error(&config_path))?;
        // Each shard has a connection at least: with more of them than
        // connections there would be too many.
        let config = Config {
            threads: config.threads.min(config.connections).max(1),
            ..config
        };
        let journal_folder = directory.journal();
        let state_path = directory.state();
        // A state in memory begins from nothing, and leaves that on disk alone.
        let in_memory = config.state == StateKind::Memory;
        let manifest = match in_memory {
            true => Manifest::default(),
            false => Manifest::load(&*disk, &state_path)?,
        };
        check_journals(&*disk, &journal_folder, &manifest)?;
        directory.check_archive(&*disk)?;
        let (archive, synced) = (directory.warc(), manifest.synced());
        let epoch = Journal::recover_from(&disk, &journal_folder, &archive, &synced)?;
        let print = Fingerprinter::new(directory.identity().hash_seed);
        let mut scope = Scope::new(config.scope, print);
        let doors: Arc<Vec<Door>> =
            Arc::new((0..config.threads).map(|_| Door::default()).collect());
        let bells = Arc::clone(&doors);
        let state = StateFolder::open(&disk, &state_path, &config, move || {
            bells.iter().for_each(|door| door.bell.notify_one());
        })?;
        if !in_memory {
            state.remove_all_but(&manifest)?;
        }
        let checkpoints = Checkpoints::new(Arc::clone(&disk), state_path, config.threads);
        let views = Views::new(print.seed, state.views(&manifest)?, &manifest.views);
        let counters = Counters::new(config.threads);
        let mut shards = Vec::new();
        for shard in 0..config.threads {
            let tables = state.shard(shard, &manifest)?;
            shards.push(shard_state(&config, &*clock, tables));
        }
        if !manifest.shards.is_empty() {
            hold_opened(&checkpoints, &mut shards, &views);
        }
        let recovered = Recovery {
            disk: &disk,
            folder: &journal_folder,
            print: &print,
            manifest: &manifest,
            scope: &mut scope,
            views: &views,
            counters: &counters,
            now: clock.elapsed(),
            wall: clock.wall(),
            writes: true,
        }
        .run(&mut shards)?;
        let first_epoch = manifest.shards.iter().map(|part| part.own.epoch).min();
        cut_archive(&*disk, &journal_folder, &archive, &recovered, first_epoch)?;
        reach.heed(&scope);
        rules.heed(views.takedowns().in_force());
        let shared = Arc::new(Shared::new(Parts {
            config,
            rules,
            clock,
            disk,
            journal_folder,
            reach,
            spool_folder: spool_folder(dir),
            print,
            scope,
            views,
            state,
            checkpoints,
            counters,
            doors,
            epoch,
            pending: recovered.pending,
            rested: recovered.rested,
        }));
        Ok(Crawl {
            directory,
            handle: Handle::new(shared),
            shards,
            recovered,
        })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether anything was crawled here before.
    pub fn is_new(&self) -> bool {
        // Seeds alone do not tell: they may have been forgotten.
        self.recovered.seeds == 0 && self.handle.snapshot().urls_seen == 0
    }

    /// Crawl to the end, whichever comes.
    pub fn run(self, mut seeds: Seeds, observer: &mut dyn Observer) -> Result<Summary, CrawlError> {
        if self.is_new() && seeds.has_end() && seeds.first().is_none() {
            return Err(CrawlError::NoSeeds);
        }
        self.run_shards(seeds, observer, true)
    }

    /// Visit nothing: take in what the journals say and leave a checkpoint.
    pub fn settle(self, observer: &mut dyn Observer) -> Result<Summary, CrawlError> {
        let summary = self.run_shards(Seeds::none(), observer, false)?;
        // The checkpoint is all this is for: without one nothing was done.
        match summary.ending {
            Ending::Failed(reason) => Err(CrawlError::Unsettled(reason)),
            _ => Ok(summary),
        }
    }

    fn run_shards(
        self,
        seeds: Seeds,
        observer: &mut dyn Observer,
        visits: bool,
    ) -> Result<Summary, CrawlError> {
        let is_new = self.is_new();
        let Crawl {
            directory,
            handle,
            shards,
            recovered: _,
        } = self;
        let shared = Arc::clone(handle.shared());
        let fetched_before = handle.snapshot().fetched;
        let mut feed = SeedFeed::start(seeds, &shared)?;
        for gauges in &shared.counters.gauges {
            gauges.untaken.store(1, Ordering::Release);
        }
        let mut threads = Vec::new();
        for (id, state) in shards.into_iter().enumerate() {
            match start_shard(id, state, &shared, &directory) {
                Ok(started) => threads.extend(started),
                Err(error) => {
                    // None may go on once the directory is given up.
                    handle.abandon();
                    for thread in threads {
                        let _ = thread.join();
                    }
                    return Err(error);
                }
            }
        }
        let socket = socket::serve(&directory, &handle);
        if let Err(error) = &socket {
            observer.note(&format!(
                "no local socket, so other commands cannot ask this crawl: {error}"
            ));
        }
        if !visits {
            wait_until_taken_in(&handle, &threads, observer);
            handle.end(Ending::Stopped);
        }
        watch(&handle, &directory, &threads, &mut feed, observer);
        drop(socket);
        let (bad_seeds, without_seeds) = feed.finish(&shared, observer);
        let crashed = threads
            .into_iter()
            .map(JoinHandle::join)
            .filter(Result::is_err)
            .count();
        if crashed > 0 {
            return Err(CrawlError::Crashed);
        }
        count_late_commits(&shared);
        if let Err(error) = store_last_checkpoint(&shared) {
            handle.end(Ending::Failed(error.to_string()));
        }
        let ending = shared.control.ending().unwrap_or(Ending::Finished);
        if is_new && without_seeds && ending == Ending::Finished {
            return Err(CrawlError::NoSeeds);
        }
        Ok(Summary::new(
            directory.path().to_owned(),
            ending,
            handle.snapshot(),
            fetched_before,
            handle.elapsed(),
            bad_seeds,
            shared.notes.failures(),
        ))
    }
}

/// Until the shards have read all links of earlier runs.
fn wait_until_taken_in(handle: &Handle, threads: &[JoinHandle<()>], observer: &mut dyn Observer) {
    let gauges = &handle.shared().counters.gauges;
    while gauges.iter().any(|g| g.untaken.load(Ordering::Acquire) > 0)
        && !threads.iter().any(JoinHandle::is_finished)
    {
        observer.progress(&handle.snapshot(), handle);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Visits that were written after their shard had left are true as well.
fn count_late_commits(shared: &Shared) {
    let counters = &shared.counters;
    for (shard, door) in shared.doors.iter().enumerate() {
        for message in door.take_all() {
            let Message::Committed(visits) = message else {
                continue;
            };
            for committed in visits {
                counters.tallies[shard].apply(&committed.visit);
                counters.gauges[shard]
                    .queued
                    .fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Everything is written and synced: name it, so that the next start has
/// nothing to read again.
fn store_last_checkpoint(shared: &Shared) -> Result<(), CrawlError> {
    let left = shared.all_left_behind();
    let failed = matches!(shared.control.ending(), Some(Ending::Failed(_)));
    if failed || left.len() < shared.shards() {
        return Ok(());
    }
    for (shard, frozen) in left {
        shared.checkpoints.put(Some(shard), frozen)?;
    }
    let Some(views) = shared.freeze_views() else {
        return Ok(());
    };
    while !views.is_written() {
        shared.views.tend()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    shared.checkpoints.put(None, views)
}
