//! The most important questions to a robots.txt, told as a table.

use rhumb_robots::{MAX_RULES, MAX_SITEMAPS, MAX_SIZE, Rules, Verdict};
use std::time::Duration;

/// A file, an agent, the paths it may and may not visit.
type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const CASES: &[Case] = &[
    // Nothing said, everything allowed.
    ("", "rhumb", &["/", "/x"], &[]),
    ("user-agent: *\ndisallow:\n", "rhumb", &["/", "/x"], &[]),
    ("user-agent: *\nallow:\n", "rhumb", &["/"], &[]),
    ("<html>404, nothing: here</html>", "rhumb", &["/"], &[]),
    ("# user-agent: *\n# disallow: /\n", "rhumb", &["/"], &[]),
    ("disallow: /\n", "rhumb", &["/a"], &[]),
    // Who is spoken to.
    (
        "user-agent: *\ndisallow: /",
        "rhumb",
        &["/robots.txt"],
        &["/", "/x?y"],
    ),
    ("user-agent: rhumb\ndisallow: /", "rhumb", &[], &["/"]),
    ("user-agent: RHUMB\ndisallow: /", "Rhumb", &[], &["/"]),
    ("user-agent: rhumb/1.0\ndisallow: /", "rhumb", &[], &["/"]),
    ("user-agent: rhumb bot\ndisallow: /", "rhumb", &[], &["/"]),
    (
        "user-agent: rhumb, other\ndisallow: /",
        "rhumb",
        &[],
        &["/"],
    ),
    (
        "user-agent: other, rhumb\ndisallow: /",
        "rhumb",
        &["/"],
        &[],
    ),
    ("user-agent: rhumbline\ndisallow: /", "rhumb", &["/"], &[]),
    ("user-agent: rhu\ndisallow: /", "rhumb", &["/"], &[]),
    ("user-agent: rhumb2\ndisallow: /", "rhumb", &["/"], &[]),
    ("user-agent: * # all\ndisallow: /", "rhumb", &[], &["/"]),
    ("user-agent: rhumb\ndisallow: /", "", &["/"], &[]),
    (
        "user-agent: rhumb\ndisallow: /",
        "rhumb/0.1 (+x)",
        &[],
        &["/"],
    ),
    // The own group counts alone, and groups of one name are merged.
    (
        "user-agent: *\ndisallow: /\nuser-agent: rhumb\ndisallow: /x\n",
        "rhumb",
        &["/", "/y"],
        &["/x"],
    ),
    (
        "user-agent: rhumb\ndisallow:\nuser-agent: *\ndisallow: /\n",
        "rhumb",
        &["/"],
        &[],
    ),
    (
        "user-agent: rhumb\ndisallow: /a\n\nuser-agent: x\ndisallow: /b\n\nuser-agent: Rhumb\ndisallow: /c",
        "rhumb",
        &["/b"],
        &["/a", "/c"],
    ),
    (
        "user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b",
        "rhumb",
        &["/c"],
        &["/a", "/b"],
    ),
    // A group has several names; a blank line or an unknown one does not end it.
    (
        "user-agent: rhumb\n\nsitemap: x\nnoise: y\nuser-agent: other\n\ndisallow: /a\n\ndisallow: /b",
        "rhumb",
        &["/c"],
        &["/a", "/b"],
    ),
    // The longest rule decides, whatever its place; Allow wins a tie.
    (
        "user-agent: *\ndisallow: /a\nallow: /a/b\ndisallow: /a/b/c",
        "rhumb",
        &["/", "/a/b", "/a/b/x"],
        &["/a", "/a/x", "/a/b/c/d"],
    ),
    (
        "user-agent: *\ndisallow: /a\nallow: /a",
        "rhumb",
        &["/a"],
        &[],
    ),
    (
        "user-agent: *\nallow: /p\ndisallow: /",
        "rhumb",
        &["/page"],
        &["/a"],
    ),
    (
        "user-agent: *\nallow: /page\ndisallow: /*.htm",
        "rhumb",
        &["/page"],
        &["/page.htm"],
    ),
    (
        "user-agent: *\nallow: /$\ndisallow: /",
        "rhumb",
        &["/"],
        &["/page"],
    ),
    (
        "user-agent: *\nallow: /x/page.\ndisallow: /*.html",
        "rhumb",
        &["/x/page.html"],
        &["/x/y.html"],
    ),
    // Paths have cases, queries and escapes.
    ("user-agent: *\ndisallow: /X/", "rhumb", &["/x/"], &["/X/"]),
    (
        "user-agent: *\ndisallow: /a?b=",
        "rhumb",
        &["/a", "/a?c"],
        &["/a?b=1"],
    ),
    (
        "user-agent: *\ndisallow: /~mak",
        "rhumb",
        &[],
        &["/~mak/x", "/%7Emak"],
    ),
    (
        "user-agent: *\ndisallow: /ツ",
        "rhumb",
        &[],
        &["/%E3%83%84", "/ツ"],
    ),
    (
        "user-agent: *\ndisallow: /a%2fb",
        "rhumb",
        &["/a/b"],
        &["/a%2Fb", "/a%2fb"],
    ),
    // Wildcards.
    (
        "user-agent: *\ndisallow: /*/private",
        "rhumb",
        &["/private"],
        &["/a/private", "/a/b/privateer"],
    ),
    (
        "user-agent: *\ndisallow: *.gif$",
        "rhumb",
        &["/a.gif?x"],
        &["/a.gif"],
    ),
    ("user-agent: *\ndisallow: *", "rhumb", &[], &["/", "/a"]),
    ("user-agent: *\ndisallow: /%2A", "rhumb", &["/a"], &["/*"]),
    // The index page stands for its folder.
    (
        "user-agent: *\nallow: /a/index.html\ndisallow: /",
        "rhumb",
        &["/a/", "/a/index.html"],
        &["/a", "/a/b", "/"],
    ),
    // Mistakes that are forgiven.
    (
        "\u{feff}user-agent: *\ndisallow: /a",
        "rhumb",
        &["/"],
        &["/a"],
    ),
    ("user-agent *\rdisallow /a\r", "rhumb", &["/"], &["/a"]),
    ("USER-AGENT : *\r\n  Disalow:/a  ", "rhumb", &["/"], &["/a"]),
];

