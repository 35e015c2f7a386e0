//! Where all chance in the web comes from: a mixing function over the seed
//! and the coordinates of what is being decided. No state is kept, so any
//! page can be asked for in any order.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scramble 64 bits (the finaliser of SplitMix64).
pub fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The number that belongs to a question about `(a, b)` under `seed`.
/// `salt` keeps different questions about the same thing apart.
pub fn mix(seed: u64, salt: u64, a: u64, b: u64) -> u64 {
    let x = scramble(seed.wrapping_add(STEP.wrapping_mul(salt)));
    let x = scramble(x ^ a.wrapping_mul(STEP));
    scramble(x.wrapping_add(b).wrapping_mul(STEP))
}

/// Spread `r` over `0..n` without a division.
pub fn scale(r: u64, n: u64) -> u64 {
    ((u128::from(r) * u128::from(n)) >> 64) as u64
}

/// A rank in `0..n` whose frequency falls about as one over the rank: the
/// position is uniform, and then moved down by a uniform number of octaves.
pub fn zipf(r: u64, n: u64) -> u64 {
    let octaves = u64::from(64 - n.leading_zeros());
    let shift = scale(r, octaves);
    scale(scramble(r), n) >> shift
}

/// A short sequence of numbers for one page.
pub struct Stream(u64);

impl Stream {
    pub fn new(start: u64) -> Stream {
        Stream(start)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        scale(self.next(), n)
    }
}
