//! Maps keyed by fingerprints need no second hash.

use std::hash::{BuildHasherDefault, Hasher};

/// Folds the 64-bit halves of a key that is a seeded hash already.
#[derive(Default)]
pub struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, part: u64) {
        // The upper bits of a lane are its partition, equal for many: the
        // multiplication carries the lower ones up.
        self.0 = (self.0.rotate_left(32) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

pub type ByFingerprint = BuildHasherDefault<Fold>;
