//! Host (scheme, name and port) and site (registered domain).

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// The unit of robots.txt: scheme, name and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    pub scheme: Scheme,
    pub name: Box<str>,
    pub port: u16,
}

impl Host {
    pub fn new(scheme: Scheme, name: &str, port: u16) -> Host {
        Host {
            scheme,
            name: name.into(),
            port,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.name)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

/// The registered domain of a host name by the public suffix list. An address,
/// and a name that is itself a public suffix, is a site of its own.
pub fn site_of(name: &str) -> &str {
    if name.starts_with('[') || name.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return name;
    }
    psl::domain_str(name).unwrap_or(name)
}
