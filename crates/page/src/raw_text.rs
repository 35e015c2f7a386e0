//! Where content that is not markup ends.

use memchr::{memchr, memchr2};

use crate::attributes::is_space;

/// The `</` of the first end tag called `name` at or after `at`, or the end of
/// the document.
pub(crate) fn raw_text_end(bytes: &[u8], mut at: usize, name: &[u8]) -> usize {
    while let Some(found) = memchr(b'<', &bytes[at..]) {
        at += found;
        if is_tag(bytes, at, b"</", name) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

#[derive(PartialEq)]
enum Script {
    Plain,
    /// Behind `<!--`.
    Escaped,
    /// Behind `<!--` and `<script`: the next `</script` only ends that.
    DoubleEscaped,
}

/// The `</` of the end tag that ends a script. `<!--` with `<script` hides
/// one end tag, `-->` makes everything plain again.
pub(crate) fn script_end(bytes: &[u8], mut at: usize) -> usize {
    const NAME: &[u8] = b"script";
    let mut state = Script::Plain;
    loop {
        let rest = &bytes[at..];
        let found = match state {
            Script::Plain => memchr(b'<', rest),
            Script::Escaped | Script::DoubleEscaped => memchr2(b'<', b'-', rest),
        };
        let Some(found) = found else {
            return bytes.len();
        };
        at += found;
        if bytes[at] == b'-' {
            let run = bytes[at..].iter().take_while(|b| **b == b'-').count();
            at += run;
            if run >= 2 && bytes.get(at) == Some(&b'>') {
                state = Script::Plain;
            }
            continue;
        }
        match state {
            Script::Plain | Script::Escaped if is_tag(bytes, at, b"</", NAME) => return at,
            Script::Plain if bytes[at..].starts_with(b"<!--") => {
                state = Script::Escaped;
                // Its own dashes may be those of `-->`.
                at += 2;
                continue;
            }
            Script::Escaped if is_tag(bytes, at, b"<", NAME) => state = Script::DoubleEscaped,
            Script::DoubleEscaped if is_tag(bytes, at, b"</", NAME) => state = Script::Escaped,
            _ => {}
        }
        at += 1;
    }
}

fn is_tag(bytes: &[u8], at: usize, open: &[u8], name: &[u8]) -> bool {
    let after = at + open.len() + name.len();
    bytes[at..].starts_with(open)
        && bytes
            .get(at + open.len()..after)
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
        && bytes
            .get(after)
            .is_some_and(|b| is_space(*b) || matches!(b, b'/' | b'>'))
}
