//! Politeness, judged by the log of the server: robots.txt counts too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rhumb_sim::LoggedRequest;

use crate::support::odd_server::{Asked, OddServer, Reply, crawl, page};
use crate::support::request_log::{assert_complete, assert_polite, assert_spaced};
use crate::support::stalls::Stalls;
use crate::support::{Running, Simulated, figure, wait_for};

fn web_with_latency(seed: u64) -> Simulated {
    Simulated::with_latency(12, 140, seed, Duration::from_millis(15))
}

#[test]
fn one_request_at_a_time_and_the_delay_between_any_two() {
    for (seed, threads) in [(41, "1"), (42, "3")] {
        let web = web_with_latency(seed);
        let args = ["--delay", "50ms", "--threads", threads];
        web.crawl("crawl", &args).expect_code(0);
        assert_complete(&web);
        assert_polite(&web.requests(), 1, 0.050);
    }
}

#[test]
fn two_requests_at_a_time_still_start_a_delay_apart() {
    // Answers take longer than the delay, so that requests overlap.
    let web = Simulated::with_latency(8, 60, 43, Duration::from_millis(150));
    let args = ["--delay", "100ms", "--per-host", "2", "--threads", "2"];
    let stalls = Stalls::watch();
    web.crawl("crawl", &[&args[..], &["--set", "delay_factor=0"]].concat())
        .expect_code(0);
    assert_complete(&web);
    let requests = web.requests();
    assert_polite(&requests, 2, 0.100);
    // What the server's own clock is off by, and twice what its threads had
    // to wait: one reads the connection, another may answer.
    let lateness = Duration::from_millis(2) + 2 * stalls.worst();
    assert_spaced(&requests, 0.100, lateness.as_secs_f64());
    let both = |pair: &[LoggedRequest]| pair[0].host == pair[1].host && pair[1].time < pair[0].end;
    let by_host: BTreeSet<_> = requests.iter().map(|request| &request.host).collect();
    let overlap = by_host.into_iter().any(|host| {
        let visits: Vec<_> = requests
            .iter()
            .filter(|r| r.host == *host)
            .cloned()
            .collect();
        visits.windows(2).any(both)
    });
    assert!(overlap, "no two requests were under way together");
}

#[test]
fn a_host_that_answers_slowly_rests_for_longer() {
    for threads in ["1", "4"] {
        let web = Simulated::with_latency(10, 60, 45, Duration::from_millis(30));
        let args = ["--delay", "20ms", "--set", "delay_factor=4"];
        web.crawl("crawl", &[&args[..], &["--threads", threads]].concat())
            .expect_code(0);
        assert_complete(&web);
        let requests = web.requests();
        assert_polite(&requests, 1, 0.020);
        let mut last = std::collections::HashMap::new();
        for request in &requests {
            let Some(last): Option<&LoggedRequest> = last.insert(&request.host, request) else {
                continue;
            };
            let (took, rest) = (last.end - last.time, request.time - last.end);
            assert!(rest >= 4.0 * took, "{rest} s after {last:?}");
        }
    }
}

#[test]
fn a_slow_host_rests_also_over_a_kill() {
    const REST: Duration = Duration::from_millis(600);
    let server = OddServer::start(|path| {
        if path.len() == 2 {
            std::thread::sleep(REST / 3);
        }
        let links = (0..6).map(|n| format!("<a href=/{n}>x</a>"));
        Reply::Answer("200 OK\r\nContent-Type: text/html", links.collect())
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let factor = ["--set", "delay_factor=3", "--set", "sync_interval=10ms"];
    let go_on = ["crawl", "--dir", &dir, "--delay", "10ms", "--quiet"];
    let go_on = [&go_on[..], &factor].concat();
    let mut running = Running::start(go_on.iter().chain(&[seed.as_str()]));
    for kill in 1..=3 {
        // The second slow answer since is in the journal when a third is asked for.
        let wanted = server.asked().len() + 3;
        wait_for("requests", || {
            (server.asked().len() >= wanted).then_some(())
        });
        match kill % 2 {
            0 => drop(running.kill()),
            _ => drop(running.interrupt()),
        }
        running = Running::start(&go_on);
    }
    running.wait().expect_code(0);
    let asked = server.asked();
    // An answer that the kill cut off is not known to have been slow.
    let answered = |pair: &&[Asked]| pair[0].path != pair[1].path;
    let slow = |pair: &&[Asked]| pair[0].path.len() == 2;
    for pair in asked.windows(2).filter(slow).filter(answered) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= REST, "{gap:?} before {pair:?}");
    }
}

