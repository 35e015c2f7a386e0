//! References that are in normal form as they stand.
//!
//! Most links on the web are `https://name/path`, `/path` or `path` made of
//! characters without a meaning of their own. The full parser would give them
//! back unchanged after half a microsecond; here they are only looked at. What
//! is not certainly plain is left to the full parser, so a `false` or `None`
//! says nothing about the reference.

use crate::Url;
use crate::host::{MAX_LABEL, MAX_NAME, Scheme};

const PATH: u8 = 1;
const QUERY: u8 = 2;
const NAME: u8 = 4;

/// Where each byte may stand without being changed or understood.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => PATH | QUERY | NAME,
            b'A'..=b'Z' | b'.' | b'_' | b'~' | b'/' => PATH | QUERY,
            b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => {
                PATH | QUERY
            }
            b'\'' => PATH,
            b'?' => QUERY,
            _ => 0,
        };
        byte += 1;
    }
    class
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// A path, whole or relative, with or without a query, that needs no change.
/// A segment that begins with a dot might be a dot segment.
pub(crate) fn is_target(target: &str) -> bool {
    let mut segment_begins = true;
    for (at, byte) in target.bytes().enumerate() {
        if byte == b'?' {
            return target.as_bytes()[at + 1..].iter().all(|&b| is(b, QUERY));
        }
        if !is(byte, PATH) || (segment_begins && byte == b'.') {
            return false;
        }
        segment_begins = byte == b'/';
    }
    true
}

/// A relative reference whose first segment cannot be taken for a scheme.
pub(crate) fn is_relative(reference: &str) -> bool {
    reference
        .bytes()
        .take_while(|&b| b != b'/' && b != b'?')
        .all(|b| b != b':')
        && is_target(reference)
}

/// An absolute URL, scheme and all.
pub(crate) fn absolute(text: &str) -> Option<Url> {
    if let Some(rest) = text.strip_prefix("https://") {
        authority_and_target(Scheme::Https, rest)
    } else if let Some(rest) = text.strip_prefix("http://") {
        authority_and_target(Scheme::Http, rest)
    } else {
        None
    }
}

/// What follows `http://`: a name, perhaps a port, perhaps path and query.
pub(crate) fn authority_and_target(scheme: Scheme, rest: &str) -> Option<Url> {
    let name_len = name_length(rest.as_bytes())?;
    let (port, authority_len) = match rest.as_bytes().get(name_len) {
        Some(b':') => {
            let (port, digits) = port(&rest.as_bytes()[name_len + 1..])?;
            if port == scheme.default_port() {
                return None;
            }
            (port, name_len + 1 + digits)
        }
        _ => (scheme.default_port(), name_len),
    };
    let (authority, target) = rest.split_at(authority_len);
    let slash = match target.as_bytes().first() {
        Some(b'/') => "",
        Some(b'?') | None => "/",
        Some(_) => return None,
    };
    if !is_target(target) {
        return None;
    }
    Url::assemble(scheme, authority, name_len, port, [slash, target])
}

/// The length of a lower-case host name that is no address and no
/// internationalised name: those are for the full parser.
fn name_length(bytes: &[u8]) -> Option<usize> {
    let mut label_start = 0;
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(&byte) if is(byte, NAME) => at += 1,
            end => {
                let label = &bytes[label_start..at];
                if label.is_empty() || label.len() > MAX_LABEL || label.starts_with(b"xn--") {
                    return None;
                }
                if end == Some(&b'.') {
                    at += 1;
                    label_start = at;
                    continue;
                }
                // A last label of digits makes the name an address.
                return (at <= MAX_NAME && !label[0].is_ascii_digit()).then_some(at);
            }
        }
    }
}

/// A port as the normal form writes it, and how many digits it has.
fn port(bytes: &[u8]) -> Option<(u16, usize)> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > 5 || bytes[0] == b'0' {
        return None;
    }
    let number = bytes[..digits]
        .iter()
        .fold(0u32, |sum, b| sum * 10 + u32::from(b - b'0'));
    Some((u16::try_from(number).ok()?, digits))
}
