//! A commit group: records that were written together, compressed as one and
//! covered by one checksum.
//!
//! ```text
//! magic 4 · version 2 · journal 2 · epoch 4 · count 4 · first sequence 8
//! · raw length 4 · stored length 4 · checksum 8 · zstd frame
//! ```

use std::io;

use xxhash_rust::xxh3::Xxh3;

use crate::codec::{Cursor, Malformed, put_varint};
use crate::record::{Position, Record};

pub const HEADER: usize = 40;
pub const MAGIC: [u8; 4] = *b"rjG\x01";
const VERSION: u16 = 1;
/// A stated length above this is damage, not a group.
const MAX_LENGTH: u32 = 256 << 20;

/// Records gathered for the next commit.
pub struct GroupBuilder {
    raw: Vec<u8>,
    record: Vec<u8>,
    count: u32,
    compressor: zstd::bulk::Compressor<'static>,
}

impl GroupBuilder {
    pub fn new() -> io::Result<GroupBuilder> {
        Ok(GroupBuilder {
            raw: Vec::new(),
            record: Vec::new(),
            count: 0,
            compressor: zstd::bulk::Compressor::new(1)?,
        })
    }

    pub fn push(&mut self, record: &Record) {
        self.record.clear();
        record.encode(&mut self.record);
        put_varint(&mut self.raw, self.record.len() as u64);
        self.raw.extend_from_slice(&self.record);
        self.count += 1;
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn raw_length(&self) -> usize {
        self.raw.len()
    }

    /// The finished bytes; the builder is empty again.
    pub fn finish(&mut self, first: Position) -> io::Result<Vec<u8>> {
        let stored = self.compressor.compress(&self.raw)?;
        let mut out = Vec::with_capacity(HEADER + stored.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&first.journal.to_le_bytes());
        out.extend_from_slice(&first.epoch.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&first.sequence.to_le_bytes());
        out.extend_from_slice(&(self.raw.len() as u32).to_le_bytes());
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        let checksum = checksum(&out, &stored);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(&stored);
        self.raw.clear();
        self.count = 0;
        Ok(out)
    }
}

fn checksum(header: &[u8], stored: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(stored);
    hash.digest()
}

#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub first: Position,
    pub count: u32,
    pub raw_length: u32,
    pub stored_length: u32,
    checksum: u64,
}

impl Header {
    /// `None` if these bytes cannot be the head of a group.
    pub fn parse(bytes: &[u8; HEADER]) -> Option<Header> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or([0; 4]));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or([0; 8]));
        let header = Header {
            first: Position {
                journal: u16_at(6),
                epoch: u32_at(8),
                sequence: u64_at(16),
            },
            count: u32_at(12),
            raw_length: u32_at(24),
            stored_length: u32_at(28),
            checksum: u64_at(32),
        };
        let sane = bytes[..4] == MAGIC
            && u16_at(4) == VERSION
            && header.raw_length <= MAX_LENGTH
            && header.stored_length <= MAX_LENGTH;
        sane.then_some(header)
    }

    pub fn last_sequence(&self) -> u64 {
        self.first.sequence + u64::from(self.count.max(1)) - 1
    }

    pub fn verifies(&self, header_bytes: &[u8; HEADER], stored: &[u8]) -> bool {
        checksum(&header_bytes[..HEADER - 8], stored) == self.checksum
    }
}

/// A group read back: its records are decoded one by one as they are asked for.
pub struct Group {
    header: Header,
    raw: Vec<u8>,
}

impl Group {
    pub(crate) fn decompress(header: Header, stored: &[u8]) -> Result<Group, Malformed> {
        let raw =
            zstd::bulk::decompress(stored, header.raw_length as usize).map_err(|_| Malformed)?;
        Ok(Group { header, raw })
    }

    pub fn first(&self) -> Position {
        self.header.first
    }

    pub fn last_sequence(&self) -> u64 {
        self.header.last_sequence()
    }

    /// Bytes in the segment, header included.
    pub(crate) fn stored_length(&self) -> u64 {
        HEADER as u64 + u64::from(self.header.stored_length)
    }

    /// Whether a text occurs anywhere in the group: spares decoding.
    pub fn mentions(&self, finder: &memchr::memmem::Finder<'_>) -> bool {
        finder.find(&self.raw).is_some()
    }

    pub fn records(&self) -> impl Iterator<Item = (Position, Result<Record, Malformed>)> + '_ {
        self.raw_records().map(|(position, bytes)| {
            let record = bytes.and_then(Record::decode);
            (position, record)
        })
    }

    /// The records whose encoded bytes hold the finder's text.
    pub fn records_mentioning<'a>(
        &'a self,
        finder: &'a memchr::memmem::Finder<'_>,
    ) -> impl Iterator<Item = (Position, Result<Record, Malformed>)> + 'a {
        self.raw_records().filter_map(move |(position, bytes)| {
            let found = bytes.map_or(true, |bytes| finder.find(bytes).is_some());
            found.then(|| (position, bytes.and_then(Record::decode)))
        })
    }

    fn raw_records(&self) -> impl Iterator<Item = (Position, Result<&[u8], Malformed>)> + '_ {
        let mut cursor = Cursor(&self.raw);
        let mut sequence = self.header.first.sequence;
        std::iter::from_fn(move || {
            if cursor.is_empty() {
                return None;
            }
            let block = cursor.block();
            if block.is_err() {
                cursor = Cursor(&[]);
            }
            let position = Position {
                sequence,
                ..self.header.first
            };
            sequence += 1;
            Some((position, block))
        })
    }
}
