//! A small crawl on a disk in memory that fails at any write, in any way, and
//! may lose what was not synced: the crawl says so, what recovery makes of it
//! is sound, and the crawl goes on and brings home exactly the reachable set.

mod read_only;
mod small_crawl;

use std::sync::atomic::{AtomicU64, Ordering};

use rhumb_crawl::Ending;
use rhumb_store::{Disk, Fault, MemoryDisk, Unsynced};
use small_crawl::{SmallWeb, manifest};

/// What happens to the disk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    /// The machine dies; of what was not synced, this is left.
    Crash(Unsynced),
    /// The disk fails, and is well again when the crawl is started anew.
    Failure(Fault),
    /// A sync fails, and then the machine dies.
    SyncThenCrash,
}

impl Trouble {
    fn fault(self) -> Fault {
        match self {
            Trouble::Crash(_) => Fault::Broken,
            Trouble::Failure(fault) => fault,
            Trouble::SyncThenCrash => Fault::Sync,
        }
    }

    fn left(self) -> Unsynced {
        match self {
            Trouble::Crash(unsynced) => unsynced,
            Trouble::Failure(_) => Unsynced::Kept,
            Trouble::SyncThenCrash => Unsynced::Dropped,
        }
    }
}

/// Run a crawl into trouble after so many writes, then to its end. Says
/// whether the trouble came.
fn survives(web: &SmallWeb, at: u64, trouble: Trouble) -> bool {
    let when = format!("{trouble:?} after {at} writes");
    let disk = MemoryDisk::default();
    disk.plan(at, trouble.fault());
    run_into_trouble(web, &disk, &when);
    let came = disk.failures() > 0;
    let disk = disk.after_power_loss(trouble.left());
    web.assert_recovers_soundly(&disk, &when);
    let ending = web.crawl(&disk);
    assert!(matches!(ending, Ok(Ending::Finished)), "{when}: {ending:?}");
    web.assert_complete(&disk, &when);
    came
}

/// A run that ends, and says what the disk said if it failed.
fn run_into_trouble(web: &SmallWeb, disk: &MemoryDisk, when: &str) {
    let failures = disk.failures();
    let message = match web.crawl(disk) {
        Ok(Ending::Failed(reason)) => reason,
        Err(error) => error.to_string(),
        Ok(ending) => return assert_eq!(ending, Ending::Finished, "{when}"),
    };
    assert!(disk.failures() > failures, "{when}: {message}");
    assert!(message.contains("injected: "), "{when}: {message}");
}

/// How many of the possible places a test tries.
#[derive(Clone, Copy)]
enum Places {
    Every,
    /// About so many of them, evenly spread.
    Some(u64),
}

/// Runs wait for timers more than they compute.
const RUNS_AT_A_TIME: usize = 4;
/// A run may write a little more than the one that was counted.
const LONGER_RUNS: u64 = 120;

/// Do something for each number, several at a time.
fn for_each(numbers: Vec<u64>, with: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..RUNS_AT_A_TIME {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed) as usize)
                {
                    with(*number);
                }
            });
        }
    });
}

/// Run into trouble at these places of a crawl.
fn survive_at(places: Places, trouble: impl Fn(u64) -> Trouble + Sync) {
    let web = SmallWeb::start();
    let disk = MemoryDisk::default();
    assert_eq!(web.crawl(&disk).unwrap(), Ending::Finished);
    web.assert_complete(&disk, "without trouble");
    let total = match trouble(0).fault() {
        Fault::Sync => disk.syncs(),
        _ => disk.writes(),
    };
    assert!(total > 20, "only {total} writes: nothing to choose from");
    let end = total * LONGER_RUNS / 100;
    let step = match places {
        Places::Every => 1,
        Places::Some(wanted) => (end / wanted).max(1) as usize,
    };
    let came = AtomicU64::new(0);
    let tried: Vec<u64> = (0..end).step_by(step).collect();
    let count = tried.len() as u64;
    for_each(tried, |at| {
        let hit = survives(&web, at, trouble(at));
        came.fetch_add(u64::from(hit), Ordering::Relaxed);
    });
    let came = came.into_inner();
    eprintln!(
        "{:?}: {total} in a run, {count} tried, {came} came",
        trouble(0)
    );
    assert!(came * 3 > count, "the trouble came {came} times of {count}");
}

/// Each kind of trouble is a test of its own; with the complete enumeration
/// beside it, which takes longer.
macro_rules! at_every_write {
    ($($name:ident, $complete:ident: $trouble:expr;)*) => {$(
        #[test]
        fn $name() {
            survive_at(Places::Some(30), $trouble);
        }

        #[test]
        #[ignore = "every single write: run it with --release"]
        fn $complete() {
            survive_at(Places::Every, $trouble);
        }
    )*};
}

