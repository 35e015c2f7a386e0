//! From what came back to the records that commit a visit.

use std::sync::PoisonError;

use bytes::Bytes;
use rhumb_fetch::{Document, Failure, Truncation};
use rhumb_frontier::Queued;
use rhumb_store::runs::RunsError;
use rhumb_store::{Capture, Fact, Outcome, Revisit, Timestamp, Visit, payload_digest};
use rhumb_url::Url;
use xxhash_rust::xxh3::xxh3_128;

use crate::config::Value;
use crate::reading::{Reader, judged};
use crate::shard::Shard;
use crate::views::{FirstVisit, links_print};

pub fn outcome_of_failure(failure: &Failure) -> Outcome {
    match failure {
        Failure::NoSuchName => Outcome::NoSuchName,
        Failure::DnsTimeout | Failure::Dns(_) => Outcome::Dns,
        Failure::ConnectTimeout => Outcome::ConnectTimeout,
        Failure::Refused | Failure::Connect(_) => Outcome::Connect,
        Failure::Tls(_) => Outcome::Tls,
        Failure::FirstByteTimeout => Outcome::FirstByteTimeout,
        Failure::Closed => Outcome::Closed,
        Failure::HeadersTooLarge => Outcome::HeadersTooLarge,
        Failure::SpecialAddress(_) | Failure::NoContact => Outcome::AddressRefused,
        Failure::HeaderCut | Failure::Protocol(_) | Failure::Unaskable(_) | Failure::Unkept(_) => {
            Outcome::Broken
        }
    }
}

/// A visit of a queued URL about which nothing is known yet.
pub fn new_visit(item: &Queued, outcome: Outcome, time: Timestamp) -> Visit {
    let mut visit = Visit::new(item.url.as_str(), item.depth, outcome, time);
    visit.redirects = item.redirects;
    visit.priority = item.place.priority;
    visit.sequence = item.place.sequence;
    visit
}

/// What commits a document: the visit, the archive's record, and the targets
/// of the links it offers.
type Recorded = (Box<Visit>, Option<Capture<Bytes>>, Vec<Url>);

/// From a document to the two records that commit it, and the targets of the
/// links it offers.
pub fn record(
    shard: &Shard,
    item: &Queued,
    document: Document,
    time: Timestamp,
) -> Result<Recorded, RunsError> {
    let (outcome, detail) = judged(&document);
    let mut visit = new_visit(item, outcome, time);
    visit.detail = detail;
    visit.attempts = item.attempts + 1;
    visit.status = document.status;
    visit.address = document.remote.ip().to_string();
    visit.first_byte_micros = document.first_byte.as_micros() as u64;
    visit.total_micros = document.total.as_micros() as u64;
    visit.content_type = document.content_type().unwrap_or_default().to_owned();
    visit.wire_bytes = document.wire.len() as u64;
    visit.body_bytes = document.body.len() as u64;
    visit.truncated = document.truncated.map_or("", Truncation::as_str).to_owned();
    if document.unwanted.is_some() {
        return Ok((Box::new(visit), None, Vec::new()));
    }
    if document.truncated == Some(Truncation::Expanded) {
        let gap = if visit.detail.is_empty() { "" } else { "; " };
        visit.detail += gap;
        visit.detail += &format!(
            "the content is longer than max_body = {} once decoded: only its first part was read",
            shard.shared.config.max_body.toml()
        );
    }
    let digest = payload_digest(&document.payload);
    visit.payload_digest = Some(digest);
    let first = content_seen(shard, &mut visit, &document)?;
    let mut offered = read_into(shard, &mut visit, &document);
    if let Some(first) = &first
        && first.links == links_print(&visit)
    {
        // The same links as there, to the letter: nothing new to follow.
        visit.links_of = Some(first.position);
        visit.links_repeated = visit.links.len() as u64;
        visit.links.clear();
        offered.clear();
    }
    // The same document in another coding is another payload, and one that
    // was not archived cannot be referred to.
    let same = first.filter(|first| first.archived && first.payload_digest == digest);
    let revisit = same.map(|first| Revisit {
        url: first.url,
        time: first.time,
    });
    // With transfer framing around it the payload is not what the record holds.
    let framed = document.payload.len() != document.wire.len() - document.head_len;
    let capture = Capture {
        url: visit.url.clone(),
        time,
        address: visit.address.clone(),
        request: document.request,
        wire: document.wire,
        head_length: document.head_len,
        payload_digest: digest,
        framed,
        truncated: archive_word(document.truncated),
        revisit,
        via: item.via.to_string(),
        depth: item.depth,
        fetch_micros: visit.total_micros,
    };
    Ok((Box::new(visit), Some(capture), offered))
}

/// Whole, non-empty documents are compared with those of earlier visits. One
/// that a loss of power may take is not earlier yet: what would be stored with
/// it, content and links, could be lost with it.
fn content_seen(
    shard: &Shard,
    visit: &mut Visit,
    document: &Document,
) -> Result<Option<FirstVisit>, RunsError> {
    let counts = visit.outcome == Outcome::Fetched
        && document.truncated.is_none()
        && !document.body.is_empty();
    if !counts {
        return Ok(None);
    }
    let content = xxh3_128(&document.body);
    visit.content = Some(content);
    let first = shard.shared.views.first(content)?;
    let first = first.filter(|first| {
        first.url != visit.url && shard.shared.outlives_next_visit(first.position, shard.id)
    });
    if let Some(first) = &first {
        visit.duplicate_of = first.url.clone();
    }
    Ok(first)
}

fn read_into(shard: &Shard, visit: &mut Visit, document: &Document) -> Vec<Url> {
    let shared = &shard.shared;
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    let reader = Reader {
        rules: &shared.rules,
        scope: &scope,
        agent_token: &shared.agent_token,
        max_links: shared.config.max_links,
        max_anchor: shared.config.max_anchor,
    };
    let reading = reader.read(document, visit.outcome, visit.depth, visit.redirects);
    visit.title = reading.title;
    visit.charset = reading.charset;
    visit.links = reading.links;
    if reading.links_dropped > 0 {
        let dropped = Fact::number(Fact::LINKS_DROPPED, reading.links_dropped as u64);
        visit.facts.push(dropped);
    }
    reading.offered
}

/// The archive's words for a body that is not whole. A broken coding and a
/// body too long to be decoded are no truncations there: the bytes on the wire
/// are all in the record.
fn archive_word(truncated: Option<Truncation>) -> &'static str {
    match truncated {
        None | Some(Truncation::Decode | Truncation::Expanded) => "",
        Some(other) => other.as_str(),
    }
}
