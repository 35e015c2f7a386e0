//! The truth about a web: the sets of URLs that a complete crawl from the
//! seed URL must find, in the crawler's normal form.

use std::convert::Infallible;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::slot::{COPY, Slot, UNLINKED};
use crate::survey::{Class, Survey};
use crate::web::Web;

/// What the crawler `rhumb` finds from `seed_url` by links and redirects when
/// it obeys robots rules and does not follow links with `rel=nofollow`.
///
/// Each reachable URL is in exactly one of `pages`, `redirects`, `missing`,
/// `unwanted` and `forbidden`. References to styles, scripts and images and
/// robots.txt itself are in none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    pub seed_url: String,
    /// Hosts of the web, whether reachable or not.
    pub hosts: u32,
    /// 200 with a wanted type: HTML, plain text, JSON, feeds; copies too.
    pub pages: Vec<String>,
    pub redirects: Vec<String>,
    /// 404.
    pub missing: Vec<String>,
    /// 200 with a type that is not wanted; the path does not give it away.
    pub unwanted: Vec<String>,
    /// Linked or redirected to, but robots rules forbid the visit.
    pub forbidden: Vec<String>,
    /// `<a href>` elements with an http URL on the HTML pages among `pages`,
    /// counted as often as they stand there, with and without `rel=nofollow`.
    pub links: u64,
    /// Members of `pages` with the same bytes as another member, which comes
    /// second and is itself a copy of none: copies within a host, and all
    /// pages of a mirror.
    pub duplicates: Vec<(String, String)>,
    /// Pages on reachable hosts that are in a sitemap but behind no link that
    /// is followed.
    pub sitemap_only: Vec<String>,
}

const LISTS: [(&str, Class); 5] = [
    ("pages", Class::Page),
    ("redirects", Class::Redirect),
    ("missing", Class::Missing),
    ("unwanted", Class::Unwanted),
    ("forbidden", Class::Forbidden),
];

impl Web {
    /// The whole truth in memory: for webs that tests can hold.
    pub fn truth(&self) -> Truth {
        let survey = Survey::new(self);
        let mut lists = LISTS.map(|_| Vec::new());
        let mut duplicates = Vec::new();
        let url = |host: &Host, slot| self.text(|out| self.write_url(host, slot, out));
        let Ok(()) = survey.each(|host, slot, class| {
            if let Some((original, of)) = self.duplicate(host, slot, class) {
                duplicates.push((url(host, slot), url(&original, of)));
            }
            let list = LISTS.iter().position(|(_, own)| *own == class);
            lists[list.unwrap_or(0)].push(url(host, slot));
            Ok::<(), Infallible>(())
        });
        let mut sitemap_only = Vec::new();
        let Ok(()) = self.each_sitemap_only(&survey, |host, slot| {
            sitemap_only.push(url(host, slot));
            Ok::<(), Infallible>(())
        });
        let [pages, redirects, missing, unwanted, forbidden] = lists;
        Truth {
            seed_url: self.seed_url(),
            hosts: self.hosts,
            pages,
            redirects,
            missing,
            unwanted,
            forbidden,
            links: survey.links,
            duplicates,
            sitemap_only,
        }
    }

    /// Write the same as JSON while walking, one URL to a line: it takes two
    /// bits of memory for each URL, however large the web is.
    pub fn write_truth(&self, out: &mut impl Write) -> io::Result<()> {
        let survey = Survey::new(self);
        writeln!(out, "{{\n\"seed_url\": \"{}\",", self.seed_url())?;
        writeln!(out, "\"hosts\": {},", self.hosts)?;
        writeln!(out, "\"links\": {},", survey.links)?;
        // URLs are made of letters, digits and a few marks that JSON leaves
        // alone, so they need no escaping.
        let mut line = Vec::new();
        for (name, wanted) in LISTS {
            let mut list = List::open(name, out)?;
            survey.each(|host, slot, class| {
                if class != wanted {
                    return Ok(());
                }
                line.clear();
                line.push(b'"');
                self.write_url(host, slot, &mut line);
                line.push(b'"');
                list.add(&line)
            })?;
            list.close(",")?;
        }
        let mut list = List::open("duplicates", out)?;
        survey.each(|host, slot, class| {
            let Some((original, of)) = self.duplicate(host, slot, class) else {
                return Ok(());
            };
            line.clear();
            line.extend_from_slice(b"[\"");
            self.write_url(host, slot, &mut line);
            line.extend_from_slice(b"\", \"");
            self.write_url(&original, of, &mut line);
            line.extend_from_slice(b"\"]");
            list.add(&line)
        })?;
        list.close(",")?;
        let mut list = List::open("sitemap_only", out)?;
        self.each_sitemap_only(&survey, |host, slot| {
            line.clear();
            line.push(b'"');
            self.write_url(host, slot, &mut line);
            line.push(b'"');
            list.add(&line)
        })?;
        list.close("")?;
        writeln!(out, "}}")?;
        out.flush()
    }

    /// The URL whose bytes a URL repeats.
    fn duplicate(&self, host: &Host, slot: Slot, class: Class) -> Option<(Host, Slot)> {
        if class != Class::Page {
            return None;
        }
        let of = match slot {
            Slot::Copy(n) => Slot::Page(COPY.page(n)),
            slot => slot,
        };
        (host.rank != host.content || of != slot).then(|| (self.host(host.content), of))
    }

    fn each_sitemap_only<E>(
        &self,
        survey: &Survey<'_>,
        mut visit: impl FnMut(&Host, Slot) -> Result<(), E>,
    ) -> Result<(), E> {
        for rank in 0..self.hosts {
            let host = self.host(rank);
            if host.has_sitemap && survey.enters(&host) {
                for number in 0..UNLINKED.count(host.pages()) {
                    visit(&host, Slot::Unlinked(number))?;
                }
            }
        }
        Ok(())
    }
}

/// A JSON array that is written as it is found.
struct List<'a, W> {
    out: &'a mut W,
    empty: bool,
}

impl<'a, W: Write> List<'a, W> {
    fn open(name: &str, out: &'a mut W) -> io::Result<List<'a, W>> {
        write!(out, "\"{name}\": [")?;
        Ok(List { out, empty: true })
    }

    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        self.out
            .write_all(if self.empty { b"\n" } else { b",\n" })?;
        self.empty = false;
        self.out.write_all(line)
    }

    fn close(self, after: &str) -> io::Result<()> {
        writeln!(self.out, "]{after}")
    }
}
