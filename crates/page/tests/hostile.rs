//! Input made to break a reader: none may fail, hang or take quadratic time.

use rhumb_page::{LinkKind, Options, Page, Source, extract};
use rhumb_url::Url;

fn read(content_type: Option<&str>, body: &[u8]) -> Page {
    let url = Url::parse("http://example.org/dir/page").expect("a URL");
    let text = String::from_utf8_lossy(&body[..body.len().min(2000)]);
    let source = Source {
        url: &url,
        body,
        content_type,
        link_headers: &[&text],
        refresh_header: Some(&text),
    };
    extract(&source, &Options::default())
}

/// Quadratic time would make these run for hours.
#[test]
fn a_megabyte_of_the_same_again() {
    const SIZE: usize = 1 << 20;
    for piece in [
        "<",
        "<a ",
        "<a href=",
        "<a href='",
        "<a href=x>",
        "&",
        "&a",
        "&#",
        "&#1",
        "&amp",
        "<!--",
        "<!-",
        "<!--->-",
        "-",
        "--!",
        "</",
        "</a",
        "</title",
        "<title>",
        "<textarea></textare",
        "<script>",
        "<script><!--<script>",
        "<script><!--<script></script>",
        "<script><!---",
        "<svg>",
        "<svg><![CDATA[",
        "<svg><title>",
        "<math><mi><svg><desc>",
        "<template>",
        "<img srcset='",
        "<img srcset=',",
        "<img srcset=a,(",
        "<link rel=' ",
        "<meta charset=",
        "<meta content='charset",
        "<?",
        "<!",
        "a=",
        "\"",
        "'",
        " ",
        "\0",
        "\u{a0}",
        "\u{fffd}",
        "<a b=c ",
        "/",
        "=",
        "<base href=x>",
        "<x href=../>",
        "<p>a",
        "]]>",
        "\n",
        "<plaintext>",
        "<noscript><iframe>",
        "charset=",
        "<meta http-equiv=refresh content='0 ",
    ] {
        let mut body = piece.repeat(SIZE / piece.len());
        let page = read(Some("text/html; charset=utf-8"), body.as_bytes());
        assert!(page.links.len() <= Options::default().max_links, "{piece}");
        // The same as the inside of a tag, of a script and of an attribute.
        for opening in ["<a ", "<script>", "<a href='", "<title>", "<svg>"] {
            body.insert_str(0, opening);
            read(Some("text/html"), body.as_bytes());
        }
    }
}

#[test]
fn random_bytes() {
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    const MARKUP: &[u8] = b"<>/='\"!-& ;#axhrefsc[]?\0\x80\xc2\xe2\xff\xfe";
    for round in 0..4000 {
        let length = next() as usize % 400;
        let byte = |random: u64| match round % 2 {
            0 => random as u8,
            _ => MARKUP[random as usize % MARKUP.len()],
        };
        let body: Vec<u8> = (0..length).map(|_| byte(next() >> 8)).collect();
        for content_type in [
            "text/html",
            "text/html; charset=utf-8",
            "text/html; charset=iso-2022-jp",
            "text/html; charset=utf-16",
            "text/html; charset=gb18030",
            "application/xhtml+xml",
            "text/plain",
        ] {
            read(Some(content_type), &body);
        }
        let text = String::from_utf8_lossy(&body);
        read(Some(&text), &body);
        read(None, &body);
    }
}

/// Half a page is what a broken connection leaves.
#[test]
fn a_page_cut_anywhere_keeps_what_came_before() {
    let page = "<title>T</title><a href=1>one</a><!-- c --><a href='2'>two</a><script>x</script>";
    let mut before = 0;
    for end in 0..=page.len() {
        let cut = read(Some("text/html"), &page.as_bytes()[..end]);
        let links = cut.links.iter().filter(|link| link.kind == LinkKind::A);
        let links = links.count();
        assert!(links >= before);
        before = links;
    }
    assert_eq!(before, 2);
}
