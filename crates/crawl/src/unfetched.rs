//! Visits that bring no page: refused without asking, failed, or to be made
//! again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rhumb_fetch::{Document, Failure};
use rhumb_frontier::{Queued, Turn};
use rhumb_store::{HostEvent, Outcome, Record, Timestamp, Visit};
use rhumb_url::{Url, UrlKey};

use crate::door::Follow;
use crate::shard::Shard;
use crate::turn::{Next, give_back, pop};
use crate::visit::{new_visit, outcome_of_failure};

/// A URL that is decided without asking for it.
pub async fn refuse(shard: &Shard, item: Queued, outcome: Outcome, detail: String) {
    let time = shard.shared.clock.wall();
    let mut visit = new_visit(&item, outcome, time);
    visit.attempts = item.attempts;
    visit.detail = detail;
    commit_without_document(shard, item.key, visit).await;
}

/// Everything that waits for a host that was given up.
pub async fn refuse_all(shard: &Shard, turn: &Turn, first: Queued, reason: &str) {
    let mut next = Some(first);
    while let Some(item) = next.take().or_else(|| pop(shard, turn)) {
        refuse(shard, item, Outcome::HostGivenUp, reason.to_owned()).await;
    }
}

async fn commit_without_document(shard: &Shard, key: UrlKey, mut visit: Visit) {
    visit.other_bytes = shard.take_unrecorded();
    let follow = Follow {
        key,
        offered: Vec::new(),
    };
    let committer = &shard.committer;
    committer.visit(Box::new(visit), None, follow).await;
}

/// What could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Page,
    /// Without it the page was not asked for.
    Robots,
}

impl Wanted {
    fn explain(self, failure: &Failure) -> String {
        match self {
            Wanted::Page => failure.to_string(),
            Wanted::Robots => format!("its robots.txt could not be fetched: {failure}"),
        }
    }
}

/// A visit that brought no document: to be tried again, or to be recorded.
pub async fn fail(
    shard: &Shard,
    turn: &Turn,
    mut item: Queued,
    wanted: Wanted,
    failure: &Failure,
    time: Timestamp,
) -> Next {
    if let Failure::Unkept(_) = failure {
        // Neither the URL's fault nor the host's.
        give_back(shard, item);
        shard.fail(&failure.to_string());
        return Next::Rest(Duration::ZERO);
    }
    let config = &shard.shared.config;
    let lane = turn.lane();
    let in_a_row = shard.frontier.borrow_mut().note_failure(lane, true);
    item.attempts += 1;
    let again = failure.is_transient() && item.attempts as usize <= config.retries;
    let rest = shard.now() + back_off(shard, item.attempts);
    if again && (in_a_row as usize) < config.host_failures {
        count_retry(shard);
        give_back(shard, item);
        return Next::Rest(rest);
    }
    if in_a_row as usize >= config.host_failures {
        let last = wanted.explain(failure);
        let reason = format!("{in_a_row} failures in a row, the last: {last}");
        shard.committer.record(Record::HostEvent(HostEvent {
            host: item.url.origin().to_owned(),
            time,
            event: HostEvent::GIVEN_UP.to_owned(),
            detail: reason.clone(),
            ..HostEvent::default()
        }));
        shard.frontier.borrow_mut().give_up(lane, &reason);
    }
    let mut visit = new_visit(&item, outcome_of_failure(failure), time);
    visit.attempts = item.attempts;
    visit.detail = wanted.explain(failure);
    commit_without_document(shard, item.key, visit).await;
    Next::GoOn
}

/// How long a server that is asked too much (429) or cannot answer (503)
/// wants to be left alone, within reason.
pub fn asked_rest(shard: &Shard, document: &Document, time: Timestamp) -> Option<Duration> {
    if !matches!(document.status, 429 | 503) {
        return None;
    }
    let now = std::time::UNIX_EPOCH + Duration::from_micros(time.0);
    let asked = document.retry_after(now).unwrap_or_default();
    Some(asked.min(shard.shared.config.max_crawl_delay))
}

/// Write down that a host is to be left alone: a crash must not make it
/// forgotten.
pub fn note_rest(shard: &Shard, url: &Url, status: u16, rest: Duration) {
    if rest <= shard.shared.config.delay {
        return;
    }
    shard.committer.record(Record::HostEvent(HostEvent {
        host: url.origin().to_owned(),
        time: shard.shared.clock.wall(),
        event: HostEvent::RESTS.to_owned(),
        detail: format!("status {status}, for {} s", rest.as_secs_f64()),
        delay: rest,
        ..HostEvent::default()
    }));
}

pub fn back_off(shard: &Shard, attempts: u32) -> Duration {
    shard.shared.config.retry_delay * 2u32.saturating_pow(attempts.saturating_sub(1).min(10))
}

pub fn count_retry(shard: &Shard) {
    let tally = &shard.shared.counters.tallies[shard.id];
    tally.retries.fetch_add(1, Ordering::Relaxed);
}

/// A page that was reserved did not come: others may have it.
pub fn release_page(shard: &Shard) {
    shard.shared.budget.release();
    shard.shared.ring_all();
}
