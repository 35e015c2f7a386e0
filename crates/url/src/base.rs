//! Resolving a page's references against its base.

use std::cell::OnceCell;

use xxhash_rust::xxh3::xxh3_64;

use crate::Url;
use crate::normal::Parts;
use crate::plain;
use crate::refusal::{Refusal, foreign_scheme};

/// The longest reference that is given to the full parser, without its
/// fragment. Dot segments and escapes can shorten a reference, but not
/// everything that could become short is worth the work.
const MAX_REFERENCE: usize = 8 * Url::MAX_LENGTH;

/// Bytes of a URL that is too long that its stand-in begins with.
const STAND_IN_SHOWS: usize = 200;

/// A URL that many references are resolved against. Plain references never
/// reach the full parser, and the base is parsed for it at most once.
#[derive(Debug)]
pub struct Base<'a> {
    url: &'a Url,
    /// End of the path, without the query.
    path_end: usize,
    /// Just behind the last slash of the path.
    folder_end: usize,
    whatwg: OnceCell<url::Url>,
}

impl<'a> Base<'a> {
    pub fn new(url: &'a Url) -> Base<'a> {
        let path_end = url.origin().len() + url.path().len();
        let folder_end = url.as_str()[..path_end]
            .rfind('/')
            .map_or(path_end, |at| at + 1);
        Base {
            url,
            path_end,
            folder_end,
            whatwg: OnceCell::new(),
        }
    }

    pub fn url(&self) -> &'a Url {
        self.url
    }

    /// Resolve a reference and bring it into normal form.
    pub fn join(&self, reference: &str) -> Result<Url, Refusal> {
        let reference = without_fragment(reference);
        match self.join_plain(reference) {
            Some(url) => Ok(url),
            None => self.join_any(reference),
        }
    }

    fn join_plain(&self, reference: &str) -> Option<Url> {
        let text = self.url.as_str();
        match reference.as_bytes() {
            [] => Some(self.url.clone()),
            [b'/', b'/', ..] => plain::authority_and_target(self.url.scheme(), &reference[2..]),
            [b'/', ..] if plain::is_target(reference) => self.url.with_target([reference, ""]),
            [b'?', ..] if plain::is_target(reference) => self
                .url
                .with_target([&text[self.url.origin().len()..self.path_end], reference]),
            [b'/' | b'?', ..] => None,
            _ if reference.starts_with("http") => match reference.strip_prefix(self.url.origin()) {
                // Most absolute links lead to the page's own host.
                Some(target) if target.starts_with('/') && plain::is_target(target) => {
                    self.url.with_target([target, ""])
                }
                _ => plain::absolute(reference).or_else(|| self.join_relative(reference)),
            },
            _ => self.join_relative(reference),
        }
    }

    fn join_relative(&self, reference: &str) -> Option<Url> {
        let folder = &self.url.as_str()[self.url.origin().len()..self.folder_end];
        plain::is_relative(reference)
            .then(|| self.url.with_target([folder, reference]))
            .flatten()
    }

    fn join_any(&self, reference: &str) -> Result<Url, Refusal> {
        Url::from_whatwg(&self.join_whatwg(reference)?)
    }

    fn join_whatwg(&self, reference: &str) -> Result<url::Url, Refusal> {
        check_before_parsing(reference)?;
        let base = match self.whatwg.get() {
            Some(base) => base,
            None => {
                let parsed = url::Url::parse(self.url.as_str())?;
                self.whatwg.get_or_init(|| parsed)
            }
        };
        Ok(base.join(reference)?)
    }

    /// What stands for the target of a reference that was refused for its
    /// length: the same as [`Url::stand_in`] gives for the whole URL.
    pub fn stand_in(&self, reference: &str) -> String {
        let reference = without_fragment(reference);
        let whole = self.join_whatwg(reference);
        let normal = whole.and_then(|url| Ok(Parts::of(&url)?.text()));
        shorten(&normal.unwrap_or_else(|_| self.put_together(reference)))
    }

