//! However a crawl was stopped, it goes on where it was.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::program::{RHUMB, command};
use crate::support::request_log::{asked, assert_complete, assert_obedient};
use crate::support::{Running, Simulated, figure, run, urls, wait_for};

/// A web whose answers take a moment, so that a crawl can be caught in it.
fn slow_web(seed: u64) -> Simulated {
    Simulated::with_latency(60, 1_200, seed, Duration::from_millis(4))
}

/// Until the crawl that was started last has asked for so much.
fn wait_for_requests(web: &Simulated, count: usize) {
    let wanted = web.sim.requests().len() + count;
    wait_for("requests", || {
        (web.sim.requests().len() >= wanted).then_some(())
    });
}

#[test]
fn after_ctrl_c_nothing_is_asked_for_twice() {
    let web = slow_web(31);
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for_requests(&web, 200);
    let stopped = running.interrupt().expect_code(130);
    assert_eq!(stopped.json()["ending"], "interrupted");
    assert!(figure(&stopped.json(), "queued") > 0);
    stopped.assert_stderr_has("Go on with:");
    // Everything else is remembered, and the number of shards may change.
    let dir = web.dir_arg("crawl");
    let done = run(["crawl", "--dir", &dir, "--threads", "3", "--json"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn a_termination_signal_stops_as_cleanly() {
    let web = slow_web(32);
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for_requests(&web, 100);
    running.signal("TERM");
    running.wait().expect_code(143);
    web.go_on("crawl", &["--threads", "1"]).expect_code(0);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn after_the_stop_command_nothing_is_asked_for_twice() {
    let web = slow_web(33);
    let running = web.start_crawl("crawl", &["--threads", "1"]);
    wait_for_requests(&web, 200);
    web.ask("stop", "crawl", &[]).expect_code(0);
    let stopped = running.wait().expect_code(0);
    assert_eq!(stopped.json()["ending"], "stopped");
    let done = web.go_on("crawl", &["--threads", "4"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn many_stops_add_up_to_one_crawl() {
    let web = slow_web(34);
    let mut running = web.start_crawl("crawl", &["--threads", "2"]);
    for threads in ["4", "1", "3"] {
        wait_for_requests(&web, 150);
        running.interrupt().expect_code(130);
        running = Running::start(web.go_on_args("crawl", &["--threads", threads]));
    }
    let done = running.wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn what_was_committed_before_a_kill_is_not_fetched_again() {
    let web = slow_web(35);
    let mut running = web.start_crawl("crawl", &["--threads", "2"]);
    let mut kept = BTreeSet::new();
    for threads in ["3", "1", "2"] {
        wait_for_requests(&web, 200);
        assert_eq!(running.kill().code, None);
        let committed: BTreeSet<String> = ["fetched", "failed"]
            .iter()
            .flat_map(|state| urls(&web.dir("crawl"), state))
            .collect();
        assert!(committed.is_superset(&kept), "what was committed is gone");
        kept = committed;
        let before = web.sim.requests().len();
        running = Running::start(web.go_on_args("crawl", &["--threads", threads]));
        wait_for_requests(&web, 50);
        for url in asked(&web, &web.sim.requests()[before..]) {
            assert!(!kept.contains(&url), "{url} was committed before the kill");
        }
    }
    let done = running.wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_obedient(&web, &asked(&web, &web.requests()));
}

#[test]
fn a_finished_crawl_stays_finished() {
    let web = Simulated::new(10, 150, 36);
    let first = web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    let again = web.go_on("crawl", &["--threads", "1"]).expect_code(0);
    web.assert_counts_are_the_truth(&again);
    assert_eq!(figure(&again.json(), "fetched_this_run"), 0);
    for count in [
        "fetched",
        "failed",
        "refused",
        "duplicates",
        "links",
        "bytes",
    ] {
        assert_eq!(
            figure(&again.json(), count),
            figure(&first.json(), count),
            "{count}"
        );
    }
    assert_complete(&web);
}

#[test]
fn new_seeds_join_a_crawl_that_exists() {
    let web = Simulated::new(10, 150, 37);
    let first = web.truth.pages[0].clone();
    let second = web.truth.pages.last().cloned().unwrap_or_default();
    let dir = web.dir_arg("crawl");
    let dns = web.dns();
    let args = |seed: &str| {
        let mut args = ["crawl", seed, "--dir", &dir, "--json", "--scope", "page"]
            .map(str::to_owned)
            .to_vec();
        args.extend(["--delay".to_owned(), "0s".to_owned()]);
        args.extend(dns.clone());
        args
    };
    run(args(&first)).expect_code(0);
    run(args(&second)).expect_code(0);
    run(args(&first)).expect_code(0);
    let mut fetched = urls(&web.dir("crawl"), "fetched");
    fetched.sort();
    let mut both = vec![first, second];
    both.sort();
    assert_eq!(fetched, both);
}

#[test]
fn the_command_to_go_on_with_can_be_pasted() {
    let web = slow_web(97);
    let running = web.start_crawl("it's a crawl", &[]);
    wait_for_requests(&web, 60);
    let stopped = running.interrupt().expect_code(130);
    let hint = stopped
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("Go on with: "));
    let hint = hint.unwrap_or_else(|| panic!("no hint in {}", stopped.stderr));
    // As cargo starts the tests, it names cargo.
    let (_, arguments) = hint.split_once(" crawl ").expect("a command");
    let mut shell = command("sh");
    shell.args(["-c", &format!("\"$0\" crawl {arguments} --json"), RHUMB]);
    let done = Running::spawn(shell).wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
}
