//! A seed whose visit failed is visited again when it is given again; a page
//! that was fetched is not.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::odd_server::{OddServer, Reply, crawl, page};
use crate::support::{Running, run, urls, wait_for};

/// How the server is: each number is another way to answer.
const CLOSES: usize = 0;
const BUSY: usize = 1;
const SILENT: usize = 2;
const WORKS: usize = 3;

struct Server {
    server: OddServer,
    mood: Arc<AtomicUsize>,
    seed: String,
}

impl Server {
    fn start(mood: usize) -> Server {
        let mood = Arc::new(AtomicUsize::new(mood));
        let current = Arc::clone(&mood);
        let server = OddServer::start(move |path| match current.load(Ordering::SeqCst) {
            CLOSES => Reply::Close,
            BUSY => Reply::Answer("500 Oops", String::new()),
            SILENT if path == "/" => Reply::Silence,
            _ if path == "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
            _ => page(&["/", "/other"]),
        });
        let seed = format!("http://{}/", server.address);
        Server { server, mood, seed }
    }

    fn becomes(&self, mood: usize) {
        self.mood.store(mood, Ordering::SeqCst);
    }

    fn times_asked(&self) -> usize {
        self.server.asked().len()
    }
}

/// Two failures are enough for this host.
const PACE: [&str; 6] = [
    "--delay",
    "0s",
    "--set",
    "retry_delay=1ms",
    "--set",
    "host_failures=2",
];

fn ask(command: &str, dir: &Path) {
    run([command, "--dir", &dir.display().to_string()]).expect_code(0);
}

fn go_on(dir: &Path) -> crate::support::Done {
    run([
        "crawl",
        "--dir",
        &dir.display().to_string(),
        "--json",
        "--quiet",
    ])
}

