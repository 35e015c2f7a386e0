//! Servers that behave as the simulated web does not: politeness holds all
//! the same, and every crawl ends.

use std::io::Write;
use std::time::Duration;

use crate::support::odd_server::{HTML, OddServer, Reply, crawl, page};
use crate::support::{Running, figure, run, urls, wait_for, warc};

#[test]
fn a_request_that_was_answered_by_closing_is_repeated_after_the_delay_only() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
        "/" => page(&["/close", "/a", "/b"]),
        "/close" => Reply::Close,
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/", server.address);
    let dir = folder.path().join("crawl");
    crawl(
        &seed,
        &dir,
        &["--delay", "100ms", "--set", "retry_delay=10ms"],
    )
    .expect_code(0);
    let asked = server.asked();
    for pair in asked.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_millis(100), "{gap:?} before {pair:?}");
    }
    let closed = asked.iter().filter(|a| a.path == "/close").count();
    assert_eq!(closed, 3, "once and two retries");
    assert!(urls(&dir, "failed").contains(&format!("{seed}close")));
}

#[test]
fn crawl_delay_holds_where_the_configured_delay_is_zero() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("200 OK", "User-agent: *\nCrawl-delay: 0.2\n".to_owned()),
        "/" => page(&["/a", "/b", "/c"]),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/", server.address);
    let done = crawl(&seed, &folder.path().join("crawl"), &["--delay", "0s"]).expect_code(0);
    assert_eq!(figure(&done.json(), "fetched"), 4);
    for pair in server.asked().windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_millis(200), "{gap:?} before {pair:?}");
    }
}

