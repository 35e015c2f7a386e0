//! One fetch with its outcome, its facts and all its links: the record that
//! commits a page.

use crate::clock::Timestamp;
use crate::codec::{Cursor, Fields, Malformed, Unknown, put_text, put_varint, read_fields};
use crate::fate::{Fate, Outcome};
use crate::record::{Position, decode_position, encode_position};

/// Who brought the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    #[default]
    OwnFetch,
    Browser,
    Migrated,
    Import,
}

/// Where a visit's record stands in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    pub file: String,
    pub offset: u64,
    pub length: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactValue {
    Number(u64),
    Text(String),
}

/// A named fact that a processor learned about the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub name: String,
    pub value: FactValue,
}

impl Fact {
    /// How many links the page had beyond those that are recorded.
    pub const LINKS_DROPPED: &str = "links_dropped";

    pub fn number(name: &str, value: u64) -> Fact {
        Fact {
            name: name.to_owned(),
            value: FactValue::Number(value),
        }
    }
}

/// A link as it was found, with the fate that the finder can know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRecord {
    /// The normal form; the text as written where there is none.
    pub url: String,
    /// The page room's code for the kind of link.
    pub kind: u8,
    pub fate: Fate,
    pub rel: String,
    pub anchor: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    pub url: String,
    pub depth: u32,
    /// Redirects in a row that led here.
    pub redirects: u32,
    /// How many links it has that stand with the visit of `links_of`.
    pub links_repeated: u64,
    /// Where it stood in the queue.
    pub priority: u64,
    pub sequence: u64,
    pub outcome: Outcome,
    pub origin: Origin,
    /// When the request went out.
    pub time: Timestamp,
    pub first_byte_micros: u64,
    pub total_micros: u64,
    pub attempts: u32,
    /// HTTP status, 0 if none came.
    pub status: u16,
    pub address: String,
    pub content_type: String,
    pub charset: String,
    /// Bytes as received, head included.
    pub wire_bytes: u64,
    /// Bytes that its shard received since the visit before and that are in no
    /// record of their own: of failed and repeated attempts, for instance.
    pub other_bytes: u64,
    /// Bytes of the document, decoded.
    pub body_bytes: u64,
    /// SHA-1 of the payload, as in the archive.
    pub payload_digest: Option<[u8; 20]>,
    /// Fingerprint of the decoded body: the content-seen test.
    pub content: Option<u128>,
    /// The URL whose visit brought the same content before.
    pub duplicate_of: String,
    /// Empty, or the archive's word for why the body is not whole.
    pub truncated: String,
    pub title: String,
    /// The robots line, limit or error that decided, in words.
    pub detail: String,
    pub extents: Vec<Extent>,
    pub facts: Vec<Fact>,
    pub links: Vec<LinkRecord>,
    /// An earlier visit that has these links; then `links` is empty. It is to
    /// be one with links of its own, so that nobody follows a long row.
    pub links_of: Option<Position>,
    pub unknown: Unknown,
}

/// What [`Visit::glance`] sees.
#[derive(Default)]
pub(crate) struct Glance<'a> {
    pub url: &'a str,
    pub links_of: Option<Position>,
    /// Its place in the queue: priority and sequence.
    pub queued_at: (u64, u64),
}

/// The kind byte of an encoded visit.
pub(crate) const VISIT_KIND: u8 = 3;

impl Visit {
    /// A visit about which nothing is known yet but its URL.
    pub fn new(url: &str, depth: u32, outcome: Outcome, time: Timestamp) -> Visit {
        Visit {
            url: url.to_owned(),
            depth,
            redirects: 0,
            priority: 0,
            sequence: 0,
            links_repeated: 0,
            outcome,
            origin: Origin::OwnFetch,
            time,
            first_byte_micros: 0,
            total_micros: 0,
            attempts: 1,
            status: 0,
            address: String::new(),
            content_type: String::new(),
            charset: String::new(),
            wire_bytes: 0,
            other_bytes: 0,
            body_bytes: 0,
            payload_digest: None,
            content: None,
            duplicate_of: String::new(),
            truncated: String::new(),
            title: String::new(),
            detail: String::new(),
            extents: Vec::new(),
            facts: Vec::new(),
            links: Vec::new(),
            links_of: None,
            unknown: Unknown::default(),
        }
    }

