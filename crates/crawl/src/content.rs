//! The content-seen test: which documents the crawl has, over all shards.
//!
//! A fingerprint enters only with a committed visit. Two shards that fetch
//! the same document at the same moment may both keep it whole; it counts as
//! a duplicate all the same, because counting happens on entering.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rhumb_store::{Outcome, Timestamp, Visit};

const STRIPES: usize = 64;

/// The first committed visit that brought some content.
#[derive(Debug, Clone)]
pub struct FirstVisit {
    pub url: Box<str>,
    pub time: Timestamp,
    pub payload_digest: [u8; 20],
}

pub struct ContentSeen {
    stripes: Vec<Mutex<HashMap<u128, FirstVisit>>>,
}

impl ContentSeen {
    pub fn new() -> ContentSeen {
        ContentSeen {
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
        }
    }

    pub fn first(&self, content: u128) -> Option<FirstVisit> {
        self.stripe(content).get(&content).cloned()
    }

    /// Enter a committed visit; `true` if its content was there before.
    pub fn enter(&self, visit: &Visit) -> bool {
        let (Some(content), Some(payload_digest)) = (visit.content, visit.payload_digest) else {
            return false;
        };
        if visit.outcome != Outcome::Fetched || visit.body_bytes == 0 {
            return false;
        }
        let mut stripe = self.stripe(content);
        let mut known = true;
        stripe.entry(content).or_insert_with(|| {
            known = false;
            FirstVisit {
                url: visit.url.as_str().into(),
                time: visit.time,
                payload_digest,
            }
        });
        known
    }

    /// How many different documents the crawl has.
    pub fn count(&self) -> u64 {
        let lengths = self.stripes.iter().map(|stripe| {
            let stripe = stripe.lock().unwrap_or_else(PoisonError::into_inner);
            stripe.len() as u64
        });
        lengths.sum()
    }

    fn stripe(&self, content: u128) -> std::sync::MutexGuard<'_, HashMap<u128, FirstVisit>> {
        self.stripes[content as usize % STRIPES]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