    /// The URL of a reference that is too long even to be parsed.
    fn put_together(&self, reference: &str) -> String {
        let text = self.url.as_str();
        let before = match reference.as_bytes() {
            [b'/', b'/', ..] => &text[..self.url.scheme().as_str().len() + 1],
            [b'/', ..] => self.url.origin(),
            [b'?', ..] => &text[..self.path_end],
            _ if is_absolute(reference) => "",
            _ => &text[..self.folder_end],
        };
        format!("{before}{reference}")
    }
}

impl Url {
    /// What stands in the records of a crawl for a URL that is too long for
    /// it: the beginning, the length, and a fingerprint of the whole. However
    /// a page writes the URL, it is the same.
    pub fn stand_in(text: &str) -> String {
        let text = without_fragment(text);
        let whole = check_before_parsing(text).and_then(|()| Ok(url::Url::parse(text)?));
        let normal = whole.and_then(|url| Ok(Parts::of(&url)?.text()));
        shorten(normal.as_deref().unwrap_or(text))
    }
}

fn is_absolute(reference: &str) -> bool {
    let schemes = ["http://", "https://"];
    schemes.iter().any(|scheme| {
        let start = reference.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn shorten(url: &str) -> String {
    let shown = &url[..url.floor_char_boundary(STAND_IN_SHOWS)];
    let print = xxh3_64(url.as_bytes());
    format!("{shown}…({}-bytes-{print:016x})", url.len())
}

/// Bring an absolute URL into normal form.
pub(crate) fn parse(input: &str) -> Result<Url, Refusal> {
    let input = without_fragment(input);
    if let Some(url) = plain::absolute(input) {
        return Ok(url);
    }
    check_before_parsing(input)?;
    Url::from_whatwg(&url::Url::parse(input)?)
}

/// White space and controls around a reference do not count, and a fragment
/// names a part of a page, not a page.
fn without_fragment(reference: &str) -> &str {
    let trimmed = reference.trim_matches(|c: char| c <= ' ');
    match trimmed.find('#') {
        Some(at) => &trimmed[..at],
        None => trimmed,
    }
}

fn check_before_parsing(reference: &str) -> Result<(), Refusal> {
    if let Some(refusal) = foreign_scheme(reference) {
        return Err(refusal);
    }
    if reference.len() > MAX_REFERENCE {
        return Err(Refusal::TooLong {
            limit: Url::MAX_LENGTH,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::odd::Generator;

    /// The full parser's answer, which the plain way must repeat.
    fn join_slowly(base: &Url, reference: &str) -> Result<Url, Refusal> {
        Base::new(base).join_any(without_fragment(reference))
    }

    #[test]
    fn the_plain_way_agrees_with_the_full_parser() {
        let mut generator = Generator::new(7);
        let (mut plain_count, mut all) = (0, 0);
        for _ in 0..400 {
            let Ok(base) = parse(&generator.absolute()) else {
                continue;
            };
            let joiner = Base::new(&base);
            for _ in 0..100 {
                let reference = generator.reference(&base);
                let slow = join_slowly(&base, &reference);
                assert_eq!(joiner.join(&reference), slow, "{reference:?} on {base}");
                all += 1;
                if let Some(plain) = joiner.join_plain(without_fragment(&reference)) {
                    plain_count += 1;
                    // Offsets too must be those of the full parser.
                    let slow = slow.expect("the plain way found it");
                    assert_eq!(plain.host(), slow.host(), "{reference:?}");
                    assert_eq!(plain.path_and_query(), slow.path_and_query());
                }
            }
        }
        println!("{plain_count} of {all} references went the plain way");
        assert!(plain_count > all / 10);
        assert!(plain_count < all);
    }

    #[test]
    fn normalising_twice_is_normalising_once() {
        let mut generator = Generator::new(11);
        let mut held = 0;
        for _ in 0..30_000 {
            let text = generator.absolute();
            let Ok(url) = parse(&text) else { continue };
            held += 1;
            assert_eq!(parse(url.as_str()).as_ref(), Ok(&url), "{text:?}");
            assert_eq!(Url::from_normal(url.as_str()).as_ref(), Ok(&url));
            assert_eq!(join_slowly(&url, url.as_str()), Ok(url.clone()));
        }
        assert!(held > 10_000, "{held}");
    }

    #[test]
    fn ordinary_links_go_the_plain_way() {
        let base = Url::parse("https://example.org:8443/a/b%20c/d.html?q=1").expect("a URL");
        let base = Base::new(&base);
        for reference in [
            "",
            "#top",
            "?page=2",
            "e.html",
            " e.html\n",
            "e/f.html#g",
            "/e/f?x=y&z=/a?b",
            "//other.example/x",
            "http://other.example",
            "https://other.example?x",
            "https://example.org:8443/x",
            "http://other.example:8080/x",
        ] {
            assert!(
                base.join_plain(without_fragment(reference)).is_some(),
                "{reference:?}"
            );
        }
    }

    #[test]
    fn schemes_are_refused_before_they_are_parsed() {
        let base = Url::parse("http://a.example/").expect("a URL");
        for (reference, scheme) in [
            ("mailto:a@b", "mailto"),
            ("javascript:void(0)", "javascript"),
            ("  java\nscript:void(0)", "javascript"),
            ("tel:+123", "tel"),
            ("DATA:text/plain,x#y", "data"),
            ("ftp://[broken", "ftp"),
        ] {
            assert_eq!(
                base.join(reference),
                Err(Refusal::Scheme(scheme.to_owned())),
                "{reference}"
            );
        }
        let endless = "a".repeat(100_000) + ":";
        let Err(Refusal::Scheme(shown)) = base.join(&endless) else {
            panic!("a scheme was expected");
        };
        assert!(shown.len() <= 32);
    }

    #[test]
    fn a_url_that_is_too_long_has_one_stand_in_however_it_is_written() {
        let base = Url::parse("http://a.example/folder/page?q").expect("a URL");
        let base = Base::new(&base);
        for length in [Url::MAX_LENGTH, MAX_REFERENCE, 10 * MAX_REFERENCE] {
            let long = "x".repeat(length);
            let stands = Url::stand_in(&format!("http://a.example/folder/{long}"));
            assert!(stands.len() < 300, "{stands}");
            for reference in [
                long.clone(),
                format!(" {long}#part"),
                format!("/folder/{long}"),
                format!("//a.example/folder/{long}"),
                format!("http://a.example/folder/{long}"),
            ] {
                assert!(base.join(&reference).is_err());
                assert_eq!(base.stand_in(&reference), stands);
            }
            assert_ne!(base.stand_in(&format!("{long}y")), stands);
        }
        let long = "x".repeat(Url::MAX_LENGTH);
        let stands = Url::stand_in(&format!("HTTP://A.example:80/z/../%7e{long}"));
        assert_eq!(base.stand_in(&format!("../~{long}")), stands);
    }

    #[test]
    fn long_references_are_refused() {
        let base = Url::parse("http://a.example/").expect("a URL");
        let limit = Url::MAX_LENGTH;
        let fits = "a".repeat(limit - base.as_str().len());
        assert_eq!(base.join(&fits).map(|u| u.as_str().len()), Ok(limit));
        for length in [fits.len() + 1, limit, MAX_REFERENCE + 1] {
            assert_eq!(
                base.join(&"a".repeat(length)),
                Err(Refusal::TooLong { limit })
            );
        }
        let folds = "a/../".repeat(1000) + "b";
        assert_eq!(
            base.join(&folds).map(|u| u.to_string()),
            Ok("http://a.example/b".to_owned())
        );
    }
}
