//! What a public suite expects of sitemaps, when it is there.

use std::ops::ControlFlow;
use std::path::Path;

use rhumb_robots::{Entry, NotASitemap, Sitemap, SitemapKind, SitemapSettings, Strictness};
use rhumb_url::Url;
use serde_json::Value;

/// What patience finds where the suite, which asks for the sitemap's own folder
/// or for sound XML, wants less: file and number of entries.
const MORE_WHEN_LENIENT: [(&str, usize); 4] = [
    ("inline__testLenientParser_L605.xml", 1),
    ("inline__testSitemapParserBrokenXml_L429.xml", 1),
    ("sitemaps__extension__sitemap-mobile.xml", 3),
    ("sitemaps__sitemap.badns.xml", 2),
];

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/cases/sitemaps"
);

fn cases() -> Option<Vec<Value>> {
    let path = Path::new(FOLDER).join("expected.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("left out: {} is not there", path.display());
        return None;
    };
    let all: Value = serde_json::from_str(&text).expect("the cases are JSON");
    Some(all["cases"].as_array().expect("a list of cases").clone())
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().expect("a text")
}

/// A case says what it expects; some files only lie beside it.
fn is_case(case: &Value) -> bool {
    case["note"].is_null()
}

fn read(case: &Value, strict: Strictness) -> Result<(SitemapKind, Vec<Entry>), NotASitemap> {
    let bytes = std::fs::read(Path::new(FOLDER).join(text(case, "file"))).expect("the file");
    let at = Url::parse(text(case, "sitemap_url")).expect("a URL");
    let settings = SitemapSettings {
        strict,
        ..SitemapSettings::default()
    };
    let mut entries = Vec::new();
    let read = Sitemap::read(
        &bytes,
        &at,
        case["content_type"].as_str(),
        &settings,
        |_, e| {
            entries.push(e);
            ControlFlow::Continue(())
        },
    );
    let sitemap = read?;
    assert_eq!(sitemap.entries, entries.len());
    assert!(!sitemap.truncated);
    Ok((sitemap.kind, entries))
}

/// Year, month and day by counting them all.
fn date(seconds: u64) -> String {
    let (mut day, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut month) = (1970, 0);
    let length = |year: u64, month: usize| match month {
        1 if year.is_multiple_of(4) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    while day >= length(year, month) {
        day -= length(year, month);
        month = (month + 1) % 12;
        year += u64::from(month == 0);
    }
    format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        month + 1,
        day + 1,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// What is different from what the case expects.
fn difference(
    case: &Value,
    read: &Result<(SitemapKind, Vec<Entry>), NotASitemap>,
) -> Option<String> {
    let (kind, entries) = match (read, case["expected_error"].as_str()) {
        (Err(_), Some(_)) => return None,
        (Err(why), None) => return Some(why.to_string()),
        (Ok(_), Some(_)) => return Some("an error is expected".to_owned()),
        (Ok((kind, entries)), None) => (kind, entries),
    };
    let kind = match kind {
        SitemapKind::Index => "index",
        SitemapKind::UrlSet => "XML",
        SitemapKind::Rss => "RSS",
        SitemapKind::Atom => "ATOM",
        SitemapKind::Text => "TEXT",
    };
    let given: Vec<_> = entries
        .iter()
        .map(|e| (e.url.to_string(), e.last_modified.map(date)))
        .collect();
    let expected: Vec<_> = case["urls"]
        .as_array()
        .expect("a list of URLs")
        .iter()
        .map(|url| {
            let modified = url["lastmod"].as_str().map(str::to_owned);
            (text(url, "loc").to_owned(), modified)
        })
        .collect();
    let same = kind == text(case, "type") && given == expected;
    (!same).then(|| format!("{kind}: {given:?}, expected {expected:?}"))
}

#[test]
fn as_strict_as_the_case_asks_for() {
    let Some(cases) = cases() else { return };
    let mut agreed = 0;
    for case in cases.iter().filter(|case| is_case(case)) {
        let flag = |name: &str| case[name].as_bool().expect("a flag");
        let strict = Strictness {
            location: flag("strict_location"),
            syntax: !flag("allow_partial"),
            namespace: flag("strict_namespace"),
        };
        let different = difference(case, &read(case, strict));
        assert_eq!(
            different,
            None,
            "{} {}",
            text(case, "file"),
            text(case, "test")
        );
        agreed += 1;
    }
    println!("as strict as asked for: {agreed} agree");
    assert!(agreed >= 50);
}

#[test]
fn lenient_reading_finds_as_much_or_more() {
    let Some(cases) = cases() else { return };
    let (mut agreed, mut more) = (0, 0);
    for case in cases.iter().filter(|case| is_case(case)) {
        let file = text(case, "file");
        let read = read(case, Strictness::LENIENT);
        match difference(case, &read) {
            None => agreed += 1,
            Some(different) => {
                let found = read.map(|(_, entries)| entries.len());
                let known = MORE_WHEN_LENIENT
                    .iter()
                    .any(|(name, entries)| *name == file && found == Ok(*entries));
                assert!(known, "{file}: {different}");
                more += 1;
            }
        }
    }
    println!("lenient: {agreed} agree, {more} give more");
    assert_eq!(more, MORE_WHEN_LENIENT.len());
}

#[test]
fn fully_strict_reading_gives_no_more_than_expected() {
    let Some(cases) = cases() else { return };
    let (mut agreed, mut less) = (0, 0);
    for case in cases.iter().filter(|case| is_case(case)) {
        let read = read(case, Strictness::STRICT);
        match difference(case, &read) {
            None => agreed += 1,
            Some(_) => {
                let expected: Vec<&str> = case["urls"]
                    .as_array()
                    .map(|urls| urls.iter().map(|url| text(url, "loc")).collect())
                    .unwrap_or_default();
                let given = read.map_or(Vec::new(), |(_, entries)| entries);
                let all_expected = given
                    .iter()
                    .all(|entry| expected.contains(&entry.url.as_str()));
                assert!(all_expected && given.len() < expected.len());
                less += 1;
            }
        }
    }
    println!("strict: {agreed} agree, {less} give less");
}

#[test]
fn hreflang_frequency_and_priority_are_recorded() {
    let Some(cases) = cases() else { return };
    let entries = |file: &str| {
        let case = cases.iter().find(|case| case["file"] == file);
        let case = case.expect("a case for the file");
        read(case, Strictness::LENIENT).expect("a sitemap").1
    };
    let translated = entries("sitemaps__extension__sitemap-links.xml");
    for entry in &translated {
        let languages: Vec<&str> = entry
            .alternates
            .iter()
            .map(|alternate| alternate.language.as_str())
            .collect();
        assert_eq!(languages, ["de", "de-ch", "en"]);
        let urls = entry.alternates.iter().map(|alternate| &alternate.url);
        assert!(urls.clone().any(|url| *url == entry.url));
    }
    let told: Vec<_> = entries("inline__testSitemapXML_L344.xml")
        .iter()
        .map(|e| (e.change_frequency.map(|f| f.as_str()), e.priority))
        .collect();
    assert_eq!(
        told,
        [
            (Some("monthly"), Some(0.8)),
            (Some("weekly"), None),
            (Some("weekly"), None),
            (None, Some(0.3)),
            (None, None),
        ]
    );
}
