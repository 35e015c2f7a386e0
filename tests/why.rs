//! `rhumb why` says the same of a crawl that runs, that was killed, and that
//! was stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::odd_server::{OddServer, Reply, crawl, page};
use crate::support::{Running, run, run_with, urls, wait_for};

/// Paths in each state, in the order in which they are visited.
const PATHS: [(&str, &str); 8] = [
    ("/", "fetched"),
    ("/page", "fetched"),
    ("/moved", "fetched"),
    ("/missing", "failed"),
    ("/private/x", "refused"),
    ("/held", "in-flight"),
    ("/waits", "queued"),
    ("/nowhere", "unseen"),
];

/// What differs between two runs of one crawl.
const OWN: [&str; 8] = [
    "time",
    "position",
    "first_byte_ms",
    "total_ms",
    "archive",
    "wire_bytes",
    "address",
    "url",
];

/// A server that keeps `/held` until it is let go.
fn server(let_go: &Arc<AtomicBool>) -> OddServer {
    let let_go = Arc::clone(let_go);
    OddServer::start(move |path| {
        let html = "200 OK\r\nContent-Type: text/html";
        match path {
            "/robots.txt" => Reply::Answer("200 OK", "User-agent: *\nDisallow: /private/\n".into()),
            "/" => {
                let links = PATHS[1..7].iter().map(|(path, _)| path);
                let links = links.map(|path| format!("<a href='{path}'>to {path}</a>"));
                let outside = "<a href='http://elsewhere.test/'>out</a>";
                Reply::Answer(html, links.collect::<String>() + outside)
            }
            "/missing" => Reply::Answer("404 Not Found", "nothing".into()),
            "/moved" => Reply::Answer("302 Found\r\nLocation: /page", String::new()),
            "/held" => {
                while !let_go.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Reply::Answer(html, "held".into())
            }
            _ => Reply::Answer(html, format!("this is {path}")),
        }
    })
}

/// The facts that are the crawl's, whenever they are asked for.
fn facts(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OWN.contains(&name.as_str()));
            for field in fields.values_mut() {
                *field = facts(field.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = facts(item.take());
            }
        }
        _ => {}
    }
    value
}

struct Asked<'a> {
    site: String,
    dir: &'a str,
}

impl Asked<'_> {
    /// What is said of each path, of what is out of scope, and whether
    /// `why -` says the same.
    fn all(&self) -> Vec<Value> {
        let mut asked: Vec<String> = (PATHS.iter())
            .map(|(path, _)| format!("{}{path}", self.site))
            .collect();
        asked.push("http://elsewhere.test/".to_owned());
        let one_by_one = asked.iter().map(|url| {
            let done = run(["why", url, "--dir", self.dir, "--json"]);
            done.expect_code(0).json()
        });
        let one_by_one: Vec<Value> = one_by_one.collect();
        let together = run_with(["why", "-", "--dir", self.dir], asked.join("\n").as_bytes());
        let together: Vec<Value> = (together.expect_code(0).lines().iter())
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect();
        assert_eq!(one_by_one, together);
        one_by_one
    }
}

