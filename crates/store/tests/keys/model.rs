//! A plain set beside the one under test, and keys to offer to both.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{KeySetConfig, Keys, RunFolder, RunsError, Verdict};

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of a few hosts' few URLs, now and then one at an edge.
    pub fn key(&mut self, urls: u64) -> u128 {
        match self.below(500) {
            0 => 0,
            1 => u128::MAX,
            2 => 1,
            _ => {
                let host = mix(self.below(30));
                u128::from(host) << 64 | u128::from(mix(self.below(urls)))
            }
        }
    }
}

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// Limits so small that everything happens within a few hundred keys.
pub fn small(random: &mut Random) -> KeySetConfig {
    KeySetConfig {
        buffer_keys: 1 + random.below(60) as usize,
        filter_bytes: [0, 128, 4096][random.below(3) as usize],
        cache_keys: 1 + random.below(16) as usize,
        confirm_keys: 1 + random.below(60) as usize,
        confirm_after: Duration::from_secs(1 + random.below(20)),
        merge_width: 2 + random.below(3) as usize,
        block_bytes: 64 + random.below(200) as usize,
        index_bytes: random.below(400) as usize,
    }
}

pub fn folder(disk: &MemoryDisk) -> RunFolder {
    RunFolder::open(Arc::new(disk.clone()), Path::new("/state")).unwrap()
}

/// Offers keys and holds every answer against what must be.
pub struct Checked<K> {
    pub set: K,
    pub known: HashSet<u128>,
    waiting: HashMap<u64, u128>,
    next_token: u64,
    pub now: Duration,
}

impl<K: Keys> Checked<K> {
    pub fn new(set: K, known: HashSet<u128>) -> Checked<K> {
        assert_eq!(set.count(), known.len() as u64);
        Checked {
            set,
            known,
            waiting: HashMap::new(),
            next_token: 1,
            now: Duration::ZERO,
        }
    }

    pub fn offer(&mut self, keys: &[u128]) {
        let mut verdicts = vec![Verdict::Seen];
        self.set
            .offer(keys, self.next_token, self.now, &mut verdicts);
        assert_eq!(
            verdicts.len(),
            keys.len() + 1,
            "one verdict a key, appended"
        );
        for ((token, key), verdict) in (self.next_token..).zip(keys).zip(&verdicts[1..]) {
            match verdict {
                Verdict::New => assert!(self.known.insert(*key), "new twice: {key:x}"),
                Verdict::Seen => assert!(self.known.contains(key), "never seen: {key:x}"),
                Verdict::Later => assert!(self.waiting.insert(token, *key).is_none()),
            }
        }
        self.next_token += keys.len() as u64;
        self.check_counts();
    }

    pub fn tend(&mut self) -> Result<(), RunsError> {
        let mut answers = Vec::new();
        self.set.tend(self.now, &mut answers)?;
        for (token, is_new) in answers {
            let key = self.waiting.remove(&token).expect("answered twice");
            match is_new {
                true => assert!(self.known.insert(key), "new twice: {key:x}"),
                false => assert!(self.known.contains(&key), "never seen: {key:x}"),
            }
        }
        self.check_counts();
        Ok(())
    }

    fn check_counts(&self) {
        assert_eq!(self.set.pending(), self.waiting.len());
        assert_eq!(self.set.count(), self.known.len() as u64);
    }

    pub fn check_contains(&self, key: u128) {
        assert_eq!(self.set.contains(key).unwrap(), self.known.contains(&key));
    }

    /// Wait for every answer.
    pub fn settle(&mut self) -> Result<(), RunsError> {
        while self.set.pending() > 0 {
            self.set.hurry();
            self.tend()?;
            std::thread::yield_now();
        }
        Ok(())
    }

    /// A page's worth of keys, some time, and a question now and then.
    pub fn step(&mut self, random: &mut Random, urls: u64) -> Result<(), RunsError> {
        let keys: Vec<u128> = (0..random.below(40)).map(|_| random.key(urls)).collect();
        self.offer(&keys);
        self.now += Duration::from_millis(random.below(2000));
        if random.below(3) > 0 {
            self.tend()?;
        }
        match random.below(20) {
            0 => self.set.hurry(),
            1..4 => self.check_contains(random.key(urls)),
            _ => (),
        }
        Ok(())
    }
}
