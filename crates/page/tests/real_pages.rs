//! Real pages against what a browser without scripts sees in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use rhumb_page::{LinkKind, Options, Page, Source, Target, extract};
use rhumb_url::{Refusal, Url};
use serde_json::Value;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/pages");

fn truths() -> Option<Vec<Value>> {
    let file = fs::File::open(Path::new(PAGES).join("links_truth.jsonl.gz")).ok()?;
    let mut lines = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut lines)
        .expect("the truth is readable");
    let parse = |line| serde_json::from_str(line).expect("each line is JSON");
    Some(lines.lines().map(parse).collect())
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Kind, address and rel of the links the truth speaks of, in page order.
type Found = Vec<(String, String, String)>;

/// The truth has browser URLs with fragments: bring them into our normal form.
fn expected(truth: &Value) -> Found {
    let mut links = Found::new();
    for link in truth["links"].as_array().expect("a list of links") {
        let part = |at: usize| link[at].as_str().unwrap_or_default();
        let address = match Url::parse(part(1)) {
            Ok(url) => url.to_string(),
            Err(why) => format!("refused: {why}"),
        };
        let rel = part(2).to_ascii_lowercase();
        let rel = rel.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        links.push((part(0).to_owned(), address, rel));
    }
    links
}

/// What we found, in the truth's words: it calls a canonical link a link, and
/// only counts what leads to other schemes.
fn found(page: &Page) -> (Found, usize, usize) {
    let (mut links, mut other_scheme, mut invalid) = (Found::new(), 0, 0);
    for link in &page.links {
        let kind = match link.kind {
            LinkKind::A | LinkKind::Area | LinkKind::Link => link.kind.as_str(),
            LinkKind::Iframe | LinkKind::Frame => link.kind.as_str(),
            LinkKind::Canonical => "link",
            _ => continue,
        };
        let address = match &link.target {
            Target::Url(url) => url.to_string(),
            Target::Refused { why, .. } => match why {
                Refusal::Scheme(_) => {
                    other_scheme += 1;
                    continue;
                }
                Refusal::Malformed(_) => {
                    invalid += 1;
                    continue;
                }
                _ => format!("refused: {why}"),
            },
        };
        links.push((kind.to_owned(), address, link.rel.clone()));
    }
    (links, other_scheme, invalid)
}

fn counted(links: &Found) -> BTreeMap<&(String, String, String), i64> {
    let mut counts = BTreeMap::new();
    for link in links {
        *counts.entry(link).or_insert(0) += 1;
    }
    counts
}

#[test]
fn links_of_real_pages_are_those_a_browser_sees() {
    let Some(truths) = truths() else {
        println!("left out: no shared pages here");
        return;
    };
    let (mut agreed, mut equal, mut compared) = (0, 0, 0);
    let mut undeclared = 0;
    for truth in truths.iter().filter(|truth| truth["agreed"] == true) {
        agreed += 1;
        let file = text(truth, "file");
        let body = fs::read(Path::new(PAGES).join(file)).expect("each page is there");
        let url = Url::parse(text(truth, "url")).expect("each page has a URL");
        let charset = truth["http_charset"].as_str();
        let header = |charset| format!("text/html; charset={charset}");
        let read = |content_type: &str| {
            let source = Source {
                url: &url,
                body: &body,
                content_type: Some(content_type),
                link_headers: &[],
                refresh_header: None,
            };
            extract(&source, &Options::default())
        };
        let mut page = read(&charset.map_or("text/html".to_owned(), header));
        let encoding = text(truth, "encoding");
        if !page.charset.eq_ignore_ascii_case(encoding) {
            // A browser takes a page that declares nothing for windows-1252
            // where we see that it is UTF-8. Read it as the browser did.
            assert_eq!(
                (page.charset, encoding),
                ("UTF-8", "windows-1252"),
                "{file}"
            );
            assert!(std::str::from_utf8(&body).is_ok(), "{file}");
            undeclared += 1;
            page = read(&header(encoding));
        }
        let expected = expected(truth);
        let (found, other_scheme, invalid) = found(&page);
        compared += expected.len();
        let mut differences = Vec::new();
        let (ours, theirs) = (counted(&found), counted(&expected));
        for link in ours
            .keys()
            .chain(theirs.keys())
            .collect::<std::collections::BTreeSet<_>>()
        {
            let (ours, theirs) = (
                ours.get(*link).unwrap_or(&0),
                theirs.get(*link).unwrap_or(&0),
            );
            if ours != theirs {
                differences.push(format!("{link:?}: {ours} of ours, {theirs} of theirs"));
            }
        }
        let base = Url::parse(text(truth, "base")).expect("a base");
        if page.base != base {
            differences.push(format!("base {} instead of {base}", page.base));
        }
        for (what, ours, theirs) in [
            ("other schemes", other_scheme, &truth["other_scheme"]),
            ("invalid", invalid, &truth["invalid"]),
        ] {
            if theirs.as_u64() != Some(ours as u64) {
                differences.push(format!("{what}: {ours} instead of {theirs}"));
            }
        }
        if differences.is_empty() && found != expected {
            differences.push("the links are in another order".to_owned());
        }
        equal += usize::from(differences.is_empty());
        for difference in differences {
            println!("{file}: {difference}");
        }
    }
    println!(
        "{agreed} pages agreed, {equal} equal, {compared} links compared in order; \
         {undeclared} undeclared pages are UTF-8 to us and windows-1252 to the truth"
    );
    assert_eq!(equal, agreed, "the differences are printed above");
}
