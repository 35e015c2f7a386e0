//! What is left of visits that compaction has dropped.

use crate::codec::{Fields, Malformed, Unknown, read_fields};
use crate::visit::{Extent, decode_extent, encode_extent};

/// The kind byte of the encoded record.
pub(crate) const SUPERSEDED_KIND: u8 = 7;

/// What stays of visits that a later visit of the same URL has made
/// unnecessary: the parts of the archive that they brought. It stands at the
/// place of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Superseded {
    pub visits: u64,
    /// Records that lie side by side are one extent here.
    pub extents: Vec<Extent>,
    pub unknown: Unknown,
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
        fields.unknown(&self.unknown);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Superseded, Malformed> {
        let mut record = Superseded::default();
        record.unknown = read_fields(bytes, |field, value| {
            match field {
                1 => record.visits = value.number()?,
                2 => record.extents.push(decode_extent(value.bytes()?)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}
