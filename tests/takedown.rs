//! What is forgotten on request is gone from every file, is told of, and does
//! not come back until that is lifted.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use crate::support::files::files;
use crate::support::odd_server::{OddServer, Reply};
use crate::support::request_log::asked;
use crate::support::warc::{self, find};
use crate::support::{Done, Running, Simulated, python, run, urls, wait_for};

const SECRET: &str = "words that nobody may read again";

/// A server behind several names, and a crawl of it.
struct Site {
    server: OddServer,
    folder: tempfile::TempDir,
}

impl Site {
    /// `gone.test` has a page whose text is to be forgotten, and leads to
    /// `kept.test`, which has a copy of it. Of the pages only `/back` names
    /// what will be forgotten.
    fn start() -> Site {
        let port = Arc::new(OnceLock::new());
        let own_port = Arc::clone(&port);
        let server = OddServer::start(move |path| {
            let page = |body: &str| Reply::Answer("200 OK\r\nContent-Type: text/html", body.into());
            match path.split('?').next().unwrap_or_default() {
                "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
                "/private-page" | "/copy" | "/third" => page(&format!(
                    "<title>{SECRET}</title><a href='/same'>{SECRET}</a>"
                )),
                "/gone" => {
                    let port = own_port.get().copied().unwrap_or(0);
                    page(&format!(
                        "<a href='http://kept.test:{port}/found'>there</a>"
                    ))
                }
                "/back" => page("<a href='http://gone.test/elsewhere'>back</a>"),
                _ => page(&format!("this is {path}")),
            }
        });
        let _ = port.set(server.address.port());
        Site {
            server,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}.test:{}{path}", self.server.address.port())
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("crawl")
    }

    fn crawl(&self, seeds: &[String], more: &[&str]) -> Done {
        let dir = self.dir().display().to_string();
        let mut args = vec!["crawl", "--dir", &dir, "--quiet", "--json", "--delay", "0s"];
        args.extend(["--resolve", "gone.test=127.0.0.1"]);
        args.extend(["--resolve", "kept.test=127.0.0.1"]);
        args.extend(seeds.iter().map(String::as_str));
        args.extend(more);
        run(args)
    }

    fn ask(&self, command: &str, more: &[&str]) -> Done {
        let dir = self.dir().display().to_string();
        run([&[command, "--dir", &dir], more].concat())
    }

    fn why(&self, url: &str) -> Value {
        self.ask("why", &[url, "--json"]).expect_code(0).json()
    }
}

/// A file as it is, and whatever in it unpacks as zstd or gzip.
fn pieces(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![bytes.to_vec()];
    for at in 0..bytes.len() {
        let mut plain = Vec::new();
        if bytes[at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
                let _ = decoder.single_frame().read_to_end(&mut plain);
            }
        } else if bytes[at..].starts_with(&[0x1f, 0x8b, 0x08]) {
            let _ = flate2::read::GzDecoder::new(&bytes[at..]).read_to_end(&mut plain);
        }
        if !plain.is_empty() {
            pieces.push(plain);
        }
    }
    pieces
}

fn has(bytes: &[u8], text: &str) -> bool {
    find(bytes, text.as_bytes()).is_some()
}

/// Files that name something, but for the record of the takedown, which
/// stands alone in its segment, the manifest's copy of it, and the settings,
/// which are the user's.
fn traces(dir: &Path, text: &str) -> Vec<String> {
    let mut traces = Vec::new();
    for (path, mut bytes) in files(dir) {
        if path.ends_with("crawl.toml") || (bytes.len() < 300 && has(&bytes, "forgotten")) {
            continue;
        }
        if path.ends_with("manifest.json") {
            let json = String::from_utf8_lossy(&bytes).into_owned();
            let line = json.lines().next().unwrap_or_default();
            let mut json: Value = serde_json::from_str(line).expect("a manifest");
            json["views"]["takedowns"] = Value::Null;
            bytes = json.to_string().into_bytes();
        }
        if pieces(&bytes).iter().any(|piece| has(piece, text)) {
            traces.push(path.display().to_string());
        }
    }
    traces
}

