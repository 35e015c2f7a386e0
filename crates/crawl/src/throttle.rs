//! The crawl as a whole: no more requests and bytes in a second than allowed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What was not used is made up for within this time, and no longer.
const BURST: Duration = Duration::from_millis(100);

/// One for all shards.
pub struct Throttle {
    /// From one request to the next.
    gap: Option<Duration>,
    bytes_per_second: Option<u64>,
    next: Mutex<Next>,
}

#[derive(Default)]
struct Next {
    /// When the next request has its turn.
    request_at: Duration,
    /// When what was received is paid for.
    paid_at: Duration,
}

impl Throttle {
    pub fn new(requests_per_second: Option<u64>, bytes_per_second: Option<u64>) -> Throttle {
        let gap = requests_per_second.map(|rate| Duration::from_secs(1) / rate.max(1) as u32);
        Throttle {
            gap,
            bytes_per_second,
            next: Mutex::default(),
        }
    }

    /// When a request that is ready now may go out; the time is taken.
    pub fn reserve(&self, now: Duration) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let paid_at = match self.bytes_per_second {
            Some(_) => next.paid_at,
            None => Duration::ZERO,
        };
        let Some(gap) = self.gap else {
            return now.max(paid_at);
        };
        let at = next.request_at.max(now).max(paid_at);
        next.request_at = at + gap;
        at
    }

    /// So many bytes came: requests wait until that is as slow as allowed.
    pub fn received(&self, bytes: u64, now: Duration) {
        if let Some(rate) = self.bytes_per_second {
            let time = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            next.paid_at = next.paid_at.max(now.saturating_sub(BURST)) + time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn requests_are_spaced() {
        let throttle = Throttle::new(Some(10), None);
        assert_eq!(throttle.reserve(millis(1000)), millis(1000));
        assert_eq!(throttle.reserve(millis(1000)), millis(1100));
        assert_eq!(throttle.reserve(millis(1000)), millis(1200));
        assert_eq!(throttle.reserve(millis(5000)), millis(5000));
    }

    #[test]
    fn bytes_are_paid_for_before_the_next_request() {
        let throttle = Throttle::new(None, Some(1000));
        assert_eq!(throttle.reserve(millis(1000)), millis(1000));
        throttle.received(500, millis(1000));
        assert_eq!(throttle.reserve(millis(1000)), millis(1400), "with a burst");
        throttle.received(100, millis(1000));
        assert_eq!(throttle.reserve(millis(1100)), millis(1500));
        assert_eq!(throttle.reserve(millis(9000)), millis(9000));
    }

    #[test]
    fn without_limits_nothing_waits() {
        let throttle = Throttle::new(None, None);
        throttle.received(1 << 40, millis(0));
        assert_eq!(throttle.reserve(millis(7)), millis(7));
        assert_eq!(throttle.reserve(millis(7)), millis(7));
    }
}
