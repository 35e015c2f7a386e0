//! A crawl from opening its directory to its summary.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;

use rhumb_fetch::SetupError;
use rhumb_frontier::{AddressBench, Frontier, MemorySet, Pace, UrlSet};
use rhumb_store::{
    Clock, CrawlDirectory, DirectoryError, Disk, Journal, JournalError, RealDisk, SystemClock,
    is_archive_name,
};
use rhumb_url::{Fingerprinter, Scope, Url};

use crate::budget::PageBudget;
use crate::config::{Config, ConfigError};
use crate::content::ContentSeen;
use crate::control::{Control, Ending, Pending};
use crate::counters::{Counters, Snapshot};
use crate::door::Door;
use crate::exchange::Exchange;
use crate::handle::Handle;
use crate::judge::LinkRules;
use crate::notes::Notes;
use crate::preflight;
use crate::recover::{Recovered, Recovery, ShardState, our_identity};
use crate::seeds::Seeds;
use crate::shared::{Shared, dns_config, fetch_config};
use crate::socket;
use crate::start::start_shard;
use crate::summary::Summary;
use crate::watch::{watch, watch_disk};

/// Seeds that travel to a shard together.
const SEEDS_AT_A_TIME: usize = 512;
/// Mistakes among the seeds that are told one by one.
const MISTAKES_TOLD: u64 = 10;

#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error(
        "this crawl needs up to {needed} open files, the system allows {allowed}; \
         raise the limit (ulimit -n {needed}) or lower --connections"
    )]
    TooFewFiles { needed: u64, allowed: u64 },
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

/// A crawl whose directory is locked and whose state is in memory.
pub struct Crawl {
    directory: CrawlDirectory,
    handle: Handle,
    shards: Vec<ShardState>,
    epoch: u32,
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
        let rules = LinkRules::new(&config)?;
        fetch_config(&config)?;
        dns_config(&config)?;
        let needed = preflight::files_needed(&config);
        let allowed = preflight::raise_file_limit();
        if needed > allowed {
            return Err(CrawlError::TooFewFiles { needed, allowed });
        }
        let directory = CrawlDirectory::open(&disk, dir, &our_identity(&*clock))?;
        let config_path = directory.config();
        disk.replace(&config_path, config.to_toml().as_bytes())
            .map_err(io_error(&config_path))?;
        let journal_folder = directory.journal();
        let epoch = Journal::recover(&disk, &journal_folder, &directory.warc())?;
        let print = Fingerprinter::new(directory.identity().hash_seed);
        let mut scope = Scope::new(config.scope, print);
        let content = ContentSeen::new();
        let counters = Counters::new(config.threads);
        let mut shards: Vec<ShardState> = (0..config.threads)
            .map(|_| new_shard_state(&config))
            .collect();
        let recovered = Recovery {
            disk: &disk,
            folder: &journal_folder,
            print: &print,
            scope: &mut scope,
            content: &content,
            counters: &counters,
            delay: config.delay,
            now: clock.elapsed(),
            wall: clock.wall(),
        }
        .run(&mut shards)?;
        cut_archive(&*disk, &directory.warc(), &recovered)?;
        let seen: u64 = shards.iter().map(|s| s.set.count()).sum();
        counters.urls_seen.store(seen, Ordering::Relaxed);
        let pending = Pending::default();
        pending.add(recovered.pending);
        let fetched = counters.snapshot().fetched;
        let shared = Arc::new(Shared {
            rules,
            agent_token: rhumb_robots::product_token(&config.agent).to_owned(),
            journal_folder,
            print,
            scope: RwLock::new(scope),
            content,
            counters,
            notes: Notes::default(),
            control: Control::default(),
            pending,
            budget: PageBudget::new(config.max_pages.0, fetched),
            addresses: AddressBench::new(config.per_address, config.address_delay),
            exchange: Exchange::new(config.threads, config.exchange_batches),
            doors: (0..config.threads).map(|_| Door::default()).collect(),
            clock: Arc::clone(&clock),
            disk,
            config,
        });
        Ok(Crawl {
            directory,
            handle: Handle::new(shared),
            shards,
            epoch,
            recovered,
        })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether anything was crawled here before.
    pub fn is_new(&self) -> bool {
        self.recovered.seeds == 0
    }

