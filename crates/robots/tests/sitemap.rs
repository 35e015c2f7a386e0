//! Each kind of sitemap, sound and broken, and what is made of it.

use std::io::Write;
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use rhumb_robots::{
    ChangeFrequency, Entry, NotASitemap, ProblemKind, Sitemap, SitemapKind, SitemapSettings,
    Strictness,
};
use rhumb_url::Url;

const AT: &str = "http://shop.test/sitemap.xml";
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

type Read = Result<(Sitemap, Vec<Entry>), NotASitemap>;

fn read_with(bytes: &[u8], content_type: Option<&str>, settings: &SitemapSettings) -> Read {
    let at = Url::parse(AT).unwrap();
    let mut entries = Vec::new();
    let sitemap = Sitemap::read(bytes, &at, content_type, settings, |_, entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    })?;
    assert_eq!(sitemap.entries, entries.len());
    Ok((sitemap, entries))
}

fn read_as(text: &str, strict: Strictness) -> Read {
    let settings = SitemapSettings {
        strict,
        ..SitemapSettings::default()
    };
    read_with(text.as_bytes(), None, &settings)
}

fn lenient(text: &str) -> (Sitemap, Vec<Entry>) {
    read_as(text, Strictness::LENIENT).unwrap()
}

/// The paths at the sitemap's host, or whole URLs of others.
fn paths(entries: &[Entry]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry.url.as_str())
        .map(|url| url.strip_prefix("http://shop.test").unwrap_or(url))
        .collect()
}

fn problems(sitemap: &Sitemap) -> Vec<ProblemKind> {
    sitemap
        .problems
        .iter()
        .map(|problem| problem.kind)
        .collect()
}

fn urlset(inside: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<urlset xmlns=\"{NAMESPACE}\">{inside}</urlset>\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_with_all_that_is_told_of_it() {
    let text = urlset(
        "<url>
            <loc> http://shop.test/lamp?a=1&amp;b=2 </loc>
            <lastmod>2024-02-29T12:00:00+02:00</lastmod>
            <changefreq>Weekly</changefreq>
            <priority>0.7</priority>
            <xhtml:link xmlns:xhtml='http://www.w3.org/1999/xhtml' rel='alternate'
                hreflang='de' href='http://shop.test/de/lampe?a=1&amp;b=2'/>
            <xhtml:link rel='alternate' hreflang='x-default' href='/lamp'></xhtml:link>
            <xhtml:link rel='alternate' media='handheld' href='/m/lamp'/>
            <image:image xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'>
                <image:loc>http://shop.test/lamp.jpg</image:loc>
            </image:image>
        </url>",
    );
    for strict in [Strictness::LENIENT, Strictness::STRICT] {
        let (sitemap, entries) = read_as(&text, strict).unwrap();
        assert_eq!(sitemap.kind, SitemapKind::UrlSet);
        assert_eq!((sitemap.truncated, sitemap.problems.len()), (false, 0));
        assert_eq!(paths(&entries), ["/lamp?a=1&b=2"]);
        let lamp = &entries[0];
        assert_eq!(lamp.last_modified, Some(1_709_200_800));
        assert_eq!(lamp.change_frequency, Some(ChangeFrequency::Weekly));
        assert_eq!(lamp.priority, Some(0.7));
        let translations: Vec<_> = lamp
            .alternates
            .iter()
            .map(|a| (a.language.as_str(), a.url.path_and_query()))
            .collect();
        assert_eq!(
            translations,
            [("de", "/de/lampe?a=1&b=2"), ("x-default", "/lamp")]
        );
    }
}

#[test]
fn an_index_names_sitemaps_anywhere() {
    let text = format!(
        "<m:sitemapindex xmlns:m='{NAMESPACE}'>
            <m:sitemap><m:loc>http://shop.test/a.xml.gz</m:loc><m:lastmod>2024</m:lastmod></m:sitemap>
            <m:sitemap><m:loc>https://cdn.test/b.xml</m:loc></m:sitemap>
        </m:sitemapindex>"
    );
    for strict in [Strictness::LENIENT, Strictness::STRICT] {
        let (sitemap, entries) = read_as(&text, strict).unwrap();
        assert_eq!(sitemap.kind, SitemapKind::Index);
        assert_eq!(paths(&entries), ["/a.xml.gz", "https://cdn.test/b.xml"]);
        assert_eq!(entries[0].last_modified, Some(1_704_067_200));
    }
}

