//! Which runs to merge next.
//!
//! Runs fall into tiers by size, each tier `fan_in` times the one below.
//! When a tier has `fan_in` runs with nothing larger between them, they are
//! merged, with whatever smaller lies among them: only neighbours in age can
//! become one run.

use std::ops::Range;

/// A run as far as merging is concerned.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    /// Bytes before compression.
    pub bytes: u64,
    /// It is being merged already.
    pub busy: bool,
}

/// The runs (the newest first) of the next merge, of the smallest tier that
/// is full; `most` is how many runs there should be at all.
pub(super) fn choose(
    runs: &[Weight],
    buffer_bytes: usize,
    fan_in: usize,
    most: usize,
) -> Option<Range<usize>> {
    let tiers: Vec<u32> = runs
        .iter()
        .map(|run| tier(run.bytes, buffer_bytes, fan_in))
        .collect();
    let highest = tiers.iter().copied().max()?;
    (0..=highest)
        .find_map(|tier| full(runs, &tiers, tier, fan_in))
        .or_else(|| {
            // Sizes so uneven that no tier fills: the cheapest neighbours.
            let stuck = runs.len() >= most && !runs.iter().any(|run| run.busy);
            stuck.then(|| cheapest(runs, fan_in)).flatten()
        })
}

fn tier(bytes: u64, buffer_bytes: usize, fan_in: usize) -> u32 {
    // Written runs are smaller than the buffer they come from, and merged
    // ones than their parts: a quarter of the full size is enough. Snapshots
    // freeze buffers that are far from full: two tiers are for those.
    let step = fan_in as u64;
    let mut limit = (buffer_bytes as u64).saturating_mul(step) / 4 / step.pow(2);
    let mut tier = 0;
    while bytes >= limit.max(1) && tier < 60 {
        limit = limit.saturating_mul(step);
        tier += 1;
    }
    tier
}

fn full(runs: &[Weight], tiers: &[u32], tier: u32, fan_in: usize) -> Option<Range<usize>> {
    let mut start = 0;
    // Stretches of runs that are free and not larger; of several, the oldest.
    let mut found = None;
    for end in 0..=runs.len() {
        let ends = runs.get(end).is_none_or(|run| run.busy) || tiers[end] > tier;
        if !ends {
            continue;
        }
        let stretch = &tiers[start..end];
        let of_tier = || stretch.iter().enumerate().filter(|(_, t)| **t == tier);
        if of_tier().count() >= fan_in {
            let first = of_tier().next().map_or(0, |(at, _)| at);
            let last = of_tier().next_back().map_or(0, |(at, _)| at);
            let first = first.max((last + 1).saturating_sub(2 * fan_in));
            found = Some(start + first..start + last + 1);
        }
        start = end + 1;
    }
    found
}

fn cheapest(runs: &[Weight], fan_in: usize) -> Option<Range<usize>> {
    (0..(runs.len() + 1).checked_sub(fan_in)?)
        .map(|start| start..start + fan_in)
        .min_by_key(|range| runs[range.clone()].iter().map(|run| run.bytes).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: usize = 100;

    fn weights(bytes: &[u64]) -> Vec<Weight> {
        bytes
            .iter()
            .map(|bytes| Weight {
                bytes: *bytes,
                busy: false,
            })
            .collect()
    }

    fn choice(bytes: &[u64]) -> Option<Range<usize>> {
        choose(&weights(bytes), BUFFER, 4, 16)
    }

    #[test]
    fn a_full_tier_is_merged_with_the_small_ones_in_it() {
        assert_eq!(choice(&[50, 50, 50]), None);
        assert_eq!(choice(&[50, 50, 50, 50, 300]), Some(0..4));
        assert_eq!(choice(&[50, 300, 300, 5, 300, 300, 9000]), Some(1..6));
    }

    #[test]
    fn the_smallest_full_tier_comes_first() {
        assert_eq!(choice(&[50, 50, 50, 50, 300, 300, 300, 300]), Some(0..4));
    }

    #[test]
    fn what_is_being_merged_is_left_alone_and_parts_the_rest() {
        let mut runs = weights(&[50, 50, 300, 50, 50]);
        runs[2].busy = true;
        assert_eq!(choose(&runs, BUFFER, 4, 16), None);
    }

    #[test]
    fn uneven_runs_do_not_pile_up() {
        let bytes: Vec<u64> = (0..16)
            .map(|n| if n % 2 == 0 { 50 } else { 300 << n })
            .collect();
        assert!(choice(&bytes).is_some());
    }

    #[test]
    fn the_number_of_runs_grows_with_the_logarithm_of_the_data() {
        let mut runs: Vec<u64> = Vec::new();
        for _ in 0..10_000 {
            runs.insert(0, 70);
            while let Some(range) = choice(&runs) {
                let sum = runs[range.clone()].iter().sum();
                runs.splice(range, [sum]);
            }
            assert!(runs.len() < 4 * 8);
        }
    }
}
