//! From bytes to directives, line by line.

use std::borrow::Cow;

/// The longest line that counts; the rest of a longer one is not read. The
/// figure is that of the most used parser, far above any real rule.
const MAX_LINE: usize = 2083 * 8 - 1;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directive<'a> {
    UserAgent(&'a [u8]),
    Rule { allow: bool, value: &'a [u8] },
    CrawlDelay(&'a [u8]),
    Sitemap(&'a [u8]),
}

/// The text as UTF-8, more or less: byte order marks are taken off, and UTF-16
/// that says so is decoded. Nothing else is, and nothing is refused.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: String = char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        Cow::Owned(text.into_bytes())
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => Cow::Borrowed(rest),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// All known directives with the number of their line, counted from one. Lines
/// end with LF, CR or both.
pub(crate) fn directives(text: &[u8]) -> impl Iterator<Item = (u32, Directive<'_>)> {
    let mut rest = Some(text);
    let mut number = 0;
    std::iter::from_fn(move || {
        let text = rest?;
        number += 1;
        let end = memchr::memchr2(b'\n', b'\r', text);
        rest = end.map(|at| match &text[at..] {
            [b'\r', b'\n', next @ ..] => next,
            _ => &text[at + 1..],
        });
        Some((number, &text[..end.unwrap_or(text.len())]))
    })
    .filter_map(|(number, line)| Some((number, directive(line)?)))
}

fn directive(line: &[u8]) -> Option<Directive<'_>> {
    let line = &line[..line.len().min(MAX_LINE)];
    let line = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
    let (key, value) = match memchr::memchr(b':', line) {
        Some(at) => (line[..at].trim_ascii(), line[at + 1..].trim_ascii()),
        None => without_colon(line.trim_ascii())?,
    };
    let is = |names: &[&str]| {
        names
            .iter()
            .any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
    };
    if is(&[
        "disallow",
        "dissallow",
        "dissalow",
        "disalow",
        "diasllow",
        "disallaw",
    ]) {
        Some(Directive::Rule {
            allow: false,
            value,
        })
    } else if is(&["allow"]) {
        Some(Directive::Rule { allow: true, value })
    } else if is(&["user-agent", "useragent", "user agent"]) {
        Some(Directive::UserAgent(value))
    } else if is(&["crawl-delay", "crawldelay"]) {
        Some(Directive::CrawlDelay(value))
    } else if is(&["sitemap", "site-map"]) {
        Some(Directive::Sitemap(value))
    } else {
        None
    }
}

/// A forgotten colon is forgiven when the line has exactly two words.
fn without_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let gap = line.iter().position(u8::is_ascii_whitespace)?;
    let value = line[gap..].trim_ascii_start();
    let one_word = !value.iter().any(u8::is_ascii_whitespace);
    one_word.then_some((&line[..gap], value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u32, Directive<'_>)> {
        directives(text.as_bytes()).collect()
    }

    fn disallow(value: &str) -> Directive<'_> {
        Directive::Rule {
            allow: false,
            value: value.as_bytes(),
        }
    }

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        assert_eq!(
            read("disallow: /a\r\n\r\nDisallow:/b#c\rDISALLOW : /d \n\n \tdisallow: /e"),
            [
                (1, disallow("/a")),
                (3, disallow("/b")),
                (4, disallow("/d")),
                (6, disallow("/e")),
            ]
        );
    }

    #[test]
    fn small_mistakes_are_forgiven() {
        assert_eq!(read("disallow /a"), [(1, disallow("/a"))]);
        assert_eq!(read("dissalow: /a"), [(1, disallow("/a"))]);
        assert_eq!(read("useragent: x"), [(1, Directive::UserAgent(b"x"))]);
        assert_eq!(read("disallow /a b"), []);
        assert_eq!(read("noindex: /a\n: /\n:\n\u{0}\n<html>"), []);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let text = format!("disallow: /{}\nallow: /b", "a".repeat(100_000));
        let read = read(&text);
        assert_eq!(read.len(), 2);
        let Directive::Rule { value, .. } = read[0].1 else {
            panic!("a rule was expected");
        };
        assert_eq!(value.len(), MAX_LINE - "disallow: ".len());
    }
}
