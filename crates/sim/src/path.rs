//! The path of every slot, and the slot of every path.

use crate::hash::mix;
use crate::host::{Host, Naming, salt};
use crate::slot::{COPY, Slot};
use crate::web::Web;

/// Children of a page in its host's tree.
pub const BRANCHES: u64 = 8;

/// A page's parent in the tree; the home page is its own.
pub fn parent(page: u64) -> u64 {
    page.saturating_sub(1) / BRANCHES
}

/// The pages from the home page's child down to the page itself.
/// A tree of 2^48 pages is 16 levels deep.
fn lineage(page: u64) -> ([u64; 20], usize) {
    let (mut line, mut depth, mut at) = ([0; 20], 0, page);
    while at != 0 && depth < line.len() {
        line[depth] = at;
        depth += 1;
        at = parent(at);
    }
    line[..depth].reverse();
    (line, depth)
}

pub fn write_number(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// What the URL of a document says about its type, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    Text,
    Json,
    Feed,
    /// A type that only the response header gives away.
    Media,
}

impl Web {
    pub(crate) fn document_kind(&self, host: &Host, number: u64) -> DocumentKind {
        match mix(self.seed, salt::DOCUMENT, host.content.into(), number) % 8 {
            0 | 1 => DocumentKind::Text,
            2 | 3 => DocumentKind::Json,
            4 => DocumentKind::Feed,
            _ => DocumentKind::Media,
        }
    }

    /// Write path and query as they stand in a request line.
    pub(crate) fn write_path(&self, host: &Host, slot: Slot, out: &mut Vec<u8>) {
        let mut numbered = |before: &str, number: u64, after: &str| {
            out.extend_from_slice(before.as_bytes());
            write_number(number, out);
            out.extend_from_slice(after.as_bytes());
        };
        match slot {
            Slot::Page(page) => self.write_page_path(host, page, out),
            Slot::Copy(n) if n % 2 == 1 => numbered("/copy/", n, ""),
            Slot::Copy(n) => {
                self.write_page_path(host, COPY.page(n), out);
                let query = host.naming == Naming::Query && COPY.page(n) != 0;
                out.extend_from_slice(if query { b"&ref=nav" } else { b"?ref=nav" });
            }
            Slot::Document(n) => match self.document_kind(host, n) {
                DocumentKind::Text => numbered("/doc/", n, ".txt"),
                DocumentKind::Json => numbered("/data/", n, ".json"),
                DocumentKind::Feed => numbered("/feed/", n, ".xml"),
                DocumentKind::Media => numbered("/media/", n, ""),
            },
            Slot::Redirect(n) => numbered("/go/", n, ""),
            Slot::Loop(n) => numbered("/loop/", n + 1, ""),
            Slot::Missing(n) => numbered("/missing/", n, ""),
            Slot::Private(n) => match n % 4 {
                0 => numbered("/private/open/", n, ".html"),
                1 => numbered("/private/", n, ".html"),
                2 => numbered("/private/notes/", n, ""),
                _ => numbered("/search?q=", n, ""),
            },
            Slot::Unlinked(n) => numbered("/archive/", n, ".html"),
        }
    }

    fn write_page_path(&self, host: &Host, page: u64, out: &mut Vec<u8>) {
        if page == 0 {
            out.push(b'/');
            return;
        }
        match host.naming {
            Naming::Flat => {
                out.extend_from_slice(b"/p/");
                write_number(page, out);
                out.extend_from_slice(b".html");
            }
            Naming::Query => {
                out.extend_from_slice(b"/view?id=");
                write_number(page, out);
            }
            // The first two levels are folders; what is deeper are files in
            // the folder of the second.
            Naming::Folders => {
                let (line, depth) = lineage(page);
                for &folder in &line[..depth.min(2)] {
                    out.push(b'/');
                    self.write_slug(host, folder, out);
                }
                out.push(b'/');
                if depth > 2 {
                    self.write_slug(host, page, out);
                    out.extend_from_slice(b".html");
                }
            }
        }
    }

    fn write_slug(&self, host: &Host, page: u64, out: &mut Vec<u8>) {
        let r = mix(self.seed, salt::WORDS, host.content.into(), page);
        out.extend_from_slice(self.vocabulary.word(r));
        out.push(b'-');
        write_number(page, out);
    }

    /// The slot a path leads to: guessed from the number in it, and right only
    /// if the slot's own path is the same.
    pub(crate) fn slot_of(&self, host: &Host, target: &str) -> Option<Slot> {
        let slot = guess(host.naming, target)?;
        let mut own = Vec::with_capacity(target.len());
        if host.layout.holds(slot) {
            self.write_path(host, slot, &mut own);
        }
        (own == target.as_bytes()).then_some(slot)
    }

    pub(crate) fn write_origin(&self, rank: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"http://");
        self.write_authority(rank, out);
    }

    pub(crate) fn write_authority(&self, rank: u32, out: &mut Vec<u8>) {
        crate::name::write_name(rank, self.seed, out);
        if self.port != 80 {
            out.push(b':');
            write_number(self.port.into(), out);
        }
    }

    /// The URL in normal form.
    pub(crate) fn write_url(&self, host: &Host, slot: Slot, out: &mut Vec<u8>) {
        self.write_origin(host.rank, out);
        self.write_path(host, slot, out);
    }
}

fn guess(naming: Naming, target: &str) -> Option<Slot> {
    if let Some(original) = target
        .strip_suffix("?ref=nav")
        .or_else(|| target.strip_suffix("&ref=nav"))
    {
        let page = guess_page(naming, original)?;
        return COPY.number(page).map(Slot::Copy);
    }
    let rest = target.strip_prefix('/')?;
    let (folder, name) = rest.split_once(['/', '=']).unwrap_or(("", rest));
    let number = || last_number(name);
    match folder {
        "copy" => number().map(Slot::Copy),
        "doc" | "data" | "feed" | "media" => number().map(Slot::Document),
        "go" => number().map(Slot::Redirect),
        "loop" => number()?.checked_sub(1).map(Slot::Loop),
        "missing" => number().map(Slot::Missing),
        "private" | "search?q" => number().map(Slot::Private),
        "archive" => number().map(Slot::Unlinked),
        _ => guess_page(naming, target).map(Slot::Page),
    }
}

fn guess_page(naming: Naming, target: &str) -> Option<u64> {
    if target == "/" {
        return Some(0);
    }
    match naming {
        Naming::Query => last_number(target.strip_prefix("/view?id=")?),
        Naming::Flat | Naming::Folders => last_number(target),
    }
}

/// The number at the end, before `.html` and the like or a slash.
fn last_number(text: &str) -> Option<u64> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    text[start..end].parse().ok()
}
