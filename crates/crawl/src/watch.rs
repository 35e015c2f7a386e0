//! Looking after a running crawl: its limits, the disk, and whoever watches.

use std::thread::JoinHandle;
use std::time::Duration;

use rhumb_store::CrawlDirectory;

use crate::control::Ending;
use crate::engine::Observer;
use crate::handle::Handle;
use crate::seed_feed::SeedFeed;
use crate::shared::Shared;

/// How often the engine looks at the whole.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often, while visits wait for the seeds.
const BEGIN_SOON: Duration = Duration::from_millis(1);
/// How often it tells the observer, and looks at the disk.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// Look after the crawl until its shards have ended.
pub fn watch(
    handle: &Handle,
    directory: &CrawlDirectory,
    threads: &[JoinHandle<()>],
    feed: &mut SeedFeed,
    observer: &mut dyn Observer,
) {
    let shared = handle.shared();
    let mut tell_at = Duration::ZERO;
    loop {
        if threads.iter().any(JoinHandle::is_finished) && !shared.control.is_ending() {
            // A thread ended that had no reason to.
            handle.end(Ending::Failed("a thread of the crawl ended".to_owned()));
        }
        if threads.iter().all(JoinHandle::is_finished) {
            return tell_notes(shared, observer);
        }
        if !shared.control.is_ending() {
            feed.hand_over(shared, observer);
        }
        if let Some(ending) = reached_limit(handle) {
            handle.end(ending);
        }
        let now = handle.elapsed();
        if now >= tell_at {
            tell_at = now + TELL_EVERY;
            watch_disk(handle, directory, observer);
            tell_notes(shared, observer);
            observer.progress(&handle.snapshot(), handle);
        }
        if shared.control.is_closed() && feed.may_begin(shared) {
            shared.control.open();
            shared.ring_all();
        }
        match shared.control.is_ending() {
            true => std::thread::park_timeout(LOOK_EVERY),
            false if shared.control.is_closed() => feed.wait(BEGIN_SOON, shared, observer),
            false => feed.wait(LOOK_EVERY, shared, observer),
        }
    }
}

fn tell_notes(shared: &Shared, observer: &mut dyn Observer) {
    for note in shared.notes.take() {
        observer.note(&note);
    }
}

fn reached_limit(handle: &Handle) -> Option<Ending> {
    let shared = handle.shared();
    let fetched = shared.counters.fetched();
    let config = &shared.config;
    if shared.pending.is_empty() {
        Some(Ending::Finished)
    } else if shared.budget.is_spent(fetched) {
        Some(Ending::PageLimit)
    } else if shared.byte_budget.is_spent() {
        Some(Ending::ByteLimit)
    } else if config
        .max_time
        .0
        .is_some_and(|limit| handle.elapsed() >= limit)
    {
        Some(Ending::TimeLimit)
    } else {
        None
    }
}

/// Pause below the low-water mark, go on above it.
fn watch_disk(handle: &Handle, directory: &CrawlDirectory, observer: &mut dyn Observer) {
    let shared = handle.shared();
    let Ok(free) = shared.disk.free_bytes(directory.path()) else {
        return;
    };
    let wanted = shared.config.min_free_disk.0;
    let full = free < wanted;
    if full != shared.control.is_disk_full() {
        shared.control.set_disk_full(full);
        shared.ring_all();
        observer.note(&if full {
            format!(
                "paused: the disk has {} MiB free, less than min_free_disk = {} MiB; \
                 free some space and the crawl goes on by itself",
                free >> 20,
                wanted >> 20
            )
        } else {
            "the disk has room again: going on".to_owned()
        });
    }
}
