//! The seeds of a run on their way to the shards.
//!
//! A thread of its own reads them, because an input may be silent for ever.
//! It knows nothing of the crawl: who looks after the crawl takes from it what
//! there is, so that nothing waits for an input but the seeds themselves.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use rhumb_url::Url;

use crate::door::SeedBatch;
use crate::engine::{CrawlError, Observer, io_error};
use crate::seeds::{SeedError, Seeds};
use crate::shared::Shared;

/// Seeds that are read ahead.
const READ_AHEAD: usize = 4096;
/// Seeds that travel to a shard together.
const BATCH: usize = 512;
/// Seeds taken before whoever looks after the crawl looks at the rest of it.
const AT_A_LOOK: usize = 1 << 16;
/// How soon a shard that had no room for more is asked again.
const ROOM_AGAIN: Duration = Duration::from_millis(2);
/// Mistakes among the seeds that are told one by one.
const MISTAKES_TOLD: u64 = 10;

/// Of an input that may have no end, visits wait for this many seeds…
const ENOUGH: u64 = 100_000;
/// …or until it has been silent for so long.
const SILENCE: Duration = Duration::from_secs(1);

enum Read {
    Seed(Url),
    Mistake(SeedError),
    /// What follows comes from inputs that may have no end.
    Endless,
}

pub struct SeedFeed {
    incoming: Receiver<Read>,
    /// What is to go to each shard.
    batches: Vec<Vec<Url>>,
    /// Seeds read, and those of them that came from endless inputs.
    seeds: u64,
    streamed: u64,
    mistakes: u64,
    /// Mistakes at the beginning that were only counted.
    untold: u64,
    /// Since when there is nothing to read but endless inputs.
    endless: bool,
    heard_at: Duration,
    /// Every seed has been read.
    read: bool,
    /// And handed over.
    ended: bool,
}

impl SeedFeed {
    /// Begin to read. Until the last seed is handed over, the seeds are a
    /// piece of pending work themselves.
    pub fn start(mut seeds: Seeds, shared: &Shared) -> Result<SeedFeed, CrawlError> {
        let (out, incoming) = sync_channel(READ_AHEAD);
        let nothing = seeds.has_end() && seeds.first().is_none() && seeds.skipped().is_empty();
        let untold = seeds.skipped_count() - seeds.skipped().len() as u64;
        if !nothing {
            std::thread::Builder::new()
                .name("seeds".to_owned())
                .spawn(move || read(seeds, &out))
                .map_err(io_error(Path::new("thread")))?;
            shared.pending.add(1);
        }
        Ok(SeedFeed {
            incoming,
            batches: vec![Vec::new(); shared.shards()],
            seeds: 0,
            streamed: 0,
            mistakes: 0,
            untold,
            endless: false,
            heard_at: Duration::ZERO,
            read: nothing,
            ended: nothing,
        })
    }

    /// Hand over what has been read, as far as the shards have room.
    pub fn hand_over(&mut self, shared: &Shared, observer: &mut dyn Observer) {
        if self.ended {
            return;
        }
        for _ in 0..AT_A_LOOK {
            if self.is_blocked(shared) {
                self.heard_at = shared.clock.elapsed();
                return;
            }
            match self.incoming.try_recv() {
                Ok(read) => self.take(read, shared, observer),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.read = true;
                    break;
                }
            }
        }
        for shard in 0..self.batches.len() {
            self.send(shard, shared);
        }
        if self.read && self.batches.iter().all(Vec::is_empty) {
            self.ended = true;
            self.tell_mistakes(observer);
            shared.pending.done(1);
        }
    }

    /// Rest for a while, but not while there is something to hand over.
    pub fn wait(&mut self, patience: Duration, shared: &Shared, observer: &mut dyn Observer) {
        if self.read {
            let left = !self.ended;
            std::thread::park_timeout(if left { ROOM_AGAIN } else { patience });
        } else if self.is_blocked(shared) {
            std::thread::park_timeout(ROOM_AGAIN);
        } else {
            match self.incoming.recv_timeout(patience) {
                Ok(read) => self.take(read, shared, observer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.read = true,
            }
        }
    }

    /// Whether visits may begin. Links are judged by the scope that the seeds
    /// have opened, and a seed is no step away from itself: so all seeds come
    /// first, unless nobody can say when that will be.
    pub fn may_begin(&self, shared: &Shared) -> bool {
        let silent = shared.clock.elapsed() >= self.heard_at + SILENCE;
        if self.ended {
            !shared.doors.iter().any(|door| door.has_seeds())
        } else {
            self.endless && (silent || self.streamed >= ENOUGH)
        }
    }

    /// No more is taken. Says how many lines were no seeds, or that there was
    /// no seed at all.
    pub fn finish(self, shared: &Shared, observer: &mut dyn Observer) -> (u64, bool) {
        if !self.ended {
            self.tell_mistakes(observer);
        }
        if !self.ended || shared.doors.iter().any(|door| door.has_seeds()) {
            observer.note(
                "the crawl ended before all seeds were read; \
                 it does not remember the rest: give them again to go on with them",
            );
        }
        let mistakes = self.mistakes + self.untold;
        (mistakes, self.ended && self.seeds == 0)
    }

    fn take(&mut self, read: Read, shared: &Shared, observer: &mut dyn Observer) {
        self.heard_at = shared.clock.elapsed();
        match read {
            Read::Endless => self.endless = true,
            Read::Mistake(error) => self.pass_over(&error.to_string(), observer),
            Read::Seed(url) => {
                if let Some(why) = shared.refuses_seed(&url) {
                    return self.pass_over(&why, observer);
                }
                self.seeds += 1;
                self.streamed += u64::from(self.endless);
                let shard = shared.owner_of(&url);
                self.batches[shard].push(url);
                if self.batches[shard].len() >= BATCH {
                    self.send(shard, shared);
                }
            }
        }
    }

    fn pass_over(&mut self, why: &str, observer: &mut dyn Observer) {
        self.mistakes += 1;
        if self.mistakes <= MISTAKES_TOLD {
            observer.note(&format!("passed over: {why}"));
        }
    }

    /// A shard has no room for a batch that is full.
    fn is_blocked(&mut self, shared: &Shared) -> bool {
        for shard in 0..self.batches.len() {
            if self.batches[shard].len() >= BATCH {
                self.send(shard, shared);
            }
        }
        self.batches.iter().any(|batch| batch.len() >= BATCH)
    }

    fn send(&mut self, shard: usize, shared: &Shared) {
        let batch = &mut self.batches[shard];
        if !batch.is_empty() && shared.doors[shard].has_room_for_seeds() {
            let urls = std::mem::take(batch);
            shared.hand_over_seeds(shard, SeedBatch { urls, taken: None });
        }
    }

    fn tell_mistakes(&self, observer: &mut dyn Observer) {
        let count = self.mistakes + self.untold;
        if count > MISTAKES_TOLD {
            observer.note(&format!("passed over {count} lines of the seeds in all"));
        }
    }
}

/// The thread's body: to the end, or until nobody wants more.
fn read(mut seeds: Seeds, out: &SyncSender<Read>) {
    let send = |seed: Result<Url, SeedError>| {
        let read = seed.map_or_else(Read::Mistake, Read::Seed);
        out.send(read).is_ok()
    };
    let before = seeds.take_read();
    let wanted = before.chain(seeds.bounded).all(send);
    if let Some(mut endless) = seeds.endless
        && wanted
        && out.send(Read::Endless).is_ok()
    {
        endless.all(send);
    }
}