#[test]
fn the_crawl_as_a_whole_keeps_to_its_rate() {
    const GAP: f64 = 1.0 / 50.0;
    let web = Simulated::new(12, 60, 46);
    web.crawl("crawl", &["--threads", "4", "--set", "max_rate=50"])
        .expect_code(0);
    assert_complete(&web);
    let requests = web.requests();
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else {
        panic!("nothing was asked for");
    };
    let span = last.time - first.time;
    // The log's own times are off by a little, the first may come late.
    let wanted = (requests.len() - 1) as f64 * GAP - 0.1;
    assert!(span >= wanted, "{} requests in {span} s", requests.len());
}

#[test]
fn the_crawl_as_a_whole_keeps_to_its_bandwidth() {
    const RATE: u64 = 1_000_000;
    let web = Simulated::new(12, 100, 47);
    let args = ["--connections", "4", "--set", "max_bandwidth=1000000"];
    let done = web.crawl("crawl", &args);
    assert_complete(&web);
    let bytes = figure(&done.expect_code(0).json(), "bytes");
    let requests = web.requests();
    let span = requests.last().expect("requests").time - requests[0].time;
    // What the last requests brought is not paid for any more.
    let last = 4 * 4 * bytes / requests.len() as u64;
    let wanted = bytes.saturating_sub(last) as f64 / RATE as f64 - 0.2;
    assert!(wanted > 0.5, "{bytes} bytes say nothing");
    assert!(span >= wanted, "{bytes} bytes in {span} s");
}

#[test]
fn crawl_delay_is_kept_over_a_kill() {
    const CRAWL_DELAY: Duration = Duration::from_millis(400);
    let server = OddServer::start(|path| {
        Reply::Answer(
            "200 OK\r\nContent-Type: text/html",
            match path {
                "/robots.txt" => "User-agent: *\nCrawl-delay: 0.4\n".to_owned(),
                "/" => (0..8).map(|n| format!("<a href=/{n}>x</a>")).collect(),
                _ => String::new(),
            },
        )
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let go_on = ["crawl", "--dir", &dir, "--delay", "0s", "--quiet"];
    let mut running = Running::start(go_on.iter().chain(&[seed.as_str()]));
    for _ in 0..3 {
        // robots.txt is in the journal by the time the next one is asked for.
        let wanted = server.asked().len() + 2;
        wait_for("requests", || {
            (server.asked().len() >= wanted).then_some(())
        });
        running.kill();
        running = Running::start(go_on);
    }
    running.wait().expect_code(0);
    let asked = server.asked();
    for pair in asked.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= CRAWL_DELAY, "{gap:?} before {pair:?}");
    }
    let robots = asked.iter().filter(|a| a.path == "/robots.txt").count();
    assert_eq!(robots, 1, "it was remembered");
    let pages: BTreeSet<_> = asked.iter().map(|a| a.path.clone()).collect();
    assert_eq!(pages.len(), 10, "{pages:?}");
}

#[test]
fn without_a_delay_a_host_still_has_no_more_visits_than_allowed() {
    for per_host in [1, 3] {
        let web = Simulated::with_latency(12, 300, 44, Duration::from_millis(3));
        let text = per_host.to_string();
        web.crawl("crawl", &["--per-host", &text, "--threads", "2"])
            .expect_code(0);
        assert_complete(&web);
        assert_polite(&web.requests(), per_host, 0.0);
    }
}

/// Stop a crawl again and again right after some host was asked.
fn stays_polite_over_stops(web: &Simulated, stop: impl Fn(Running)) {
    let mut running = web.start_crawl("crawl", &["--delay", "400ms", "--threads", "2"]);
    for threads in ["1", "3", "2"] {
        let wanted = web.sim.requests().len() + 6;
        wait_for("requests", || {
            (web.sim.requests().len() >= wanted).then_some(())
        });
        stop(running);
        running = Running::start(web.go_on_args("crawl", &["--threads", threads]));
    }
    running.wait().expect_code(0);
    web.assert_lists_are_the_truth("crawl");
    assert_polite(&web.requests(), 1, 0.4);
}

fn small_web(seed: u64, latency: u64) -> Simulated {
    Simulated::with_latency(8, 40, seed, Duration::from_millis(latency))
}

