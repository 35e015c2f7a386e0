//! Where entries go, and when it is enough.

use std::ops::ControlFlow;

use rhumb_url::{Refusal, Url};

use super::SitemapSettings;
use super::entry::{Entry, SitemapKind};
use super::place::Place;
use super::problem::{ProblemKind, Problems, shown};

pub(super) struct Output<'a> {
    pub(super) settings: &'a SitemapSettings,
    pub(super) place: Place<'a>,
    pub(super) problems: Problems,
    pub(super) entries: usize,
    pub(super) truncated: bool,
    /// Nothing more is wanted.
    pub(super) done: bool,
    take: &'a mut dyn FnMut(SitemapKind, Entry) -> ControlFlow<()>,
}

impl<'a> Output<'a> {
    pub(super) fn new(
        at: &'a Url,
        settings: &'a SitemapSettings,
        take: &'a mut dyn FnMut(SitemapKind, Entry) -> ControlFlow<()>,
    ) -> Output<'a> {
        Output {
            settings,
            place: Place::of(at),
            problems: Problems::default(),
            entries: 0,
            truncated: false,
            done: false,
            take,
        }
    }

    pub(super) fn give(&mut self, kind: SitemapKind, entry: Entry, line: u64) {
        let strict = self.settings.strict.location && kind != SitemapKind::Index;
        if strict && !self.place.covers(&entry.url) {
            let url = entry.url.as_str();
            return self.problems.note(ProblemKind::Outside, line, url);
        }
        if self.done {
            return;
        }
        if self.entries >= self.settings.max_entries {
            self.problems.note(ProblemKind::TooManyEntries, line, "");
            (self.done, self.truncated) = (true, true);
            return;
        }
        self.entries += 1;
        self.done = (self.take)(kind, entry).is_break();
    }

    pub(super) fn refuse(&mut self, text: &str, why: &Refusal, line: u64) {
        self.problems.note_with(ProblemKind::BadUrl, line, || {
            format!("`{}`: {why}", shown(text))
        });
    }
}
