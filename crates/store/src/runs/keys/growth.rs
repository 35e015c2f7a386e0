//! How the filter grows: a larger one is filled from the runs in the
//! background and takes the place of the old one.

use std::sync::Arc;

use super::KeySetConfig;
use super::filter::{Filter, LINE_BYTES};
use super::run::KeyRun;
use super::scan::add_to_filter;
use super::set::KeySet;
use crate::runs::{Running, RunsError};

/// A filter with fewer bits a key than this is crowded.
const CROWDED_BITS: u64 = 10;
/// Each filter is so many times the one before. Then a key is read again for
/// a filter a third of a time, and old and new together take a quarter more
/// than the budget.
const STEP: usize = 4;

pub(super) enum Growth {
    Idle,
    /// The runs of the beginning are being added. What is installed
    /// meanwhile is missing.
    Scanning {
        filter: Running<Result<Arc<Filter>, RunsError>>,
        missing: Vec<Arc<KeyRun>>,
    },
    /// Waits for the buffer that is being written, if one is.
    Scanned {
        filter: Arc<Filter>,
        missing: Vec<Arc<KeyRun>>,
    },
    /// The missing are being added; no buffer is written meanwhile.
    CatchingUp(Running<Result<Arc<Filter>, RunsError>>),
}

impl Growth {
    /// A run joined the others.
    pub fn note(&mut self, run: &Arc<KeyRun>) {
        if let Growth::Scanning { missing, .. } | Growth::Scanned { missing, .. } = self {
            missing.push(Arc::clone(run));
        }
    }

    pub fn is_finishing(&self) -> bool {
        matches!(self, Growth::Scanned { .. } | Growth::CatchingUp(_))
    }
}

/// The smallest filter that is not crowded: the budget, or a fourth of it, or
/// a fourth of that.
pub(super) fn bytes_for(keys: u64, config: &KeySetConfig) -> usize {
    let wanted = keys.saturating_mul(CROWDED_BITS) / 8;
    let mut bytes = config.filter_bytes.max(LINE_BYTES);
    while bytes / STEP >= LINE_BYTES && (bytes / STEP) as u64 >= wanted {
        bytes /= STEP;
    }
    bytes
}

fn fill(filter: Arc<Filter>, runs: &[Arc<KeyRun>]) -> Result<Arc<Filter>, RunsError> {
    for run in runs {
        add_to_filter(run, &filter)?;
    }
    Ok(filter)
}

impl KeySet {
    /// Take the growth of the filter as far as it goes now.
    pub(super) fn advance_growth(&mut self) -> Result<(), RunsError> {
        self.growth = match std::mem::replace(&mut self.growth, Growth::Idle) {
            Growth::Idle => self.begin_growth(),
            Growth::Scanning { filter, missing } => match filter.take()? {
                Some(filter) => Growth::Scanned {
                    filter: filter?,
                    missing,
                },
                None => Growth::Scanning { filter, missing },
            },
            other => other,
        };
        self.growth = match std::mem::replace(&mut self.growth, Growth::Idle) {
            Growth::Scanned { filter, missing } if self.flushing.is_none() => {
                if missing.is_empty() {
                    self.take_filter(filter);
                    Growth::Idle
                } else {
                    Growth::CatchingUp(self.soon.run(move || fill(filter, &missing)))
                }
            }
            Growth::CatchingUp(filter) => match filter.take()? {
                Some(filter) => {
                    self.take_filter(filter?);
                    Growth::Idle
                }
                None => Growth::CatchingUp(filter),
            },
            other => other,
        };
        Ok(())
    }

    fn begin_growth(&self) -> Growth {
        let bytes = bytes_for(self.keys_in_runs(), &self.config);
        // The filter rounds to whole lines.
        if bytes < self.filter.bytes() + LINE_BYTES {
            return Growth::Idle;
        }
        let runs = self.runs.clone();
        Growth::Scanning {
            filter: self
                .merges
                .run(move || fill(Arc::new(Filter::of_bytes(bytes)), &runs)),
            missing: Vec::new(),
        }
    }

    fn take_filter(&mut self, filter: Arc<Filter>) {
        let old = std::mem::replace(&mut self.filter, filter);
        // Giving so much memory back takes longer than the owner has.
        self.soon.run(move || drop(old));
    }
}
