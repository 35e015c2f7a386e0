//! Host (scheme, name and port) and site (registered domain).

use std::fmt;

use crate::refusal::Refusal;

/// The longest host name that DNS carries, without a trailing dot.
pub(crate) const MAX_NAME: usize = 253;
/// The longest part of a host name between dots.
pub(crate) const MAX_LABEL: usize = 63;

/// The release of the public suffix list that is compiled in: part of a
/// crawl's identity, because sites and so partitions follow from it.
const SUFFIX_LIST: &str = "psl-2.1.246";

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
/// and a name that is itself a public suffix, is a site of its own. A trailing
/// dot does not make another site.
pub fn site_of(name: &str) -> &str {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.starts_with('[') || name.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return name;
    }
    psl::domain_str(name).unwrap_or(name)
}

/// Names the public suffix list that [`site_of`] uses.
pub fn suffix_list_version() -> &'static str {
    SUFFIX_LIST
}

/// Refuse names that no resolver can look up.
pub(crate) fn check_name(name: &str) -> Result<(), Refusal> {
    if name.starts_with('[') {
        return Ok(());
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        return Err(Refusal::NoHost);
    }
    let wrong = if name.len() > MAX_NAME {
        "host name longer than 253 bytes"
    } else {
        let (mut label, mut longest, mut empty) = (0, 0, false);
        for byte in name.bytes() {
            if byte == b'.' {
                empty |= label == 0;
                label = 0;
            } else {
                label += 1;
                longest = longest.max(label);
            }
        }
        if empty || label == 0 {
            "host name with an empty part"
        } else if longest > MAX_LABEL {
            "host name with a part longer than 63 bytes"
        } else {
            return Ok(());
        }
    };
    Err(Refusal::Malformed(wrong.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_registered_domain() {
        for (name, site) in [
            ("example.org", "example.org"),
            ("www.example.org", "example.org"),
            ("www.example.org.", "example.org"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("com", "com"),
            ("localhost", "localhost"),
            ("a.shop.test", "shop.test"),
            ("shop.test", "shop.test"),
            ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
            ("alice.github.io", "alice.github.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(site_of(name), site, "{name}");
        }
    }

    /// The version is a constant so that it needs no build script; this test
    /// fails when the list is updated and the constant is not.
    #[test]
    fn the_suffix_list_version_is_that_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        let version = lock
            .split("[[package]]")
            .find(|package| package.contains("name = \"psl\"\n"))
            .and_then(|package| package.split("version = \"").nth(1))
            .and_then(|rest| rest.split('"').next());
        assert_eq!(
            version.map(|v| format!("psl-{v}")).as_deref(),
            Some(suffix_list_version())
        );
    }

    #[test]
    fn names_that_dns_cannot_carry_are_refused() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", &label[..61]);
        assert_eq!(longest.len(), MAX_NAME);
        assert_eq!(check_name(&longest), Ok(()));
        assert_eq!(check_name(&format!("{longest}.")), Ok(()));
        assert!(check_name(&format!("{longest}a")).is_err());
        assert!(check_name(&format!("{label}a.example")).is_err());
        assert!(check_name("a..b").is_err());
        assert_eq!(check_name("."), Err(Refusal::NoHost));
    }
}