#[test]
fn nothing_of_a_forgotten_page_is_left_in_any_file() {
    let lives: [[&[&str]; 2]; 3] = [
        [&["--warc", "gzip", "--threads", "2"], &["--threads", "1"]],
        [&["--warc", "zstd"], &[]],
        // A state in memory leaves that on disk where it is.
        [&[], &["--set", "state=memory"]],
    ];
    for [first, second] in lives {
        let site = Site::start();
        let gone = ["/private-page", "/gone"].map(|path| site.url("gone", path));
        site.crawl(&gone, &[&["--scope", "any"], first].concat())
            .expect_code(0);
        let kept = ["/copy", "/", "/other"].map(|path| site.url("kept", path));
        site.crawl(&kept, second).expect_code(0);
        let found = site.why(&site.url("kept", "/found"));
        assert_eq!(found["found"]["on"], gone[1]);
        let copy = &kept[0];
        assert_eq!(site.why(copy)["visits"][0]["duplicate_of"], gone[0]);
        let port = site.server.address.port();
        let names = [
            SECRET.to_owned(),
            "/private-page".to_owned(),
            format!("gone.test:{port}"),
            "gone.test".to_owned(),
        ];
        for name in &names {
            assert!(!traces(&site.dir(), name).is_empty(), "{name}");
        }
        let told = site.ask("forget", &["gone.test"]).expect_code(0);
        assert!(told.stdout.contains("2 other pages"), "{}", told.stdout);
        for name in &names[1..] {
            assert_eq!(traces(&site.dir(), name), Vec::<String>::new(), "{name}");
        }
        // The copy is another site's page: its title is its own, the text of
        // both went with the first.
        for (path, bytes) in files(&site.dir().join("warc")) {
            for piece in pieces(&bytes) {
                assert!(!has(&piece, SECRET), "{}", path.display());
            }
        }
        site.ask("verify", &[]).expect_code(0);
        for url in &gone {
            assert_eq!(site.why(url)["state"], "refused");
            assert_eq!(site.why(url)["forgotten"]["what"], "gone.test");
        }
        if let Some(done) = python::run_script("read_archive.py", &[&site.dir().join("warc")]) {
            let report = done.expect_code(0).json();
            assert_eq!(report["complaints"], Value::Array(Vec::new()), "{report}");
            let found = report["warcio"].as_array().map_or(0, Vec::len);
            assert_eq!(found, urls(&site.dir(), "fetched").len());
        }
    }
}

