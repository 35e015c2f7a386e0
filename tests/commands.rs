//! The commands that show: why, urls, status, fetch, extract.

use serde_json::Value;

use crate::support::odd_server::{OddServer, Reply};
use crate::support::simulated::split;
use crate::support::{Done, Simulated, figure, run, run_with};

fn why(web: &Simulated, url: &str) -> (String, String) {
    let json = web
        .ask("why", "crawl", &[url, "--json"])
        .expect_code(0)
        .json();
    let text = web.ask("why", "crawl", &[url]).expect_code(0);
    let word = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    let (state, reason) = (word("state"), word("reason"));
    assert_eq!(json["url"], url);
    assert!(text.stdout.starts_with(url), "{}", text.stdout);
    assert!(
        text.stdout.contains(&reason),
        "no {reason} in {}",
        text.stdout
    );
    (state, reason)
}

/// The first refused URL with this reason.
fn refused_for(web: &Simulated, reason: &str) -> String {
    let listed = web.ask("urls", "crawl", &["--state", "refused", "--json"]);
    let lines = listed.expect_code(0).lines();
    let mut found = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
        .filter(|line| line["reason"] == reason);
    let line = found.next().unwrap_or_else(|| panic!("none is {reason}"));
    line["url"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn why_tells_the_reason_for_every_kind_of_url() {
    let web = Simulated::new(30, 600, 101);
    let truth = &web.truth;
    web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    let pair = |state: &str, reason: &str| (state.to_owned(), reason.to_owned());

    assert_eq!(why(&web, &truth.pages[5]), pair("fetched", "fetched"));
    assert_eq!(why(&web, &truth.redirects[0]), pair("fetched", "redirect"));
    let missing = pair("failed", "http-error: status 404");
    assert_eq!(why(&web, &truth.missing[0]), missing);
    let (state, reason) = why(&web, &truth.unwanted[0]);
    assert_eq!(state, "refused");
    assert!(
        reason.starts_with("unwanted-type: content type "),
        "{reason}"
    );
    for url in truth.forbidden.iter().take(10) {
        assert_eq!(why(&web, url), pair("refused", &robots_reason(&web, url)));
    }
    let nofollow = refused_for(&web, "nofollow");
    assert_eq!(
        why(&web, &nofollow),
        pair("refused", "nofollow (setting `nofollow`; now true)")
    );
    let unseen = pair("unseen", "no page, seed or record names it");
    assert_eq!(why(&web, "http://nobody.test/links/here"), unseen);

    let seed = web.ask("why", "crawl", &[&truth.seed_url, "--json"]).json();
    assert!(seed["seed"]["time"].is_string(), "{seed}");
    let page = web.ask("why", "crawl", &[&truth.pages[5], "--json"]).json();
    assert!(page["found"]["on"].is_string(), "{page}");
    assert!(page["links"][0]["on"].is_string(), "{page}");
    assert_eq!(page["visits"][0]["status"], 200);
    assert!(page["visits"][0]["archive"][0][0].is_string(), "{page}");
}

/// A reason that names a line of the host's robots.txt which forbids.
fn robots_reason(web: &Simulated, url: &str) -> String {
    let (host, _) = split(url);
    let told = web.ask("why", "crawl", &[url, "--json"]).json();
    let told = told["reason"].as_str().unwrap_or_default().to_owned();
    let rest = told
        .strip_prefix("robots-disallowed: robots.txt line ")
        .unwrap_or_else(|| panic!("{told}"));
    let (number, rule) = rest.split_once(": ").expect("a line and its rule");
    let number: usize = number.parse().expect("a line number");
    let body = web.sim.web().response(host, "/robots.txt", false).body;
    let text = String::from_utf8_lossy(&body).to_ascii_lowercase();
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let pattern = rule.split_whitespace().last().unwrap_or_default();
    assert!(line.contains("disallow"), "line {number} is {line:?}");
    assert!(line.contains(pattern), "{rule:?} is not in {line:?}");
    told
}

#[test]
fn why_names_the_scope_and_the_depth() {
    let web = Simulated::new(30, 600, 102);
    web.crawl("crawl", &["--scope", "host", "--max-depth", "2"])
        .expect_code(0);
    for (reason, rule) in [
        (
            "out-of-scope",
            "out-of-scope (setting `scope`; now \"host\")",
        ),
        ("too-deep", "too-deep (setting `max_depth`; now 2)"),
    ] {
        let (state, told) = why(&web, &refused_for(&web, reason));
        assert_eq!(state, "refused");
        // Other links to the same URL may have been refused for more.
        assert!(told.split(", ").any(|word| word == rule), "{told}");
    }
}

/// A site with a redirect and links that no crawl can hold, crawled.
fn odd_site(folder: &std::path::Path) -> (OddServer, String, String) {
    let server = OddServer::start(|path| match path {
        "/" => Reply::Answer(
            "200 OK\r\nContent-Type: text/html",
            "<a href='/moved'>m</a><a href='mailto:a@b.test'>Write</a>\
             <a href='http://[bad'>b</a><a href='foo.test:8080/x'>p</a>\
             <a href='http://me:secret@c.test/'>c</a>"
                .to_owned(),
        ),
        "/moved" => Reply::Answer(
            "301 Moved\r\nLocation: http://elsewhere.test/new",
            String::new(),
        ),
        _ => Reply::Answer("404 Not Found", String::new()),
    });
    let seed = format!("http://{}/", server.address);
    let dir = folder.join("crawl").display().to_string();
    run(["crawl", &seed, "--dir", &dir, "--delay", "0s", "--quiet"]).expect_code(0);
    (server, seed, dir)
}

#[test]
fn why_says_where_a_redirect_leads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, seed, dir) = odd_site(folder.path());
    let moved = format!("{seed}moved");
    let json = run(["why", &moved, "--dir", &dir, "--json"]).json();
    let redirect = &json["visits"][0]["redirect"];
    assert_eq!(redirect["to"], "http://elsewhere.test/new", "{json}");
    assert_eq!(
        redirect["fate"],
        "out-of-scope (setting `scope`; now \"host\")"
    );
    let text = run(["why", &moved, "--dir", &dir]).expect_code(0).stdout;
    let told = "http://elsewhere.test/new: out-of-scope (setting `scope`; now \"host\")";
    assert!(text.contains(told), "{text}");
    assert!(!text.contains(", ,"), "{text}");
}

