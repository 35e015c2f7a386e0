//! What each record of a journal does to the state, when it is read back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rhumb_frontier::{Order, Place, Queued, RobotsRow, RobotsTries};
use rhumb_store::runs::{Keys, RunsError, Verdict};
use rhumb_store::{
    Admitted, Control as ControlRecord, Fate, Group, HostEvent, Position, Record, Seed, Superseded,
    Timestamp, Visit,
};
use rhumb_url::{KeyedUrl, Partition, Url};

use crate::admission::set_key;
use crate::engine::CrawlError;
use crate::manifest::Mark;
use crate::recover::{ASK_AGAIN, Recovered, Recovery, ShardState, lane_of};

impl Recovery<'_> {
    pub fn replay_group(
        &mut self,
        group: &Group,
        shards: &mut [ShardState],
        result: &mut Recovered,
    ) -> Result<(), CrawlError> {
        for (position, record) in group.records() {
            let Ok(record) = record else { continue };
            let end = result.ends.entry(position.journal).or_default();
            *end = Mark::from(position).max(*end);
            let stopped = match &record {
                // Said of what stands before it.
                Record::Control(c) if c.command == ControlRecord::SYNCED => continue,
                Record::Control(c) if c.command == ControlRecord::STOPPED => Some(c.time),
                _ => None,
            };
            let known = self.manifest.shards.get(position.journal as usize);
            if known.is_none_or(|part| Mark::from(position) > part.own) {
                result.stops.insert(position.journal, stopped);
            }
            for extent in record.extents() {
                let end = result.archive_ends.entry(extent.file.clone()).or_default();
                *end = (*end).max(extent.offset + extent.length);
            }
            self.views.enter(std::iter::once((position, &record)))?;
            match record {
                Record::Seed(seed) => self.seed(position, seed, shards)?,
                Record::Admitted(admitted) => self.admitted(position, admitted, shards)?,
                Record::Visit(visit) => self.visit(position, &visit, shards)?,
                Record::HostEvent(event) => self.host_event(position, &event, shards)?,
                Record::Superseded(superseded) => self.superseded(position, &superseded, shards),
                _ => {}
            }
        }
        Ok(())
    }

    fn owner(&self, lane: u64, shards: usize) -> usize {
        Partition::of_lane(lane).shard(shards)
    }

    fn seed(
        &self,
        position: Position,
        seed: Seed,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        if seed.sequence == 0 {
            return Ok(());
        }
        if seed.again {
            return self.seed_again(position, &seed, shards);
        }
        let admitted = Admitted {
            order: seed.order,
            ..Admitted::default()
        };
        self.admit(position, &seed.url, seed.sequence, &admitted, shards)
    }

    /// Its first admission stands somewhere before, so it is in the set.
    fn seed_again(
        &self,
        position: Position,
        seed: &Seed,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        let Ok(url) = Url::from_normal(&seed.url) else {
            return Ok(());
        };
        let key = self.print.key(&url);
        if self.manifest.has(key.lane, position) {
            return Ok(());
        }
        let owner = self.owner(key.lane, shards.len());
        let origin = self.print.host(&url);
        let item = Queued {
            key,
            place: Order::from_code(seed.order).place(0, seed.sequence),
            url,
            depth: 0,
            redirects: 0,
            attempts: 0,
            via: Arc::from(""),
        };
        let frontier = &mut shards[owner].frontier;
        Ok(frontier.admit_again(item, origin)?)
    }

    fn admitted(
        &self,
        position: Position,
        admitted: Admitted,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        for entry in &admitted.entries {
            if entry.fate == Fate::Queued {
                self.admit(position, &entry.url, entry.sequence, &admitted, shards)?;
            }
        }
        Ok(())
    }

    fn admit(
        &self,
        position: Position,
        url: &str,
        sequence: u64,
        admitted: &Admitted,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        let Ok(url) = Url::from_normal(url) else {
            return Ok(());
        };
        let key = self.print.key(&url);
        let owner = self.owner(key.lane, shards.len());
        if self.manifest.has(key.lane, position) {
            return Ok(());
        }
        let shard = &mut shards[owner];
        let keyed = KeyedUrl { key, url };
        if !enter(&mut *shard.seen, &keyed, self.now)? {
            return Ok(());
        }
        let seen = &self.counters.tallies[owner].urls_seen;
        seen.fetch_add(1, Ordering::Relaxed);
        shard.frontier.admit(Queued {
            key,
            place: Order::from_code(admitted.order).place(admitted.depth, sequence),
            url: keyed.url,
            depth: admitted.depth,
            redirects: admitted.redirects,
            attempts: 0,
            via: Arc::from(admitted.via.as_str()),
        });
        Ok(())
    }

    fn visit(
        &self,
        position: Position,
        visit: &Visit,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        let Ok(url) = Url::from_normal(&visit.url) else {
            return Ok(());
        };
        let lane = lane_of(self.print, &url);
        if self.manifest.has(lane.0, position) {
            return Ok(());
        }
        let owner = self.owner(lane.0, shards.len());
        let place = Place {
            priority: visit.priority,
            sequence: visit.sequence,
        };
        let frontier = &mut shards[owner].frontier;
        frontier.forget(lane, place);
        let end = Timestamp(visit.time.0 + visit.total_micros);
        frontier.restore_answer(lane, end, Duration::from_micros(visit.total_micros))?;
        self.counters.tallies[owner].apply(visit);
        Ok(())
    }

    /// What visits that are no longer there had taken from the queue.
    fn superseded(&self, position: Position, superseded: &Superseded, shards: &mut [ShardState]) {
        for emptied in &superseded.emptied {
            let Ok(url) = Url::from_normal(&emptied.url) else {
                continue;
            };
            let lane = lane_of(self.print, &url);
            if !self.manifest.has(lane.0, position) {
                let place = Place {
                    priority: emptied.priority,
                    sequence: emptied.sequence,
                };
                let owner = self.owner(lane.0, shards.len());
                shards[owner].frontier.forget(lane, place);
            }
        }
    }

    fn host_event(
        &self,
        position: Position,
        event: &HostEvent,
        shards: &mut [ShardState],
    ) -> Result<(), CrawlError> {
        let Ok(url) = Url::parse(&format!("{}/", event.host)) else {
            return Ok(());
        };
        let lane = lane_of(self.print, &url);
        if self.manifest.has(lane.0, position) {
            return Ok(());
        }
        let owner = self.owner(lane.0, shards.len());
        let frontier = &mut shards[owner].frontier;
        if event.event == HostEvent::GIVEN_UP {
            frontier.restore_row(lane, None, Some(&event.detail))?;
            return Ok(());
        }
        if event.event == HostEvent::RESTS {
            let rest = event.delay.as_micros() as u64;
            frontier.restore_rest(lane, Timestamp(event.time.0.saturating_add(rest)))?;
            return Ok(());
        }
        self.counters.tallies[owner].apply_robots(event.bytes);
        frontier.restore_row(lane, Some(event.delay), None)?;
        let origin = self.print.host(&url);
        if event.failures > 0 {
            let tries = RobotsTries {
                epoch: position.epoch,
                time: event.time,
                failures: event.failures,
                why: event.detail.clone(),
                ..RobotsTries::default()
            };
            frontier.rows.put_tries(lane, origin, &tries);
        }
        if event.status > 0 {
            let row = RobotsRow {
                fetched: event.time,
                status: event.status,
                body: event.body.clone(),
            };
            frontier.rows.put_robots(lane, origin, &row)?;
        }
        Ok(())
    }
}

/// Enter a key; `true` if it was not there. Waits for the answer.
fn enter(set: &mut dyn Keys, url: &KeyedUrl, now: Duration) -> Result<bool, RunsError> {
    let mut verdicts = Vec::with_capacity(1);
    set.offer(&[set_key(&url.key)], 0, now, &mut verdicts);
    if verdicts != [Verdict::Later] {
        return Ok(verdicts == [Verdict::New]);
    }
    let mut answers = Vec::new();
    loop {
        set.hurry();
        set.tend(now, &mut answers)?;
        if let Some((_, new)) = answers.pop() {
            return Ok(new);
        }
        std::thread::sleep(ASK_AGAIN);
    }
}
