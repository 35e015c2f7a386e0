//! Looking at a running crawl and steering it from another process.

use std::time::Duration;

use crate::support::program::{RHUMB, command};
use crate::support::request_log::assert_complete;
use crate::support::{Running, Simulated, figure, run_with, wait_for};

fn slow_web(seed: u64) -> Simulated {
    Simulated::with_latency(40, 600, seed, Duration::from_millis(40))
}

fn status(web: &Simulated) -> serde_json::Value {
    web.ask("status", "crawl", &["--json"])
        .expect_code(0)
        .json()
}

#[test]
fn a_running_crawl_answers_questions() {
    let web = slow_web(111);
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for("pages", || (web.sim.requests().len() > 60).then_some(()));
    let report = status(&web);
    assert_eq!(report["running"], true);
    assert_eq!(report["paused"], false);
    assert_eq!(figure(&report, "shards"), 2);
    assert!(figure(&report, "urls_seen") > 0);
    let sizes = &report["sizes"];
    assert_eq!(
        figure(&sizes["urls"], "entries"),
        figure(&report, "urls_seen")
    );
    assert!(figure(&sizes["journal"], "bytes") > 0, "{sizes}");

    wait_for("URLs in flight", || {
        let listed = web.ask("urls", "crawl", &["--state", "in-flight"]);
        (!listed.expect_code(0).lines().is_empty()).then_some(())
    });
    let queued = wait_for("URLs that wait", || {
        let listed = web.ask("urls", "crawl", &["--state", "queued"]);
        listed.expect_code(0).lines().pop()
    });
    let fetched = wait_for("committed URLs", || {
        let listed = web.ask("urls", "crawl", &["--state", "fetched"]);
        listed.expect_code(0).lines().pop()
    });
    let state = |url: &str| {
        let why = web.ask("why", "crawl", &[url, "--json"]).expect_code(0);
        why.json()["state"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(state(&fetched), "fetched");
    // It may have been visited since it was listed, but it is known.
    assert_ne!(state(&queued), "unseen");
    let done = running.wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
    assert_complete(&web);
}

#[test]
fn a_paused_crawl_asks_for_nothing_until_it_is_resumed() {
    let web = slow_web(112);
    let mut running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for("pages", || (web.sim.requests().len() > 60).then_some(()));
    web.ask("pause", "crawl", &[]).expect_code(0);
    wait_for("visits under way to end", || {
        (figure(&status(&web), "in_flight") == 0).then_some(())
    });
    let report = status(&web);
    assert_eq!(report["paused"], true);
    assert_eq!(report["pages_per_second"], 0.0);
    let text = web.ask("status", "crawl", &[]).expect_code(0).stdout;
    assert!(text.contains("none while it is paused"), "{text}");
    let settled = web.sim.requests().len();
    for _ in 0..10 {
        let now = status(&web);
        assert_eq!(figure(&now, "fetched"), figure(&report, "fetched"));
        assert!(figure(&now, "queued") > 0);
    }
    assert_eq!(web.sim.requests().len(), settled);
    assert!(!running.has_ended());

    web.ask("resume", "crawl", &[]).expect_code(0);
    wait_for("more requests", || {
        (web.sim.requests().len() > settled + 20).then_some(())
    });
    assert_eq!(status(&web)["paused"], false);
    web.ask("stop", "crawl", &[]).expect_code(0);
    assert_eq!(running.wait().expect_code(0).json()["ending"], "stopped");
    web.ask("stop", "crawl", &[])
        .expect_code(3)
        .assert_stderr_has("no crawl is running");
    web.go_on("crawl", &[]).expect_code(0);
    assert_complete(&web);
}

#[test]
fn seeds_are_added_in_the_form_of_a_file_of_seeds() {
    let web = slow_web(116);
    let running = web.start_crawl("crawl", &[]);
    wait_for("pages", || (web.sim.requests().len() > 20).then_some(()));
    web.ask("pause", "crawl", &[]).expect_code(0);
    let seed = &web.truth.seed_url;
    let list = format!(
        "# a list\n\n{seed}?new=1\r\n  {seed}?new=2\n{seed}\n{seed}?new=1\nhttp://[\na\tb\n"
    );
    let dir = web.dir_arg("crawl");
    let done = run_with(["add", "-", "--dir", &dir], list.as_bytes()).expect_code(2);
    assert!(
        done.stdout.contains("2 added, 2 already known, 2 refused"),
        "{}",
        done.stdout
    );
    done.assert_stderr_has("`a\\tb` cannot be a seed");
    let another = format!("{seed}?new=3");
    let done = web.ask("add", "crawl", &[&another]).expect_code(0).stdout;
    assert!(done.contains("1 added, 0 already known"), "{done}");
    running.interrupt().expect_code(130);
    let why = web.ask("why", "crawl", &[&another, "--json"]).json();
    assert!(why["seed"]["time"].is_string(), "{why}");
}

#[test]
fn a_paused_crawl_can_be_stopped() {
    let web = slow_web(113);
    let running = web.start_crawl("crawl", &[]);
    wait_for("pages", || (web.sim.requests().len() > 20).then_some(()));
    web.ask("pause", "crawl", &[]).expect_code(0);
    assert_eq!(
        running.interrupt().expect_code(130).json()["ending"],
        "interrupted"
    );
    web.go_on("crawl", &[]).expect_code(0);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

/// A crawl started by a shell that does something first.
fn start_by_shell(web: &Simulated, first: &str) -> Running {
    // The tests themselves may run where hang-ups are ignored.
    let mut shell = command("env");
    shell.args(["--default-signal=HUP", "sh", "-c"]);
    shell.args([&format!("{first}exec \"$@\""), "sh", RHUMB]);
    shell.args(web.crawl_args("crawl", &[]));
    Running::spawn(shell)
}

#[test]
fn a_closed_terminal_stops_the_crawl_cleanly() {
    let web = slow_web(117);
    // A terminal that is gone cannot be written to either.
    let running = start_by_shell(&web, "exec 2>/dev/full; ");
    wait_for("pages", || (web.sim.requests().len() > 20).then_some(()));
    running.signal("HUP");
    let done = running.wait().expect_code(129);
    assert_eq!(done.json()["ending"], "interrupted");
    web.go_on("crawl", &[]).expect_code(0);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn a_crawl_that_is_to_outlive_its_terminal_does() {
    let web = slow_web(118);
    let running = start_by_shell(&web, "trap '' HUP; ");
    wait_for("pages", || (web.sim.requests().len() > 20).then_some(()));
    running.signal("HUP");
    let done = running.wait().expect_code(0);
    assert_eq!(done.json()["ending"], "finished");
}

#[test]
fn a_directory_with_a_long_path_can_be_asked_too() {
    let web = slow_web(114);
    // Longer than the path of a socket may be.
    let name = format!("{}/crawl", "long".repeat(40));
    std::fs::create_dir(web.dir(&"long".repeat(40))).expect("a folder");
    let running = web.start_crawl(&name, &[]);
    wait_for("pages", || (web.sim.requests().len() > 20).then_some(()));
    let report = web.ask("status", &name, &["--json"]).expect_code(0).json();
    assert_eq!(report["running"], true);
    web.ask("stop", &name, &[]).expect_code(0);
    running.wait().expect_code(0);
}

#[test]
fn after_a_kill_nobody_is_said_to_be_running() {
    let web = slow_web(115);
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for("pages", || (web.sim.requests().len() > 60).then_some(()));
    running.kill();
    let report = status(&web);
    assert_eq!(report["running"], false);
    web.ask("pause", "crawl", &[]).expect_code(3);
    let fetched = web
        .ask("urls", "crawl", &["--state", "fetched"])
        .expect_code(0);
    assert_eq!(fetched.lines().len() as u64, figure(&report, "fetched"));
}

#[test]
fn a_crawl_whose_socket_was_taken_away_still_ends() {
    let web = slow_web(118);
    let running = web.start_crawl("crawl", &["--max-pages", "120"]);
    let socket = web.dir("crawl").join("state/control.sock");
    wait_for("pages", || (web.sim.requests().len() > 60).then_some(()));
    std::fs::remove_file(socket).expect("the socket");
    running.wait().expect_code(0);
}

#[test]
fn a_copy_of_a_running_crawl_is_not_that_crawl() {
    let web = slow_web(119);
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for("the crawl to answer", || {
        let report = web.ask("status", "crawl", &["--json"]);
        (report.code == Some(0) && report.json()["running"] == true).then_some(())
    });
    web.ask("pause", "crawl", &[]).expect_code(0);
    let copied = web.dir("copy").join("state");
    std::fs::create_dir_all(&copied).expect("a folder");
    for name in ["identity.toml", "socket"] {
        let from = web.dir("crawl").join("state").join(name);
        std::fs::copy(from, copied.join(name)).expect("a copy");
    }
    for command in ["stop", "resume", "pause"] {
        web.ask(command, "copy", &[]).expect_code(3);
    }
    assert_eq!(status(&web)["paused"], true);
    // By another path it is the same folder.
    std::os::unix::fs::symlink(web.dir("crawl"), web.dir("link")).expect("a link");
    web.ask("stop", "link", &[]).expect_code(0);
    running.wait().expect_code(0);
}
