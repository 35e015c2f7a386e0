//! Keys as numbers, and the ends of key ranges.
//!
//! A range is `[from, to)`; the empty `to` stands behind every key, so that
//! "everything from here on" can be said.

/// The first 16 bytes of a key as a number: where two heads differ, they
/// order as their keys do, and most comparisons need no more.
pub(super) fn head(key: &[u8]) -> u128 {
    match key.first_chunk::<16>() {
        Some(first) => u128::from_be_bytes(*first),
        None => {
            let mut padded = [0; 16];
            padded[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(padded)
        }
    }
}

pub(super) fn is_before(key: &[u8], end: &[u8]) -> bool {
    end.is_empty() || key < end
}

pub(super) fn contains(from: &[u8], to: &[u8], key: &[u8]) -> bool {
    from <= key && is_before(key, to)
}

pub(super) fn is_empty(from: &[u8], to: &[u8]) -> bool {
    !is_before(from, to)
}

pub(super) fn earlier_end<'a>(one: &'a [u8], other: &'a [u8]) -> &'a [u8] {
    if other.is_empty() || (!one.is_empty() && one < other) {
        one
    } else {
        other
    }
}

pub(super) fn later_end<'a>(one: &'a [u8], other: &'a [u8]) -> &'a [u8] {
    if earlier_end(one, other) == one {
        other
    } else {
        one
    }
}

/// The prefix that all keys of a range begin with, if it has that length.
pub(super) fn common_prefix<'a>(from: &'a [u8], to: &[u8], length: usize) -> Option<&'a [u8]> {
    let prefix = from.get(..length)?;
    let one = match to.get(..length) {
        Some(end) if end == prefix => true,
        Some(end) => to.len() == length && follows(prefix, end),
        None => false,
    };
    one.then_some(prefix)
}

/// Whether `next` is the number after `last`, both of one length.
fn follows(last: &[u8], next: &[u8]) -> bool {
    let Some(risen) = last.iter().rposition(|byte| *byte != u8::MAX) else {
        return false;
    };
    next[..risen] == last[..risen]
        && next[risen] == last[risen] + 1
        && next[risen + 1..].iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_up_to_the_next_prefix_has_one_prefix() {
        assert_eq!(common_prefix(b"ab1", b"ab7", 2), Some(&b"ab"[..]));
        assert_eq!(common_prefix(b"ab1", b"ac", 2), Some(&b"ab"[..]));
        assert_eq!(common_prefix(b"ab1", b"ac0", 2), None);
        assert_eq!(common_prefix(b"a\xff9", b"b\0", 2), Some(&b"a\xff"[..]));
        assert_eq!(common_prefix(b"\xff\xff", b"", 2), None);
        assert_eq!(common_prefix(b"a", b"b", 2), None);
    }

    #[test]
    fn the_empty_end_is_behind_every_key() {
        assert!(contains(b"a", b"", b"zzz"));
        assert!(!contains(b"a", b"b", b"b"));
        assert_eq!(earlier_end(b"", b"x"), b"x");
        assert_eq!(later_end(b"", b"x"), b"");
        assert_eq!(later_end(b"y", b"x"), b"y");
        assert!(is_empty(b"b", b"a"));
        assert!(!is_empty(b"b", b""));
    }

    #[test]
    fn heads_order_as_keys_do_where_they_differ() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"a", b"ab", b"b", b"bbbbbbbbbbbbbbbbbbbb"];
        for pair in keys.windows(2) {
            assert!(head(pair[0]) <= head(pair[1]));
        }
    }
}