fn state(url: &str, dir: &Path) -> String {
    let dir = dir.display().to_string();
    let why = run(["why", url, "--dir", &dir, "--json"]).expect_code(0);
    why.json()["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_seed_that_failed_is_tried_again_and_a_page_is_not() {
    for (mood, told) in [(CLOSES, "closed"), (BUSY, "status 500")] {
        let server = Server::start(mood);
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("crawl");
        for _ in 0..2 {
            let before = server.times_asked();
            let done = crawl(&server.seed, &dir, &PACE).expect_code(6);
            assert!(server.times_asked() > before, "it was not tried");
            for text in [&server.seed, told, "give a seed again"] {
                done.assert_stderr_has(text);
            }
            ask("verify", &dir);
        }
        // Nobody asked for another try.
        let before = server.times_asked();
        let done = go_on(&dir).expect_code(6);
        assert_eq!(server.times_asked(), before);
        for text in ["nothing was left to visit", &server.seed, told] {
            done.assert_stderr_has(text);
        }

        server.becomes(WORKS);
        crawl(&server.seed, &dir, &PACE).expect_code(0);
        let mut fetched = urls(&dir, "fetched");
        fetched.sort();
        assert_eq!(
            fetched,
            [server.seed.clone(), format!("{}other", server.seed)]
        );
        for state in ["failed", "refused", "queued"] {
            assert!(urls(&dir, state).is_empty(), "{state}");
        }
        assert_eq!(state(&server.seed, &dir), "fetched");

        // Whatever the state is made from again, nothing is fetched twice.
        let asked = server.times_asked();
        for command in ["verify", "rebuild", "verify", "compact", "verify"] {
            ask(command, &dir);
            crawl(&server.seed, &dir, &PACE).expect_code(0);
            assert_eq!(server.times_asked(), asked, "after {command}");
        }
        assert_eq!(urls(&dir, "fetched").len(), 2);
    }
}

#[test]
fn that_it_is_to_be_tried_again_survives_a_kill() {
    let server = Server::start(BUSY);
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    crawl(&server.seed, &dir, &PACE).expect_code(6);
    server.becomes(SILENT);
    let dir_text = dir.display().to_string();
    let args = ["crawl", &server.seed, "--dir", &dir_text, "--quiet"];
    let running = Running::start(args.iter().chain(&PACE));
    wait_for("the second try", || {
        let asked = server.server.asked();
        asked.iter().any(|asked| asked.path == "/").then_some(())
    });
    // The record that says so may still be on its way to the journal.
    wait_for("the seed in the journal", || {
        (state(&server.seed, &dir) == "in-flight").then_some(())
    });
    // Given a third time while it waits, it waits once.
    run(["add", &server.seed, "--dir", &dir_text]).expect_code(0);
    running.kill();
    assert_eq!(state(&server.seed, &dir), "queued");
    assert_eq!(urls(&dir, "queued").len(), 1);
    assert!(urls(&dir, "refused").is_empty());
    ask("verify", &dir);
    server.becomes(WORKS);
    go_on(&dir).expect_code(0);
    assert_eq!(state(&server.seed, &dir), "fetched");
    let pages = server.server.asked();
    let others = pages.iter().filter(|asked| asked.path == "/other").count();
    assert_eq!(others, 1);
    ask("verify", &dir);
}

/// A URL's later record then stands in another journal, with lower numbers.
#[test]
fn it_is_so_with_another_number_of_threads_each_time() {
    for threads in [["1", "2", "2"], ["3", "2", "1"]] {
        let works = Arc::new(AtomicUsize::new(0));
        let now = Arc::clone(&works);
        let server = OddServer::start(move |path| match now.load(Ordering::SeqCst) {
            _ if path == "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
            0 => Reply::Answer("500 Oops", String::new()),
            _ => page(&[]),
        });
        let port = server.address.port();
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("crawl");
        let names = (0..8).map(|host| format!("h{host}.s{host}.test"));
        let names: Vec<String> = names.collect();
        let given: Vec<String> = (names.iter())
            .flat_map(|name| (0..5).map(move |page| format!("http://{name}:{port}/{page}")))
            .collect();
        let run_again = |threads: &str, time: &str, code: i32| {
            let mut args = vec!["crawl".to_owned()];
            args.extend(given.iter().cloned());
            args.extend(["--dir".to_owned(), dir.display().to_string()]);
            let more = ["--resolve", "*=127.0.0.1", "--scope", "page", "--quiet"];
            args.extend(more.map(str::to_owned));
            let pace = ["--delay", "1ms", "--threads", threads, "--max-time", time];
            args.extend(pace.map(str::to_owned));
            run(args).expect_code(code);
        };
        let pages = || {
            let asked = server.asked();
            asked.iter().filter(|a| a.path != "/robots.txt").count()
        };
        run_again(threads[0], "none", 6);
        assert_eq!(pages(), 40);
        works.store(1, Ordering::SeqCst);
        run_again(threads[1], "1ms", 6);
        run_again(threads[2], "none", 0);
        assert_eq!(pages(), 80, "each of them once more, {threads:?}");
        let mut fetched = urls(&dir, "fetched");
        fetched.sort();
        assert_eq!(fetched, given, "{threads:?}");
        assert!(urls(&dir, "failed").is_empty(), "{threads:?}");
    }
}

/// The set may answer a seed only after its visit of this run has failed too.
#[test]
fn one_that_waits_already_is_visited_once() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
        _ => Reply::Answer("500 Oops", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seeds: Vec<String> = (0..10)
        .map(|page| format!("http://{}/{page}", server.address))
        .collect();
    let run_again = |time: &str| {
        let args = ["crawl", "--dir", &dir, "--delay", "5ms", "--quiet"];
        let limits = ["--max-time", time, "--set", "host_failures=100"];
        let seeds = seeds.iter().map(String::as_str);
        run(args.into_iter().chain(limits).chain(seeds)).expect_code(6);
        let asked = server.asked();
        asked.iter().filter(|a| a.path != "/robots.txt").count()
    };
    assert_eq!(run_again("none"), 10);
    let begun = run_again("1ms");
    assert_eq!(run_again("none"), 20.max(begun), "once more each");
}
