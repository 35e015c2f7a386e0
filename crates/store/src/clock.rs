//! The door to time.
//!
//! Nothing in rhumb asks the operating system for the time by itself: tests
//! substitute a clock that they move by hand.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall-clock time, microseconds since 1970 (UTC).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Timestamp(pub u64);

impl Timestamp {
    pub fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    pub fn plus(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(duration.as_micros() as u64))
    }

    /// `20261115201042`: for file names.
    pub fn compact(self) -> String {
        let (year, month, day, hour, minute, second) = self.civil();
        format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
    }

    fn civil(self) -> (i64, u32, u32, u32, u32, u32) {
        let seconds = self.seconds();
        let (year, month, day) = civil_from_days((seconds / 86_400) as i64);
        let rest = (seconds % 86_400) as u32;
        (year, month, day, rest / 3600, rest / 60 % 60, rest % 60)
    }
}

/// RFC 3339 with microseconds, in UTC: the form of `WARC-Date`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second) = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z",
            self.0 % 1_000_000
        )
    }
}

/// Gregorian date of a day counted from 1970-01-01, by eras of 400 years.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

pub trait Clock: Send + Sync {
    /// Wall-clock time, for records that people read.
    fn wall(&self) -> Timestamp;
    /// Time that only goes forward, since some fixed start: for delays.
    fn elapsed(&self) -> Duration;
}

pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Timestamp(since.map_or(0, |d| d.as_micros() as u64))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is moved.
#[derive(Default)]
pub struct ManualClock {
    micros: AtomicU64,
}

impl ManualClock {
    pub fn advance(&self, by: Duration) {
        self.micros
            .fetch_add(by.as_micros() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        Timestamp(1_700_000_000_000_000 + self.micros.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_read_as_dates() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (4_102_444_800, "2100-01-01T00:00:00.000000Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(Timestamp(seconds * 1_000_000).to_string(), text);
        }
        assert_eq!(Timestamp(951_782_461_000_000).compact(), "20000229000101");
    }
}
