//! Seeds from files and from standard input.

use std::collections::BTreeSet;

use crate::support::request_log::asked;
use crate::support::simulated::assert_same;
use crate::support::{Done, Running, Simulated, figure, run, run_with, urls, wait_for};

const LINES: usize = 10_000;

/// Ten thousand pages of a web, one a line, with mistakes among them.
fn list(web: &Simulated) -> (String, BTreeSet<String>) {
    let wanted: BTreeSet<String> = web.truth.pages.iter().take(LINES).cloned().collect();
    assert_eq!(wanted.len(), LINES);
    let mut text = String::from("\u{feff}# a list\n\nhttp://[\n");
    for url in &wanted {
        text += url;
        text += "\r\n";
    }
    text += "ftp://example.org/\n   \nno scheme and spaces\n";
    (text, wanted)
}

fn args(web: &Simulated, source: &str) -> Vec<String> {
    let dir = web.dir_arg("crawl");
    let mut args = [
        "crawl", "--seeds", source, "--dir", &dir, "--json", "--quiet",
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend(["--scope", "page", "--delay", "0s"].map(str::to_owned));
    args.extend(web.dns());
    args
}

#[test]
fn ten_thousand_seeds_come_from_standard_input() {
    let web = Simulated::new(300, 10_500, 71);
    let (text, wanted) = list(&web);
    let done = run_with(args(&web, "-"), text.as_bytes()).expect_code(0);
    assert_eq!(figure(&done.json(), "bad_seeds"), 3);
    assert_eq!(figure(&done.json(), "urls_seen"), LINES as u64);
    done.assert_stderr_has("passed over: standard input line 3: `http://[`");
    done.assert_stderr_has("passed over: standard input line 10004: `ftp://example.org/`");
    assert_same("fetched", &urls(&web.dir("crawl"), "fetched"), &wanted);
}

#[test]
fn seeds_come_from_several_files_and_the_command_line() {
    let web = Simulated::new(20, 200, 72);
    let pages = &web.truth.pages;
    let (one, two) = (web.dir("one.txt"), web.dir("two.txt"));
    std::fs::write(&one, format!("{}\n{}\n", pages[1], pages[2])).expect("a file");
    // Without a line break at the end, and with a seed that was there before.
    std::fs::write(&two, format!("{}\n{}", pages[2], pages[3])).expect("a file");
    let mut args = args(&web, &one.display().to_string());
    args.extend(["--seeds".to_owned(), two.display().to_string()]);
    args.push(pages[0].clone());
    run(args).expect_code(0);
    let wanted = pages[..4].iter().cloned().collect();
    assert_same("fetched", &urls(&web.dir("crawl"), "fetched"), &wanted);
}

#[test]
fn many_mistakes_are_counted_and_not_told_one_by_one() {
    let web = Simulated::new(3, 20, 73);
    let text = "http://[\n".repeat(5000) + &web.truth.seed_url + "\nhttp://[";
    let done = run_with(args(&web, "-"), text.as_bytes()).expect_code(0);
    assert_eq!(figure(&done.json(), "bad_seeds"), 5001);
    assert_eq!(figure(&done.json(), "fetched"), 1);
    done.assert_stderr_has("passed over 5001 lines");
    assert!(done.stderr.lines().count() < 20, "{}", done.stderr);
}

#[test]
fn a_line_with_more_than_a_url_is_refused_and_named() {
    let web = Simulated::new(3, 20, 84);
    let list = web.dir("list.txt");
    let (good, odd) = (&web.truth.seed_url, format!("{}x y", web.truth.seed_url));
    std::fs::write(&list, format!("# a list\n{good}\n\n{odd}\n{good} News\n")).expect("a file");
    let list = list.display().to_string();
    let mut args = args(&web, &list);
    args.retain(|arg| arg != "--quiet");
    let done = run(args).expect_code(0);
    for (line, text) in [(4, &odd), (5, &format!("{good} News"))] {
        done.assert_stderr_has(&format!("passed over: {list} line {line}: `{text}`"));
    }
    done.assert_stderr_has("2 refused");
    assert_eq!(figure(&done.json(), "bad_seeds"), 2);
    assert_eq!(figure(&done.json(), "urls_seen"), 1);
    run(["crawl", &odd]).expect_code(2).assert_stderr_has("%20");
}

/// A crawl with seeds from a standard input on which one came, and then
/// nothing: the seed has been asked for when this returns.
fn crawl_with_silent_input(web: &Simulated, more: &[&str]) -> Running {
    let mut args = args(web, "-");
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    let mut running = Running::start(args);
    running.tell(&web.truth.seed_url);
    wait_for_request(web, &web.truth.seed_url);
    running
}

fn wait_for_request(web: &Simulated, url: &str) {
    wait_for("a request", || {
        let asked = asked(web, &web.requests());
        asked.iter().any(|asked| asked == url).then_some(())
    });
}

/// The end of a crawl whose standard input stays open.
fn end_of(mut running: Running) -> Done {
    wait_for("the end", || running.has_ended().then_some(()));
    running.wait()
}

#[test]
fn visits_begin_while_seeds_are_still_to_come() {
    let web = Simulated::new(20, 200, 74);
    let mut running = crawl_with_silent_input(&web, &["--threads", "2"]);
    // All that came is done, and the crawl waits for more.
    for url in &web.truth.pages[..5] {
        running.tell(url);
        wait_for_request(&web, url);
    }
    assert!(!running.has_ended());
    let done = running.wait().expect_code(0);
    assert_eq!(done.json()["ending"], "finished");
    let mut wanted: BTreeSet<String> = web.truth.pages[..5].iter().cloned().collect();
    wanted.insert(web.truth.seed_url.clone());
    assert_same("fetched", &urls(&web.dir("crawl"), "fetched"), &wanted);
    assert_same("asked for", &asked(&web, &web.requests()), &wanted);
}

#[test]
fn a_crawl_ends_while_its_standard_input_is_silent() {
    let web = Simulated::new(5, 50, 75);
    let running = crawl_with_silent_input(&web, &[]);
    running.signal("INT");
    let done = end_of(running).expect_code(130);
    assert_eq!(done.json()["ending"], "interrupted");
    done.assert_stderr_has("before all seeds were read");

    let web = Simulated::new(5, 50, 76);
    let running = crawl_with_silent_input(&web, &[]);
    web.ask("stop", "crawl", &[]).expect_code(0);
    assert_eq!(end_of(running).expect_code(0).json()["ending"], "stopped");

    let web = Simulated::new(5, 50, 77);
    let running = crawl_with_silent_input(&web, &["--max-time", "2s"]);
    let done = end_of(running).expect_code(0);
    assert_eq!(done.json()["ending"], "time-limit");
    // What was handed over is in the journal: nothing is asked for again.
    let again = run_with(args(&web, "-"), web.truth.seed_url.as_bytes());
    assert_eq!(figure(&again.expect_code(0).json(), "fetched_this_run"), 0);
}

#[test]
fn a_crawl_goes_on_while_its_standard_input_is_silent() {
    let web = Simulated::new(10, 100, 78);
    web.crawl("crawl", &["--max-pages", "5"]).expect_code(0);
    let args = web.go_on_args("crawl", &["--max-pages", "none", "--seeds", "-"]);
    let mut running = Running::start(args);
    let last = web.to_ask().len();
    wait_for("all pages", || {
        let asked = asked(&web, &web.requests());
        (asked.len() >= last).then_some(())
    });
    assert!(!running.has_ended());
    web.assert_counts_are_the_truth(&running.wait().expect_code(0));
}

#[test]
fn all_seeds_of_a_file_are_known_before_the_first_visit() {
    // Links lead from each of these pages to others of them. As seeds they are
    // no step away, whoever links to them, and what they link to is one.
    let web = Simulated::new(40, 2_000, 79);
    let list = web.dir("list.txt");
    std::fs::write(&list, web.truth.pages.join("\n")).expect("a file");
    let mut args = args(&web, &list.display().to_string());
    args.extend(["--threads", "2"].map(str::to_owned));
    run(args).expect_code(0);
    for url in web.truth.pages.iter().step_by(100) {
        let why = web.ask("why", "crawl", &[url, "--json"]).expect_code(0);
        assert_eq!(why.json()["visits"][0]["depth"], 0, "{url}");
        assert!(why.json()["seed"].is_object(), "{url}");
    }
}

#[test]
fn seeds_that_were_read_before_a_stop_are_remembered() {
    let web = Simulated::new(20, 3_000, 80);
    let mut args = args(&web, "-");
    args.retain(|arg| arg != "--delay" && arg != "0s");
    args.extend(["--threads", "2", "--delay", "60s"].map(str::to_owned));
    let mut running = Running::start(args);
    for url in &web.truth.pages {
        running.tell(url);
    }
    // They have been read, but the input has not ended.
    wait_for("seeds", || {
        let status = web.ask("status", "crawl", &["--json"]);
        let seen = (status.code == Some(0)).then(|| figure(&status.json(), "urls_seen"))?;
        (seen == web.truth.pages.len() as u64).then_some(())
    });
    running.signal("TERM");
    end_of(running).expect_code(143);
    let states = ["queued", "fetched", "refused"].map(|state| urls(&web.dir("crawl"), state));
    let known: BTreeSet<String> = states.into_iter().flatten().collect();
    for url in &web.truth.pages {
        assert!(known.contains(url), "{url} is forgotten");
    }
}
