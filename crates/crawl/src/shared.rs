//! What the shards of a crawl share.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rhumb_fetch::{DnsConfig, FetchConfig, Spool, WantedTypes};
use rhumb_frontier::AddressBench;
use rhumb_store::{Clock, Disk, Position};
use rhumb_url::{Fingerprinter, Scope, Url};

use crate::budget::{ByteBudget, PageBudget};
use crate::checkpoint::{Checkpoints, Frozen};
use crate::config::{Config, ConfigError};
use crate::control::{Control, Pending};
use crate::counters::Counters;
use crate::door::{Door, SeedBatch};
use crate::exchange::Exchange;
use crate::judge::LinkRules;
use crate::manifest::Mark;
use crate::notes::Notes;
use crate::reach::Reach;
use crate::state::StateFolder;
use crate::throttle::Throttle;
use crate::views::Views;

pub struct Shared {
    pub config: Config,
    pub rules: LinkRules,
    pub agent_token: String,
    pub clock: Arc<dyn Clock>,
    pub disk: Arc<dyn Disk>,
    pub journal_folder: PathBuf,
    pub print: Fingerprinter,
    pub scope: RwLock<Scope>,
    pub views: Views,
    pub state: StateFolder,
    pub checkpoints: Checkpoints,
    /// Checkpoints that people have asked for.
    checkpoints_asked: AtomicU64,
    /// The last of those that each shard has made.
    pub checkpointed: Vec<AtomicU64>,
    /// The last checkpoints of shards that have left.
    left: Mutex<Vec<(usize, Frozen)>>,
    pub epoch: u32,
    /// The last record of each shard's journal that was synced in this run.
    pub synced: Vec<AtomicU64>,
    /// The last visit of each shard whose links were sent in this run.
    pub applied: Vec<AtomicU64>,
    pub counters: Counters,
    pub notes: Notes,
    pub control: Control,
    pub pending: Pending,
    pub budget: PageBudget,
    pub byte_budget: ByteBudget,
    pub addresses: AddressBench,
    pub throttle: Throttle,
    pub spool: Spool,
    pub reach: Reach,
    pub exchange: Exchange,
    pub doors: Arc<Vec<Door>>,
}

/// What a crawl is started with.
pub struct Parts {
    pub config: Config,
    pub rules: LinkRules,
    pub clock: Arc<dyn Clock>,
    pub disk: Arc<dyn Disk>,
    pub journal_folder: PathBuf,
    pub reach: Reach,
    /// For files that end with the process.
    pub spool_folder: PathBuf,
    pub print: Fingerprinter,
    pub scope: Scope,
    pub views: Views,
    pub state: StateFolder,
    pub checkpoints: Checkpoints,
    pub counters: Counters,
    pub doors: Arc<Vec<Door>>,
    pub epoch: u32,
    pub pending: usize,
    /// How long the crawl had rested before this run.
    pub rested: Duration,
}

impl Shared {
    pub fn new(parts: Parts) -> Shared {
        let config = parts.config;
        let pending = Pending::default();
        pending.add(parts.pending);
        let mut addresses = AddressBench::new(config.per_address, config.address_delay);
        addresses.resume(parts.clock.elapsed(), parts.rested);
        let zeros = || (0..config.threads).map(|_| AtomicU64::new(0)).collect();
        Shared {
            rules: parts.rules,
            agent_token: rhumb_robots::product_token(&config.agent).to_owned(),
            clock: parts.clock,
            disk: parts.disk,
            journal_folder: parts.journal_folder,
            print: parts.print,
            scope: RwLock::new(parts.scope),
            views: parts.views,
            state: parts.state,
            checkpoints: parts.checkpoints,
            checkpoints_asked: AtomicU64::new(0),
            checkpointed: zeros(),
            left: Mutex::default(),
            epoch: parts.epoch,
            synced: zeros(),
            applied: zeros(),
            notes: Notes::default(),
            control: Control::default(),
            pending,
            budget: PageBudget::new(config.max_pages.0, parts.counters.fetched()),
            byte_budget: ByteBudget::new(config.max_bytes.0, parts.counters.bytes()),
            addresses,
            throttle: Throttle::new(config.max_rate.0, config.max_bandwidth.0),
            reach: parts.reach,
            spool: Spool::new(parts.spool_folder, config.document_memory.0),
            exchange: Exchange::new(config.threads, config.exchange_batches),
            counters: parts.counters,
            doors: parts.doors,
            config,
        }
    }

    pub fn shards(&self) -> usize {
        self.doors.len()
    }

    /// Whether a loss of power leaves what stands here. What earlier runs left
    /// was synced when this one began.
    pub fn is_synced(&self, journal: u16, mark: Mark) -> bool {
        let synced = self.synced.get(usize::from(journal));
        mark.epoch < self.epoch
            || synced.is_none_or(|synced| synced.load(Ordering::Acquire) >= mark.sequence)
    }

    /// Whether a shard's next visit may refer to what stands here: a loss of
    /// power must not leave the one without the other. A journal is cut from
    /// its end, so what stands in the shard's own goes after the visit.
    pub fn outlives_next_visit(&self, position: Position, shard: usize) -> bool {
        usize::from(position.journal) == shard
            || self.is_synced(position.journal, Mark::from(position))
    }

