//! A disk that is full: the crawl says so, loses nothing, and goes on when
//! there is space.

use crate::support::request_log::assert_obedient;
use crate::support::small_disk::SmallDisk;
use crate::support::{Simulated, figure, wait_for};

/// The archive of this web takes some megabytes.
fn web(seed: u64) -> Simulated {
    Simulated::new(40, 900, seed)
}

#[test]
fn a_crawl_that_finds_no_space_stops_and_goes_on_when_there_is_some() {
    let Some(mut disk) = SmallDisk::mount("800k", "64m") else {
        return;
    };
    let web = web(81);
    let dir = disk.path("crawl");
    let settings = ["--set", "min_free_disk=0", "--threads", "2"];
    let stopped = web.crawl(&dir, &settings).expect_code(4);
    stopped.assert_stderr_has("No space left on device");
    stopped.assert_stderr_has("rhumb crawl --dir");
    assert_eq!(stopped.json()["ending"], "failed");
    let failure = stopped.json()["failure"].to_string();
    assert!(failure.contains("No space left on device"), "{failure}");
    let fetched = web
        .ask("urls", &dir, &["--state", "fetched"])
        .expect_code(0);
    assert!(!fetched.lines().is_empty(), "nothing was committed before");
    // Without space it says the same again, as often as it is tried.
    for _ in 0..3 {
        let again = web.go_on(&dir, &[]).expect_code(4);
        again.assert_stderr_has("No space left on device");
    }
    let kept = web
        .ask("urls", &dir, &["--state", "fetched"])
        .expect_code(0);
    let kept = kept.lines();
    let lost = fetched.lines().into_iter().find(|url| !kept.contains(url));
    assert_eq!(lost, None, "what was committed is gone");
    disk.grow();
    let done = web.go_on(&dir, &[]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth(&dir);
}

#[test]
fn a_crawl_pauses_before_the_disk_is_full_and_goes_on_by_itself() {
    let Some(mut disk) = SmallDisk::mount("16m", "256m") else {
        return;
    };
    let web = web(82);
    let dir = disk.path("crawl");
    // More than there is: it pauses before the first visit.
    let settings = ["--set", "min_free_disk=32Mi", "--threads", "2"];
    let running = web.start_crawl(&dir, &settings);
    wait_for("the pause", || {
        let told = running.stderr_so_far();
        told.contains("paused: the disk has").then_some(())
    });
    assert_eq!(web.requests().len(), 0);
    let status = web.ask("status", &dir, &["--json"]).expect_code(0);
    assert!(figure(&status.json(), "queued") > 0);
    disk.grow();
    let done = running.wait().expect_code(0);
    done.assert_stderr_has("the disk has room again");
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth(&dir);
    let asked = crate::support::request_log::asked(&web, &web.requests());
    assert_obedient(&web, &asked);
}
