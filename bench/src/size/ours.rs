//! Sorted runs: the set and the tables of a shard, with its share of the
//! memory, kept where the measurement can look at them too.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rhumb_crawl::Shares;
use rhumb_store::RealDisk;
use rhumb_store::runs::{
    KeySet, KeySnapshot, Keys, RunFolder, RunTable, RunsError, Snapshot, Table, Verdict, Worker,
};

use super::state::{Held, State, Subject};

/// The same set or table for its user and for whoever measures it.
struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    fn new(of: T) -> Shared<T> {
        Shared(Arc::new(Mutex::new(of)))
    }

    fn get(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn boxed(&self) -> Box<Shared<T>> {
        Box::new(Shared(Arc::clone(&self.0)))
    }
}

pub struct Ours {
    set: Shared<KeySet>,
    queue: Shared<RunTable>,
    rows: Shared<RunTable>,
}

impl Ours {
    pub fn open(folder: &Path, memory: u64) -> Result<Ours, RunsError> {
        let folder = RunFolder::open(Arc::new(RealDisk), folder)?;
        let worker = |name| Worker::start(name, || ()).map_err(RunsError::io(Path::new(name)));
        let (soon, merges) = (worker("state")?, worker("merge")?);
        let shares = Shares { memory, shards: 1 };
        let table =
            |config| Shared::new(RunTable::new(&folder, config, soon.clone(), merges.clone()));
        let set = KeySet::new(&folder, shares.seen(), soon.clone(), merges.clone());
        Ok(Ours {
            set: Shared::new(set),
            queue: table(shares.queue()),
            rows: table(shares.rows()),
        })
    }
}

impl Subject for Ours {
    fn state(&self) -> State {
        State::new(self.set.boxed(), self.queue.boxed(), self.rows.boxed())
    }

    fn write_all(&self) -> Result<(), RunsError> {
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.set.get().is_busy() || self.queue.get().is_busy() || self.rows.get().is_busy()
    }

    fn held(&self) -> Held {
        let (set, queue, rows) = (self.set.get(), self.queue.get(), self.rows.get());
        Held {
            set_bytes: set.bytes_on_disk(),
            queue_bytes: queue.bytes_on_disk(),
            in_memory: set.bytes_in_memory() + queue.bytes_in_memory() + rows.bytes_in_memory(),
        }
    }
}

impl Keys for Shared<KeySet> {
    fn offer(&mut self, keys: &[u128], first: u64, now: Duration, verdicts: &mut Vec<Verdict>) {
        self.get().offer(keys, first, now, verdicts);
    }

    fn tend(&mut self, now: Duration, answers: &mut Vec<(u64, bool)>) -> Result<(), RunsError> {
        self.get().tend(now, answers)
    }

    fn hurry(&mut self) {
        self.get().hurry();
    }

    fn pending(&self) -> usize {
        self.get().pending()
    }

    fn count(&self) -> u64 {
        self.get().count()
    }

    fn contains(&self, key: u128) -> Result<bool, RunsError> {
        self.get().contains(key)
    }

    fn is_congested(&self) -> bool {
        self.get().is_congested()
    }

    fn snapshot(&mut self) -> Option<KeySnapshot> {
        Some(self.get().snapshot())
    }

    fn opened(&mut self) -> Option<KeySnapshot> {
        self.get().opened()
    }

    fn due(&self) -> Option<Duration> {
        self.get().due()
    }
}

impl Table for Shared<RunTable> {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.get().put(key, value);
    }

    fn remove(&mut self, key: &[u8]) {
        self.get().remove(key);
    }

    fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        self.get().remove_range(from, to);
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RunsError> {
        Shared::get(self).get(key)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RunsError> {
        Shared::get(self).scan(from, to, with)
    }

    fn tend(&mut self) -> Result<(), RunsError> {
        Shared::get(self).tend()
    }

    fn is_congested(&self) -> bool {
        Shared::get(self).is_congested()
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        Some(Shared::get(self).snapshot())
    }
}
