//! Fixed-size names of URLs: 64 bits of host name, 64 bits of URL.
//!
//! URLs come from strangers, so the hash is seeded per crawl. The name's half
//! begins with the partition, so that in sorted order a partition's URLs stand
//! together, and within it those of a name.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Url;
use crate::host::site_of;

/// How many parts a crawl is divided into, for the whole of its life.
pub const PARTITIONS: u16 = 1024;

/// The part of the crawl a site belongs to; owned by exactly one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

impl Partition {
    /// The partition that a lane's fingerprint begins with.
    pub fn of_lane(lane: u64) -> Partition {
        Partition((lane >> LANE_BITS) as u16)
    }

    /// The least fingerprint a lane of this partition can have.
    pub fn first_lane(self) -> u64 {
        u64::from(self.0) << LANE_BITS
    }

    /// Which of `shards` owns this partition: contiguous, even shares.
    pub fn shard(self, shards: usize) -> usize {
        self.0 as usize * shards / PARTITIONS as usize
    }
}

/// Bits of a lane's fingerprint below its partition.
const LANE_BITS: u32 = u64::BITS - PARTITIONS.ilog2();

/// The URL's fingerprint, sorted so that the URLs of a host name stand
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlKey {
    /// The fingerprint of the host name.
    pub lane: u64,
    pub url: u64,
}

/// A URL and its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedUrl {
    pub key: UrlKey,
    pub url: Url,
}

/// Makes keys, and remembers the name it saw last: most links of a page lead
/// to the name of the link before.
#[derive(Clone)]
pub struct Keyer {
    print: Fingerprinter,
    name: String,
    lane: u64,
}

impl Keyer {
    pub fn new(print: Fingerprinter) -> Keyer {
        Keyer {
            print,
            name: String::new(),
            lane: 0,
        }
    }

    pub fn key(&mut self, url: &Url) -> UrlKey {
        if self.name != url.name() {
            self.lane = self.print.lane(url.name());
            self.name.clear();
            self.name.push_str(url.name());
        }
        UrlKey {
            lane: self.lane,
            url: self.print.text(url.as_str()),
        }
    }

    pub fn keyed(&mut self, url: Url) -> KeyedUrl {
        KeyedUrl {
            key: self.key(&url),
            url,
        }
    }
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
            lane: self.lane(url.name()),
            url: self.text(url.as_str()),
        }
    }

    /// A host name's fingerprint, its partition first.
    pub fn lane(&self, name: &str) -> u64 {
        let partition = self.partition(site_of(name));
        u64::from(partition.0) << LANE_BITS | self.text(name) >> PARTITIONS.ilog2()
    }

    /// The fingerprint of scheme, name and port.
    pub fn host(&self, url: &Url) -> u64 {
        self.text(url.origin())
    }

    pub fn text(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.seed)
    }

    pub fn partition(&self, site: &str) -> Partition {
        Partition((self.text(site) % u64::from(PARTITIONS)) as u16)
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
        assert_eq!(print.key(&a).lane, print.key(&b).lane);
        assert_ne!(print.key(&a).url, print.key(&b).url);
        let mut keyer = Keyer::new(print);
        for url in [&a, &b, &url("http://b.example/"), &a] {
            assert_eq!(keyer.key(url), print.key(url));
        }
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
        assert_ne!(print.lane("a.example"), other.lane("a.example"));
    }

    #[test]
    fn a_lane_begins_with_its_partition() {
        let print = Fingerprinter::new(3);
        for site in ["a.example", "b.example", "10.0.0.1"] {
            let partition = print.partition(site);
            assert_eq!(Partition::of_lane(print.lane(site)), partition);
            let below = print.lane(&format!("www.{site}"));
            if site != "10.0.0.1" {
                assert_eq!(Partition::of_lane(below), partition);
            }
        }
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
