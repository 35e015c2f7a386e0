//! A robots.txt that cannot be had: asked for as often as told, and no page
//! of its host is visited.

use std::path::Path;

use crate::support::odd_server::{OddServer, Reply, crawl, page};
use crate::support::{Done, run};

const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];

/// Crawl all hosts at one server, with room for one robots.txt in memory.
fn crawl_hosts(server: &OddServer, dir: &Path, more: &[&str]) -> Done {
    let port = server.address.port();
    let seeds = HOSTS.map(|host| format!("http://{host}:{port}/"));
    let mut args = vec!["--resolve", "*=127.0.0.1", "--threads", "1"];
    // A crawl without an end would fail here rather than hang.
    args.extend(["--max-time", "1m", "--set", "retry_delay=10ms"]);
    args.extend(["--set", "robots_cache=1", "--delay", "10ms"]);
    args.extend(seeds[1..].iter().map(String::as_str));
    args.extend(more);
    crawl(&seeds[0], dir, &args)
}

fn times_asked(server: &OddServer, path: &str) -> usize {
    let asked = server.asked();
    asked.iter().filter(|asked| asked.path == path).count()
}

#[test]
fn it_is_given_up_although_memory_has_room_for_fewer_hosts() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("503 Busy", String::new()),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let done = crawl_hosts(&server, &dir, &["--set", "retries=2"]).expect_code(6);
    assert_eq!(done.json()["ending"], "finished");
    assert_eq!(done.json()["refusals"]["robots-unreachable"], 3);
    assert_eq!(times_asked(&server, "/robots.txt"), 3 * HOSTS.len());
    assert_eq!(times_asked(&server, "/"), 0);
}

#[test]
fn one_that_leads_on_is_followed_although_memory_has_room_for_fewer_hosts() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("301 Moved\r\nLocation: /real.txt", String::new()),
        "/real.txt" => Reply::Answer("200 OK", "User-agent: *\nDisallow: /no\n".to_owned()),
        _ => page(&["/no", "/yes"]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let done = crawl_hosts(&server, &dir, &[]).expect_code(0);
    assert_eq!(done.json()["ending"], "finished");
    assert_eq!(done.json()["refusals"]["robots-disallowed"], 3);
    for path in ["/robots.txt", "/real.txt"] {
        assert_eq!(times_asked(&server, path), HOSTS.len(), "{path}");
    }
    assert_eq!(times_asked(&server, "/no"), 0);
}

#[test]
fn one_that_leads_to_a_failure_is_given_up() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("301 Moved\r\nLocation: /real.txt", String::new()),
        "/real.txt" => Reply::Answer("500 Oops", String::new()),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let done = crawl_hosts(&server, &dir, &["--set", "robots_cache=1000"]).expect_code(6);
    assert_eq!(done.json()["ending"], "finished");
    assert_eq!(times_asked(&server, "/real.txt"), 3 * HOSTS.len());
}

/// The page was never asked for: it is not what failed.
#[test]
fn why_names_the_robots_txt_that_failed() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Close,
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let seed = format!("http://{}/", server.address);
    let pace = ["--delay", "0s", "--set", "retry_delay=1ms"];
    let told = "its robots.txt could not be fetched: the connection was closed";
    let done = crawl(&seed, &dir, &pace).expect_code(6);
    done.assert_stderr_has(told);
    let why = run(["why", &seed, "--dir", &dir.display().to_string(), "--json"]);
    let reason = why.expect_code(0).json()["reason"].to_string();
    assert!(reason.contains(told), "{reason}");
    assert_eq!(times_asked(&server, "/"), 0);
}

/// What cannot be read may forbid anything.
#[test]
fn one_in_an_unknown_coding_forbids_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let pace = ["--delay", "0s", "--set", "retry_delay=1ms"];
    for (head, forbids) in [
        ("200 OK\r\nContent-Encoding: x-secret", true),
        ("200 OK\r\nContent-Encoding: identity, compress", true),
        ("200 OK\r\nContent-Encoding: UTF-8", false),
        ("404 Not Found\r\nContent-Encoding: x-secret", false),
    ] {
        let server = OddServer::start(move |path| match path {
            "/robots.txt" => Reply::Bytes(head, b"\x1f\x9d\x90\xff".to_vec()),
            _ => page(&[]),
        });
        let seed = format!("http://{}/", server.address);
        let dir = folder.path().join(server.address.port().to_string());
        let done = crawl(&seed, &dir, &pace).expect_code(if forbids { 6 } else { 0 });
        assert_eq!(times_asked(&server, "/") == 0, forbids, "{head}");
        if forbids {
            done.assert_stderr_has("robots.txt is in a coding that is not known");
        }
    }
}
