//! fjall under the same load: a partition for the keys of the set, one for
//! the queue and one for host rows, within the same memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions};
use rhumb_store::runs::{KeySnapshot, Keys, RunsError, Snapshot, Table, Verdict};

use super::state::{Held, State, Subject};

/// Hundredths of the share of memory that ours has: the cache of blocks, and
/// what is not yet written of all partitions together.
const CACHE: u64 = 45;
const WRITE_BUFFERS: u64 = 30;
const PARTITIONS: u64 = 3;

pub struct Rival {
    database: Database,
    path: PathBuf,
    set: Keyspace,
    queue: Keyspace,
    rows: Keyspace,
}

fn told(path: &Path) -> impl Fn(fjall::Error) -> RunsError {
    let path = path.to_owned();
    move |error| RunsError::Io {
        path: path.clone(),
        error: std::io::Error::other(error),
    }
}

impl Rival {
    pub fn open(folder: &Path, memory: u64) -> Result<Rival, RunsError> {
        let hundredths = |n: u64| memory / 100 * n;
        // As ours: no log that is written with every change.
        let database = Database::builder(folder)
            .cache_size(hundredths(CACHE))
            .manual_journal_persist(true)
            .open()
            .map_err(told(folder))?;
        let options = || {
            let ten_bits = BloomConstructionPolicy::BitsPerKey(10.0);
            KeyspaceCreateOptions::default()
                .max_memtable_size(hundredths(WRITE_BUFFERS) / PARTITIONS / 2)
                .manual_journal_persist(true)
                .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(ten_bits)))
        };
        // Hashes cannot be compressed.
        let plain = || {
            options().data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        };
        Ok(Rival {
            set: database.keyspace("set", plain).map_err(told(folder))?,
            queue: database.keyspace("queue", options).map_err(told(folder))?,
            rows: database.keyspace("rows", options).map_err(told(folder))?,
            path: folder.to_owned(),
            database,
        })
    }

    fn table(&self, keyspace: &Keyspace) -> Box<dyn Table> {
        Box::new(Rows(Partition::new(keyspace, &self.path)))
    }
}

impl Subject for Rival {
    fn state(&self) -> State {
        let set = SetKeys {
            partition: Partition::new(&self.set, &self.path),
            count: 0,
        };
        State::new(
            Box::new(set),
            self.table(&self.queue),
            self.table(&self.rows),
        )
    }

    fn write_all(&self) -> Result<(), RunsError> {
        for keyspace in [&self.set, &self.queue, &self.rows] {
            keyspace
                .rotate_memtable_and_wait()
                .map_err(told(&self.path))?;
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.database.outstanding_flushes() > 0 || self.database.active_compactions() > 0
    }

    fn held(&self) -> Held {
        Held {
            set_bytes: self.set.disk_space(),
            queue_bytes: self.queue.disk_space(),
            in_memory: (self.database.cache_size() + self.database.write_buffer_size()) as usize,
        }
    }
}

/// A partition whose failures are told when it is tended.
struct Partition {
    keyspace: Keyspace,
    path: PathBuf,
    failure: Option<fjall::Error>,
}

impl Partition {
    fn new(keyspace: &Keyspace, path: &Path) -> Partition {
        Partition {
            keyspace: keyspace.clone(),
            path: path.to_owned(),
            failure: None,
        }
    }

    fn note(&mut self, done: Result<(), fjall::Error>) {
        self.failure = self.failure.take().or(done.err());
    }

    fn tell(&mut self) -> Result<(), RunsError> {
        let failure = self.failure.take();
        failure.map_or(Ok(()), |error| Err(told(&self.path)(error)))
    }
}

struct SetKeys {
    partition: Partition,
    count: u64,
}

impl Keys for SetKeys {
    fn offer(&mut self, keys: &[u128], _: u64, _: Duration, verdicts: &mut Vec<Verdict>) {
        for key in keys {
            let key = key.to_be_bytes();
            let keyspace = &self.partition.keyspace;
            match keyspace.contains_key(key) {
                Ok(true) => verdicts.push(Verdict::Seen),
                Ok(false) => {
                    let done = keyspace.insert(key, []);
                    self.partition.note(done);
                    self.count += 1;
                    verdicts.push(Verdict::New);
                }
                Err(error) => {
                    self.partition.note(Err(error));
                    verdicts.push(Verdict::Seen);
                }
            }
        }
    }

    fn tend(&mut self, _: Duration, _: &mut Vec<(u64, bool)>) -> Result<(), RunsError> {
        self.partition.tell()
    }

    fn hurry(&mut self) {}

    fn pending(&self) -> usize {
        0
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn contains(&self, key: u128) -> Result<bool, RunsError> {
        let found = self.partition.keyspace.contains_key(key.to_be_bytes());
        found.map_err(told(&self.partition.path))
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

struct Rows(Partition);

impl Table for Rows {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        let done = self.0.keyspace.insert(key, value);
        self.0.note(done);
    }

    fn remove(&mut self, key: &[u8]) {
        let done = self.0.keyspace.remove(key);
        self.0.note(done);
    }

    fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        let mut keys = Vec::new();
        let done = self.scan(from, to, &mut |key, _| {
            keys.push(key.to_vec());
            true
        });
        // The same failure would be told by the next read.
        drop(done);
        keys.iter().for_each(|key| self.remove(key));
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RunsError> {
        let found = self.0.keyspace.get(key).map_err(told(&self.0.path))?;
        Ok(found.map(|value| value.to_vec()))
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        with: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RunsError> {
        let range = match to {
            [] => self.0.keyspace.range(from..),
            to => self.0.keyspace.range(from..to),
        };
        for entry in range {
            let (key, value) = entry.into_inner().map_err(told(&self.0.path))?;
            if !with(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn tend(&mut self) -> Result<(), RunsError> {
        self.0.tell()
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        None
    }
}
