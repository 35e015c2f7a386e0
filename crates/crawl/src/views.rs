//! What follows all journals together: which documents the crawl has, where
//! the journals speak of a URL, which seeds opened the scope, and what was
//! forgotten on request.
//!
//! Records enter with their commit, in the order of their journals. Two
//! shards that fetch the same document at the same moment may both keep it
//! whole; it counts as a duplicate all the same, because counting happens on
//! entering. For the same reason the views themselves count: which of the two
//! enters first may be another after a recovery, but a count that is frozen
//! together with what it counts has one of them, whichever.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rhumb_store::codec::{Cursor, Malformed, put_text, put_varint};
use rhumb_store::runs::{RunsError, Snapshot};
use rhumb_store::{HostEvent, Outcome, Position, Record, Timestamp, Visit};
use rhumb_url::Url;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::manifest::{Mark, Marks, ViewsPart, moment};
use crate::state::ViewTables;
use crate::takedowns::{Takedown, Takedowns};

/// Refused targets remembered, so that what every page of a site links to is
/// entered once.
const MEMO: usize = 1 << 16;

/// Stands behind the position of a visit that failed.
const FAILED: &[u8] = &[1];

/// The first committed visit that brought some content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstVisit {
    pub url: String,
    pub time: Timestamp,
    pub payload_digest: [u8; 20],
    pub position: Position,
    /// Fingerprint of its links as they were recorded.
    pub links: u64,
    /// Its content is in the archive.
    pub archived: bool,
}

/// Of what a position in the index speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mention {
    /// It was given as a seed, or admitted.
    Found = 0,
    /// Its last visit.
    Visit = 1,
    /// A page with a link to it that was refused.
    Refused = 2,
    /// Its host's robots.txt was read.
    Robots = 3,
    /// Its host was given up.
    GivenUp = 4,
}

struct Inner {
    tables: ViewTables,
    applied: Marks,
    documents: u64,
    duplicates: u64,
    takedowns: Takedowns,
    memo: Box<[u64]>,
    value: Vec<u8>,
    /// Why background work failed.
    failed: Option<String>,
}

pub struct Views {
    seed: u64,
    inner: Mutex<Inner>,
}

impl Views {
    /// Over tables that hold what `part` says.
    pub fn new(seed: u64, tables: ViewTables, part: &ViewsPart) -> Views {
        Views {
            seed,
            inner: Mutex::new(Inner {
                tables,
                applied: part.applied.clone(),
                documents: part.documents,
                duplicates: part.duplicates,
                takedowns: part.takedowns.clone(),
                memo: vec![0; MEMO].into_boxed_slice(),
                value: Vec::new(),
                failed: None,
            }),
        }
    }

    /// Different documents.
    pub fn documents(&self) -> u64 {
        self.lock().documents
    }

    /// Visits that repeat the content of another.
    pub fn duplicates(&self) -> u64 {
        self.lock().duplicates
    }

    /// The visit that brought this content first.
    pub fn first(&self, content: u128) -> Result<Option<FirstVisit>, RunsError> {
        self.lock().first(content)
    }

    /// Enter committed records of one journal, in order. Those that are in
    /// already are passed over.
    pub fn enter<'a>(
        &self,
        records: impl Iterator<Item = (Position, &'a Record)>,
    ) -> Result<(), RunsError> {
        let mut inner = self.lock();
        for (position, record) in records {
            let mark = Mark::from(position);
            let applied = inner.applied.get(&position.journal);
            if applied.is_none_or(|applied| mark > *applied) {
                inner.enter(self.seed, position, record)?;
                // Not before: what could not be entered is not in a snapshot.
                inner.applied.insert(position.journal, mark);
            }
        }
        Ok(())
    }

    /// Where the journals speak of a URL (or a host's origin).
    pub fn find(&self, text: &str, of: Mention) -> Result<Option<Position>, RunsError> {
        let key = index_key(self.seed, text, of);
        let value = self.lock().tables.index.get(&key)?;
        Ok(value.and_then(|value| decode_position(&mut Cursor(&value)).ok()))
    }

    /// A URL's last visit, if it failed and the URL does not wait to be
    /// visited again.
    pub fn failed_visit(&self, url: &str) -> Result<Option<Position>, RunsError> {
        let key = index_key(self.seed, url, Mention::Visit);
        let value = self.lock().tables.index.get(&key)?;
        let failed = value.and_then(|value| {
            let mut cursor = Cursor(&value);
            let visit = decode_position(&mut cursor).ok()?;
            (cursor.take(1) == Ok(FAILED)).then_some(visit)
        });
        match failed {
            Some(visit) if !self.waits_again(url, visit)? => Ok(Some(visit)),
            _ => Ok(None),
        }
    }