#[test]
fn copies_of_what_was_forgotten_point_at_nothing_and_stand_for_nothing() {
    let site = Site::start();
    let original = site.url("gone", "/private-page");
    let [copy, third] = ["/copy", "/third"].map(|path| site.url("kept", path));
    site.crawl(std::slice::from_ref(&original), &[])
        .expect_code(0);
    site.crawl(std::slice::from_ref(&copy), &[]).expect_code(0);
    site.ask("forget", &[&original]).expect_code(0);
    let visit = &site.why(&copy)["visits"][0];
    assert_eq!(visit["duplicate_of"], Value::Null, "{visit}");
    let detail = visit["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("forgotten"), "{visit}");
    // The next page with this text is archived whole.
    site.crawl(std::slice::from_ref(&third), &[]).expect_code(0);
    assert_eq!(site.why(&third)["visits"][0]["duplicate_of"], Value::Null);
    let archive = warc::read(&site.dir());
    let records: Vec<_> = archive.iter().flatten().collect();
    let of = |url: &str| {
        let found = records.iter().find(|r| r.is_capture() && r.url() == url);
        found.expect("a record").kind().to_owned()
    };
    assert_eq!(of(&third), "response");
    assert_eq!(of(&copy), "revisit");
    for record in &records {
        let earlier = record.header("warc-refers-to-target-uri");
        let is_there = || records.iter().any(|r| r.url() == earlier);
        assert!(earlier.is_empty() || is_there(), "{earlier}");
    }
    site.ask("verify", &[]).expect_code(0);
    // A copy that is forgotten leaves the one that stands for the content.
    site.ask("forget", &[&copy]).expect_code(0);
    let again = site.url("kept", "/third?again");
    site.crawl(std::slice::from_ref(&again), &[]).expect_code(0);
    assert_eq!(site.why(&again)["visits"][0]["duplicate_of"], third);
    site.ask("verify", &[]).expect_code(0);
}

#[test]
fn verify_says_how_an_interrupted_takedown_is_finished() {
    let site = Site::start();
    let gone = site.url("gone", "/gone");
    site.crawl(std::slice::from_ref(&gone), &[]).expect_code(0);
    // The first thing that is there of a takedown that must be carried out.
    let plan = site.dir().join("journal/forget.plan");
    std::fs::write(&plan, "rhumb forget 1\n").expect("a plan");
    let told = site.ask("verify", &[]).expect_code(4).stdout;
    assert!(told.contains("run `rhumb forget` again"), "{told}");
    assert!(!told.contains("restore"), "{told}");
    site.ask("forget", &["gone.test"]).expect_code(0);
    assert!(!plan.exists());
    site.ask("verify", &[]).expect_code(0);
    assert_eq!(site.why(&gone)["state"], "refused");
}

#[test]
fn seeds_are_forgotten_too_and_are_refused_until_that_is_lifted() {
    let site = Site::start();
    let seeds = [site.url("gone", "/"), site.url("kept", "/")];
    site.crawl(&seeds, &["--scope", "host"]).expect_code(0);
    site.ask("forget", &["gone.test"]).expect_code(0);
    let asked = site.server.asked().len();
    let done = site.crawl(&seeds, &[]);
    done.assert_stderr_has("rhumb forget --allow gone.test");
    // A page that links there.
    site.crawl(&[site.url("kept", "/back")], &[]).expect_code(0);
    let paths: Vec<String> = (site.server.asked()[asked..].iter())
        .map(|one| one.path.clone())
        .collect();
    assert_eq!(paths, ["/robots.txt", "/back"][paths.len() % 2..]);
    let linked = site.why("http://gone.test/elsewhere");
    assert_eq!(linked["state"], "refused");
    assert_eq!(linked["reason"], "forgotten");
    assert_eq!(linked["forgotten"]["what"], "gone.test");
    assert_eq!(linked["links"][0]["fate"], "forgotten");
    let unseen = site.why(&site.url("gone", "/"));
    let reason = unseen["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("gone.test was forgotten"), "{unseen}");
    // Only the takedown that was made can be lifted.
    for other in ["kept.test", "www.gone.test", "http://gone.test/"] {
        let refused = site.ask("forget", &["--allow", other]).expect_code(2);
        refused.assert_stderr_has("rhumb forget --list");
    }
    site.ask("forget", &["--allow", "Gone.test"]).expect_code(0);
    let lifted = site.why(&site.url("gone", "/"));
    assert_eq!(lifted["state"], "unseen");
    assert!(lifted["forgotten"]["lifted"].is_string(), "{lifted}");
    let text = site.ask("why", &[&site.url("gone", "/"), "--links"]);
    let text = text.expect_code(0).stdout;
    assert!(text.contains("may be visited again since"), "{text}");
    let list = site.ask("forget", &["--list", "--json"]).expect_code(0);
    assert_eq!(list.lines().len(), 1);
    let listed = list.json();
    assert_eq!(listed["what"], "gone.test");
    assert_eq!(listed["time"], lifted["forgotten"]["time"]);
    assert_eq!(listed["lifted"], lifted["forgotten"]["lifted"]);
    // It is no seed any more: another page's link leads out of the scope.
    let other = site.url("kept", "/back?again");
    site.crawl(std::slice::from_ref(&other), &[]).expect_code(0);
    let fates = site.ask("why", &["http://gone.test/elsewhere", "--json", "--links"]);
    let fates = &fates.json()["links_by_fate"];
    assert_eq!(
        *fates,
        serde_json::json!({"forgotten": 1, "out-of-scope": 1})
    );
    site.crawl(&seeds[..1], &[]).expect_code(0);
    assert_eq!(site.why(&seeds[0])["state"], "fetched");
    site.ask("verify", &[]).expect_code(0);
}

#[test]
fn a_takedown_holds_over_kills_rebuilding_and_compaction() {
    let web = Simulated::with_latency(30, 500, 231, Duration::from_millis(3));
    web.crawl("crawl", &["--max-pages", "150", "--threads", "2"])
        .expect_code(0);
    let fetched = urls(&web.dir("crawl"), "fetched");
    let name = (fetched.iter())
        .filter_map(|url| url.split("://").nth(1)?.split(':').next())
        .find(|name| !web.truth.seed_url.contains(*name))
        .expect("a host")
        .to_owned();
    let of_it = |url: &String| url.contains(&format!("//{name}:"));
    web.ask("forget", "crawl", &[&name]).expect_code(0);
    let before = web.requests().len();
    let lives: [&[&str]; 3] = [
        &[
            "--max-pages",
            "none",
            "--threads",
            "3",
            "--set",
            "checkpoint_visits=20",
        ],
        &["--set", "state=memory"],
        &["--set", "state=disk", "--threads", "1"],
    ];
    for (life, more) in lives.into_iter().enumerate() {
        let running = Running::start(web.go_on_args("crawl", more));
        let wanted = web.sim.requests().len() + 60;
        wait_for("requests", || {
            (web.sim.requests().len() >= wanted).then_some(())
        });
        running.kill();
        let command = ["rebuild", "compact", "verify"][life];
        web.ask(command, "crawl", &[]).expect_code(0);
    }
    web.go_on("crawl", &["--threads", "2"]).expect_code(0);
    let asked = asked(&web, &web.requests()[before..]);
    assert_eq!(asked.iter().filter(|url| of_it(url)).count(), 0);
    let refused = web.ask("urls", "crawl", &["--state", "refused", "--json"]);
    let refused: Vec<Value> = (refused.expect_code(0).lines().iter())
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .filter(|one: &Value| of_it(&one["url"].as_str().unwrap_or_default().to_owned()))
        .collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|one| one["reason"] == "forgotten"));
    let list = web.ask("forget", "crawl", &["--list"]).expect_code(0);
    assert!(
        list.stdout.contains(&format!("{name}  holds; ")),
        "{}",
        list.stdout
    );
    web.ask("verify", "crawl", &[]).expect_code(0);
    // Lifted, a seed brings it back.
    web.ask("forget", "crawl", &["--allow", &name])
        .expect_code(0);
    let seed = fetched.iter().find(|url| of_it(url)).expect("a page");
    web.go_on("crawl", &[seed]).expect_code(0);
    assert!(urls(&web.dir("crawl"), "fetched").contains(seed));
    web.ask("verify", "crawl", &[]).expect_code(0);
}

