//! Looking after a crawl: checkpoints, verify, rebuild, compact, forget, and
//! what a kill must not make forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::support::files::files;
use crate::support::odd_server::{OddServer, Reply};
use crate::support::request_log::asked;
use crate::support::{Running, Simulated, figure, run, urls, wait_for, warc};

const STATES: [&str; 4] = ["fetched", "failed", "refused", "queued"];

fn slow_web(seed: u64) -> Simulated {
    Simulated::with_latency(40, 500, seed, Duration::from_millis(3))
}

fn wait_for_requests(web: &Simulated, count: usize) {
    let wanted = web.sim.requests().len() + count;
    wait_for("requests", || {
        (web.sim.requests().len() >= wanted).then_some(())
    });
}

fn assert_sound(web: &Simulated) {
    let done = web.ask("verify", "crawl", &["--json"]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert_eq!(done.json()["sound"], true);
}

fn lists(web: &Simulated) -> BTreeMap<&'static str, BTreeSet<String>> {
    let list = |state| (state, urls(&web.dir("crawl"), state).into_iter().collect());
    STATES.into_iter().map(list).collect()
}

#[test]
fn after_a_checkpoint_and_a_kill_only_the_tail_is_read() {
    let web = slow_web(201);
    let quickly = ["--threads", "2", "--set", "sync_interval=10ms"];
    let running = web.start_crawl("crawl", &quickly);
    wait_for_requests(&web, 100);
    web.ask("checkpoint", "crawl", &[]).expect_code(0);
    assert_eq!(running.kill().code, None);
    assert_sound(&web);
    // What is before the checkpoint is not even looked at.
    let segments = files(&web.dir("crawl").join("journal"));
    for (path, bytes) in &segments {
        let mut spoiled = bytes.clone();
        spoiled[60] ^= 0xff;
        std::fs::write(path, spoiled).expect("a segment");
    }
    let done = web.go_on("crawl", &["--threads", "2"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    for (path, bytes) in &segments {
        std::fs::write(path, bytes).expect("a segment");
    }
    web.assert_lists_are_the_truth("crawl");
    assert_sound(&web);
}

#[test]
fn looking_at_a_killed_crawl_changes_nothing_and_rebuilding_it_loses_nothing() {
    let web = slow_web(202);
    let running = web.start_crawl("crawl", &["--threads", "3"]);
    wait_for_requests(&web, 200);
    running.kill();
    let before = files(&web.dir("crawl"));
    let known = lists(&web);
    let status = web.ask("status", "crawl", &["--json"]).json();
    web.ask("why", "crawl", &[&web.truth.seed_url])
        .expect_code(0);
    assert!(files(&web.dir("crawl")) == before, "something was changed");
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    assert!(lists(&web) == known, "the lists are others");
    let again = web.ask("status", "crawl", &["--json"]).json();
    for count in ["fetched", "urls_seen", "queued", "links", "duplicates"] {
        assert_eq!(figure(&again, count), figure(&status, count), "{count}");
    }
    assert_sound(&web);
    web.ask("compact", "crawl", &[]).expect_code(0);
    assert_sound(&web);
    let done = web.go_on("crawl", &["--threads", "1"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_sound(&web);
}

#[test]
fn a_crawl_goes_on_with_other_shards_other_memory_and_at_another_place() {
    let web = slow_web(203);
    let tiny = ["--set", "memory=64Ki", "--set", "checkpoint_visits=20"];
    let first = [&["--threads", "1", "--order", "dfs"], &tiny[..]].concat();
    let mut running = web.start_crawl("crawl", &first);
    let lives: [&[&str]; 3] = [
        &[
            "--threads",
            "3",
            "--connections",
            "4",
            "--set",
            "memory=16Mi",
        ],
        &["--threads", "2", "--set", "state=memory"],
        &[
            "--threads",
            "3",
            "--set",
            "state=disk",
            "--set",
            "memory=64Ki",
        ],
    ];
    for (life, more) in lives.into_iter().enumerate() {
        wait_for_requests(&web, 120);
        match life % 2 {
            0 => assert_eq!(running.kill().code, None),
            _ => drop(running.interrupt().expect_code(130)),
        }
        let [from, to] = [["crawl", "moved"], ["moved", "crawl"]][life % 2];
        web.ask("verify", from, &[]).expect_code(0);
        // It goes on at another place, with nothing left at the old one.
        std::fs::rename(web.dir(from), web.dir(to)).expect("a move");
        running = Running::start(web.go_on_args(to, more));
        assert!(!web.dir(from).exists());
    }
    let done = running.wait().expect_code(0);
    std::fs::rename(web.dir("moved"), web.dir("crawl")).expect("a move");
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_sound(&web);
}

#[test]
fn damage_to_any_file_is_told_and_the_state_can_be_made_again() {
    let web = Simulated::new(20, 300, 204);
    web.crawl("crawl", &["--max-pages", "120", "--threads", "2"])
        .expect_code(0);
    assert_sound(&web);
    let good = files(&web.dir("crawl"));
    let checked = |path: &Path| {
        let name = path.display().to_string();
        [".run", ".rj", ".gz", "manifest.json"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let restore = || {
        std::fs::remove_dir_all(web.dir("crawl")).expect("the crawl");
        for (path, bytes) in &good {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
    };
    let mut untold = Vec::new();
    let mut kinds = BTreeSet::new();
    for (path, bytes) in good.iter().filter(|(path, _)| checked(path)) {
        let name = path.file_name().expect("a name").to_string_lossy();
        let is_state = path.parent().is_some_and(|at| at.ends_with("state"));
        kinds.insert(name.split(['-', '.']).next().unwrap_or_default().to_owned());
        let flipped = |at: usize| {
            let mut spoiled = bytes.clone();
            spoiled[at] ^= 0x55;
            Some(spoiled)
        };
        // A journal's last record says what was synced, and is not itself.
        let last = match name.ends_with(".rj") {
            true => bytes.len() - 150,
            false => bytes.len() - 1,
        };
        let damages = [
            ("first byte", flipped(0)),
            ("byte in the middle", flipped(bytes.len() / 2)),
            ("byte at the end", flipped(last)),
            ("cut at the end", Some(bytes[..last].to_vec())),
            ("cut in half", Some(bytes[..bytes.len() / 2].to_vec())),
            ("empty", Some(Vec::new())),
            ("removed", None),
        ];
        for (what, spoiled) in damages {
            match spoiled {
                Some(spoiled) => std::fs::write(path, spoiled).expect("a file"),
                // Without a manifest the journal is the state.
                None if name == "manifest.json" => continue,
                None => std::fs::remove_file(path).expect("a file"),
            }
            let done = web.ask("verify", "crawl", &[]);
            // Of a file that is gone only what should be in it is known.
            let journal = name.split_once('-').map_or("", |(journal, _)| journal);
            let named = match name.ends_with(".rj") {
                true => journal,
                false => name.as_ref(),
            };
            let told = format!("{}{}", done.stdout, done.stderr);
            if done.code != Some(4) || !told.contains(named) {
                untold.push(format!("{} {what}: {:?} {told}", path.display(), done.code));
            }
            if is_state && what == "byte in the middle" {
                web.ask("rebuild", "crawl", &[]).expect_code(0);
                assert_sound(&web);
                restore();
            }
        }
        std::fs::write(path, bytes).expect("a file");
    }
    assert!(untold.is_empty(), "{untold:#?}");
    let all = [
        "keys", "queue", "rows", "content", "index", "seeds", "manifest", "rhumb",
    ];
    for kind in all {
        assert!(kinds.contains(kind), "no {kind} was damaged: {kinds:?}");
    }
}

#[test]
fn a_manifest_with_a_wrong_checksum_is_told_and_the_state_made_again() {
    let web = Simulated::new(40, 500, 208);
    web.crawl("crawl", &["--threads", "2", "--max-pages", "150"])
        .expect_code(0);
    let known = lists(&web);
    let path = web.dir("crawl").join("state/manifest.json");
    let text = std::fs::read_to_string(&path).expect("the manifest");
    // A count that is believed would be wrong for ever.
    let spoiled = text.replacen("\"sequence\":", "\"sequence\":1", 1);
    assert_ne!(spoiled, text);
    std::fs::write(&path, spoiled).expect("the manifest");
    let wrong = "manifest.json: its checksum is wrong";
    let status = web.ask("status", "crawl", &[]).expect_code(4);
    status.assert_stderr_has(wrong);
    // To verify it is a finding, beside those in journal and archive.
    let verified = web.ask("verify", "crawl", &[]).expect_code(4).stdout;
    assert!(verified.contains(wrong), "{verified}");
    let done = web.go_on("crawl", &[]).expect_code(4);
    done.assert_stderr_has("rhumb rebuild");
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    assert!(lists(&web) == known, "the lists are others");
    assert_sound(&web);
    let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
}

#[test]
fn what_is_forgotten_leaves_no_trace_and_the_rest_is_unharmed() {
    let web = Simulated::new(20, 400, 205);
    web.crawl("crawl", &["--max-pages", "200", "--threads", "2"])
        .expect_code(0);
    let before = lists(&web);
    let host = "www.";
    let name = (before["fetched"].iter())
        .filter_map(|url| url.split("://").nth(1)?.split(':').next())
        .find(|name| name.starts_with(host) && !web.truth.seed_url.contains(*name))
        .expect("a host")
        .to_owned();
    web.ask("forget", "crawl", &[&name]).expect_code(0);
    assert_sound(&web);
    let of_it = |url: &String| url.contains(&format!("//{name}:"));
    let after = lists(&web);
    for state in STATES {
        let kept = before[state].iter().filter(|url| !of_it(url)).cloned();
        assert_eq!(after[state], kept.collect(), "{state}");
    }
    let gone = before["fetched"].iter().find(|url| of_it(url));
    let why = web.ask("why", "crawl", &[gone.expect("a page"), "--json"]);
    assert_eq!(why.json()["state"], "refused");
    assert_eq!(why.json()["forgotten"]["what"], name);
    for record in warc::read(&web.dir("crawl")).iter().flatten() {
        assert!(!of_it(&record.url().to_owned()), "{}", record.url());
    }
    let asked_before = web.requests().len();
    web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    let again = asked(&web, &web.requests()[asked_before..]);
    let again = again.iter().filter(|url| after["fetched"].contains(*url));
    assert_eq!(again.count(), 0, "pages that stayed are asked for again");
    assert_sound(&web);
}

#[test]
fn a_crawl_whose_seed_is_forgotten_goes_on() {
    let web = Simulated::new(20, 300, 206);
    web.crawl("crawl", &["--max-pages", "100"]).expect_code(0);
    web.ask("forget", "crawl", &[&web.truth.seed_url])
        .expect_code(0);
    web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    assert_sound(&web);
}

#[test]
fn a_host_that_asked_for_rest_gets_it_over_a_kill() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("404 Not Found", String::new()),
        _ => Reply::Answer("429 Too Many Requests\r\nRetry-After: 3", String::new()),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let args = ["crawl", &seed, "--dir", &dir, "--delay", "0s", "--quiet"];
    let running = Running::start(args);
    wait_for("the answer to be written down", || {
        let told = run(["why", &seed, "--dir", &dir, "--links"]);
        told.stdout.contains("rests").then_some(())
    });
    running.kill();
    run(["crawl", "--dir", &dir, "--quiet", "--set", "retries=0"]);
    let pages = server.asked();
    let pages: Vec<_> = pages.iter().filter(|one| one.path == "/").collect();
    for pair in pages.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_secs(3), "{gap:?} before {pair:?}");
    }
    assert!(pages.len() > 1, "{pages:?}");
}

#[test]
fn the_pace_that_a_host_asked_for_is_kept_over_a_kill() {
    let server = OddServer::start(|path| match path {
        "/robots.txt" => Reply::Answer("200 OK", "User-agent: *\nCrawl-delay: 2\n".into()),
        _ => Reply::Answer(
            "200 OK\r\nContent-Type: text/html",
            "<a href='/1'>1</a><a href='/2'>2</a>".into(),
        ),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let seed = format!("http://{}/", server.address);
    let args = ["crawl", &seed, "--dir", &dir, "--delay", "0s", "--quiet"];
    let running = Running::start(args);
    wait_for("the first page to be written down", || {
        let told = run(["why", &seed, "--dir", &dir, "--json"]);
        (told.code == Some(0) && told.json()["state"] == "fetched").then_some(())
    });
    running.kill();
    let again = Running::start(["crawl", "--dir", &dir, "--quiet"]);
    wait_for("the second page", || {
        let pages = server
            .asked()
            .into_iter()
            .filter(|one| one.path != "/robots.txt");
        (pages.count() > 1).then_some(())
    });
    again.kill();
    let pages = server.asked();
    let pages: Vec<_> = (pages.iter())
        .filter(|one| one.path != "/robots.txt")
        .collect();
    for pair in pages.windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_secs(2), "{gap:?} before {pair:?}");
    }
}

#[test]
fn the_limit_on_pages_is_exact_over_kills() {
    let web = slow_web(207);
    let mut running = web.start_crawl("crawl", &["--threads", "2", "--max-pages", "300"]);
    for threads in ["3", "1"] {
        wait_for_requests(&web, 80);
        running.kill();
        running = Running::start(web.go_on_args("crawl", &["--threads", threads]));
    }
    let done = running.wait().expect_code(0);
    assert_eq!(done.json()["ending"], "page-limit");
    assert_eq!(urls(&web.dir("crawl"), "fetched").len(), 300);
    assert_sound(&web);
}

/// Or each look at the crawl would read the whole journal.
#[test]
fn a_run_without_visits_leaves_the_marks_of_those_before() {
    let web = Simulated::new(10, 100, 209);
    web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    let marks = || {
        let path = web.dir("crawl").join("state/manifest.json");
        let text = std::fs::read_to_string(path).expect("the manifest");
        let start = text.find('{').expect("an object");
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
        let manifest: serde_json::Value = values.next().expect("a value").expect("JSON");
        let shards = manifest["shards"].as_array().expect("shards").clone();
        let marks = shards.iter().flat_map(|shard| {
            let settled = shard["settled"].as_object().expect("marks");
            settled.values().map(|mark| figure(mark, "sequence"))
        });
        marks.collect::<Vec<u64>>()
    };
    assert!(marks().iter().all(|mark| *mark > 0), "{:?}", marks());
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    assert!(marks().iter().all(|mark| *mark > 0), "{:?}", marks());
    web.go_on("crawl", &[]).expect_code(0);
    assert!(marks().iter().all(|mark| *mark > 0), "{:?}", marks());
}