#[test]
fn why_knows_every_refused_link_as_it_is_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, seed, dir) = odd_site(folder.path());
    let listed = run(["urls", "--state", "refused", "--dir", &dir]).expect_code(0);
    for (text, reason) in [
        (
            "mailto:a@b.test",
            "scheme-not-crawled: scheme `mailto` is not crawled",
        ),
        ("http://[bad", "malformed: not a URL: "),
        ("foo.test:8080/x", "scheme-not-crawled"),
        ("http://me:secret@c.test/", "carries-credentials: "),
    ] {
        assert!(listed.lines().iter().any(|l| l == text), "{text} is listed");
        for flags in [&["--json"][..], &["--json", "--links"]] {
            let args = [&["why", text, "--dir", &dir], flags].concat();
            let json = run(args).expect_code(0).json();
            assert_eq!(json["state"], "refused", "{json}");
            let told = json["reason"].as_str().unwrap_or_default();
            assert!(told.starts_with(reason), "{told}");
            assert_eq!(json["links"][0]["on"], seed.as_str(), "{json}");
        }
    }
    run(["why", "mailto:nobody@b.test", "--dir", &dir])
        .expect_code(2)
        .assert_stderr_has("no page had it as a link");
}

#[test]
fn a_crawl_that_does_not_run_still_answers() {
    let web = Simulated::new(30, 600, 103);
    let done = web
        .crawl("crawl", &["--max-pages", "150", "--threads", "2"])
        .expect_code(0);
    let status = web
        .ask("status", "crawl", &["--json"])
        .expect_code(0)
        .json();
    assert_eq!(status["running"], false);
    for count in [
        "fetched",
        "failed",
        "refused",
        "duplicates",
        "links",
        "bytes",
    ] {
        assert_eq!(
            figure(&status, count),
            figure(&done.json(), count),
            "{count}"
        );
    }
    let size = |set: &str, of: &str| figure(&status["sizes"][set], of);
    for set in [
        "urls", "queue", "content", "index", "hosts", "seeds", "journal", "archive",
    ] {
        assert!(size(set, "bytes") > 0 && size(set, "files") > 0, "{set}");
    }
    assert_eq!(size("urls", "entries"), figure(&status, "urls_seen"));
    assert_eq!(size("queue", "entries"), figure(&status, "queued"));
    assert_eq!(size("content", "entries"), figure(&status, "documents"));
    assert!(size("hosts", "entries") > 1 && size("content", "entries") > 100);
    let queued = web.ask("urls", "crawl", &["--state", "queued"]).lines();
    assert_eq!(queued.len() as u64, figure(&status, "queued"));
    let (state, reason) = why(&web, &queued[0]);
    assert_eq!(state, "queued");
    assert!(reason.contains("not running"), "{reason}");
    let text = web.ask("status", "crawl", &[]).expect_code(0).stdout;
    assert!(
        text.contains("not running") && text.contains("150 fetched"),
        "{text}"
    );
    for set in ["URL set", "queue", "content", "hosts", "index", "journal"] {
        assert!(text.contains(set), "no {set} in {text}");
    }
    // Who reads only the first lines gets no error.
    let dir = web.dir_arg("crawl");
    let mut shell = crate::support::program::command("sh");
    let pipe = "\"$1\" urls --state queued --dir \"$2\" | head -n 1";
    shell.args(["-c", pipe, "sh", crate::support::program::RHUMB, &dir]);
    let first = crate::support::Running::spawn(shell).wait().expect_code(0);
    assert_eq!((first.lines().len(), first.stderr.as_str()), (1, ""));
}

