//! Which key prefixes a run may hold: a Bloom filter in blocks of one cache
//! line, so that asking costs one miss.

use xxhash_rust::xxh3::xxh3_64;

const WORDS: usize = 8;
const LINE_BITS: usize = WORDS * 64;
pub(super) const LINE_BYTES: usize = WORDS * 8;
const PROBES: u32 = 6;
/// Wrong one time in a hundred at this many bits for each prefix.
const BITS: usize = 10;
/// Below this it is wrong too often to be worth its memory.
const FEWEST_BITS: usize = 6;
/// Lines come in multiples of this, for four foldings.
const FOLDS: usize = 16;
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

pub(super) struct Filter {
    /// An even number as often as may be: then a filter can be folded.
    lines: Vec<[u64; WORDS]>,
}

pub(super) fn hash(prefix: &[u8]) -> u64 {
    xxh3_64(prefix)
}

impl Filter {
    /// A filter for up to so many prefixes, in no more than these bytes.
    pub fn sized(prefixes: u64, most_bytes: usize) -> Option<Filter> {
        let most = most_bytes / LINE_BYTES / FOLDS * FOLDS;
        let wanted = (prefixes as usize)
            .saturating_mul(BITS)
            .div_ceil(LINE_BITS * FOLDS)
            .saturating_mul(FOLDS)
            .max(FOLDS);
        // Expectations are too high when runs hold the same prefixes, but
        // not without limit.
        (most > 0 && wanted / FOLDS <= most).then(|| Filter {
            lines: vec![[0; WORDS]; wanted.min(most)],
        })
    }

    pub fn bytes(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }

    /// The higher the hash, the higher the line: two neighbours fold into
    /// the line that both have in a filter of half the size.
    fn line_of(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.lines.len() as u128) >> 64) as usize
    }

    pub fn add(&mut self, hash: u64) {
        let line = self.line_of(hash);
        let line = &mut self.lines[line];
        for bit in bits(hash) {
            line[bit / 64] |= 1 << (bit % 64);
        }
    }

    pub fn may_hold(&self, hash: u64) -> bool {
        let line = &self.lines[self.line_of(hash)];
        bits(hash).all(|bit| line[bit / 64] & 1 << (bit % 64) != 0)
    }

    /// Now that it is known how many prefixes came: fold it to the size they
    /// need, or give it up if they were too many.
    pub fn settle(mut self, prefixes: u64) -> Option<Filter> {
        let prefixes = (prefixes as usize).max(1);
        while self.lines.len().is_multiple_of(2)
            && self.lines.len() / 2 * LINE_BITS >= prefixes.saturating_mul(BITS)
        {
            for at in 0..self.lines.len() / 2 {
                let (one, other) = (self.lines[at * 2], self.lines[at * 2 + 1]);
                self.lines[at] = std::array::from_fn(|word| one[word] | other[word]);
            }
            self.lines.truncate(self.lines.len() / 2);
        }
        self.lines.shrink_to_fit();
        (self.lines.len() * LINE_BITS >= prefixes.saturating_mul(FEWEST_BITS)).then_some(self)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.bytes());
        for word in self.lines.iter().flatten() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    pub fn parse(bytes: &[u8]) -> Option<Filter> {
        let lines = bytes.len() / LINE_BYTES;
        if lines == 0 || !bytes.len().is_multiple_of(LINE_BYTES) {
            return None;
        }
        let mut filter = Filter {
            lines: vec![[0; WORDS]; lines],
        };
        let words = filter.lines.iter_mut().flatten();
        for (word, bytes) in words.zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(filter)
    }
}

/// The bits of a hash in its line, from bits that did not choose the line.
fn bits(hash: u64) -> impl Iterator<Item = usize> {
    let mixed = hash.wrapping_mul(MIX);
    (0..PROBES).map(move |probe| (mixed >> (64 - 9 * (probe + 1))) as usize % LINE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(number: u64) -> u64 {
        hash(&number.to_be_bytes())
    }

    #[test]
    fn holds_all_that_was_added_and_little_else_also_when_folded() {
        for expected in [1000, 5000, 12_000] {
            let mut filter = Filter::sized(expected, 1 << 20).unwrap();
            (0..1000).for_each(|number| filter.add(hash_of(number)));
            let filter = filter.settle(1000).unwrap();
            assert!(filter.bytes() <= 4096);
            let mut bytes = Vec::new();
            filter.write(&mut bytes);
            let filter = Filter::parse(&bytes).unwrap();
            assert!((0..1000).all(|number| filter.may_hold(hash_of(number))));
            let wrong = (1000..11_000).filter(|number| filter.may_hold(hash_of(*number)));
            assert!(wrong.count() < 300);
        }
    }

    #[test]
    fn a_filter_that_got_too_much_is_given_up() {
        let filter = Filter::sized(10_000, 4096).unwrap();
        assert!(filter.bytes() <= 4096);
        assert!(filter.settle(10_000).is_none());
        assert!(Filter::sized(10, 1000).is_none());
    }

    #[test]
    fn bytes_that_are_no_filter_are_refused() {
        assert!(Filter::parse(&[]).is_none());
        assert!(Filter::parse(&[0; 63]).is_none());
    }
}
