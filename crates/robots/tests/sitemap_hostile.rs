//! Whatever the bytes, reading a sitemap ends, and keeps to its limits.

use std::io::Write;
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use rhumb_robots::{Entry, Sitemap, SitemapSettings, Strictness};
use rhumb_url::Url;

const MAX_ENTRIES: usize = 6;
const MAX_ALTERNATES: usize = 2;

const SOUND: [&str; 5] = [
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
     xmlns:x=\"http://www.w3.org/1999/xhtml\"><url><loc>http://a.test/m/1?a&amp;b</loc><lastmod>2024-02-29</lastmod>\
     <changefreq>daily</changefreq><priority>0.5</priority><x:link rel=\"alternate\" hreflang=\"de\" href=\"/de\"/>\
     </url><url><loc><![CDATA[http://a.test/m/2]]></loc></url><!-- end --></urlset>",
    "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>http://a.test/1.xml</loc>\
     <lastmod>2024-02-29T10:00:00+01:00</lastmod></sitemap><sitemap>http://a.test/2.xml</sitemap></sitemapindex>",
    "<!DOCTYPE rss [<!ENTITY e 'x'>]><rss><channel><item><link>http://a.test/m/1&e;</link><guid>http://a.test/g</guid>\
     <pubDate>Thu, 29 Feb 2024 10:00:00 GMT</pubDate></item></channel></rss>",
    "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>http://a.test/i</id><link rel='alternate' href='/m/1'/>\
     <updated>2024-02-29T10:00:00Z</updated></entry></feed>",
    "http://a.test/m/1\nhttps://b.test/m/2\r\nwww.c.test/\n",
];

/// What markup is made of: more likely to matter than any byte.
const PARTS: [&str; 20] = [
    "<",
    ">",
    "&",
    ";",
    "<!",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?",
    "?>",
    "</",
    "/>",
    "\"",
    "'",
    "<url>",
    "</url>",
    "<loc>",
    "</loc>",
    "\u{feff}",
];

/// A small generator of the same numbers every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(20)).min(bytes.len());
        match self.below(6) {
            0 if at < bytes.len() => bytes[at] = self.next() as u8,
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, PARTS[self.below(PARTS.len())].bytes())),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => bytes.truncate(at),
            _ => {
                let other = SOUND[self.below(SOUND.len())].as_bytes();
                let from = self.below(other.len());
                let to = (from + self.below(60)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Read, and check what must hold for any input.
fn check(bytes: &[u8], strict: Strictness) -> Vec<Entry> {
    let at = Url::parse("http://a.test/m/sitemap.xml").unwrap();
    let settings = SitemapSettings {
        max_entries: MAX_ENTRIES,
        max_alternates: MAX_ALTERNATES,
        strict,
        ..SitemapSettings::default()
    };
    let mut entries: Vec<Entry> = Vec::new();
    let read = Sitemap::read(bytes, &at, Some("text/xml"), &settings, |_, entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    });
    assert!(entries.len() <= MAX_ENTRIES);
    for entry in &entries {
        assert!(entry.alternates.len() <= MAX_ALTERNATES);
        assert!(entry.priority.is_none_or(|p| (0.0..=1.0).contains(&p)));
        assert_eq!(Url::parse(entry.url.as_str()).as_ref(), Ok(&entry.url));
    }
    match read {
        Ok(sitemap) => {
            assert_eq!(sitemap.entries, entries.len());
            for (number, problem) in sitemap.problems.iter().enumerate() {
                assert!(problem.count > 0 && problem.line > 0);
                assert!(problem.example.chars().count() < 400, "{problem}");
                let others = &sitemap.problems[number + 1..];
                assert!(others.iter().all(|other| other.kind != problem.kind));
            }
        }
        Err(_) if strict.syntax => assert_eq!(entries, []),
        Err(_) => {}
    }
    entries
}

#[test]
fn mutated_files_keep_to_the_limits() {
    let mut random = Random(0x5EED);
    let mut given = 0;
    for round in 0..6_000 {
        let mut bytes = SOUND[round % SOUND.len()].as_bytes().to_vec();
        for _ in 0..=random.below(8) {
            random.mutate(&mut bytes);
        }
        if round % 7 == 0 {
            bytes = gzip(&bytes);
            if round % 2 == 0 {
                random.mutate(&mut bytes);
            }
        }
        let lenient = check(&bytes, Strictness::LENIENT);
        let strict = check(&bytes, Strictness::STRICT);
        given += lenient.len();
        // What the limit on entries lets through differs: outside of the
        // folder, there is room for more.
        if lenient.len() < MAX_ENTRIES {
            assert!(strict.len() <= lenient.len());
        }
    }
    assert!(
        given > 3_000,
        "{given} entries: the mutations spoil too much"
    );
}

#[test]
fn bytes_without_any_sense_do_no_harm() {
    let mut random = Random(0xBAD);
    for round in 0..2_000 {
        let length = random.below(400);
        let mut bytes: Vec<u8> = (0..length)
            .map(|_| match round % 3 {
                0 => random.next() as u8,
                1 => b"<>&;!-[]/?\"' =ax:#\n"[random.below(19)],
                _ => random.next() as u8 & 0x7F,
            })
            .collect();
        let beginning: &[u8] = match round % 5 {
            0 => b"\x1F\x8B\x08\0\0\0\0\0\0\x03",
            1 => b"\xFF\xFE",
            2 => b"<urlset><url><loc>",
            _ => b"",
        };
        bytes.splice(0..0, beginning.iter().copied());
        check(&bytes, Strictness::LENIENT);
        check(&bytes, Strictness::STRICT);
    }
}

/// Each is long enough that more than linear work would not end in an hour.
#[test]
fn large_and_evil_files_end() {
    const SIZE: usize = 2 << 20;
    let long = |part: &str| part.repeat(SIZE / part.len());
    for evil in [
        long("<a>"),
        long("<url>"),
        long("<loc>"),
        long("</a>"),
        long("</urlset><urlset>"),
        format!("{}{}", long("<a><b>"), long("</b></a>")),
        format!("{}{}", long("<a><b>"), long("</c>")),
        long("<url><loc>ftp:x"),
        long("<url><loc>ftp:x</loc>"),
        long("<url><loc>/&a;</loc></url>"),
        long("&"),
        long("&amp;"),
        long("&#;"),
        long("<!"),
        long("<!x>"),
        long("<!-"),
        long("<!---->"),
        long("<![CDATA["),
        long("<![CDATA[]]>"),
        long("]]>"),
        long("<?x?>"),
        long("< "),
        long("<x "),
        long("<x a='"),
        long("\n"),
        long("x"),
        long("\u{feff}"),
        format!("<{}>", long("n")),
        format!("<url {}/>", long("a='b' ")),
        format!(
            "<url><x:link {} hreflang='a'/></url>",
            long("rel='alternate' ")
        ),
        format!("<url><loc>{}</loc></url>", long("/a")),
        format!("<url><loc>{}</loc></url>", long("<b/>x")),
        format!("<!DOCTYPE urlset [{}]>", long("<!ENTITY a 'b'>")),
        format!("<!DOCTYPE urlset [{}", long("<!ENTITY a \"")),
    ] {
        check(evil.as_bytes(), Strictness::LENIENT);
        check(format!("<urlset>{evil}").as_bytes(), Strictness::LENIENT);
        check(
            format!("http://a.test/\n{evil}").as_bytes(),
            Strictness::LENIENT,
        );
    }
    let bomb = gzip(&gzip(&vec![b' '; 60 << 20]));
    assert!(check(&bomb, Strictness::LENIENT).is_empty());
}
