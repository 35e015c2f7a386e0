//! Taking links and seeds in: what the set says is new is written to the
//! journal and queued.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use rhumb_frontier::{ByFingerprint, Queued};
use rhumb_store::runs::{Keys, RunsError, Verdict};
use rhumb_store::{Admission, Admitted, Fate, Position, Record, Seed};
use rhumb_url::{KeyedUrl, Keyer, UrlKey};

use crate::door::SeedBatch;
use crate::exchange::LinkBatch;
use crate::manifest::Mark;
use crate::settled::Settled;
use crate::shard::Shard;

/// Batches of seeds taken in before the other work gets its turn.
const SEED_BATCHES_AT_A_TIME: usize = 16;

/// Who named some URLs.
struct Finding {
    /// The visit that found them; `None` for seeds.
    source: Option<Position>,
    via: Arc<str>,
    depth: u32,
    redirects: u32,
    /// Told once all of them are in the journal.
    taken: Option<SyncSender<()>>,
    /// The last visit of this shard that was true when they were named.
    visited: u64,
}

/// A URL whose answer from the set is awaited.
struct Asked {
    url: KeyedUrl,
    finding: Rc<Finding>,
}

/// The set of URLs ever seen, and what it still owes an answer for.
pub struct Admissions {
    pub seen: RefCell<Box<dyn Keys + Send>>,
    pub settled: RefCell<Settled>,
    asked: RefCell<HashMap<u64, Asked, ByFingerprint>>,
    /// How many of those asked for are seeds, which stand in no journal yet.
    asked_seeds: Cell<usize>,
    tokens: Cell<u64>,
}

pub fn set_key(key: &UrlKey) -> u128 {
    u128::from(key.lane) << 64 | u128::from(key.url)
}

impl Admissions {
    pub fn new(seen: Box<dyn Keys + Send>, settled: Settled) -> Admissions {
        Admissions {
            seen: RefCell::new(seen),
            settled: RefCell::new(settled),
            asked: RefCell::default(),
            asked_seeds: Cell::new(0),
            tokens: Cell::new(0),
        }
    }

    fn count_seeds(&self, change: impl Fn(usize) -> usize) {
        self.asked_seeds.set(change(self.asked_seeds.get()));
    }

    /// URLs that wait for an answer.
    pub fn waiting(&self) -> usize {
        self.asked.borrow().len()
    }
}

impl Shard {
    /// Links that a visit found, a message of one piece of pending work.
    pub fn offer_links(&self, batch: LinkBatch) {
        let finding = Finding {
            source: Some(batch.source),
            via: batch.via,
            depth: batch.depth,
            redirects: batch.redirects,
            taken: None,
            visited: self.visited(),
        };
        self.offer(batch.urls, finding);
        self.shared.pending.done(1);
    }

    fn visited(&self) -> u64 {
        self.shared.applied[self.id].load(Ordering::Relaxed)
    }

    /// No seed that was handed over is still to be taken in.
    pub fn has_all_seeds(&self) -> bool {
        self.admissions.asked_seeds.get() == 0 && !self.shared.doors[self.id].has_seeds()
    }

    /// Take in seeds that were handed over, as far as there is room for them.
    /// `true` if there are more.
    pub fn take_in_seeds(&self) -> bool {
        let door = &self.shared.doors[self.id];
        for _ in 0..SEED_BATCHES_AT_A_TIME {
            // Each of these rings the bell when it is over. Nothing is
            // admitted before the mark of a checkpoint has been told.
            if self.freezing.is_marking() || self.is_congested() || self.committer.is_behind() {
                return false;
            }
            match door.take_seeds() {
                Some(batch) => self.offer_seeds(batch),
                None => return false,
            }
        }
        door.has_seeds()
    }

    fn offer_seeds(&self, SeedBatch { urls, taken }: SeedBatch) {
        let mut keyer = Keyer::new(self.shared.print);
        let urls = urls.into_iter().map(|url| keyer.keyed(url)).collect();
        let finding = Finding {
            source: None,
            via: Arc::from(""),
            depth: 0,
            redirects: 0,
            taken,
            visited: self.visited(),
        };
        self.offer(urls, finding);
        self.shared.pending.done(1);
    }

