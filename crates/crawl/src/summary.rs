//! What a run of the crawl amounts to.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::control::Ending;
use crate::counters::Snapshot;
use crate::preflight::{cpu_time, peak_rss};

/// The counts are of the crawl's whole life, the times of this run.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub dir: PathBuf,
    pub ending: Ending,
    /// What failed, where that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(flatten)]
    pub counts: Snapshot,
    /// Pages fetched in this run.
    pub fetched_this_run: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub pages_per_second: f64,
    pub pages_per_cpu_second: f64,
    pub peak_rss_bytes: u64,
    /// Seeds that were refused: lines that are no URLs, and what was
    /// forgotten on request.
    pub bad_seeds: u64,
    /// The first visits of this run that brought nothing, and why.
    pub unfetched: Vec<String>,
}

impl Summary {
    pub fn new(
        dir: PathBuf,
        ending: Ending,
        counts: Snapshot,
        fetched_before: u64,
        elapsed: Duration,
        bad_seeds: u64,
        unfetched: Vec<String>,
    ) -> Summary {
        let fetched_this_run = counts.fetched - fetched_before;
        let seconds = elapsed.as_secs_f64();
        let cpu_seconds = cpu_time().as_secs_f64();
        let failure = match &ending {
            Ending::Failed(reason) => Some(reason.clone()),
            _ => None,
        };
        Summary {
            dir,
            ending,
            failure,
            counts,
            fetched_this_run,
            seconds,
            cpu_seconds,
            pages_per_second: fetched_this_run as f64 / seconds.max(1e-6),
            pages_per_cpu_second: fetched_this_run as f64 / cpu_seconds.max(1e-6),
            peak_rss_bytes: peak_rss(),
            bad_seeds,
            unfetched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_is_a_word_and_a_failure_stands_beside_it() {
        let summary = |ending| {
            let counts = Snapshot::default();
            let summary =
                Summary::new(PathBuf::new(), ending, counts, 0, Duration::ZERO, 0, vec![]);
            serde_json::to_value(summary).unwrap()
        };
        let failed = summary(Ending::Failed("no space".to_owned()));
        assert_eq!(failed["ending"], "failed");
        assert_eq!(failed["failure"], "no space");
        let finished = summary(Ending::Finished);
        assert_eq!(finished["ending"], "finished");
        assert!(finished.get("failure").is_none());
    }
}
