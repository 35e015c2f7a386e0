//! What a crawl directory made by this program says of itself.

use rhumb_store::{Clock, FORMAT, Identity};
use rhumb_url::{NORMALISER_VERSION, PARTITIONS};

/// What a crawl directory made by this program says of itself.
pub fn our_identity(clock: &dyn Clock) -> Identity {
    let created = clock.wall();
    // URLs come from strangers, who must not be able to choose collisions.
    let mut seed_material = [0; 16];
    seed_material[..8].copy_from_slice(&created.0.to_le_bytes());
    seed_material[8..].copy_from_slice(&random_bits().to_le_bytes());
    Identity {
        format: FORMAT,
        normaliser: NORMALISER_VERSION,
        suffix_list: rhumb_url::suffix_list_version().to_owned(),
        partitions: PARTITIONS,
        // TOML integers are signed.
        hash_seed: xxhash_rust::xxh3::xxh3_64(&seed_material) >> 1,
        created: created.to_string(),
        program: concat!("rhumb ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// The standard library seeds its maps from the system's randomness.
fn random_bits() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
