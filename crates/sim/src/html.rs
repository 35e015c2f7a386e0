//! HTML pages: a head with styles and scripts, navigation, text with links in
//! it, lists of neighbours, a footer. A page's bytes depend only on the seed,
//! the port, the host whose content it is, and the slot.

use crate::hash::{Stream, mix};
use crate::host::{Charset, Host, Quoting, salt};
use crate::href::{Base, folder_of};
use crate::links::{Link, Place};
use crate::path::write_number;
use crate::slot::{COPY, Slot};
use crate::web::Web;

const MEAN_SIZE: f64 = 20_000.0;
const MAX_SIZE: f64 = 400_000.0;
/// Spread of the logarithm of sizes.
const SIGMA: f64 = 0.9;

/// What stands around a paragraph. Half of a page is such markup: real pages
/// of 8 to 45 KB shrink to 1/3.6 with zstd level 1, running text to 1/2.1.
const BLOCK_BEGINS: &str = "<section class=\"block block--text\" data-block=\"text\" data-id=\"";
const BLOCK_TEXT: &str = "\">\n<div class=\"block__inner grid grid--12 grid--gap\">\n\
    <div class=\"block__column column column--8 column--offset-2\">\n<p class=\"text text--body\">";
const BLOCK_ENDS: &str = "</p>\n</div>\n</div>\n<div class=\"block__tools tools\">\n\
    <button type=\"button\" class=\"tools__button button button--small\" \
    aria-label=\"share\">Share</button>\n\
    <button type=\"button\" class=\"tools__button button button--small\" \
    aria-label=\"print\">Print</button>\n</div>\n</section>\n";

/// Buffers that are worth keeping from page to page.
#[derive(Default)]
pub struct Desk {
    links: Vec<Link>,
    own_path: Vec<u8>,
    path: Vec<u8>,
}

/// A log-normal size. The normal deviate is a sum of eight uniform ones.
fn target_size(r: u64) -> usize {
    let sum: u64 = [r, crate::hash::scramble(r)]
        .iter()
        .flat_map(|bits| (0..4).map(move |part| bits >> (16 * part) & 0xffff))
        .sum();
    let deviate = (sum as f64 / 65_536.0 - 4.0) / (8.0f64 / 12.0).sqrt();
    let size = MEAN_SIZE * (SIGMA * deviate - SIGMA * SIGMA / 2.0).exp();
    size.min(MAX_SIZE) as usize
}

struct Page<'a> {
    web: &'a Web,
    base: Base<'a>,
    path: &'a mut Vec<u8>,
    chance: Stream,
    out: &'a mut Vec<u8>,
    windows_1252: bool,
    /// End of a tag that has no content.
    void: &'static str,
}

impl Web {
    /// Write a page of the tree, a private or an unlinked page.
    pub(crate) fn write_html(&self, host: &Host, slot: Slot, desk: &mut Desk, out: &mut Vec<u8>) {
        let Desk {
            links,
            own_path,
            path,
        } = desk;
        links.clear();
        self.links(host, slot, &mut |link| links.push(link));
        own_path.clear();
        self.write_path(host, slot, own_path);
        let copied = match slot {
            Slot::Page(page) => COPY.number(page).is_some(),
            _ => false,
        };
        let id = mix(self.seed, salt::TEXT, host.content.into(), slot.key());
        let has_base = !copied && !host.xhtml && id.is_multiple_of(64);
        let mut page = Page {
            web: self,
            base: Base {
                host,
                folder: if has_base { b"/" } else { folder_of(own_path) },
                rooted: copied,
            },
            path,
            chance: Stream::new(id),
            out,
            windows_1252: host.charset.is_windows_1252(),
            void: if host.xhtml { " />" } else { ">" },
        };
        let target = target_size(id);
        // Links may take a page over its size, rarely by more than this.
        page.out.reserve(target + 8 * 1024);
        page.head(own_path, has_base, copied);
        page.navigation(links);
        page.text(links, target);
        page.end(links, id);
    }
}

