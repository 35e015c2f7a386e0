//! Remarks from the shards to whoever watches the crawl.

use std::sync::{Mutex, PoisonError};

use rhumb_store::{Fate, Outcome, State, Visit};

/// Remarks that may wait to be read.
const MAX_WAITING: usize = 20;
/// Failed visits that are kept as examples.
const MAX_EXAMPLES: usize = 3;

#[derive(Default)]
struct Inner {
    waiting: Vec<String>,
    failures: Vec<String>,
}

#[derive(Default)]
pub struct Notes(Mutex<Inner>);

impl Notes {
    /// Look at a visit for what a person should be told.
    pub fn look_at(&self, visit: &Visit, scope: &str) {
        match visit.outcome {
            Outcome::Redirect if visit.depth == 0 => {
                let astray = visit.links.iter().find(|l| l.fate == Fate::OutOfScope);
                if let Some(link) = astray {
                    self.say(format!(
                        "{} leads to {}, which is out of scope ({scope}): \
                         give that URL as a seed, or widen --scope",
                        visit.url, link.url
                    ));
                }
            }
            outcome if outcome.state() != State::Fetched => {
                let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if inner.failures.len() < MAX_EXAMPLES {
                    let example = format!("{}: {outcome}: {}", visit.url, visit.detail);
                    inner.failures.push(example);
                }
            }
            _ => {}
        }
    }

    fn say(&self, note: String) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.waiting.len() < MAX_WAITING {
            inner.waiting.push(note);
        }
    }

    pub fn take(&self) -> Vec<String> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut inner.waiting)
    }

    /// The first visits of this run that brought nothing, and why.
    pub fn failures(&self) -> Vec<String> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.failures.clone()
    }
}
