//! Steps of opening a crawl: a shard's state over its tables, and what must
//! not be there any more.

use std::path::{Path, PathBuf};

use rhumb_frontier::{Frontier, Limits, Pace};
use rhumb_store::{
    ArchiveOrigin, Clock, Disk, JournalError, Timestamp, archive_origin, epochs_in, journals_in,
};

use crate::checkpoint::{Checkpoints, Frozen};
use crate::config::Config;
use crate::engine::{CrawlError, io_error};
use crate::manifest::{Manifest, Marks};
use crate::recover::{Recovered, ShardState};
use crate::state::ShardTables;
use crate::views::Views;

/// Every journal that the manifest has followed must be there. Recovery sees
/// only those that are, and without any the epochs would begin again.
pub fn check_journals(
    disk: &dyn Disk,
    folder: &Path,
    manifest: &Manifest,
) -> Result<(), CrawlError> {
    let there = journals_in(disk, folder).map_err(io_error(folder))?;
    for synced in manifest.synced() {
        if synced.sequence > 0 && !there.contains(&synced.journal) {
            return Err(CrawlError::Journal(JournalError::Lost {
                folder: folder.to_owned(),
                journal: synced.journal,
                found: 0,
                synced: synced.sequence,
            }));
        }
    }
    Ok(())
}

/// A shard's state over its tables, as a checkpoint left them.
pub fn shard_state(config: &Config, clock: &dyn Clock, tables: ShardTables) -> ShardState {
    let pace = Pace {
        per_host: config.per_host,
        delay: config.delay,
        // An address that needs rest needs it after every visit.
        visits_per_turn: match config.address_delay.is_zero() {
            true => config.visits_per_turn,
            false => 1,
        },
        rest_factor: config.delay_factor.try_into().unwrap_or(u32::MAX),
        most_rest: config.max_delay,
    };
    let share = |all: usize| all.div_ceil(config.threads.max(1));
    let limits = Limits {
        bench: share(config.connections * config.hosts_per_connection),
        most_bench: share(config.max_bench),
        waiting: share(config.max_waiting_hosts),
        ..Limits::default()
    };
    let wall_at_zero = clock.wall().0 - clock.elapsed().as_micros() as u64;
    ShardState {
        frontier: Frontier::new(
            config.order,
            pace,
            limits,
            tables.queue,
            tables.rows,
            Timestamp(wall_at_zero),
        ),
        seen: tables.seen,
        settled: Marks::new(),
        tails: Vec::new(),
    }
}

/// The runs of the manifest that was opened stay until another names others.
pub fn hold_opened(checkpoints: &Checkpoints, shards: &mut [ShardState], views: &Views) {
    for shard in shards {
        if let Some(seen) = shard.seen.opened()
            && let Some((queue, rows)) = shard.frontier.snapshot()
        {
            checkpoints.hold(Frozen::Shard {
                part: Box::default(),
                seen,
                queue,
                rows,
            });
        }
    }
    if let Some((part, tables)) = views.snapshot() {
        checkpoints.hold(Frozen::Views {
            part: Box::new(part),
            tables,
        });
    }
}

/// Archive records that no journal names were never committed: cut them off.
/// Files of epochs before the checkpoint's were cut when those had ended.
pub fn cut_archive(
    disk: &dyn Disk,
    journal: &Path,
    folder: &Path,
    recovered: &Recovered,
    first_epoch: Option<u32>,
) -> Result<(), CrawlError> {
    let names = disk.list(folder).map_err(io_error(folder))?;
    let epochs = epochs_in(disk, journal).map_err(io_error(journal))?;
    let files: Vec<(ArchiveOrigin, &String)> = names
        .iter()
        .filter_map(|name| Some((archive_origin(name)?, name)))
        .collect();
    for (origin, name) in &files {
        if Some(origin.epoch) < first_epoch {
            continue;
        }
        // A file that somebody else put there is not ours to remove: one of
        // an epoch that this crawl never had, or beside the one that it has.
        let is_named = recovered.archive_ends.contains_key(*name);
        let alike = files.iter().filter(|(other, _)| other == origin).count();
        let is_ours = epochs.contains(&(origin.shard, origin.epoch)) && alike == 1;
        if !is_named && !is_ours {
            continue;
        }
        let path = folder.join(name);
        let length = disk
            .open(&path)
            .and_then(|file| file.length())
            .map_err(io_error(&path))?;
        match recovered.archive_ends.get(*name).copied() {
            None => disk.remove(&path).map_err(io_error(&path))?,
            Some(end) if length > end => disk.cut(&path, end).map_err(io_error(&path))?,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Where long documents wait while they come in: on the disk of the crawl,
/// if that is one of the system's.
pub fn spool_folder(dir: &Path) -> PathBuf {
    match dir.is_dir() {
        true => dir.to_owned(),
        false => std::env::temp_dir(),
    }
}
