//! A hand on a running crawl.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rhumb_url::Url;

use crate::config::Config;
use crate::control::Ending;
use crate::counters::Snapshot;
use crate::door::SeedBatch;
use crate::shared::Shared;
use crate::state::StateKind;

/// How long somebody waits for a checkpoint.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(60);
/// How long a seed handed in may wait for its shard.
const SEED_PATIENCE: Duration = Duration::from_secs(10);

/// A way to look at a running crawl and to steer it, from any thread.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    started: Duration,
    fetched_before: u64,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Handle {
        let started = shared.clock.elapsed();
        let fetched_before = shared.counters.fetched();
        Handle {
            shared,
            started,
            fetched_before,
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        let duplicates = self.shared.views.duplicates();
        self.shared.counters.snapshot(duplicates)
    }

    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    pub fn elapsed(&self) -> Duration {
        self.shared.clock.elapsed().saturating_sub(self.started)
    }

    /// Pages fetched in this run.
    pub fn fetched_this_run(&self) -> u64 {
        let fetched = self.shared.counters.fetched();
        fetched.saturating_sub(self.fetched_before)
    }

    pub fn documents(&self) -> u64 {
        self.shared.views.documents()
    }

    pub fn is_paused(&self) -> bool {
        self.shared.control.is_paused()
    }

    pub fn is_disk_full(&self) -> bool {
        self.shared.control.is_disk_full()
    }

    pub fn is_ending(&self) -> bool {
        self.shared.control.is_ending()
    }

    pub fn pause(&self, paused: bool) {
        self.shared.control.pause(paused);
        self.shared.ring_all();
    }

    /// Begin no more visits and end when those under way are done.
    pub fn end(&self, ending: Ending) {
        self.shared.control.end(ending);
        self.shared.ring_all();
    }

    /// End without waiting; what is under way is visited again another time.
    pub fn abandon(&self) {
        self.shared.control.abandon();
        self.end(Ending::Interrupted);
    }

    /// Hand in a seed while the crawl runs; `false` if it is ending.
    pub fn add_seed(&self, url: Url) -> bool {
        let shared = &self.shared;
        if shared.control.is_ending() {
            return false;
        }
        let (taken, confirmed) = sync_channel(1);
        let owner = shared.owner_of(&url);
        shared.hand_over_seeds(
            owner,
            SeedBatch {
                urls: vec![url],
                taken: Some(taken),
            },
        );
        // A shard that has just left does not answer.
        confirmed.recv_timeout(SEED_PATIENCE).is_ok()
    }

    /// Make a checkpoint now; returns when it is made.
    pub fn checkpoint(&self) -> Result<(), String> {
        let shared = &self.shared;
        if shared.config.state == StateKind::Memory {
            return Err("the state is kept in memory: there is nothing to check in".to_owned());
        }
        let asked = shared.ask_for_checkpoint();
        let deadline = shared.clock.elapsed() + CHECKPOINT_PATIENCE;
        while !shared.is_checkpointed(asked) {
            if shared.control.is_ending() {
                return Err("the crawl is ending; it makes its last checkpoint now".to_owned());
            }
            if shared.clock.elapsed() > deadline {
                return Err("the checkpoint is not made yet; it goes on".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