    /// Crawl to the end, whichever comes.
    pub fn run(self, seeds: Seeds, observer: &mut dyn Observer) -> Result<Summary, CrawlError> {
        if self.is_new() && seeds.first().is_none() {
            return Err(CrawlError::NoSeeds);
        }
        let Crawl {
            directory,
            handle,
            shards,
            epoch,
            recovered: _,
        } = self;
        let shared = Arc::clone(handle.shared());
        let fetched_before = handle.snapshot().fetched;
        // The seeds are work too, until they have all been handed over.
        shared.pending.add(1);
        let mut threads = Vec::new();
        for (id, state) in shards.into_iter().enumerate() {
            threads.extend(start_shard(id, state, &shared, &directory, epoch)?);
        }
        let socket = socket::serve(&directory, &handle);
        if let Err(error) = &socket {
            observer.note(&format!(
                "no local socket, so other commands cannot ask this crawl: {error}"
            ));
        }
        let bad_seeds = hand_over_seeds(&shared, seeds, observer);
        shared.pending.done(1);
        watch_disk(&handle, &directory, observer);
        shared.control.open();
        shared.ring_all();
        watch(&handle, &directory, &threads, observer);
        drop(socket);
        let crashed = threads
            .into_iter()
            .map(JoinHandle::join)
            .filter(Result::is_err)
            .count();
        if crashed > 0 {
            return Err(CrawlError::Crashed);
        }
        let ending = shared.control.ending().unwrap_or(Ending::Finished);
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

pub(crate) fn new_shard_state(config: &Config) -> ShardState {
    ShardState {
        frontier: Frontier::new(
            config.order,
            Pace {
                per_host: config.per_host,
                delay: config.delay,
                // An address that needs rest needs it after every visit.
                visits_per_turn: match config.address_delay.is_zero() {
                    true => config.visits_per_turn,
                    false => 1,
                },
            },
        ),
        set: MemorySet::default(),
        given_up: Default::default(),
        unadmitted: Vec::new(),
    }
}

/// Archive records that no journal names were never committed: cut them off.
fn cut_archive(disk: &dyn Disk, folder: &Path, recovered: &Recovered) -> Result<(), CrawlError> {
    let names = disk.list(folder).map_err(io_error(folder))?;
    // A file that somebody else put there is not ours to cut.
    for name in names.iter().filter(|name| is_archive_name(name)) {
        let path = folder.join(name);
        let length = disk
            .open(&path)
            .and_then(|file| file.length())
            .map_err(io_error(&path))?;
        match recovered.archive_ends.get(name).copied() {
            None => disk.remove(&path).map_err(io_error(&path))?,
            Some(end) if length > end => disk.cut(&path, end).map_err(io_error(&path))?,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Stream the seeds to the shards that own them. Returns how many were none.
fn hand_over_seeds(shared: &Shared, seeds: Seeds, observer: &mut dyn Observer) -> u64 {
    let mut batches: Vec<Vec<Url>> = vec![Vec::new(); shared.shards()];
    let mut bad = 0;
    let send = |shard: usize, batch: &mut Vec<Url>| {
        if !batch.is_empty() {
            shared.pending.add(1);
            shared.doors[shard].put_seeds(std::mem::take(batch), None);
        }
    };
    let mut mistakes: Vec<String> = seeds.skipped().iter().map(ToString::to_string).collect();
    let mut seeds = seeds.urls();
    loop {
        for mistake in mistakes.drain(..) {
            bad += 1;
            if bad <= MISTAKES_TOLD {
                observer.note(&format!("passed over: {mistake}"));
            }
        }
        if shared.control.is_ending() {
            break;
        }
        match seeds.next() {
            None => break,
            Some(Err(error)) => mistakes.push(error.to_string()),
            Some(Ok(url)) => {
                shared.open_scope(&url);
                let shard = shared.owner_of(&url);
                batches[shard].push(url);
                if batches[shard].len() >= SEEDS_AT_A_TIME {
                    send(shard, &mut batches[shard]);
                }
            }
        }
    }
    for (shard, batch) in batches.iter_mut().enumerate() {
        send(shard, batch);
    }
    if bad > MISTAKES_TOLD {
        observer.note(&format!("passed over {bad} lines of the seeds in all"));
    }
    bad
}
