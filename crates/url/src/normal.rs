//! The normal form of a URL. `README.md` says what it does and does not do.

use std::borrow::Cow;
use std::fmt;

use crate::base::{self, Base};
use crate::host::{Host, Scheme, check_name, site_of};
use crate::percent;
use crate::refusal::Refusal;

/// Bumped whenever the same input could give another normal form: a crawl
/// directory made under another version must not be mixed with this one.
pub const NORMALISER_VERSION: u32 = 2;

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
        base::parse(input)
    }

    /// Resolve a reference found on this page (or against this base). For many
    /// references on one page, keep a [`Base`].
    pub fn join(&self, reference: &str) -> Result<Url, Refusal> {
        Base::new(self).join(reference)
    }

    /// Read back a text that [`Url::as_str`] wrote. It is checked, not brought
    /// into normal form: only for what this version of the crawl itself stored.
    pub fn from_normal(text: &str) -> Result<Url, Refusal> {
        let odd = |why: &str| Refusal::Malformed(why.to_owned());
        let (scheme, rest) = if let Some(rest) = text.strip_prefix("https://") {
            (Scheme::Https, rest)
        } else if let Some(rest) = text.strip_prefix("http://") {
            (Scheme::Http, rest)
        } else {
            return Err(odd("not a stored http or https URL"));
        };
        // A fold without an early end looks at many bytes at once.
        let strange = rest
            .bytes()
            .fold(false, |seen, b| seen | !b.is_ascii_graphic() | (b == b'#'));
        if strange {
            return Err(odd("a character that no stored URL has"));
        }
        let (authority, target) = rest
            .bytes()
            .position(|b| b == b'/')
            .map(|at| rest.split_at(at))
            .ok_or_else(|| odd("a stored URL has a path"))?;
        let name_len = match authority.bytes().rposition(|b| b == b':') {
            Some(at) if !authority.ends_with(']') => at,
            _ => authority.len(),
        };
        let port = match &authority[name_len..] {
            "" => scheme.default_port(),
            written => written[1..].parse().map_err(|_| odd("port"))?,
        };
        let name = &authority[..name_len];
        if name.bytes().any(|b| b.is_ascii_uppercase() || b == b'@') {
            return Err(odd("a host name that no stored URL has"));
        }
        check_name(name)?;
        Url::assemble(scheme, authority, name_len, port, [target, ""]).ok_or(TOO_LONG)
    }

    pub(crate) fn from_whatwg(url: &url::Url) -> Result<Url, Refusal> {
        let parts = Parts::of(url)?;
        let target = [&*parts.target, ""];
        let Parts { scheme, port, .. } = parts;
        Url::assemble(scheme, parts.authority, parts.name_len, port, target).ok_or(TOO_LONG)
    }

    /// Put normal parts together; `None` when they are too long. The target is
    /// given in two pieces so that it is copied only once.
    pub(crate) fn assemble(
        scheme: Scheme,
        authority: &str,
        name_len: usize,
        port: u16,
        target: [&str; 2],
    ) -> Option<Url> {
        let name_start = scheme.as_str().len() + 3;
        let path_start = name_start + authority.len();
        let length = path_start + target[0].len() + target[1].len();
        if length > Url::MAX_LENGTH {
            return None;
        }
        let mut text = String::with_capacity(length);
        text.push_str(scheme.as_str());
        text.push_str("://");
        text.push_str(authority);
        text.push_str(target[0]);
        text.push_str(target[1]);
        Some(Url {
            text: text.into_boxed_str(),
            name_start: name_start as u32,
            name_end: (name_start + name_len) as u32,
            path_start: path_start as u32,
            port,
            scheme,
        })
    }

    /// Another URL of the same host; `None` when it is too long.
    pub(crate) fn with_target(&self, target: [&str; 2]) -> Option<Url> {
        let name_len = self.name_end - self.name_start;
        Url::assemble(
            self.scheme,
            self.authority(),
            name_len as usize,
            self.port,
            target,
        )
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn into_string(self) -> String {
        self.text.into_string()
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

    /// What stands behind the last dot of the last path segment, as written,
    /// when it is made of letters and digits: `html` of `/a/index.html?x`.
    pub fn extension(&self) -> Option<&str> {
        let path = self.path();
        let segment = &path[path.rfind('/').map_or(0, |at| at + 1)..];
        let (stem, extension) = segment.rsplit_once('.')?;
        let is_word = !extension.is_empty() && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        (!stem.is_empty() && is_word).then_some(extension)
    }

    pub fn host(&self) -> Host {
        Host::new(self.scheme, self.name(), self.port)
    }

    /// The registered domain this URL belongs to (or its address).
    pub fn site(&self) -> &str {
        site_of(self.name())
    }
}

/// The parts of a URL's normal form, however long they are.
pub(crate) struct Parts<'a> {
    scheme: Scheme,
    authority: &'a str,
    name_len: usize,
    port: u16,
    target: Cow<'a, str>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(url: &'a url::Url) -> Result<Parts<'a>, Refusal> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => return Err(Refusal::Scheme(other.to_owned())),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
        }
        let name = url.host_str().ok_or(Refusal::NoHost)?;
        check_name(name)?;
        let rest = &url.as_str()[scheme.as_str().len() + 3..];
        let end = url.fragment().map_or(rest.len(), |fragment| {
            rest.len().saturating_sub(fragment.len() + 1)
        });
        let (authority, target) = rest[..end]
            .find('/')
            .map_or((&rest[..end], "/"), |at| rest[..end].split_at(at));
        Ok(Parts {
            scheme,
            authority,
            name_len: name.len(),
            port: url.port().unwrap_or(scheme.default_port()),
            target: percent::normal(target).map_or(Cow::Borrowed(target), Cow::Owned),
        })
    }

    pub(crate) fn text(&self) -> String {
        let (scheme, authority) = (self.scheme.as_str(), self.authority);
        format!("{scheme}://{authority}{}", self.target)
    }
}

const TOO_LONG: Refusal = Refusal::TooLong {
    limit: Url::MAX_LENGTH,
};

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