at_every_write! {
    a_killed_crawl_goes_on, a_crawl_killed_at_every_write_goes_on:
        |_| Trouble::Crash(Unsynced::Kept);
    a_crawl_survives_the_loss_of_all_that_was_not_synced,
    a_crawl_survives_that_loss_at_every_write:
        |_| Trouble::Crash(Unsynced::Dropped);
    a_crawl_survives_torn_files, a_crawl_survives_torn_files_at_every_write:
        |at| Trouble::Crash(Unsynced::Torn(at));
    a_crawl_survives_reordered_writes, a_crawl_survives_reordering_at_every_write:
        |at| Trouble::Crash(Unsynced::Reordered(at));
    a_failed_write_stops_the_crawl_and_it_goes_on,
    any_failed_write_stops_the_crawl_and_it_goes_on:
        |_| Trouble::Failure(Fault::Once);
    a_short_write_stops_the_crawl_and_it_goes_on,
    any_short_write_stops_the_crawl_and_it_goes_on:
        |_| Trouble::Failure(Fault::Short);
    a_full_disk_stops_the_crawl_and_it_goes_on,
    a_disk_full_at_any_write_stops_the_crawl_and_it_goes_on:
        |_| Trouble::Failure(Fault::NoSpace);
    a_failed_sync_stops_the_crawl_and_it_goes_on,
    any_failed_sync_stops_the_crawl_and_it_goes_on:
        |_| Trouble::Failure(Fault::Sync);
    a_failed_sync_and_a_crash_are_survived,
    any_failed_sync_and_a_crash_are_survived:
        |_| Trouble::SyncThenCrash;
}

/// Crash again and again, each time after other few writes, so that recovery
/// itself is hit too, and each time with another loss.
fn survive_many_crashes(crawls: u64) {
    let web = SmallWeb::start();
    for_each((0..crawls).collect(), |seed| {
        let mut disk = MemoryDisk::default();
        let mut chance = Chance(seed);
        let mut history = Vec::new();
        for _ in 0..2 + chance.below(5) {
            let after = chance.below(60);
            let unsynced = match chance.below(4) {
                0 => Unsynced::Kept,
                1 => Unsynced::Dropped,
                2 => Unsynced::Torn(seed),
                _ => Unsynced::Reordered(seed),
            };
            history.push((after, unsynced));
            let when = format!("seed {seed}: {history:?}");
            disk.fail_after(after);
            run_into_trouble(&web, &disk, &when);
            disk = disk.after_power_loss(unsynced);
            web.assert_recovers_soundly(&disk, &when);
        }
        let when = format!("seed {seed}: {history:?}");
        let ending = web.crawl(&disk);
        assert!(matches!(ending, Ok(Ending::Finished)), "{when}: {ending:?}");
        web.assert_complete(&disk, &when);
    });
}

#[test]
fn crashes_upon_crashes_are_survived() {
    survive_many_crashes(40);
}

#[test]
#[ignore = "many crawls: run it with --release"]
fn many_crashes_upon_crashes_are_survived() {
    survive_many_crashes(300);
}

/// Where nothing is synced, any journal may lose any of it: no visit may have
/// its links or its content with one in another journal.
#[test]
fn a_visit_refers_to_nothing_that_may_be_lost_without_it() {
    let web = SmallWeb::start();
    let rarely = [
        ("sync_interval", "60s"),
        ("checkpoint_visits", "100000"),
        ("journal_roll", "64Mi"),
        ("warc_roll", "64Mi"),
    ];
    let whole = MemoryDisk::default();
    web.crawl_with(&whole, &rarely).unwrap();
    let mut crashed = 0;
    for share in [40, 60, 80] {
        let disk = MemoryDisk::default();
        disk.fail_after(whole.writes() * share / 100);
        // Another run may need fewer writes: then all of it is synced.
        let ending = web.crawl_with(&disk, &rarely);
        crashed += u32::from(!matches!(ending, Ok(Ending::Finished)));
        let seeds = (0..8).collect();
        for_each(seeds, |seed| {
            let left = disk.after_power_loss(Unsynced::Reordered(seed));
            let when = format!("Reordered({seed}) after {share} %");
            web.assert_recovers_soundly(&left, &when);
        });
    }
    assert!(crashed > 0);
}

#[test]
fn a_state_that_could_not_be_made_again_is_not_said_to_be() {
    let web = SmallWeb::start();
    let crawled = MemoryDisk::default();
    assert_eq!(web.crawl(&crawled).unwrap(), Ending::Finished);
    crawled.remove(&manifest()).unwrap();
    let made = crawled.after_power_loss(Unsynced::Kept);
    web.make_state_again(&made).unwrap();
    let writes = made.writes();
    let failed = AtomicU64::new(0);
    for_each((0..writes).collect(), |at| {
        for fault in [Fault::Broken, Fault::NoSpace] {
            let disk = crawled.after_power_loss(Unsynced::Kept);
            disk.plan(at, fault);
            match web.make_state_again(&disk) {
                Ok(()) => assert!(
                    disk.read(&manifest()).is_ok(),
                    "{fault:?} after {at} writes"
                ),
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.contains("injected: "), "{fault:?} after {at}: {told}");
                    failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let failed = failed.into_inner();
    assert!(failed > writes / 2, "{failed} failures at {writes} writes");
}

/// A small generator of numbers, the same from the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
