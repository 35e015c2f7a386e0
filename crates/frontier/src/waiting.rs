//! The lanes that have URLs but no place on the bench, in the order in which
//! they get one.
//!
//! Their URLs are on disk; here is only their order, and where each goes on:
//! 24 bytes a lane and the map's slack. A lane that finds no room here is not lost: its URLs are
//! in the queue, and a sweep over the queue finds it when there is room.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use rhumb_store::runs::RunsError;

use crate::hasher::ByFingerprint;
use crate::lane::{LaneId, Place};
use crate::queue::UrlQueue;

/// Lanes of greater priority numbers wait in the last class together.
const CLASSES: usize = 16;
/// Lanes that one step of a sweep finds at most.
const SWEEP: usize = 64;

/// A place in eight bytes, in the same order; the start where eight do not
/// hold it. Reading on from there spares a lane with many visited URLs the
/// removals of all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor(u64);

const SEQUENCE_BITS: u32 = 56;

impl Cursor {
    const START: Cursor = Cursor(0);

    fn at(place: Place) -> Cursor {
        match place.priority >> (u64::BITS - SEQUENCE_BITS) == 0
            && place.sequence >> SEQUENCE_BITS == 0
        {
            true => Cursor(place.priority << SEQUENCE_BITS | place.sequence),
            false => Cursor::START,
        }
    }

    fn place(self) -> Place {
        Place {
            priority: self.0 >> SEQUENCE_BITS,
            sequence: self.0 & ((1 << SEQUENCE_BITS) - 1),
        }
    }
}

pub struct WaitingLanes {
    classes: [VecDeque<LaneId>; CLASSES],
    known: HashMap<LaneId, Cursor, ByFingerprint>,
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
            known: HashMap::default(),
            most: most.max(1),
            sweep_from: Some(LaneId(0)),
        }
    }

    /// A lane without a place on the bench has a URL here. There may be
    /// others before it that nobody has told of.
    pub fn add(&mut self, lane: LaneId, place: Place) {
        self.enter(lane, place, Cursor::START);
    }

    /// A lane has left the bench: nothing of it waits before this place.
    pub fn leave(&mut self, lane: LaneId, next: Place) {
        self.enter(lane, next, Cursor::at(next));
    }

    fn enter(&mut self, lane: LaneId, place: Place, cursor: Cursor) {
        let is_full = self.known.len() >= self.most;
        match self.known.entry(lane) {
            Entry::Occupied(mut known) => {
                let first = *known.get();
                known.insert(first.min(Cursor::at(place)));
            }
            // The sweep that is under way may have passed it by.
            Entry::Vacant(_) if is_full => self.sweep_from = Some(LaneId(0)),
            Entry::Vacant(unknown) => {
                unknown.insert(cursor);
                let class = (place.priority as usize).min(CLASSES - 1);
                self.classes[class].push_back(lane);
            }
        }
    }

    /// The lane that has waited longest among those of the best class, and
    /// the place before which it has nothing.
    pub fn pop(&mut self) -> Option<(LaneId, Place)> {
        let lane = self.classes.iter_mut().find_map(VecDeque::pop_front)?;
        let cursor = self.known.remove(&lane).unwrap_or(Cursor::START);
        Some((lane, cursor.place()))
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
            let Some((lane, first)) = queue.next_lane(from)? else {
                self.sweep_from = None;
                break;
            };
            self.sweep_from = lane.0.checked_add(1).map(LaneId);
            if !on_bench(lane) {
                self.add(lane, first);
            }
        }
        Ok(())
    }
}
