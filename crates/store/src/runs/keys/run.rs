//! A run of keys: blocks in ascending order, and the index that finds them.
//!
//! ```text
//! magic 8 · version 4 · zero 4 · blocks · index · footer
//! index, for each block: first key 16 · length 4
//! footer: index offset 8 · blocks 8 · keys 8 · index checksum 8 · footer checksum 8
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::block::{BlockBuilder, CHECKSUM_BYTES};
use crate::runs::{RunFile, RunFolder, RunWriter, RunsError};

const MAGIC: [u8; 8] = *b"rhumbkey";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 16;
const INDEX_ENTRY_BYTES: usize = 20;
const FOOTER_BYTES: usize = 40;
/// A block's first key and where it begins.
pub const INDEX_ENTRY_IN_MEMORY: usize = size_of::<u128>() + size_of::<u64>();
/// A longer block is damage: nobody writes it.
pub const MAX_BLOCK_BYTES: usize = 256 << 10;
/// Blocks go to the file in pieces of this size.
const WRITE_BYTES: usize = 256 << 10;

/// A run as a manifest names it. A set sees only the keys `from..=to` of it:
/// after a change of the number of shards several sets share a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRunState {
    pub name: String,
    #[serde(with = "hexadecimal")]
    pub from: u128,
    #[serde(with = "hexadecimal")]
    pub to: u128,
    /// How many keys are seen. Only a hint once the range was narrowed.
    pub keys: u64,
}

impl KeyRunState {
    /// What a set that owns only `from..=to` sees of it, if anything.
    pub fn within(&self, from: u128, to: u128) -> Option<KeyRunState> {
        let (from, to) = (self.from.max(from), self.to.min(to));
        (from <= to).then(|| KeyRunState {
            from,
            to,
            ..self.clone()
        })
    }
}

/// Numbers of 128 bits are not known to every format.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(key: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{key:032x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        u128::from_str_radix(&String::deserialize(from)?, 16).map_err(D::Error::custom)
    }
}

/// A whole run, or the part of it that a set may see.
pub struct KeyRun {
    pub file: Arc<RunFile>,
    pub from: u128,
    pub to: u128,
    /// How many of its keys are seen.
    pub keys: u64,
    /// First key of each block that may hold a key of the range.
    firsts: Vec<u128>,
    /// Where each of them begins, and where the last ends.
    offsets: Vec<u64>,
}

impl KeyRun {
    pub fn open(file: Arc<RunFile>, state: &KeyRunState) -> Result<KeyRun, RunsError> {
        let length = file.length();
        let footer_at = length
            .checked_sub(FOOTER_BYTES as u64)
            .filter(|at| *at >= HEADER_BYTES)
            .ok_or_else(|| file.damaged(0))?;
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact_at(0, &mut header)?;
        if header != header_bytes() {
            return Err(file.damaged(0));
        }
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact_at(footer_at, &mut footer)?;
        let number = |n: usize| {
            let bytes = &footer[8 * n..8 * n + 8];
            bytes
                .iter()
                .rev()
                .fold(0, |all, b| all << 8 | u64::from(*b))
        };
        let (index_at, blocks, keys) = (number(0), number(1), number(2));
        let index_bytes = blocks.saturating_mul(INDEX_ENTRY_BYTES as u64);
        if number(4) != xxh3_64(&footer[..FOOTER_BYTES - 8])
            || index_at.checked_add(index_bytes) != Some(footer_at)
        {
            return Err(file.damaged(footer_at));
        }
        let mut index = vec![0; index_bytes as usize];
        file.read_exact_at(index_at, &mut index)?;
        if number(3) != xxh3_64(&index) {
            return Err(file.damaged(index_at));
        }
        let (firsts, offsets) =
            read_index(&index, index_at).ok_or_else(|| file.damaged(index_at))?;
        let mut run = KeyRun {
            file,
            from: state.from,
            to: state.to,
            keys,
            firsts,
            offsets,
        };
        run.forget_unseen_blocks();
        Ok(run)
    }

    fn forget_unseen_blocks(&mut self) {
        let end = self.firsts.partition_point(|first| *first <= self.to);
        let start = self.firsts[..end].partition_point(|first| *first <= self.from);
        let start = start.saturating_sub(1);
        self.firsts = self.firsts[start..end].to_vec();
        self.offsets = self.offsets[start..=end].to_vec();
    }

    pub fn state(&self) -> KeyRunState {
        KeyRunState {
            name: self.file.name().to_owned(),
            from: self.from,
            to: self.to,
            keys: self.keys,
        }
    }

    pub fn sees(&self, key: u128) -> bool {
        self.from <= key && key <= self.to
    }

    pub fn blocks(&self) -> usize {
        self.firsts.len()
    }

