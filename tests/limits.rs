//! Limits end a crawl where they say, and a higher limit lets it go on.

use std::collections::BTreeSet;

use crate::support::odd_server::{OddServer, Reply, crawl, page};
use crate::support::request_log::{asked, assert_complete};
use crate::support::{Simulated, figure, run, urls, warc};

/// Crawl to a limit on pages and look at everything that tells their number.
fn ends_after_exactly(web: &Simulated, limit: usize, threads: &str) {
    let dir = format!("limit-{limit}-{threads}");
    let text = limit.to_string();
    let done = web
        .crawl(&dir, &["--threads", threads, "--max-pages", &text])
        .expect_code(0);
    let json = done.json();
    assert_eq!(json["ending"], "page-limit");
    assert_eq!(figure(&json, "fetched"), limit as u64);
    let fetched = urls(&web.dir(&dir), "fetched");
    assert_eq!(fetched.len(), limit);
    let fetched: BTreeSet<String> = fetched.into_iter().collect();
    assert_eq!(fetched.len(), limit, "some were fetched twice");
    let archived: Vec<String> = warc::read(&web.dir(&dir))
        .iter()
        .flatten()
        .filter(|record| record.is_capture() && fetched.contains(record.url()))
        .map(|record| record.url().to_owned())
        .collect();
    assert_eq!(archived.len(), limit);
    assert_eq!(archived.into_iter().collect::<BTreeSet<_>>(), fetched);
}

#[test]
fn the_limit_on_pages_is_exact_with_any_number_of_shards() {
    let web = Simulated::new(40, 800, 21);
    for threads in ["1", "2", "4"] {
        for limit in [1, 7, 100, 333] {
            ends_after_exactly(&web, limit, threads);
        }
    }
}

#[test]
fn a_limit_above_what_there_is_changes_nothing() {
    let web = Simulated::new(10, 150, 22);
    let limit = web.to_fetch().len() + 1;
    let done = web.crawl(
        "crawl",
        &["--max-pages", &limit.to_string(), "--threads", "2"],
    );
    web.assert_counts_are_the_truth(&done.expect_code(0));
    assert_complete(&web);
}

#[test]
fn a_crawl_at_its_limit_goes_on_when_the_limit_is_raised() {
    let web = Simulated::new(40, 800, 23);
    web.crawl("crawl", &["--max-pages", "100", "--threads", "2"])
        .expect_code(0);
    // As it stands there is nothing to do.
    let before = web.requests().len();
    let again = web.go_on("crawl", &[]).expect_code(0);
    assert_eq!(figure(&again.json(), "fetched"), 100);
    assert_eq!(asked(&web, &web.requests()[before..]), Vec::<String>::new());
    let more = web.go_on("crawl", &["--max-pages", "250"]).expect_code(0);
    assert_eq!(figure(&more.json(), "fetched"), 250);
    assert_eq!(figure(&more.json(), "fetched_this_run"), 150);
    let rest = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&rest);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn the_limit_on_time_ends_a_crawl_that_can_go_on() {
    let web = Simulated::new(20, 400, 24);
    // Far more pages than the delay lets through in that time.
    let done = web
        .crawl("crawl", &["--max-time", "300ms", "--delay", "10s"])
        .expect_code(0);
    assert_eq!(done.json()["ending"], "time-limit");
    assert!(figure(&done.json(), "queued") > 0);
    let rest = web.go_on("crawl", &["--max-time", "none", "--delay", "0s"]);
    web.assert_counts_are_the_truth(&rest.expect_code(0));
    assert_complete(&web);
}

const HTML: &str = "200 OK\r\nContent-Type: text/html";
const LONG: usize = 100_000;

/// Long pages, each with a link to the next, behind a long robots.txt.
fn long_pages() -> OddServer {
    OddServer::start(|path| match path.trim_start_matches('/').parse::<u32>() {
        Ok(number) => {
            let link = format!("<a href=\"/{}\">next</a>", number + 1);
            Reply::Answer(HTML, link + &" ".repeat(LONG))
        }
        Err(_) => Reply::Answer("200 OK", "#".repeat(LONG)),
    })
}