/// The sum of a table in a report.
fn total(json: &Value, table: &str) -> u64 {
    let table = json[table].as_object().expect("a table");
    table.values().filter_map(Value::as_u64).sum()
}

#[test]
fn the_parts_of_every_count_make_the_whole() {
    let web = Simulated::new(30, 900, 106);
    let done = web.crawl("crawl", &["--threads", "2", "--max-depth", "6"]);
    let summary = done.expect_code(0).json();
    let status = || web.ask("status", "crawl", &["--json"]).json();
    let stopped = status();
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    for report in [&summary, &stopped, &status()] {
        assert_eq!(total(report, "fates"), figure(report, "links"));
        assert_eq!(total(report, "failures"), figure(report, "failed"));
        assert_eq!(total(report, "refusals"), figure(report, "refused"));
        assert_eq!(report["fates"], summary["fates"]);
        assert!(figure(&report["fates"], "repeated") > 0, "{report}");
        let let_through =
            figure(&report["fates"], "offered") + figure(&report["fates"], "repeated");
        let refused = figure(report, "links") - let_through;
        assert_eq!(figure(report, "links_refused"), refused);
        assert!(refused > 0 && figure(report, "refused") > 0);
    }
}

fn fetch(web: &Simulated, url: &str, flag: &str) -> Done {
    let mut args = vec!["fetch".to_owned(), url.to_owned()];
    args.extend(web.dns());
    args.extend((!flag.is_empty()).then(|| flag.to_owned()));
    run(args).expect_code(0)
}

