//! The robots.txt files of the web and what they mean for the crawler.
//!
//! Only the private pages of a host fall under rules, except on closed hosts.
//! What is forbidden is written down here a second time, as a mask over the
//! four forms of private paths, so that the truth does not depend on a
//! matcher; a test holds the two against each other.

use crate::host::Host;
use crate::slot::Slot;
use crate::web::Web;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// No file: 404.
    Absent,
    /// A file that forbids nothing.
    Welcome,
    Plain,
    /// A longer `Allow` inside a `Disallow`.
    Opening,
    Wildcard,
    /// Closed to all but named crawlers.
    Named,
    Closed,
}

impl Rules {
    pub fn pick(r: u64) -> Rules {
        match r % 32 {
            0..16 => Rules::Plain,
            16..21 => Rules::Opening,
            21..24 => Rules::Wildcard,
            24..26 => Rules::Named,
            26..29 => Rules::Absent,
            29..31 => Rules::Welcome,
            _ => Rules::Closed,
        }
    }

    /// The rules as they are written, without `Sitemap`.
    fn text(self) -> Option<&'static str> {
        Some(match self {
            Rules::Absent => return None,
            Rules::Welcome => "# Everybody is welcome.\nUser-agent: *\nDisallow:\n",
            Rules::Plain => "User-agent: *\nDisallow: /private/\nDisallow: /search\n",
            Rules::Opening => {
                "User-agent: otherbot\nDisallow: /\n\n\
                 User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*?q=\n"
            }
            Rules::Wildcard => {
                "user-agent: *\r\ndisallow: /private/*.html$   # pages only\r\n\
                 disallow: /search?q=*\r\n"
            }
            Rules::Named => {
                "User-agent: *\nDisallow: /\n\n\
                 User-agent: otherbot\nUser-Agent: Rhumb\nDisallow: /private/notes/\n"
            }
            Rules::Closed => "User-agent: *\nDisallow: /\n",
        })
    }

    /// Whether the crawler that calls itself `rhumb` may visit a slot.
    pub fn allow(self, slot: Slot) -> bool {
        let forbidden = match self {
            Rules::Absent | Rules::Welcome => [false; 4],
            Rules::Plain => [true; 4],
            Rules::Opening => [false, true, true, true],
            Rules::Wildcard => [true, true, false, true],
            Rules::Named => [false, false, true, false],
            Rules::Closed => return false,
        };
        match slot {
            Slot::Private(number) => !forbidden[(number % 4) as usize],
            _ => true,
        }
    }
}

impl Web {
    /// Write the host's robots.txt, if it has one.
    pub(crate) fn write_robots(&self, host: &Host, out: &mut Vec<u8>) -> bool {
        let Some(text) = host.rules.text() else {
            return false;
        };
        out.extend_from_slice(text.as_bytes());
        if host.has_sitemap {
            out.extend_from_slice(b"\nSitemap: ");
            self.write_origin(host.rank, out);
            out.extend_from_slice(b"/sitemap.xml\n");
        }
        true
    }
}
