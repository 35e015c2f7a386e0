//! What cannot work is told in time, with the exit code that says so.

use std::net::TcpListener;
use std::path::Path;

use crate::support::program::{RHUMB, command};
use crate::support::request_log::assert_complete;
use crate::support::{Running, Simulated, run, wait_for};

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_refused_connection_is_told() {
    let folder = temp();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let seed = format!("http://127.0.0.1:{port}/");
    let dir = text(&folder.path().join("crawl"));
    let args = ["crawl", &seed, "--dir", &dir, "--set", "retry_delay=1ms"];
    let done = run(args).expect_code(6);
    done.assert_stderr_has("nothing could be fetched");
    done.assert_stderr_has("the connection was refused");
    let why = run(["why", &seed, "--dir", &dir]).expect_code(0);
    assert!(
        why.stdout.contains("the connection was refused"),
        "{}",
        why.stdout
    );
    run(["fetch", &seed])
        .expect_code(6)
        .assert_stderr_has("the connection was refused");
}

#[test]
fn a_name_that_does_not_exist_is_told() {
    let web = Simulated::new(2, 10, 51);
    let dir = web.dir_arg("crawl");
    let mut args = ["crawl", "http://no-such-name.test/", "--dir", &dir]
        .map(str::to_owned)
        .to_vec();
    args.extend(web.dns());
    let done = run(args).expect_code(6);
    done.assert_stderr_has("the name does not exist");
    assert!(web.requests().is_empty());
}

#[test]
fn a_seed_that_is_no_url_makes_no_directory() {
    let folder = temp();
    for seed in ["http://", "ftp://example.org/", "http://[::1", "not a url"] {
        let mut rhumb = command(RHUMB);
        rhumb.args(["crawl", seed]).current_dir(folder.path());
        let done = Running::spawn(rhumb).wait().expect_code(2);
        done.assert_stderr_has(seed);
    }
    run(["crawl", "--dir", &text(&folder.path().join("crawl"))])
        .expect_code(3)
        .assert_stderr_has("no seed to begin one");
    let left = std::fs::read_dir(folder.path())
        .expect("the folder")
        .count();
    assert_eq!(left, 0, "something was made");
}

#[test]
fn an_unknown_setting_suggests_the_nearest() {
    let folder = temp();
    let dir = text(&folder.path().join("crawl"));
    let base = ["crawl", "http://127.0.0.1:9/", "--dir", &dir];
    let suggests = |done: crate::support::Done| {
        done.expect_code(2)
            .assert_stderr_has("did you mean `max_pages`?");
    };
    suggests(run(base.iter().chain(&["--set", "max_page=3"])));

    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "max_pagess = 3\n").expect("a file");
    suggests(run(base.iter().chain(&["--config", &text(&file)])));

    let mut rhumb = command(RHUMB);
    rhumb.args(base).env("RHUMB_MAXPAGES", "3");
    suggests(Running::spawn(rhumb).wait());
    assert!(!Path::new(&dir).exists());
}

#[test]
fn a_value_that_makes_no_sense_is_told() {
    let folder = temp();
    let dir = text(&folder.path().join("crawl"));
    let base = ["crawl", "http://127.0.0.1:9/", "--dir", &dir];
    for (wrong, told) in [
        (["--delay", "soon"], "delay"),
        (["--scope", "planet"], "page, prefix, host, domain, any"),
        (["--threads", "0"], "at least 1"),
        (["--max-pages", "-3"], "max_pages"),
        (["--dns", "nowhere"], "ADDRESS:PORT"),
        (["--resolve", "a.test"], "HOST=ADDRESS"),
        (["--set", "warc=tar"], "gzip, zstd, none"),
        (["--set", "delay"], "key=value"),
        (["--set", "types=garbage"], "not a media type"),
        (["--set", "memory=1k"], "at least 64Ki"),
        (["--resolve", "a.test=127.0.0.1:80"], "without a port"),
        (["--config", "/nowhere/at/all.toml"], "/nowhere/at/all.toml"),
    ] {
        let joined = format!("{}={}", wrong[0], wrong[1]);
        let done = run(base.iter().chain(&[joined.as_str()]));
        done.expect_code(2).assert_stderr_has(told);
        let done = run(["config", joined.as_str()]);
        done.expect_code(2).assert_stderr_has(told);
    }
    assert!(!Path::new(&dir).exists());
}

#[test]
fn every_message_says_what_to_do_next() {
    let folder = temp();
    let nowhere = text(&folder.path().join("nowhere"));
    for (args, next) in [
        (["config", "--delay", "soon"], "`rhumb config` prints"),
        (["config", "--config", &nowhere], "Check the path"),
        (["config", "--set", "zzzzzzzz=1"], "`rhumb config` lists"),
        (["crawl", "--seeds", &nowhere], "Check the path"),
        (["crawl", "--dir", &nowhere], "give a URL"),
        (
            ["verify", "--dir", &nowhere],
            "Name the directory of a crawl",
        ),
        (["pause", "--dir", &nowhere], "start it with"),
    ] {
        let done = run(args);
        assert_ne!(done.code, Some(0), "{args:?}");
        done.assert_stderr_has(next);
    }
    let url = ["extract", &nowhere, "--url", "http://a.test/"];
    run(url).expect_code(2).assert_stderr_has("Check the path");
}

