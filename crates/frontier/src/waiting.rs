//! The lanes that have URLs but no place on the bench, in the order in which
//! they get one.
//!
//! Their URLs are on disk; here is only their order, eight bytes a lane and
//! the set's slack. A lane that finds no room here is not lost: its URLs are
//! in the queue, and a sweep over the queue finds it when there is room.

use std::collections::{HashSet, VecDeque};

use rhumb_store::runs::RunsError;

use crate::hasher::ByFingerprint;
use crate::lane::LaneId;
use crate::queue::UrlQueue;

/// Lanes of greater priority numbers wait in the last class together.
const CLASSES: usize = 16;
/// Lanes that one step of a sweep finds at most.
const SWEEP: usize = 64;

pub struct WaitingLanes {
    classes: [VecDeque<LaneId>; CLASSES],
    known: HashSet<LaneId, ByFingerprint>,
    most: usize,
    /// Where the sweep goes on; `None` when every lane with URLs is known.
    sweep_from: Option<LaneId>,
}

impl WaitingLanes {
    /// `most`: lanes that may be known at a time. The queue may hold some
    /// from before: the sweep begins with the first.
    pub fn new(most: usize) -> WaitingLanes {
        WaitingLanes {
            classes: Default::default(),
            known: HashSet::default(),
            most: most.max(1),
            sweep_from: Some(LaneId(0)),
        }
    }

    /// A lane without a place on the bench has a URL of this priority.
    pub fn add(&mut self, lane: LaneId, priority: u64) {
        if self.known.len() >= self.most && !self.known.contains(&lane) {
            // The sweep that is under way may have passed it by.
            self.sweep_from = Some(LaneId(0));
            return;
        }
        if self.known.insert(lane) {
            let class = (priority as usize).min(CLASSES - 1);
            self.classes[class].push_back(lane);
        }
    }

    /// The lane that has waited longest among those of the best class.
    pub fn pop(&mut self) -> Option<LaneId> {
        let lane = self.classes.iter_mut().find_map(VecDeque::pop_front)?;
        self.known.remove(&lane);
        Some(lane)
    }

    /// Whether the sweep has to find somebody first.
    pub fn nobody_known(&self) -> bool {
        self.known.is_empty()
    }

    /// Nobody waits, and the sweep has nobody left to find.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.sweep_from.is_none()
    }

    /// Look for lanes in the queue, if nobody waits: a few at a time.
    pub fn sweep(
        &mut self,
        queue: &UrlQueue,
        on_bench: impl Fn(LaneId) -> bool,
    ) -> Result<(), RunsError> {
        for _ in 0..SWEEP {
            let Some(from) = self.sweep_from.filter(|_| self.known.len() < self.most) else {
                break;
            };
            let Some((lane, priority)) = queue.next_lane(from)? else {
                self.sweep_from = None;
                break;
            };
            self.sweep_from = lane.0.checked_add(1).map(LaneId);
            if !on_bench(lane) {
                self.add(lane, priority);
            }
        }
        Ok(())
    }
}
