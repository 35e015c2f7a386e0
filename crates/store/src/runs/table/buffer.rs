//! What is new, in order, in memory.
//!
//! Entries lie in an arena; a list of small sorted chunks orders them. A
//! chunk is found by the heads of the chunks' first keys, which stay in the
//! processor's cache, and an insert moves half a chunk at most. It is always
//! sorted, so freezing it takes no work at all.

use super::arena::{Arena, Place};
use super::chunk::{CHUNK, CHUNK_BYTES, Chunk, high};
use super::range::{head, is_before};
use super::removed::RemovedRanges;

#[derive(Default)]
pub(super) struct Buffer {
    arena: Arena,
    /// How the first key of every chunk begins.
    firsts: Vec<u64>,
    chunks: Vec<Chunk>,
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
        self.arena.bytes()
            + self.chunks.len() * CHUNK_BYTES
            + self.firsts.capacity() * size_of::<u64>()
            + self.removed.bytes()
    }

    pub fn removed(&self) -> &RemovedRanges {
        &self.removed
    }

    /// `None` removes the key.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let head = head(key);
        if self.chunks.is_empty() {
            self.firsts.push(0);
            self.chunks.push(Chunk::new());
        }
        // What is before all others goes into the first chunk.
        let chunk = self.chunk_of(head, key).unwrap_or(0);
        match self.chunks[chunk].search(&self.arena, head, key) {
            Ok(at) => {
                let place = self.chunks[chunk].place(at);
                if !self.arena.overwrite(place, value) {
                    let place = self.arena.add(key, value);
                    self.chunks[chunk].set_place(at, place);
                }
            }
            Err(at) => {
                let place = self.arena.add(key, value);
                self.insert(chunk, at, head, place);
            }
        }
    }

    fn insert(&mut self, mut chunk: usize, mut at: usize, head: u128, place: Place) {
        if self.chunks[chunk].len() == CHUNK {
            // Keys that come in order fill their chunks.
            let upper = match at {
                CHUNK => Chunk::new(),
                _ => self.chunks[chunk].split(),
            };
            self.firsts.insert(chunk + 1, upper.first_high());
            self.chunks.insert(chunk + 1, upper);
            let kept = self.chunks[chunk].len();
            if at > kept || kept == CHUNK {
                chunk += 1;
                at -= kept;
            }
        }
        self.chunks[chunk].insert(at, head, place);
        if at == 0 {
            self.firsts[chunk] = high(head);
        }
        self.entries += 1;
    }

    /// The removal itself is noted only where something older lies `below`.
    pub fn remove_range(&mut self, from: &[u8], to: &[u8], below: bool) {
        if !is_before(from, to) {
            return;
        }
        self.drop_entries(from, to);
        if below {
            self.removed.insert(from, to);
        }
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
            .map(Chunk::len)
            .sum();
        if first == last {
            self.chunks[first].remove(start, end);
        } else {
            let length = self.chunks[first].len();
            self.chunks[first].remove(start, length);
            if let Some(chunk) = self.chunks.get_mut(last) {
                chunk.remove(0, end);
            }
        }
        let kept_last = self
            .chunks
            .get(last)
            .filter(|_| last > first)
            .map_or(0, Chunk::len);
        self.entries -= before - self.chunks[first].len() - kept_last;
        // What lies between is gone, and so are chunks left empty.
        let gone_from = first + usize::from(!self.chunks[first].is_empty());
        let gone_to = if first == last { first + 1 } else { last };
        if gone_from < gone_to {
            self.chunks.drain(gone_from..gone_to);
            self.firsts.drain(gone_from..gone_to);
        }
        for chunk in first..self.chunks.len().min(gone_from + 1) {
            self.firsts[chunk] = self.chunks[chunk].first_high();
        }
    }

    /// What the buffer says of a key: nothing, or its value, or (`None`)
    /// that it was removed.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let head = head(key);
        if let Some(chunk) = self.chunk_of(head, key)
            && let Ok(at) = self.chunks[chunk].search(&self.arena, head, key)
        {
            return Some(self.arena.value(self.chunks[chunk].place(at)));
        }
        self.removed.covers(key).then_some(None)
    }

    /// The last chunk whose first key is not after `key`.
    fn chunk_of(&self, head: u128, key: &[u8]) -> Option<usize> {
        let wanted = high(head);
        let mut after = self.firsts.partition_point(|first| *first < wanted);
        if self.firsts.get(after) == Some(&wanted) {
            let equal = self.firsts[after..].partition_point(|first| *first == wanted);
            after += self.chunks[after..after + equal]
                .partition_point(|chunk| !chunk.begins_after(&self.arena, head, key));
        }
        after.checked_sub(1)
    }

    /// The first entry at or after `key`.
    fn spot(&self, key: &[u8]) -> Spot {
        let head = head(key);
        let Some(chunk) = self.chunk_of(head, key) else {
            return (0, 0);
        };
        let (Ok(at) | Err(at)) = self.chunks[chunk].search(&self.arena, head, key);
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

    /// All entries in order, some at a time: the processor can then wait for
    /// several of them at once.
    pub fn chunks(&self) -> impl Iterator<Item = impl Iterator<Item = (&[u8], Option<&[u8]>)>> {
        self.chunks.iter().map(|chunk| {
            let entries: Vec<_> = chunk
                .places()
                .map(|place| (self.arena.key(place), self.arena.value(place)))
                .collect();
            entries.into_iter()
        })
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
        let slots = self.buffer.chunks.get(chunk);
        if let Some(place) = slots
            .filter(|slots| at < slots.len())
            .map(|slots| slots.place(at))
        {
            self.key = self.buffer.arena.key(place);
            self.place = is_before(self.key, self.to).then_some(place);
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