    /// Where blocks begin: one number more than there are blocks.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The one block from `start` on that may hold the key.
    pub fn block_of(&self, key: u128, start: usize) -> Option<usize> {
        let firsts = self.firsts.get(start..)?;
        // In a batch the next key is most often in one of the next blocks.
        let mut reach = 8;
        while reach < firsts.len() && firsts[reach] <= key {
            reach *= 2;
        }
        let firsts = &firsts[..firsts.len().min(reach + 1)];
        let behind = firsts.partition_point(|first| *first <= key);
        behind.checked_sub(1).map(|block| start + block)
    }

    /// First key that is in a later block.
    pub fn end_of(&self, block: usize) -> Option<u128> {
        self.firsts.get(block + 1).copied()
    }

    /// The bytes of these blocks, in `bytes`.
    pub fn read(
        &self,
        blocks: std::ops::Range<usize>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), RunsError> {
        let start = self.offsets[blocks.start];
        let length = self.offsets[blocks.end] - start;
        bytes.resize(length as usize, 0);
        self.file.read_exact_at(start, bytes)
    }

    /// One block of those that `read` gave from block `first` on, and where
    /// it stands in the file.
    pub fn block<'a>(&self, bytes: &'a [u8], first: usize, block: usize) -> (&'a [u8], u64) {
        let start = self.offsets[first];
        let (from, to) = (self.offsets[block], self.offsets[block + 1]);
        (&bytes[(from - start) as usize..(to - start) as usize], from)
    }

    pub fn bytes_on_disk(&self) -> u64 {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    pub fn bytes_in_memory(&self) -> usize {
        self.firsts.capacity() * size_of::<u128>() + self.offsets.capacity() * size_of::<u64>()
    }
}

fn header_bytes() -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

fn read_index(index: &[u8], index_at: u64) -> Option<(Vec<u128>, Vec<u64>)> {
    let (entries, _) = index.as_chunks::<INDEX_ENTRY_BYTES>();
    let mut firsts = Vec::with_capacity(entries.len());
    let mut offsets = Vec::with_capacity(entries.len() + 1);
    let mut offset = HEADER_BYTES;
    offsets.push(offset);
    for entry in entries {
        let first = u128::from_le_bytes(*entry.first_chunk()?);
        let length = u32::from_le_bytes(*entry.last_chunk()?) as usize;
        let in_order = firsts.last().is_none_or(|last| *last < first);
        if !in_order || !(CHECKSUM_BYTES..=MAX_BLOCK_BYTES).contains(&length) {
            return None;
        }
        offset += length as u64;
        firsts.push(first);
        offsets.push(offset);
    }
    (offset == index_at).then_some((firsts, offsets))
}

/// Writes a run from keys in ascending order, none twice.
pub struct KeyRunWriter {
    folder: RunFolder,
    file: RunWriter,
    block_bytes: usize,
    block: BlockBuilder,
    /// Whole blocks that are not yet in the file.
    out: Vec<u8>,
    firsts: Vec<u128>,
    offsets: Vec<u64>,
    keys: u64,
}

impl KeyRunWriter {
    pub fn begin(folder: &RunFolder, block_bytes: usize) -> Result<KeyRunWriter, RunsError> {
        Ok(KeyRunWriter {
            folder: folder.clone(),
            file: folder.create("keys")?,
            block_bytes: block_bytes.clamp(64, MAX_BLOCK_BYTES / 2),
            block: BlockBuilder::default(),
            out: header_bytes().to_vec(),
            firsts: Vec::new(),
            offsets: vec![HEADER_BYTES],
            keys: 0,
        })
    }

    pub fn push(&mut self, key: u128) -> Result<(), RunsError> {
        self.block.push(key);
        self.keys += 1;
        if self.block.len() >= self.block_bytes {
            self.end_block();
            if self.out.len() >= WRITE_BYTES {
                self.file.append(&self.out)?;
                self.out.clear();
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let offset = self.file.length() + self.out.len() as u64;
        self.firsts.push(self.block.finish(offset, &mut self.out));
        self.offsets
            .push(self.file.length() + self.out.len() as u64);
    }

    pub fn finish(mut self) -> Result<KeyRun, RunsError> {
        if !self.block.is_empty() {
            self.end_block();
        }
        let index_at = self.file.length() + self.out.len() as u64;
        let mut index = Vec::with_capacity(self.firsts.len() * INDEX_ENTRY_BYTES);
        for (first, ends) in self.firsts.iter().zip(self.offsets.windows(2)) {
            index.extend_from_slice(&first.to_le_bytes());
            index.extend_from_slice(&((ends[1] - ends[0]) as u32).to_le_bytes());
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        for number in [
            index_at,
            self.firsts.len() as u64,
            self.keys,
            xxh3_64(&index),
        ] {
            footer.extend_from_slice(&number.to_le_bytes());
        }
        footer.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
        self.out.append(&mut index);
        self.out.append(&mut footer);
        self.file.append(&self.out)?;
        let file = self.file.finish()?;
        self.firsts.shrink_to_fit();
        self.offsets.shrink_to_fit();
        Ok(KeyRun {
            file: self.folder.share(file),
            from: 0,
            to: u128::MAX,
            keys: self.keys,
            firsts: self.firsts,
            offsets: self.offsets,
        })
    }
}
