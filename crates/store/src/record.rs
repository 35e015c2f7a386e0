//! The records a journal is made of, and their places in it.

use std::fmt;
use std::time::Duration;

use crate::admitted::Admitted;
use crate::clock::Timestamp;
use crate::codec::{Cursor, Fields, Malformed, Unknown, Value, put_varint, read_fields};
use crate::control::{CONTROL_KIND, Control};
use crate::superseded::{SUPERSEDED_KIND, Superseded};
use crate::visit::{Extent, VISIT_KIND, Visit};

/// A place in a journal. Recovery begins a new epoch, so a place that was cut
/// off can never be mistaken for one written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub journal: u16,
    pub epoch: u32,
    pub sequence: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.journal, self.epoch, self.sequence)
    }
}

/// The first record of every epoch of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpochStart {
    pub epoch: u32,
    pub shards: u16,
    pub time: Timestamp,
    pub program: String,
    pub unknown: Unknown,
}

/// A URL the user gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seed {
    pub url: String,
    pub time: Timestamp,
    /// Its sequence in the queue; 0 if it had been seen before.
    pub sequence: u64,
    /// The code of the order it was queued by.
    pub order: u8,
    /// It had been visited in vain: it is to be visited again, and its host
    /// is open again.
    pub again: bool,
    pub unknown: Unknown,
}

/// Something that holds for a whole host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostEvent {
    pub host: String,
    pub time: Timestamp,
    /// `robots`, `given-up`, …
    pub event: String,
    pub detail: String,
    /// The time between visits that the host asks for; with `rests`, the time
    /// without any.
    pub delay: Duration,
    /// The status of the answer that told it, 0 if there was none.
    pub status: u16,
    /// The robots.txt, as far as it was read.
    pub body: Vec<u8>,
    /// Bytes received for it.
    pub bytes: u64,
    /// Times in a row that the robots.txt could not be had, this one included.
    pub failures: u32,
    pub unknown: Unknown,
}

impl HostEvent {
    /// The event that closes a host for good.
    pub const GIVEN_UP: &str = "given-up";
    /// The event of a server that asks to be left alone for a while.
    pub const RESTS: &str = "rests";
    /// The event that tells what came of asking for robots.txt.
    pub const ROBOTS: &str = "robots";
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Epoch(EpochStart),
    Seed(Seed),
    Visit(Box<Visit>),
    Admitted(Admitted),
    HostEvent(HostEvent),
    Control(Control),
    Superseded(Superseded),
    /// A kind of record that a later version knows.
    Other {
        kind: u8,
        bytes: Vec<u8>,
    },
}

impl Record {
    /// The parts of the archive that this record commits.
    pub fn extents(&self) -> &[Extent] {
        match self {
            Record::Visit(visit) => &visit.extents,
            Record::Superseded(superseded) => &superseded.extents,
            _ => &[],
        }
    }

