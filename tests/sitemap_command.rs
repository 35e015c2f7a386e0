//! `rhumb sitemap`: the entries of a sitemap, as a crawl would see them.

use serde_json::{Value, json};

use crate::support::{Done, run, run_with};

const SOUND: &str = "<?xml version='1.0'?>
<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:x='http://www.w3.org/1999/xhtml'>
<url><loc>https://shop.test/lamp?a=1&amp;b=2#top</loc><lastmod>2024-02-29</lastmod><changefreq>daily</changefreq>
<priority>0.7</priority><x:link rel='alternate' hreflang='de' href='https://shop.test/de/lampe'/></url>
<url><loc>https://other.test/</loc></url>
</urlset>";

const BROKEN: &str = "<urlset><url><loc>/a?b&c</loc><url><loc>mailto:x</loc></url><url><loc>/half";

fn answers(done: &Done) -> Vec<Value> {
    let read = |line: &String| serde_json::from_str(line).expect("a line of JSON");
    done.lines().iter().map(read).collect()
}

#[test]
fn the_urls_one_a_line() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("sitemap.xml").display().to_string();
    std::fs::write(&file, SOUND).expect("a file");
    let done = run(["sitemap", &file]).expect_code(0);
    let urls = ["https://shop.test/lamp?a=1&b=2", "https://other.test/"];
    assert_eq!(done.lines(), urls);
    assert_eq!(done.stderr, format!("rhumb: {file}: urlset, 2 entries\n"));
    let piped = run_with(["sitemap", "-"], SOUND.as_bytes()).expect_code(0);
    assert_eq!(piped.lines(), urls);
}

#[test]
fn all_that_is_told_as_json() {
    let args = [
        "sitemap",
        "-",
        "--json",
        "--strict",
        "--url",
        "https://shop.test/map.xml",
    ];
    let done = run_with(args, SOUND.as_bytes()).expect_code(0);
    assert_eq!(done.stderr, "");
    assert_eq!(
        answers(&done),
        [
            json!({
                "url": "https://shop.test/lamp?a=1&b=2",
                "last_modified": "2024-02-29T00:00:00.000000Z",
                "change_frequency": "daily",
                "priority": 0.7,
                "alternates": [{"language": "de", "url": "https://shop.test/de/lampe"}],
            }),
            json!({
                "kind": "urlset",
                "entries": 1,
                "truncated": false,
                "problems": [{"kind": "outside", "count": 1, "line": 5, "example": "https://other.test/"}],
            }),
        ]
    );
}

#[test]
fn broken_files_give_what_can_be_read_unless_strict() {
    let at = ["--url", "https://shop.test/map.xml"];
    let args = [&["sitemap", "-"], &at[..]].concat();
    let done = run_with(&args, BROKEN.as_bytes()).expect_code(0);
    assert_eq!(done.lines(), ["https://shop.test/a?b&c"]);
    for told in [
        "rhumb: -: urlset, 1 entry",
        "rhumb: -: line 1: the markup is not well-formed: a bare `&` (and 1 more)",
        "rhumb: -: line 1: not a URL that can be visited: `mailto:x`: scheme `mailto` is not crawled",
        "rhumb: -: line 1: the file ends inside an element",
    ] {
        done.assert_stderr_has(told);
    }
    let strict = [&args[..], &["--strict"]].concat();
    let refused = run_with(strict, BROKEN.as_bytes()).expect_code(2);
    assert_eq!(refused.stdout, "");
    refused.assert_stderr_has("not the standard's");
}

#[test]
fn what_is_no_sitemap_ends_with_code_2() {
    for (input, told) in [
        ("", "rhumb: -: nothing is in it"),
        (
            "<html></html>",
            "rhumb: -: no sitemap has a root element `html`",
        ),
        ("Not found", "it begins with `Not found`"),
    ] {
        let refused = run_with(["sitemap", "-"], input.as_bytes()).expect_code(2);
        assert_eq!(refused.stdout, "");
        refused.assert_stderr_has(told);
    }
    run(["sitemap", "no-such-file"]).expect_code(2);
    run(["sitemap", "-", "--strict"])
        .expect_code(2)
        .assert_stderr_has("--url");
    run(["sitemap", "-", "--url", "ftp://a.test/"]).expect_code(2);
}
