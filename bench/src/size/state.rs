//! The state under test: a set of URLs seen and a frontier, fed as a shard
//! feeds them.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_frontier::{ByFingerprint, Frontier, Limits, Order, Pace, Queued, Turn};
use rhumb_store::Timestamp;
use rhumb_store::runs::{Keys, RunsError, Table, Verdict};
use rhumb_url::KeyedUrl;

/// Visits under way, as of a crawl with the usual number of connections.
const CONNECTIONS: usize = 128;
const HOSTS_PER_CONNECTION: usize = 3;

/// What stands on disk, and what is said to stand in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub set_bytes: u64,
    pub queue_bytes: u64,
    pub in_memory: usize,
}

/// A store that can keep a state.
pub trait Subject {
    fn state(&self) -> State;
    /// Let all that is in memory be written, where a snapshot does not.
    fn write_all(&self) -> Result<(), RunsError>;
    /// Whether anything is still to be written or merged.
    fn is_busy(&self) -> bool;
    fn held(&self) -> Held;
}

/// The page that named some links.
struct Finding {
    via: Arc<str>,
    depth: u32,
}

/// Links so far, and how they were answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub links: u64,
    pub visits: u64,
    pub later: u64,
    pub held_back: Duration,
}

pub struct State {
    set: Box<dyn Keys>,
    frontier: Frontier,
    asked: HashMap<u64, (KeyedUrl, Rc<Finding>), ByFingerprint>,
    tokens: u64,
    under_way: VecDeque<(Turn, Queued)>,
    start: Instant,
    keys: Vec<u128>,
    verdicts: Vec<Verdict>,
    answers: Vec<(u64, bool)>,
    pub tally: Tally,
}

impl State {
    pub fn new(set: Box<dyn Keys>, queue: Box<dyn Table>, rows: Box<dyn Table>) -> State {
        // A turn is one visit, as where there is a delay.
        let pace = Pace {
            delay: Duration::ZERO,
            ..Pace::default()
        };
        let limits = Limits {
            bench: CONNECTIONS * HOSTS_PER_CONNECTION,
            ..Limits::default()
        };
        State {
            set,
            frontier: Frontier::new(Order::Bfs, pace, limits, queue, rows, Timestamp(1)),
            asked: HashMap::default(),
            tokens: 0,
            under_way: VecDeque::new(),
            start: Instant::now(),
            keys: Vec::new(),
            verdicts: Vec::new(),
            answers: Vec::new(),
            tally: Tally::default(),
        }
    }

    pub fn known(&self) -> u64 {
        self.set.count()
    }

    pub fn queued(&self) -> u64 {
        self.frontier.counts().entries
    }

    /// The visit that ends next.
    pub fn next(&mut self) -> Option<(Turn, Queued)> {
        self.under_way.pop_front()
    }

    pub fn is_congested(&self) -> bool {
        self.set.is_congested() || self.frontier.is_congested()
    }

    /// A visit has ended, with these links: take them in, and begin another.
    pub fn step(
        &mut self,
        turn: Turn,
        item: Queued,
        links: Vec<KeyedUrl>,
    ) -> Result<(), RunsError> {
        self.frontier.finish(&item.key);
        let finding = Finding {
            via: Arc::from(item.url.as_str()),
            depth: item.depth + 1,
        };
        self.tally.visits += 1;
        self.offer(links, finding);
        self.frontier
            .put_back(turn, self.start.elapsed(), Duration::ZERO);
        self.tend()?;
        self.begin_visits()
    }

    pub fn seed(&mut self, links: Vec<KeyedUrl>) {
        let finding = Finding {
            via: Arc::from(""),
            depth: 0,
        };
        self.offer(links, finding);
    }

    fn offer(&mut self, links: Vec<KeyedUrl>, finding: Finding) {
        let keys = links.iter().map(key_of);
        self.keys.clear();
        self.keys.extend(keys);
        let first = self.tokens;
        self.tokens += links.len() as u64;
        self.tally.links += links.len() as u64;
        self.verdicts.clear();
        let now = self.start.elapsed();
        self.set.offer(&self.keys, first, now, &mut self.verdicts);
        let finding = Rc::new(finding);
        let verdicts = std::mem::take(&mut self.verdicts);
        for (token, (link, verdict)) in (first..).zip(links.into_iter().zip(&verdicts)) {
            match verdict {
                Verdict::New => self.admit(link, &finding),
                Verdict::Seen => {}
                Verdict::Later => {
                    self.tally.later += 1;
                    self.asked.insert(token, (link, Rc::clone(&finding)));
                }
            }
        }
        self.verdicts = verdicts;
    }

    fn admit(&mut self, link: KeyedUrl, finding: &Finding) {
        let sequence = self.frontier.reserve(1);
        self.frontier.admit(Queued {
            key: link.key,
            place: self.frontier.order().place(finding.depth, sequence),
            url: link.url,
            depth: finding.depth,
            redirects: 0,
            attempts: 0,
            via: Arc::clone(&finding.via),
        });
    }

    pub fn tend(&mut self) -> Result<(), RunsError> {
        let mut answers = std::mem::take(&mut self.answers);
        self.set.tend(self.start.elapsed(), &mut answers)?;
        for (token, is_new) in answers.drain(..) {
            if let Some((link, finding)) = self.asked.remove(&token)
                && is_new
            {
                self.admit(link, &finding);
            }
        }
        self.answers = answers;
        self.frontier.tend()
    }

    pub fn begin_visits(&mut self) -> Result<(), RunsError> {
        while self.under_way.len() < CONNECTIONS {
            let Some(turn) = self.frontier.take(self.start.elapsed())? else {
                break;
            };
            match self.frontier.pop(&turn)? {
                Some(item) => self.under_way.push_back((turn, item)),
                None => {
                    let now = self.start.elapsed();
                    self.frontier.put_back(turn, now, Duration::ZERO);
                }
            }
        }
        Ok(())
    }

    /// Ask for answers without waiting for more questions. Says whether any
    /// are still to come.
    pub fn hurry(&mut self) -> bool {
        self.set.hurry();
        self.set.pending() > 0
    }

    /// As a checkpoint does: everything in memory is to be written. Says,
    /// when asked again, whether it is.
    pub fn freeze(&mut self) -> impl Fn() -> bool + use<> {
        let (set, tables) = (self.set.snapshot(), self.frontier.snapshot());
        move || {
            set.as_ref().is_none_or(|set| set.is_written())
                && tables
                    .as_ref()
                    .is_none_or(|(queue, rows)| queue.is_written() && rows.is_written())
        }
    }
}

fn key_of(link: &KeyedUrl) -> u128 {
    u128::from(link.key.lane) << 64 | u128::from(link.key.url)
}
