//! The model and the bytes it serves must tell the same story: each web is
//! crawled here by a reader that knows only HTML, URLs and robots.txt, and
//! what it finds is compared with the truth.

mod reader;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reader::{Anchor, anchors, robots_allow};
use rhumb_sim::{Response, Truth, Web, WebConfig};

fn web(hosts: u32, pages: u64, seed: u64) -> Web {
    Web::new(&WebConfig {
        hosts,
        pages,
        seed,
        port: 8080,
    })
    .unwrap()
}

fn fetch(web: &Web, url: &url::Url) -> Response {
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    web.response(url.host_str().unwrap(), target, false)
}

/// What a crawl from the seed finds, sorted as the truth sorts it.
#[derive(Default, Debug, PartialEq)]
struct Found {
    pages: BTreeSet<String>,
    redirects: BTreeSet<String>,
    missing: BTreeSet<String>,
    unwanted: BTreeSet<String>,
    forbidden: BTreeSet<String>,
    links: u64,
    bodies: BTreeMap<Vec<u8>, BTreeSet<String>>,
}

fn crawl(web: &Web) -> Found {
    let mut found = Found::default();
    let mut robots: BTreeMap<String, String> = BTreeMap::new();
    let seed = url::Url::parse(&web.seed_url()).unwrap();
    let mut seen = BTreeSet::from([seed.to_string()]);
    let mut queue = VecDeque::from([seed]);
    while let Some(url) = queue.pop_front() {
        let name = url.host_str().unwrap().to_owned();
        let rules = robots.entry(name.clone()).or_insert_with(|| {
            let response = web.response(&name, "/robots.txt", false);
            match response.status {
                200 => String::from_utf8(response.body).unwrap(),
                status => {
                    assert_eq!(status, 404);
                    String::new()
                }
            }
        });
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        if !robots_allow(rules, "rhumb", target) {
            found.forbidden.insert(url.to_string());
            continue;
        }
        let response = fetch(web, &url);
        let mut next = Vec::new();
        match response.status {
            200 => {
                let full_type = response.header("content-type").unwrap();
                let kind = full_type.split(';').next().unwrap();
                let is_html = matches!(kind, "text/html" | "application/xhtml+xml");
                let is_wanted = is_html
                    || matches!(kind, "text/plain" | "application/json")
                    || kind.ends_with("xml");
                if is_html {
                    for Anchor { url, nofollow } in anchors(&url, &response.body) {
                        found.links += 1;
                        if !nofollow {
                            next.push(url);
                        }
                    }
                }
                if is_wanted {
                    found.pages.insert(url.to_string());
                    let same = found.bodies.entry(response.body).or_default();
                    same.insert(url.to_string());
                } else {
                    found.unwanted.insert(url.to_string());
                }
            }
            301 | 302 | 307 | 308 => {
                next.push(url.join(response.header("location").unwrap()).unwrap());
                found.redirects.insert(url.to_string());
            }
            404 => {
                found.missing.insert(url.to_string());
            }
            other => panic!("{other} for {url}"),
        }
        for url in next {
            if seen.insert(url.to_string()) {
                queue.push_back(url);
            }
        }
    }
    found
}

fn set(list: &[String]) -> BTreeSet<String> {
    let set: BTreeSet<String> = list.iter().cloned().collect();
    assert_eq!(set.len(), list.len(), "the truth repeats itself");
    set
}

fn compare(web: &Web) -> (Truth, Found) {
    let truth = web.truth();
    let found = crawl(web);
    assert_eq!(found.pages, set(&truth.pages));
    assert_eq!(found.redirects, set(&truth.redirects));
    assert_eq!(found.missing, set(&truth.missing));
    assert_eq!(found.unwanted, set(&truth.unwanted));
    assert_eq!(found.forbidden, set(&truth.forbidden));
    assert_eq!(found.links, truth.links);
    (truth, found)
}

