//! A commit group: records that were written together, compressed as one and
//! covered by one checksum.
//!
//! ```text
//! magic 4 · version 2 · journal 2 · epoch 4 · span 4 · first sequence 8
//! · raw length 4 · stored length 4 · checksum 8 · zstd frame
//! ```
//!
//! The span is how many sequences the group covers. In a *dense* group
//! (version 1) each of them has a record. A *sparse* group (version 2) is what
//! a rewritten journal is made of: some of its sequences have lost their
//! records, and in front of each that is left stands how many were passed
//! over. So positions stay true, and a gap *between* groups is always damage.

use std::io;

use xxhash_rust::xxh3::Xxh3;

use crate::codec::{Cursor, Malformed, put_varint};
use crate::record::{Position, Record};

pub const HEADER: usize = 40;
pub const MAGIC: [u8; 4] = *b"rjG\x01";
const DENSE: u16 = 1;
const SPARSE: u16 = 2;
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
        let out = seal(&mut self.compressor, DENSE, first, self.count, &self.raw);
        self.raw.clear();
        self.count = 0;
        out
    }
}

/// A sparse group being gathered: records with the sequences they had.
pub struct SparseBuilder {
    first: Position,
    /// The sequence after the last that is covered.
    next: u64,
    /// The sequence after the last record.
    after_record: u64,
    raw: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
}

impl SparseBuilder {
    /// A group that covers sequences from `first` on.
    pub fn new(first: Position) -> io::Result<SparseBuilder> {
        Ok(SparseBuilder {
            first,
            next: first.sequence,
            after_record: first.sequence,
            raw: Vec::new(),
            // Written once and read often: worth more effort than a commit.
            compressor: zstd::bulk::Compressor::new(3)?,
        })
    }

    fn span(&self) -> u64 {
        self.next - self.first.sequence
    }

    /// Cover all sequences below this one.
    pub fn cover_to(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// Records come in the order of their sequences.
    pub fn push(&mut self, sequence: u64, record: &[u8]) {
        put_varint(&mut self.raw, sequence.saturating_sub(self.after_record));
        put_varint(&mut self.raw, record.len() as u64);
        self.raw.extend_from_slice(record);
        self.after_record = sequence + 1;
        self.cover_to(sequence + 1);
    }

    /// The group so far, if it covers anything; the next one begins there.
    pub fn finish(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Ok(span) = u32::try_from(self.span()) else {
            return Err(io::Error::other("a group cannot cover so many records"));
        };
        if span == 0 {
            return Ok(None);
        }
        let out = seal(&mut self.compressor, SPARSE, self.first, span, &self.raw)?;
        self.first.sequence = self.next;
        self.after_record = self.next;
        self.raw.clear();
        Ok(Some(out))
    }
}

fn seal(
    compressor: &mut zstd::bulk::Compressor<'_>,
    version: u16,
    first: Position,
    span: u32,
    raw: &[u8],
) -> io::Result<Vec<u8>> {
    let stored = compressor.compress(raw)?;
    if raw.len().max(stored.len()) > MAX_LENGTH as usize {
        return Err(io::Error::other("the records are too large for one group"));
    }
    let mut out = Vec::with_capacity(HEADER + stored.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&first.journal.to_le_bytes());
    out.extend_from_slice(&first.epoch.to_le_bytes());
    out.extend_from_slice(&span.to_le_bytes());
    out.extend_from_slice(&first.sequence.to_le_bytes());
    out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    let checksum = checksum(&out, &stored);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&stored);
    Ok(out)
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
    span: u32,
    sparse: bool,
    raw_length: u32,
    pub stored_length: u32,
    checksum: u64,
}

