//! What was wrong with a sitemap.

use std::fmt;

/// How much of a text is repeated, in characters.
const SHOWN: usize = 120;

/// Why a file gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotASitemap {
    #[error("nothing is in it")]
    Empty,
    #[error("neither XML nor a list of URLs: it begins with `{0}`")]
    Unknown(String),
    #[error("no sitemap has a root element `{0}`")]
    Root(String),
    #[error("it has no element at all")]
    NoElement,
    #[error("its namespace `{0}` is not the standard's")]
    Namespace(String),
    #[error("{0}")]
    Broken(Problem),
}

/// One kind of problem, however often it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub count: u64,
    /// Where it was met first, counted from one in the unpacked text.
    pub line: u64,
    /// What was there, or a part of it.
    pub example: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind.told())?;
        if !self.example.is_empty() {
            write!(f, ": {}", self.example)?;
        }
        match self.count {
            0 | 1 => Ok(()),
            count => write!(f, " (and {} more)", count - 1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The gzip stream is damaged, ends early, or has something behind it.
    Gzip,
    /// Bytes that do not belong to the encoding.
    Encoding,
    /// Tags that do not match, a bare `&`, an undeclared reference.
    Markup,
    /// The file ends inside an element.
    EndsEarly,
    /// Elements inside elements beyond a limit.
    TooDeep,
    /// A text or a tag so long that reading ended there.
    TooLong,
    TooManyBytes,
    TooManyEntries,
    TooManyAlternates,
    /// A namespace that is not the standard's, or none.
    Namespace,
    /// A reference that the file declares itself; those are never followed.
    Reference,
    /// An entry without a URL.
    NoUrl,
    /// A URL that the crawl cannot hold.
    BadUrl,
    /// A page outside the sitemap's host and folder; told only where it matters.
    Outside,
    BadDate,
    BadFrequency,
    BadPriority,
}

impl ProblemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::Gzip => "gzip",
            ProblemKind::Encoding => "encoding",
            ProblemKind::Markup => "markup",
            ProblemKind::EndsEarly => "ends_early",
            ProblemKind::TooDeep => "too_deep",
            ProblemKind::TooLong => "too_long",
            ProblemKind::TooManyBytes => "too_many_bytes",
            ProblemKind::TooManyEntries => "too_many_entries",
            ProblemKind::TooManyAlternates => "too_many_alternates",
            ProblemKind::Namespace => "namespace",
            ProblemKind::Reference => "reference",
            ProblemKind::NoUrl => "no_url",
            ProblemKind::BadUrl => "bad_url",
            ProblemKind::Outside => "outside",
            ProblemKind::BadDate => "bad_date",
            ProblemKind::BadFrequency => "bad_frequency",
            ProblemKind::BadPriority => "bad_priority",
        }
    }

    fn told(self) -> &'static str {
        match self {
            ProblemKind::Gzip => "the gzip stream is damaged or ends early",
            ProblemKind::Encoding => "bytes that are not of the file's encoding",
            ProblemKind::Markup => "the markup is not well-formed",
            ProblemKind::EndsEarly => "the file ends inside an element",
            ProblemKind::TooDeep => "elements are nested too deeply",
            ProblemKind::TooLong => "too long to be read on",
            ProblemKind::TooManyBytes => "the file is longer than the limit",
            ProblemKind::TooManyEntries => "there are more entries than the limit",
            ProblemKind::TooManyAlternates => "an entry has more translations than the limit",
            ProblemKind::Namespace => "not in the standard's namespace",
            ProblemKind::Reference => "a declared reference is not followed",
            ProblemKind::NoUrl => "an entry without a URL",
            ProblemKind::BadUrl => "not a URL that can be visited",
            ProblemKind::Outside => "outside the sitemap's host and folder",
            ProblemKind::BadDate => "not a date",
            ProblemKind::BadFrequency => "not a change frequency",
            ProblemKind::BadPriority => "not a priority from 0 to 1",
        }
    }

    /// The file itself is broken, whatever its entries say.
    fn is_unsound(self) -> bool {
        matches!(
            self,
            ProblemKind::Gzip
                | ProblemKind::Encoding
                | ProblemKind::Markup
                | ProblemKind::EndsEarly
        )
    }
}

/// The problems met so far: a few kinds, each with its first example.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn note(&mut self, kind: ProblemKind, line: u64, example: &str) {
        self.note_with(kind, line, || shown(example));
    }

    /// Only the first example is made: there can be one in every line.
    pub(super) fn note_with(
        &mut self,
        kind: ProblemKind,
        line: u64,
        example: impl FnOnce() -> String,
    ) {
        match self.list.iter_mut().find(|known| known.kind == kind) {
            Some(known) => known.count += 1,
            None => self.list.push(Problem {
                kind,
                count: 1,
                line,
                example: example(),
            }),
        }
    }

    pub(super) fn unsound(&self) -> Option<&Problem> {
        self.list.iter().find(|problem| problem.kind.is_unsound())
    }

    pub(super) fn into_list(self) -> Vec<Problem> {
        self.list
    }
}

/// The beginning of a text on one line.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let mut shown: String = text
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
