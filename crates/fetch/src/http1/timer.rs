//! The deadlines of a connection's requests, all on one timer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::FetchConfig;

/// Far enough to be never, near enough not to overflow.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Fires when a sign of life is overdue.
///
/// Every sign of life moves the deadline, and that costs nothing: the timer
/// below is set anew only when it goes off too early. It is always set to the
/// shortest of the time-outs, because to bring a timer forward makes tokio
/// interrupt its own wait, with a system call for each time.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    shortest: Duration,
    started: Instant,
    /// Nothing lasts longer than this.
    end: Instant,
    /// The next sign of life is due by then.
    due: Instant,
}

impl Timer {
    pub(super) fn new(config: &FetchConfig) -> Timer {
        let shortest = config
            .first_byte_timeout
            .min(config.idle_timeout)
            .min(config.total_timeout)
            .min(NEVER);
        let now = Instant::now();
        Timer {
            sleep: Box::pin(sleep_until(now + shortest)),
            shortest,
            started: now,
            end: now,
            due: now,
        }
    }

    /// A request begins; its response's header is due.
    pub(super) fn start(&mut self, config: &FetchConfig) {
        self.started = Instant::now();
        self.end = self.started + config.total_timeout.min(NEVER);
        self.due = self
            .end
            .min(self.started + config.first_byte_timeout.min(NEVER));
    }

    /// Something came: the next is due after `idle` at the latest. False when
    /// the time is up however lively it is.
    pub(super) fn alive(&mut self, idle: Duration) -> bool {
        let now = Instant::now();
        self.due = self.end.min(now + idle.min(NEVER));
        now < self.end
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ready when a deadline has passed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if now >= self.due {
                return Poll::Ready(());
            }
            let next = self.due.min(now + self.shortest);
            self.sleep.as_mut().reset(next);
        }
    }
}