#[test]
fn the_delay_is_kept_over_a_clean_stop() {
    let web = small_web(45, 10);
    stays_polite_over_stops(&web, |running| {
        running.interrupt().expect_code(130);
    });
    assert_complete(&web);
}

#[test]
fn the_delay_is_kept_over_the_stop_command() {
    let web = small_web(46, 10);
    stays_polite_over_stops(&web, |running| {
        web.ask("stop", "crawl", &[]).expect_code(0);
        running.wait().expect_code(0);
    });
    assert_complete(&web);
}

#[test]
fn the_delay_is_kept_over_a_kill() {
    // Answers without delay: those to a client that is gone would end after
    // the next one has started, and no client can know of that.
    let web = small_web(47, 0);
    stays_polite_over_stops(&web, |running| {
        running.kill();
    });
}

#[test]
fn the_agent_names_itself() {
    let web = Simulated::new(3, 20, 48);
    web.crawl("crawl", &["--agent", "Rhumb/test (+http://example.org/)"])
        .expect_code(0);
    let requests = web.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.agent, "Rhumb/test (+http://example.org/)");
    }
}

/// Four names whose first addresses are dead share the second one.
#[test]
fn an_address_has_its_seats_also_where_it_is_not_the_first() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (count, peak) = (Arc::clone(&under_way), Arc::clone(&most));
    let server = OddServer::start(move |path| {
        peak.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Long enough for others to come, if they may.
        std::thread::sleep(Duration::from_millis(10));
        count.fetch_sub(1, Ordering::SeqCst);
        match path {
            "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
            "/" => page(&["/1", "/2", "/3"]),
            _ => page(&[]),
        }
    });
    let port = server.address.port();
    let names = ["a.test", "b.test", "c.test", "d.test"];
    let seeds = names.map(|name| format!("http://{name}:{port}/"));
    let answers: Vec<String> = (2..)
        .zip(names)
        .flat_map(|(dead, name)| {
            [
                format!("{name}=127.0.0.{dead}"),
                format!("{name}=127.0.0.1"),
            ]
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    for rest in [0, 30] {
        let dir = folder.path().join(rest.to_string());
        let before = server.asked().len();
        let rest_setting = format!("address_delay={rest}ms");
        let mut args = vec!["--delay", "0s", "--threads", "2", "--max-time", "1m"];
        args.extend(["--set", "per_address=1", "--set", "visits_per_turn=2"]);
        args.extend(["--set", &rest_setting]);
        args.extend(answers.iter().flat_map(|answer| ["--resolve", answer]));
        args.extend(seeds[1..].iter().map(String::as_str));
        let done = crawl(&seeds[0], &dir, &args).expect_code(0);
        assert_eq!(done.json()["ending"], "finished");
        assert_eq!(done.json()["fetched"], 16);
        assert_eq!(most.load(Ordering::SeqCst), 1, "requests at a time");
        for pair in server.asked()[before..].windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(
                gap >= Duration::from_millis(rest),
                "{gap:?} before {pair:?}"
            );
        }
    }
}

/// Which addresses were asked lately is not remembered from run to run: so
/// after a start all of them rest.
#[test]
fn address_delay_is_kept_over_a_stop_and_a_kill() {
    const REST: Duration = Duration::from_millis(1500);
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
        "/" => page(&["/more"]),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let port = server.address.port();
    let [one, two] = ["one", "two"].map(|name| format!("http://{name}.test:{port}/"));
    for end in ["stop", "kill"] {
        let dir = folder.path().join(end).display().to_string();
        let mut args = vec!["crawl", "--dir", &dir, "--delay", "0s", "--quiet"];
        args.extend(["--resolve", "*=127.0.0.1", "--set", "address_delay=1500ms"]);
        let before = server.asked().len();
        let running = Running::start(args.iter().chain(&[one.as_str()]));
        wait_for("a request", || {
            (server.asked().len() > before).then_some(())
        });
        match end {
            "stop" => running.interrupt().expect_code(130),
            _ => running.kill(),
        };
        let last = server.asked().len();
        let running = Running::start(args.iter().chain(&[two.as_str()]));
        let asked = wait_for("another request", || {
            Some(server.asked()).filter(|asked| asked.len() > last)
        });
        running.interrupt().expect_code(130);
        let gap = asked[last].at - asked[last - 1].at;
        assert!(gap >= REST, "{gap:?} after a {end}");
    }
}
