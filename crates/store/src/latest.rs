//! Which visits a later visit of the same URL has superseded.
//!
//! All visits are read; of each URL the latest seen so far is remembered by a
//! hash. When that would take more memory than allowed, only the lower half
//! of the hashes is remembered from there on, and the others are looked at in
//! a later pass. The answer itself is a bit per record.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::disk::Disk;
use crate::journal::JournalError;
use crate::reader::{JournalReader, journals_in};
use crate::record::Position;
use crate::visit::{Glance, Visit};

/// What a remembered URL takes, with the map around it.
const ENTRY_BYTES: u64 = 128;
const CHUNK_BITS: u64 = 1 << 15;

/// A set of places in journals, a bit each.
#[derive(Default)]
pub struct PlaceSet {
    chunks: HashMap<(u16, u64), Box<[u64]>>,
    count: u64,
}

impl PlaceSet {
    pub fn insert(&mut self, place: Position) {
        let (chunk, word, bit) = split(place);
        let words = self
            .chunks
            .entry(chunk)
            .or_insert_with(|| vec![0; (CHUNK_BITS / 64) as usize].into());
        self.count += u64::from(words[word] & bit == 0);
        words[word] |= bit;
    }

    pub fn remove(&mut self, place: Position) {
        let (chunk, word, bit) = split(place);
        if let Some(words) = self.chunks.get_mut(&chunk) {
            self.count -= u64::from(words[word] & bit != 0);
            words[word] &= !bit;
        }
    }

    pub fn contains(&self, place: Position) -> bool {
        let (chunk, word, bit) = split(place);
        let words = self.chunks.get(&chunk);
        words.is_some_and(|words| words[word] & bit != 0)
    }

    /// Whether any place of a journal from `first` through `last` is in it.
    pub fn any_between(&self, journal: u16, first: u64, last: u64) -> bool {
        self.chunks.iter().any(|(&(of, number), words)| {
            let base = number * CHUNK_BITS;
            of == journal
                && base <= last
                && base + (CHUNK_BITS - 1) >= first
                && (0..CHUNK_BITS)
                    .filter(|bit| words[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
                    .any(|bit| (first..=last).contains(&(base + bit)))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A journal never has two records at one sequence, whatever their epochs.
fn split(place: Position) -> ((u16, u64), usize, u64) {
    let at = place.sequence % CHUNK_BITS;
    let chunk = (place.journal, place.sequence / CHUNK_BITS);
    (chunk, (at / 64) as usize, 1 << (at % 64))
}

/// Epochs count over all journals, and within one of them a URL belongs to
/// one journal: so this says which of its visits is later.
type Age = (u32, u64, u16);

fn age(place: Position) -> Age {
    (place.epoch, place.sequence, place.journal)
}

fn place((epoch, sequence, journal): Age) -> Position {
    Position {
        journal,
        epoch,
        sequence,
    }
}

/// A visit, by its place in the journal and in the queue.
#[derive(Clone, Copy)]
struct Known {
    age: Age,
    queued_at: (u64, u64),
}

pub struct Outdated {
    pub superseded: PlaceSet,
    /// Those of them that stood elsewhere in the queue than the visit that
    /// superseded them.
    pub elsewhere: PlaceSet,
    /// Superseded, but a visit that stays has no links but theirs.
    pub kept_for_links: u64,
    pub passes: u32,
}

/// Find the superseded visits of all journals in a folder.
pub fn outdated(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    memory: u64,
) -> Result<Outdated, JournalError> {
    let limit = (memory / ENTRY_BYTES).max(16) as usize;
    // URLs come from strangers: nobody may choose the hashes.
    let seed = RandomState::new().build_hasher().finish();
    let mut superseded = PlaceSet::default();
    let mut elsewhere = PlaceSet::default();
    let mut any_references = false;
    let (mut from, mut passes) = (0u128, 0);
    loop {
        passes += 1;
        let mut through = u128::MAX;
        let mut latest: HashMap<u128, Known> = HashMap::new();
        each_visit(disk, folder, |position, visit| {
            any_references |= visit.links_of.is_some();
            let hash = xxh3_128_with_seed(visit.url.as_bytes(), seed);
            if !(from..=through).contains(&hash) {
                return;
            }
            let this = Known {
                age: age(position),
                queued_at: visit.queued_at,
            };
            let known = latest.entry(hash).or_insert(this);
            if known.age != this.age {
                let (older, newer) = match known.age < this.age {
                    true => (*known, this),
                    false => (this, *known),
                };
                superseded.insert(place(older.age));
                if older.queued_at != newer.queued_at {
                    elsewhere.insert(place(older.age));
                }
                *known = newer;
            }
            while latest.len() > limit && through > from {
                through = from + (through - from) / 2;
                latest.retain(|hash, _| *hash <= through);
            }
        })?;
        if through == u128::MAX {
            break;
        }
        from = through + 1;
    }
    let kept_for_links = match any_references && !superseded.is_empty() {
        true => keep_referred(disk, folder, &mut superseded)?,
        false => 0,
    };
    Ok(Outdated {
        superseded,
        elsewhere,
        kept_for_links,
        passes,
    })
}

/// A visit whose links another that stays refers to stays too.
fn keep_referred(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    superseded: &mut PlaceSet,
) -> Result<u64, JournalError> {
    let mut kept = 0;
    loop {
        let before = kept;
        each_visit(disk, folder, |position, visit| {
            if let Some(earlier) = visit.links_of
                && !superseded.contains(position)
                && superseded.contains(earlier)
            {
                superseded.remove(earlier);
                kept += 1;
            }
        })?;
        // One that was kept may itself refer to another.
        if kept == before {
            return Ok(kept);
        }
    }
}

fn each_visit(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    mut with: impl FnMut(Position, Glance<'_>),
) -> Result<(), JournalError> {
    for journal in journals_in(&**disk, folder).map_err(JournalError::io(folder))? {
        let mut reader = JournalReader::open(Arc::clone(disk), folder, journal, 0);
        while let Some(group) = reader.next_group()? {
            for (position, bytes) in group.raw_records() {
                let glance = bytes.and_then(Visit::glance);
                let glance = glance.map_err(|_| JournalError::Malformed {
                    folder: folder.to_owned(),
                    position,
                })?;
                if let Some(visit) = glance {
                    with(position, visit);
                }
            }
        }
    }
    Ok(())
}
