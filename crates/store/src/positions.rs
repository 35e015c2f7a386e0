//! Reading single records by their positions.
//!
//! A group is found by halving its segment, and at the end by hopping from
//! header to header. Of each segment used lately the places seen are
//! remembered, so that the next look-up has less to halve; the groups read
//! last are kept unpacked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Disk;
use crate::group::{Group, HEADER, Header};
use crate::journal::JournalError;
use crate::record::{Position, Record};
use crate::segment::{Segment, segments_in};
use crate::visit::{LinkRecord, Visit};

/// Segments whose places are remembered, each with an open file.
const SEGMENTS: usize = 64;
/// Places remembered of one segment: 32 KiB.
const PLACES: usize = 2048;
/// A stretch this short is not halved any more.
const STRETCH: u64 = 128 << 10;
/// Unpacked groups kept, and the largest worth keeping.
const GROUPS: usize = 8;
const GROUP_BYTES: usize = 1 << 20;
/// A visit whose links stand in another may be referred to itself; longer
/// rows than this are damage.
const LINK_HOPS: usize = 16;

pub struct Positions {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// All segments, in order; read again when a position is not in them.
    names: Vec<(Position, String)>,
    /// The most recently used last.
    segments: Vec<Places>,
    groups: Vec<Group>,
}

