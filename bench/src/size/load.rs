//! The links of a crawl that never was. Every URL can be computed from the
//! number of its host and its own, so that the load needs next to no memory.

use std::fmt::Write;

use rhumb_url::{Fingerprinter, KeyedUrl, Keyer, Url};

/// Of ten links…
pub const LINKS_PER_PAGE: usize = 10;
/// …two are new…
const NEW_IN_TEN: u64 = 2;
/// …and eight lead to the page's own host.
const OWN_IN_TEN: u64 = 8;

/// In words, for the report.
pub const MIX: &str = "\
10 links a page: 80 % to the page's own host; 20 % new, so that twice as many URLs are known
as wait. Other hosts: half by Zipf's law, half any. Old links: half popular ones (Zipf over
the pages of the host), half any known page of the host. URLs have about 60 bytes.";

const WORDS: [&str; 32] = [
    "harbour",
    "winter",
    "garden",
    "article",
    "news",
    "forum",
    "thread",
    "product",
    "review",
    "travel",
    "city",
    "museum",
    "history",
    "letter",
    "music",
    "report",
    "science",
    "team",
    "station",
    "market",
    "recipe",
    "photo",
    "gallery",
    "index",
    "archive",
    "school",
    "village",
    "library",
    "weather",
    "journal",
    "profile",
    "history-of",
];
const ENDINGS: [&str; 4] = [".com", ".org", ".net", ".de"];
/// The number of a host stands behind this in its name.
const BEFORE_NUMBER: char = '-';

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[derive(Clone)]
pub struct Load {
    random: u64,
    /// How many pages of each host are known.
    known: Vec<u32>,
    keyer: Keyer,
    text: String,
}

impl Load {
    pub fn new(hosts: u32) -> Load {
        Load {
            random: 1,
            known: vec![0; hosts.max(1) as usize],
            keyer: Keyer::new(Fingerprinter::new(7)),
            text: String::new(),
        }
    }

    /// Hosts that have a page.
    pub fn hosts(&self) -> usize {
        self.known.iter().filter(|known| **known > 0).count()
    }

    pub fn any_host(&mut self) -> u32 {
        self.below(self.known.len() as u64) as u32
    }

    /// One that has a page, to be visited.
    pub fn known_host(&mut self) -> u32 {
        loop {
            let host = self.any_host();
            if self.known[host as usize] > 0 {
                return host;
            }
        }
    }

    /// The first page of a host that has none yet.
    pub fn seed(&mut self, host: u32) -> Option<KeyedUrl> {
        let is_first = self.known[host as usize] == 0;
        is_first.then(|| self.new_link(host)).flatten()
    }

    /// The links of a page of this host.
    pub fn page(&mut self, host: u32, links: &mut Vec<KeyedUrl>) {
        for _ in 0..LINKS_PER_PAGE {
            let mut to = host;
            if self.below(10) >= OWN_IN_TEN {
                to = match self.below(2) {
                    0 => self.zipf(self.known.len() as u64) as u32,
                    _ => self.any_host(),
                };
            }
            let is_new = self.below(10) < NEW_IN_TEN;
            let link = match is_new {
                true => self.new_link(to),
                false => self.old_link(to, host),
            };
            links.extend(link);
        }
    }

    fn new_link(&mut self, host: u32) -> Option<KeyedUrl> {
        let page = self.known[host as usize];
        self.known[host as usize] += 1;
        self.url(host, page)
    }

    fn old_link(&mut self, to: u32, own: u32) -> Option<KeyedUrl> {
        let host = match self.known[to as usize] {
            0 => own,
            _ => to,
        };
        let known = u64::from(self.known[host as usize].max(1));
        let page = match self.below(2) {
            0 => self.zipf(known),
            _ => self.below(known),
        };
        self.url(host, page as u32)
    }

    fn url(&mut self, host: u32, page: u32) -> Option<KeyedUrl> {
        let words = mix(u64::from(host) << 32 | u64::from(page));
        let word = |bits: u64| WORDS[bits as usize % WORDS.len()];
        let name = mix(u64::from(host));
        let ending = ENDINGS[(name >> 8) as usize % ENDINGS.len()];
        self.text.clear();
        for part in ["https://www.", word(name), "-"] {
            self.text.push_str(part);
        }
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{host:x}");
        let (folder, first, second) = (word(words >> 5), word(words >> 10), word(words >> 15));
        for part in [ending, "/", folder, "/", first, "-", second, "-"] {
            self.text.push_str(part);
        }
        let _ = write!(self.text, "{page:x}.html");
        let url = Url::from_normal(&self.text).ok()?;
        Some(self.keyer.keyed(url))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix(self.random)) * u128::from(end)) >> 64) as u64
    }

    fn zipf(&mut self, end: u64) -> u64 {
        let uniform = self.below(1 << 53) as f64 / (1u64 << 53) as f64;
        ((end as f64).powf(uniform) as u64).clamp(1, end) - 1
    }
}

/// The number of the host of a URL that a load made.
pub fn host_of(url: &Url) -> Option<u32> {
    let (name, _) = url.name().rsplit_once('.')?;
    let (_, number) = name.rsplit_once(BEFORE_NUMBER)?;
    u32::from_str_radix(number, 16).ok()
}
