//! Paths and the patterns they are matched with.
//!
//! Both are brought to one spelling first, so that a rule and a URL that mean
//! the same octets meet (RFC 9309, 2.2.2). In that spelling everything is
//! ASCII, `*` is only ever the wildcard and [`STAR`] the character.

use std::borrow::Cow;

use memchr::memmem;

/// A literal `*`. No spelling has a NUL otherwise: it is written `%00`.
const STAR: u8 = 0;

/// The spelling of a URL's path and query; borrowed when it is that already.
pub(crate) fn spell_path(path: &str) -> Cow<'_, str> {
    if path.bytes().all(|byte| is_plain(byte) && byte != b'*') {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(spell(path.as_bytes(), STAR))
    }
}

/// The spelling of a rule's value, in which `*` stays the wildcard.
pub(crate) fn spell_pattern(value: &[u8]) -> String {
    spell(value, b'*')
}

/// Escapes of unreserved characters are decoded, as are those of `*` and `$`,
/// which a rule cannot say otherwise, and of `'`, which URL parsers escape in
/// queries only. Other escapes get upper-case digits; what may not stand in a
/// URL is escaped.
fn spell(text: &[u8], star: u8) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        match byte {
            b'*' => out.push(star as char),
            b'%' => match escape(&text[at..]) {
                Some(value) => {
                    at += 2;
                    match value {
                        b'*' => out.push(STAR as char),
                        b'-' | b'.' | b'_' | b'~' | b'$' | b'\'' => out.push(value as char),
                        _ if value.is_ascii_alphanumeric() => out.push(value as char),
                        _ => push_escape(&mut out, value),
                    }
                }
                None => out.push('%'),
            },
            _ if is_plain(byte) => out.push(byte as char),
            _ => push_escape(&mut out, byte),
        }
    }
    out
}

/// Bytes that a URL may hold as they are, but for the percent sign.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        plain[byte] = !matches!(
            byte as u8,
            b'%' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        byte += 1;
    }
    plain
};

fn is_plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)]
}

fn escape(digits: &[u8]) -> Option<u8> {
    let high = (*digits.first()? as char).to_digit(16)?;
    let low = (*digits.get(1)? as char).to_digit(16)?;
    Some((high * 16 + low) as u8)
}

fn push_escape(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(DIGITS[usize::from(byte >> 4)] as char);
    out.push(DIGITS[usize::from(byte & 15)] as char);
}

/// How much of a pattern stands before its first wildcard.
pub(crate) fn literal_length(pattern: &str) -> usize {
    pattern.find('*').unwrap_or(pattern.len())
}

/// Whether `rest` of a path goes on as `tail`, a pattern without its literal
/// beginning: empty or begun by `*`.
///
/// Taking the first place where each part occurs is always right, because what
/// follows a `*` may lie anywhere behind it. So nothing is tried twice, and the
/// time is linear in path and pattern.
pub(crate) fn goes_on(tail: &str, anchored: bool, rest: &str) -> bool {
    let mut rest = rest.as_bytes();
    let Some((before, last)) = tail.rsplit_once('*') else {
        return !anchored || rest.is_empty();
    };
    for part in before.split('*').filter(|part| !part.is_empty()) {
        match find(rest, part.as_bytes()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    if anchored {
        rest.ends_with(last.as_bytes())
    } else {
        find(rest, last.as_bytes()).is_some()
    }
}

/// Where `part` first occurs. Paths are short, so a look at the few places that
/// begin like it is quicker than a searcher; when they are many, it is not, and
/// the searcher keeps the time linear.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    const LOOKS: usize = 8;
    let Some(&first) = part.first() else {
        return Some(0);
    };
    let mut from = 0;
    for _ in 0..LOOKS {
        let at = from + memchr::memchr(first, &text[from..])?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        from = at + 1;
    }
    memmem::find(&text[from..], part).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(value: &str, path: &str) -> bool {
        let (bare, anchored) = match value.strip_suffix('$') {
            Some(bare) => (bare, true),
            None => (value, false),
        };
        let pattern = spell_pattern(bare.as_bytes());
        let (head, tail) = pattern.split_at(literal_length(&pattern));
        spell_path(path)
            .strip_prefix(head)
            .is_some_and(|rest| goes_on(tail, anchored, rest))
    }

    #[test]
    fn patterns_match_from_the_beginning() {
        for (pattern, path, expected) in [
            ("/fish", "/fish", true),
            ("/fish", "/fish/salmon", true),
            ("/fish", "/Fish", false),
            ("/fish", "/a/fish", false),
            ("/fish*", "/fishheads", true),
            ("/fish/", "/fish", false),
            ("/*.php", "/a/b.php?c", true),
            ("/*.php$", "/a/b.php?c", false),
            ("/*.php$", "/a.php/b.php", true),
            ("/fish*.php", "/fish.php", true),
            ("/a*b*c$", "/abcbc", true),
            ("/a*b*c$", "/abcb", false),
            ("/a*a$", "/a", false),
            ("*.gif$", "/x.gif", true),
            ("/a$b", "/a$bc", true),
            ("/a$$", "/a$", true),
            ("/a**$", "/abc", true),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("fish", "/fish", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn spellings_of_the_same_octets_meet() {
        for (pattern, path, expected) in [
            ("/~mak", "/%7Emak", true),
            ("/%7emak", "/~mak", true),
            ("/%62%61%7A", "/baz", true),
            ("/ツ", "/%E3%83%84", true),
            ("/%e3%83%84", "/ツ", true),
            ("/9%2f11", "/9%2F11", true),
            ("/9%2F11", "/9/11", false),
            ("/a b", "/a%20b", true),
            ("/{x}", "/%7Bx%7D", true),
            ("/q?x='y'", "/q?x=%27y%27", true),
            ("/%2A/", "/*/", true),
            ("/%2A/", "/x/", false),
            ("/*/", "/%2a/", true),
            ("/x%24", "/x$", true),
            ("/x%24", "/x", false),
            ("/100%", "/100%", true),
            ("/%zz", "/%zz", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_part_is_found_where_it_first_is() {
        for length in 0..40 {
            let text = "ab".repeat(length) + "aab";
            assert_eq!(find(text.as_bytes(), b"aa"), text.find("aa"));
            assert_eq!(find(text.as_bytes(), b"ac"), None);
            assert_eq!(find(text.as_bytes(), b""), Some(0));
        }
    }

    #[test]
    fn the_answer_is_that_of_trying_everything() {
        fn tried(pattern: &[u8], path: &[u8]) -> bool {
            match pattern {
                [] => true,
                [b'$'] => path.is_empty(),
                [b'*', rest @ ..] => (0..=path.len()).any(|at| tried(rest, &path[at..])),
                [byte, rest @ ..] => path.first() == Some(byte) && tried(rest, &path[1..]),
            }
        }
        let words = |letters: &[u8], length: u32| -> Vec<String> {
            (0..(letters.len() as u32).pow(length))
                .map(|mut number| {
                    let mut word = String::from("/");
                    for _ in 0..length {
                        word.push(letters[number as usize % letters.len()] as char);
                        number /= letters.len() as u32;
                    }
                    word
                })
                .collect()
        };
        for pattern in words(b"ab*", 4) {
            for end in ["", "$"] {
                let pattern = format!("{pattern}{end}");
                for path in (0..=4).flat_map(|length| words(b"ab", length)) {
                    assert_eq!(
                        matches(&pattern, &path),
                        tried(pattern.as_bytes(), path.as_bytes()),
                        "{pattern} {path}"
                    );
                }
            }
        }
    }
}
