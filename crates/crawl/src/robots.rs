//! What is known of hosts' robots.txt: bounded, and fetched again in time.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use rhumb_fetch::{Document, Truncation};
use rhumb_frontier::{RobotsRow, RobotsTries};
use rhumb_robots::Rules;
use rhumb_store::Timestamp;
use rhumb_store::runs::RunsError;
use rhumb_url::Url;

use crate::config::Config;
use crate::recover::lane_of;
use crate::shard::Shard;

/// Redirects of a robots.txt that are followed.
const MAX_HOPS: u32 = 5;

#[derive(Clone)]
pub enum Robots {
    Rules(Rules),
    /// It is at another place of the same site.
    Elsewhere {
        url: Url,
        hops: u32,
    },
    /// The server failed to give it: nothing of the host may be visited now.
    Unreachable {
        why: String,
    },
}

/// Bytes of a robots.txt that are kept: more are not read either.
const KEPT: usize = 500 << 10;

impl Robots {
    /// What is kept of it on disk: only what is certain.
    pub fn to_row(&self, document: &Document, fetched: Timestamp) -> Option<RobotsRow> {
        let Robots::Rules(_) = self else {
            return None;
        };
        let found = (200..300).contains(&document.status);
        Some(RobotsRow {
            fetched,
            status: document.status,
            body: match found {
                true => document.body[..document.body.len().min(KEPT)].to_vec(),
                false => Vec::new(),
            },
        })
    }

    pub fn from_row(row: &RobotsRow, agent_token: &str) -> Robots {
        Robots::Rules(match row.status {
            200..300 => Rules::parse(&row.body, agent_token),
            _ => Rules::allow_all(),
        })
    }
}

/// What an answer to the request for robots.txt means (RFC 9309, 2.3.1):
/// found: its rules; not there: no rules; server error, or asked too much
/// already: all is refused.
pub fn meaning(document: &Document, agent_token: &str, hops: u32) -> Robots {
    if let Some(why) = unreadable(document) {
        return Robots::Unreachable { why };
    }
    match document.status {
        200..300 => Robots::Rules(Rules::parse(&document.body, agent_token)),
        300..400 => match document.location().map(|to| document.url.join(&to)) {
            Some(Ok(url)) if hops < MAX_HOPS && url.site() == document.url.site() => {
                Robots::Elsewhere {
                    url,
                    hops: hops + 1,
                }
            }
            // Another site may belong to another shard, which alone may visit
            // it. Rules that we do not know forbid everything.
            Some(Ok(url)) if hops < MAX_HOPS => Robots::Unreachable {
                why: format!("robots.txt leads to another site, {}", url.origin()),
            },
            _ => Robots::Rules(Rules::allow_all()),
        },
        429 | 500.. => Robots::Unreachable {
            why: format!("robots.txt answered with status {}", document.status),
        },
        _ => Robots::Rules(Rules::allow_all()),
    }
}

/// Why there may be rules in it that we would not know of. One that is too
/// long is another matter: its beginning counts.
fn unreadable(document: &Document) -> Option<String> {
    if !(200..300).contains(&document.status) {
        return None;
    }
    let cut_short = matches!(
        document.truncated,
        Some(Truncation::Time | Truncation::Disconnect | Truncation::Decode)
    );
    if cut_short {
        return Some("robots.txt broke off".to_owned());
    }
    let coding = document.unknown_coding();
    coding
        .filter(|_| !document.body.is_empty())
        .map(|coding| format!("robots.txt is in a coding that is not known, `{coding}`"))
}

struct Entry {
    robots: Robots,
    fetched_at: Duration,
}

/// How long a robots.txt is good for. One just fetched must still be so when
/// the host's delay is over, or it would be asked for again and again and no
/// page ever.
pub fn lifetime(config: &Config) -> Duration {
    let longest_delay = config.delay.max(config.max_crawl_delay);
    config.robots_ttl.max(2 * longest_delay + LEAST_LIFETIME)
}

const LEAST_LIFETIME: Duration = Duration::from_secs(60);

/// What came of asking for a robots.txt.
pub struct Kept {
    /// Times in a row that it could not be had.
    pub failures: u32,
    /// It is to be asked for once more before anything of the host is decided.
    pub asks_again: bool,
}

/// By host fingerprint. When full, the entry fetched longest ago goes.
pub struct RobotsCache {
    capacity: usize,
    ttl: Duration,
    entries: HashMap<u64, Entry>,
    by_age: VecDeque<(Duration, u64)>,
}

impl RobotsCache {
    pub fn new(capacity: usize, ttl: Duration) -> RobotsCache {
        RobotsCache {
            capacity,
            ttl,
            entries: HashMap::new(),
            by_age: VecDeque::new(),
        }
    }

    /// `None` if nothing is known of the host; what is known may be that it
    /// has to be asked again.
    pub fn get(&self, host: u64, now: Duration) -> Option<Option<Robots>> {
        let entry = self.entries.get(&host)?;
        let fresh = now < entry.fetched_at + self.ttl;
        Some(fresh.then(|| entry.robots.clone()))
    }

    pub fn forget(&mut self, host: u64) {
        self.entries.remove(&host);
    }

    pub fn put(&mut self, host: u64, robots: Robots, now: Duration) {
        let fetched_at = now;
        self.entries.insert(host, Entry { robots, fetched_at });
        self.by_age.push_back((now, host));
        while self.entries.len() > self.capacity || self.by_age.len() > 2 * self.capacity {
            let Some((at, oldest)) = self.by_age.pop_front() else {
                break;
            };
            if self
                .entries
                .get(&oldest)
                .is_some_and(|e| e.fetched_at == at)
            {
                self.entries.remove(&oldest);
            }
        }
    }
}

