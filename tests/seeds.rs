//! Seeds from files and from standard input.

use std::collections::BTreeSet;

use crate::support::simulated::assert_same;
use crate::support::{Simulated, figure, run, run_with, urls};

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
    done.assert_stderr_has("passed over: `http://[`");
    done.assert_stderr_has("passed over: `ftp://example.org/`");
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
    let text = "http://[\n".repeat(500) + &web.truth.seed_url;
    let done = run_with(args(&web, "-"), text.as_bytes()).expect_code(0);
    assert_eq!(figure(&done.json(), "bad_seeds"), 500);
    assert_eq!(figure(&done.json(), "fetched"), 1);
    done.assert_stderr_has("passed over 500 lines");
    assert!(done.stderr.lines().count() < 20, "{}", done.stderr);
}
