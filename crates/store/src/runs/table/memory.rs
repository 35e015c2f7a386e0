//! The table that is all in memory: for tests and tiny crawls.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{RunsError, Snapshot, Table, range};

#[derive(Default)]
pub struct MemoryTable {
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl MemoryTable {
    pub fn new() -> MemoryTable {
        MemoryTable::default()
    }
}

fn bounds<'a>(from: &'a [u8], to: &'a [u8]) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    let end = match to {
        [] => Bound::Unbounded,
        to => Bound::Excluded(to),
    };
    (Bound::Included(from), end)
}

impl Table for MemoryTable {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.entries.insert(key.to_vec(), value.to_vec());
    }

    fn remove(&mut self, key: &[u8]) {
        self.entries.remove(key);
    }

    fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        if range::is_empty(from, to) {
            return;
        }
        let keys: Vec<Vec<u8>> = self
            .entries
            .range::<[u8], _>(bounds(from, to))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.entries.remove(&key);
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RunsError> {
        Ok(self.entries.get(key).cloned())
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RunsError> {
        if range::is_empty(from, to) {
            return Ok(());
        }
        for (key, value) in self.entries.range::<[u8], _>(bounds(from, to)) {
            if !with(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn tend(&mut self) -> Result<(), RunsError> {
        Ok(())
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        None
    }
}
