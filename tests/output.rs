//! Standard output that cannot be written, or that nobody reads.

use std::process::Stdio;

use crate::support::program::{RHUMB, command};
use crate::support::{Done, Simulated, run};

fn with_output(args: &[&str], output: impl Into<Stdio>) -> Done {
    let mut rhumb = command(RHUMB);
    rhumb.args(args).stdin(Stdio::null()).stdout(output);
    let ended = rhumb.output().expect("it starts");
    Done {
        code: ended.status.code(),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
    }
}

/// A disk that is full.
fn on_full_disk(args: &[&str]) -> Done {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    with_output(args, full.expect("/dev/full"))
}

/// A pipe whose reader has gone.
fn into_nowhere(args: &[&str]) -> Done {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    with_output(args, writer)
}

#[test]
fn output_that_cannot_be_written_has_one_exit_code() {
    let web = Simulated::new(5, 50, 131);
    web.crawl("crawl", &["--max-pages", "20"]).expect_code(0);
    let (dir, seed) = (web.dir_arg("crawl"), &web.truth.seed_url);
    let page = web.dir("page.html").display().to_string();
    std::fs::write(&page, "<p>A page").expect("a file");
    let list = web.dir("sitemap.txt").display().to_string();
    std::fs::write(&list, format!("{seed}\n")).expect("a file");
    for args in [
        &["urls", "--state", "fetched", "--dir", &dir][..],
        &["urls", "--state", "queued", "--dir", &dir],
        &["why", seed, "--dir", &dir],
        &["status", "--dir", &dir],
        &["verify", "--dir", &dir],
        &["config", "--dir", &dir],
        &["extract", &page, "--url", seed],
        &["robots", &page, "/"],
        &["sitemap", &list],
        &["crawl", "--dir", &dir, "--json"],
    ] {
        let done = on_full_disk(args).expect_code(7);
        done.assert_stderr_has("standard output cannot be written: No space left");
        // Who reads only the first lines gets no error.
        let done = into_nowhere(args).expect_code(0);
        assert!(!done.stderr.contains("standard output"), "{}", done.stderr);
    }
}

#[test]
fn a_verdict_is_told_by_the_exit_code_whoever_reads() {
    let web = Simulated::new(5, 50, 132);
    web.crawl("crawl", &[]).expect_code(0);
    let dir = web.dir_arg("crawl");
    let archive = std::fs::read_dir(web.dir("crawl").join("warc")).expect("the archive");
    for file in archive {
        std::fs::remove_file(file.expect("a file").path()).expect("it goes");
    }
    let robots = web.dir("robots.txt").display().to_string();
    std::fs::write(&robots, "User-agent: *\n").expect("a file");
    let nowhere = web.dir_arg("nowhere");
    let mut unreachable = vec!["crawl", "http://no-such-name.test/", "--dir", &nowhere];
    let dns = web.dns();
    unreachable.extend(dns.iter().map(String::as_str));
    unreachable.push("--json");
    for (args, code) in [
        (&unreachable[..], 6),
        (&["verify", "--dir", &dir], 4),
        (&["robots", &robots, "http://[", "/"], 2),
    ] {
        run(args).expect_code(code);
        into_nowhere(args).expect_code(code);
        on_full_disk(args).expect_code(code);
    }
}