    /// Whether a URL was given once more after this visit of it.
    pub fn waits_again(&self, url: &str, visit: Position) -> Result<bool, RunsError> {
        let found = self.find(url, Mention::Found)?;
        Ok(found.is_some_and(|found| moment(found) > moment(visit)))
    }

    pub fn has_seed(&self, url: &str) -> Result<bool, RunsError> {
        Ok(self.lock().tables.seeds.get(url.as_bytes())?.is_some())
    }

    /// All seeds that were ever given.
    pub fn each_seed(&self, with: &mut dyn FnMut(&str)) -> Result<(), RunsError> {
        self.lock().tables.seeds.scan(&[], &[], &mut |url, _| {
            if let Ok(url) = std::str::from_utf8(url) {
                with(url);
            }
            true
        })
    }

    pub fn takedowns(&self) -> Takedowns {
        self.lock().takedowns.clone()
    }

    /// The takedown that a URL is under, or was.
    pub fn takedown_of(&self, url: &Url) -> Option<Takedown> {
        self.lock().takedowns.of(url).cloned()
    }

    /// Read everything that is on disk.
    pub fn read_all(&self) -> Result<(), RunsError> {
        let tables = &self.lock().tables;
        for table in [&tables.content, &tables.index, &tables.seeds] {
            table.scan(&[], &[], &mut |_, _| true)?;
        }
        Ok(())
    }

    /// Several threads call this: each hears what failed first.
    pub fn tend(&self) -> Result<(), RunsError> {
        let mut inner = self.lock();
        if let Some(reason) = &inner.failed {
            return Err(RunsError::Before(reason.clone()));
        }
        let tended = inner.tend();
        inner.failed = tended.as_ref().err().map(ToString::to_string);
        tended
    }

    pub fn is_congested(&self) -> bool {
        let tables = &self.lock().tables;
        tables.content.is_congested() || tables.index.is_congested()
    }

