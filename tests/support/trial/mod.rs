//! A crawl that is killed again and again, and what must be true of it in
//! the end. The benchmark `kill` and the tests are judged by the same code.
//!
//! The judges are the crawl directory, the truth of the simulated web, and
//! the log of its server.

mod archive;
mod chance;
mod journal;
mod requests;
mod validators;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rhumb_sim::{LoggedRequest, Truth};

pub use chance::Chance;

/// Breaches that are told one by one.
const TOLD: usize = 10;

/// One process of the crawl: when it was started, and when it was killed or
/// had ended, in Unix seconds.
#[derive(Clone, Copy)]
struct Life {
    started: f64,
    ended: f64,
}

/// What the crawl was allowed.
pub struct Allowed {
    pub connections: usize,
    pub delay: Duration,
}

pub struct Trial {
    dir: PathBuf,
    lives: Vec<Life>,
    /// The kill at which each URL was first found committed.
    committed: HashMap<String, usize>,
    breaches: Vec<String>,
}

/// What came of it.
pub struct Verdict {
    pub kills: usize,
    pub requests: usize,
    /// Requests, besides robots.txt, for what had been asked for before.
    pub repeats: u64,
    /// URLs asked for and not committed, over all kills.
    pub open_at_kills: u64,
    /// How many those may be; what is asked for again is among them.
    pub bound: u64,
    pub captures: usize,
    /// Whether other people's readers have seen the archive.
    pub validated: bool,
    pub breaches: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let validated = match self.validated {
            true => "read by warcio and FastWARC too",
            false => "not shown to warcio and FastWARC",
        };
        let mut row = |label: &str, text: String| writeln!(out, "{label:<24} {text}");
        row("kills", self.kills.to_string())?;
        row("requests", self.requests.to_string())?;
        row("asked for again", self.repeats.to_string())?;
        row(
            "not committed at kills",
            format!("{} (bound {})", self.open_at_kills, self.bound),
        )?;
        row("pages archived", format!("{}, {validated}", self.captures))?;
        for breach in &self.breaches {
            row("BREACH", breach.clone())?;
        }
        Ok(())
    }
}

impl Trial {
    pub fn new(dir: &Path) -> Trial {
        Trial {
            dir: dir.to_owned(),
            lives: Vec::new(),
            committed: HashMap::new(),
            breaches: Vec::new(),
        }
    }

    /// Call right before a process is started.
    pub fn begins(&mut self) {
        let started = now();
        self.lives.push(Life {
            started,
            ended: f64::INFINITY,
        });
    }

    /// Call when the process has been killed, and is gone. Says how many URLs
    /// are committed.
    pub fn was_killed(&mut self, at: SystemTime) -> usize {
        let kill = self.lives.len();
        if let Some(life) = self.lives.last_mut() {
            life.ended = seconds(at);
        }
        match journal::visited(&self.dir) {
            Err(reason) => self.breaches.push(format!("after kill {kill}: {reason}")),
            Ok(visited) => {
                for url in visited.keys() {
                    self.committed.entry(url.clone()).or_insert(kill);
                }
                let lost = self
                    .committed
                    .keys()
                    .find(|url| !visited.contains_key(*url));
                if let Some(url) = lost {
                    self.breaches
                        .push(format!("{url} was committed and is gone after kill {kill}"));
                }
            }
        }
        self.committed.len()
    }

    /// Judge the crawl after its last process has ended by itself.
    pub fn judge(
        mut self,
        mut requests: Vec<LoggedRequest>,
        truth: &Truth,
        allowed: &Allowed,
    ) -> Verdict {
        requests.sort_by(|a, b| a.time.total_cmp(&b.time));
        let asked = requests::Asked::new(&requests, &self.lives, truth);
        let repeats = asked.repeats(&self.committed, &mut self.breaches);
        let (open_at_kills, bound) = asked.open_at_kills(&self.committed, allowed.connections);
        if open_at_kills > bound {
            self.breaches.push(format!(
                "{open_at_kills} URLs were asked for and not committed, more than {bound}"
            ));
        }
        if repeats > open_at_kills {
            self.breaches.push(format!(
                "{repeats} asked for again, {open_at_kills} not committed"
            ));
        }
        asked.manners(allowed.delay.as_secs_f64(), &mut self.breaches);
        journal::compare(&self.dir, truth, &mut self.breaches);
        let captures = archive::compare(&self.dir, &mut self.breaches);
        let validated = validators::read(&self.dir.join("warc"), captures, &mut self.breaches);
        Verdict {
            kills: self.lives.len().saturating_sub(1),
            requests: requests.len(),
            repeats,
            open_at_kills,
            bound,
            captures,
            validated,
            breaches: self.breaches,
        }
    }
}

fn now() -> f64 {
    seconds(SystemTime::now())
}

fn seconds(time: SystemTime) -> f64 {
    let since_epoch = time.duration_since(UNIX_EPOCH);
    since_epoch.unwrap_or_default().as_secs_f64()
}

/// Note that some of these are wrong, and the first of them.
fn note<T: std::fmt::Display>(breaches: &mut Vec<String>, what: &str, which: Vec<T>) {
    let Some(first) = which.first() else { return };
    if breaches.len() < TOLD {
        breaches.push(format!("{} {what}, such as {first}", which.len()));
    }
}
