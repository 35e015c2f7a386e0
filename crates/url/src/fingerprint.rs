//! Fixed-size names of URLs: 64 bits of host, 64 bits of URL.
//!
//! URLs come from strangers, so the hash is seeded per crawl.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Url;

/// How many parts a crawl is divided into, for the whole of its life.
pub const PARTITIONS: u16 = 1024;

/// The part of the crawl a site belongs to; owned by exactly one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

impl Partition {
    /// Which of `shards` owns this partition: contiguous, even shares.
    pub fn shard(self, shards: usize) -> usize {
        self.0 as usize * shards / PARTITIONS as usize
    }
}

/// The URL's fingerprint, sorted so that a host's URLs stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlKey {
    pub host: u64,
    pub url: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprinter {
    pub seed: u64,
}

impl Fingerprinter {
    pub fn new(seed: u64) -> Fingerprinter {
        Fingerprinter { seed }
    }

    pub fn key(&self, url: &Url) -> UrlKey {
        UrlKey {
            host: self.host(url),
            url: xxh3_64_with_seed(url.as_str().as_bytes(), self.seed),
        }
    }

    pub fn host(&self, url: &Url) -> u64 {
        xxh3_64_with_seed(url.origin().as_bytes(), self.seed)
    }

    pub fn name(&self, name: &str) -> u64 {
        xxh3_64_with_seed(name.as_bytes(), self.seed)
    }

    pub fn partition(&self, site: &str) -> Partition {
        let hash = xxh3_64_with_seed(site.as_bytes(), self.seed);
        Partition((hash % u64::from(PARTITIONS)) as u16)
    }
}
