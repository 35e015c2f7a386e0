//! The queue on disk: every URL that was admitted and whose visit is not yet
//! committed, by lane and by its place in the lane.
//!
//! It is the truth; what lanes hold in memory is a copy of its beginning. So
//! a crash loses nothing that is in it, and a lane may be dropped from memory
//! at any time.

use std::sync::Arc;

use rhumb_store::codec::{Cursor, Malformed, put_text, put_varint};
use rhumb_store::runs::{RunsError, Snapshot, Table};
use rhumb_url::{Url, UrlKey};

use crate::lane::{LaneId, Place, Queued};

pub struct UrlQueue {
    table: Box<dyn Table>,
    value: Vec<u8>,
}

/// Priorities below this are one byte of the key. Then a key is 16 bytes, of
/// which the store can compare all as one number.
const SHORT: u64 = 0xff;
/// More URLs than seven bytes can count are never admitted.
const SEQUENCE_BYTES: usize = 7;
const LONGEST: usize = 8 + 1 + 8 + SEQUENCE_BYTES;

/// ```text
/// lane 8 · priority 1 (255: eight bytes of it follow) · sequence 7
/// ```
struct QueueKey {
    bytes: [u8; LONGEST],
    length: usize,
}

impl std::ops::Deref for QueueKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn key_of(lane: LaneId, place: Place) -> QueueKey {
    let mut bytes = [0; LONGEST];
    bytes[..8].copy_from_slice(&lane.0.to_be_bytes());
    bytes[8] = place.priority.min(SHORT) as u8;
    let mut at = 9;
    if place.priority >= SHORT {
        bytes[9..17].copy_from_slice(&place.priority.to_be_bytes());
        at = 17;
    }
    let length = at + SEQUENCE_BYTES;
    let sequence = place.sequence.to_be_bytes();
    bytes[at..length].copy_from_slice(&sequence[8 - SEQUENCE_BYTES..]);
    QueueKey { bytes, length }
}

/// The first key behind a lane; empty behind the last.
fn end_of(lane: LaneId) -> Vec<u8> {
    let next = lane.0.checked_add(1);
    next.map_or(Vec::new(), |next| next.to_be_bytes().to_vec())
}

fn parse_key(key: &[u8]) -> Option<(LaneId, Place)> {
    let (lane, rest) = key.split_first_chunk()?;
    let (&short, rest) = rest.split_first()?;
    let (priority, rest) = match u64::from(short) {
        SHORT => {
            let (long, rest) = rest.split_first_chunk()?;
            (u64::from_be_bytes(*long), rest)
        }
        short => (short, rest),
    };
    let mut sequence = [0; 8];
    sequence[8 - SEQUENCE_BYTES..].copy_from_slice(rest.first_chunk::<SEQUENCE_BYTES>()?);
    let place = Place {
        priority,
        sequence: u64::from_be_bytes(sequence),
    };
    Some((LaneId(u64::from_be_bytes(*lane)), place))
}

impl UrlQueue {
    pub fn new(table: Box<dyn Table>) -> UrlQueue {
        UrlQueue {
            table,
            value: Vec::new(),
        }
    }

    pub fn put(&mut self, item: &Queued) {
        self.value.clear();
        encode(item, &mut self.value);
        let key = key_of(LaneId(item.key.lane), item.place);
        self.table.put(&key, &self.value);
    }

    pub fn remove(&mut self, lane: LaneId, place: Place) {
        self.table.remove(&key_of(lane, place));
    }

    /// Hand over a lane's URLs from a place on, until `with` says stop.
    pub fn read(
        &self,
        lane: LaneId,
        from: Place,
        with: &mut dyn FnMut(Queued) -> bool,
    ) -> Result<(), RunsError> {
        self.scan(&key_of(lane, from), &end_of(lane), with)
    }

    /// Hand over all URLs, lane by lane.
    pub fn read_all(&self, with: &mut dyn FnMut(Queued) -> bool) -> Result<(), RunsError> {
        self.scan(&[], &[], with)
    }

    /// Likewise, but only those that stand behind this place of this lane.
    pub fn read_behind(
        &self,
        lane: LaneId,
        place: Place,
        with: &mut dyn FnMut(Queued) -> bool,
    ) -> Result<(), RunsError> {
        // The first key of all that follow is the shortest longer one.
        let from = [&*key_of(lane, place), &[0]].concat();
        self.scan(&from, &[], with)
    }

    /// The first lane at or behind this one that has anything, and the place
    /// of its first URL.
    pub fn next_lane(&self, from: LaneId) -> Result<Option<(LaneId, Place)>, RunsError> {
        let mut found = None;
        self.table.scan(&from.0.to_be_bytes(), &[], &mut |key, _| {
            found = parse_key(key);
            false
        })?;
        Ok(found)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(Queued) -> bool,
    ) -> Result<(), RunsError> {
        self.table.scan(from, to, &mut |key, value| {
            match parse_key(key).and_then(|(lane, place)| decode(lane, place, value).ok()) {
                Some(item) => with(item),
                // Not written by this version: left alone.
                None => true,
            }
        })
    }

    pub fn tend(&mut self) -> Result<(), RunsError> {
        self.table.tend()
    }

    pub fn is_congested(&self) -> bool {
        self.table.is_congested()
    }

    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.table.snapshot()
    }
}

fn encode(item: &Queued, out: &mut Vec<u8>) {
    out.extend_from_slice(&item.key.url.to_le_bytes());
    put_varint(out, u64::from(item.depth));
    put_varint(out, u64::from(item.redirects));
    put_text(out, item.url.as_str());
    put_text(out, &item.via);
}

fn decode(lane: LaneId, place: Place, value: &[u8]) -> Result<Queued, Malformed> {
    let mut cursor = Cursor(value);
    let url = u64::from_le_bytes(cursor.take(8)?.try_into().map_err(|_| Malformed)?);
    Ok(Queued {
        key: UrlKey { lane: lane.0, url },
        place,
        depth: cursor.varint()? as u32,
        redirects: cursor.varint()? as u32,
        attempts: 0,
        url: Url::from_normal(cursor.text()?).map_err(|_| Malformed)?,
        via: Arc::from(cursor.text()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_lanes_and_places_do_and_can_be_read_back() {
        let numbers = [0, 1, 7, 254, 255, 256, 70_000, u64::MAX - 9, u64::MAX];
        let sequences = [0, 1, 255, 256, 1 << 55];
        let mut last: Option<QueueKey> = None;
        for lane in numbers.map(LaneId) {
            for priority in numbers {
                for sequence in sequences {
                    let place = Place { priority, sequence };
                    let key = key_of(lane, place);
                    assert_eq!(parse_key(&key), Some((lane, place)));
                    assert!(last.is_none_or(|last| *last < *key));
                    assert!(end_of(lane).is_empty() || *key < *end_of(lane));
                    last = Some(key);
                }
            }
        }
    }
}
