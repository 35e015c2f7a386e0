//! What the shards of a crawl share.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rhumb_fetch::{DnsConfig, FetchConfig, WantedTypes};
use rhumb_frontier::AddressBench;
use rhumb_store::{Clock, Disk};
use rhumb_url::{Fingerprinter, Scope, Url};

use crate::budget::PageBudget;
use crate::config::{Config, ConfigError};
use crate::content::ContentSeen;
use crate::control::{Control, Pending};
use crate::counters::Counters;
use crate::door::Door;
use crate::exchange::Exchange;
use crate::judge::LinkRules;
use crate::notes::Notes;

pub struct Shared {
    pub config: Config,
    pub rules: LinkRules,
    pub agent_token: String,
    pub clock: Arc<dyn Clock>,
    pub disk: Arc<dyn Disk>,
    pub journal_folder: PathBuf,
    pub print: Fingerprinter,
    pub scope: RwLock<Scope>,
    pub content: ContentSeen,
    pub counters: Counters,
    pub notes: Notes,
    pub control: Control,
    pub pending: Pending,
    pub budget: PageBudget,
    pub addresses: AddressBench,
    pub exchange: Exchange,
    pub doors: Vec<Door>,
}

impl Shared {
    pub fn shards(&self) -> usize {
        self.doors.len()
    }

    /// The shard that a URL belongs to.
    pub fn owner_of(&self, url: &Url) -> usize {
        self.print.partition(url.site()).shard(self.shards())
    }

    /// A seed opens the scope to what it stands for.
    pub fn open_scope(&self, seed: &Url) {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope.add_seed(seed);
    }

    /// Something changed that every shard should look at.
    pub fn ring_all(&self) {
        for door in &self.doors {
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
        wanted,
        verify_tls: config.verify_tls,
        ..FetchConfig::default()
    })
}

/// The resolver's settings, its lists checked.
pub fn dns_config(config: &Config) -> Result<DnsConfig, ConfigError> {
    let mut servers = Vec::new();
    for text in &config.dns {
        let server: SocketAddr = text
            .parse()
            .or_else(|_| text.parse().map(|address: IpAddr| (address, 53).into()))
            .map_err(|_| ConfigError::value("dns", format!("`{text}` is not ADDRESS:PORT")))?;
        servers.push(server);
    }
    let mut overrides = Vec::new();
    for text in &config.resolve {
        let pair = text.split_once('=').and_then(|(host, address)| {
            Some((host.trim().to_owned(), address.trim().parse().ok()?))
        });
        overrides.push(pair.ok_or_else(|| {
            ConfigError::value("resolve", format!("`{text}` is not HOST=ADDRESS"))
        })?);
    }
    Ok(DnsConfig {
        servers,
        overrides,
        cache_size: config.dns_cache,
        timeout: config.dns_timeout,
        ..DnsConfig::default()
    })
}