#[test]
fn why_says_the_same_of_a_running_a_killed_and_a_stopped_crawl() {
    let let_go = Arc::new(AtomicBool::new(false));
    let server = server(&let_go);
    let site = format!("http://{}", server.address);
    let folder = tempfile::tempdir().expect("a folder");
    let mut answers = Vec::new();
    for end in ["killed", "stopped", "checkpointed"] {
        let dir = folder.path().join(end).display().to_string();
        let held_before = held(&server);
        let running = Running::start([
            "crawl",
            &site,
            "--dir",
            &dir,
            "--delay",
            "0s",
            "--quiet",
            "--threads",
            "2",
            "--set",
            "stop_grace=10ms",
        ]);
        wait_for("the page that is held", || {
            (held(&server) > held_before).then_some(())
        });
        let asked = Asked {
            site: site.clone(),
            dir: &dir,
        };
        // What came before it may still be on its way to the journal.
        wait_for("the refused visit", || {
            let url = format!("{site}/private/x");
            let done = run(["why", &url, "--dir", &dir, "--json"]);
            (done.json()["state"] == "refused").then_some(())
        });
        let live = asked.all();
        match end {
            "stopped" => {
                run(["stop", "--dir", &dir]).expect_code(0);
                running.wait().expect_code(0);
            }
            "checkpointed" => {
                run(["checkpoint", "--dir", &dir]).expect_code(0);
                running.kill();
            }
            _ => drop(running.kill()),
        }
        let rests = asked.all();
        for ((path, state), (live, rests)) in PATHS.iter().zip(live.iter().zip(&rests)) {
            assert_eq!(live["state"], *state, "{path} while it runs: {live}");
            // What was under way waits again.
            let state = match *state {
                "in-flight" => "queued",
                state => state,
            };
            assert_eq!(rests["state"], state, "{path}, {end}: {rests}");
            let (mut live, mut rests) = (live.clone(), rests.clone());
            if state == "queued" {
                for answer in [&mut live, &mut rests] {
                    answer["state"] = Value::Null;
                    answer["reason"] = Value::Null;
                }
            }
            assert_eq!(live, rests, "{path}, {end}");
        }
        let outside = &rests[PATHS.len()];
        assert_eq!(outside["state"], "refused");
        assert_eq!(
            outside["reason"],
            "out-of-scope (setting `scope`; now \"host\")"
        );
        assert_eq!(&live[PATHS.len()], outside);
        answers.push(rests.into_iter().map(facts).collect::<Vec<_>>());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    let_go.store(true, Ordering::SeqCst);
    // The states are not the server's doing: the crawl goes on.
    let dir = folder.path().join("killed").display().to_string();
    run(["crawl", "--dir", &dir, "--quiet"]).expect_code(0);
    let answers = Asked { site, dir: &dir }.all();
    for (path, answer) in ["/held", "/waits"].iter().zip(&answers[5..]) {
        assert_eq!(answer["state"], "fetched", "{path}");
    }
}

fn held(server: &OddServer) -> usize {
    let asked = server.asked();
    asked.iter().filter(|one| one.path == "/held").count()
}

#[test]
fn a_line_that_is_no_text_gets_an_error_and_the_next_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let server =
        OddServer::start(|_| Reply::Answer("200 OK\r\nContent-Type: text/html", "a page".into()));
    let site = format!("http://{}/", server.address);
    run(["crawl", &site, "--dir", &dir, "--quiet"]).expect_code(0);
    let mut questions = b"http://a.test/\xff\xfe\n\n".to_vec();
    questions.extend_from_slice("x".repeat(1 << 20).as_bytes());
    questions.extend_from_slice(format!("\n{site}").as_bytes());
    let done = run_with(["why", "-", "--dir", &dir], &questions).expect_code(0);
    let answers: Vec<Value> = (done.lines().iter())
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(answers.len(), 3, "{}", done.stdout);
    for (answer, told) in answers.iter().zip(["not a URL", "longer than any URL"]) {
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains(told), "{answer}");
    }
    assert_eq!(answers[2]["state"], "fetched");
}

#[test]
fn why_finds_a_link_that_was_refused_for_its_length() {
    let long = "x".repeat(5000);
    let [path, target] = ["way", "end"].map(|end| format!("/{long}/{end}"));
    let (from_page, from_redirect) = (path.clone(), target.clone());
    let server = OddServer::start(move |path| match path {
        // Relative, and with steps back.
        "/" => page(&[&format!("a/../{}", &from_page[1..]), "/moved"]),
        "/moved" => {
            let head = format!("302 Found\r\nLocation: {from_redirect}");
            Reply::Answer(head.leak(), String::new())
        }
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    let site = format!("http://{}", server.address);
    crawl(&site, &dir, &["--delay", "0s"]).expect_code(0);
    let dir_text = dir.display().to_string();
    for (path, on) in [(&path, "/"), (&target, "/moved")] {
        for more in [None, Some("--links")] {
            let args = [
                "why",
                &format!("{site}{path}"),
                "--dir",
                &dir_text,
                "--json",
            ];
            let why = run(args.iter().copied().chain(more));
            let json = why.expect_code(0).json();
            assert_eq!(json["state"], "refused", "{json}");
            assert_eq!(json["reason"], "too-long: longer than 2048 bytes");
            assert_eq!(json["links"][0]["on"], format!("{site}{on}"));
        }
    }
    // The text that stands for it is known too.
    let refused = urls(&dir, "refused");
    assert_eq!(refused.len(), 2, "{refused:?}");
    for text in &refused {
        let why = run(["why", text, "--dir", &dir_text, "--json"]).expect_code(0);
        assert_eq!(why.json()["state"], "refused");
    }
    // Another one that begins alike was on no page.
    let other = format!("{site}{path}other");
    run(["why", &other, "--dir", &dir_text])
        .expect_code(2)
        .assert_stderr_has("no page had it as a link");
}