impl Shard {
    /// The robots.txt of a URL's host, if it is known and fresh: from memory,
    /// else from disk.
    pub fn robots_of(&self, url: &Url) -> Option<Robots> {
        let host = self.shared.print.host(url);
        let now = self.now();
        let cached = self.robots.borrow().get(host, now);
        if let Some(known) = cached {
            return known;
        }
        let (robots, age) = self.robots_on_disk(url, host).unwrap_or_else(|error| {
            self.fail(&error.to_string());
            None
        })?;
        let fetched_at = now.saturating_sub(age);
        let mut cache = self.robots.borrow_mut();
        cache.put(host, robots.clone(), fetched_at);
        Some(robots)
    }

    /// What the host's rows say, and how old that is.
    fn robots_on_disk(
        &self,
        url: &Url,
        host: u64,
    ) -> Result<Option<(Robots, Duration)>, RunsError> {
        let lane = lane_of(&self.shared.print, url);
        let frontier = self.frontier.borrow();
        let (robots, time) = match frontier.rows.tries(lane, host)? {
            Some(tries) => (self.outcome_of(&tries), tries.time),
            None => match frontier.rows.robots(lane, host)? {
                None => return Ok(None),
                Some(row) => {
                    let robots = Robots::from_row(&row, &self.shared.agent_token);
                    (Some(robots), row.fetched)
                }
            },
        };
        let wall = self.shared.clock.wall();
        let age = Duration::from_micros(wall.0.saturating_sub(time.0));
        let fresh = age < lifetime(&self.shared.config);
        Ok(robots.filter(|_| fresh).map(|robots| (robots, age)))
    }

    /// What earlier tries amount to; `None` if it is to be asked for again.
    /// That is so in every new run: a server that was down may be up again.
    fn outcome_of(&self, tries: &RobotsTries) -> Option<Robots> {
        if tries.epoch != self.shared.epoch {
            return None;
        }
        if !tries.leads_to.is_empty() {
            let url = Url::from_normal(&tries.leads_to).ok()?;
            let hops = tries.hops;
            return Some(Robots::Elsewhere { url, hops });
        }
        self.is_given_up(tries.failures)
            .then(|| Robots::Unreachable {
                why: tries.why.clone(),
            })
    }

    /// So many failures in a row are enough.
    fn is_given_up(&self, failures: u32) -> bool {
        failures as usize > self.shared.config.retries
    }

    /// Remember what came of asking for the robots.txt of a URL's host: on
    /// disk, because memory forgets.
    pub fn keep_robots(
        &self,
        url: &Url,
        robots: Robots,
        row: Option<&RobotsRow>,
        time: Timestamp,
    ) -> Result<Kept, RunsError> {
        let lane = lane_of(&self.shared.print, url);
        let host = self.shared.print.host(url);
        let rows = &mut self.frontier.borrow_mut().rows;
        let before = rows.tries(lane, host)?.map_or(0, |tries| tries.failures);
        let mut tries = RobotsTries {
            epoch: self.shared.epoch,
            time,
            failures: before,
            ..RobotsTries::default()
        };
        match (&robots, row) {
            (Robots::Rules(_), Some(row)) => rows.put_robots(lane, host, row)?,
            (Robots::Rules(_), None) => rows.forget_tries(lane, host)?,
            (Robots::Elsewhere { url, hops }, _) => {
                tries.leads_to = url.as_str().to_owned();
                tries.hops = *hops;
                rows.put_tries(lane, host, &tries);
            }
            (Robots::Unreachable { why }, _) => {
                tries.failures += 1;
                tries.why = why.clone();
                rows.put_tries(lane, host, &tries);
            }
        }
        let failed = matches!(robots, Robots::Unreachable { .. });
        let failures = if failed { tries.failures } else { 0 };
        let asks_again = failed && !self.is_given_up(failures);
        let mut cache = self.robots.borrow_mut();
        match asks_again {
            true => cache.forget(host),
            false => cache.put(host, robots, self.now()),
        }
        Ok(Kept {
            failures,
            asks_again,
        })
    }

    /// The time between visits that a host's rules ask for, within reason.
    pub fn own_delay(&self, rules: &Rules) -> Duration {
        let asked = rules.crawl_delay().unwrap_or_default();
        asked.min(self.shared.config.max_crawl_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_forgets_the_oldest() {
        let second = Duration::from_secs(1);
        let mut cache = RobotsCache::new(3, second * 100);
        for host in 0..10u64 {
            let rules = Robots::Rules(Rules::allow_all());
            cache.put(host, rules, second * host as u32);
        }
        assert!(cache.get(6, second * 10).is_none());
        assert!(cache.get(7, second * 10).is_some());
        assert!(cache.get(9, second * 10).is_some());
        assert!(matches!(cache.get(9, second * 200), Some(None)), "too old");
        assert_eq!(cache.entries.len(), 3);
    }

    #[test]
    fn what_was_just_fetched_is_good_for_the_visit_that_asked() {
        let config = Config {
            robots_ttl: Duration::ZERO,
            delay: Duration::from_secs(300),
            ..Config::default()
        };
        assert!(lifetime(&config) > 2 * config.delay);
        let config = Config::default();
        assert_eq!(lifetime(&config), config.robots_ttl);
    }
}
