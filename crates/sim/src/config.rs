//! What can be set about a simulated web and its server.

use std::path::PathBuf;
use std::time::Duration;

use crate::name;

/// The settings of the pure model. The port is one of them because absolute
/// links carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebConfig {
    pub hosts: u32,
    /// HTML pages in the link trees of all hosts together. Copies, documents
    /// of other types, redirects and missing pages come on top.
    pub pages: u64,
    pub seed: u64,
    pub port: u16,
}

impl WebConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.hosts == 0 || self.hosts > name::MAX_HOSTS {
            return Err(ConfigError::Hosts { hosts: self.hosts });
        }
        if self.pages < u64::from(self.hosts) || self.pages > MAX_PAGES {
            return Err(ConfigError::Pages {
                pages: self.pages,
                hosts: self.hosts,
            });
        }
        Ok(())
    }
}

/// Above this, positions would lose exactness in the arithmetic of sizes.
const MAX_PAGES: u64 = 1 << 48;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("a simulated web has 1 to {} hosts, not {hosts}", name::MAX_HOSTS)]
    Hosts { hosts: u32 },
    #[error("{hosts} hosts need at least {hosts} pages and at most {MAX_PAGES}, not {pages}")]
    Pages { pages: u64, hosts: u32 },
}

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "cannot listen for {what} on {address}: {source}; choose another port (0 takes a free one)"
    )]
    Listen {
        what: &'static str,
        address: std::net::SocketAddr,
        source: std::io::Error,
    },
    #[error("cannot write the request log {path}: {source}; choose another file")]
    Log {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot start the server: {0}")]
    Start(std::io::Error),
    #[error("the request log cannot be written any more: {0}")]
    LogLost(std::io::Error),
    #[error("the server thread ended by a fault of its own")]
    Crashed,
}

/// Where the requests are written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Log {
    #[default]
    None,
    /// JSON lines, flushed at least every 200 milliseconds.
    File(PathBuf),
    /// Kept for [`Sim::requests`](crate::Sim::requests); what comes after
    /// `limit` requests is not kept.
    Memory { limit: usize },
}

impl Log {
    /// In memory, with a limit that any test stays under.
    pub fn memory() -> Log {
        Log::Memory { limit: 1_000_000 }
    }
}

#[derive(Debug, Clone)]
pub struct SimConfig {
    pub hosts: u32,
    pub pages: u64,
    pub seed: u64,
    /// 0: any free port.
    pub port: u16,
    /// UDP port of the name server on 127.0.0.1; `Some(0)`: any free port.
    pub dns_port: Option<u16>,
    pub log: Log,
    /// Mean time a response waits before it is sent; each URL has its own
    /// fixed share between a half and one and a half of it.
    pub latency: Duration,
    /// Connections open at once; more wait in the listener's queue.
    pub max_connections: usize,
}

impl Default for SimConfig {
    fn default() -> SimConfig {
        SimConfig {
            hosts: 20,
            pages: 1_000,
            seed: 1,
            port: 0,
            dns_port: None,
            log: Log::None,
            latency: Duration::ZERO,
            max_connections: 16_384,
        }
    }
}
