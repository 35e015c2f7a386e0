//! What a fetch brings home.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;
use rhumb_url::Url;

use crate::decode::unknown_coding;

/// One response, with the bytes it was made of.
///
/// `payload` and `body` share memory with `wire` wherever no framing and no
/// coding stands between them.
#[derive(Debug, Clone)]
pub struct Document {
    pub url: Url,
    pub status: u16,
    pub headers: HeaderMap,
    /// The request head, exactly as sent.
    pub request: Bytes,
    /// The response, exactly as received: status line, headers, body with its
    /// transfer framing. Interim (1xx) responses before it and stray bytes
    /// after it are not part of it.
    pub wire: Bytes,
    /// How many bytes of `wire` are status line and headers, with the empty
    /// line that ends them.
    pub head_len: usize,
    /// The body without transfer framing, content codings still on.
    pub payload: Bytes,
    /// The body without content codings.
    pub body: Bytes,
    /// Why `payload` or `body` is only a beginning.
    pub truncated: Option<Truncation>,
    /// Why the body was not read at all.
    pub unwanted: Option<Unwanted>,
    pub remote: SocketAddr,
    /// From the request to the end of the response header.
    pub first_byte: Duration,
    /// From the request to the end of the body.
    pub total: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// The body as received is longer than allowed.
    Length,
    /// The body was received whole, but is longer than allowed once decoded.
    Expanded,
    /// It took longer than allowed, or went silent.
    Time,
    /// The connection ended before the body did.
    Disconnect,
    /// A transfer or content coding is broken; the prefix is kept.
    Decode,
}

impl Truncation {
    pub fn as_str(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Expanded => "decoded-length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
            Truncation::Decode => "decode",
        }
    }
}

/// What the header said that made the body not worth reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwanted {
    /// The media type, as the header gives it.
    Type(String),
    /// The stated length.
    Size(u64),
}

/// What an earlier visit learned, to ask whether anything changed since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

impl Document {
    /// A header's first value, when it is text (ASCII or UTF-8).
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok().map(str::trim)
    }

    pub fn content_type(&self) -> Option<&str> {
        self.header("content-type")
    }

    /// A content coding that the header names and that nobody here can take
    /// off: `body` still has it on.
    pub fn unknown_coding(&self) -> Option<String> {
        unknown_coding(&self.headers)
    }

    /// Where a redirect leads, as the server wrote it. Bytes that are no UTF-8
    /// are escaped, as browsers do.
    pub fn location(&self) -> Option<Cow<'_, str>> {
        if let Some(text) = self.header("location") {
            return Some(Cow::Borrowed(text));
        }
        let bytes = self.headers.get("location")?.as_bytes().trim_ascii();
        let escaped = bytes.iter().map(|byte| match byte.is_ascii() {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02X}"),
        });
        Some(Cow::Owned(escaped.collect()))
    }

    /// How long the server asks to be left alone, seen from `now`. A date in
    /// the past is no wait at all; whoever obeys should set a limit.
    pub fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        let value = self.header("retry-after")?;
        if let Ok(seconds) = value.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let date = httpdate::parse_http_date(value).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    }

    /// What to ask with at the next visit.
    pub fn validators(&self) -> Validators {
        let owned = |name| self.header(name).map(str::to_owned);
        Validators {
            etag: owned("etag"),
            last_modified: owned("last-modified"),
        }
    }
}
