//! What the crawl learns from a page, on small pages.

use rhumb_page::{Link, LinkKind, Options, Page, Source, Target, extract};
use rhumb_url::{Refusal, Url};

fn url() -> Url {
    Url::parse("http://example.org/dir/page").expect("a URL")
}

fn read_with(content_type: Option<&str>, body: &[u8], options: &Options) -> Page {
    let source = Source {
        url: &url(),
        body,
        content_type,
        link_headers: &[],
        refresh_header: None,
    };
    extract(&source, options)
}

fn read(body: &str) -> Page {
    read_with(Some("text/html"), body.as_bytes(), &Options::default())
}

fn lines(page: &Page) -> Vec<String> {
    let line = |link: &Link| match &link.target {
        Target::Url(url) => format!("{} {url}", link.kind),
        Target::Refused { text, .. } => format!("{} refused {text}", link.kind),
    };
    page.links.iter().map(line).collect()
}

fn anchors(body: &str) -> Vec<String> {
    let links = read(body).links.into_iter();
    links
        .filter(|link| link.kind == LinkKind::A)
        .map(|link| link.anchor)
        .collect()
}

#[test]
fn a_page_is_read_whole() {
    let page = read(
        "<!doctype html><html lang=de-AT><head><title> A &amp;\n B </title>\
         <meta name=Robots content='noindex,  nofollow'><meta name=robots content=none>\
         <meta name=description content='About &lt;it&gt;'>\
         <link rel=Canonical href='/the/page#top'></head>\
         <body><h1>Head</h1><p>Some <b>bold</b>\n text.<script>no()</script><style>no</style>\
         <div>More<br>lines</div></body>",
    );
    assert_eq!(page.title.as_deref(), Some("A & B"));
    assert_eq!(page.text, "Head\nSome bold text.\nMore\nlines");
    assert_eq!(page.meta_robots, ["noindex, nofollow", "none"]);
    assert_eq!(page.description.as_deref(), Some("About <it>"));
    assert_eq!(page.language.as_deref(), Some("de-AT"));
    let canonical = page.canonical.expect("a canonical address");
    assert_eq!(canonical.as_str(), "http://example.org/the/page");
    assert_eq!(page.base, url());
}

#[test]
fn every_place_that_holds_a_link() {
    let page = read(
        "<base href=/b/><a href=a></a><area href=b><link rel=next href=c><iframe src=d></iframe>\
         <frame src=e><img src=f srcset='g 1x, h,i 2x'><meta http-equiv=Refresh content='0;url=j'>\
         <link rel=canonical href=k><script src=l></script><embed src=m><object data=n></object>\
         <video src=o poster=p><source srcset=q></video><input type=Image src=r><input src=no>\
         <custom href=s><svg><a xlink:href=t></a><use href=#u /></svg>\
         <a href='mailto:x@example.org'></a>",
    );
    assert_eq!(page.base.as_str(), "http://example.org/b/");
    let found = lines(&page)
        .join("\n")
        .replace("http://example.org/b/", "~");
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        [
            "a ~a",
            "area ~b",
            "link ~c",
            "iframe ~d",
            "frame ~e",
            "img ~f",
            "srcset ~g",
            "srcset ~h,i",
            "refresh ~j",
            "canonical ~k",
            "script ~l",
            "embed ~m",
            "object ~n",
            "media ~o",
            "media ~p",
            "srcset ~q",
            "img ~r",
            "other ~s",
            "a ~t",
            "other ~",
            "a refused mailto:x@example.org",
        ]
    );
}

#[test]
fn without_resources_only_links_to_pages_are_kept() {
    let body = b"<a href=a><img src=b srcset=c alt=Alt></a><script src=d></script><x href=e>";
    let options = Options {
        resources: false,
        ..Options::default()
    };
    let page = read_with(Some("text/html"), body, &options);
    assert_eq!(
        lines(&page),
        [
            "a http://example.org/dir/a",
            "other http://example.org/dir/e"
        ]
    );
    assert_eq!(page.links[0].anchor, "Alt");
}

#[test]
fn the_first_base_counts_for_the_whole_page() {
    let page = read("<a href=x></a><base target=t><base href='../up/'><base href=/no/>");
    assert_eq!(page.base.as_str(), "http://example.org/up/");
    assert_eq!(lines(&page), ["a http://example.org/up/x"]);
    let page = read("<base href='data:,x'><base href=/no/><a href=x></a>");
    assert_eq!(lines(&page), ["a http://example.org/dir/x"]);
}