#[test]
fn a_crawl_of_the_bytes_finds_what_the_truth_says() {
    for (hosts, pages, seed) in [
        (1, 1, 1),
        (1, 300, 2),
        (3, 40, 3),
        (12, 400, 4),
        (40, 700, 5),
        (120, 900, 6),
        (300, 1_500, 7),
    ] {
        let (truth, _) = compare(&web(hosts, pages, seed));
        assert!(!truth.pages.is_empty());
    }
}

#[test]
fn all_kinds_of_urls_and_all_hosts_are_there() {
    let web = web(200, 3_000, 11);
    let (truth, _) = compare(&web);
    for (name, list) in [
        ("redirects", &truth.redirects),
        ("missing", &truth.missing),
        ("unwanted", &truth.unwanted),
        ("forbidden", &truth.forbidden),
        ("sitemap_only", &truth.sitemap_only),
    ] {
        assert!(list.len() > 10, "{name}: {}", list.len());
    }
    let all = [&truth.pages, &truth.forbidden].into_iter().flatten();
    let homes: BTreeSet<&String> = all.filter(|url| url.ends_with(":8080/")).collect();
    assert_eq!(homes.len(), 200, "every host's home page is linked");
    assert!(truth.redirects.iter().any(|url| url.ends_with("/loop/2")));
}

#[test]
fn duplicates_are_exactly_the_pages_with_equal_bytes() {
    for seed in [21, 22] {
        let web = web(60, 1_200, seed);
        let (truth, found) = compare(&web);
        let mut by_original: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (url, original) in &truth.duplicates {
            by_original
                .entry(original.clone())
                .or_insert_with(|| BTreeSet::from([original.clone()]))
                .insert(url.clone());
        }
        let told: BTreeSet<_> = by_original.into_values().collect();
        let seen: BTreeSet<_> = found.bodies.into_values().filter(|s| s.len() > 1).collect();
        assert_eq!(told, seen);
        assert!(seen.iter().any(|same| {
            let host = |url: &String| url::Url::parse(url).unwrap().host_str().unwrap().to_owned();
            same.iter().map(host).collect::<BTreeSet<_>>().len() > 1
        }));
    }
}

#[test]
fn sitemaps_list_the_pages_and_those_that_only_they_know() {
    check_sitemaps(&web(30, 900, 31));
    let indexes = check_sitemaps(&web(2, 5_000, 1));
    assert!(indexes > 0, "a large host has a sitemap of sitemaps");
}

/// The number of sitemaps that list sitemaps.
fn check_sitemaps(web: &Web) -> usize {
    let truth = web.truth();
    let pages = set(&truth.pages);
    let only = set(&truth.sitemap_only);
    let (mut listed, mut indexes) = (BTreeSet::new(), 0);
    for rank in 0..web.hosts() {
        let name = web.host_name(rank);
        let mut files = vec!["/sitemap.xml".to_owned()];
        while let Some(path) = files.pop() {
            let response = web.response(&name, &path, false);
            if response.status != 200 {
                continue;
            }
            let text = String::from_utf8(response.body).unwrap();
            indexes += usize::from(text.contains("<sitemapindex"));
            for part in text.split("<loc>").skip(1) {
                let loc = url::Url::parse(part.split("</loc>").next().unwrap()).unwrap();
                assert_eq!(loc.host_str(), Some(name.as_str()));
                if text.contains("<sitemapindex") {
                    files.push(loc.path().to_owned());
                } else {
                    if loc.path().starts_with("/archive/") {
                        assert_eq!(fetch(web, &loc).status, 200, "{loc}");
                    }
                    listed.insert(loc.to_string());
                }
            }
        }
    }
    assert!(only.is_disjoint(&pages));
    assert!(only.is_subset(&listed));
    assert!(
        listed
            .iter()
            .all(|url| pages.contains(url) || only.contains(url))
    );
    indexes
}

