//! What is left of visits that compaction has dropped.

use crate::codec::{Cursor, Fields, Malformed, Unknown, put_text, put_varint, read_fields};
use crate::visit::{Extent, decode_extent, encode_extent};

/// The kind byte of the encoded record.
pub(crate) const SUPERSEDED_KIND: u8 = 7;

/// What stays of visits that a later visit of the same URL has made
/// unnecessary: the parts of the archive that they brought. It stands at the
/// place of the last of them, so that all they emptied was admitted before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Superseded {
    pub visits: u64,
    /// Records that lie side by side are one extent here.
    pub extents: Vec<Extent>,
    /// Places in the queue that they emptied and no visit that is left does:
    /// what was admitted there would wait again when the state is made again.
    pub emptied: Vec<Emptied>,
    pub unknown: Unknown,
}

/// A URL's place in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    pub url: String,
    pub priority: u64,
    pub sequence: u64,
}

impl Superseded {
    /// Extents that touch become one.
    pub(crate) fn add(&mut self, extent: Extent) {
        if let Some(last) = self.extents.last_mut()
            && last.file == extent.file
            && last.offset.checked_add(last.length) == Some(extent.offset)
        {
            last.length += extent.length;
            return;
        }
        self.extents.push(extent);
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        fields.number(1, self.visits);
        let mut block = Vec::new();
        for extent in &self.extents {
            block.clear();
            encode_extent(&mut block, extent);
            fields.bytes(2, &block);
        }
        for emptied in &self.emptied {
            block.clear();
            put_varint(&mut block, emptied.priority);
            put_varint(&mut block, emptied.sequence);
            put_text(&mut block, &emptied.url);
            fields.bytes(3, &block);
        }
        fields.unknown(&self.unknown);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Superseded, Malformed> {
        let mut record = Superseded::default();
        record.unknown = read_fields(bytes, |field, value| {
            match field {
                1 => record.visits = value.number()?,
                2 => record.extents.push(decode_extent(value.bytes()?)?),
                3 => {
                    let mut block = Cursor(value.bytes()?);
                    record.emptied.push(Emptied {
                        priority: block.varint()?,
                        sequence: block.varint()?,
                        url: block.text()?.to_owned(),
                    });
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}
