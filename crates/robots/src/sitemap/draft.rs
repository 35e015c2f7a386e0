//! An entry while it is read.

use rhumb_url::Refusal;

use super::date;
use super::entry::{Alternate, ChangeFrequency, Entry, SitemapKind};
use super::output::Output;
use super::place::is_absolute;
use super::problem::ProblemKind;
use super::vocabulary::Field;

/// More text than this is no URL, no date and no number.
const MAX_TEXT: usize = 16 << 10;

/// The text of an element, gathered from pieces.
#[derive(Default)]
pub(super) struct Gathered {
    text: String,
    /// There was more than can be meant.
    overlong: bool,
    /// A reference in it could not be followed.
    has_hole: bool,
}

impl Gathered {
    pub(super) fn add(&mut self, piece: &str) {
        // White space at the beginning is not worth keeping.
        let piece = match self.text.is_empty() {
            true => trimmed_start(piece),
            false => piece,
        };
        match self.text.len() + piece.len() <= MAX_TEXT {
            true => self.text.push_str(piece),
            false => self.overlong = true,
        }
    }

    pub(super) fn add_hole(&mut self) {
        self.has_hole = true;
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.overlong = false;
        self.has_hole = false;
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text().is_empty() && !self.overlong && !self.has_hole
    }

    fn text(&self) -> &str {
        self.text.trim_matches(is_blank)
    }

    /// The text, if it is all that stood there.
    fn whole(&self) -> Option<&str> {
        (!self.overlong && !self.has_hole).then(|| self.text())
    }
}

/// White space and marks that are not seen.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

fn trimmed_start(text: &str) -> &str {
    text.trim_start_matches(is_blank)
}

#[derive(Default)]
pub(super) struct Draft {
    line: u64,
    /// The URL as it is written.
    location: Option<String>,
    identity: Option<String>,
    last_modified: Option<u64>,
    published: Option<u64>,
    change_frequency: Option<ChangeFrequency>,
    priority: Option<f32>,
    alternates: Vec<Alternate>,
    /// Its URL is there, but cannot be known.
    given_up: bool,
    /// That it has no URL need not be told.
    excused: bool,
}

impl Draft {
    pub(super) fn begin(line: u64) -> Draft {
        Draft {
            line,
            ..Draft::default()
        }
    }

    /// The file ends inside of the URL: what there is of it is another one.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// The file ends inside of the entry: its URL may come later.
    pub(super) fn excuse(&mut self) {
        self.excused = true;
    }

    /// Its URL has been met, known or not.
    pub(super) fn is_located(&self) -> bool {
        self.location.is_some() || self.given_up
    }

    /// The first URL counts.
    pub(super) fn locate(&mut self, url: &str) {
        let url = url.trim_matches(is_blank);
        if !url.is_empty() && url.len() <= MAX_TEXT && self.location.is_none() {
            self.location = Some(url.to_owned());
        }
    }

    pub(super) fn translate(&mut self, language: &str, url: &str, output: &mut Output<'_>) {
        let url = url.trim_matches(is_blank);
        if self.alternates.len() >= output.settings.max_alternates {
            let kind = ProblemKind::TooManyAlternates;
            return output.problems.note(kind, self.line, "");
        }
        match output.place.resolve(url) {
            // No language has a name this long.
            Ok(url) if language.len() <= 64 => self.alternates.push(Alternate {
                language: language.to_owned(),
                url,
            }),
            Ok(_) => {}
            Err(why) => output.refuse(url, &why, self.line),
        }
    }

    pub(super) fn set(
        &mut self,
        field: Field,
        gathered: &Gathered,
        line: u64,
        output: &mut Output<'_>,
    ) {
        if gathered.is_blank() {
            return;
        }
        let Some(text) = gathered.whole() else {
            if field == Field::Location {
                let why = match gathered.overlong {
                    true => "too long",
                    false => "a reference in it is not followed",
                };
                let why = Refusal::Malformed(why.to_owned());
                output.refuse(gathered.text(), &why, line);
                self.give_up();
            }
            return;
        };
        let wrong = match field {
            Field::Location => {
                self.locate(text);
                None
            }
            Field::Identity => {
                self.identity.get_or_insert_with(|| text.to_owned());
                None
            }
            Field::LastModified => {
                let read = date::read(text);
                self.last_modified = self.last_modified.or(read);
                read.is_none().then_some(ProblemKind::BadDate)
            }
            Field::Published => {
                let read = date::read(text);
                self.published = self.published.or(read);
                read.is_none().then_some(ProblemKind::BadDate)
            }
            Field::ChangeFrequency => {
                let read = ChangeFrequency::read(text);
                self.change_frequency = self.change_frequency.or(read);
                read.is_none().then_some(ProblemKind::BadFrequency)
            }
            Field::Priority => {
                let read = priority(text);
                self.priority = self.priority.or(read);
                read.is_none().then_some(ProblemKind::BadPriority)
            }
        };
        if let Some(kind) = wrong {
            output.problems.note(kind, line, text);
        }
    }

    /// Make an entry of it. `bare` is the text that stood in it outside of all
    /// elements: some authors forget the one around the URL.
    pub(super) fn give(self, kind: SitemapKind, bare: &Gathered, output: &mut Output<'_>) {
        if self.given_up {
            return;
        }
        let identity = self.identity.as_deref().filter(|text| is_absolute(text));
        let bare = match kind {
            SitemapKind::Index | SitemapKind::UrlSet => bare.whole(),
            _ => None,
        };
        let written = self.location.as_deref().or(identity).or(bare);
        let Some(written) = written.filter(|text| !text.is_empty()) else {
            if !self.excused {
                output.problems.note(ProblemKind::NoUrl, self.line, "");
            }
            return;
        };
        let url = match output.place.resolve(written) {
            Ok(url) => url,
            Err(why) => return output.refuse(written, &why, self.line),
        };
        let entry = Entry {
            url,
            last_modified: self.last_modified.or(self.published),
            change_frequency: self.change_frequency,
            priority: self.priority,
            alternates: self.alternates,
        };
        output.give(kind, entry, self.line);
    }
}

/// Some write a comma for the point.
fn priority(text: &str) -> Option<f32> {
    let number: f32 = text.replace(',', ".").parse().ok()?;
    (0.0..=1.0).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_from_zero_to_one() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("1.0", Some(1.0)),
            ("0,5", Some(0.5)),
            (".25", Some(0.25)),
            ("1.1", None),
            ("-0.1", None),
            ("NaN", None),
            ("high", None),
        ] {
            assert_eq!(priority(text), expected, "{text}");
        }
    }

    #[test]
    fn text_is_gathered_up_to_a_limit() {
        let mut gathered = Gathered::default();
        gathered.add(" \u{a0}\n");
        assert!(gathered.is_blank());
        gathered.add("\u{feff}http://a.test/");
        gathered.add("x \u{2000}");
        assert_eq!(gathered.whole(), Some("http://a.test/x"));
        gathered.add(&"x".repeat(MAX_TEXT));
        assert_eq!(gathered.whole(), None);
        gathered.clear();
        assert!(gathered.is_blank());
    }
}
