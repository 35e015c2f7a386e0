//! `rhumb status --host`: what decides when a host is visited next.

use crate::support::odd_server::{OddServer, Reply, page};
use crate::support::{Running, figure, run, wait_for};

#[test]
fn a_host_tells_what_its_pace_follows_from() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("200 OK", "User-agent: *\nCrawl-delay: 30\n".to_owned()),
        "/" => page(&["/a", "/b", "/c"]),
        _ => page(&[]),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let host = server.address.to_string();
    let ask = |host: &str| run(["status", "--host", host, "--dir", &dir, "--json"]);
    let crawl = ["crawl", &seed, "--dir", &dir, "--quiet", "--delay", "10ms"];
    let running = Running::start(crawl.iter().chain(&["--set", "keep_alive=1s"]));
    // The rules are known, the page that they let be visited is not asked for.
    let resting = wait_for("the robots.txt", || {
        let done = ask(&host);
        (done.code == Some(0) && !done.json()["robots"].as_array()?.is_empty()).then_some(done)
    });
    let status = resting.json();
    assert_eq!(status["state"], "resting", "{status}");
    assert_eq!(figure(&status, "queued"), 1);
    assert_eq!(status["crawl_delay"], 30.0);
    assert_eq!(status["delay"], 30.0);
    assert!(status["rests"].as_f64().is_some_and(|rests| rests > 10.0));
    assert_eq!(status["robots"][0]["status"], 200);
    let text = run(["status", "--host", &seed, "--dir", &dir]).expect_code(0);
    assert!(text.stdout.contains("robots.txt asks for 30.000 s"));
    ask("nosuch.test").expect_code(2);
    running.interrupt();
    let after = ask(&host).expect_code(0).json();
    assert_eq!(after["state"], "resting", "{after}");
    assert_eq!(after["crawl_delay"], 30.0);
    assert_eq!(figure(&after, "queued"), 1);
    ask("nosuch.test").expect_code(2);
}
