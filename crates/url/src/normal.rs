//! The normal form of a URL, and the reasons a reference can have none.

use std::fmt;

use crate::host::{Host, Scheme, site_of};

/// Bumped whenever the same input could give another normal form: a crawl
/// directory made under another version must not be mixed with this one.
pub const NORMALISER_VERSION: u32 = 1;

/// Why a reference is not a URL that the crawl can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("not a URL: {0}")]
    Malformed(String),
    #[error("scheme `{0}` is not crawled")]
    Scheme(String),
    #[error("it carries a user name or password")]
    Credentials,
    #[error("it names no host")]
    NoHost,
    #[error("longer than {limit} bytes")]
    TooLong { limit: usize },
}

/// An absolute http or https URL in normal form, without a fragment.
///
/// Equality and order are those of the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Url {
    text: Box<str>,
    name_start: u32,
    name_end: u32,
    path_start: u32,
    port: u16,
    scheme: Scheme,
}

impl Url {
    /// The longest URL the crawl holds.
    pub const MAX_LENGTH: usize = 2048;

    /// Bring an absolute URL into normal form.
    pub fn parse(input: &str) -> Result<Url, Refusal> {
        Url::from_whatwg(url::Url::parse(input).map_err(|e| Refusal::Malformed(e.to_string()))?)
    }

    /// Resolve a reference found on this page (or against this base).
    pub fn join(&self, reference: &str) -> Result<Url, Refusal> {
        let base = url::Url::parse(&self.text).map_err(|e| Refusal::Malformed(e.to_string()))?;
        Url::from_whatwg(
            base.join(reference)
                .map_err(|e| Refusal::Malformed(e.to_string()))?,
        )
    }

    fn from_whatwg(mut url: url::Url) -> Result<Url, Refusal> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => return Err(Refusal::Scheme(other.to_owned())),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
        }
        url.set_fragment(None);
        let name = url.host_str().ok_or(Refusal::NoHost)?;
        let text = url.as_str();
        if text.len() > Url::MAX_LENGTH {
            return Err(Refusal::TooLong {
                limit: Url::MAX_LENGTH,
            });
        }
        let name_start = scheme.as_str().len() + 3;
        let name_end = name_start + name.len();
        let path_start = text[name_end..]
            .find('/')
            .map_or(text.len(), |at| name_end + at);
        Ok(Url {
            name_start: name_start as u32,
            name_end: name_end as u32,
            path_start: path_start as u32,
            port: url.port_or_known_default().unwrap_or(scheme.default_port()),
            scheme,
            text: text.into(),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Lower-case ASCII name, or address (IPv6 in brackets).
    pub fn name(&self) -> &str {
        &self.text[self.name_start as usize..self.name_end as usize]
    }

    /// The port, also when it is the scheme's default.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Name and, unless it is the default, port: what the `Host` header says.
    pub fn authority(&self) -> &str {
        &self.text[self.name_start as usize..self.path_start as usize]
    }

    /// Scheme, name and port: `http://example.org:8080`.
    pub fn origin(&self) -> &str {
        &self.text[..self.path_start as usize]
    }

    /// Path and query, always beginning with `/`: what the request line says.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.path_start as usize..]
    }

    pub fn path(&self) -> &str {
        let target = self.path_and_query();
        &target[..target.find('?').unwrap_or(target.len())]
    }

    pub fn query(&self) -> Option<&str> {
        self.path_and_query().split_once('?').map(|(_, q)| q)
    }

    pub fn host(&self) -> Host {
        Host::new(self.scheme, self.name(), self.port)
    }

    /// The registered domain this URL belongs to (or its address).
    pub fn site(&self) -> &str {
        site_of(self.name())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.text)
    }
}
