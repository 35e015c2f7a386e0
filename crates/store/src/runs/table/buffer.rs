//! What is new, in order, in memory.
//!
//! Entries lie in an arena; a list of small sorted chunks orders them. A
//! chunk is found by the heads of the chunks' first keys, which stay in the
//! processor's cache, and an insert moves half a chunk at most. It is always
//! sorted, so freezing it takes no work at all.

use std::cmp::Ordering;

use super::arena::{Arena, Place};
use super::range::{head, is_before};
use super::removed::RemovedRanges;

const CHUNK: usize = 128;

#[derive(Clone, Copy)]
struct Slot {
    /// The head of the key, as two halves: a `u128` would be padded.
    high: u64,
    low: u64,
    place: Place,
}

impl Slot {
    fn new(head: u128, place: Place) -> Slot {
        Slot {
            high: (head >> 64) as u64,
            low: head as u64,
            place,
        }
    }

    fn head(&self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

#[derive(Default)]
pub(super) struct Buffer {
    arena: Arena,
    /// The first slot of every chunk.
    firsts: Vec<Slot>,
    chunks: Vec<Vec<Slot>>,
    /// They hide what is older than this buffer; what lay in the buffer
    /// itself is gone, and what came later stands.
    removed: RemovedRanges,
    entries: usize,
}

/// A place in the list: chunk and slot. Behind the last entry: past the
/// last chunk.
type Spot = (usize, usize);

impl Buffer {
    pub fn is_empty(&self) -> bool {
        self.entries == 0 && self.removed.len() == 0
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn bytes(&self) -> usize {
        let slots = self.chunks.len() * CHUNK + self.firsts.capacity();
        self.arena.bytes()
            + slots * size_of::<Slot>()
            + self.chunks.capacity() * size_of::<Vec<Slot>>()
            + self.removed.bytes()
    }

    pub fn removed(&self) -> &RemovedRanges {
        &self.removed
    }

    /// `None` removes the key.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let head = head(key);
        let chunk = match self.chunk_of(head, key) {
            Some(chunk) => chunk,
            // Before all others, or the very first.
            None if self.chunks.is_empty() => {
                let slot = Slot::new(head, self.arena.add(key, value));
                self.add_chunk(0, slot);
                return;
            }
            None => 0,
        };
        match self.search(chunk, head, key) {
            Ok(at) => {
                let place = self.chunks[chunk][at].place;
                if !self.arena.overwrite(place, value) {
                    let slot = Slot::new(head, self.arena.add(key, value));
                    self.chunks[chunk][at] = slot;
                    if at == 0 {
                        self.firsts[chunk] = slot;
                    }
                }
            }
            Err(at) => {
                let slot = Slot::new(head, self.arena.add(key, value));
                self.insert(chunk, at, slot);
            }
        }
    }

    fn add_chunk(&mut self, chunk: usize, slot: Slot) {
        let mut slots = Vec::with_capacity(CHUNK);
        slots.push(slot);
        self.chunks.insert(chunk, slots);
        self.firsts.insert(chunk, slot);
        self.entries += 1;
    }

    fn insert(&mut self, mut chunk: usize, mut at: usize, slot: Slot) {
        if self.chunks[chunk].len() == CHUNK {
            // Keys that come in order fill their chunks.
            if at == CHUNK {
                return self.add_chunk(chunk + 1, slot);
            }
            let mut upper = Vec::with_capacity(CHUNK);
            upper.extend(self.chunks[chunk].drain(CHUNK / 2..));
            self.firsts.insert(chunk + 1, upper[0]);
            self.chunks.insert(chunk + 1, upper);
            if at > CHUNK / 2 {
                chunk += 1;
                at -= CHUNK / 2;
            }
        }
        self.chunks[chunk].insert(at, slot);
        if at == 0 {
            self.firsts[chunk] = slot;
        }
        self.entries += 1;
    }

    pub fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        if !is_before(from, to) {
            return;
        }
        self.drop_entries(from, to);
        self.removed.insert(from, to);
    }

    fn drop_entries(&mut self, from: &[u8], to: &[u8]) {
        let (first, start) = self.spot(from);
        let (last, end) = match to {
            [] => (self.chunks.len(), 0),
            to => self.spot(to),
        };
        if (first, start) == (last, end) {
            return;
        }
        let before: usize = self.chunks[first..self.chunks.len().min(last + 1)]
            .iter()
            .map(Vec::len)
            .sum();
        if first == last {
            self.chunks[first].drain(start..end);
        } else {
            self.chunks[first].truncate(start);
            if let Some(chunk) = self.chunks.get_mut(last) {
                chunk.drain(..end);
            }
        }
        let kept_last = self
            .chunks
            .get(last)
            .filter(|_| last > first)
            .map_or(0, Vec::len);
        self.entries -= before - self.chunks[first].len() - kept_last;
        // What lies between is gone, and so are chunks left empty.
        let gone_from = first + usize::from(!self.chunks[first].is_empty());
        let gone_to = if first == last { first + 1 } else { last };
        if gone_from < gone_to {
            self.chunks.drain(gone_from..gone_to);
            self.firsts.drain(gone_from..gone_to);
        }
        for chunk in first..self.chunks.len().min(gone_from + 1) {
            self.firsts[chunk] = self.chunks[chunk][0];
        }
    }

    /// What the buffer says of a key: nothing, or its value, or (`None`)
    /// that it was removed.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let head = head(key);
        if let Some(chunk) = self.chunk_of(head, key)
            && let Ok(at) = self.search(chunk, head, key)
        {
            return Some(self.arena.value(self.chunks[chunk][at].place));
        }
        self.removed.covers(key).then_some(None)
    }

