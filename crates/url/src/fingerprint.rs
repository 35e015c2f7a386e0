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

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn urls_of_one_host_stand_together() {
        let print = Fingerprinter::new(1);
        let (a, b) = (url("http://a.example/x"), url("http://a.example/y"));
        assert_eq!(print.key(&a), print.key(&a));
        assert_eq!(print.key(&a).host, print.key(&b).host);
        assert_ne!(print.key(&a).url, print.key(&b).url);
        assert_eq!(print.host(&a), print.key(&b).host);
    }

    #[test]
    fn scheme_port_and_seed_make_another_host() {
        let print = Fingerprinter::new(1);
        let hosts: std::collections::HashSet<u64> = [
            "http://a.example/",
            "https://a.example/",
            "http://a.example:8080/",
            "http://b.example/",
        ]
        .iter()
        .map(|text| print.host(&url(text)))
        .collect();
        assert_eq!(hosts.len(), 4);
        let other = Fingerprinter::new(2);
        let a = url("http://a.example/");
        assert_ne!(print.key(&a), other.key(&a));
        assert_ne!(print.name("a.example"), other.name("a.example"));
    }

    #[test]
    fn partitions_are_within_bounds_and_spread() {
        let print = Fingerprinter::new(1);
        let mut used = std::collections::HashSet::new();
        for site in 0..10_000 {
            let partition = print.partition(&format!("site{site}.example"));
            assert!(partition.0 < PARTITIONS);
            used.insert(partition);
        }
        assert!(used.len() > 1000, "{} partitions used", used.len());
        assert_eq!(print.partition("a.example"), print.partition("a.example"));
    }

    #[test]
    fn shards_own_even_contiguous_shares() {
        for shards in [1, 2, 3, 7, 16, 1024] {
            let mut owned = vec![0u32; shards];
            let mut last = 0;
            for partition in 0..PARTITIONS {
                let shard = Partition(partition).shard(shards);
                assert!(shard == last || shard == last + 1);
                last = shard;
                owned[shard] += 1;
            }
            let least = owned.iter().min().copied().unwrap_or(0);
            let most = owned.iter().max().copied().unwrap_or(0);
            assert!(least > 0 && most - least <= 1, "{shards}: {least}..{most}");
        }
    }
}
