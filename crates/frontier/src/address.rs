//! The bench of addresses: one per process, because hosts of several shards
//! may share an address.
//!
//! A visit needs a seat at its address. Where none is free, the lane stands
//! in the address's row, and the seat that is next given up is handed to it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::lane::LaneId;

/// A lane of some shard that waits for a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    pub shard: usize,
    pub lane: LaneId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    Taken,
    /// The waiter stands in the row.
    Waits,
    /// There is room, but not before this time.
    Later(Duration),
}

/// A seat that somebody must have before going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It is the waiter's, for use from this time on.
    From(Duration),
    /// The waiter stands in the row.
    Waits,
}

#[derive(Default)]
struct Entry {
    taken: usize,
    next_allowed_at: Duration,
    row: VecDeque<Waiter>,
}

pub struct AddressBench {
    per_address: usize,
    delay: Duration,
    entries: Mutex<HashMap<IpAddr, Entry>>,
}

impl AddressBench {
    pub fn new(per_address: usize, delay: Duration) -> AddressBench {
        AddressBench {
            per_address: per_address.max(1),
            delay,
            entries: Mutex::new(HashMap::new()),
        }
    }

    pub fn take(&self, address: IpAddr, waiter: Waiter, now: Duration) -> Seat {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(address).or_default();
        if entry.taken >= self.per_address {
            entry.row.push_back(waiter);
            return Seat::Waits;
        }
        if entry.next_allowed_at > now {
            return Seat::Later(entry.next_allowed_at);
        }
        entry.taken += 1;
        entry.next_allowed_at = now + self.delay;
        Seat::Taken
    }

    /// Take the next seat, though it be for later.
    pub fn reserve(&self, address: IpAddr, waiter: Waiter, now: Duration) -> Reserved {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(address).or_default();
        if entry.taken >= self.per_address {
            entry.row.push_back(waiter);
            return Reserved::Waits;
        }
        let from = entry.next_allowed_at.max(now);
        entry.taken += 1;
        entry.next_allowed_at = from + self.delay;
        Reserved::From(from)
    }

    /// Take a seat only if one is free at once; nobody is put into the row.
    pub fn try_take(&self, address: IpAddr, now: Duration) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(address).or_default();
        let free = entry.taken < self.per_address && entry.next_allowed_at <= now;
        if free {
            entry.taken += 1;
            entry.next_allowed_at = now + self.delay;
        }
        free
    }

    /// Give a seat up after a visit. The waiter that is returned has it now,
    /// for use from the time beside it on.
    #[must_use]
    pub fn put_back(&self, address: IpAddr, now: Duration) -> Option<(Waiter, Duration)> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get_mut(&address)?;
        entry.next_allowed_at = now + self.delay;
        if let Some(waiter) = entry.row.pop_front() {
            return Some((waiter, entry.next_allowed_at));
        }
        entry.taken = entry.taken.saturating_sub(1);
        if entry.taken == 0 && self.delay.is_zero() {
            entries.remove(&address);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_given_up_goes_to_whoever_waits_longest() {
        let bench = AddressBench::new(1, Duration::ZERO);
        let address = IpAddr::from([127, 1, 2, 3]);
        let waiter = |n| Waiter {
            shard: 0,
            lane: LaneId(n),
        };
        let now = Duration::ZERO;
        assert_eq!(bench.take(address, waiter(1), now), Seat::Taken);
        assert_eq!(bench.take(address, waiter(2), now), Seat::Waits);
        assert_eq!(bench.take(address, waiter(3), now), Seat::Waits);
        assert_eq!(bench.put_back(address, now), Some((waiter(2), now)));
        assert_eq!(bench.take(address, waiter(4), now), Seat::Waits);
        assert_eq!(bench.put_back(address, now), Some((waiter(3), now)));
        assert_eq!(bench.put_back(address, now), Some((waiter(4), now)));
        assert_eq!(bench.put_back(address, now), None);
        assert_eq!(bench.take(address, waiter(5), now), Seat::Taken);
    }

    #[test]
    fn reserved_seats_follow_one_another() {
        let bench = AddressBench::new(2, Duration::from_secs(2));
        let address = IpAddr::from([127, 1, 2, 3]);
        let waiter = |n| Waiter {
            shard: 0,
            lane: LaneId(n),
        };
        let at = Duration::from_secs;
        let mut reserve = |n| bench.reserve(address, waiter(n), at(1));
        assert_eq!(reserve(1), Reserved::From(at(1)));
        assert_eq!(reserve(2), Reserved::From(at(3)));
        assert_eq!(reserve(3), Reserved::Waits);
        assert_eq!(bench.put_back(address, at(4)), Some((waiter(3), at(6))));
    }

    #[test]
    fn an_address_rests_between_visits() {
        let bench = AddressBench::new(2, Duration::from_secs(2));
        let address = IpAddr::from([127, 1, 2, 3]);
        let waiter = Waiter {
            shard: 0,
            lane: LaneId(1),
        };
        let at = Duration::from_secs;
        assert_eq!(bench.take(address, waiter, at(0)), Seat::Taken);
        assert_eq!(bench.put_back(address, at(1)), None);
        assert_eq!(bench.take(address, waiter, at(2)), Seat::Later(at(3)));
        assert_eq!(bench.take(address, waiter, at(3)), Seat::Taken);
        assert_eq!(bench.take(address, waiter, at(3)), Seat::Later(at(5)));
        assert_eq!(bench.take(address, waiter, at(5)), Seat::Taken);
        assert_eq!(bench.take(address, waiter, at(9)), Seat::Waits);
        assert_eq!(bench.put_back(address, at(9)), Some((waiter, at(11))));
    }
}
