//! `rhumb robots`: what a robots.txt says to URLs, as a crawl would have it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::odd_server::{OddServer, Reply};
use crate::support::program::{RHUMB, command};
use crate::support::{Done, Running, run, run_with, urls, wait_for};

const RULES: &str = "\
# For everyone
User-agent: *
Disallow: /private/
Allow: /private/open
Disallow: /*.print$
Disallow: /sök

User-agent: goodbot
User-agent: other
Disallow: /only-others
";

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

pub fn robots_file(folder: &Path, text: impl AsRef<[u8]>) -> String {
    let path = folder.join("robots.txt");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// Each line of the answer as JSON.
fn answers(done: &Done) -> Vec<Value> {
    let read = |line: &String| serde_json::from_str(line).expect("a line of JSON");
    done.lines().iter().map(read).collect()
}

pub fn ask(source: &str, more: &[&str], questions: &str) -> Vec<Value> {
    let args = [&["robots", source, "-"], more].concat();
    answers(&run_with(args, questions.as_bytes()).expect_code(0))
}

/// A site with this answer to the request for robots.txt.
fn site(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (OddServer, String) {
    let server = OddServer::start(move |path| match path {
        "/robots.txt" => reply(),
        _ => Reply::Answer("200 OK", "not asked for".to_owned()),
    });
    let root = format!("http://{}/", server.address);
    (server, root)
}

#[test]
fn every_url_has_its_verdict_and_the_line_that_decides() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    let asked = [
        "https://a.test/private/x",
        "http://b.test:8080/private/open/x",
        "a.test/",
        "/doc.print",
    ];
    let text = run([&["robots", &file], &asked[..]].concat()).expect_code(0);
    assert_eq!(text.stderr, "");
    assert_eq!(
        text.lines(),
        [
            "refused  https://a.test/private/x  (line 3: Disallow: /private/)",
            "allowed  http://b.test:8080/private/open/x  (line 4: Allow: /private/open)",
            "allowed  a.test/  (no rule decides)",
            "refused  /doc.print  (line 5: Disallow: /*.print$)",
        ]
    );
    let expected = [
        json!({"url": asked[0], "allowed": false, "line": 3, "rule": "Disallow: /private/"}),
        json!({"url": asked[1], "allowed": true, "line": 4, "rule": "Allow: /private/open"}),
        json!({"url": asked[2], "allowed": true, "line": null, "rule": null}),
        json!({"url": asked[3], "allowed": false, "line": 5, "rule": "Disallow: /*.print$"}),
    ];
    let given = run([&["robots", &file, "--json"], &asked[..]].concat()).expect_code(0);
    assert_eq!(answers(&given), expected);
    assert_eq!(ask(&file, &[], &asked.join("\r\n")), expected);
    let piped = ["robots", "-", "--json", asked[0]];
    let piped = run_with(piped, RULES.as_bytes()).expect_code(0);
    assert_eq!(answers(&piped), expected[..1]);
}

#[test]
fn urls_are_asked_about_in_the_crawls_normal_form() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    for (url, line) in [
        ("http://a.test/%70rivate/", Some(3)),
        ("http://a.test/x/../private/", Some(3)),
        ("http://a.test/private%2F", None),
        ("http://a.test/private#/", None),
        ("http://a.test/sök?q=ü", Some(6)),
        ("http://a.test/s%c3%b6k", Some(6)),
        ("http://a.test/s%F6k", None),
        ("HTTP://A.test\\private\\x", Some(3)),
        ("http://a.test/x.print?", None),
    ] {
        let answer = &ask(&file, &[], url)[0];
        assert_eq!(answer["url"], url);
        assert_eq!(answer["line"].as_u64(), line, "{answer}");
        assert_eq!(answer["allowed"], line.is_none(), "{answer}");
    }
}

#[test]
fn the_agents_name_chooses_the_rules() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    let allowed = |agent: &str| {
        let questions = "http://a.test/private/\nhttp://a.test/only-others";
        let answers = ask(&file, &["--agent", agent], questions);
        [&answers[0]["allowed"], &answers[1]["allowed"]].map(|a| a == true)
    };
    assert_eq!(allowed("GoodBot"), [true, false]);
    assert_eq!(allowed("goodbot/2.1 (+https://a.test/bot)"), [true, false]);
    assert_eq!(allowed("goodbots"), [false, true]);
    assert_eq!(allowed("Mozilla/5.0 goodbot"), [false, true]);
    // Without a name, the rules for everyone, and a word about it.
    for nameless in ["", "*", "ツ"] {
        assert_eq!(allowed(nameless), [false, true], "{nameless}");
        run(["robots", &file, "/", "--agent", nameless])
            .expect_code(0)
            .assert_stderr_has("does not begin with a name");
    }
    // The configured one, where none is given.
    let mut by_environment = command(RHUMB);
    by_environment
        .args(["robots", &file, "/only-others", "--json"])
        .env("RHUMB_AGENT", "other/1.0");
    let answer = Running::spawn(by_environment).wait().expect_code(0).json();
    assert_eq!(answer["line"], 10, "{answer}");
}

#[test]
fn a_line_that_is_no_url_gets_an_error_and_the_next_its_answer() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    let long = "x".repeat(3 << 20);
    let mut questions = format!(
        "http://[\nmailto:a@b.test\nhttp://me@a.test/\nhttp://a.test/a\tb\n#\nhttp://a.test/{long}\n"
    )
    .into_bytes();
    questions.extend_from_slice(b"http://a.test/private/\xff\n\n/private/");
    let done = run_with(["robots", &file, "-"], &questions).expect_code(0);
    let answers = answers(&done);
    assert_eq!(answers.len(), 9, "one for each line");
    for answer in &answers[..6] {
        assert!(answer["error"].is_string(), "{answer}");
        assert!(answer["url"].is_string(), "{answer}");
        assert!(answer.get("allowed").is_none(), "{answer}");
    }
    assert!(done.stdout.len() < 10_000, "nothing of a long line is kept");
    assert_eq!(answers[6]["line"], 3);
    assert_eq!(answers[7]["allowed"], true, "an empty line is the root");
    assert_eq!(answers[8]["line"], 3);
    // On the command line, a wrong argument shows in the exit code.
    let done = run(["robots", &file, "http://[", "/private/"]).expect_code(2);
    let lines = done.lines();
    assert!(
        lines[0].starts_with("error    http://[  (not a URL"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("refused  /private/"), "{lines:?}");
}

#[test]
fn answers_do_not_wait_for_the_end_of_the_input() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    let mut running = Running::start(["robots", &file, "-"]);
    for count in 1..4 {
        running.tell("http://a.test/private/");
        wait_for("an answer", || {
            (running.stdout_so_far().lines().count() == count).then_some(())
        });
    }
    running.wait().expect_code(0);
}

#[test]
fn a_rule_cannot_steer_the_terminal() {
    let folder = folder();
    let file = robots_file(folder.path(), "User-agent: *\nDisallow: /a\u{1b}[2J*b\n");
    let done = run(["robots", &file, "http://a.test/a%1B[2Jb"]).expect_code(0);
    assert!(done.stdout.starts_with("refused"), "{}", done.stdout);
    assert!(!done.stdout.contains('\u{1b}'), "{:?}", done.stdout);
}

#[test]
fn what_cannot_be_asked_is_told() {
    let folder = folder();
    let file = robots_file(folder.path(), RULES);
    run(["robots", "example.org", "http://a.test/"])
        .expect_code(2)
        .assert_stderr_has("https://example.org/ for the robots.txt of a site");
    let directory = folder.path().display().to_string();
    run(["robots", &directory, "/"]).expect_code(2);
    run(["robots", "http://[/", "/"])
        .expect_code(2)
        .assert_stderr_has("`http://[/`: not a URL");
    run(["robots", &file]).expect_code(2);
    for twice in [["-", "-"], [file.as_str(), "-"]] {
        run(["robots", twice[0], twice[1], "-"])
            .expect_code(2)
            .assert_stderr_has("`-` stands for all of standard input");
    }
    run(["robots", "http://a.test/", "/", "--agent", "ツ"])
        .expect_code(2)
        .assert_stderr_has("plain ASCII");
}

#[test]
fn a_site_is_asked_for_its_robots_txt_and_nothing_else() {
    let (server, root) = site(|| Reply::Answer("200 OK", RULES.to_owned()));
    let page = format!("{root}some/page?q#f");
    let questions = format!(
        "{root}private/\n/private/open\nhttp://localhost/private/\nhttps{}",
        &root["http".len()..]
    );
    let answers = ask(&page, &[], &questions);
    assert_eq!(answers[0]["line"], 3);
    assert_eq!(answers[1]["line"], 4);
    for other in &answers[2..] {
        let error = other["error"].as_str().unwrap_or_default();
        let own = root.trim_end_matches('/');
        assert!(error.contains("another origin"), "{other}");
        assert!(error.contains(own), "{other}");
    }
    let asked: Vec<String> = server.asked().into_iter().map(|a| a.path).collect();
    assert_eq!(asked, ["/robots.txt"]);
}

#[test]
fn the_status_decides_as_it_does_for_a_crawl() {
    for (head, allowed, told) in [
        ("404 Not Found", true, "status 404: no rules"),
        ("401 Unauthorized", true, "status 401: no rules"),
        ("500 Oops", false, "status 500: a crawl visits nothing"),
        ("503 Busy", false, "status 503: a crawl visits nothing"),
        ("429 Slow", false, "status 429: a crawl visits nothing"),
        (
            "301 Moved\r\nLocation: http://elsewhere.test/robots.txt",
            false,
            "leads to another site, http://elsewhere.test: a crawl visits nothing",
        ),
    ] {
        let (_server, root) = site(move || Reply::Answer(head, RULES.to_owned()));
        let asked = run(["robots", &root, "/private/", "/robots.txt", "--json"]).expect_code(0);
        asked.assert_stderr_has(told);
        let answers = answers(&asked);
        assert_eq!(answers[0]["allowed"], allowed, "{head}");
        assert_eq!(answers[1]["allowed"], allowed, "{head}");
        assert_eq!(answers[0]["rule"], Value::Null, "{head}");
        let text = run(["robots", &root, "/private/"]).expect_code(0).stdout;
        let reason = told.split(": ").next().unwrap_or_default();
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn a_site_that_does_not_answer_is_closed_and_shows_in_the_exit_code() {
    let (_server, root) = site(|| Reply::Close);
    for source in [root.as_str(), "http://no-such-name.invalid/"] {
        let args = ["robots", source, "/", "--json", "--dns", "127.0.0.1:1"];
        let done = run([&args[..], &["--set", "dns_timeout=1s"]].concat()).expect_code(6);
        assert_eq!(done.json()["allowed"], false);
        done.assert_stderr_has("a crawl visits nothing there without an answer");
    }
}

#[test]
fn redirects_are_followed_as_far_and_as_patiently_as_by_a_crawl() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("301 Moved\r\nLocation: /a", String::new()),
        "/a" => Reply::Answer("302 Found\r\nLocation: /b", String::new()),
        "/b" => Reply::Answer("200 OK\r\nContent-Type: image/png", RULES.to_owned()),
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let root = format!("http://{}/", server.address);
    let answers = ask(&root, &["--set", "delay=100ms"], "/private/");
    assert_eq!(answers[0]["line"], 3);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    for pair in asked.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_millis(100), "{gap:?} before {pair:?}");
    }

    let (server, root) =
        site(|| Reply::Answer("301 Moved\r\nLocation: /robots.txt", String::new()));
    let args = ["robots", &root, "/private/", "--json", "--set", "delay=0s"];
    let endless = run(args).expect_code(0);
    assert_eq!(endless.json()["allowed"], true);
    endless.assert_stderr_has("status 301: no rules");
    assert_eq!(server.asked().len(), 6, "the first and five redirects");
}

#[test]
fn a_compressed_robots_txt_is_read_and_only_its_beginning_counts() {
    let (_server, root) = site(|| {
        let mut text = RULES.to_owned();
        text.push_str("\nUser-agent: *\nDisallow: /early\n");
        while text.len() < 600 << 10 {
            text.push_str("# nothing\n");
        }
        text.push_str("Disallow: /late\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).expect("memory");
        Reply::Bytes(
            "200 OK\r\nContent-Encoding: gzip",
            gzip.finish().expect("memory"),
        )
    });
    let answers = ask(&root, &[], "/early\n/late");
    assert_eq!(answers[0]["allowed"], false);
    assert_eq!(answers[1]["allowed"], true);
}

#[test]
fn a_crawl_does_what_was_answered() {
    const PATHS: [&str; 8] = [
        "private/a",
        "private/open",
        "x/../private/b",
        "%70rivate/c",
        "a.print",
        "a.print?x",
        "sök",
        "S%C3%B6k",
    ];
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("200 OK", RULES.to_owned()),
        _ => {
            let links = PATHS.iter().map(|path| format!("<a href='/{path}'>x</a>"));
            let head = "200 OK\r\nContent-Type: text/html; charset=utf-8";
            Reply::Answer(head, links.collect())
        }
    });
    let root = format!("http://{}/", server.address);
    let folder = folder();
    let dir = folder.path().join("crawl");
    let dir_text = dir.display().to_string();
    run([
        "crawl", &root, "--dir", &dir_text, "--delay", "0s", "--quiet",
    ])
    .expect_code(0);
    let (fetched, refused) = (urls(&dir, "fetched"), urls(&dir, "refused"));
    assert!(
        fetched.len() > 3 && refused.len() > 3,
        "{fetched:?} {refused:?}"
    );
    for (listed, allowed) in [(&fetched, true), (&refused, false)] {
        for answer in ask(&root, &[], &listed.join("\n")) {
            assert_eq!(answer["allowed"], allowed, "{answer}");
            if !allowed {
                let url = answer["url"].as_str().unwrap_or_default();
                let why = run(["why", url, "--dir", &dir_text, "--json"]).json();
                let line = format!("robots.txt line {}: ", answer["line"]);
                let reason = why["reason"].as_str().unwrap_or_default();
                assert!(reason.contains(&line), "{reason}, {answer}");
            }
        }
    }
    // As they were written on the page, too.
    let written: Vec<String> = PATHS.iter().map(|path| format!("{root}{path}")).collect();
    let refusals = ask(&root, &[], &written.join("\n"))
        .iter()
        .filter(|answer| answer["allowed"] == false)
        .count();
    assert_eq!(refusals, refused.len());
}
