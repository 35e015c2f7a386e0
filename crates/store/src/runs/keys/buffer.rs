//! Keys in memory: the buffer of new ones and the cache of known ones.

use super::filter::spread;

/// An exact set with room for a fixed number of keys, made at once: a table
/// that grows would hold its owner up. No key is 0 in a slot that is taken.
pub struct Buffer {
    slots: Vec<u128>,
    shift: u32,
    has_zero: bool,
    len: usize,
}

impl Buffer {
    /// Room for `keys` at three quarters full.
    pub fn with_room(keys: usize) -> Buffer {
        let slots = (keys.max(3) / 3 * 4 + 4).next_power_of_two();
        Buffer {
            slots: vec![0; slots],
            shift: 64 - slots.trailing_zeros(),
            has_zero: false,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u128>()
    }

    pub fn contains(&self, key: u128) -> bool {
        if key == 0 {
            return self.has_zero;
        }
        self.slots[self.slot(key)] == key
    }

    /// Bring the places of these keys near the processor.
    pub fn touch(&self, keys: &[u128]) {
        let place = |key: &u128| self.slots[(spread(*key) >> self.shift) as usize];
        std::hint::black_box(keys.iter().map(place).fold(0, |all, slot| all ^ slot));
    }

    /// Whether it was not there before. The owner keeps `len` below the room.
    pub fn insert(&mut self, key: u128) -> bool {
        let new = if key == 0 {
            !std::mem::replace(&mut self.has_zero, true)
        } else {
            let slot = self.slot(key);
            std::mem::replace(&mut self.slots[slot], key) == 0
        };
        self.len += usize::from(new);
        new
    }

    /// Where the key is, or would be.
    fn slot(&self, key: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (spread(key) >> self.shift) as usize;
        while self.slots[slot] != 0 && self.slots[slot] != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    pub fn sorted(&self) -> Vec<u128> {
        let mut keys = Vec::with_capacity(self.len);
        keys.extend(self.has_zero.then_some(0));
        keys.extend(self.slots.iter().filter(|key| **key != 0));
        keys.sort_unstable();
        keys
    }

    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.has_zero = false;
        self.len = 0;
    }
}

/// Keys that are known to be in the set; each has one place and loses it to
/// the next that comes there.
pub struct Cache {
    slots: Vec<u128>,
}

impl Cache {
    pub fn of_keys(keys: usize) -> Cache {
        Cache {
            slots: vec![0; keys.max(1).next_power_of_two()],
        }
    }

    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u128>()
    }

    /// 0 marks an empty place, so that one key is never found here.
    pub fn contains(&self, key: u128) -> bool {
        self.slots[self.slot(key)] == key && key != 0
    }

    /// Bring the places of these keys near the processor.
    pub fn touch(&self, keys: &[u128]) {
        let place = |key: &u128| self.slots[self.slot(*key)];
        std::hint::black_box(keys.iter().map(place).fold(0, |all, slot| all ^ slot));
    }

    pub fn put(&mut self, key: u128) {
        let slot = self.slot(key);
        self.slots[slot] = key;
    }

    fn slot(&self, key: u128) -> usize {
        (spread(key) >> 8) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_buffer_is_a_set_up_to_its_room() {
        for room in [0, 1, 3, 10, 1000] {
            let mut buffer = Buffer::with_room(room);
            // Twice: a cleared buffer is as good as a fresh one.
            for round in 0..2u128 {
                let mut model = BTreeSet::new();
                for n in 0..2 * room.max(1) as u128 {
                    // Keys that differ in few bits, each asked for twice.
                    let key = (n / 2) << (64 * (n % 4 / 2)) | round;
                    assert_eq!(buffer.contains(key), model.contains(&key));
                    assert_eq!(buffer.insert(key), model.insert(key));
                    assert!(buffer.contains(key));
                }
                assert_eq!(buffer.len(), model.len());
                assert_eq!(buffer.sorted(), Vec::from_iter(model));
                buffer.clear();
                assert!(buffer.is_empty() && buffer.sorted().is_empty());
            }
        }
    }

    #[test]
    fn the_cache_knows_only_what_was_put_there() {
        let mut cache = Cache::of_keys(8);
        assert!(!cache.contains(0));
        for key in 1..100 {
            cache.put(key);
            assert!(cache.contains(key) && !cache.contains(key + 1000));
        }
        assert!((1..100).filter(|key| cache.contains(*key)).count() <= 8);
    }
}
