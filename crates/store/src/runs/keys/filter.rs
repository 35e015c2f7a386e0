//! A filter over all keys in the runs: "certainly not there" or "maybe".
//!
//! A Bloom filter whose bits for one key share a cache line, because a line
//! is what memory gives at the price of one bit.

use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{host_of, url_of};

const LINE_WORDS: usize = 8;
pub const LINE_BYTES: usize = LINE_WORDS * 8;
/// Few enough that a filter of five bits a key is still of use, many enough
/// that one of sixteen lets one stranger in a thousand pass.
const BITS_PER_KEY: usize = 5;

#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; LINE_WORDS]);

/// Keys are added by one thread at a time; anybody may ask meanwhile.
pub struct Filter {
    lines: Box<[Line]>,
}

/// A number in which every bit depends on both halves of the key.
pub fn spread(key: u128) -> u64 {
    (url_of(key) ^ host_of(key).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Filter {
    pub fn of_bytes(bytes: usize) -> Filter {
        let lines = (bytes / LINE_BYTES).max(1);
        Filter {
            lines: (0..lines).map(|_| Line::default()).collect(),
        }
    }

    pub fn bytes(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }

    pub fn add(&self, key: u128) {
        let (line, places) = self.places(key);
        for (word, bit) in places {
            // One writer at a time: no locked instruction is needed.
            let old = line.0[word].load(Ordering::Relaxed);
            line.0[word].store(old | bit, Ordering::Relaxed);
        }
    }

    pub fn maybe_contains(&self, key: u128) -> bool {
        let (line, places) = self.places(key);
        let missing = |(word, bit): (usize, u64)| !line.0[word].load(Ordering::Relaxed) & bit;
        places
            .into_iter()
            .map(missing)
            .fold(0, |all, bits| all | bits)
            == 0
    }

    fn places(&self, key: u128) -> (&Line, [(usize, u64); BITS_PER_KEY]) {
        let spread = spread(key);
        let line = (u128::from(spread) * self.lines.len() as u128) >> 64;
        // The line took the upper bits; these come from all of them.
        let bits =
            (spread ^ spread >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - 9 * BITS_PER_KEY);
        let places = std::array::from_fn(|i| {
            let place = bits >> (9 * i);
            ((place & 7) as usize, 1 << (place >> 3 & 63))
        });
        (&self.lines[line as usize], places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> u128 {
        u128::from(xxhash_rust::xxh3::xxh3_64(&(n / 50).to_le_bytes())) << 64
            | u128::from(xxhash_rust::xxh3::xxh3_64(&n.to_be_bytes()))
    }

    #[test]
    fn what_was_added_is_never_denied() {
        for bytes in [0, 64, 1000, 100_000] {
            let filter = Filter::of_bytes(bytes);
            (0..5000).for_each(|n| filter.add(key(n)));
            assert!((0..5000).all(|n| filter.maybe_contains(key(n))));
        }
    }

    #[test]
    fn strangers_are_mostly_told_apart() {
        // (bits a key, strangers that may pass in 10,000)
        for (bits, most) in [(5, 1200), (8, 350), (16, 40)] {
            let keys = 20_000;
            let filter = Filter::of_bytes(keys as usize * bits / 8);
            (0..keys).for_each(|n| filter.add(key(n)));
            let passed = (keys..keys + 10_000)
                .filter(|n| filter.maybe_contains(key(*n)))
                .count();
            assert!(passed < most, "{bits} bits: {passed} of 10,000 passed");
        }
    }
}