#[test]
fn a_takedown_of_what_was_never_seen_holds_and_rewrites_nothing() {
    let web = Simulated::new(20, 300, 209);
    web.crawl("crawl", &["--max-pages", "100", "--threads", "2"])
        .expect_code(0);
    let before = files(&web.dir("crawl"));
    let runs = || -> Vec<PathBuf> {
        let state = files(&web.dir("crawl").join("state"));
        let runs = state
            .into_keys()
            .filter(|path| path.extension().is_some_and(|e| e == "run"));
        runs.collect()
    };
    let runs_before = runs();
    web.ask("forget", "crawl", &["never-seen.test"])
        .expect_code(0);
    let after = files(&web.dir("crawl"));
    for (path, bytes) in &before {
        let kept = ["journal", "warc"]
            .iter()
            .any(|name| path.parent().is_some_and(|at| at.ends_with(name)));
        assert!(
            !kept || after.get(path) == Some(bytes),
            "{} was changed",
            path.display()
        );
    }
    // The state goes on from where it was: it is not made again.
    let left = runs();
    assert!(runs_before.iter().any(|run| left.contains(run)), "{left:?}");
    let held = web.ask("forget", "crawl", &["--list"]).expect_code(0);
    assert!(held.stdout.contains("never-seen.test"), "{}", held.stdout);
    web.ask("verify", "crawl", &[]).expect_code(0);
    web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_lists_are_the_truth("crawl");
}