#[test]
fn questions_get_the_answers_of_the_standard() {
    for (file, agent, allowed, refused) in CASES {
        let rules = Rules::parse(file.as_bytes(), agent);
        for (paths, expected) in [(allowed, true), (refused, false)] {
            for path in *paths {
                let verdict = rules.check(path);
                assert_eq!(verdict.allowed, expected, "{path} by {file:?}");
            }
        }
    }
}

#[test]
fn a_verdict_names_its_line() {
    let rules = Rules::parse(
        b"# hello\r\nUser-agent: *\r\nDISALLOW:   /private/*x$ # secret\r\n\r\nallow: /\r\n",
        "rhumb",
    );
    assert_eq!(
        rules.check("/private/ax"),
        Verdict {
            allowed: false,
            line: Some(3),
            rule: Some("Disallow: /private/*x$"),
        }
    );
    assert_eq!(
        rules.check("/private/"),
        Verdict {
            allowed: true,
            line: Some(5),
            rule: Some("Allow: /"),
        }
    );
    let undecided = Verdict {
        allowed: true,
        line: None,
        rule: None,
    };
    assert_eq!(rules.check("/robots.txt"), undecided);
    assert_eq!(Rules::allow_all().check("/x"), undecided);
    assert_eq!(Rules::disallow_all().check("/robots.txt"), undecided);
    let refused = Rules::disallow_all().check("/").allowed;
    assert!(!refused);
}

#[test]
fn bytes_that_are_no_text_are_matched_as_bytes() {
    let rules = Rules::parse(b"user-agent: *\ndisallow: /b\xFCcher/", "rhumb");
    assert!(rules.check("/b%C3%BCcher/").allowed);
    let verdict = rules.check("/b%fccher/x");
    assert!(!verdict.allowed);
    assert_eq!(verdict.rule, Some("Disallow: /b\u{FFFD}cher/"));
}

#[test]
fn wide_text_is_read_when_it_says_so() {
    let text = "user-agent: *\ndisallow: /a\n";
    for (mark, swap) in [([0xFF, 0xFE], false), ([0xFE, 0xFF], true)] {
        let mut bytes = mark.to_vec();
        for unit in text.encode_utf16() {
            let unit = if swap { unit.swap_bytes() } else { unit };
            bytes.extend(unit.to_le_bytes());
        }
        bytes.push(b'x');
        let rules = Rules::parse(&bytes, "rhumb");
        assert_eq!(rules.check("/a").line, Some(2));
    }
}

