//! Where a response's parts lie in the bytes as received.
//!
//! hyper says when a response is complete; this says, from the recorded bytes
//! alone, where its head ends and what its payload is. Nothing is collected
//! while a body comes in, and a payload without framing is not copied at all.

use std::ops::Range;

use bytes::Bytes;
use http::HeaderMap;
use http::header::TRANSFER_ENCODING;
use memchr::memchr;

/// How a body's end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// `stated` is the length hyper goes by, if there is one: it already knows
    /// of statuses without a body and that chunks win over a stated length.
    pub(super) fn of(headers: &HeaderMap, stated: Option<u64>) -> Framing {
        if let Some(length) = stated {
            return Framing::Length(length);
        }
        let last = headers.get_all(TRANSFER_ENCODING).iter().next_back();
        let chunked = last
            .and_then(|value| value.as_bytes().rsplit(|byte| *byte == b',').next())
            .is_some_and(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"));
        if chunked {
            Framing::Chunked
        } else {
            Framing::UntilClose
        }
    }
}

/// The head of the final response: interim responses (1xx) and empty lines
/// before it are skipped.
pub(super) fn head(received: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    loop {
        while matches!(received.get(start), Some(b'\r' | b'\n')) {
            start += 1;
        }
        let end = start + head_len(&received[start..])?;
        if !is_interim(&received[start..end]) {
            return Some(start..end);
        }
        start = end;
    }
}

/// Up to and with the first empty line; lines end by LF, with or without CR.
fn head_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'\n', &bytes[at..])? + 1;
        match bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// A 1xx that announces another response; 101 is final.
fn is_interim(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ' || *byte == b'\r' || *byte == b'\n');
    let code = words.nth(1).unwrap_or_default();
    code.len() == 3 && code[0] == b'1' && code != b"101"
}

/// A payload taken out of its chunks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    pub payload: Bytes,
    /// Where the framing ends: after the trailers, or where the bytes end.
    pub end: usize,
    /// Whether the last chunk and the end of the trailers were seen.
    pub finished: bool,
}

/// Walk over the chunks in `bytes`, which begin right after a head, and keep
/// at most `max` bytes of payload. As lenient as it can be: hyper has already
/// refused what it would not take.
pub(super) fn chunks(bytes: &Bytes, max: u64) -> Chunks {
    let mut parts = Parts::default();
    let mut at = 0;
    let mut finished = false;
    while let Some(line_end) = memchr(b'\n', &bytes[at..]) {
        let data = at + line_end + 1;
        let Some(size) = chunk_size(&bytes[at..data]) else {
            break;
        };
        if size == 0 {
            let trailers = trailer_len(&bytes[data..]);
            finished = trailers.is_some();
            at = trailers.map_or(bytes.len(), |len| data + len);
            break;
        }
        let here = size.min((bytes.len() - data) as u64) as usize;
        let room = max.saturating_sub(parts.len as u64).min(here as u64) as usize;
        parts.push(bytes, data..data + room);
        at = data + here;
        if (here as u64) < size || room < here {
            break;
        }
        at += match bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            _ => break,
        };
    }
    Chunks {
        payload: parts.join(bytes),
        end: if finished { at } else { bytes.len() },
        finished,
    }
}

/// Hexadecimal digits up to whatever else the line holds.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let digits = std::str::from_utf8(&line[..digits]).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

/// The trailers and the empty line that ends them.
fn trailer_len(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => head_len(bytes),
    }
}

/// Pieces of a payload: one alone stays where it is, several are copied
/// together.
#[derive(Default)]
struct Parts {
    first: Range<usize>,
    joined: Vec<u8>,
    len: usize,
}

impl Parts {
    fn push(&mut self, bytes: &[u8], part: Range<usize>) {
        if self.len == 0 {
            self.first = part.clone();
        } else {
            if self.joined.is_empty() {
                self.joined.reserve(bytes.len());
                self.joined.extend_from_slice(&bytes[self.first.clone()]);
            }
            self.joined.extend_from_slice(&bytes[part.clone()]);
        }
        self.len += part.len();
    }

    fn join(self, bytes: &Bytes) -> Bytes {
        if self.joined.is_empty() {
            bytes.slice(self.first)
        } else {
            self.joined.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(bytes: &'static [u8], max: u64) -> (Vec<u8>, usize, bool) {
        let found = chunks(&Bytes::from_static(bytes), max);
        (found.payload.to_vec(), found.end, found.finished)
    }

    #[test]
    fn head_ends_at_the_first_empty_line() {
        assert_eq!(head(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"), Some(0..25));
        assert_eq!(head(b"HTTP/1.1 200 OK\nA: b\n\nbody\n\n"), Some(0..22));
        assert_eq!(head(b"\r\n\nHTTP/1.1 200 OK\r\n\r\n"), Some(3..22));
        assert_eq!(head(b"HTTP/1.1 200 OK\r\nA: b\r\n"), None);
        assert_eq!(head(b""), None);
    }

    #[test]
    fn interim_responses_are_not_the_head() {
        let both =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx";
        let found = head(both).expect("there is a head");
        assert_eq!(&both[found], b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(head(b"HTTP/1.1 101 Switching\r\n\r\n"), Some(0..26));
        assert_eq!(head(b"HTTP/1.1 100 Continue\r\n\r\n"), None);
    }

    #[test]
    fn chunks_are_joined_up_to_the_trailers() {
        let bytes = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\nmore";
        assert_eq!(chunked(bytes, 100), (b"abcde".to_vec(), 30, true));
        assert_eq!(chunked(b"0\r\n\r\n", 100), (vec![], 5, true));
    }

    #[test]
    fn broken_and_cut_chunks_leave_their_prefix() {
        assert_eq!(chunked(b"3\r\nabc\r\nFF\r\nde", 9).0, b"abcde");
        assert_eq!(chunked(b"3\r\nabcXX4\r\n", 9), (b"abc".to_vec(), 11, false));
        assert_eq!(chunked(b"3\r\nabc\r\nzz\r\n", 9).0, b"abc");
        assert_eq!(chunked(b"fffffffffffffffffff\r\nabc", 9).0, b"");
        assert_eq!(chunked(b"ffffffffffffffff\r\nabc", 9).0, b"abc");
        assert_eq!(
            chunked(b"3\r\nabc\r\n0\r\n", 9),
            (b"abc".to_vec(), 11, false)
        );
        assert_eq!(chunked(b"", 9), (vec![], 0, false));
    }

    #[test]
    fn payload_has_a_limit() {
        assert_eq!(chunked(b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", 4).0, b"abcd");
    }

    #[test]
    fn one_chunk_is_not_copied() {
        let bytes = Bytes::from_static(b"3\r\nabc\r\n0\r\n\r\n");
        let payload = chunks(&bytes, 9).payload;
        assert_eq!(payload.as_ptr(), bytes[3..].as_ptr());
    }
}