impl Header {
    /// `None` if these bytes cannot be the head of a group.
    pub fn parse(bytes: &[u8; HEADER]) -> Option<Header> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or([0; 4]));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or([0; 8]));
        let version = u16_at(4);
        let header = Header {
            first: Position {
                journal: u16_at(6),
                epoch: u32_at(8),
                sequence: u64_at(16),
            },
            span: u32_at(12),
            sparse: version == SPARSE,
            raw_length: u32_at(24),
            stored_length: u32_at(28),
            checksum: u64_at(32),
        };
        let sane = bytes[..4] == MAGIC
            && (version == DENSE || version == SPARSE)
            && header.raw_length <= MAX_LENGTH
            && header.stored_length <= MAX_LENGTH
            && header.span > 0
            && header
                .first
                .sequence
                .checked_add(header.span.into())
                .is_some();
        sane.then_some(header)
    }

    /// A group that a later version wrote is none of ours to cut away.
    pub fn is_of_later_version(bytes: &[u8; HEADER]) -> bool {
        bytes[..4] == MAGIC && u16::from_le_bytes([bytes[4], bytes[5]]) > SPARSE
    }

    pub fn last_sequence(&self) -> u64 {
        self.first.sequence + u64::from(self.span) - 1
    }

    /// Bytes in the segment, header included.
    pub fn length(&self) -> u64 {
        HEADER as u64 + u64::from(self.stored_length)
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

    /// Whether the group was rewritten and may lack records.
    pub fn is_sparse(&self) -> bool {
        self.header.sparse
    }

    /// Bytes in the segment, header included.
    pub(crate) fn stored_length(&self) -> u64 {
        self.header.length()
    }

    /// Bytes of the records in memory.
    pub(crate) fn raw_length(&self) -> usize {
        self.raw.len()
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

    /// Records as they are stored, with their places.
    pub(crate) fn raw_records(
        &self,
    ) -> impl Iterator<Item = (Position, Result<&[u8], Malformed>)> + '_ {
        let mut cursor = Cursor(&self.raw);
        let mut sequence = self.header.first.sequence;
        std::iter::from_fn(move || {
            if cursor.is_empty() {
                return None;
            }
            let block = self.next_record(&mut cursor, &mut sequence);
            if block.is_err() {
                cursor = Cursor(&[]);
            }
            let position = Position {
                sequence,
                ..self.header.first
            };
            sequence = sequence.saturating_add(1);
            Some((position, block))
        })
    }

    fn next_record<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        sequence: &mut u64,
    ) -> Result<&'a [u8], Malformed> {
        if self.header.sparse {
            let passed = cursor.varint()?;
            *sequence = sequence.checked_add(passed).ok_or(Malformed)?;
        }
        // A record outside of what the group covers has no place.
        if *sequence > self.last_sequence() {
            return Err(Malformed);
        }
        cursor.block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(sequence: u64) -> Position {
        Position {
            journal: 1,
            epoch: 2,
            sequence,
        }
    }

    fn read(bytes: &[u8]) -> Group {
        let head = bytes.first_chunk().unwrap();
        let header = Header::parse(head).unwrap();
        assert!(header.verifies(head, &bytes[HEADER..]));
        Group::decompress(header, &bytes[HEADER..]).unwrap()
    }

    #[test]
    fn a_sparse_group_keeps_the_sequences_of_what_is_left() {
        let mut builder = SparseBuilder::new(place(10)).unwrap();
        builder.push(12, b"\x09twelve");
        builder.push(13, b"\x09thirteen");
        builder.push(90, b"\x09ninety");
        builder.cover_to(101);
        let group = read(&builder.finish().unwrap().unwrap());
        assert!(group.is_sparse());
        assert_eq!((group.first(), group.last_sequence()), (place(10), 100));
        let found: Vec<_> = group
            .raw_records()
            .map(|(position, bytes)| (position, bytes.unwrap().to_vec()))
            .collect();
        assert_eq!(
            found,
            [
                (place(12), b"\x09twelve".to_vec()),
                (place(13), b"\x09thirteen".to_vec()),
                (place(90), b"\x09ninety".to_vec()),
            ]
        );
        // The next group goes on where this one ended.
        assert!(builder.finish().unwrap().is_none());
        builder.push(101, b"\x09next");
        assert_eq!(
            read(&builder.finish().unwrap().unwrap()).first(),
            place(101)
        );
    }

    #[test]
    fn a_group_may_cover_records_of_which_none_is_left() {
        let mut builder = SparseBuilder::new(place(5)).unwrap();
        builder.cover_to(8);
        let group = read(&builder.finish().unwrap().unwrap());
        assert_eq!(group.last_sequence(), 7);
        assert_eq!(group.raw_records().count(), 0);
    }
}