#[test]
fn delays_belong_to_the_agents_named_before_them() {
    let file = b"user-agent: a\ncrawl-delay: 1\n\nuser-agent: b\nuser-agent: c\ncrawl-delay: 2.5\n
user-agent: *\ndisallow: /x\ncrawl-delay: 30\n\nuser-agent: d\ndisallow:\n";
    for (agent, millis) in [
        ("a", Some(1_000)),
        ("b", Some(2_500)),
        ("c", Some(2_500)),
        ("d", None),
        ("e", Some(30_000)),
    ] {
        let rules = Rules::parse(file, agent);
        let expected = millis.map(Duration::from_millis);
        assert_eq!(rules.crawl_delay(), expected, "{agent}");
        assert_eq!(rules.check("/x").allowed, agent == "d", "{agent}");
    }
}

#[test]
fn sitemaps_belong_to_everyone_and_are_told_once() {
    let rules = Rules::parse(
        b"Sitemap: https://a.example/Map.xml\nuser-agent: x\nsitemap: /rel.xml\n
disallow: /\nsitemap:\nSITEMAP: https://a.example/Map.xml # again",
        "rhumb",
    );
    assert_eq!(rules.sitemaps(), ["https://a.example/Map.xml", "/rel.xml"]);
    assert!(rules.check("/").allowed);
}

#[test]
fn what_is_beyond_the_limits_does_not_count() {
    let mut long = b"user-agent: *\ndisallow: /a\n".to_vec();
    long.resize(MAX_SIZE, b'\n');
    long.extend(b"disallow: /b\n");
    let rules = Rules::parse(&long, "rhumb");
    assert!(!rules.check("/a").allowed);
    assert!(rules.check("/b").allowed);

    let mut many = String::from("user-agent: *\n");
    for number in 0..MAX_RULES + 10 {
        many.push_str(&format!("disallow: /{number}$\nsitemap: /s{number}\n"));
    }
    let rules = Rules::parse(many.as_bytes(), "rhumb");
    assert!(!rules.check(&format!("/{}", MAX_RULES - 1)).allowed);
    assert!(rules.check(&format!("/{MAX_RULES}")).allowed);
    assert_eq!(rules.sitemaps().len(), MAX_SITEMAPS);
    assert!(rules.memory() < 2 * 1024 * 1024);
}

/// With a matcher that goes back and tries again this would not end.
#[test]
fn hostile_patterns_are_answered() {
    let stars = "*a".repeat(1000);
    let path = format!("/{}", "a".repeat(2000));
    let file =
        format!("user-agent: *\ndisallow: /{stars}b\ndisallow: /{stars}*b$\nallow: /{stars}\n");
    let rules = Rules::parse(file.as_bytes(), "rhumb");
    let verdict = rules.check(&path);
    assert!(verdict.allowed);
    assert_eq!(verdict.line, Some(4));

    let mut nested = String::from("user-agent: *\n");
    for depth in 1..900 {
        nested.push_str(&format!("disallow: /{}\n", "a".repeat(depth)));
    }
    let rules = Rules::parse(nested.as_bytes(), "rhumb");
    assert_eq!(rules.check(&path).line, Some(900));

    let many = "disallow: /*a*b*c$\n".repeat(MAX_RULES);
    let rules = Rules::parse(format!("user-agent: *\n{many}").as_bytes(), "rhumb");
    assert!(rules.check(&path).allowed);
}

/// The index answers as a look at every rule would.
#[test]
fn order_and_number_of_rules_do_not_change_the_answer() {
    let values = [
        "/", "/a", "/a/", "/a/b", "/a*c", "/*b", "/b$", "/a/b$", "*", "/a/*/c",
    ];
    let paths = [
        "/", "/a", "/a/", "/a/b", "/a/b/c", "/b", "/bc", "/ac", "/c", "/a/x/c",
    ];
    for first in values {
        for second in values {
            for third in values {
                let file = |order: [&str; 3]| {
                    let mut text = String::from("user-agent: *\n");
                    for value in order {
                        let key = if value == second { "allow" } else { "disallow" };
                        text.push_str(&format!("{key}: {value}\n"));
                    }
                    Rules::parse(text.as_bytes(), "rhumb")
                };
                let one = file([first, second, third]);
                let other = file([third, first, second]);
                for path in paths {
                    let alone = |value: &str| {
                        let text = format!("user-agent: *\ndisallow: {value}");
                        !Rules::parse(text.as_bytes(), "rhumb").check(path).allowed
                    };
                    let strongest = [first, second, third]
                        .into_iter()
                        .filter(|value| alone(value))
                        .max_by_key(|value| (value.len(), *value == second));
                    let expected = strongest.is_none_or(|value| value == second);
                    assert_eq!(
                        one.check(path).allowed,
                        expected,
                        "{first} {second} {third} {path}"
                    );
                    assert_eq!(other.check(path).allowed, expected);
                }
            }
        }
    }
}
