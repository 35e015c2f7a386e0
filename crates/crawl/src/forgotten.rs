//! Which URLs a takedown is about.

use rhumb_url::Url;

/// What is to be forgotten: a host name with all below it, or everything
/// that begins like a URL.
pub enum Forgotten {
    Host(String),
    Prefix(String),
}

impl Forgotten {
    /// `example.org`, or `https://example.org/private/`.
    pub fn parse(text: &str) -> Result<Forgotten, String> {
        if text.contains('*') {
            return Err(
                "patterns are not known: a host name stands for all names below it too".to_owned(),
            );
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.contains("://") {
            let url = Url::parse(text).map_err(|why| why.to_string())?;
            return Ok(Forgotten::Prefix(url.as_str().to_owned()));
        }
        let url = Url::parse(&format!("http://{text}/")).map_err(|why| why.to_string())?;
        if url.path() != "/" || url.authority() != url.name() {
            return Err(
                "give a host name, or a URL that begins with http:// or https://".to_owned(),
            );
        }
        Ok(Forgotten::Host(url.name().to_owned()))
    }

    /// As it is written down: the name or the URL in normal form.
    pub fn as_str(&self) -> &str {
        match self {
            Forgotten::Host(text) | Forgotten::Prefix(text) => text,
        }
    }

    /// Also for what is no URL, but names a page: links that were refused
    /// stand in the journal as they were written.
    pub fn matches(&self, text: &str) -> bool {
        let url = Url::parse(text);
        let url = url.map_or_else(|_| bare(text), |url| url.as_str().to_owned());
        match self {
            Forgotten::Prefix(prefix) => url.starts_with(prefix),
            Forgotten::Host(host) => {
                let authority = url.split_once("://").map_or("", |(_, rest)| rest);
                // The colons of an IPv6 address are its own.
                let address = authority.starts_with('[').then(|| authority.find(']'));
                let from = address.flatten().unwrap_or(0);
                let end = authority[from..].find(['/', '?', '#', ':']);
                let name = &authority[..end.map_or(authority.len(), |end| from + end)];
                let below = name.strip_suffix(host.as_str());
                below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
            }
        }
    }
}

/// A reference that cannot be parsed, with its scheme and its host's name as
/// they would be in a URL, and without credentials.
fn bare(text: &str) -> String {
    let (scheme, rest) = match text.split_once("//") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https:") => ("https", rest),
        Some((_, rest)) => ("http", rest),
        None => return text.to_owned(),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{}{rest}", host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_names_a_page_is_forgotten_with_it() {
        let host = Forgotten::parse("gone.test").unwrap();
        let prefix = Forgotten::parse("http://gone.test/private/").unwrap();
        let long = format!("http://gone.test/private/{}", "x".repeat(3000));
        for text in [
            "http://gone.test/private/a",
            "http://me:secret@Gone.test/private/a",
            "//me@gone.test/private/a",
            long.as_str(),
        ] {
            assert!(host.matches(text), "{text}");
            assert!(prefix.matches(text), "{text}");
        }
        for text in ["http://www.gone.test", "https://gone.test:8443/private/"] {
            assert!(host.matches(text), "{text}");
            assert!(!prefix.matches(text), "{text}");
        }
        for text in [
            "http://begone.test/private/",
            "http://other.test/?to=http://gone.test/private/",
            "http://gone.test.other/private/",
            "mailto:me@gone.test",
            "",
        ] {
            assert!(!host.matches(text), "{text}");
            assert!(!prefix.matches(text), "{text}");
        }
        assert!(Forgotten::parse("gone.test/private").is_err());
        let address = Forgotten::parse("[2001:db8::1]").unwrap();
        assert!(address.matches("http://[2001:db8::1]:8080/a"));
        assert!(!address.matches("http://[2001:db8::11]/a"));
    }
}
