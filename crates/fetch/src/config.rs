//! What the owner of a crawl can set.

use std::time::Duration;

use crate::{Guard, Spool, WantedTypes};

#[derive(Debug, Clone)]
pub struct FetchConfig {
    /// The `User-Agent` header.
    pub agent: String,
    /// For each address that is tried, TLS handshake included.
    pub connect_timeout: Duration,
    /// From the request to the end of the response header.
    pub first_byte_timeout: Duration,
    /// The longest silence within a body.
    pub idle_timeout: Duration,
    /// From the request to the end of the body.
    pub total_timeout: Duration,
    /// For the payload as received and for the decoded body, each.
    pub max_body: u64,
    pub max_header_bytes: usize,
    /// Header fields of one response, within `max_header_bytes`.
    pub max_headers: usize,
    pub wanted: WantedTypes,
    /// Sent with every request; replaces a default header of the same name.
    pub headers: Vec<(String, String)>,
    /// Whether a server must show a certificate that a known authority signed.
    pub verify_tls: bool,
    /// Where long responses wait, and how much of them may be in memory.
    pub spool: Spool,
    /// Which addresses may be connected to.
    pub guard: Guard,
}

impl Default for FetchConfig {
    fn default() -> FetchConfig {
        FetchConfig {
            agent: "rhumb".to_owned(),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_secs(300),
            max_body: 16 << 20,
            max_header_bytes: 128 << 10,
            max_headers: 512,
            wanted: WantedTypes::all(),
            headers: Vec::new(),
            verify_tls: true,
            spool: Spool::default(),
            guard: Guard::open(),
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("`{0}` cannot stand in a User-Agent header")]
    Agent(String),
    #[error("header `{0}` is not valid, or is one that the fetcher sets itself")]
    Header(String),
    #[error("`{0}` is not a media type such as text/html, text/* or */*")]
    MediaRange(String),
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    #[error("the resolver cannot be set up: {0}")]
    Dns(String),
}
