//! The same set for small crawls and tests: all in memory.

use std::collections::HashSet;
use std::time::Duration;

use super::{KeySnapshot, Keys, Verdict};
use crate::runs::RunsError;

#[derive(Default)]
pub struct MemoryKeys {
    keys: HashSet<u128>,
}

impl Keys for MemoryKeys {
    fn offer(&mut self, keys: &[u128], _: u64, _: Duration, verdicts: &mut Vec<Verdict>) {
        verdicts.extend(keys.iter().map(|key| match self.keys.insert(*key) {
            true => Verdict::New,
            false => Verdict::Seen,
        }));
    }

    fn tend(&mut self, _: Duration, _: &mut Vec<(u64, bool)>) -> Result<(), RunsError> {
        Ok(())
    }

    fn hurry(&mut self) {}

    fn pending(&self) -> usize {
        0
    }

    fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    fn contains(&self, key: u128) -> Result<bool, RunsError> {
        Ok(self.keys.contains(&key))
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn snapshot(&mut self) -> Option<KeySnapshot> {
        None
    }

    fn opened(&mut self) -> Option<KeySnapshot> {
        None
    }

    fn due(&self) -> Option<Duration> {
        None
    }
}
