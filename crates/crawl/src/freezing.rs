//! A shard's part in checkpoints.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rhumb_store::runs::Running;
use rhumb_store::{Position, Timestamp, Visit};

use crate::checkpoint::Frozen;
use crate::engine::CrawlError;
use crate::manifest::{Mark, Marks, ShardPart};
use crate::shard::Shard;

enum Step {
    Resting,
    /// What was handed to the commit thread is being written; nothing is
    /// admitted meanwhile.
    Marking,
    /// Frozen, and being written.
    Writing {
        shard: Box<Frozen>,
        /// The first shard also sees to what all shards share.
        views: Option<Box<Frozen>>,
    },
    Storing(Running<Result<(), CrawlError>>),
}

pub struct Freezing {
    step: RefCell<Step>,
    next_at: Cell<Duration>,
    visits: Cell<u64>,
    /// Checkpoints that were asked for when the last one began.
    asked: Cell<u64>,
    /// Where the committed part of this epoch's archive files ends.
    archive: RefCell<BTreeMap<String, u64>>,
    /// Bytes of each robots.txt that came behind the mark: to be counted when
    /// the numbers before it are frozen.
    robots_behind: RefCell<Vec<u64>>,
}

impl Freezing {
    pub fn new(next_at: Duration) -> Freezing {
        Freezing {
            step: RefCell::new(Step::Resting),
            next_at: Cell::new(next_at),
            visits: Cell::new(0),
            asked: Cell::new(0),
            archive: RefCell::default(),
            robots_behind: RefCell::default(),
        }
    }

    /// Nothing may be admitted now.
    pub fn is_marking(&self) -> bool {
        matches!(*self.step.borrow(), Step::Marking)
    }

    pub fn next_at(&self) -> Duration {
        self.next_at.get()
    }

    /// A visit is committed.
    pub fn note(&self, visit: &Visit) {
        self.visits.set(self.visits.get() + 1);
        let mut archive = self.archive.borrow_mut();
        for extent in &visit.extents {
            let end = extent.offset + extent.length;
            match archive.get_mut(&extent.file) {
                Some(known) => *known = end.max(*known),
                None => drop(archive.insert(extent.file.clone(), end)),
            }
        }
    }
}

impl Shard {
    /// Do what is due for a checkpoint.
    pub fn tend_checkpoint(&self) {
        let freezing = &self.freezing;
        let step = std::mem::replace(&mut *freezing.step.borrow_mut(), Step::Resting);
        let step = match step {
            Step::Resting if self.is_checkpoint_due() => {
                freezing.asked.set(self.shared.checkpoints_asked());
                self.committer.mark();
                Step::Marking
            }
            Step::Writing { shard, views } if self.is_storable(&shard, views.as_deref()) => {
                let shared = self.shared.clone();
                let id = self.id;
                let storing = self.shared.state.worker().run(move || {
                    shared.checkpoints.put(Some(id), *shard)?;
                    match views {
                        Some(views) => shared.checkpoints.put(None, *views),
                        None => Ok(()),
                    }
                });
                Step::Storing(storing)
            }
            Step::Storing(storing) => match storing.take() {
                Ok(None) => Step::Storing(storing),
                Ok(Some(Ok(()))) => {
                    let made = &self.shared.checkpointed[self.id];
                    made.store(freezing.asked.get(), Ordering::Release);
                    Step::Resting
                }
                Ok(Some(Err(error))) => {
                    self.fail(&error.to_string());
                    Step::Resting
                }
                Err(error) => {
                    self.fail(&error.to_string());
                    Step::Resting
                }
            },
            other => other,
        };
        *freezing.step.borrow_mut() = step;
    }

    fn is_checkpoint_due(&self) -> bool {
        let config = &self.shared.config;
        let asked = self.shared.checkpoints_asked() > self.freezing.asked.get();
        let many = self.freezing.visits.get() >= config.checkpoint_visits as u64;
        let late = self.now() >= self.freezing.next_at.get() && self.freezing.visits.get() > 0;
        asked || many || late
    }

    /// All that was handed to the commit thread before is written and
    /// applied: this is the moment.
    pub fn freeze_at(&self, position: Position) {
        self.freezing
            .next_at
            .set(self.now() + self.shared.config.checkpoint_interval);
        self.freezing.visits.set(0);
        let frozen = self.freeze(position, None);
        for bytes in self.freezing.robots_behind.take() {
            self.shared.counters.tallies[self.id].apply_robots(bytes);
        }
        let step = match frozen {
            None => Step::Resting,
            Some(shard) => Step::Writing {
                shard: Box::new(shard),
                views: match self.id {
                    0 => self.shared.freeze_views().map(Box::new),
                    _ => None,
                },
            },
        };
        *self.freezing.step.borrow_mut() = step;
    }

    /// Count a robots.txt whose record has been handed to the commit thread.
    pub fn count_robots(&self, bytes: u64) {
        match self.freezing.is_marking() {
            true => self.freezing.robots_behind.borrow_mut().push(bytes),
            false => self.shared.counters.tallies[self.id].apply_robots(bytes),
        }
    }

    /// This shard's part as of now; `None` where the state is in memory.
    pub fn freeze(&self, position: Position, stopped: Option<Timestamp>) -> Option<Frozen> {
        let seen = self.admissions.seen.borrow_mut().snapshot()?;
        let mut frontier = self.frontier.borrow_mut();
        let (queue, rows) = frontier.snapshot()?;
        let counts = frontier.counts();
        let part = ShardPart {
            own: Mark::from(position),
            settled: self.admissions.settled.borrow().marks(),
            entries: counts.entries,
            lanes: counts.lanes,
            sequence: counts.sequence,
            counts: self.shared.counters.tallies[self.id].read(),
            archive: self.freezing.archive.borrow().clone(),
            stopped,
            ..ShardPart::default()
        };
        Some(Frozen::Shard {
            part: Box::new(part),
            seen,
            queue,
            rows,
        })
    }

    fn is_storable(&self, shard: &Frozen, views: Option<&Frozen>) -> bool {
        [Some(shard), views].into_iter().flatten().all(|frozen| {
            frozen.is_written()
                && match frozen {
                    Frozen::Shard { part, .. } => {
                        let own = (self.id as u16, part.own);
                        self.is_synced(&part.settled) && self.is_synced(&Marks::from([own]))
                    }
                    Frozen::Views { part, .. } => self.is_synced(&part.applied),
                }
        })
    }

    /// A checkpoint speaks only of what a loss of power leaves.
    fn is_synced(&self, marks: &Marks) -> bool {
        let mut marks = marks.iter();
        marks.all(|(journal, mark)| self.shared.is_synced(*journal, *mark))
    }
}