#[test]
fn an_unreadable_list_of_seeds_is_told() {
    let folder = temp();
    let dir = text(&folder.path().join("crawl"));
    let missing = text(&folder.path().join("missing.txt"));
    run(["crawl", "--seeds", &missing, "--dir", &dir])
        .expect_code(2)
        .assert_stderr_has("missing.txt");
    // A folder can be opened, but not read; also a good seed beside it does
    // not make it one.
    let seed = "http://127.0.0.1:9/";
    for seeds in [&[][..], &[seed]] {
        let args = ["crawl", "--seeds", &text(folder.path()), "--dir", &dir];
        run(args.iter().chain(seeds))
            .expect_code(2)
            .assert_stderr_has(&text(folder.path()));
    }
    let nonsense = folder.path().join("nonsense.txt");
    std::fs::write(&nonsense, "http://[\n\u{1}\u{2}\n").expect("a file");
    run(["crawl", "--seeds", &text(&nonsense), "--dir", &dir])
        .expect_code(2)
        .assert_stderr_has("none of the seeds is a URL");
    assert!(!Path::new(&dir).exists());
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let folder = temp();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("a file");
    let below = text(&file.join("crawl"));
    run(["crawl", "http://127.0.0.1:9/", "--dir", &below])
        .expect_code(3)
        .assert_stderr_has(&below);
    run(["crawl", "http://127.0.0.1:9/", "--dir", &text(&file)])
        .expect_code(3)
        .assert_stderr_has(&text(&file));
}

#[test]
fn a_directory_that_cannot_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temp();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).expect("a folder");
    let mode = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(&closed, mode).expect("permissions");
    if std::fs::write(closed.join("probe"), "").is_ok() {
        eprintln!("left out: whoever runs this may write everywhere");
        return;
    }
    let dir = text(&closed.join("crawl"));
    run(["crawl", "http://127.0.0.1:9/", "--dir", &dir])
        .expect_code(3)
        .assert_stderr_has(&dir);
}

#[test]
fn a_directory_that_is_no_crawl_is_told() {
    let folder = temp();
    let dir = text(folder.path());
    for args in [
        vec!["status", "--dir", &dir],
        vec!["urls", "--state", "fetched", "--dir", &dir],
        vec!["why", "http://a.test/", "--dir", &dir],
        vec!["config", "--dir", &dir],
    ] {
        run(args)
            .expect_code(3)
            .assert_stderr_has("is not a crawl directory");
    }
    for steer in ["pause", "resume", "stop"] {
        run([steer, "--dir", &dir])
            .expect_code(3)
            .assert_stderr_has("no crawl is running");
    }
}

#[test]
fn too_few_file_descriptors_are_told_beforehand() {
    let folder = temp();
    let dir = text(&folder.path().join("crawl"));
    let mut shell = command("sh");
    shell.args(["-c", "ulimit -n 50; exec \"$@\"", "sh", RHUMB]);
    shell.args(["crawl", "http://127.0.0.1:9/", "--dir", &dir]);
    let done = Running::spawn(shell).wait().expect_code(5);
    for remedy in ["ulimit -n", "--connections", "--threads"] {
        done.assert_stderr_has(remedy);
    }
    assert!(!Path::new(&dir).exists());
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let web = Simulated::with_latency(20, 300, 52, std::time::Duration::from_millis(5));
    let running = web.start_crawl("crawl", &["--threads", "2"]);
    wait_for("requests", || (web.sim.requests().len() > 50).then_some(()));
    let second = web.crawl("crawl", &["--max-pages", "1"]).expect_code(3);
    second.assert_stderr_has(&format!("in use by process {}", running.id()));
    let done = running.wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn a_disk_nearly_full_pauses_the_crawl_before_anything_is_fetched() {
    let web = Simulated::new(10, 100, 53);
    let running = web.start_crawl("crawl", &["--set", "min_free_disk=100Ti"]);
    wait_for("the notice", || {
        running
            .stderr_so_far()
            .contains("less than min_free_disk")
            .then_some(())
    });
    let status = web.ask("status", "crawl", &["--json"]).expect_code(0);
    assert_eq!(status.json()["disk_full"], true);
    let stopped = running.interrupt().expect_code(130);
    assert_eq!(stopped.json()["fetched"], 0);
    assert!(web.requests().is_empty(), "something was asked for");
    let done = web.go_on("crawl", &["--set", "min_free_disk=1Mi"]);
    web.assert_counts_are_the_truth(&done.expect_code(0));
    assert_complete(&web);
}

#[test]
fn what_is_in_flight_is_asked_of_a_crawl() {
    let folder = temp();
    let missing = text(&folder.path().join("missing"));
    run(["urls", "--state", "in-flight", "--dir", &missing]).expect_code(3);
}
