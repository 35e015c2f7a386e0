//! Character references: `&amp;`, `&#38;`, `&#x26;`, and the old ones that
//! need no semicolon.

use std::borrow::Cow;

use memchr::memchr2;

use crate::named_references::{LONGEST, LONGEST_BARE, NAMED};

/// What a reference stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Referent {
    One(char),
    /// One or two characters from the table.
    Named(&'static str),
}

impl Referent {
    pub(crate) fn push_to(self, out: &mut String) {
        match self {
            Referent::One(c) => out.push(c),
            Referent::Named(text) => out.push_str(text),
        }
    }
}

/// Read the reference at the `&` that `text` begins with: what it stands for
/// and its length. `None` if the `&` is only an `&`.
///
/// Looks at a bounded number of bytes, except for digits, which it consumes:
/// decoding a whole text stays linear.
pub(crate) fn reference(text: &[u8], in_attribute: bool) -> Option<(Referent, usize)> {
    match text.get(1)? {
        b'#' => numeric(text),
        b if b.is_ascii_alphanumeric() => named(text, in_attribute),
        _ => None,
    }
}

fn numeric(text: &[u8]) -> Option<(Referent, usize)> {
    let (radix, start) = match text.get(2)? {
        b'x' | b'X' => (16, 3),
        _ => (10, 2),
    };
    let mut code: u32 = 0;
    let mut at = start;
    while let Some(digit) = text.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        at += 1;
    }
    if at == start {
        return None;
    }
    if text.get(at) == Some(&b';') {
        at += 1;
    }
    Some((Referent::One(character(code)), at))
}

/// Codes 0x80 to 0x9F mean what windows-1252 means by them.
fn character(code: u32) -> char {
    const WINDOWS_1252: [char; 32] = [
        '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}',
        '\u{2021}', '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}',
        '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}',
        '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}',
        '\u{178}',
    ];
    match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252[code as usize - 0x80],
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn named(text: &[u8], in_attribute: bool) -> Option<(Referent, usize)> {
    let name = &text[1..text.len().min(1 + LONGEST)];
    let run = name
        .iter()
        .position(|b| !b.is_ascii_alphanumeric())
        .unwrap_or(name.len());
    if name.get(run) == Some(&b';')
        && let Some(referent) = look_up(&name[..=run])
    {
        return Some((referent, run + 2));
    }
    for length in (1..=run.min(LONGEST_BARE)).rev() {
        if let Some(referent) = look_up(&name[..length]) {
            // `?a=b&copy=c` in an attribute is a query, not a copyright sign.
            let next = text.get(1 + length);
            if in_attribute && next.is_some_and(|b| *b == b'=' || b.is_ascii_alphanumeric()) {
                return None;
            }
            return Some((referent, 1 + length));
        }
    }
    None
}

fn look_up(name: &[u8]) -> Option<Referent> {
    // Nearly every reference on the web is one of these.
    match name {
        b"amp;" => return Some(Referent::One('&')),
        b"nbsp;" => return Some(Referent::One('\u{a0}')),
        b"quot;" => return Some(Referent::One('"')),
        _ => {}
    }
    NAMED
        .binary_search_by(|(known, _)| known.as_bytes().cmp(name))
        .ok()
        .map(|found| Referent::Named(NAMED[found].1))
}

/// The value of an attribute as the page means it.
pub(crate) fn attribute_value(raw: &str) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    let Some(first) = memchr2(b'&', 0, bytes) else {
        return Cow::Borrowed(raw);
    };
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..first]);
    let mut at = first;
    while at < bytes.len() {
        if bytes[at] == 0 {
            out.push(char::REPLACEMENT_CHARACTER);
            at += 1;
        } else if let Some((referent, length)) = reference(&bytes[at..], true) {
            referent.push_to(&mut out);
            at += length;
        } else {
            out.push('&');
            at += 1;
        }
        let next = memchr2(b'&', 0, &bytes[at..]).map_or(bytes.len(), |found| at + found);
        out.push_str(&raw[at..next]);
        at = next;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(NAMED.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn references_in_attribute_values() {
        for (raw, meant) in [
            ("a?b=1&amp;c=2", "a?b=1&c=2"),
            ("a?b=1&c=2", "a?b=1&c=2"),
            ("?a&copy=1", "?a&copy=1"),
            ("?a&copy;=1", "?a\u{a9}=1"),
            ("?a&copy", "?a\u{a9}"),
            ("?a&copyx", "?a&copyx"),
            ("?a&amp", "?a&"),
            ("&notin;", "\u{2209}"),
            ("&notit;", "&notit;"),
            ("&#65;&#x42;&#X43", "ABC"),
            (
                "&#x80;&#0;&#xD800;&#x110000;",
                "\u{20ac}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("&#;&#x;&;&", "&#;&#x;&;&"),
            ("&#99999999999999999999;", "\u{fffd}"),
            ("a\0b", "a\u{fffd}b"),
            ("&NotEqualTilde;", "\u{2242}\u{338}"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}"),
        ] {
            assert_eq!(attribute_value(raw), meant, "{raw}");
        }
    }

    #[test]
    fn old_references_in_text_need_no_semicolon() {
        assert_eq!(
            reference(b"&notit;", false),
            Some((Referent::Named("\u{ac}"), 4))
        );
        assert_eq!(
            reference(b"&copy2", false),
            Some((Referent::Named("\u{a9}"), 5))
        );
    }
}
