//! From references as the page writes them to targets.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use rhumb_url::{Base, Refusal, Url};

use crate::link::Target;

/// How much is kept of a reference that was refused.
const KEPT_OF_REFUSED: usize = 256;

/// Resolves the references of one page against one base.
pub(crate) struct Resolver<'a> {
    base: Base<'a>,
    /// What the query of a reference is encoded in.
    encoding: &'static Encoding,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(base: &'a Url, page_encoding: &'static Encoding) -> Resolver<'a> {
        Resolver {
            base: Base::new(base),
            encoding: page_encoding.output_encoding(),
        }
    }

    pub(crate) fn resolve(&self, reference: &str) -> Target {
        match self.join(reference) {
            Ok(url) => Target::Url(url),
            Err(why @ Refusal::TooLong { .. }) => Target::Refused {
                text: self
                    .base
                    .stand_in(&with_encoded_query(reference, self.encoding)),
                why,
            },
            Err(why) => {
                let end = reference.floor_char_boundary(KEPT_OF_REFUSED);
                Target::Refused {
                    text: reference[..end].to_owned(),
                    why,
                }
            }
        }
    }

    pub(crate) fn join(&self, reference: &str) -> Result<Url, Refusal> {
        self.base
            .join(&with_encoded_query(reference, self.encoding))
    }
}

/// Pages in another encoding than UTF-8 mean the query of their links in that
/// encoding; everything else in a URL is UTF-8.
fn with_encoded_query<'r>(reference: &'r str, encoding: &'static Encoding) -> Cow<'r, str> {
    if encoding == UTF_8 || reference.is_ascii() {
        return Cow::Borrowed(reference);
    }
    let without_fragment = &reference[..reference.find('#').unwrap_or(reference.len())];
    let Some((before, query)) = without_fragment.split_once('?') else {
        return Cow::Borrowed(reference);
    };
    let mut out = String::with_capacity(reference.len() * 2);
    out.push_str(before);
    out.push('?');
    for run in query.split_inclusive(|c: char| c.is_ascii()) {
        let foreign = run.trim_end_matches(|c: char| c.is_ascii());
        push_encoded(&mut out, foreign, encoding);
        out.push_str(&run[foreign.len()..]);
    }
    Cow::Owned(out)
}

fn push_encoded(out: &mut String, text: &str, encoding: &'static Encoding) {
    let (bytes, _, unmappable) = encoding.encode(text);
    if unmappable {
        // `&#1234;` stands for what the encoding has not; it is data here.
        for c in text.chars() {
            let mut buffer = [0; 4];
            let (bytes, _, unmappable) = encoding.encode(c.encode_utf8(&mut buffer));
            if unmappable {
                out.push_str(&format!("%26%23{}%3B", u32::from(c)));
            } else {
                push_escaped(out, &bytes);
            }
        }
    } else {
        push_escaped(out, &bytes);
    }
}

fn push_escaped(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'\'') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, WINDOWS_1252};

    use super::*;

    fn resolved(reference: &str, encoding: &'static Encoding) -> String {
        let base = Url::parse("http://example.org/a/b").expect("a URL");
        match Resolver::new(&base, encoding).resolve(reference) {
            Target::Url(url) => url.as_str().to_owned(),
            Target::Refused { why, .. } => why.to_string(),
        }
    }

    #[test]
    fn only_the_query_is_in_the_encoding_of_the_page() {
        let reference = "/\u{e9}?q=\u{e9}\u{4e2d}#\u{e9}";
        let encoded = resolved(reference, UTF_8);
        assert_eq!(encoded, "http://example.org/%C3%A9?q=%C3%A9%E4%B8%AD");
        let encoded = resolved(reference, WINDOWS_1252);
        assert_eq!(encoded, "http://example.org/%C3%A9?q=%E9%26%2320013%3B");
        let encoded = resolved("?q=\u{4e2d}\u{6587}&x", GBK);
        assert_eq!(encoded, "http://example.org/a/b?q=%D6%D0%CE%C4&x");
    }

    #[test]
    fn what_cannot_be_crawled_is_named() {
        let scheme = resolved(" JavaScript:void(0)", UTF_8);
        assert_eq!(scheme, "scheme `javascript` is not crawled");
        let long = format!("/{}", "a".repeat(Url::MAX_LENGTH));
        assert_eq!(resolved(&long, UTF_8), "longer than 2048 bytes");
        let dots = format!("{}x", "./".repeat(1000));
        assert_eq!(resolved(&dots, UTF_8), "http://example.org/a/x");
    }
}