impl Page<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn word(&mut self) {
        let word = self.web.vocabulary.word(self.chance.next());
        self.out.extend_from_slice(word);
    }

    fn phrase(&mut self) {
        let phrase = self.web.vocabulary.phrase(self.chance.next());
        self.out.extend_from_slice(phrase);
    }

    /// A tag that refers to one of a few numbered files.
    fn file(&mut self, before: &str, files: u64, after: &str) {
        self.put(before);
        let number = self.chance.below(files);
        write_number(number, self.out);
        self.put(after);
    }

    fn head(&mut self, own_path: &[u8], has_base: bool, copied: bool) {
        let (xhtml, charset, void) = (self.base.host.xhtml, self.base.host.charset, self.void);
        if xhtml {
            let encoding = if self.windows_1252 {
                "windows-1252"
            } else {
                "UTF-8"
            };
            self.put("<?xml version=\"1.0\" encoding=\"");
            self.put(encoding);
            self.put("\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" ");
            self.put("\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">\n");
            self.put("<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n");
        } else {
            self.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
        }
        match charset {
            Charset::Utf8InHeader | Charset::Utf8InMeta => self.put("<meta charset=\"utf-8\""),
            Charset::Windows1252InHeader => {}
            Charset::Windows1252InMeta => self.put(
                "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1252\"",
            ),
        }
        if charset != Charset::Windows1252InHeader {
            self.put(void);
        }
        if has_base {
            self.put("\n<base href=\"/\">");
        }
        self.put("\n<title>");
        self.phrase();
        self.put(" - ");
        crate::name::write_site(self.base.host.content, self.web.seed, self.out);
        self.put("</title>\n<meta name=\"description\" content=\"");
        self.phrase();
        self.put(", ");
        self.phrase();
        self.put("\"");
        self.put(void);
        self.put("\n<meta name=\"viewport\" content=\"width=device-width\"");
        self.put(void);
        self.file("\n<link rel=\"stylesheet\" href=\"/static/s", 8, ".css\"");
        self.put(void);
        if copied {
            self.put("\n<link rel=\"canonical\" href=\"");
            self.out.extend_from_slice(own_path);
            self.put("\"");
            self.put(void);
        }
        self.file("\n<script src=\"/static/app", 4, ".js\"></script>\n");
        if !xhtml {
            // Not links, although they look like some.
            self.put("<script>\nwindow.settings = {menu: \"<a href='/trap/script'>menu</a>\", ");
            self.put("theme: \"");
            self.word();
            self.put("\", delay: 250};\n</script>\n<!-- <a href=\"/trap/comment\">old</a> -->\n");
        }
        self.put("</head>\n");
    }

    fn navigation(&mut self, links: &[Link]) {
        self.put("<body class=\"");
        self.word();
        self.file("\">\n<header>\n<img src=\"/img/", 64, ".png\" alt=\"logo\"");
        self.put(self.void);
        self.put("\n<nav class=\"menu\">\n<ul>\n");
        for link in links.iter().filter(|link| link.place == Place::Nav) {
            self.item(link);
        }
        self.put("</ul>\n</nav>\n<form action=\"/trap/form\" method=\"get\"><p>");
        self.put("<input type=\"text\" name=\"q\"");
        self.put(self.void);
        self.put("</p></form>\n</header>\n<p class=\"crumbs\">");
        for link in links.iter().filter(|link| link.place == Place::Crumbs) {
            self.anchor(link);
            self.put(" / ");
        }
        self.put("</p>\n");
    }

    /// Paragraphs until the page is as long as it should be, and the links of
    /// the text spread evenly among them.
    fn text(&mut self, links: &[Link], target: usize) {
        self.put("<main>\n<article>\n<h1>");
        self.phrase();
        self.put("</h1>\n");
        let in_text = || links.iter().filter(|link| link.place == Place::Body);
        let beside = links.iter().filter(|link| link.place == Place::Aside);
        // What the links and the rest will take, by what they take on average.
        let rest = 500 + 140 * in_text().count() + 90 * beside.clone().count();
        let start = self.out.len();
        let room = target.saturating_sub(start + rest);
        let share = room / (in_text().count() + 1);
        for (position, link) in in_text().enumerate() {
            // Links take their part as they come, so the mark moves with them.
            let mark = start + share * (position + 1) + 140 * position;
            self.paragraphs(mark);
            self.put("<p>");
            self.phrase();
            self.put(" ");
            self.anchor(link);
            self.put(" ");
            self.phrase();
            self.put(".</p>\n");
        }
        let end = target.saturating_sub(500 + 90 * beside.clone().count());
        self.paragraphs(end);
        self.put("</article>\n<aside>\n<h2>");
        self.phrase();
        self.put("</h2>\n<ul>\n");
        for link in beside {
            self.item(link);
        }
        self.put("</ul>\n</aside>\n</main>\n");
    }

    fn paragraphs(&mut self, until: usize) {
        while self.out.len() < until {
            let r = self.chance.next();
            self.put(BLOCK_BEGINS);
            write_number(r % 1000, self.out);
            self.put(BLOCK_TEXT);
            let text = self.web.vocabulary.paragraph(r, self.windows_1252);
            self.out.extend_from_slice(text);
            self.put(BLOCK_ENDS);
            if r.is_multiple_of(8) {
                self.put("<h2>");
                self.phrase();
                self.put("</h2>\n");
            }
        }
    }

    fn end(&mut self, links: &[Link], id: u64) {
        self.put("<footer>\n<p>");
        for link in links.iter().filter(|link| link.place == Place::Footer) {
            self.anchor(link);
            self.put(" | ");
        }
        self.put("<a href=\"mailto:office@example.test\">write to us</a> | ");
        self.put("<a href=\"javascript:void(0)\">print</a></p>\n<p class=\"id\">");
        // No two slots have the same id, so no two have the same bytes.
        write_number(id, self.out);
        self.put("</p>\n</footer>\n</body>\n</html>\n");
    }

    fn item(&mut self, link: &Link) {
        self.put("<li>");
        self.anchor(link);
        self.put("</li>\n");
    }

    fn anchor(&mut self, link: &Link) {
        let quoting = if self.base.host.xhtml {
            Quoting::Double
        } else {
            self.base.host.quoting
        };
        let (open, close) = match quoting {
            Quoting::Double => ("<a href=\"", "\""),
            Quoting::Single => ("<a class='l' href='", "'"),
            Quoting::Unquoted => ("<a href=", ""),
            Quoting::UpperCase => ("<A TITLE=\"a > b\" HREF = \"", "\""),
        };
        self.put(open);
        self.web.write_href(&self.base, link, self.path, self.out);
        self.put(close);
        if link.nofollow {
            self.put(" rel=\"nofollow\"");
        }
        self.put(">");
        self.phrase();
        self.put("</a>");
    }
}