    fn offer(&self, urls: Vec<KeyedUrl>, finding: Finding) {
        let keys: Vec<u128> = urls.iter().map(|url| set_key(&url.key)).collect();
        let first = self.admissions.tokens.get();
        self.admissions.tokens.set(first + keys.len() as u64);
        let mut verdicts = Vec::with_capacity(keys.len());
        let now = self.now();
        let mut seen = self.admissions.seen.borrow_mut();
        seen.offer(&keys, first, now, &mut verdicts);
        drop(seen);
        let finding = Rc::new(finding);
        let mut new = Vec::new();
        let mut later = 0;
        for (token, (url, verdict)) in (first..).zip(urls.into_iter().zip(verdicts)) {
            match verdict {
                Verdict::New => new.push(url),
                Verdict::Seen => self.seen_before(&url, &finding),
                Verdict::Later => {
                    later += 1;
                    let finding = Rc::clone(&finding);
                    let asked = Asked { url, finding };
                    self.admissions.asked.borrow_mut().insert(token, asked);
                }
            }
        }
        self.admit(new, &finding);
        if later > 0 {
            self.shared.pending.add(later);
            match finding.source {
                Some(source) => {
                    let mut settled = self.admissions.settled.borrow_mut();
                    settled.open(source.journal, Mark::from(source), later);
                }
                None => self.admissions.count_seeds(|seeds| seeds + later),
            }
        }
        self.tell_taken(finding);
    }

    /// Take in the answers that have come.
    pub fn settle(&self) -> Result<(), RunsError> {
        let mut answers = Vec::new();
        let now = self.now();
        self.admissions.seen.borrow_mut().tend(now, &mut answers)?;
        for (token, new) in answers {
            let Some(Asked { url, finding }) = self.admissions.asked.borrow_mut().remove(&token)
            else {
                continue;
            };
            if new {
                self.admit(vec![url], &finding);
            } else {
                self.seen_before(&url, &finding);
            }
            match finding.source {
                Some(source) => {
                    let mut settled = self.admissions.settled.borrow_mut();
                    settled.close(source.journal, Mark::from(source));
                }
                None => self.admissions.count_seeds(|seeds| seeds - 1),
            }
            self.shared.pending.done(1);
            self.tell_taken(finding);
        }
        Ok(())
    }

    /// The last user of a finding tells whoever waits for it.
    fn tell_taken(&self, finding: Rc<Finding>) {
        if let Some(Finding {
            taken: Some(taken), ..
        }) = Rc::into_inner(finding)
        {
            self.committer.tell_when_written(taken);
        }
    }

    fn seen_before(&self, url: &KeyedUrl, finding: &Finding) {
        let is_seed = finding.source.is_none();
        if is_seed && let Err(error) = self.seed_seen_before(url, finding.visited) {
            self.fail(&error.to_string());
        }
    }

    /// Write down what is new, and queue it.
    fn admit(&self, urls: Vec<KeyedUrl>, finding: &Finding) {
        if urls.is_empty() {
            return;
        }
        let mut frontier = self.frontier.borrow_mut();
        let (order, sequence) = (frontier.order(), frontier.reserve(urls.len()));
        let time = self.shared.clock.wall();
        if finding.source.is_some() {
            let entries = (sequence..).zip(&urls).map(|(sequence, url)| Admission {
                url: url.url.as_str().to_owned(),
                fate: Fate::Queued,
                sequence,
            });
            self.committer.record(Record::Admitted(Admitted {
                source: finding.source,
                via: finding.via.to_string(),
                depth: finding.depth,
                redirects: finding.redirects,
                time,
                order: order.code(),
                entries: entries.collect(),
                ..Admitted::default()
            }));
        } else {
            for (sequence, url) in (sequence..).zip(&urls) {
                self.committer.record(Record::Seed(Seed {
                    url: url.url.as_str().to_owned(),
                    time,
                    sequence,
                    order: order.code(),
                    ..Seed::default()
                }));
            }
        }
        self.shared.pending.add(urls.len());
        let seen = &self.shared.counters.tallies[self.id].urls_seen;
        seen.fetch_add(urls.len() as u64, Ordering::Relaxed);
        for (sequence, KeyedUrl { key, url }) in (sequence..).zip(urls) {
            frontier.admit(Queued {
                key,
                place: order.place(finding.depth, sequence),
                url,
                depth: finding.depth,
                redirects: finding.redirects,
                attempts: 0,
                via: Arc::clone(&finding.via),
            });
        }
    }
}
