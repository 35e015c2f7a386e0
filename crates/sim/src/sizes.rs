//! How many pages each host has: about one over its rank (Zipf's law), in
//! closed form, adding up to exactly the number of pages asked for.
//!
//! A mirror has as many pages as the host before it, which it repeats. One
//! rank in 24 is a mirror; the page that an odd pair has left over goes to the
//! host after it.

const MIRROR_EVERY: u32 = 24;
const MIRROR_AT: u32 = 9;
/// Flattens the head of the law: without it the first host would have more
/// than the next two together.
const HEAD: f64 = 2.0;

#[derive(Debug, Clone)]
pub struct Sizes {
    hosts: u32,
    pages: u64,
    per_log: f64,
}

impl Sizes {
    /// `pages` is at least `hosts`.
    pub fn new(hosts: u32, pages: u64) -> Sizes {
        let whole = ((f64::from(hosts) + HEAD) / HEAD).ln();
        let spread = (pages - u64::from(hosts)) as f64;
        Sizes {
            hosts,
            pages,
            per_log: spread / whole,
        }
    }

    /// The host whose bytes this host repeats.
    pub fn mirrored(&self, rank: u32) -> Option<u32> {
        (rank % MIRROR_EVERY == MIRROR_AT && rank + 1 < self.hosts).then(|| rank - 1)
    }

    /// Whether another host repeats this one.
    pub fn has_mirror(&self, rank: u32) -> bool {
        rank + 1 < self.hosts && self.mirrored(rank + 1).is_some()
    }

    /// Number of pages of one host: never less than one.
    pub fn of(&self, rank: u32) -> u64 {
        self.start(rank + 1) - self.start(rank)
    }

    /// Pages of all hosts before this one.
    fn start(&self, rank: u32) -> u64 {
        if self.mirrored(rank).is_some() {
            return self.law(rank - 1) + self.pair(rank);
        }
        if rank > 0 && self.mirrored(rank - 1).is_some() {
            return self.law(rank - 2) + 2 * self.pair(rank - 1);
        }
        self.law(rank)
    }

    /// What a mirror and its original have, each.
    fn pair(&self, mirror: u32) -> u64 {
        (self.law(mirror + 1) - self.law(mirror - 1)) / 2
    }

    fn law(&self, rank: u32) -> u64 {
        if rank >= self.hosts {
            return self.pages;
        }
        let share = (self.per_log * ((f64::from(rank) + HEAD) / HEAD).ln()) as u64;
        u64::from(rank) + share.min(self.pages - u64::from(self.hosts))
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn sizes_add_up_to_the_pages_asked_for() {
        for (hosts, pages) in [(1, 1), (2, 9), (10, 10), (11, 400), (1_000, 54_321)] {
            let sizes = Sizes::new(hosts, pages);
            let all: Vec<u64> = (0..hosts).map(|rank| sizes.of(rank)).collect();
            assert_eq!(all.iter().sum::<u64>(), pages, "{hosts} hosts");
            assert!(all.iter().all(|&size| size > 0), "{hosts} hosts");
        }
    }

    #[test]
    fn a_mirror_is_as_large_as_its_original() {
        let sizes = Sizes::new(100, 7_777);
        for rank in 0..100 {
            if let Some(original) = sizes.mirrored(rank) {
                assert_eq!(sizes.of(rank), sizes.of(original));
            }
        }
        assert!(sizes.has_mirror(8) && sizes.mirrored(9) == Some(8));
    }

    #[test]
    fn few_hosts_hold_most_pages() {
        let sizes = Sizes::new(10_000, 10_000_000);
        let first = sizes.of(0) as f64 / 1e7;
        assert!((0.03..0.10).contains(&first), "{first}");
        let tenth: u64 = (0..1_000).map(|rank| sizes.of(rank)).sum();
        assert!(tenth > 6_000_000, "{tenth}");
    }
}