    /// All that was entered so far; the runs' names are still to come.
    pub fn snapshot(&self) -> Option<(ViewsPart, ViewSnapshots)> {
        let mut inner = self.lock();
        let snapshots = ViewSnapshots {
            content: inner.tables.content.snapshot()?,
            index: inner.tables.index.snapshot()?,
            seeds: inner.tables.seeds.snapshot()?,
        };
        let part = ViewsPart {
            applied: inner.applied.clone(),
            documents: inner.documents,
            duplicates: inner.duplicates,
            takedowns: inner.takedowns.clone(),
            ..ViewsPart::default()
        };
        Some((part, snapshots))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct ViewSnapshots {
    pub content: Snapshot,
    pub index: Snapshot,
    pub seeds: Snapshot,
}

impl ViewSnapshots {
    pub fn all(&self) -> [&Snapshot; 3] {
        [&self.content, &self.index, &self.seeds]
    }
}

/// Whole, non-empty documents are compared.
fn counts(visit: &Visit) -> bool {
    visit.outcome == Outcome::Fetched && visit.body_bytes > 0
}

impl Inner {
    fn tend(&mut self) -> Result<(), RunsError> {
        self.tables.content.tend()?;
        self.tables.index.tend()?;
        self.tables.seeds.tend()
    }

    fn enter(&mut self, seed: u64, position: Position, record: &Record) -> Result<(), RunsError> {
        match record {
            Record::Seed(given) => {
                self.tables.seeds.put(given.url.as_bytes(), &[]);
                self.mention(seed, &given.url, Mention::Found, position);
            }
            Record::Admitted(admitted) => {
                for entry in &admitted.entries {
                    self.mention(seed, &entry.url, Mention::Found, position);
                }
            }
            Record::Visit(visit) => {
                self.enter_content(visit, position)?;
                self.value.clear();
                encode_position(position, &mut self.value);
                if visit.outcome.is_worth_another_try() {
                    self.value.extend_from_slice(FAILED);
                }
                let key = index_key(seed, &visit.url, Mention::Visit);
                self.tables.index.put(&key, &self.value);
                for link in visit.links.iter().filter(|link| link.fate.is_refusal()) {
                    self.refused(seed, &link.url, position);
                }
            }
            Record::HostEvent(event) => {
                let of = match event.event.as_str() {
                    HostEvent::GIVEN_UP => Some(Mention::GivenUp),
                    HostEvent::ROBOTS => Some(Mention::Robots),
                    _ => None,
                };
                if let Some(of) = of {
                    self.mention(seed, &event.host, of, position);
                }
            }
            Record::Control(control) => self.takedowns.enter(control),
            _ => {}
        }
        Ok(())
    }

    fn mention(&mut self, seed: u64, text: &str, of: Mention, position: Position) {
        self.value.clear();
        encode_position(position, &mut self.value);
        let key = index_key(seed, text, of);
        self.tables.index.put(&key, &self.value);
    }

    fn refused(&mut self, seed: u64, url: &str, position: Position) {
        let key = index_key(seed, url, Mention::Refused);
        let print = u64::from_le_bytes(*key.first_chunk().unwrap_or(&[0; 8]));
        let slot = &mut self.memo[print as usize % MEMO];
        if std::mem::replace(slot, print) != print {
            self.value.clear();
            encode_position(position, &mut self.value);
            self.tables.index.put(&key, &self.value);
        }
    }

    fn first(&self, content: u128) -> Result<Option<FirstVisit>, RunsError> {
        let value = self.tables.content.get(&content.to_be_bytes())?;
        Ok(value.and_then(|value| decode_first(&value).ok()))
    }

    fn enter_content(&mut self, visit: &Visit, position: Position) -> Result<(), RunsError> {
        let (Some(content), Some(payload_digest)) = (visit.content, visit.payload_digest) else {
            return Ok(());
        };
        if !counts(visit) {
            return Ok(());
        }
        // What was stored as a copy of another must not stand for the content,
        // though it be read before that other, or instead of it.
        if !visit.duplicate_of.is_empty() {
            self.duplicates += 1;
            return Ok(());
        }
        if let Some(first) = self.first(content)? {
            self.duplicates += u64::from(first.url != visit.url);
            return Ok(());
        }
        self.documents += 1;
        self.value.clear();
        encode_position(position, &mut self.value);
        put_varint(&mut self.value, visit.time.0);
        self.value.extend_from_slice(&payload_digest);
        self.value
            .extend_from_slice(&links_print(visit).to_le_bytes());
        put_text(&mut self.value, &visit.url);
        self.value.push(u8::from(!visit.extents.is_empty()));
        self.tables.content.put(&content.to_be_bytes(), &self.value);
        Ok(())
    }
}

/// Bytes that a link takes where it is hashed, mostly.
const TYPICAL_LINK: usize = 96;

/// A fingerprint of a visit's links: equal when every link leads to the same
/// place with the same fate and anchor.
pub fn links_print(visit: &Visit) -> u64 {
    let mut bytes = Vec::with_capacity(visit.links.len() * TYPICAL_LINK);
    for link in &visit.links {
        bytes.push(link.kind);
        bytes.extend_from_slice(&link.fate.code().to_le_bytes());
        for text in [&link.url, &link.rel, &link.anchor] {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    xxh3_64(&bytes)
}

fn index_key(seed: u64, text: &str, of: Mention) -> [u8; 17] {
    let mut key = [0; 17];
    let print = xxh3_128_with_seed(text.as_bytes(), seed);
    key[..16].copy_from_slice(&print.to_be_bytes());
    key[16] = of as u8;
    key
}

fn encode_position(position: Position, out: &mut Vec<u8>) {
    put_varint(out, u64::from(position.journal));
    put_varint(out, u64::from(position.epoch));
    put_varint(out, position.sequence);
}

fn decode_position(cursor: &mut Cursor<'_>) -> Result<Position, Malformed> {
    Ok(Position {
        journal: cursor.varint()? as u16,
        epoch: cursor.varint()? as u32,
        sequence: cursor.varint()?,
    })
}

fn decode_first(value: &[u8]) -> Result<FirstVisit, Malformed> {
    let mut cursor = Cursor(value);
    let position = decode_position(&mut cursor)?;
    let time = Timestamp(cursor.varint()?);
    let payload_digest = cursor.take(20)?.try_into().map_err(|_| Malformed)?;
    let links = cursor.take(8)?.try_into().map_err(|_| Malformed)?;
    let url = cursor.text()?.to_owned();
    Ok(FirstVisit {
        position,
        time,
        payload_digest,
        links: u64::from_le_bytes(links),
        url,
        // Values written before this was told have nothing here.
        archived: cursor.take(1) != Ok(&[0]),
    })
}