#[test]
fn the_written_truth_is_the_truth() {
    let web = web(40, 500, 41);
    let mut written = Vec::new();
    web.write_truth(&mut written).unwrap();
    let read: Truth = serde_json::from_slice(&written).unwrap();
    assert_eq!(read, web.truth());
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let (first, again, other) = (web(20, 300, 1), web(20, 300, 1), web(20, 300, 2));
    assert_eq!(first.truth(), again.truth());
    for url in first.truth().pages {
        let url = url::Url::parse(&url).unwrap();
        assert_eq!(fetch(&first, &url), fetch(&again, &url));
    }
    assert_ne!(first.seed_url(), other.seed_url());
}

#[test]
fn pages_have_the_size_and_the_links_of_real_ones() {
    let web = web(300, 10_000, 51);
    let truth = web.truth();
    let (mut bytes, mut largest, mut html) = (0, 0, 0);
    for url in truth.pages.iter().step_by(5) {
        let response = fetch(&web, &url::Url::parse(url).unwrap());
        if response.header("content-type").unwrap().contains("html") {
            bytes += response.body.len();
            largest = largest.max(response.body.len());
            html += 1;
        }
    }
    let mean = bytes / html;
    assert!((18_000..22_000).contains(&mean), "mean size {mean}");
    assert!((100_000..410_000).contains(&largest), "largest {largest}");
    let links = truth.links as f64 / truth.pages.len() as f64;
    assert!((22.0..36.0).contains(&links), "links a page {links}");
}

#[test]
fn few_pages_get_many_links() {
    let web = web(50, 2_000, 61);
    let mut degrees: BTreeMap<String, u64> = BTreeMap::new();
    for url in web.truth().pages {
        let url = url::Url::parse(&url).unwrap();
        let response = fetch(&web, &url);
        if response.header("content-type").unwrap().contains("html") {
            for anchor in anchors(&url, &response.body) {
                *degrees.entry(anchor.url.to_string()).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<u64> = degrees.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: u64 = counts.iter().sum();
    let top: u64 = counts[..counts.len() / 50].iter().sum();
    assert!(top * 4 > all, "the top 2% get {top} of {all} links");
    assert!(
        counts[counts.len() / 2] < 12,
        "median {}",
        counts[counts.len() / 2]
    );
}

#[test]
fn a_web_of_a_hundred_million_pages_answers_at_once() {
    let web = web(1_000_000, 100_000_000, 71);
    let mut checked = 0;
    for rank in [0, 1, 1_000, 999_999] {
        let home = url::Url::parse(&web.home_url(rank)).unwrap();
        let response = fetch(&web, &home);
        if response.header("content-type").unwrap().contains("html") {
            for anchor in anchors(&home, &response.body) {
                let status = fetch(&web, &anchor.url).status;
                let is_missing = anchor.url.path().starts_with("/missing/");
                assert_eq!(status == 404, is_missing, "{}", anchor.url);
                checked += 1;
            }
        }
    }
    assert!(checked > 60);
    let all: u64 = (0..1_000_000).map(|rank| web.host_pages(rank)).sum();
    assert_eq!(all, 100_000_000);
    let largest = web.host_pages(0);
    assert!(largest > 1_000_000, "{largest}");
}

#[test]
fn odd_requests_get_a_plain_no() {
    let web = web(20, 300, 81);
    let name = web.host_name(0);
    for target in [
        "",
        "*",
        "/..",
        "/p/",
        "/go/",
        "/go/99999999999999999999999",
        "/go/01",
        "/go/-1",
        "/é1é",
        "/loop/0",
        "/copy/0",
        "/sitemap-.xml",
        "/sitemap-+1.xml",
        "/img/300.png",
        "/static/x.css",
        "/view?id=",
        "/?ref=nav",
        "//",
        "/é",
        "1é",
        "/a1é",
        "/search?q=é",
    ] {
        assert_eq!(web.response(&name, target, false).status, 404, "{target}");
    }
    assert_eq!(web.response("nobody.test", "/", false).status, 421);
}

#[test]
fn impossible_webs_are_refused() {
    for (hosts, pages) in [(0, 10), (10, 9), (u32::MAX, u64::MAX), (1, u64::MAX)] {
        let config = WebConfig {
            hosts,
            pages,
            seed: 1,
            port: 1,
        };
        assert!(Web::new(&config).is_err());
    }
}
