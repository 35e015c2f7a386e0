//! What one host is like: its size, how it names its pages, how it encodes
//! and sends them, what its robots.txt says. Computed whenever it is needed.

use crate::hash::{mix, scale};
use crate::robots::Rules;
use crate::slot::Layout;
use crate::web::Web;

/// Hosts below a host in the tree of hosts.
const CHILD_HOSTS: u32 = 16;
/// Child hosts are linked from the first pages of their parent, so that a
/// crawl meets many hosts soon.
const CHILD_LINK_PAGES: u64 = 40;

/// How a host names its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `/harbour-3/maple-30/velvet-244.html`
    Folders,
    /// `/p/244.html`
    Flat,
    /// `/view?id=244`
    Query,
}

/// How a host says what its text is encoded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    Utf8InHeader,
    Utf8InMeta,
    Windows1252InHeader,
    Windows1252InMeta,
}

impl Charset {
    pub fn is_windows_1252(self) -> bool {
        matches!(
            self,
            Charset::Windows1252InHeader | Charset::Windows1252InMeta
        )
    }
}

/// How a host writes the beginning of a link in HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    Double,
    Single,
    Unquoted,
    UpperCase,
}

#[derive(Clone, Copy)]
pub struct Host {
    pub rank: u32,
    /// The host whose content is served: another one's for a mirror.
    pub content: u32,
    /// Whether other hosts serve the same bytes: no page may name its host.
    pub mirrored: bool,
    pub naming: Naming,
    pub charset: Charset,
    pub quoting: Quoting,
    pub xhtml: bool,
    pub chunked: bool,
    pub gzip: bool,
    pub closes: bool,
    pub has_loop: bool,
    pub has_sitemap: bool,
    pub rules: Rules,
    pub layout: Layout,
}

impl Host {
    pub fn pages(&self) -> u64 {
        self.layout.pages()
    }
}

/// Salts of the questions asked about hosts and pages.
pub mod salt {
    pub const TRAITS: u64 = 1;
    pub const SENDING: u64 = 2;
    pub const RULES: u64 = 3;
    pub const CHILD_LINK: u64 = 4;
    pub const LINKS: u64 = 5;
    pub const WORDS: u64 = 6;
    pub const TEXT: u64 = 7;
    pub const DOCUMENT: u64 = 8;
    pub const REDIRECT: u64 = 9;
    pub const LATENCY: u64 = 10;
    pub const VOCABULARY: u64 = 11;
}

impl Web {
    pub(crate) fn host(&self, rank: u32) -> Host {
        let original = self.sizes.mirrored(rank);
        let content = original.unwrap_or(rank);
        let traits = mix(self.seed, salt::TRAITS, content.into(), 0);
        let sending = mix(self.seed, salt::SENDING, rank.into(), 0);
        // The largest host is the plainest: it is where benchmarks start.
        let one_in = |bits: u64, at: u32, n: u64| content > 0 && (bits >> at) % 256 * n / 256 == 0;
        let has_loop = one_in(traits, 0, 6);
        let rules = self.rules(content);
        Host {
            rank,
            content,
            mirrored: original.is_some() || self.sizes.has_mirror(rank),
            naming: match (traits >> 8) % 16 {
                0 | 1 if content > 0 => Naming::Query,
                2..=4 if content > 0 => Naming::Flat,
                _ => Naming::Folders,
            },
            charset: match (traits >> 12) % 32 {
                0 | 1 if content > 0 => Charset::Windows1252InHeader,
                2 | 3 if content > 0 => Charset::Windows1252InMeta,
                4..=9 => Charset::Utf8InMeta,
                _ => Charset::Utf8InHeader,
            },
            quoting: match (traits >> 20) % 16 {
                0 => Quoting::Single,
                1 => Quoting::Unquoted,
                2 => Quoting::UpperCase,
                _ => Quoting::Double,
            },
            xhtml: one_in(traits, 24, 20),
            chunked: one_in(sending, 0, 8),
            gzip: one_in(sending, 8, 24),
            closes: one_in(sending, 16, 16),
            has_loop,
            has_sitemap: !(traits >> 32).is_multiple_of(4) && rules != Rules::Closed,
            rules,
            layout: Layout::new(self.sizes.of(rank), has_loop),
        }
    }

    fn rules(&self, content: u32) -> Rules {
        if content == 0 {
            return Rules::Plain;
        }
        Rules::pick(mix(self.seed, salt::RULES, content.into(), 0))
    }

    /// A host whose pages lead to no other hosts of the tree: what would hang
    /// below it hangs below its parent, so that every host can be reached.
    fn is_barren(&self, rank: u32) -> bool {
        self.sizes.mirrored(rank).is_some() || self.rules(rank) == Rules::Closed
    }

    /// The hosts whose home pages are linked from one page of a host.
    pub(crate) fn child_hosts(&self, host: &Host, page: u64, emit: &mut impl FnMut(u32)) {
        let pages = host.pages().min(CHILD_LINK_PAGES);
        if page < pages {
            self.child_hosts_below(host.content, pages, page, emit);
        }
    }

    fn child_hosts_below(&self, above: u32, pages: u64, page: u64, emit: &mut impl FnMut(u32)) {
        let first = u64::from(above) * u64::from(CHILD_HOSTS) + 1;
        let end = (first + u64::from(CHILD_HOSTS)).min(self.hosts.into());
        for rank in first..end {
            let rank = rank as u32;
            let at = scale(mix(self.seed, salt::CHILD_LINK, rank.into(), 0), pages);
            if at == page {
                emit(rank);
            }
            if self.is_barren(rank) {
                self.child_hosts_below(rank, pages, page, emit);
            }
        }
    }
}