impl Positions {
    pub fn open(disk: Arc<dyn Disk>, folder: &Path) -> Positions {
        Positions {
            disk,
            folder: folder.to_owned(),
            names: Vec::new(),
            segments: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Forget everything remembered: the files were rewritten.
    pub fn clear(&mut self) {
        self.names.clear();
        self.segments.clear();
        self.groups.clear();
    }

    /// The record at a position. None if it was never committed, was cut off
    /// after a crash, or has been dropped since.
    pub fn record_at(&mut self, position: Position) -> Result<Option<Record>, JournalError> {
        if let Some(at) = self.groups.iter().position(|g| covers(g, position)) {
            let group = self.groups.remove(at);
            let found = find_in(&group, position);
            self.groups.push(group);
            return self.decoded(found, position);
        }
        let Some(group) = self.group_of(position)? else {
            return Ok(None);
        };
        let found = find_in(&group, position);
        if group.raw_length() <= GROUP_BYTES {
            if self.groups.len() >= GROUPS {
                self.groups.remove(0);
            }
            self.groups.push(group);
        }
        self.decoded(found, position)
    }

    /// All links of a visit: its own, or those of the visit it refers to.
    /// None if that one is not there.
    pub fn links_of(&mut self, visit: &Visit) -> Result<Option<Vec<LinkRecord>>, JournalError> {
        let Some(mut at) = visit.links_of else {
            return Ok(Some(visit.links.clone()));
        };
        for _ in 0..LINK_HOPS {
            let Some(Record::Visit(earlier)) = self.record_at(at)? else {
                return Ok(None);
            };
            match earlier.links_of {
                None => return Ok(Some(earlier.links)),
                Some(next) => at = next,
            }
        }
        Ok(None)
    }

    fn decoded(
        &self,
        found: Option<Found>,
        position: Position,
    ) -> Result<Option<Record>, JournalError> {
        match found {
            Some(Found::Record(Record::Superseded(_))) | None => Ok(None),
            Some(Found::Record(record)) => Ok(Some(record)),
            Some(Found::Malformed) => Err(JournalError::Malformed {
                folder: self.folder.clone(),
                position,
            }),
        }
    }

    fn group_of(&mut self, position: Position) -> Result<Option<Group>, JournalError> {
        let name = match self.segment_of(position) {
            Some(name) => name,
            None => {
                self.names = segments_in(&*self.disk, &self.folder)?;
                match self.segment_of(position) {
                    Some(name) => name,
                    None => return Ok(None),
                }
            }
        };
        let found = self.places_of(&name)?.group_of(position)?;
        if found.is_some() {
            return Ok(found);
        }
        // The writer may have moved on to a segment begun since.
        self.names = segments_in(&*self.disk, &self.folder)?;
        match self.segment_of(position) {
            Some(newer) if newer != name => self.places_of(&newer)?.group_of(position),
            _ => Ok(None),
        }
    }

    /// The last segment of the position's own epoch that begins at or before
    /// it: what stands at the same sequence in another epoch is another record.
    fn segment_of(&self, position: Position) -> Option<String> {
        let after = self.names.partition_point(|(first, _)| *first <= position);
        let (first, name) = self.names.get(after.checked_sub(1)?)?;
        let same = first.journal == position.journal && first.epoch == position.epoch;
        same.then(|| name.clone())
    }

    fn places_of(&mut self, name: &str) -> Result<&mut Places, JournalError> {
        let places = match self.segments.iter().position(|s| s.segment.name == name) {
            Some(at) => self.segments.remove(at),
            None => {
                if self.segments.len() >= SEGMENTS {
                    self.segments.remove(0);
                }
                Places::new(Segment::open(&*self.disk, &self.folder, name)?)
            }
        };
        let at = self.segments.len();
        self.segments.push(places);
        Ok(&mut self.segments[at])
    }
}

enum Found {
    Record(Record),
    Malformed,
}

fn covers(group: &Group, position: Position) -> bool {
    let first = group.first();
    (first.journal, first.epoch) == (position.journal, position.epoch)
        && (first.sequence..=group.last_sequence()).contains(&position.sequence)
}

fn find_in(group: &Group, position: Position) -> Option<Found> {
    for (place, bytes) in group.raw_records() {
        match bytes.and_then(|bytes| match place == position {
            true => Record::decode(bytes).map(Some),
            false => Ok(None),
        }) {
            Ok(None) if place.sequence > position.sequence => return None,
            Ok(None) => {}
            Ok(Some(record)) => return Some(Found::Record(record)),
            Err(_) => return Some(Found::Malformed),
        }
    }
    None
}

/// Where some of a segment's groups begin.
struct Places {
    segment: Segment,
    /// (first sequence, offset), in order.
    places: Vec<(u64, u64)>,
}

impl Places {
    fn new(segment: Segment) -> Places {
        Places {
            segment,
            places: Vec::new(),
        }
    }

    /// The group that covers a position. A stretch without a known place is
    /// halved until it is short; then headers are hopped over.
    fn group_of(&mut self, position: Position) -> Result<Option<Group>, JournalError> {
        let length = self.segment.length()?;
        let sequence = position.sequence;
        let after = self.places.partition_point(|(first, _)| *first <= sequence);
        let known = |at: Option<usize>| Some(self.places.get(at?)?.1);
        let mut from = known(after.checked_sub(1)).unwrap_or(0);
        // Where a group stands that begins behind the position.
        let mut behind = known(Some(after));
        let mut to = behind.unwrap_or(length);
        while to - from > STRETCH {
            let middle = from + (to - from) / 2;
            match self.segment.good_group_between(middle, to)? {
                None => to = middle,
                Some((first, offset)) => {
                    self.remember(first.sequence, offset);
                    if first.sequence <= sequence {
                        from = offset;
                    } else {
                        to = middle;
                        behind = Some(offset);
                    }
                }
            }
        }
        let end = behind.unwrap_or(length);
        while from < end
            && let Some((header, bytes)) = self.segment.header_at(from, length)?
        {
            if header.last_sequence() >= sequence {
                return self.unpack(position, from, header, &bytes);
            }
            from += header.length();
        }
        // The row of headers leads to whatever good group comes later.
        match behind {
            Some(behind) if from < behind => Err(self.damaged(from)),
            _ => Ok(None),
        }
    }

    fn remember(&mut self, sequence: u64, offset: u64) {
        if self.places.len() >= PLACES {
            let mut nth = 0usize;
            self.places.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        let at = self.places.partition_point(|(first, _)| *first < sequence);
        if self.places.get(at) != Some(&(sequence, offset)) {
            self.places.insert(at, (sequence, offset));
        }
    }

    fn damaged(&self, offset: u64) -> JournalError {
        JournalError::Damaged {
            path: self.segment.path().to_owned(),
            offset,
        }
    }

    fn unpack(
        &self,
        position: Position,
        offset: u64,
        header: Header,
        bytes: &[u8; HEADER],
    ) -> Result<Option<Group>, JournalError> {
        let damaged = || self.damaged(offset);
        if header.first.epoch != position.epoch || header.first.sequence > position.sequence {
            return Ok(None);
        }
        let stored = self.segment.body_at(offset, &header, bytes)?;
        let stored = stored.ok_or_else(damaged)?;
        Group::decompress(header, &stored)
            .map(Some)
            .map_err(|_| damaged())
    }
}
