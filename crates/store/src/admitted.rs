//! The record of links that were new, and their places in the queue.

use crate::clock::Timestamp;
use crate::codec::{Cursor, Fields, Malformed, Unknown, put_text, put_varint, read_fields};
use crate::fate::Fate;
use crate::record::{Position, decode_position, encode_position};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    pub url: String,
    pub fate: Fate,
    /// Its sequence in the queue.
    pub sequence: u64,
}

/// What the owner of some links says became of those that were new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admitted {
    /// The visit that found them.
    pub source: Option<Position>,
    /// Its URL.
    pub via: String,
    pub depth: u32,
    /// Redirects in a row that led here.
    pub redirects: u32,
    pub time: Timestamp,
    /// The code of the order they were queued by.
    pub order: u8,
    pub entries: Vec<Admission>,
    pub unknown: Unknown,
}

impl Admitted {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        if let Some(source) = self.source {
            fields.bytes(1, &encode_position(source));
        }
        fields.text(2, &self.via);
        fields.number(3, u64::from(self.depth));
        fields.number(4, self.time.0);
        let mut block = Vec::new();
        for entry in &self.entries {
            put_varint(&mut block, entry.fate.code());
            put_text(&mut block, &entry.url);
        }
        fields.bytes(5, &block);
        fields.number(6, u64::from(self.redirects));
        let first = self.entries.first().map_or(0, |entry| entry.sequence);
        fields.number(7, first);
        fields.number(8, u64::from(self.order));
        // They follow one another, unless some have been taken out.
        let steps = self.steps();
        if steps.iter().any(|step| *step != 1) {
            block.clear();
            for step in steps {
                put_varint(&mut block, step);
            }
            fields.bytes(9, &block);
        }
        fields.unknown(&self.unknown);
    }

    /// From each entry's sequence to the next one's.
    fn steps(&self) -> Vec<u64> {
        let pairs = self.entries.windows(2);
        pairs
            .map(|pair| pair[1].sequence.wrapping_sub(pair[0].sequence))
            .collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Admitted, Malformed> {
        let mut record = Admitted::default();
        let (mut sequence, mut steps) = (0, Cursor(&[]));
        let unknown = read_fields(bytes, |field, value| {
            match field {
                1 => record.source = Some(decode_position(value)?),
                2 => record.via = value.text()?,
                3 => record.depth = value.number()? as u32,
                4 => record.time = Timestamp(value.number()?),
                6 => record.redirects = value.number()? as u32,
                7 => sequence = value.number()?,
                8 => record.order = value.number()? as u8,
                9 => steps = Cursor(value.bytes()?),
                5 => {
                    let mut cursor = Cursor(value.bytes()?);
                    while !cursor.is_empty() {
                        record.entries.push(Admission {
                            fate: Fate::from_code(cursor.varint()?),
                            url: cursor.text()?.to_owned(),
                            sequence: 0,
                        });
                    }
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        for entry in &mut record.entries {
            entry.sequence = sequence;
            let step = match steps.is_empty() {
                true => 1,
                false => steps.varint()?,
            };
            sequence = sequence.wrapping_add(step);
        }
        record.unknown = unknown;
        Ok(record)
    }
}
