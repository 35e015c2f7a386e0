//! Waiting for something that will come, with a deadline in case it does not.

use std::time::{Duration, Instant};

/// Long enough for a loaded machine: only a test that fails waits this long.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Ask again until there is an answer.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < DEADLINE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
