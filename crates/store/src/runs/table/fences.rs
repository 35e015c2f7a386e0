//! Fences: the first keys of some blocks, and where those blocks lie.
//!
//! Fences are themselves stored as blocks, in two levels: the fences of a
//! run's data blocks come in parts, and the fences of the parts (the top) are
//! always in memory. Parts are in memory as far as the table's budget goes.

use super::super::{RunFile, RunsError};
use super::block::{Block, BlockBuilder, Frame, put_varint, take_varint};

/// Keys of fences take no more, whatever a damaged file says.
const MAX_KEY_BYTES: usize = 256 << 20;

#[derive(Default)]
pub(super) struct Fences {
    keys: Vec<u8>,
    /// Where each key ends.
    ends: Vec<u32>,
    frames: Vec<Frame>,
}

impl Fences {
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.keys.capacity()
            + self.ends.capacity() * size_of::<u32>()
            + self.frames.capacity() * size_of::<Frame>()
    }

    pub fn push(&mut self, key: &[u8], frame: Frame) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u32);
        self.frames.push(frame);
    }

    pub fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[at] as usize]
    }

    pub fn frame(&self, at: usize) -> Frame {
        self.frames[at]
    }

    /// The last block that begins at or before `key`, or the first.
    pub fn find(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.key(middle) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1)
    }

    pub fn write(&self, block: &mut BlockBuilder) {
        let mut value = Vec::new();
        for at in 0..self.len() {
            let frame = self.frames[at];
            value.clear();
            put_varint(&mut value, frame.offset);
            put_varint(&mut value, u64::from(frame.length));
            block.add(self.key(at), Some(&value));
        }
    }

    /// Fences that are not there are damage: a run names none that is empty.
    pub fn read(file: &RunFile, frame: Frame) -> Result<Fences, RunsError> {
        let mut block = Block::default();
        block.read(file, frame)?;
        let mut fences = Fences::default();
        while block.next(file)? {
            let found = block.value().and_then(parse_frame);
            let found = found.filter(|_| fences.keys.len() + block.key().len() <= MAX_KEY_BYTES);
            fences.push(
                block.key(),
                found.ok_or_else(|| file.damaged(frame.offset))?,
            );
        }
        if fences.is_empty() {
            return Err(file.damaged(frame.offset));
        }
        fences.keys.shrink_to_fit();
        fences.ends.shrink_to_fit();
        fences.frames.shrink_to_fit();
        Ok(fences)
    }
}

fn parse_frame(value: &[u8]) -> Option<Frame> {
    let mut at = 0;
    let offset = take_varint(value, &mut at)?;
    let length = take_varint(value, &mut at)?;
    Some(Frame {
        offset,
        length: u32::try_from(length).ok()?,
    })
}
