//! A small sorted piece of a buffer's order.

use super::arena::{Arena, Place};

pub(super) const CHUNK: usize = 128;
/// Heads in one line of the processor's cache.
const LINE: usize = 8;

/// The head of a key in two halves, and where the entry lies.
#[derive(Clone, Copy)]
struct Slot {
    low: u64,
    place: Place,
}

/// The first halves of the heads lie by themselves: a search reads little
/// else, and memory is what it waits for.
pub(super) struct Chunk {
    highs: Vec<u64>,
    slots: Vec<Slot>,
}

/// What a chunk takes of memory, full or not.
pub(super) const CHUNK_BYTES: usize =
    CHUNK * (size_of::<u64>() + size_of::<Slot>()) + size_of::<Chunk>();

pub(super) fn high(head: u128) -> u64 {
    (head >> 64) as u64
}

impl Chunk {
    pub fn new() -> Chunk {
        Chunk {
            highs: Vec::with_capacity(CHUNK),
            slots: Vec::with_capacity(CHUNK),
        }
    }

    pub fn len(&self) -> usize {
        self.highs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.highs.is_empty()
    }

    pub fn first_high(&self) -> u64 {
        self.highs.first().copied().unwrap_or(0)
    }

    pub fn place(&self, at: usize) -> Place {
        self.slots[at].place
    }

    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.slots.iter().map(|slot| slot.place)
    }

    pub fn set_place(&mut self, at: usize, place: Place) {
        self.slots[at].place = place;
    }

    pub fn insert(&mut self, at: usize, head: u128, place: Place) {
        let low = head as u64;
        self.highs.insert(at, high(head));
        self.slots.insert(at, Slot { low, place });
    }

    /// The upper half, as a chunk of its own.
    pub fn split(&mut self) -> Chunk {
        let mut upper = Chunk::new();
        upper.highs.extend(self.highs.drain(CHUNK / 2..));
        upper.slots.extend(self.slots.drain(CHUNK / 2..));
        upper
    }

    pub fn remove(&mut self, from: usize, to: usize) {
        self.highs.drain(from..to);
        self.slots.drain(from..to);
    }

    /// Where the key is, or where it would be.
    pub fn search(&self, arena: &Arena, head: u128, key: &[u8]) -> Result<usize, usize> {
        let wanted = high(head);
        let mut start = first_not_below(&self.highs, wanted);
        if self.highs.get(start) != Some(&wanted) {
            return Err(start);
        }
        let equal = self.highs[start..].partition_point(|high| *high == wanted);
        self.slots[start..start + equal]
            .binary_search_by(|slot| {
                slot.low
                    .cmp(&(head as u64))
                    .then_with(|| arena.key(slot.place).cmp(key))
            })
            .map(|at| start + at)
            .map_err(|at| {
                start += at;
                start
            })
    }

    /// Whether its first key is after `key`.
    pub fn begins_after(&self, arena: &Arena, head: u128, key: &[u8]) -> bool {
        let Some(first) = self.slots.first() else {
            return false;
        };
        let own = u128::from(self.first_high()) << 64 | u128::from(first.low);
        own > head || (own == head && arena.key(first.place) > key)
    }
}

/// Counting, not halving: the loads do not wait for one another, and the
/// insert that follows needs the same lines.
fn first_not_below(highs: &[u64], wanted: u64) -> usize {
    let below = |highs: &[u64]| highs.iter().filter(|high| **high < wanted).count();
    let lines = highs.chunks(LINE).filter(|line| line[0] < wanted).count();
    match lines.checked_sub(1) {
        None => 0,
        Some(line) => {
            let start = line * LINE;
            start + below(&highs[start..highs.len().min(start + LINE)])
        }
    }
}
