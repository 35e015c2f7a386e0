//! From bytes to text: which encoding a page is in.
//!
//! A byte order mark, then what the server says, then what the page says at
//! its beginning, then the bytes themselves: what is valid UTF-8 is UTF-8. Only
//! then a guess, which is slow (28 MB/s) and therefore sees a prefix.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use memchr::memchr;

use crate::meta_charset::meta_charset;

/// How far browsers look for a `meta` with the encoding before they begin.
const META_PREFIX: usize = 1024;

/// How far we look for a late `meta`, and what the guess is made from.
const GUESS_PREFIX: usize = 64 * 1024;

pub(crate) struct Decoded<'a> {
    /// Borrowed from the body when that is already UTF-8.
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: &'static Encoding,
}

/// Read a body as text. `html` says whether a `meta` can name the encoding;
/// `name` is the host's, whose last label helps the guess.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    http_charset: Option<&str>,
    html: bool,
    name: &str,
) -> Decoded<'a> {
    let (encoding, bom) = match Encoding::for_bom(body) {
        Some(found) => found,
        None => (without_mark(body, http_charset, html, name), 0),
    };
    let (text, _) = encoding.decode_without_bom_handling(&body[bom..]);
    Decoded { text, encoding }
}

fn without_mark(
    body: &[u8],
    http_charset: Option<&str>,
    html: bool,
    name: &str,
) -> &'static Encoding {
    let declared = http_charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some(encoding) = declared {
        return encoding;
    }
    if html && let Some(encoding) = meta_charset(prefix(body, META_PREFIX)) {
        return encoding;
    }
    let ascii = Encoding::ascii_valid_up_to(body);
    if ascii == body.len() && memchr(0x1b, body).is_none() {
        // Any encoding would do. This is the one that browsers name.
        return WINDOWS_1252;
    }
    if ascii < body.len() && Encoding::utf8_valid_up_to(body) == body.len() {
        return UTF_8;
    }
    // Browsers begin again when a `meta` comes late.
    if html && let Some(encoding) = meta_charset(prefix(body, GUESS_PREFIX)) {
        return encoding;
    }
    let sample = prefix(body, GUESS_PREFIX);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == body.len());
    detector.guess(top_level_domain(name), Utf8Detection::Allow)
}

fn prefix(body: &[u8], length: usize) -> &[u8] {
    &body[..body.len().min(length)]
}

fn top_level_domain(name: &str) -> Option<&[u8]> {
    let label = name.rsplit('.').next()?.as_bytes();
    label
        .iter()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
        .then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(body: &[u8], http: Option<&str>) -> &'static str {
        decode(body, http, true, "example.org").encoding.name()
    }

    #[test]
    fn a_mark_wins_over_the_header_and_the_header_over_the_page() {
        let page = b"<meta charset=gbk>caf\xc3\xa9";
        let marked = [b"\xef\xbb\xbf".as_slice(), page].concat();
        assert_eq!(name_of(&marked, Some("latin1")), "UTF-8");
        assert_eq!(name_of(page, Some("latin1")), "windows-1252");
        assert_eq!(name_of(page, Some("no such thing")), "GBK");
        assert_eq!(name_of(page, None), "GBK");
        assert_eq!(name_of(b"\xff\xfea\0", None), "UTF-16LE");
        assert_eq!(
            decode(&marked, None, true, "").text,
            "<meta charset=gbk>caf\u{e9}"
        );
    }

    #[test]
    fn undeclared_utf8_is_utf8() {
        assert_eq!(name_of("caf\u{e9}".as_bytes(), None), "UTF-8");
        assert_eq!(name_of(b"cafe", None), "windows-1252");
    }

    #[test]
    fn a_late_meta_still_counts() {
        let mut page = vec![b' '; 5000];
        page.extend_from_slice(b"<meta charset=shift_jis>\x83\x8b");
        assert_eq!(name_of(&page, None), "Shift_JIS");
    }

    #[test]
    fn undeclared_legacy_text_is_guessed() {
        let (bytes, encoding, _) = encoding_rs::WINDOWS_1251.encode(
            "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация",
        );
        assert_eq!(name_of(&bytes, None), encoding.name());
    }
}
