//! Blocks: some entries in order, each key without what it shares with the
//! one before, framed with a checksum.
//!
//! ```text
//! frame: checksum 8 · codec 1 · raw length 4 · entries, as the codec has them
//! entry: shared · rest of key · value + 1 (0: removed) · bytes of key · of value
//! ```
//!
//! The lengths of an entry are varints. The checksum (xxh3) is seeded with
//! the frame's place in the file: a frame that strayed is damage too.

use std::cell::RefCell;
use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::{RunFile, RunsError};

pub(super) const FRAME_HEADER: usize = 13;
/// No block is larger, whatever a damaged length says.
const MAX_RAW: usize = 64 << 20;

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub offset: u64,
    pub length: u32,
}

thread_local! {
    /// Its tables are large: one for all the blocks a thread reads.
    static DECODER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Gathers the entries of one block.
#[derive(Default)]
pub(super) struct BlockBuilder {
    raw: Vec<u8>,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    pub fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    pub fn add(&mut self, key: &[u8], value: Option<&[u8]>) {
        let shared = if self.raw.is_empty() {
            0
        } else {
            shared_bytes(&self.last_key, key)
        };
        let rest = &key[shared..];
        put_varint(&mut self.raw, shared as u64);
        put_varint(&mut self.raw, rest.len() as u64);
        put_varint(
            &mut self.raw,
            value.map_or(0, |value| value.len() as u64 + 1),
        );
        self.raw.extend_from_slice(rest);
        self.raw.extend_from_slice(value.unwrap_or_default());
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(rest);
    }

    /// Append the block's frame to `out` and begin the next block.
    pub fn seal(
        &mut self,
        offset: u64,
        encoder: Option<&mut zstd::bulk::Compressor<'static>>,
        out: &mut Vec<u8>,
    ) -> Frame {
        let packed = encoder
            .and_then(|encoder| encoder.compress(&self.raw).ok())
            .filter(|packed| packed.len() < self.raw.len());
        let (codec, payload) = match &packed {
            Some(packed) => (ZSTD, packed),
            None => (PLAIN, &self.raw),
        };
        let frame = frame(codec, self.raw.len(), payload, offset, out);
        self.raw.clear();
        frame
    }
}

fn frame(codec: u8, raw: usize, payload: &[u8], offset: u64, out: &mut Vec<u8>) -> Frame {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.push(codec);
    out.extend_from_slice(&(raw as u32).to_le_bytes());
    out.extend_from_slice(payload);
    let checksum = xxh3_64_with_seed(&out[start + 8..], offset);
    out[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
    Frame {
        offset,
        length: (out.len() - start) as u32,
    }
}

/// Frame bytes that are no entries.
pub(super) fn frame_bytes(bytes: &[u8], offset: u64, out: &mut Vec<u8>) -> Frame {
    frame(PLAIN, bytes.len(), bytes, offset, out)
}

fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut number = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A block that was read, and an entry in it. Before the first `next` it
/// stands at none.
#[derive(Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    /// The frame as stored, where it had to be unpacked.
    packed: Vec<u8>,
    frame: u64,
    at: usize,
    key: Vec<u8>,
    value: Option<(usize, usize)>,
}

impl Block {
    /// Read another block into this one's memory.
    pub fn read(&mut self, file: &RunFile, frame: Frame) -> Result<(), RunsError> {
        let damaged = || file.damaged(frame.offset);
        let end = frame.offset.checked_add(u64::from(frame.length));
        let length = frame.length as usize;
        if length < FRAME_HEADER || end.is_none_or(|end| end > file.length()) {
            return Err(damaged());
        }
        self.frame = frame.offset;
        self.bytes.resize(length, 0);
        file.read_exact_at(frame.offset, &mut self.bytes)?;
        let number = |at: usize| self.bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        let (Ok(low), Ok(high), Ok(raw)) = (number(0), number(4), number(9)) else {
            return Err(damaged());
        };
        let checksum = u64::from(high) << 32 | u64::from(low);
        if xxh3_64_with_seed(&self.bytes[8..], frame.offset) != checksum {
            return Err(damaged());
        }
        let raw = raw as usize;
        match self.bytes[8] {
            PLAIN if raw == length - FRAME_HEADER => self.at = FRAME_HEADER,
            ZSTD if raw <= MAX_RAW => {
                std::mem::swap(&mut self.bytes, &mut self.packed);
                unpack(&self.packed[FRAME_HEADER..], raw, &mut self.bytes).ok_or_else(damaged)?;
                self.at = 0;
            }
            _ => return Err(damaged()),
        }
        self.key.clear();
        self.value = None;
        Ok(())
    }

    /// Step to the next entry; `false` behind the last.
    pub fn next(&mut self, file: &RunFile) -> Result<bool, RunsError> {
        if self.at == self.bytes.len() {
            return Ok(false);
        }
        self.step().ok_or_else(|| file.damaged(self.frame))?;
        Ok(true)
    }

    fn step(&mut self) -> Option<()> {
        let mut at = self.at;
        let shared = take_varint(&self.bytes, &mut at)? as usize;
        let rest = take_varint(&self.bytes, &mut at)? as usize;
        let value = take_varint(&self.bytes, &mut at)? as usize;
        if shared > self.key.len() {
            return None;
        }
        let rest = self.bytes.get(at..at.checked_add(rest)?)?;
        at += rest.len();
        self.key.truncate(shared);
        self.key.extend_from_slice(rest);
        self.value = match value.checked_sub(1) {
            None => None,
            Some(length) => {
                let end = at.checked_add(length)?;
                self.bytes.get(at..end)?;
                let start = at;
                at = end;
                Some((start, end))
            }
        };
        self.at = at;
        Some(())
    }

    /// Look for a key from where it stands, before the first entry. Keeps
    /// count of how much of the key the entries share, so that none of them
    /// has to be put together.
    pub fn find(&mut self, file: &RunFile, key: &[u8]) -> Result<bool, RunsError> {
        let mut matched = 0;
        while self.at < self.bytes.len() {
            match self.compare(key, &mut matched) {
                None => return Err(file.damaged(self.frame)),
                Some(Ordering::Less) => {}
                Some(order) => return Ok(order == Ordering::Equal),
            }
        }
        Ok(false)
    }

    /// Step over an entry and say how it compares with a key, of which
    /// `matched` bytes are those of the entry before, which was less.
    fn compare(&mut self, key: &[u8], matched: &mut usize) -> Option<Ordering> {
        let mut at = self.at;
        let shared = take_varint(&self.bytes, &mut at)? as usize;
        let rest = take_varint(&self.bytes, &mut at)? as usize;
        let value = take_varint(&self.bytes, &mut at)? as usize;
        let rest = self.bytes.get(at..at.checked_add(rest)?)?;
        at += rest.len();
        self.at = at.checked_add(value.saturating_sub(1))?;
        self.bytes.get(at..self.at)?;
        self.value = (value > 0).then_some((at, self.at));
        Some(match shared.cmp(matched) {
            // It goes on as the one before, which was less.
            Ordering::Greater => Ordering::Less,
            Ordering::Less => Ordering::Greater,
            Ordering::Equal => {
                let tail = key.get(shared..)?;
                *matched += shared_bytes(rest, tail);
                rest.cmp(tail)
            }
        })
    }

    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// `None`: the key was removed.
    pub fn value(&self) -> Option<&[u8]> {
        self.value.map(|(start, end)| &self.bytes[start..end])
    }

    /// What is left of the block: all of it before the first `next`.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }
}

fn unpack(packed: &[u8], raw: usize, out: &mut Vec<u8>) -> Option<()> {
    out.clear();
    out.reserve(raw);
    DECODER.with_borrow_mut(|decoder| {
        if decoder.is_none() {
            *decoder = zstd::bulk::Decompressor::new().ok();
        }
        decoder.as_mut()?.decompress_to_buffer(packed, out).ok()
    })?;
    (out.len() == raw).then_some(())
}
