//! The live display: a few lines on a terminal, plain lines elsewhere.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rhumb_crawl::{Handle, Observer, Snapshot};

use crate::figures::{bytes, clock, count};
use crate::output::say;

/// Speeds are means over about this long.
const WINDOW: Duration = Duration::from_secs(5);
/// Where nobody watches, one line in so long is enough.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

enum Output {
    Quiet,
    Terminal(ProgressBar),
    Lines { next: Duration },
}

/// A moment of the crawl, for speeds.
struct Sample {
    at: Duration,
    fetched: u64,
    bytes: u64,
    queued: u64,
}

pub struct Progress {
    output: Output,
    samples: VecDeque<Sample>,
}

impl Progress {
    pub fn new(quiet: bool) -> Progress {
        let output = if quiet {
            Output::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg}") {
                bar.set_style(style);
            }
            Output::Terminal(bar)
        } else {
            Output::Lines {
                next: Duration::ZERO,
            }
        };
        Progress {
            output,
            samples: VecDeque::new(),
        }
    }

    /// Take the display away.
    pub fn clear(&self) {
        if let Output::Terminal(bar) = &self.output {
            bar.finish_and_clear();
        }
    }

    fn remember(&mut self, counts: &Snapshot, at: Duration) {
        self.samples.push_back(Sample {
            at,
            fetched: counts.fetched,
            bytes: counts.bytes,
            queued: counts.queued,
        });
        while self.samples.len() > 2 && at - self.samples[0].at > WINDOW {
            self.samples.pop_front();
        }
    }

    /// Pages and bytes a second, and how fast the queue shrinks.
    fn speeds(&self) -> (f64, f64, f64) {
        let (Some(old), Some(new)) = (self.samples.front(), self.samples.back()) else {
            return (0.0, 0.0, 0.0);
        };
        let seconds = (new.at - old.at).as_secs_f64();
        if seconds < 0.2 {
            return (0.0, 0.0, 0.0);
        }
        let per_second = |from: u64, to: u64| (to as f64 - from as f64) / seconds;
        (
            per_second(old.fetched, new.fetched),
            per_second(old.bytes, new.bytes),
            -per_second(old.queued, new.queued),
        )
    }

    /// How long it may take still, where that can be told: to the limit on
    /// pages or time, or to the end of a queue that shrinks.
    fn eta(&self, counts: &Snapshot, control: &Handle) -> Option<Duration> {
        let (pages, _, shrinking) = self.speeds();
        let config = control.config();
        let to_limit =
            config.max_pages.0.filter(|_| pages > 0.1).map(|max| {
                Duration::from_secs_f64(max.saturating_sub(counts.fetched) as f64 / pages)
            });
        let to_time = config
            .max_time
            .0
            .map(|max| max.saturating_sub(control.elapsed()));
        let to_end = (shrinking > 0.5)
            .then(|| Duration::from_secs_f64((counts.queued as f64 / shrinking).min(1e7)));
        [to_limit, to_time, to_end].into_iter().flatten().min()
    }

    fn text(&self, counts: &Snapshot, control: &Handle) -> [String; 2] {
        let (pages, rate, _) = self.speeds();
        let state = if control.is_disk_full() {
            " · paused: disk nearly full"
        } else if control.is_paused() {
            " · paused"
        } else if control.is_ending() {
            " · stopping"
        } else {
            ""
        };
        let eta = self
            .eta(counts, control)
            .map_or(String::new(), |eta| format!(" · about {} left", clock(eta)));
        let first = format!(
            "{} pages · {pages:.0}/s · {} in flight · {} queued · {} hosts · {} ({}/s) · {}{eta}{state}",
            count(counts.fetched),
            counts.in_flight,
            count(counts.queued),
            count(counts.hosts),
            bytes(counts.bytes),
            bytes(rate.max(0.0) as u64),
            clock(control.elapsed()),
        );
        [first, errors(counts)]
    }
}

/// Visits that brought no page, by kind.
fn errors(counts: &Snapshot) -> String {
    let mut kinds: Vec<(&String, &u64)> = counts
        .outcomes
        .iter()
        .filter(|(kind, _)| !matches!(kind.as_str(), "fetched" | "redirect"))
        .collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1));
    let parts: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{} {kind}", count(**n)))
        .collect();
    parts.join(" · ")
}

impl Observer for Progress {
    fn note(&mut self, text: &str) {
        match &self.output {
            Output::Terminal(bar) => bar.suspend(|| say(format_args!("rhumb: {text}"))),
            _ => say(format_args!("rhumb: {text}")),
        }
    }

    fn progress(&mut self, counts: &Snapshot, control: &Handle) {
        let now = control.elapsed();
        self.remember(counts, now);
        let [first, second] = self.text(counts, control);
        match &mut self.output {
            Output::Quiet => {}
            Output::Terminal(bar) => {
                bar.set_message(if second.is_empty() {
                    first
                } else {
                    format!("{first}\n  {second}")
                });
                bar.tick();
            }
            Output::Lines { next } if now >= *next => {
                *next = now + PLAIN_EVERY;
                let gap = if second.is_empty() { "" } else { " · " };
                say(format_args!("{first}{gap}{second}"));
            }
            Output::Lines { .. } => {}
        }
    }
}
