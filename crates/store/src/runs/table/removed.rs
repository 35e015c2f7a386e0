//! Ranges that were removed: sorted, none touching another.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::range::{is_before, later_end};

/// What a node of the map costs beside its keys, about.
const NODE_BYTES: usize = 64;

#[derive(Default)]
pub(super) struct RemovedRanges {
    /// From each `from` to its `to`.
    ends: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl RemovedRanges {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn insert(&mut self, from: &[u8], to: &[u8]) {
        let mut from = from.to_vec();
        let mut to = to.to_vec();
        if let Some((start, end)) = self.at_or_before(&from)
            && (end.is_empty() || end >= &from[..])
        {
            from = start.to_vec();
            to = later_end(&to, end).to_vec();
        }
        // Swallow all that begin within the new one or right at its end.
        loop {
            let next = self
                .ends
                .range::<[u8], _>((Bound::Included(&from[..]), Bound::Unbounded));
            let Some((start, end)) = next.into_iter().next() else {
                break;
            };
            if !(to.is_empty() || start <= &to) {
                break;
            }
            to = later_end(&to, end).to_vec();
            let start = start.clone();
            self.take(&start);
        }
        self.bytes += from.len() + to.len() + NODE_BYTES;
        self.ends.insert(from, to);
    }

    fn take(&mut self, start: &[u8]) {
        if let Some(end) = self.ends.remove(start) {
            self.bytes -= start.len() + end.len() + NODE_BYTES;
        }
    }

    fn at_or_before(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        let before = self
            .ends
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before
            .into_iter()
            .next_back()
            .map(|(from, to)| (&from[..], &to[..]))
    }

    pub fn covers(&self, key: &[u8]) -> bool {
        self.at_or_before(key)
            .is_some_and(|(_, to)| is_before(key, to))
    }

    /// The first range that ends after `key`.
    pub fn first_ending_after(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        self.at_or_before(key)
            .filter(|(_, to)| is_before(key, to))
            .or_else(|| self.after(key))
    }

    /// The first range that begins after `key`.
    pub fn after(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        let after = self
            .ends
            .range::<[u8], _>((Bound::Excluded(key), Bound::Unbounded));
        after
            .into_iter()
            .next()
            .map(|(from, to)| (&from[..], &to[..]))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.ends.iter().map(|(from, to)| (&from[..], &to[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ranges: &RemovedRanges) -> Vec<(&[u8], &[u8])> {
        ranges.iter().collect()
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = RemovedRanges::default();
        ranges.insert(b"b", b"c");
        ranges.insert(b"e", b"f");
        ranges.insert(b"c", b"d");
        assert_eq!(all(&ranges), [(&b"b"[..], &b"d"[..]), (b"e", b"f")]);
        ranges.insert(b"a", b"e");
        assert_eq!(all(&ranges), [(&b"a"[..], &b"f"[..])]);
        ranges.insert(b"b", b"");
        assert_eq!(all(&ranges), [(&b"a"[..], &b""[..])]);
        ranges.insert(b"x", b"y");
        assert_eq!(all(&ranges), [(&b"a"[..], &b""[..])]);
        assert_eq!(ranges.bytes(), 1 + NODE_BYTES);
    }

    #[test]
    fn covers_from_its_start_up_to_but_without_its_end() {
        let mut ranges = RemovedRanges::default();
        ranges.insert(b"b", b"d");
        assert!(!ranges.covers(b"a"));
        assert!(ranges.covers(b"b"));
        assert!(ranges.covers(b"czz"));
        assert!(!ranges.covers(b"d"));
        assert_eq!(
            ranges.first_ending_after(b"c"),
            Some((&b"b"[..], &b"d"[..]))
        );
        assert_eq!(ranges.first_ending_after(b"d"), None);
    }
}
