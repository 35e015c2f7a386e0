//! Starting a shard: its two threads and what they own.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use rhumb_fetch::{FetchConfig, Fetcher, Resolver};
use rhumb_store::{Archive, CrawlDirectory, EpochStart, Journal, Record};

use crate::commit::{self, Committer};
use crate::config::Config;
use crate::control::Ending;
use crate::engine::{CrawlError, io_error};
use crate::recover::ShardState;
use crate::shard::Shard;
use crate::shared::{Shared, dns_config, fetch_config};

/// Start a shard's two threads: the one that crawls and the one that writes.
pub fn start_shard(
    id: usize,
    state: ShardState,
    shared: &Arc<Shared>,
    directory: &CrawlDirectory,
) -> Result<[JoinHandle<()>; 2], CrawlError> {
    let (config, epoch) = (&shared.config, shared.epoch);
    let mut journal = Journal::begin(
        Arc::clone(&shared.disk),
        &directory.journal(),
        id as u16,
        epoch,
        config.journal_roll.0,
    )?;
    journal.push(&Record::Epoch(EpochStart {
        epoch,
        shards: shared.shards() as u16,
        time: shared.clock.wall(),
        program: directory.identity().program.clone(),
        ..EpochStart::default()
    }));
    journal.commit()?;
    let archive = Archive::begin(
        Arc::clone(&shared.disk),
        Arc::clone(&shared.clock),
        &directory.warc(),
        config.warc,
        id as u16,
        epoch,
        directory.identity().hash_seed,
        config.warc_roll.0,
        warcinfo_fields(config),
    )
    .map_err(io_error(&directory.warc()))?;
    let (committer, work) = Committer::new(config.commit_bytes.0);
    let fetcher = Fetcher::new(FetchConfig {
        spool: shared.spool.clone(),
        guard: shared.reach.guard(),
        ..fetch_config(config)?
    })?;
    let dns = dns_config(config)?;

    let for_writer = Arc::clone(shared);
    let writer = spawn(format!("commit-{id}"), move || {
        commit::run(&work, journal, archive, &for_writer, id);
    })?;
    let shared = Arc::clone(shared);
    let crawler = spawn(format!("shard-{id}"), move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let failed = |reason: String| {
            shared.control.end(Ending::Failed(reason));
            shared.ring_all();
        };
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return failed(format!("shard {id} cannot start: {error}")),
        };
        let local = tokio::task::LocalSet::new();
        let crawling = local.run_until(async {
            match Resolver::new(&dns) {
                Ok(resolver) => {
                    let shared = Arc::clone(&shared);
                    let shard = Shard::new(id, shared, state, fetcher, resolver, committer);
                    Rc::new(shard).run().await;
                }
                Err(error) => failed(format!("shard {id}: name look-ups cannot start: {error}")),
            }
        });
        runtime.block_on(crawling);
    })?;
    Ok([crawler, writer])
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, CrawlError> {
    std::thread::Builder::new()
        .name(name)
        .spawn(body)
        .map_err(io_error(Path::new("thread")))
}

fn warcinfo_fields(config: &Config) -> String {
    format!(
        "software: rhumb/{}\r\nformat: WARC File Format 1.1\r\n\
         conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
         robots: obey\r\nhttp-header-user-agent: {}\r\n",
        env!("CARGO_PKG_VERSION"),
        config.agent
    )
}
