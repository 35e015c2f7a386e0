//! HTTP/1.1 over hyper's low-level connection.
//!
//! One task owns one connection and drives it while it asks: there is no
//! second task, no channel to it and no wake-up between the two.

mod connection;
mod exchange;
mod framing;
mod request;
mod tape;
mod timer;

use http::HeaderMap;
use hyper::client::conn::http1::Builder;

use crate::{FetchConfig, SetupError};

pub use connection::Connection;

/// hyper's buffer for each connection: it grows up to this while bodies come
/// in fast, so it is kept well below hyper's own 400 KB.
const BUFFER: usize = 64 << 10;

/// A header map takes no more than twice this, and panics at it.
const MOST_HEADERS: usize = 16 << 10;

/// What all HTTP/1 connections of a fetcher share.
pub(crate) struct Http1 {
    pub(crate) config: FetchConfig,
    template: HeaderMap,
    builder: Builder,
}

impl Http1 {
    pub(crate) fn new(config: FetchConfig) -> Result<Http1, SetupError> {
        let mut builder = Builder::new();
        builder
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_header_size(config.max_header_bytes)
            .max_headers(config.max_headers.clamp(1, MOST_HEADERS))
            .max_buf_size(config.max_header_bytes.max(BUFFER));
        Ok(Http1 {
            template: request::template(&config)?,
            builder,
            config,
        })
    }
}
