//! Several who ask a running crawl at a time, some of them slow.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Stdio};

use crate::support::program::{RHUMB, command};
use crate::support::simulated::assert_same;
use crate::support::{Running, Simulated, figure, urls, wait_for};

/// More than a socket and a pipe hold.
const SEEDS: usize = 20_000;

/// A crawl with so many URLs that wait, and that rests.
fn resting_crawl(seed: u64) -> (Simulated, Running) {
    let web = Simulated::new(20, 200, seed);
    let filler = "x".repeat(100);
    let lines: String = (0..SEEDS)
        .map(|n| {
            let page = &web.truth.pages[n % 50];
            format!("{page}?{filler}={n}\n")
        })
        .collect();
    let list = web.dir("list.txt");
    std::fs::write(&list, lines).expect("a file");
    let list = list.display().to_string();
    let more = ["--scope", "page", "--delay", "60s", "--threads", "2"];
    let more = [&more[..], &["--seeds", &list]].concat();
    let running = Running::start(web.go_on_args("crawl", &more));
    wait_for("the crawl to answer", || {
        (web.ask("pause", "crawl", &[]).code == Some(0)).then_some(())
    });
    wait_for("the seeds", || {
        let status = web.ask("status", "crawl", &["--json"]).json();
        let seen = figure(&status, "urls_seen") == SEEDS as u64;
        (seen && figure(&status, "in_flight") == 0).then_some(())
    });
    (web, running)
}

/// `rhumb urls --state queued`, of which one line is read for now.
struct SlowReader {
    child: Child,
    output: BufReader<ChildStdout>,
    first: String,
}

impl SlowReader {
    fn start(web: &Simulated) -> SlowReader {
        let mut rhumb = command(RHUMB);
        rhumb.args(["urls", "--state", "queued", "--dir", &web.dir_arg("crawl")]);
        let mut child = rhumb.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        output.read_line(&mut first).expect("a line");
        SlowReader {
            child,
            output,
            first: first.trim_end().to_owned(),
        }
    }

    fn read_on(mut self) -> Vec<String> {
        let rest = (&mut self.output).lines().map(|line| line.expect("text"));
        let lines = std::iter::once(self.first.clone()).chain(rest).collect();
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
        lines
    }
}

impl Drop for SlowReader {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_slow_reader_holds_up_nobody_and_loses_nothing() {
    let (web, running) = resting_crawl(121);
    let slow = SlowReader::start(&web);
    let all: BTreeSet<String> = urls(&web.dir("crawl"), "queued").into_iter().collect();
    let status = web.ask("status", "crawl", &["--json"]).expect_code(0);
    assert_eq!(all.len() as u64, figure(&status.json(), "queued"));
    web.ask("why", "crawl", &[&slow.first]).expect_code(0);
    web.ask("checkpoint", "crawl", &[]).expect_code(0);
    assert_same("queued", &slow.read_on(), &all);
    running.interrupt().expect_code(130);
}

#[test]
fn lists_are_bounded_in_number_and_leave_room_for_others() {
    let (web, running) = resting_crawl(122);
    let mut slow: Vec<SlowReader> = (0..16).map(|_| SlowReader::start(&web)).collect();
    let more = web.ask("urls", "crawl", &["--state", "queued"]);
    more.expect_code(3).assert_stderr_has("too many ask");
    web.ask("status", "crawl", &[]).expect_code(0);
    drop(slow.pop());
    wait_for("room for another list", || {
        let more = web.ask("urls", "crawl", &["--state", "queued"]);
        (more.code == Some(0)).then_some(())
    });
    // Nor does the crawl wait for them to end.
    web.ask("stop", "crawl", &[]).expect_code(0);
    running.wait().expect_code(0);
}

#[test]
fn a_crawl_that_does_not_answer_is_told() {
    let web = Simulated::new(5, 50, 123);
    let running = web.start_crawl("crawl", &["--delay", "60s"]);
    wait_for("the crawl to answer", || {
        (web.ask("pause", "crawl", &[]).code == Some(0)).then_some(())
    });
    running.signal("STOP");
    let dir = web.dir_arg("crawl");
    let all_give_up = || {
        let askers = ["status", "resume"].map(|name| Running::start([name, "--dir", &dir]));
        for asker in askers {
            let done = asker.wait().expect_code(3);
            done.assert_stderr_has("did not answer within 5 seconds");
            done.assert_stderr_has("kill -CONT");
        }
    };
    all_give_up();
    // More than the system lets wait for it: the next cannot even connect.
    let socket = web.dir("crawl").join("state/control.sock");
    let crowd: Vec<_> = (0..200)
        .map(|_| {
            let socket = socket.clone();
            std::thread::spawn(move || drop(UnixStream::connect(socket)))
        })
        .collect();
    all_give_up();
    running.signal("CONT");
    for one in crowd {
        one.join().expect("it got through");
    }
    wait_for("an answer", || {
        (web.ask("status", "crawl", &[]).code == Some(0)).then_some(())
    });
    running.interrupt().expect_code(130);
}