    /// Whether encoded bytes are such a record, without decoding them.
    pub(crate) fn is_superseded(bytes: &[u8]) -> bool {
        bytes.first() == Some(&SUPERSEDED_KIND)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        let mut fields = Fields(out);
        match self {
            Record::Epoch(r) => {
                fields.number(1, u64::from(r.epoch));
                fields.number(2, u64::from(r.shards));
                fields.number(3, r.time.0);
                fields.text(4, &r.program);
                fields.unknown(&r.unknown);
            }
            Record::Seed(r) => {
                fields.text(1, &r.url);
                fields.number(2, r.time.0);
                fields.number(3, r.sequence);
                fields.number(4, u64::from(r.order));
                fields.number(5, u64::from(r.again));
                fields.unknown(&r.unknown);
            }
            Record::Visit(visit) => visit.encode(out),
            Record::Admitted(r) => r.encode(out),
            Record::HostEvent(r) => {
                fields.text(1, &r.host);
                fields.number(2, r.time.0);
                fields.text(3, &r.event);
                fields.text(4, &r.detail);
                fields.number(5, r.delay.as_micros() as u64);
                fields.number(6, u64::from(r.status));
                fields.bytes(7, &r.body);
                fields.number(8, r.bytes);
                fields.number(9, u64::from(r.failures));
                fields.unknown(&r.unknown);
            }
            Record::Control(control) => control.encode(out),
            Record::Superseded(superseded) => superseded.encode(out),
            Record::Other { bytes, .. } => out.extend_from_slice(bytes),
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Record, Malformed> {
        let (&kind, rest) = bytes.split_first().ok_or(Malformed)?;
        Ok(match kind {
            1 => Record::Epoch(decode_epoch(rest)?),
            2 => Record::Seed(decode_seed(rest)?),
            VISIT_KIND => Record::Visit(Box::new(Visit::decode(rest)?)),
            4 => Record::Admitted(Admitted::decode(rest)?),
            5 => Record::HostEvent(decode_host_event(rest)?),
            CONTROL_KIND => Record::Control(Control::decode(rest)?),
            SUPERSEDED_KIND => Record::Superseded(Superseded::decode(rest)?),
            kind => Record::Other {
                kind,
                bytes: rest.to_vec(),
            },
        })
    }

    fn kind(&self) -> u8 {
        match self {
            Record::Epoch(_) => 1,
            Record::Seed(_) => 2,
            Record::Visit(_) => VISIT_KIND,
            Record::Admitted(_) => 4,
            Record::HostEvent(_) => 5,
            Record::Control(_) => CONTROL_KIND,
            Record::Superseded(_) => SUPERSEDED_KIND,
            Record::Other { kind, .. } => *kind,
        }
    }
}

pub(crate) fn encode_position(position: Position) -> Vec<u8> {
    let mut place = Vec::new();
    put_varint(&mut place, u64::from(position.journal));
    put_varint(&mut place, u64::from(position.epoch));
    put_varint(&mut place, position.sequence);
    place
}

pub(crate) fn decode_position(value: Value<'_>) -> Result<Position, Malformed> {
    let mut cursor = Cursor(value.bytes()?);
    Ok(Position {
        journal: cursor.varint()? as u16,
        epoch: cursor.varint()? as u32,
        sequence: cursor.varint()?,
    })
}

fn decode_epoch(bytes: &[u8]) -> Result<EpochStart, Malformed> {
    let mut record = EpochStart::default();
    record.unknown = read_fields(bytes, |field, value| {
        match field {
            1 => record.epoch = value.number()? as u32,
            2 => record.shards = value.number()? as u16,
            3 => record.time = Timestamp(value.number()?),
            4 => record.program = value.text()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(record)
}

fn decode_seed(bytes: &[u8]) -> Result<Seed, Malformed> {
    let mut record = Seed::default();
    record.unknown = read_fields(bytes, |field, value| {
        match field {
            1 => record.url = value.text()?,
            2 => record.time = Timestamp(value.number()?),
            3 => record.sequence = value.number()?,
            4 => record.order = value.number()? as u8,
            5 => record.again = value.number()? > 0,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(record)
}

fn decode_host_event(bytes: &[u8]) -> Result<HostEvent, Malformed> {
    let mut record = HostEvent::default();
    record.unknown = read_fields(bytes, |field, value| {
        match field {
            1 => record.host = value.text()?,
            2 => record.time = Timestamp(value.number()?),
            3 => record.event = value.text()?,
            4 => record.detail = value.text()?,
            5 => record.delay = Duration::from_micros(value.number()?),
            6 => record.status = value.number()? as u16,
            7 => record.body = value.bytes()?.to_vec(),
            8 => record.bytes = value.number()?,
            9 => record.failures = value.number()? as u32,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admitted::Admission;
    use crate::fate::{Fate, Outcome};
    use crate::visit::{Extent, Fact, FactValue, LinkRecord};

    fn sample() -> Vec<Record> {
        let mut visit = Visit::new("http://a.test/", 3, Outcome::HttpError, Timestamp(12));
        visit.status = 503;
        visit.payload_digest = Some([7; 20]);
        visit.content = Some(u128::MAX - 5);
        visit.links_of = Some(Position {
            journal: 1,
            epoch: 2,
            sequence: 300,
        });
        visit.extents.push(Extent {
            file: "a.warc.gz".into(),
            offset: 9,
            length: 300,
        });
        visit.facts.push(Fact {
            name: "tags".into(),
            value: FactValue::Number(17),
        });
        visit.links.push(LinkRecord {
            url: "http://b.test/ü".into(),
            kind: 3,
            fate: Fate::Nofollow,
            rel: "nofollow".into(),
            anchor: "more".into(),
        });
        vec![
            Record::Visit(Box::new(visit)),
            Record::Seed(Seed {
                url: "http://a.test/".into(),
                sequence: 9,
                again: true,
                ..Seed::default()
            }),
            Record::Admitted(Admitted {
                source: Some(Position {
                    journal: 2,
                    epoch: 5,
                    sequence: 1 << 40,
                }),
                via: "http://a.test/".into(),
                depth: 4,
                entries: [7, 8, 12]
                    .map(|sequence| Admission {
                        url: "http://c.test/".into(),
                        fate: Fate::Queued,
                        sequence,
                    })
                    .to_vec(),
                ..Admitted::default()
            }),
            Record::Superseded(Superseded {
                visits: 2,
                extents: vec![Extent {
                    file: "a.warc.gz".into(),
                    offset: 9,
                    length: 300,
                }],
                ..Superseded::default()
            }),
            Record::Control(Control {
                command: Control::FORGOTTEN.into(),
                detail: "1 visits".into(),
                subject: "a.test".into(),
                ..Control::default()
            }),
            Record::Other {
                kind: 200,
                bytes: vec![1, 2, 3],
            },
        ]
    }

    #[test]
    fn records_come_back_as_they_were() {
        for record in sample() {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            assert_eq!(Record::decode(&bytes), Ok(record));
        }
    }

    #[test]
    fn a_cut_record_never_panics() {
        for record in sample() {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            for length in 0..bytes.len() {
                let _ = Record::decode(&bytes[..length]);
            }
        }
    }
}
