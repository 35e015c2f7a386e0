//! The public suites' questions, when they are there.

use std::collections::BTreeMap;
use std::time::Duration;

use rhumb_robots::Rules;
use rhumb_url::Url;
use serde_json::Value;

/// The cases beyond the standard that are answered otherwise, on purpose; the
/// crate's README says why.
const CHOSEN_OTHERWISE: [&str; 11] = [
    "r0268", "r0271", "r0280", "r0289", "r0337", "r0381", "r0382", "r0419", "r0484", "r0487",
    "r0553",
];

fn cases() -> Option<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/cases/robots_cases.json"
    );
    match std::fs::read_to_string(path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the cases are JSON")),
        Err(_) => {
            println!("left out: {path} is not there");
            None
        }
    }
}

fn list<'a>(cases: &'a Value, name: &str) -> &'a [Value] {
    cases[name].as_array().expect("a list of cases")
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().expect("a text")
}

fn file(case: &Value) -> Vec<u8> {
    match case["robots_txt"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => data_encoding::BASE64
            .decode(text(case, "robots_txt_base64").as_bytes())
            .expect("base64"),
    }
}

/// Path and query of a URL as written, not brought into normal form.
fn raw_target(url: &str) -> String {
    let rest = url.split_once("//").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let target = &rest[rest.find(['/', '?']).unwrap_or(rest.len())..];
    if target.starts_with('/') {
        target.to_owned()
    } else {
        format!("/{target}")
    }
}

#[test]
fn allow_and_disallow() {
    let Some(cases) = cases() else { return };
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in list(&cases, "cases") {
        let (id, level) = (text(case, "id"), text(case, "level"));
        let Some(expected) = case["allowed"].as_bool() else {
            continue;
        };
        let rules = Rules::parse(&file(case), text(case, "user_agent"));
        let url = text(case, "url");
        let mut right = rules.check(&raw_target(url)).allowed == expected;
        if let Ok(url) = Url::parse(url) {
            right &= rules.check(url.path_and_query()).allowed == expected;
        }
        let count = counts.entry(level).or_default();
        count.1 += 1;
        if right {
            count.0 += 1;
        }
        if right == CHOSEN_OTHERWISE.contains(&id) {
            wrong.push(id);
        }
    }
    for (level, (right, all)) in &counts {
        println!("{level}: {right} of {all} as the suite expects");
    }
    assert_eq!(wrong, Vec::<&str>::new());
    assert!(counts.len() >= 3);
}

#[test]
fn crawl_delays() {
    let Some(cases) = cases() else { return };
    let mut held = 0;
    for case in list(&cases, "crawl_delay") {
        let rules = Rules::parse(&file(case), text(case, "user_agent"));
        let expected = case["delay_ms"].as_u64().map(Duration::from_millis);
        if case["consensus"] == true {
            assert_eq!(rules.crawl_delay(), expected, "{}", text(case, "id"));
            held += 1;
        }
    }
    println!("crawl-delay: {held} hold");
}

#[test]
fn sitemaps() {
    let Some(cases) = cases() else { return };
    let mut held = 0;
    for case in list(&cases, "sitemaps") {
        // One expects a bare URL on a line of its own to be a sitemap.
        if text(case, "id") == "s006" {
            continue;
        }
        let rules = Rules::parse(&file(case), "rhumb");
        let base = Url::parse_seed(text(case, "robots_url")).expect("a URL");
        let found: Vec<String> = rules
            .sitemaps()
            .iter()
            .filter_map(|sitemap| base.join(sitemap).ok())
            .map(|url| url.to_string())
            .collect();
        let expected: Vec<&str> = list(case, "sitemaps")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(found, expected, "{}", text(case, "id"));
        held += 1;
    }
    println!("sitemaps: {held} hold");
}
