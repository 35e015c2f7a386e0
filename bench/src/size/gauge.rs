//! What is measured: processor time, memory, and how long the caller was
//! held up.

use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Processor time of all threads.
pub fn cpu() -> Duration {
    let time = |time: TimeVal| {
        Duration::from_micros(time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64)
    };
    let sum = |usage: Usage| time(usage.user_time()) + time(usage.system_time());
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, sum)
}

/// Resident mebibytes: now, and the most there ever were.
pub fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        number.unwrap_or(0) / 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// How often the processor was taken from this thread. (Waiting for the disk
/// is not that.)
fn interruptions() -> i64 {
    let count = |usage: Usage| usage.involuntary_context_switches();
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, count)
}

/// The longest that one step held the caller's thread up.
#[derive(Default)]
pub struct Gaps {
    pub longest: Duration,
    /// Among the steps in which no other thread had its turn: on a machine
    /// with more threads than cores the others measure those.
    pub longest_undisturbed: Duration,
}

impl Gaps {
    pub fn time<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let (before, start) = (interruptions(), Instant::now());
        let result = step();
        let taken = start.elapsed();
        self.longest = self.longest.max(taken);
        if taken > self.longest_undisturbed && interruptions() == before {
            self.longest_undisturbed = taken;
        }
        result
    }
}
