//! The records a journal is made of, and their places in it.

use std::fmt;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::codec::{Cursor, Fields, Malformed, Unknown, Value, put_text, put_varint, read_fields};
use crate::fate::Fate;
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
    pub unknown: Unknown,
}

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

const CONTROL_KIND: u8 = 6;

/// A command or a change of configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Control {
    pub time: Timestamp,
    pub command: String,
    pub detail: String,
    /// What the command is about: of a takedown, the host or the beginning of
    /// URLs that the user named.
    pub subject: String,
    pub unknown: Unknown,
}

impl Control {
    /// The command that a clean stop leaves as a journal's last record, but
    /// for the one that says it is durable.
    pub const STOPPED: &str = "stopped";
    /// All of this journal up to the sequence in `detail` was synced, with
    /// the archive records it names, before this was written. A start cuts
    /// nothing off before that place: a flaw there is damage, no tear.
    pub const SYNCED: &str = "synced";
    /// The command of a takedown; its detail says how much went.
    pub const FORGOTTEN: &str = "forgotten";
    /// The command that lets what was forgotten be visited again. It holds
    /// the other's name, so that one search finds both.
    pub const LIFTED: &str = "forgotten-lifted";

    pub fn synced(position: Position, time: Timestamp) -> Control {
        Control {
            time,
            command: Control::SYNCED.to_owned(),
            detail: position.sequence.to_string(),
            ..Control::default()
        }
    }

    /// The sequence that an encoded record says is synced, if it is of that
    /// kind.
    pub(crate) fn synced_by(record: &[u8]) -> Option<u64> {
        let (&CONTROL_KIND, rest) = record.split_first()? else {
            return None;
        };
        let control = decode_control(rest).ok()?;
        let says = control.command == Control::SYNCED;
        says.then(|| control.detail.parse().ok())?
    }
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
                fields.unknown(&r.unknown);
            }
            Record::Control(r) => {
                fields.number(1, r.time.0);
                fields.text(2, &r.command);
                fields.text(3, &r.detail);
                fields.text(4, &r.subject);
                fields.unknown(&r.unknown);
            }
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
            CONTROL_KIND => Record::Control(decode_control(rest)?),
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

impl Admitted {
    fn encode(&self, out: &mut Vec<u8>) {
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

    fn decode(bytes: &[u8]) -> Result<Admitted, Malformed> {
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
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(record)
}

fn decode_control(bytes: &[u8]) -> Result<Control, Malformed> {
    let mut record = Control::default();
    record.unknown = read_fields(bytes, |field, value| {
        match field {
            1 => record.time = Timestamp(value.number()?),
            2 => record.command = value.text()?,
            3 => record.detail = value.text()?,
            4 => record.subject = value.text()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fate::Outcome;
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
