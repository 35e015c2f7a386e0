//! A crawl that does not run, looked at without changing it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhumb_store::{
    Clock, CrawlDirectory, Disk, JournalReader, RealDisk, Record, SystemClock, Visit,
};
use rhumb_url::{Fingerprinter, Scope, Url};

use crate::admission::set_key;
use crate::config::Config;
use crate::counters::Counters;
use crate::engine::CrawlError;
use crate::exchange::offered_by;
use crate::listing::open_on;
use crate::manifest::Manifest;
use crate::opening::shard_state;
use crate::recover::{Recovery, ShardState};
use crate::state::StateFolder;
use crate::views::Views;

/// The whole crawl as one shard: its newest checkpoint, and what its journals
/// say since, which stays in memory.
pub struct Stopped {
    pub directory: CrawlDirectory,
    pub disk: Arc<dyn Disk>,
    pub shard: ShardState,
    pub counters: Counters,
    pub views: Views,
    print: Fingerprinter,
}

impl Stopped {
    pub fn open(dir: &Path) -> Result<Stopped, CrawlError> {
        Stopped::open_on(&(Arc::new(RealDisk) as Arc<dyn Disk>), dir)
    }

    pub fn open_on(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Stopped, CrawlError> {
        let directory = open_on(&**disk, dir)?;
        let config = Config {
            threads: 1,
            ..Config::default()
        };
        let clock = SystemClock::default();
        let print = Fingerprinter::new(directory.identity().hash_seed);
        let state = directory.state();
        let manifest = Manifest::load(&**disk, &state)?;
        let folder = StateFolder::read(disk, &state);
        let views = Views::new(print.seed, folder.views(&manifest)?, &manifest.views);
        let counters = Counters::new(1);
        let tables = folder.shard(0, &manifest)?;
        let mut shards = [shard_state(&config, &clock, tables)];
        let mut scope = Scope::new(config.scope, print);
        Recovery {
            disk,
            folder: &directory.journal(),
            print: &print,
            manifest: &manifest,
            scope: &mut scope,
            views: &views,
            counters: &counters,
            now: Duration::ZERO,
            wall: clock.wall(),
            writes: false,
        }
        .run(&mut shards)?;
        let [shard] = shards;
        Ok(Stopped {
            directory,
            disk: Arc::clone(disk),
            shard,
            counters,
            views,
            print,
        })
    }

    pub fn has_seen(&self, url: &Url) -> Result<bool, CrawlError> {
        Ok(self.shard.seen.contains(set_key(&self.print.key(url)))?)
    }

    /// URLs that were found, but not taken in when the crawl ended: each once,
    /// with the page it was found on.
    pub fn untaken(&self, with: &mut dyn FnMut(Url, &Visit)) -> Result<(), CrawlError> {
        let mut told = HashSet::new();
        for tail in &self.shard.tails {
            let (disk, folder) = (Arc::clone(&self.disk), self.directory.journal());
            let mut reader = JournalReader::open(disk, &folder, tail.journal, tail.from);
            while let Some(group) = reader.next_group()? {
                for (_, record) in group.records() {
                    let Ok(Record::Visit(visit)) = record else {
                        continue;
                    };
                    for url in offered_by(&visit) {
                        let key = self.print.key(&url);
                        if !self.shard.seen.contains(set_key(&key))? && told.insert(key) {
                            with(url, &visit);
                        }
                    }
                }
            }
            reader.check_end()?;
        }
        Ok(())
    }
}
