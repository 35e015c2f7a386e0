//! How late threads of this process are woken up: the machine may have other
//! work, and a test that compares times must know how far to trust them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(1);

/// Watches from its start to its end.
pub struct Stalls {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Stalls {
    pub fn watch() -> Stalls {
        let ends = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut worst = Duration::ZERO;
            while !ended.load(Ordering::SeqCst) {
                let before = Instant::now();
                std::thread::sleep(STEP);
                worst = worst.max(before.elapsed().saturating_sub(STEP));
            }
            worst
        });
        Stalls { ends, thread }
    }

    /// The longest that a thread had to wait.
    pub fn worst(self) -> Duration {
        self.ends.store(true, Ordering::SeqCst);
        self.thread.join().expect("the watch ends")
    }
}