#[test]
fn the_limit_on_bytes_counts_all_and_is_passed_by_what_is_under_way_alone() {
    let server = long_pages();
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/0", server.address);
    let crawl = |more: &[&str]| {
        let usual = ["crawl", "--dir", &dir, "--json", "--quiet", "--delay", "0s"];
        run(usual.iter().chain(more)).expect_code(0).json()
    };
    let json = crawl(&[&seed, "--max-bytes", "450000"]);
    assert_eq!(json["ending"], "byte-limit");
    // robots.txt and three pages are below the limit, the fourth is above.
    assert_eq!(figure(&json, "fetched"), 4);
    assert_eq!(server.asked().len(), 5);
    assert_eq!(figure(&json, "bytes"), server.sent());
    // Nothing more, until it is raised.
    crawl(&[]);
    assert_eq!(server.asked().len(), 5);
    let json = crawl(&["--max-bytes", "650000"]);
    assert_eq!(figure(&json, "fetched"), 6);
    assert_eq!(figure(&json, "bytes"), server.sent());
}

#[test]
fn bytes_of_attempts_that_came_to_nothing_are_counted() {
    let server = OddServer::start(|path| match path {
        "/" => Reply::Answer(HTML, "<a href=/busy>x</a><a href=/broken>x</a>".to_owned()),
        "/busy" => Reply::Answer("503 Busy\r\nRetry-After: 0", "later".repeat(100)),
        "/broken" => Reply::Answer("abc", "no such status".to_owned()),
        _ => Reply::Answer("404 Not Found", "none".to_owned()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let args = ["crawl", &seed, "--dir", &dir, "--json", "--quiet"];
    let more = ["--delay", "0s", "--set", "retry_delay=1ms"];
    let json = run(args.iter().chain(&more)).expect_code(0).json();
    let busy = server.asked().iter().filter(|a| a.path == "/busy").count();
    assert_eq!(busy, 3, "once and two retries");
    assert_eq!(figure(&json, "failed"), 2);
    assert_eq!(figure(&json, "bytes"), server.sent());
    // The journal says the same.
    run(["rebuild", "--dir", &dir]).expect_code(0);
    let status = run(["status", "--dir", &dir, "--json"]).expect_code(0);
    assert_eq!(figure(&status.json(), "bytes"), server.sent());
}

#[test]
fn there_are_no_more_connections_than_allowed_however_many_threads() {
    let web = Simulated::with_latency(12, 60, 29, std::time::Duration::from_millis(5));
    web.crawl("crawl", &["--threads", "4", "--connections", "2"])
        .expect_code(0);
    assert_complete(&web);
    let requests = web.requests();
    for request in &requests {
        let under_way = requests
            .iter()
            .filter(|other| other.time <= request.time && other.end > request.time);
        assert!(under_way.count() <= 2, "{request:?}");
    }
}

#[test]
fn links_beyond_max_links_are_counted() {
    let server = OddServer::start(|path| match path {
        "/" => page(&["/a", "/b", "/c", "/d", "/e"]),
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let seed = format!("http://{}/", server.address);
    let done = crawl(&seed, &dir, &["--delay", "0s", "--set", "max_links=2"]).expect_code(0);
    assert_eq!(figure(&done.json(), "links"), 2);
    assert_eq!(figure(&done.json(), "links_dropped"), 3);
    let dir = dir.display().to_string();
    let why = run(["why", &seed, "--dir", &dir, "--json"]).expect_code(0);
    assert_eq!(why.json()["visits"][0]["links_dropped"], 3);
    let why = run(["why", &seed, "--dir", &dir]).expect_code(0);
    let told = "2 on the page, and 3 beyond max_links left out";
    assert!(why.stdout.contains(told), "{}", why.stdout);
    // The journal says so, not only the state.
    run(["rebuild", "--dir", &dir]).expect_code(0);
    let status = run(["status", "--dir", &dir, "--json"]).expect_code(0);
    assert_eq!(figure(&status.json(), "links_dropped"), 3);
}