#[test]
fn redirects_without_end_come_to_an_end() {
    let server = OddServer::start(|path| match path.strip_prefix("/chain/") {
        Some(number) => {
            let next = number.parse::<u64>().unwrap_or_default() + 1;
            let head = format!("302 Found\r\nLocation: /chain/{next}");
            Reply::Answer(head.leak(), String::new())
        }
        None => Reply::Answer("404 Not Found", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/chain/0", server.address);
    let dir = folder.path().join("crawl");
    let done = crawl(&seed, &dir, &["--delay", "0s", "--set", "max_redirects=5"]).expect_code(0);
    assert_eq!(figure(&done.json(), "redirects"), 6);
    assert!(
        urls(&dir, "refused")
            .iter()
            .any(|url| url.ends_with("/chain/6"))
    );
}

#[test]
fn a_robots_txt_at_another_name_of_the_site_counts() {
    let www = OddServer::start(|path| match path {
        "/robots.txt" => {
            Reply::Answer("200 OK", "User-agent: *\nDisallow: /forbidden\n".to_owned())
        }
        _ => page(&[]),
    });
    let port = www.address.port();
    let moved = OddServer::start(move |path| match path {
        "/robots.txt" => {
            let to = format!("301 Moved\r\nLocation: http://www.example.test:{port}/robots.txt");
            Reply::Answer(to.leak(), String::new())
        }
        "/" => page(&["/forbidden", "/allowed"]),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://example.test:{}/", moved.address.port());
    let names = [
        "--resolve",
        "example.test=127.0.0.1",
        "--resolve",
        "www.example.test=127.0.0.1",
    ];
    // Both names have one address: also with one seat there.
    for seats in ["per_address=8", "per_address=1", "address_delay=30ms"] {
        let dir = folder.path().join(seats);
        let mut more = vec!["--delay", "20ms", "--set", seats, "--max-time", "1m"];
        more.extend(names);
        let done = crawl(&seed, &dir, &more).expect_code(0);
        assert_eq!(done.json()["ending"], "finished", "{seats}");
        let fetched = urls(&dir, "fetched");
        assert!(fetched.contains(&format!("{seed}allowed")), "{fetched:?}");
        assert!(urls(&dir, "refused").contains(&format!("{seed}forbidden")));
    }
    assert!(moved.asked().iter().all(|asked| asked.path != "/forbidden"));
}

#[test]
fn what_was_under_way_at_a_stop_is_still_to_be_done() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
        "/" => page(&["/silent", "/a", "/b"]),
        _ => Reply::Silence,
    });
    let folder = tempfile::tempdir().expect("a folder");
    let (seed, dir) = (
        format!("http://{}/", server.address),
        folder.path().join("crawl"),
    );
    let dir_text = dir.display().to_string();
    let args = ["crawl", &seed, "--dir", &dir_text, "--json", "--quiet"];
    let more = ["--delay", "0s", "--set", "stop_grace=0s"];
    let running = Running::start(args.iter().chain(&more));
    wait_for("a request without an answer", || {
        let asked = server.asked();
        asked.iter().any(|a| a.path == "/silent").then_some(())
    });
    let json = running.interrupt().expect_code(130).json();
    assert_eq!(figure(&json, "fetched"), 1);
    assert_eq!(figure(&json, "queued"), 3, "{json}");
    assert_eq!(figure(&json, "in_flight"), 0);
    assert_eq!(urls(&dir, "queued").len(), 3);
}

#[test]
fn a_page_that_is_too_long_once_decoded_is_whole_in_the_archive() {
    let mut page = b"<a href=\"/first\">x</a>".to_vec();
    page.resize(3 << 20, b' ');
    page.extend_from_slice(b"<a href=\"/last\">x</a>");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&page).expect("a vector takes all");
    let sent = encoder.finish().expect("a vector takes all");
    let served = sent.clone();
    let server = OddServer::start(move |path| match path {
        "/" => Reply::Bytes(
            "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
            served.clone(),
        ),
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/", server.address);
    let dir = folder.path().join("crawl");
    crawl(&seed, &dir, &["--delay", "0s", "--set", "max_body=1Mi"]).expect_code(0);
    // Its beginning was read.
    assert_eq!(urls(&dir, "failed"), [format!("{seed}first")]);
    let files = warc::read(&dir);
    let records: Vec<_> = files.iter().flatten().collect();
    let response = records
        .iter()
        .find(|r| r.kind() == "response" && r.url() == seed)
        .expect("a response");
    assert_eq!(response.header("warc-truncated"), "");
    assert!(response.block.ends_with(&sent));
    let dir_text = dir.display().to_string();
    let why = run(["why", &seed, "--dir", &dir_text]).expect_code(0);
    assert!(
        why.stdout
            .contains("the content is longer than max_body = \"1Mi\" once decoded: only its first part was read"),
        "{}",
        why.stdout
    );
}

/// What it forbids may stand in the part that is missing.
#[test]
fn a_robots_txt_broken_off_inside_its_coding_forbids_all() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let rules = "User-agent: *\nDisallow: /nothing\nDisallow: /\n";
    encoder
        .write_all(rules.as_bytes())
        .expect("a vector takes all");
    let mut sent = encoder.finish().expect("a vector takes all");
    sent.truncate(sent.len() / 2);
    let server = OddServer::start(move |path| match path {
        "/robots.txt" => Reply::Bytes(
            "200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip",
            sent.clone(),
        ),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/", server.address);
    let pace = ["--delay", "0s", "--set", "retry_delay=10ms"];
    crawl(&seed, &folder.path().join("crawl"), &pace).expect_code(6);
    let asked = server.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.path == "/robots.txt"));
}

#[test]
fn a_meta_tag_with_the_name_of_the_agent_is_heeded() {
    let server = OddServer::start(|path| match path {
        "/" => {
            let tag = "<meta name=MyBot content='noindex,nofollow'><a href='/a'>x</a>";
            Reply::Answer(HTML, tag.to_owned())
        }
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let seed = format!("http://{}/", server.address);
    // It speaks to that agent alone.
    for (agent, nofollow) in [("mybot/1.0 (+http://example.org/)", true), ("other", false)] {
        let dir = folder
            .path()
            .join(agent.split('/').next().unwrap_or_default());
        let done = crawl(&seed, &dir, &["--delay", "0s", "--agent", agent]).expect_code(0);
        let refused = done.json()["fates"]["nofollow"] == 1;
        assert_eq!(refused, nofollow, "{agent}: {}", done.json());
    }
    let asked = server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.path == "/a").count(), 1);
}

#[test]
fn a_host_is_asked_for_its_robots_txt_once_however_many_turns_it_has() {
    let server = OddServer::start(|path| {
        if path == "/robots.txt" {
            std::thread::sleep(Duration::from_millis(100));
        }
        page(&[])
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seeds: Vec<String> = (0..8)
        .map(|page| format!("http://{}/{page}", server.address))
        .collect();
    let args = ["crawl", "--dir", &dir, "--per-host", "4", "--delay", "0s"];
    run(args.into_iter().chain(seeds.iter().map(String::as_str))).expect_code(0);
    let asked = server.asked();
    let robots = asked.iter().filter(|asked| asked.path == "/robots.txt");
    assert_eq!(robots.count(), 1, "{asked:?}");
    assert_eq!(asked.len(), 9);
}

#[test]
fn a_redirect_to_nowhere_is_told() {
    let server = OddServer::start(|path| match path {
        "/" => page(&["/nowhere"]),
        "/nowhere" => Reply::Answer("301 Moved Permanently", String::new()),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let seed = format!("http://{}/", server.address);
    crawl(&seed, &dir, &["--delay", "0s"]).expect_code(0);
    let dir = dir.display().to_string();
    let why = run(["why", &format!("{seed}nowhere"), "--dir", &dir]).expect_code(0);
    assert!(
        why.stdout.contains("status 301 without a Location"),
        "{}",
        why.stdout
    );
}
