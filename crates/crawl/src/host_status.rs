//! How a host stands: what decides when it is visited next, and what its
//! robots.txt came to.

use std::path::Path;
use std::time::Duration;

use rhumb_frontier::{Frontier, LaneId, Standing};
use rhumb_store::runs::RunsError;
use rhumb_url::{Fingerprinter, Url};
use serde::{Deserialize, Serialize};

use crate::engine::CrawlError;
use crate::recover::lane_of;
use crate::stopped::Stopped;

/// Of one host name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostStatus {
    pub host: String,
    /// `open`, `resting`, `waiting` for its address, `under way`, `given up`.
    pub state: String,
    pub queued: usize,
    /// More than that wait.
    pub more_queued: bool,
    pub under_way: usize,
    /// Seconds until its next visit may begin.
    pub rests: f64,
    /// Seconds from one visit to the next, as of now, and what it follows from.
    pub delay: f64,
    pub crawl_delay: f64,
    pub slow_rest: f64,
    /// Visits that failed in a row.
    pub failures: u32,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub given_up: String,
    pub robots: Vec<RobotsStatus>,
}

/// Of one scheme of it, at the usual port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RobotsStatus {
    pub origin: String,
    /// The last answer's; 0 if none came.
    pub status: u16,
    pub fetched: String,
    /// Times in a row that it could not be had.
    pub failures: u32,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
}

/// A host name, or a URL or origin of it.
pub fn host_url(text: &str) -> Result<Url, String> {
    let url = match text.contains("://") {
        true => Url::parse(text),
        false => Url::parse(&format!("http://{text}/")),
    };
    url.map_err(|why| format!("`{text}` is no host: {why}"))
}

/// What a frontier says of a host; `None` if it knows nothing.
pub(crate) fn host_status(
    frontier: &Frontier,
    print: &Fingerprinter,
    url: &Url,
    now: Duration,
) -> Result<Option<HostStatus>, RunsError> {
    let lane = lane_of(print, url);
    let Some(standing) = frontier.standing(lane, now)? else {
        return Ok(None);
    };
    let mut robots = Vec::new();
    let (name, given) = (url.name(), url.origin());
    for origin in [
        &*format!("http://{name}"),
        &format!("https://{name}"),
        given,
    ] {
        let known = robots.iter().any(|r: &RobotsStatus| r.origin == origin);
        if !known && let Some(status) = robots_status(frontier, print, lane, origin)? {
            robots.push(status);
        }
    }
    Ok(Some(HostStatus {
        host: name.to_owned(),
        state: state_of(&standing).to_owned(),
        queued: standing.queued,
        more_queued: standing.more_queued,
        under_way: standing.under_way,
        rests: standing.rests.as_secs_f64(),
        delay: standing.delay.as_secs_f64(),
        crawl_delay: standing.own_delay.as_secs_f64(),
        slow_rest: standing.slow_rest.as_secs_f64(),
        failures: standing.failures,
        given_up: standing.given_up,
        robots,
    }))
}

fn state_of(standing: &Standing) -> &'static str {
    if !standing.given_up.is_empty() {
        "given up"
    } else if standing.under_way > 0 {
        "under way"
    } else if standing.waits_for_address {
        "waiting"
    } else if !standing.rests.is_zero() {
        "resting"
    } else {
        "open"
    }
}

fn robots_status(
    frontier: &Frontier,
    print: &Fingerprinter,
    lane: LaneId,
    origin: &str,
) -> Result<Option<RobotsStatus>, RunsError> {
    let Ok(url) = Url::parse(&format!("{origin}/")) else {
        return Ok(None);
    };
    let host = print.host(&url);
    let mut status = frontier.rows.robots(lane, host)?.map(|row| RobotsStatus {
        origin: origin.to_owned(),
        status: row.status,
        fetched: row.fetched.to_string(),
        failures: 0,
        why: String::new(),
    });
    if let Some(tries) = frontier.rows.tries(lane, host)? {
        status = Some(RobotsStatus {
            origin: origin.to_owned(),
            status: 0,
            fetched: tries.time.to_string(),
            failures: tries.failures,
            why: match tries.leads_to.is_empty() {
                true => tries.why,
                false => format!("it leads to {}", tries.leads_to),
            },
        });
    }
    Ok(status)
}

/// Of a crawl that does not run.
pub fn inspect_host(dir: &Path, url: &Url) -> Result<Option<HostStatus>, CrawlError> {
    let stopped = Stopped::open(dir)?;
    let print = Fingerprinter::new(stopped.directory.identity().hash_seed);
    let frontier = &stopped.shard.frontier;
    Ok(host_status(frontier, &print, url, Duration::ZERO)?)
}