#[test]
fn rss_gives_its_items() {
    let (sitemap, entries) = lenient(
        "<rss version='2.0'><channel>
            <title>News</title><link>http://shop.test/news</link>
            <image><url>http://shop.test/logo.png</url><link>http://shop.test/</link></image>
            <item><title>One &nbsp;</title><link>http://shop.test/1</link>
                <guid>http://shop.test/?p=1</guid><pubDate>Thu, 29 Feb 2024 10:00:00 GMT</pubDate>
                <description><![CDATA[<link>http://shop.test/no</link>]]></description></item>
            <item><guid isPermaLink='true'>http://shop.test/2</guid><pubDate>soon</pubDate></item>
            <item><guid>tag:shop.test,3</guid></item>
        </channel></rss>",
    );
    assert_eq!(sitemap.kind, SitemapKind::Rss);
    assert_eq!(paths(&entries), ["/1", "/2"]);
    assert_eq!(entries[0].last_modified, Some(1_709_200_800));
    let expected = [
        ProblemKind::Markup,
        ProblemKind::BadDate,
        ProblemKind::NoUrl,
    ];
    assert_eq!(problems(&sitemap), expected);
}

#[test]
fn rss_1_is_rdf() {
    let (sitemap, entries) = lenient(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'
            xmlns:dc='http://purl.org/dc/elements/1.1/'>
            <channel rdf:about='x'><link>http://shop.test/</link></channel>
            <item rdf:about='y'><link>http://shop.test/1</link><dc:date>2024-02-29</dc:date></item>
        </rdf:RDF>",
    );
    assert_eq!(sitemap.kind, SitemapKind::Rss);
    assert_eq!(paths(&entries), ["/1"]);
    assert_eq!(entries[0].last_modified, Some(1_709_164_800));
}

#[test]
fn atom_gives_its_entries() {
    let (sitemap, entries) = lenient(
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/'/><id>http://shop.test/feed</id>
            <entry><id>urn:1</id><link rel='edit' href='/edit/1'/><link href='/1'/>
                <link rel='alternate' href='/1.html'/><published>2024-01-01</published>
                <updated>2024-02-29T10:00:00Z</updated>
                <source><id>http://elsewhere.test/</id><link href='http://elsewhere.test/'/></source></entry>
            <entry><id>http://shop.test/2</id><published>2024-02-29</published></entry>
        </feed>",
    );
    assert_eq!(sitemap.kind, SitemapKind::Atom);
    assert_eq!(paths(&entries), ["/1", "/2"]);
    assert_eq!(entries[0].last_modified, Some(1_709_200_800));
    assert_eq!(entries[1].last_modified, Some(1_709_164_800));
    assert_eq!(problems(&sitemap), []);
}

#[test]
fn lists_have_one_url_a_line() {
    let (sitemap, entries) = lenient(
        "\u{feff}http://shop.test/1\r\n\n  HTTPS://cdn.test/2#x \nwww.shop.test/3\n# 4\nshop.test/5\tfive\n/6\n",
    );
    assert_eq!(sitemap.kind, SitemapKind::Text);
    let found = ["/1", "https://cdn.test/2", "http://www.shop.test/3", "/5"];
    assert_eq!(paths(&entries), found);
    assert_eq!(problems(&sitemap), [ProblemKind::BadUrl]);
    assert_eq!(
        (sitemap.problems[0].count, sitemap.problems[0].line),
        (2, 5)
    );
}

#[test]
fn gzip_and_encodings_are_seen_through() {
    let text = urlset("<url><loc>http://shop.test/größe</loc></url>");
    let wide =
        |unit: fn(u16) -> [u8; 2]| -> Vec<u8> { text.encode_utf16().flat_map(unit).collect() };
    let marked = |bytes: Vec<u8>, mark: &[u8]| [mark, &bytes].concat();
    let latin_text = text.replace("\"1.0\"", "\"1.0\" encoding=\"iso-8859-1\"");
    let latin: Vec<u8> = latin_text.chars().map(|c| c as u32 as u8).collect();
    let bare_latin: Vec<u8> = text.chars().map(|c| c as u32 as u8).collect();
    let header = Some("application/xml; charset=ISO-8859-1");
    for (bytes, content_type) in [
        (text.clone().into_bytes(), None),
        (gzip(text.as_bytes()), Some("text/html")),
        (gzip(&gzip(text.as_bytes())), None),
        (marked(text.clone().into_bytes(), b"\xEF\xBB\xBF"), header),
        (marked(wide(u16::to_le_bytes), b"\xFF\xFE"), None),
        (wide(u16::to_be_bytes), None),
        (latin, None),
        (bare_latin, header),
    ] {
        let read = read_with(&bytes, content_type, &SitemapSettings::default());
        let (sitemap, entries) = read.unwrap();
        assert_eq!(paths(&entries), ["/gr%C3%B6%C3%9Fe"]);
        assert_eq!(problems(&sitemap), []);
    }
}

#[test]
fn a_url_lost_in_a_wrong_encoding_is_not_guessed_at() {
    let text = urlset("<url><loc>http://shop.test/gr?n</loc></url><url><loc>/2</loc></url>");
    let bytes: Vec<u8> = text
        .bytes()
        .map(|b| if b == b'?' { 0xFC } else { b })
        .collect();
    // The question marks of the declaration are gone too.
    let bytes = &bytes[bytes.iter().position(|b| *b == b'\n').unwrap()..];
    let (sitemap, entries) = read_with(bytes, None, &SitemapSettings::default()).unwrap();
    assert_eq!(paths(&entries), ["/2"]);
    let expected = [ProblemKind::BadUrl, ProblemKind::Encoding];
    assert_eq!(problems(&sitemap), expected);
}

/// What patience makes of a broken file. With `Strictness::syntax` it gives
/// nothing.
#[test]
fn broken_markup_gives_what_can_be_read() {
    for (inside, expected) in [
        // End tags that are missing, crossed or too many.
        (
            "<url><loc>/1</loc><url><loc>/2</loc></url>",
            &["/1", "/2"][..],
        ),
        ("<url><loc>/1<url><loc>/2", &["/1", "/2"]),
        (
            "<url><loc>/1<lastmod>2024</lastmod></url><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
        (
            "<url><loc>/1</loc></url></url><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
        (
            "<url><loc>/1</url></loc><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
        (
            "<url><loc>/1</loc><i:x><i:y></url><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
        // Ampersands that nobody escaped.
        ("<url><loc>/1?a=b&c=d</loc></url>", &["/1?a=b&c=d"]),
        ("<url><loc>/1?a=b&c=d;e&f</loc></url>", &["/1?a=b&c=d;e&f"]),
        // An unknown reference: the URL cannot be known.
        (
            "<url><loc>/1&copy;</loc></url><url><loc>/2</loc></url>",
            &["/2"],
        ),
        (
            "<url><loc>/1&#x0;</loc></url><url><loc>/2</loc></url>",
            &["/2"],
        ),
        // Declarations that do not belong there, tags without a name.
        ("<!ELEMENT x><url><loc>/1</loc></url>", &["/1"]),
        (
            "<url><loc>/1</loc></url>< ><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
        // Two files in one.
        (
            "<url><loc>/1</loc></url></urlset><urlset><url><loc>/2</loc></url>",
            &["/1", "/2"],
        ),
    ] {
        let text = urlset(inside);
        let (sitemap, entries) = lenient(&text);
        assert_eq!(paths(&entries), expected, "{inside}");
        assert!(!sitemap.problems.is_empty(), "{inside}");
        assert!(!sitemap.truncated);
        let strict = Strictness {
            syntax: true,
            ..Strictness::LENIENT
        };
        let refused = read_as(&text, strict);
        assert!(matches!(refused, Err(NotASitemap::Broken(_))), "{inside}");
    }
}

/// Sound XML that says it in an odd way.
#[test]
fn odd_but_sound_files_are_understood() {
    for (inside, expected) in [
        (
            "<url>\n/1\n</url><url><priority>1</priority>/2</url>",
            &["/1", "/2"][..],
        ),
        ("<url><loc>/1</loc><loc>/2</loc></url>", &["/1", "/2"]),
        (
            "<url><loc><url><![CDATA[/1?a&b]]></url></loc></url>",
            &["/1?a&b"],
        ),
        (
            "<url><loc>/<!-- x -->1<![CDATA[2]]>&#51;</loc></url>",
            &["/123"],
        ),
        ("<url><loc>\u{a0}\u{200b}/1\u{2003}</loc></url>", &["/1"]),
        ("<url xmlns=\"\"><loc>/1</loc></url>", &["/1"]),
        (
            "<url/><url></url><url><loc/></url><url><loc>/1</loc></url>",
            &["/1"],
        ),
        (
            "<url><PageMap xmlns='x'><url>/no</url><loc>/no</loc></PageMap><loc>/1</loc></url>",
            &["/1"],
        ),
        (
            "<url><loc>ftp://shop.test/</loc></url><url><loc>/1</loc></url>",
            &["/1"],
        ),
    ] {
        let text = urlset(inside);
        for syntax in [false, true] {
            let strict = Strictness {
                syntax,
                ..Strictness::LENIENT
            };
            let (_, entries) = read_as(&text, strict).unwrap();
            assert_eq!(paths(&entries), expected, "{inside}");
        }
    }
}

#[test]
fn a_file_that_breaks_off_gives_no_half_url() {
    let text = urlset(
        "<url><loc>/first</loc></url><url><loc>/second</loc><lastmod>2024-02-29</lastmod></url>",
    );
    let second_ends = text.find("/second</").unwrap() + "/second<".len();
    let root_ends = text.find("<url>").unwrap();
    for length in root_ends..text.rfind("</urlset>").unwrap() {
        let (sitemap, entries) = lenient(&text[..length]);
        let first_ends = text.find("/first<").unwrap() + "/first<".len();
        let expected = usize::from(length >= first_ends) + usize::from(length >= second_ends);
        let found = &["/first", "/second"][..expected];
        assert_eq!(paths(&entries), found, "{}", &text[..length]);
        let last_modified = entries.get(1).and_then(|entry| entry.last_modified);
        assert!(matches!(last_modified, None | Some(1_709_164_800)));
        assert!(problems(&sitemap).contains(&ProblemKind::EndsEarly));
    }
    let packed = gzip(text.as_bytes());
    let broken = read_with(
        &packed[..packed.len() - 12],
        None,
        &SitemapSettings::default(),
    );
    let (sitemap, _) = broken.unwrap();
    assert!(problems(&sitemap).contains(&ProblemKind::Gzip));
}

#[test]
fn nothing_outside_of_the_file_is_read() {
    let text = format!(
        "<!DOCTYPE urlset [<!ENTITY out SYSTEM 'file:///etc/hostname'><!ENTITY a 'aaaaaaaaaa'>
            <!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>]>
        <urlset xmlns='{NAMESPACE}' xmlns:xi='http://www.w3.org/2001/XInclude'>
            <url><loc>/&out;</loc></url><url><loc>/&c;</loc></url>
            <url><loc><xi:include href='file:///etc/hostname' parse='text'/></loc></url>
            <url><loc>/1</loc></url></urlset>"
    );
    for strict in [Strictness::LENIENT, Strictness::STRICT] {
        let (sitemap, entries) = read_as(&text, strict).unwrap();
        assert_eq!(paths(&entries), ["/1"]);
        let expected = [
            ProblemKind::Reference,
            ProblemKind::BadUrl,
            ProblemKind::NoUrl,
        ];
        assert_eq!(problems(&sitemap), expected);
    }
}

#[test]
fn strict_location_keeps_to_the_folder() {
    let text = urlset(
        "<url><loc>http://shop.test/en/a</loc></url><url><loc>http://shop.test/de/b</loc></url>
        <url><loc>https://shop.test/en/c</loc></url><url><loc>http://other.test/en/d</loc></url>",
    );
    let at = Url::parse("http://shop.test/en/sitemap.xml").unwrap();
    let settings = SitemapSettings {
        strict: Strictness::STRICT,
        ..SitemapSettings::default()
    };
    let mut entries = Vec::new();
    let sitemap = Sitemap::read(text.as_bytes(), &at, None, &settings, |kind, entry| {
        assert_eq!(kind, SitemapKind::UrlSet);
        entries.push(entry);
        ControlFlow::Continue(())
    });
    assert_eq!(paths(&entries), ["/en/a"]);
    let outside = &sitemap.unwrap().problems[0];
    assert_eq!((outside.kind, outside.count), (ProblemKind::Outside, 3));
    assert_eq!(outside.example, "http://shop.test/de/b");
    assert_eq!(lenient(&text).1.len(), 4);
}

#[test]
fn strict_namespace_wants_the_standards() {
    let strict = Strictness {
        namespace: true,
        ..Strictness::LENIENT
    };
    for other in [
        "<urlset><url><loc>/1</loc></url></urlset>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'><url><loc>/1</loc></url></urlset>",
        "<feed><entry><link href='/1'/></entry></feed>",
    ] {
        let refused = read_as(other, strict);
        assert!(matches!(refused, Err(NotASitemap::Namespace(_))), "{other}");
        let (sitemap, entries) = lenient(other);
        assert_eq!(paths(&entries), ["/1"], "{other}");
        assert_eq!(problems(&sitemap), [ProblemKind::Namespace]);
    }
    let redeclared = urlset(
        "<url xmlns='x'><loc>/1</loc></url><url><loc xmlns='x'>/no</loc><loc>/2</loc></url>",
    );
    assert_eq!(paths(&read_as(&redeclared, strict).unwrap().1), ["/2"]);
}

#[test]
fn what_is_no_sitemap_says_so() {
    for (text, told) in [
        ("", "nothing is in it"),
        (" \n\u{feff} ", "nothing is in it"),
        (
            "not found",
            "neither XML nor a list of URLs: it begins with `not found`",
        ),
        (
            "{\"a\": 1}",
            "neither XML nor a list of URLs: it begins with `{\"a\": 1}`",
        ),
        (
            "<!DOCTYPE html><html><url><loc>/</loc></url></html>",
            "no sitemap has a root element `html`",
        ),
        ("<!-- only a comment -->", "it has no element at all"),
        ("<urlset", "it has no element at all"),
    ] {
        let refused = read_as(text, Strictness::LENIENT).unwrap_err();
        assert_eq!(refused.to_string(), told, "{text}");
    }
}

#[test]
fn limits_end_the_reading_and_tell() {
    let entry = "<url><loc>http://shop.test/p</loc></url>";
    let text = urlset(&entry.repeat(100));
    let settings = SitemapSettings {
        max_entries: 10,
        ..SitemapSettings::default()
    };
    let (sitemap, entries) = read_with(text.as_bytes(), None, &settings).unwrap();
    assert_eq!((entries.len(), sitemap.truncated), (10, true));
    assert_eq!(problems(&sitemap), [ProblemKind::TooManyEntries]);

    let exact = urlset(&entry.repeat(10));
    let (sitemap, _) = read_with(exact.as_bytes(), None, &settings).unwrap();
    assert!(!sitemap.truncated);

    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        for strict in [Strictness::LENIENT, Strictness::STRICT] {
            let settings = SitemapSettings {
                max_bytes: 1000,
                strict,
                ..SitemapSettings::default()
            };
            let (sitemap, entries) = read_with(&bytes, None, &settings).unwrap();
            assert!((20..=23).contains(&entries.len()) && sitemap.truncated);
            assert_eq!(problems(&sitemap), [ProblemKind::TooManyBytes]);
        }
    }

    let link = "<x:link rel='alternate' hreflang='de' href='/de'/>";
    let text = urlset(&format!("<url><loc>/1</loc>{}</url>", link.repeat(300)));
    let (sitemap, entries) = lenient(&text);
    assert_eq!(entries[0].alternates.len(), 200);
    assert_eq!(problems(&sitemap), [ProblemKind::TooManyAlternates]);
}

#[test]
fn whoever_takes_the_entries_may_have_enough() {
    let text = urlset(&"<url><loc>/p</loc></url>".repeat(100));
    let at = Url::parse(AT).unwrap();
    let mut taken = 0;
    let sitemap = Sitemap::read(
        text.as_bytes(),
        &at,
        None,
        &SitemapSettings::default(),
        |_, _| {
            taken += 1;
            match taken {
                5 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        },
    );
    assert_eq!((sitemap.unwrap().entries, taken), (5, 5));
}
