//! What people type as a seed: `www.example.com/` without a scheme.

use std::net::Ipv6Addr;

use crate::{Refusal, Scheme, Url};

/// Names that only exist on a local network or in tests: no public authority
/// gives them a certificate.
const LOCAL_SUFFIXES: [&str; 7] = [
    ".localhost",
    ".local",
    ".internal",
    ".lan",
    ".home.arpa",
    ".test",
    ".invalid",
];

/// Schemes whose rest may look like a port.
const SCHEMES_WITH_NUMBERS: [&str; 4] = ["tel", "sms", "fax", "callto"];

impl Url {
    /// Read a seed. Without a scheme, `https` is guessed, but `http` for an
    /// address, for a local name, and for a port other than 443. Nothing that
    /// was found on a page is ever guessed at.
    pub fn parse_seed(text: &str) -> Result<Url, Refusal> {
        let text = text.trim();
        // A browser would take them out: two columns would become one URL.
        if text.contains(['\t', '\n', '\r']) {
            let why = "a tab or a line break stands inside it";
            return Err(Refusal::Malformed(why.to_owned()));
        }
        if let Some(wrong) = misspelt_scheme(text) {
            return Err(Refusal::Malformed(format!("`{wrong}` is no scheme")));
        }
        if has_scheme(text) {
            return Url::parse(text);
        }
        let rest = text.strip_prefix("//").unwrap_or(text);
        if rest.is_empty() || rest.starts_with(['/', '\\', '.', '?', '#']) {
            return Err(Refusal::NoHost);
        }
        let secure = Url::parse(&format!("https://{rest}"))?;
        let plain = Url::parse(&format!("http://{rest}"))?;
        // The two differ only where a port is the default of one of them.
        let secure_port = secure.port() == Scheme::Https.default_port();
        let asked_for_443 = plain.port() == Scheme::Https.default_port();
        if asked_for_443 || (secure_port && !is_local(secure.name())) {
            Ok(secure)
        } else {
            Ok(plain)
        }
    }
}

fn is_scheme_like(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// `ht!tp:` before a slash is neither a scheme nor a host and its port.
fn misspelt_scheme(text: &str) -> Option<&str> {
    let (before, after) = text.split_once(':')?;
    let wrong = after.starts_with('/') && !before.contains(['/', '?', '#', '[']);
    (wrong && !is_scheme_like(before)).then_some(before)
}

/// `name:8080/` is a host and a port, `mailto:a@b` has a scheme.
fn has_scheme(text: &str) -> bool {
    let Some((before, after)) = text.split_once(':') else {
        return false;
    };
    let scheme_like = is_scheme_like(before);
    if !scheme_like || after.starts_with("//") {
        return scheme_like;
    }
    let port = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    !is_port
        || SCHEMES_WITH_NUMBERS
            .iter()
            .any(|scheme| before.eq_ignore_ascii_case(scheme))
}

fn is_local(name: &str) -> bool {
    let bare = name.strip_suffix('.').unwrap_or(name);
    let is_address = bare.parse::<std::net::Ipv4Addr>().is_ok()
        || bare
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'))
            .is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok());
    is_address || !bare.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| bare.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_scheme_is_guessed() {
        for (typed, expected) in [
            ("www.example.com/", "https://www.example.com/"),
            (
                "www.example.com/catalog?item=1",
                "https://www.example.com/catalog?item=1",
            ),
            (" foo.com/index.html\n", "https://foo.com/index.html"),
            ("//foo.com/x", "https://foo.com/x"),
            ("bücher.de", "https://xn--bcher-kva.de/"),
            ("foo.com:443/x", "https://foo.com/x"),
            ("foo.com:80/x", "http://foo.com/x"),
            ("foo.com:8080", "http://foo.com:8080/"),
            ("localhost", "http://localhost/"),
            ("localhost:8000/a", "http://localhost:8000/a"),
            ("localhost:443/a", "https://localhost/a"),
            ("intranet/wiki", "http://intranet/wiki"),
            ("shop.test", "http://shop.test/"),
            ("127.0.0.1", "http://127.0.0.1/"),
            ("[::1]:8080/x", "http://[::1]:8080/x"),
            ("http://foo.com", "http://foo.com/"),
            ("HTTPS://foo.com/a#b", "https://foo.com/a"),
            ("example.com/a:b", "https://example.com/a:b"),
        ] {
            assert_eq!(
                Url::parse_seed(typed).map(|u| u.to_string()),
                Ok(expected.to_owned()),
                "{typed}"
            );
        }
    }

    #[test]
    fn what_names_no_web_host_is_refused() {
        for typed in ["", "/path", "./x", "?q", "#f", "///"] {
            assert_eq!(Url::parse_seed(typed), Err(Refusal::NoHost), "{typed}");
        }
        for typed in ["mailto:a@b.c", "tel:112", "ftp://foo.com/", "C:\\x"] {
            assert!(
                matches!(Url::parse_seed(typed), Err(Refusal::Scheme(_))),
                "{typed}"
            );
        }
        assert_eq!(Url::parse_seed("me@foo.com"), Err(Refusal::Credentials));
        for typed in [
            "ht!tp:/x y",
            "h ttp://foo.com/",
            "foo.com/\tNews",
            "a.b\nc.d",
            "://x",
        ] {
            assert!(
                matches!(Url::parse_seed(typed), Err(Refusal::Malformed(_))),
                "{typed}"
            );
        }
    }
}