#[test]
fn fetch_shows_one_page_in_several_ways() {
    let web = Simulated::new(10, 100, 104);
    let url = &web.truth.seed_url;
    let headers = fetch(&web, url, "--headers").stdout;
    assert!(headers.starts_with("GET / HTTP/1.1\r\n"), "{headers}");
    assert!(headers.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"), "{headers}");
    assert!(!headers.contains("<html"), "{headers}");

    let links = fetch(&web, url, "--links").lines();
    assert!(!links.is_empty());
    for link in &links {
        assert_eq!(link.split('\t').count(), 3, "{link:?}");
    }
    assert!(
        links.iter().any(|l| l.starts_with("a\thttp://")),
        "{links:?}"
    );

    let text = fetch(&web, url, "--text").stdout;
    assert!(!text.trim().is_empty() && !text.contains("<a"), "{text}");

    let raw = fetch(&web, url, "--raw").stdout;
    assert_eq!(raw.as_bytes(), web.body_of(url));

    let overview = fetch(&web, url, "").stdout;
    for word in ["status       200", "title", "links", "charset"] {
        assert!(overview.contains(word), "no {word} in {overview}");
    }
    let moved = fetch(&web, &web.truth.redirects[0], "").stdout;
    assert!(moved.contains("outcome      redirect"), "{moved}");
    let missing = fetch(&web, &web.truth.missing[0], "").stdout;
    assert!(missing.contains("http-error: status 404"), "{missing}");
    // What a crawl would make of it has the names that `why` uses.
    let unwanted = fetch(&web, &web.truth.unwanted[0], "");
    let told = "unwanted-type: content type ";
    assert!(unwanted.stdout.contains(told), "{}", unwanted.stdout);
    unwanted.assert_stderr_has("a crawl drops this page: unwanted-type");
    let raw = fetch(&web, &web.truth.unwanted[0], "--raw");
    assert_eq!(
        raw.stdout.is_empty(),
        web.body_of(&web.truth.unwanted[0]).is_empty()
    );
    let mut args = ["fetch", "http://no-such-name.test/"]
        .map(str::to_owned)
        .to_vec();
    args.extend(web.dns());
    run(args).expect_code(6).assert_stderr_has("no-such-name");
}

#[test]
fn extract_prints_a_page_as_json() {
    let page = r#"<!doctype html><html lang=en><head><title>A &amp; B</title>
        <base href="/deep/"><link rel=canonical href="http://e.test/c">
        <meta name=description content="What it is"><meta name=robots content="noindex">
        </head><body><p>Some <b>text</b>.</p>
        <a href="x.html" rel="nofollow">An  anchor</a>
        <a href="https://other.test/#top">Out</a> <img src="i.png" alt="picture">
        <a href="mailto:a@b.test">Mail</a></body></html>"#;
    let args = ["extract", "-", "--url", "http://e.test/page"];
    let json = run_with(args, page.as_bytes()).expect_code(0).json();
    assert_eq!(json["title"], "A & B");
    assert_eq!(json["base"], "http://e.test/deep/");
    assert_eq!(json["canonical"], "http://e.test/c");
    assert_eq!(json["language"], "en");
    assert_eq!(json["description"], "What it is");
    assert_eq!(json["robots"][0], "noindex");
    assert!(json["charset"].is_string());
    let text = json["text"].as_str().unwrap_or_default();
    assert!(text.contains("Some text."), "{text:?}");
    let links = json["links"].as_array().cloned().unwrap_or_default();
    let link = |url: &str| {
        let found = links.iter().find(|link| link["url"] == url);
        found
            .cloned()
            .unwrap_or_else(|| panic!("no {url} in {links:?}"))
    };
    let inside = link("http://e.test/deep/x.html");
    assert_eq!(inside["kind"], "a");
    assert_eq!(inside["rel"], "nofollow");
    assert_eq!(inside["anchor"], "An anchor");
    assert_eq!(inside["internal"], true);
    assert_eq!(link("https://other.test/")["internal"], false);
    assert_eq!(link("http://e.test/deep/i.png")["kind"], "img");
    assert!(link("mailto:a@b.test")["refused"].is_string());

    run(["extract", "/no/such/file", "--url", "http://e.test/"])
        .expect_code(2)
        .assert_stderr_has("/no/such/file");
    run_with(["extract", "-", "--url", "::"], b"").expect_code(2);
}

#[test]
fn a_demo_leaves_a_demo_that_runs_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("demo/state");
    std::fs::create_dir_all(&state).expect("a folder");
    std::fs::write(state.join("demo"), "http://a.test/").expect("a file");
    let lock = std::fs::File::create(state.join("lock")).expect("a file");
    lock.lock().expect("the lock");
    let dir = folder.path().join("demo").display().to_string();
    let small = ["demo", "--hosts", "3", "--pages", "20", "--dir", &dir];
    run(small).expect_code(3).assert_stderr_has("use");
    assert!(state.join("demo").is_file());
    drop(lock);
    run(small).expect_code(0);
}
