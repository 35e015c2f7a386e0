//! Merges in the background: which runs are merged next, one step after the
//! other, and how the result takes their places.

use std::sync::Arc;

use super::super::super::{Running, RunsError};
use super::super::TableConfig;
use super::super::builder::Build;
use super::super::merge::{Merge, Step};
use super::super::run::{Held, Run};
use super::super::tiers::{self, Weight};
use super::{RunTable, filter_bytes_of, part_bytes_of};

/// Merges of different tiers that may be under way at once.
const MERGES: usize = 6;

pub(super) struct Merging {
    inputs: Vec<Arc<Run>>,
    weight: u64,
    state: MergeState,
}

enum MergeState {
    Waiting(Box<Merge>),
    Running(Running<Result<Step, RunsError>>),
}

impl RunTable {
    pub(super) fn install_merged(&mut self) -> Result<(), RunsError> {
        for at in 0..self.merging.len() {
            let MergeState::Running(running) = &self.merging[at].state else {
                continue;
            };
            match running.take()? {
                None => {}
                Some(Ok(Step::More(merge))) => self.merging[at].state = MergeState::Waiting(merge),
                Some(Ok(Step::Done(output))) => self.replace_merged(at, output),
                Some(Err(error)) => {
                    self.merging.swap_remove(at);
                    self.changed = true;
                    return Err(error);
                }
            }
            break;
        }
        Ok(())
    }

    fn replace_merged(&mut self, at: usize, output: Option<Held>) {
        self.changed = true;
        let merging = self.merging.swap_remove(at);
        let first = merging.inputs.first();
        let is_first = |held: &Held| first.is_some_and(|run| Arc::ptr_eq(run, &held.run));
        if let Some(start) = self.runs.iter().position(is_first) {
            let end = start + merging.inputs.len();
            let old: Vec<Held> = self.runs.splice(start..end, output).collect();
            // The last user of a file removes it, which takes time.
            drop(self.soon.run(move || drop((old, merging))));
        }
        self.keep_to_budget();
    }

    pub(super) fn start_merges(&mut self) {
        if self.reclaim && self.merging.is_empty() {
            self.reclaim = false;
            let restricted = self.runs.iter().any(|held| held.run.is_restricted());
            if self.runs.len() > 1 || restricted {
                self.start_merge(0, self.runs.len());
            }
        }
        while self.changed && self.merging.len() < MERGES {
            let weights: Vec<Weight> = self.runs.iter().map(|held| self.weight(held)).collect();
            let TableConfig {
                buffer_bytes,
                fan_in,
                most_runs,
                ..
            } = *self.config;
            let Some(range) = tiers::choose(&weights, buffer_bytes, fan_in, most_runs) else {
                self.changed = false;
                break;
            };
            self.start_merge(range.start, range.end);
        }
    }

    fn weight(&self, held: &Held) -> Weight {
        let mut inputs = self.merging.iter().flat_map(|merging| &merging.inputs);
        Weight {
            bytes: held.run.weight(),
            busy: inputs.any(|run| Arc::ptr_eq(run, &held.run)),
        }
    }

    fn start_merge(&mut self, start: usize, end: usize) {
        let mut inputs = self.runs[start..end].to_vec();
        // Read from end to end they need no filters, and the table may want
        // to be rid of those.
        inputs.iter_mut().for_each(|held| held.filter = None);
        let older = self.runs[end..].to_vec();
        let weight = inputs.iter().map(|held| held.run.weight()).sum();
        // What newer runs have of the budgets is theirs.
        let newer = &self.runs[..start];
        let filters: usize = newer.iter().map(filter_bytes_of).sum();
        let parts: usize = newer.iter().map(part_bytes_of).sum();
        let build = Build {
            folder: self.folder.clone(),
            config: Arc::clone(&self.config),
            compress: weight >= self.config.compress_above,
            prefixes: inputs.iter().map(|held| held.run.facts.prefixes).sum(),
            filter_bytes: self.config.filter_bytes.saturating_sub(filters),
            index_bytes: self.config.index_bytes.saturating_sub(parts),
        };
        self.merging.push(Merging {
            inputs: inputs.iter().map(|held| Arc::clone(&held.run)).collect(),
            weight,
            state: MergeState::Waiting(Box::new(Merge::new(inputs, older, build))),
        });
    }

    /// One step at a time, of the smallest merge: the newest runs are many.
    pub(super) fn run_a_step(&mut self) {
        let running = |merging: &Merging| matches!(merging.state, MergeState::Running(_));
        if self.merging.iter().any(running) {
            return;
        }
        let Some(next) = (0..self.merging.len()).min_by_key(|at| self.merging[*at].weight) else {
            return;
        };
        let merging = self.merging.swap_remove(next);
        let state = match merging.state {
            MergeState::Waiting(merge) => MergeState::Running(self.merges.run(|| merge.step())),
            running => running,
        };
        self.merging.push(Merging { state, ..merging });
    }
}
