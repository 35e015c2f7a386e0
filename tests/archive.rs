//! The archive holds what was sent, and others can read it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::warc::{self, Record, find};
use crate::support::{Running, Simulated, python, run_with, urls, wait_for};

/// Every page of the crawl has one response or revisit with the right bytes.
fn assert_archive(web: &Simulated, dir: &str) {
    let files = warc::read(&web.dir(dir));
    for records in files.iter().filter(|records| !records.is_empty()) {
        assert_eq!(records[0].kind(), "warcinfo");
        assert_eq!(records.iter().filter(|r| r.kind() == "warcinfo").count(), 1);
    }
    let records: Vec<&Record> = files.iter().flatten().collect();
    let ids: BTreeSet<&str> = records.iter().map(|r| r.header("warc-record-id")).collect();
    assert_eq!(ids.len(), records.len(), "a record's name is used twice");

    let captures: Vec<&&Record> = records.iter().filter(|r| r.is_capture()).collect();
    let by_url: BTreeMap<&str, &Record> = captures.iter().map(|r| (r.url(), **r)).collect();
    assert_eq!(by_url.len(), captures.len(), "a page is there twice");
    let mut fetched = urls(&web.dir(dir), "fetched");
    fetched.extend(urls(&web.dir(dir), "failed"));
    fetched.sort();
    assert_eq!(by_url.keys().copied().collect::<Vec<_>>(), fetched);

    for record in &captures {
        let head = find(&record.block, b"\r\n\r\n").expect("a response head") + 4;
        let body = &record.block[head..];
        if record.kind() == "revisit" {
            assert!(body.is_empty());
            let earlier = record.header("warc-refers-to-target-uri");
            assert_eq!(web.body_of(earlier), web.body_of(record.url()));
            assert!(by_url.contains_key(earlier), "{earlier} is not archived");
        } else {
            let head = String::from_utf8_lossy(&record.block[..head]).to_ascii_lowercase();
            assert!(
                decoded(&head, body) == web.body_of(record.url()),
                "{}",
                record.url()
            );
        }
    }
    let captured: BTreeSet<&str> = captures
        .iter()
        .map(|r| r.header("warc-record-id"))
        .collect();
    for kind in ["request", "metadata"] {
        let beside: Vec<&&Record> = records.iter().filter(|r| r.kind() == kind).collect();
        assert_eq!(beside.len(), captures.len());
        for record in beside {
            assert!(captured.contains(record.header("warc-concurrent-to")));
        }
    }
    for request in records.iter().filter(|r| r.kind() == "request") {
        let text = String::from_utf8_lossy(&request.block).to_ascii_lowercase();
        assert!(text.starts_with("get "), "{text}");
        for secret in ["\nauthorization:", "\ncookie:", "\nproxy-authorization:"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

/// A body without its transfer coding and its content coding.
fn decoded(head: &str, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        let mut rest = body;
        loop {
            let line = find(rest, b"\r\n").expect("the length of a chunk");
            let length = std::str::from_utf8(&rest[..line]).expect("digits");
            let length = usize::from_str_radix(length, 16).expect("a length");
            if length == 0 {
                break;
            }
            plain.extend_from_slice(&rest[line + 2..line + 2 + length]);
            rest = &rest[line + 2 + length + 2..];
        }
    } else {
        plain.extend_from_slice(body);
    }
    if head.contains("content-encoding: gzip") {
        let mut unpacked = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(&plain[..]);
        std::io::Read::read_to_end(&mut decoder, &mut unpacked).expect("a gzip body");
        return unpacked;
    }
    plain
}

/// What warcio and FastWARC say of the same files.
fn assert_others_can_read(web: &Simulated, dir: &str) {
    let folder = web.dir(dir).join("warc");
    let Some(done) = python::run_script("read_archive.py", &[&folder]) else {
        return;
    };
    let report = done.expect_code(0).json();
    assert_eq!(report["complaints"], Value::Array(Vec::new()), "{report}");
    let captures = |reader: &str| -> BTreeMap<String, String> {
        let records = report[reader].as_array().cloned().unwrap_or_default();
        let texts = records.iter().map(|record| {
            let text = |at: usize| record[at].as_str().unwrap_or_default().to_owned();
            (text(0), text(1))
        });
        let all: Vec<(String, String)> = texts.collect();
        let captures: BTreeMap<_, _> = all.iter().cloned().collect();
        assert_eq!(captures.len(), all.len(), "{reader} found a page twice");
        captures
    };
    let ours = warc::read(&web.dir(dir));
    let ours = ours.iter().flatten().filter(|r| r.is_capture());
    let expected: BTreeMap<String, String> = ours
        .map(|record| {
            let digest = match record.kind() {
                "revisit" => String::new(),
                _ => hex(&rhumb_store::payload_digest(&web.body_of(record.url()))),
            };
            (record.url().to_owned(), digest)
        })
        .collect();
    for reader in ["warcio", "fastwarc"] {
        let read = captures(reader);
        let mut pages = expected.iter();
        let other = pages.find(|(url, digest)| read.get(*url) != Some(*digest));
        assert_eq!(other, None, "{reader} reads something else");
        assert_eq!(read.len(), expected.len(), "{reader}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn gzip_archives_hold_what_was_sent() {
    let web = Simulated::new(60, 900, 121);
    web.crawl("crawl", &["--warc", "gzip", "--threads", "3"])
        .expect_code(0);
    assert_archive(&web, "crawl");
    assert_others_can_read(&web, "crawl");
}

#[test]
fn zstd_archives_hold_what_was_sent() {
    let web = Simulated::new(60, 900, 122);
    web.crawl("crawl", &["--warc", "zstd", "--threads", "3"])
        .expect_code(0);
    assert_archive(&web, "crawl");
    assert_others_can_read(&web, "crawl");
}

#[test]
fn archives_are_rolled_at_their_size() {
    let web = Simulated::new(20, 300, 123);
    web.crawl("crawl", &["--set", "warc_roll=100Ki", "--threads", "2"])
        .expect_code(0);
    assert!(warc::read(&web.dir("crawl")).len() > 4);
    assert_archive(&web, "crawl");
    assert_others_can_read(&web, "crawl");
}

#[test]
fn archives_are_whole_after_kills_and_stops() {
    let web = Simulated::with_latency(40, 600, 124, std::time::Duration::from_millis(3));
    let mut running = web.start_crawl("crawl", &["--threads", "2"]);
    for round in 1..=4 {
        let wanted = web.sim.requests().len() + 120;
        wait_for("requests", || {
            (web.sim.requests().len() >= wanted).then_some(())
        });
        match round % 2 {
            0 => running.interrupt().expect_code(130),
            _ => running.kill(),
        };
        running = Running::start(web.go_on_args("crawl", &[]));
    }
    running.wait().expect_code(0);
    web.assert_lists_are_the_truth("crawl");
    assert_archive(&web, "crawl");
    assert_others_can_read(&web, "crawl");
}

#[test]
fn a_document_that_was_cut_is_marked() {
    let web = Simulated::new(60, 600, 125);
    let list = web.truth.pages.join("\n");
    let flags = ["--scope", "page", "--delay", "0s", "--seeds", "-"];
    let mut args = web.go_on_args("crawl", &flags);
    args.extend(["--set", "max_body=2Ki"].map(str::to_owned));
    run_with(args, list.as_bytes()).expect_code(0);
    // Where the length is stated beforehand there is no visit to speak of;
    // the chunked ones are cut.
    let files = warc::read(&web.dir("crawl"));
    let (mut cut, mut whole) = (0, 0);
    for record in files.iter().flatten().filter(|r| r.kind() == "response") {
        let body = web.body_of(record.url());
        let head = find(&record.block, b"\r\n\r\n").expect("a response head") + 4;
        let text = String::from_utf8_lossy(&record.block[..head]).to_ascii_lowercase();
        if text.contains("content-encoding") {
            continue;
        }
        if body.len() > 2048 {
            assert!(text.contains("chunked"), "{text}");
            assert_eq!(
                record.header("warc-truncated"),
                "length",
                "{}",
                record.url()
            );
            cut += 1;
        } else {
            assert_eq!(record.header("warc-truncated"), "");
            assert!(decoded(&text, &record.block[head..]) == body);
            whole += 1;
        }
    }
    assert!(cut > 10 && whole > 0, "{cut} cut, {whole} whole");
    let why = |url: &str| web.ask("why", "crawl", &[url, "--json"]).json();
    let refused = urls(&web.dir("crawl"), "refused");
    let large = refused.iter().map(|url| why(url)).find(|why| {
        let reason = why["reason"].as_str().unwrap_or_default();
        reason.starts_with("unwanted-size")
    });
    assert!(large.is_some(), "no page was too large");
    let Some(done) = python::run_script("read_archive.py", &[&web.dir("crawl").join("warc")])
    else {
        return;
    };
    let report = done.expect_code(0).json();
    assert_eq!(report["complaints"], Value::Array(Vec::new()), "{report}");
}

#[test]
fn a_crawl_without_an_archive_leaves_none() {
    let web = Simulated::new(10, 100, 126);
    let done = web.crawl("crawl", &["--warc", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    assert!(warc::read(&web.dir("crawl")).is_empty());
}
