//! From a name to its addresses, with a cache, without search domains.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::{NetError, runtime::TokioRuntimeProvider};
use hickory_resolver::proto::rr::Name;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::{Failure, SetupError};

/// A name can have thousands of addresses; nobody needs more than these.
const MAX_ADDRESSES: usize = 16;

#[derive(Debug, Clone)]
pub struct DnsConfig {
    /// Name servers to ask; when there are none, those of the system.
    pub servers: Vec<SocketAddr>,
    /// Answers that are known: a name, or `*` for every name.
    pub overrides: Vec<(String, IpAddr)>,
    /// Answers that are remembered.
    pub cache_size: usize,
    /// How long to wait for one answer.
    pub timeout: Duration,
    /// How many times to ask in all.
    pub attempts: usize,
    /// Questions under way at one time; more wait their turn.
    pub max_active: usize,
}

impl Default for DnsConfig {
    fn default() -> DnsConfig {
        DnsConfig {
            servers: Vec::new(),
            overrides: Vec::new(),
            cache_size: 65_536,
            timeout: Duration::from_secs(5),
            attempts: 2,
            max_active: 512,
        }
    }
}

/// Answers where a name lives. Asks name servers over the network only: the
/// system's hosts file plays no part, its search domains neither.
pub struct Resolver {
    dns: TokioResolver,
    overrides: HashMap<Box<str>, Arc<[IpAddr]>>,
    for_all: Option<Arc<[IpAddr]>>,
    turns: Semaphore,
    patience: Duration,
}

impl Resolver {
    pub fn new(config: &DnsConfig) -> Result<Resolver, SetupError> {
        let mut given: HashMap<Box<str>, Vec<IpAddr>> = HashMap::new();
        for (name, address) in &config.overrides {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            given.entry(name.into()).or_default().push(*address);
        }
        let mut overrides: HashMap<_, Arc<[IpAddr]>> = given
            .into_iter()
            .map(|(name, addresses)| (name, addresses.into()))
            .collect();
        let attempts = u32::try_from(config.attempts.max(1)).unwrap_or(u32::MAX);
        Ok(Resolver {
            dns: build(config)?,
            for_all: overrides.remove("*"),
            overrides,
            // Every name is two questions: for IPv4 and for IPv6.
            turns: Semaphore::new((config.max_active / 2).clamp(1, Semaphore::MAX_PERMITS)),
            patience: config.timeout.saturating_mul(attempts),
        })
    }

    /// The addresses of a name, IPv4 first, a few at most. An address in
    /// text (IPv6 also in brackets) is its own answer.
    pub async fn resolve(&self, name: &str) -> Result<Arc<[IpAddr]>, Failure> {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Arc::new([address]));
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if let Some(known) = self.overrides.get(name.as_str()).or(self.for_all.as_ref()) {
            return Ok(known.clone());
        }
        // RFC 6761: these names never leave the machine.
        if name == "localhost" || name.ends_with(".localhost") {
            let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            return Ok(Arc::new(loopback));
        }
        if name.is_empty() {
            return Err(Failure::NoSuchName);
        }
        // The final dot makes it absolute: no search domain is tried.
        let absolute = Name::from_ascii(format!("{name}.")).map_err(|_| Failure::NoSuchName)?;
        self.ask(absolute).await
    }

    async fn ask(&self, name: Name) -> Result<Arc<[IpAddr]>, Failure> {
        // The semaphore is never closed; were it, asking at once is right.
        let _turn = self.turns.acquire().await.ok();
        // hickory's own time-outs are per server and per transport. This one
        // bounds the whole, with the same meaning however many there are.
        let answer = timeout(self.patience, self.dns.lookup_ip(name)).await;
        let found = answer
            .map_err(|_elapsed| Failure::DnsTimeout)?
            .map_err(failure)?;
        let addresses: Arc<[IpAddr]> = found.iter().take(MAX_ADDRESSES).collect();
        if addresses.is_empty() {
            return Err(Failure::NoSuchName);
        }
        Ok(addresses)
    }
}

fn build(config: &DnsConfig) -> Result<TokioResolver, SetupError> {
    let provider = TokioRuntimeProvider::default();
    let setup_error = |error: NetError| SetupError::Dns(error.to_string());
    let mut builder = if config.servers.is_empty() {
        TokioResolver::builder(provider).map_err(setup_error)?
    } else {
        let servers = config.servers.iter().map(name_server).collect();
        let servers = ResolverConfig::from_name_servers(servers);
        TokioResolver::builder_with_config(servers, provider)
    };
    let options = builder.options_mut();
    options.ndots = 0;
    options.timeout = config.timeout;
    // hickory counts the tries after the first.
    options.attempts = config.attempts.saturating_sub(1);
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = config.cache_size as u64;
    options.use_hosts_file = ResolveHosts::Never;
    options.max_active_requests = config.max_active.max(2);
    options.edns0 = true;
    builder.build().map_err(setup_error)
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

fn failure(error: NetError) -> Failure {
    match error {
        NetError::Timeout => Failure::DnsTimeout,
        error if error.is_no_records_found() => Failure::NoSuchName,
        error => Failure::Dns(error.to_string()),
    }
}
