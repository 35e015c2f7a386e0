//! Sitemaps: which URLs a site wants to be visited.
//!
//! Bytes go in, entries come out one by one, so that a file of 50,000 costs no
//! more memory than one of five. XML sitemaps and indexes of them, RSS, Atom
//! and plain lists of URLs are told apart by what is in them, not by name or
//! type; gzip is unpacked. Files are written by strangers and often broken: by
//! default whatever can be read is given, together with what was wrong, and
//! [`Strictness`] asks for less patience.

mod attributes;
mod charset;
mod date;
mod draft;
mod entry;
mod output;
mod place;
mod problem;
mod reading;
mod source;
mod tags;
mod text;
mod vocabulary;
mod xml;

use std::ops::ControlFlow;

use rhumb_url::Url;

pub use entry::{Alternate, ChangeFrequency, Entry, SitemapKind};
pub use problem::{NotASitemap, Problem, ProblemKind};

use output::Output;
use source::Source;

/// What is read of a file, and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SitemapSettings {
    /// How many bytes count, once unpacked; what is beyond is not read.
    pub max_bytes: u64,
    /// How many entries are given.
    pub max_entries: usize,
    /// How many translations of one entry are kept.
    pub max_alternates: usize,
    pub strict: Strictness,
}

impl Default for SitemapSettings {
    /// The limits that the protocol sets to whoever writes a sitemap.
    fn default() -> SitemapSettings {
        SitemapSettings {
            max_bytes: 50 << 20,
            max_entries: 50_000,
            max_alternates: 200,
            strict: Strictness::LENIENT,
        }
    }
}

/// What is not forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strictness {
    /// Pages must lie on the sitemap's host and in its folder or below it;
    /// others are left out. What an index names may be anywhere.
    pub location: bool,
    /// A file that is not sound gives nothing at all.
    pub syntax: bool,
    /// A file in another namespace than the standard's gives nothing at all.
    pub namespace: bool,
}

impl Strictness {
    pub const LENIENT: Strictness = Strictness {
        location: false,
        syntax: false,
        namespace: false,
    };
    pub const STRICT: Strictness = Strictness {
        location: true,
        syntax: true,
        namespace: true,
    };
}

/// What was read, when all entries have been given.
#[derive(Debug, Clone, PartialEq)]
pub struct Sitemap {
    pub kind: SitemapKind,
    /// How many entries were given.
    pub entries: usize,
    /// There was more, beyond a limit.
    pub truncated: bool,
    /// Each kind of problem once, in the order they were met.
    pub problems: Vec<Problem>,
}

impl Sitemap {
    /// Read a sitemap that was found at a URL, and hand each entry to `take`
    /// until that has had enough.
    ///
    /// The entries of an index are sitemaps, those of all others pages. With
    /// `strict.syntax` the file is read twice, so that one which turns out
    /// unsound at its end has given nothing before.
    pub fn read(
        bytes: &[u8],
        at: &Url,
        content_type: Option<&str>,
        settings: &SitemapSettings,
        mut take: impl FnMut(SitemapKind, Entry) -> ControlFlow<()>,
    ) -> Result<Sitemap, NotASitemap> {
        if settings.strict.syntax {
            read_once(bytes, at, content_type, settings, &mut |_, _| {
                ControlFlow::Continue(())
            })?;
        }
        read_once(bytes, at, content_type, settings, &mut take)
    }
}

fn read_once(
    bytes: &[u8],
    at: &Url,
    content_type: Option<&str>,
    settings: &SitemapSettings,
    take: &mut dyn FnMut(SitemapKind, Entry) -> ControlFlow<()>,
) -> Result<Sitemap, NotASitemap> {
    let mut source = Source::open(bytes, content_type, settings.max_bytes);
    let mut output = Output::new(at, settings, take);
    let read = match source.first_sign() {
        None => Err(NotASitemap::Empty),
        Some(b'<') => xml::read(&mut source, &mut output),
        Some(_) => text::read(&mut source, &mut output),
    };
    source.tell(&mut output.problems);
    if settings.strict.syntax
        && let Some(problem) = output.problems.unsound()
    {
        return Err(NotASitemap::Broken(problem.clone()));
    }
    let kind = read?;
    Ok(Sitemap {
        kind,
        entries: output.entries,
        truncated: output.truncated || source.was_cut(),
        problems: output.problems.into_list(),
    })
}