    /// A fact that is a number; 0 if there is none of this name.
    pub fn number(&self, name: &str) -> u64 {
        let fact = self.facts.iter().find(|fact| fact.name == name);
        match fact.map(|fact| &fact.value) {
            Some(FactValue::Number(number)) => *number,
            _ => 0,
        }
    }

    /// A little of an encoded record, if it is a visit: for passes over all of
    /// them.
    pub(crate) fn glance(record: &[u8]) -> Result<Option<Glance<'_>>, Malformed> {
        let Some((&VISIT_KIND, rest)) = record.split_first() else {
            return Ok(None);
        };
        let mut fields = Cursor(rest);
        let mut glance = Glance::default();
        while let Some((field, value)) = fields.field()? {
            match field {
                1 => glance.url = std::str::from_utf8(value.bytes()?).map_err(|_| Malformed)?,
                25 => glance.links_of = Some(decode_position(value)?),
                26 => glance.queued_at.0 = value.number()?,
                27 => glance.queued_at.1 = value.number()?,
                _ => {}
            }
        }
        Ok(Some(glance))
    }

    /// The URL and the extents of an encoded record, if it is a visit; its
    /// links, which are most of it, are passed over.
    pub(crate) fn archived(record: &[u8]) -> Result<Option<(&str, Vec<Extent>)>, Malformed> {
        let Some((&VISIT_KIND, rest)) = record.split_first() else {
            return Ok(None);
        };
        let mut fields = Cursor(rest);
        let (mut url, mut extents) = ("", Vec::new());
        while let Some((field, value)) = fields.field()? {
            match field {
                1 => url = std::str::from_utf8(value.bytes()?).map_err(|_| Malformed)?,
                21 => extents.push(decode_extent(value.bytes()?)?),
                _ => {}
            }
        }
        Ok(Some((url, extents)))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        fields.text(1, &self.url);
        fields.number(2, u64::from(self.depth));
        fields.number(3, self.outcome.code());
        fields.number(4, origin_code(self.origin));
        fields.number(5, self.time.0);
        fields.number(6, self.first_byte_micros);
        fields.number(7, self.total_micros);
        fields.number(8, u64::from(self.attempts));
        fields.number(9, u64::from(self.status));
        fields.text(10, &self.address);
        fields.text(11, &self.content_type);
        fields.text(12, &self.charset);
        fields.number(13, self.wire_bytes);
        fields.number(14, self.body_bytes);
        fields.bytes(15, self.payload_digest.as_ref().map_or(&[], |d| &d[..]));
        let content = self.content.map(u128::to_le_bytes);
        fields.bytes(16, content.as_ref().map_or(&[], |c| &c[..]));
        fields.text(17, &self.duplicate_of);
        fields.text(18, &self.truncated);
        fields.text(19, &self.title);
        fields.text(20, &self.detail);
        let mut block = Vec::new();
        for extent in &self.extents {
            block.clear();
            encode_extent(&mut block, extent);
            fields.bytes(21, &block);
        }
        for fact in &self.facts {
            block.clear();
            put_text(&mut block, &fact.name);
            match &fact.value {
                FactValue::Number(n) => {
                    put_varint(&mut block, 0);
                    put_varint(&mut block, *n);
                }
                FactValue::Text(text) => {
                    put_varint(&mut block, 1);
                    put_text(&mut block, text);
                }
            }
            fields.bytes(22, &block);
        }
        block.clear();
        let mut one = Vec::new();
        for link in &self.links {
            one.clear();
            one.push(link.kind);
            put_varint(&mut one, link.fate.code());
            put_text(&mut one, &link.url);
            put_text(&mut one, &link.rel);
            put_text(&mut one, &link.anchor);
            put_varint(&mut block, one.len() as u64);
            block.extend_from_slice(&one);
        }
        fields.bytes(23, &block);
        fields.number(24, u64::from(self.redirects));
        if let Some(earlier) = self.links_of {
            fields.bytes(25, &encode_position(earlier));
        }
        fields.number(26, self.priority);
        fields.number(27, self.sequence);
        fields.number(28, self.links_repeated);
        fields.number(29, self.other_bytes);
        fields.unknown(&self.unknown);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Visit, Malformed> {
        let mut visit = Visit::new("", 0, Outcome::Fetched, Timestamp(0));
        visit.attempts = 0;
        let unknown = read_fields(bytes, |field, value| {
            match field {
                1 => visit.url = value.text()?,
                2 => visit.depth = value.number()? as u32,
                3 => visit.outcome = Outcome::from_code(value.number()?),
                4 => visit.origin = origin_from_code(value.number()?),
                5 => visit.time = Timestamp(value.number()?),
                6 => visit.first_byte_micros = value.number()?,
                7 => visit.total_micros = value.number()?,
                8 => visit.attempts = value.number()? as u32,
                9 => visit.status = value.number()? as u16,
                10 => visit.address = value.text()?,
                11 => visit.content_type = value.text()?,
                12 => visit.charset = value.text()?,
                13 => visit.wire_bytes = value.number()?,
                14 => visit.body_bytes = value.number()?,
                15 => visit.payload_digest = Some(array(value.bytes()?)?),
                16 => visit.content = Some(u128::from_le_bytes(array(value.bytes()?)?)),
                17 => visit.duplicate_of = value.text()?,
                18 => visit.truncated = value.text()?,
                19 => visit.title = value.text()?,
                20 => visit.detail = value.text()?,
                21 => visit.extents.push(decode_extent(value.bytes()?)?),
                22 => visit.facts.push(decode_fact(value.bytes()?)?),
                23 => visit.links = decode_links(value.bytes()?)?,
                24 => visit.redirects = value.number()? as u32,
                25 => visit.links_of = Some(decode_position(value)?),
                26 => visit.priority = value.number()?,
                27 => visit.sequence = value.number()?,
                28 => visit.links_repeated = value.number()?,
                29 => visit.other_bytes = value.number()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        visit.unknown = unknown;
        Ok(visit)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed)
}

fn origin_code(origin: Origin) -> u64 {
    match origin {
        Origin::OwnFetch => 0,
        Origin::Browser => 1,
        Origin::Migrated => 2,
        Origin::Import => 3,
    }
}

fn origin_from_code(code: u64) -> Origin {
    match code {
        1 => Origin::Browser,
        2 => Origin::Migrated,
        3 => Origin::Import,
        _ => Origin::OwnFetch,
    }
}

pub(crate) fn encode_extent(out: &mut Vec<u8>, extent: &Extent) {
    put_text(out, &extent.file);
    put_varint(out, extent.offset);
    put_varint(out, extent.length);
}

pub(crate) fn decode_extent(bytes: &[u8]) -> Result<Extent, Malformed> {
    let mut cursor = Cursor(bytes);
    Ok(Extent {
        file: cursor.text()?.to_owned(),
        offset: cursor.varint()?,
        length: cursor.varint()?,
    })
}

fn decode_fact(bytes: &[u8]) -> Result<Fact, Malformed> {
    let mut cursor = Cursor(bytes);
    let name = cursor.text()?.to_owned();
    let value = match cursor.varint()? {
        0 => FactValue::Number(cursor.varint()?),
        _ => FactValue::Text(cursor.text()?.to_owned()),
    };
    Ok(Fact { name, value })
}

/// Each link has its length in front, so that a later version may add to it.
fn decode_links(bytes: &[u8]) -> Result<Vec<LinkRecord>, Malformed> {
    let mut cursor = Cursor(bytes);
    let mut links = Vec::new();
    while !cursor.is_empty() {
        let mut link = Cursor(cursor.block()?);
        links.push(LinkRecord {
            kind: link.take(1)?[0],
            fate: Fate::from_code(link.varint()?),
            url: link.text()?.to_owned(),
            rel: link.text()?.to_owned(),
            anchor: link.text()?.to_owned(),
        });
    }
    Ok(links)
}