#[test]
fn anchors_are_what_the_page_says_about_a_link() {
    assert_eq!(
        anchors("<a href=x> a\n<b>b</b>c <i> d</i> </a>e"),
        ["a bc d"]
    );
    assert_eq!(
        anchors("<a href=x>one<a href=y>two</a>three"),
        ["one", "two"]
    );
    assert_eq!(anchors("<a href=x>one<a name=y>two</a>"), ["one"]);
    assert_eq!(
        anchors("<a href=x>a<img alt='pic &amp; ture'>b</a>"),
        ["a pic & ture b"]
    );
    assert_eq!(anchors("<a href=x><div>a</div><div>b</div></a>"), ["a b"]);
    assert_eq!(
        anchors("<a href=x>a<script>no</script>b<!-- no -->c</a>"),
        ["abc"]
    );
    assert_eq!(
        anchors("<a href=x><svg><path d=z /><title>Icon</title><text>no</text></svg></a>"),
        ["Icon"]
    );
    assert_eq!(anchors("<a href=x>never closed"), ["never closed"]);
    let area = &read("<area href=x alt=' A  b '>").links[0];
    assert_eq!(area.anchor, "A b");
}

#[test]
fn links_know_their_rel_and_whether_they_stay() {
    let page = read("<a href=/x rel=' NoFollow\nUGC '></a><a href=//Other.example/></a>");
    assert_eq!(page.links[0].rel, "nofollow ugc");
    assert!(page.links[0].internal);
    assert!(!page.links[1].internal);
    let other_scheme = read("<a href=https://example.org:444/>");
    assert!(other_scheme.links[0].internal);
    let refused = &read("<a href=tel:123>").links[0];
    assert!(!refused.internal);
    let Target::Refused { why, .. } = &refused.target else {
        panic!("a telephone is not crawled");
    };
    assert_eq!(why, &Refusal::Scheme("tel".to_owned()));
}

#[test]
fn links_in_headers_belong_to_the_address() {
    let source = Source {
        url: &url(),
        body: b"<base href=/b/><a href=x>",
        content_type: Some("text/html"),
        link_headers: &["<next>; rel=Next; title=\"The next\", </c>; rel=canonical"],
        refresh_header: Some("3; url=later"),
    };
    let page = extract(&source, &Options::default());
    assert_eq!(
        lines(&page),
        [
            "a http://example.org/b/x",
            "header http://example.org/dir/next",
            "header http://example.org/c",
            "refresh http://example.org/dir/later",
        ]
    );
    assert_eq!(page.links[1].rel, "next");
    assert_eq!(page.links[1].anchor, "The next");
    let canonical = page.canonical.expect("a canonical address");
    assert_eq!(canonical.as_str(), "http://example.org/c");
}

#[test]
fn the_type_decides_how_a_body_is_read() {
    let body = b"<html ><a href=x>a</a>";
    let options = Options::default();
    assert_eq!(read_with(None, body, &options).links.len(), 1);
    let plain = read_with(Some("text/plain"), b"<a href=x>\n\n &amp;  b ", &options);
    assert_eq!(plain.text, "<a href=x>\n&amp; b");
    assert!(plain.links.is_empty());
    let image = read_with(Some("image/png"), body, &options);
    assert!(image.links.is_empty() && image.text.is_empty());
}

#[test]
fn xhtml_elements_can_close_themselves() {
    let body = b"<title/><script src='s' /><a href='x' />text<a href='y'>Y</a><textarea/>end";
    let page = read_with(Some("application/xhtml+xml"), body, &Options::default());
    assert_eq!(page.links.len(), 3);
    assert_eq!(page.links[1].anchor, "");
    assert_eq!(page.text, "textYend");
    let html = read_with(Some("text/html"), body, &Options::default());
    assert!(html.links.is_empty());
}

#[test]
fn other_encodings_are_read_and_meant_in_queries() {
    let body =
        b"<meta charset=gbk><title>\xd6\xd0</title><a href='/\xd6\xd0?\xd6\xd0'>\xce\xc4</a>";
    let page = read_with(Some("text/html"), body, &Options::default());
    assert_eq!(page.charset, "GBK");
    assert_eq!(page.title.as_deref(), Some("\u{4e2d}"));
    assert_eq!(page.links[0].anchor, "\u{6587}");
    assert_eq!(lines(&page), ["a http://example.org/%E4%B8%AD?%D6%D0"]);
}

#[test]
fn limits_hold() {
    let body = "<a href=x>0123456789</a>".repeat(10);
    let options = Options {
        max_links: 3,
        max_anchor: 4,
        max_text: 15,
        ..Options::default()
    };
    let page = read_with(Some("text/html"), body.as_bytes(), &options);
    assert_eq!((page.links.len(), page.links_dropped), (3, 7));
    assert_eq!(page.links[0].anchor, "0123");
    assert_eq!(page.text.len(), 15);
    let picture = format!("<img src='data:image/png;base64,{}'>", "A".repeat(100_000));
    let Target::Refused { text, .. } = &read(&picture).links[0].target else {
        panic!("data is no address");
    };
    assert_eq!(text.len(), 256);
}
