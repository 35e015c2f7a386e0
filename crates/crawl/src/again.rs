//! Seeds that are given again. A page that was fetched is not fetched twice,
//! but one whose visit failed is visited again: whoever names it once more
//! wants to know whether it works now.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rhumb_frontier::{ByFingerprint, Queued};
use rhumb_store::runs::RunsError;
use rhumb_store::{Record, Seed};
use rhumb_url::{KeyedUrl, Url, UrlKey};

use crate::manifest::moment;
use crate::shard::Shard;

/// With so many remembered, those that the views know of are let go.
const MANY: usize = 1 << 16;

/// URLs that were queued once more and not visited since. The views say so
/// too, but only when the record is written.
#[derive(Default)]
pub struct QueuedAgain(RefCell<HashMap<UrlKey, Url, ByFingerprint>>);

impl QueuedAgain {
    /// Its visit is committed.
    pub fn visited(&self, key: &UrlKey) {
        self.0.borrow_mut().remove(key);
    }

    fn contains(&self, key: &UrlKey) -> bool {
        self.0.borrow().contains_key(key)
    }
}

impl Shard {
    /// A seed whose URL was seen before. When it was given, this shard's
    /// journal of this run had visits up to `visited`: one that came later,
    /// while the set was being asked, is what the seed was given for.
    pub fn seed_seen_before(&self, url: &KeyedUrl, visited: u64) -> Result<(), RunsError> {
        let views = &self.shared.views;
        let waits =
            self.frontier.borrow().is_in_flight(&url.key) || self.queued_again.contains(&url.key);
        if !waits
            && let Some(visit) = views.failed_visit(url.url.as_str())?
            && moment(visit) <= (self.shared.epoch, visited)
        {
            return self.queue_again(url);
        }
        // It opens the scope also where its URL is known: that must not be
        // forgotten.
        if !views.has_seed(url.url.as_str())? {
            self.committer.record(Record::Seed(Seed {
                url: url.url.as_str().to_owned(),
                time: self.shared.clock.wall(),
                ..Seed::default()
            }));
        }
        Ok(())
    }

    fn queue_again(&self, url: &KeyedUrl) -> Result<(), RunsError> {
        self.remember_again(url)?;
        let mut frontier = self.frontier.borrow_mut();
        let (order, sequence) = (frontier.order(), frontier.reserve(1));
        self.committer.record(Record::Seed(Seed {
            url: url.url.as_str().to_owned(),
            time: self.shared.clock.wall(),
            sequence,
            order: order.code(),
            again: true,
            ..Seed::default()
        }));
        self.shared.pending.add(1);
        let origin = self.shared.print.host(&url.url);
        self.robots.borrow_mut().forget(origin);
        let item = Queued {
            key: url.key,
            place: order.place(0, sequence),
            url: url.url.clone(),
            depth: 0,
            redirects: 0,
            attempts: 0,
            via: Arc::from(""),
        };
        frontier.admit_again(item, origin)
    }

    fn remember_again(&self, url: &KeyedUrl) -> Result<(), RunsError> {
        let mut again = self.queued_again.0.borrow_mut();
        if again.len() >= MANY {
            let mut failed = Ok(());
            again.retain(|_, url| {
                let failed_visit = self.shared.views.failed_visit(url.as_str());
                let unknown = failed_visit.map(|visit| visit.is_some());
                unknown.unwrap_or_else(|error| {
                    failed = Err(error);
                    true
                })
            });
            failed?;
        }
        again.insert(url.key, url.url.clone());
        Ok(())
    }
}
