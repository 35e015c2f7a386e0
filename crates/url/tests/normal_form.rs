//! The normal form, told by examples; and the public cases when they are there.

use rhumb_url::{Refusal, Url};

fn normal(text: &str) -> Result<String, Refusal> {
    Url::parse(text).map(|url| url.as_str().to_owned())
}

#[test]
fn urls_that_mean_the_same_have_one_form() {
    for (written, form) in [
        ("HTTP://Foo.Com/index.html", "http://foo.com/index.html"),
        ("http://foo.com", "http://foo.com/"),
        ("http://foo.com?a=1", "http://foo.com/?a=1"),
        ("http://foo.com:80/", "http://foo.com/"),
        ("https://foo.com:443/", "https://foo.com/"),
        ("http://foo.com:/", "http://foo.com/"),
        ("http://foo.com:81/", "http://foo.com:81/"),
        ("http://foo.com/a#b", "http://foo.com/a"),
        ("http://foo.com/a?b#c?d", "http://foo.com/a?b"),
        ("http://foo.com/aa/bb/../cc/./d", "http://foo.com/aa/cc/d"),
        ("http://foo.com/../../foo.html", "http://foo.com/foo.html"),
        ("http://foo.com/a/%2e%2E/b", "http://foo.com/b"),
        ("http://foo.com/%66oo.ht%6dl", "http://foo.com/foo.html"),
        ("http://foo.com/?%66oo=%7e", "http://foo.com/?foo=~"),
        ("http://foo.com/dir%2fcz", "http://foo.com/dir%2Fcz"),
        ("http://foo.com/you too", "http://foo.com/you%20too"),
        ("http://foo.com/ñ?ñ", "http://foo.com/%C3%B1?%C3%B1"),
        ("http://foo.com\\a\\b", "http://foo.com/a/b"),
        (" \thttp://fo\no.com/a\tb ", "http://foo.com/ab"),
        ("http://bücher.de/", "http://xn--bcher-kva.de/"),
        ("https://example%2Ecom/", "https://example.com/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    ] {
        assert_eq!(normal(written), Ok(form.to_owned()), "{written}");
    }
}

#[test]
fn what_a_server_may_tell_apart_is_left_apart() {
    for text in [
        "http://foo.com//aa//bb",
        "http://foo.com/?",
        "http://foo.com/?b=1&a=1&&c=",
        "http://foo.com/?x[y]=1",
        "http://foo.com/90%+of",
        "http://foo.com/?q=a%2",
        "http://foo.com/?phpsessid=2Aa3",
        "https://www.example.org./",
        "http://foo.com/index.html",
        "http://www.foo.com/",
    ] {
        assert_eq!(normal(text), Ok(text.to_owned()));
    }
}

#[test]
fn what_the_crawl_cannot_hold_is_refused_by_name() {
    for text in ["http://user:pass@foo.com/", "http://user@[::1]/x"] {
        assert_eq!(normal(text), Err(Refusal::Credentials), "{text}");
    }
    for text in ["http:////", "http://", "https:///?x", "http://./"] {
        assert_eq!(normal(text), Err(Refusal::NoHost), "{text}");
    }
    for text in ["ftp://foo.com/", "file:///etc/passwd", "foo.com:80/"] {
        assert!(matches!(normal(text), Err(Refusal::Scheme(_))), "{text}");
    }
    let label = "a".repeat(64);
    for text in [
        "",
        "foo",
        "/foo",
        "www.example.com/",
        "http://[::1",
        "http://[]/",
        "http://[::%31]/",
        "http://exa mple.com/",
        "https://example%2Xcom/",
        "https://abc%FEdef.org/",
        "http://foo.com:99999/",
        "http://a..b/",
        "http://1.2.3.4.5/",
        &format!("http://{label}.com/"),
        &format!("http://{}com/", "abcd.".repeat(60)),
    ] {
        assert!(matches!(normal(text), Err(Refusal::Malformed(_))), "{text}");
    }
}

#[test]
fn refusals_are_told_in_a_few_words() {
    for (text, told) in [
        ("mailto:x", "scheme `mailto` is not crawled"),
        ("http://a@b/", "it carries a user name or password"),
        ("http://", "it names no host"),
        ("x", "not a URL: relative URL without a base"),
    ] {
        let refusal = Url::parse(text).expect_err("refused");
        assert_eq!(refusal.to_string(), told);
    }
}

#[test]
fn the_parts_of_a_url_can_be_asked_for() {
    let url = Url::parse("http://www.Example.co.uk:8080/a/b.tar.GZ?c=d/e.f").expect("a URL");
    assert_eq!(url.name(), "www.example.co.uk");
    assert_eq!(url.port(), 8080);
    assert_eq!(url.authority(), "www.example.co.uk:8080");
    assert_eq!(url.origin(), "http://www.example.co.uk:8080");
    assert_eq!(url.path(), "/a/b.tar.GZ");
    assert_eq!(url.query(), Some("c=d/e.f"));
    assert_eq!(url.path_and_query(), "/a/b.tar.GZ?c=d/e.f");
    assert_eq!(url.site(), "example.co.uk");
    assert_eq!(url.host().to_string(), url.origin());
    for (path, extension) in [
        ("/a.html", Some("html")),
        ("/a.b/c", None),
        ("/a.", None),
        ("/.hidden", None),
        ("/v1.2-rc", None),
        ("/a.%C3%BC", None),
        ("/", None),
        ("/a.PDF?x.y", Some("PDF")),
    ] {
        let url = Url::parse(&format!("http://a.example{path}")).expect("a URL");
        assert_eq!(url.extension(), extension, "{path}");
    }
}

#[test]
fn what_was_stored_is_read_back() {
    for text in [
        "http://a.example/",
        "https://a.example:8443/b?c=d%2F?",
        "http://[::1]/",
        "http://[::1]:8080/x:y",
        "http://127.0.0.1:1/",
    ] {
        let parsed = Url::parse(text).expect("a URL");
        let read = Url::from_normal(text).expect("stored");
        assert_eq!(read, parsed);
        assert_eq!(read.host(), parsed.host());
    }
    for text in [
        "",
        "ftp://a.example/",
        "http://a.example",
        "http:///x",
        "http://A.example/",
        "http://a@b.example/",
        "http://a.example:x/",
        "http://a.example/a b",
        "http://a.example/a#b",
        "http://a.example/ü",
        &format!("http://a.example/{}", "a".repeat(2048)),
    ] {
        assert!(Url::from_normal(text).is_err(), "{text}");
    }
}

/// Each public case is either done, or one of the kinds that the crate's
/// README says are not done; then the form is that of the full parser.
#[test]
fn the_public_cases_hold() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/cases/url_normalise_cases.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("left out: {path} is not there");
        return;
    };
    let cases: serde_json::Value = serde_json::from_str(&text).expect("the cases are JSON");
    let (mut done, mut not_done) = (0, 0);
    for case in cases["cases"].as_array().expect("a list of cases") {
        let id = case["id"].as_str().expect("an id");
        let input = case["in"].as_str().expect("an input");
        let want = case["want"].as_str().expect("a want");
        let answer = normal(input).ok();
        if let Some(form) = &answer {
            assert_eq!(normal(form).as_ref(), Ok(form), "{id} twice");
            let read = Url::from_normal(form).expect("a normal form");
            assert_eq!(read, Url::parse(form).expect("a normal form"), "{id}");
        }
        // n145 mixes an escape, which is done, with sorting, which is not.
        let safe = want.starts_with("safe:") || want == "safe";
        if safe && id != "n145" {
            let out = case["out"].as_str().filter(|out| out.starts_with("http"));
            assert_eq!(answer.as_deref(), out, "{id} {input}");
            done += 1;
        } else if want.starts_with("seed-input") {
            let guessed = Url::parse_seed(input).map(|url| url.to_string());
            let out = case["out"].as_str().unwrap_or_default();
            assert_eq!(guessed, Ok(out.replacen("http:", "https:", 1)), "{id}");
            assert_eq!(answer, None, "{id}");
            done += 1;
        } else {
            let whatwg = match case["whatwg"].as_str() {
                _ if want.contains("credentials") => None,
                Some(form) => normal(form).ok(),
                None => None,
            };
            assert_eq!(answer, whatwg, "{id} {input}");
            not_done += 1;
        }
    }
    println!("{done} cases hold, {not_done} are left alone as documented");
}