    /// The last chunk whose first key is not after `key`.
    fn chunk_of(&self, head: u128, key: &[u8]) -> Option<usize> {
        let after = self
            .firsts
            .partition_point(|first| self.compare(first, head, key) != Ordering::Greater);
        after.checked_sub(1)
    }

    fn search(&self, chunk: usize, head: u128, key: &[u8]) -> Result<usize, usize> {
        self.chunks[chunk].binary_search_by(|slot| self.compare(slot, head, key))
    }

    fn compare(&self, slot: &Slot, head: u128, key: &[u8]) -> Ordering {
        slot.head()
            .cmp(&head)
            .then_with(|| self.arena.key(slot.place).cmp(key))
    }

    /// The first entry at or after `key`.
    fn spot(&self, key: &[u8]) -> Spot {
        let head = head(key);
        let Some(chunk) = self.chunk_of(head, key) else {
            return (0, 0);
        };
        let (Ok(at) | Err(at)) = self.search(chunk, head, key);
        if at == self.chunks[chunk].len() {
            (chunk + 1, 0)
        } else {
            (chunk, at)
        }
    }

    pub fn cursor<'a>(&'a self, from: &[u8], to: &'a [u8]) -> BufferCursor<'a> {
        let mut cursor = BufferCursor {
            buffer: self,
            to,
            spot: self.spot(from),
            place: None,
            key: &[],
        };
        cursor.settle();
        cursor
    }

    /// The entries and removals that touch a range, as a buffer of their own.
    pub fn copy(&self, from: &[u8], to: &[u8]) -> Buffer {
        let mut copy = Buffer::default();
        let mut next = self.removed.first_ending_after(from);
        while let Some((start, end)) = next.filter(|(start, _)| is_before(start, to)) {
            copy.removed.insert(start, end);
            next = self.removed.after(start);
        }
        let mut cursor = self.cursor(from, to);
        while let Some(key) = cursor.key() {
            copy.put(key, cursor.value());
            cursor.advance();
        }
        copy
    }
}

/// Walks over a part of a buffer, in order.
pub(super) struct BufferCursor<'a> {
    buffer: &'a Buffer,
    to: &'a [u8],
    spot: Spot,
    place: Option<Place>,
    key: &'a [u8],
}

impl<'a> BufferCursor<'a> {
    fn settle(&mut self) {
        let (chunk, at) = self.spot;
        self.place = None;
        if let Some(slot) = self
            .buffer
            .chunks
            .get(chunk)
            .and_then(|slots| slots.get(at))
        {
            self.key = self.buffer.arena.key(slot.place);
            if is_before(self.key, self.to) {
                self.place = Some(slot.place);
            }
        }
    }

    pub fn key(&self) -> Option<&'a [u8]> {
        self.place.map(|_| self.key)
    }

    pub fn value(&self) -> Option<&'a [u8]> {
        self.buffer.arena.value(self.place?)
    }

    pub fn advance(&mut self) {
        let (chunk, at) = self.spot;
        self.spot = if at + 1 < self.buffer.chunks[chunk].len() {
            (chunk, at + 1)
        } else {
            (chunk + 1, 0)
        };
        self.settle();
    }

    /// Forward to the first entry at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        if self.place.is_some() && self.key < key {
            self.spot = self.buffer.spot(key);
            self.settle();
        }
    }
}
