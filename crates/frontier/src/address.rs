//! The bench of addresses: one per process, because hosts of several shards
//! may share an address.
//!
//! A visit needs a seat at its address. Where none is free, the lane stands
//! in the address's row, and the seat that is next given up is handed to it.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::lane::LaneId;

/// What counts as one address: of IPv6 the upper half, because a customer is
/// given that and chooses the rest for each of a machine's names.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

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

/// Addresses known before it is looked whether some can be forgotten.
const FEW: usize = 1024;

pub struct AddressBench {
    per_address: usize,
    delay: Duration,
    /// No seat is used before this: addresses may have been asked in the run
    /// before, and that is not remembered.
    floor: Duration,
    known: Mutex<Known>,
}

struct Known {
    entries: HashMap<IpAddr, Entry>,
    /// With so many it is time to forget those that say nothing.
    sweep_at: usize,
}

impl Known {
    fn entry(&mut self, address: IpAddr, now: Duration) -> &mut Entry {
        let address = network_of(address);
        if self.entries.len() >= self.sweep_at && !self.entries.contains_key(&address) {
            self.entries.retain(|_, entry| !entry.says_nothing(now));
            self.sweep_at = FEW.max(2 * self.entries.len());
        }
        self.entries.entry(address).or_default()
    }
}

impl Entry {
    fn says_nothing(&self, now: Duration) -> bool {
        self.taken == 0 && self.row.is_empty() && self.next_allowed_at <= now
    }
}

impl AddressBench {
    pub fn new(per_address: usize, delay: Duration) -> AddressBench {
        AddressBench {
            per_address: per_address.max(1),
            delay,
            floor: Duration::ZERO,
            known: Mutex::new(Known {
                entries: HashMap::new(),
                sweep_at: FEW,
            }),
        }
    }

    /// Begin a run after the crawl has rested so long: no address is asked
    /// before its delay is over for certain.
    pub fn resume(&mut self, now: Duration, rested: Duration) {
        self.floor = now + self.delay.saturating_sub(rested);
    }

    pub fn take(&self, address: IpAddr, waiter: Waiter, now: Duration) -> Seat {
        let mut known = self.lock();
        let entry = known.entry(address, now);
        if entry.taken >= self.per_address {
            entry.row.push_back(waiter);
            return Seat::Waits;
        }
        match self.earliest(entry) {
            at if at > now => Seat::Later(at),
            _ => {
                self.sit_down(entry, now);
                Seat::Taken
            }
        }
    }

    /// Take the next seat, though it be for later.
    pub fn reserve(&self, address: IpAddr, waiter: Waiter, now: Duration) -> Reserved {
        let mut known = self.lock();
        let entry = known.entry(address, now);
        if entry.taken >= self.per_address {
            entry.row.push_back(waiter);
            return Reserved::Waits;
        }
        let from = self.earliest(entry).max(now);
        self.sit_down(entry, from);
        Reserved::From(from)
    }

    /// Take a seat only if one is free at once; nobody is put into the row.
    pub fn try_take(&self, address: IpAddr, now: Duration) -> bool {
        let mut known = self.lock();
        let entry = known.entry(address, now);
        let free = entry.taken < self.per_address && self.earliest(entry) <= now;
        if free {
            self.sit_down(entry, now);
        }
        free
    }

    /// Give a seat up after a visit. The waiter that is returned has it now,
    /// for use from the time beside it on.
    #[must_use]
    pub fn put_back(&self, address: IpAddr, now: Duration) -> Option<(Waiter, Duration)> {
        let address = network_of(address);
        let mut known = self.lock();
        let entry = known.entries.get_mut(&address)?;
        entry.next_allowed_at = entry.next_allowed_at.max(now + self.delay);
        if let Some(waiter) = entry.row.pop_front() {
            return Some((waiter, entry.next_allowed_at));
        }
        entry.taken = entry.taken.saturating_sub(1);
        if entry.says_nothing(now) {
            known.entries.remove(&address);
        }
        None
    }

    fn earliest(&self, entry: &Entry) -> Duration {
        entry.next_allowed_at.max(self.floor)
    }

    fn sit_down(&self, entry: &mut Entry, from: Duration) {
        entry.taken += 1;
        entry.next_allowed_at = from + self.delay;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_share_their_seats() {
        let bench = AddressBench::new(1, Duration::ZERO);
        let [one, other, elsewhere] = ["2001:db8:0:1::1", "2001:db8:0:1:9::", "2001:db8:0:2::1"]
            .map(|text| text.parse::<IpAddr>().expect("an address"));
        let now = Duration::ZERO;
        assert!(bench.try_take(one, now));
        assert!(!bench.try_take(other, now));
        assert!(bench.try_take(elsewhere, now));
        assert_eq!(bench.put_back(one, now), None);
        assert!(bench.try_take(other, now));
    }

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
        let reserve = |n| bench.reserve(address, waiter(n), at(1));
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

    #[test]
    fn after_a_start_no_address_is_asked_before_its_delay_is_over() {
        let at = Duration::from_secs;
        let waiter = Waiter {
            shard: 0,
            lane: LaneId(1),
        };
        for (rested, first) in [(0, 15), (3, 12), (60, 10)] {
            let mut bench = AddressBench::new(2, at(5));
            bench.resume(at(10), at(rested));
            let [a, b] = [3, 4].map(|n| IpAddr::from([127, 1, 2, n]));
            if first > 10 {
                assert_eq!(bench.take(a, waiter, at(10)), Seat::Later(at(first)));
                assert!(!bench.try_take(b, at(first - 1)));
            }
            assert_eq!(bench.take(a, waiter, at(first)), Seat::Taken);
            assert!(bench.try_take(b, at(first)));
        }
    }

    #[test]
    fn what_says_nothing_is_forgotten() {
        let bench = AddressBench::new(1, Duration::from_secs(1));
        let waiter = Waiter {
            shard: 0,
            lane: LaneId(1),
        };
        let address = |n: u64| IpAddr::from((n as u32).to_be_bytes());
        let kept = address(u64::from(u32::MAX));
        assert_eq!(bench.take(kept, waiter, Duration::ZERO), Seat::Taken);
        assert_eq!(bench.take(kept, waiter, Duration::ZERO), Seat::Waits);
        for n in 0..100_000 {
            // A hundred addresses a second, each in use for a moment.
            let now = Duration::from_millis(10 * n);
            assert!(bench.try_take(address(n), now));
            assert_eq!(bench.put_back(address(n), now), None);
            assert!(bench.lock().entries.len() <= 2 * FEW);
        }
        let end = Duration::from_secs(2000);
        assert!(
            bench.put_back(kept, end).is_some(),
            "a waiter is remembered"
        );
    }
}