    pub fn checkpoints_asked(&self) -> u64 {
        self.checkpoints_asked.load(Ordering::Acquire)
    }

    /// Let every shard make a checkpoint now; its number.
    pub fn ask_for_checkpoint(&self) -> u64 {
        let number = self.checkpoints_asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.ring_all();
        number
    }

    /// Whether every shard has made the checkpoint of this number.
    pub fn is_checkpointed(&self, number: u64) -> bool {
        let mut made = self.checkpointed.iter();
        made.all(|made| made.load(Ordering::Acquire) >= number)
    }

    /// What the shards share, as of now.
    pub fn freeze_views(&self) -> Option<Frozen> {
        let (part, tables) = self.views.snapshot()?;
        Some(Frozen::Views {
            part: Box::new(part),
            tables,
        })
    }

    /// A shard has left, with all it wrote behind it.
    pub fn left_behind(&self, shard: usize, frozen: Frozen) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push((shard, frozen));
    }

    /// The last checkpoints of all shards, when all have left in good order.
    pub fn all_left_behind(&self) -> Vec<(usize, Frozen)> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *left)
    }

    /// The shard that a URL belongs to.
    pub fn owner_of(&self, url: &Url) -> usize {
        self.print.partition(url.site()).shard(self.shards())
    }

    /// Why a seed is not taken.
    pub fn refuses_seed(&self, seed: &Url) -> Option<String> {
        match self.rules.takedown_of(seed) {
            Some(what) => Some(format!(
                "{seed}: it was forgotten on request; `rhumb forget --allow {what}` lifts that"
            )),
            None => self.reach.lacks_contact(seed),
        }
    }

    /// Give seeds to the shard that owns them. They open the scope to what
    /// they stand for: all under one lock, which holds up whoever reads pages.
    pub fn hand_over_seeds(&self, shard: usize, batch: SeedBatch) {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        batch.urls.iter().for_each(|seed| scope.add_seed(seed));
        self.reach.heed(&scope);
        drop(scope);
        self.pending.add(1);
        self.doors[shard].put_seeds(batch);
    }

    /// Something changed that every shard should look at.
    pub fn ring_all(&self) {
        for door in self.doors.iter() {
            door.bell.notify_one();
        }
    }
}

/// The fetch room's settings.
pub fn fetch_config(config: &Config) -> Result<FetchConfig, ConfigError> {
    let wanted = WantedTypes::parse(&config.types)
        .map_err(|error| ConfigError::value("types", error.to_string()))?;
    Ok(FetchConfig {
        agent: config.agent.clone(),
        connect_timeout: config.connect_timeout,
        first_byte_timeout: config.first_byte_timeout,
        idle_timeout: config.idle_timeout,
        total_timeout: config.total_timeout,
        max_body: config.max_body.0,
        max_header_bytes: config.max_header.0 as usize,
        max_headers: config.max_headers,
        wanted,
        verify_tls: config.verify_tls,
        ..FetchConfig::default()
    })
}

/// `HOST=ADDRESS`; the host may be `*`, for every name.
fn fixed_answer(text: &str) -> Result<(String, IpAddr), String> {
    let Some((host, address)) = text.split_once('=') else {
        return Err(format!(
            "`{text}` is not HOST=ADDRESS, such as example.org=127.0.0.1"
        ));
    };
    let (host, address) = (host.trim(), address.trim());
    let name = match host {
        "*" => Some(host.to_owned()),
        _ => Url::parse(&format!("http://{host}/"))
            .ok()
            .filter(|_| !host.contains([':', '/', '?', '#', '@']))
            .map(|url| url.name().to_owned()),
    };
    let name = name.ok_or_else(|| {
        format!("`{host}` is not a host name; write HOST=ADDRESS, without a scheme and a port")
    })?;
    if address.parse::<SocketAddr>().is_ok() {
        return Err(format!(
            "`{text}`: write the address without a port; the port is the URL's"
        ));
    }
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let address = bare
        .parse()
        .map_err(|_| format!("`{address}` is not an IP address, such as 127.0.0.1"))?;
    Ok((name, address))
}

/// The resolver's settings, its lists checked.
pub fn dns_config(config: &Config) -> Result<DnsConfig, ConfigError> {
    let mut servers = Vec::new();
    for text in &config.dns {
        let server: SocketAddr = text
            .parse()
            .or_else(|_| text.parse().map(|address: IpAddr| (address, 53).into()))
            .map_err(|_| {
                ConfigError::value(
                    "dns",
                    format!("`{text}` is not ADDRESS:PORT, such as 9.9.9.9:53"),
                )
            })?;
        if server.port() == 0 {
            return Err(ConfigError::value(
                "dns",
                format!("`{text}`: nobody answers at port 0; name servers do at 53"),
            ));
        }
        servers.push(server);
    }
    let mut overrides = Vec::new();
    for text in &config.resolve {
        let fixed = fixed_answer(text);
        overrides.push(fixed.map_err(|reason| ConfigError::value("resolve", reason))?);
    }
    Ok(DnsConfig {
        servers,
        overrides,
        cache_size: config.dns_cache,
        timeout: config.dns_timeout,
        ..DnsConfig::default()
    })
}
