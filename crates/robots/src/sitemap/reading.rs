//! What the tags and texts of an XML file mean.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart};

use super::attributes::{attribute, declared_namespace};
use super::draft::{Draft, Gathered};
use super::entry::SitemapKind;
use super::output::Output;
use super::problem::{NotASitemap, ProblemKind, shown};
use super::tags::{Role, Tags};
use super::vocabulary::{Field, field, is_container, is_entry, is_foreign_date};
use super::vocabulary::{kind_of_root, namespace};

pub(super) struct Reading<'o, 'a> {
    pub(super) output: &'o mut Output<'a>,
    pub(super) kind: Option<SitemapKind>,
    tags: Tags,
    draft: Draft,
    /// The name of the open entry's element, as written.
    entry_name: String,
    /// The text of the open field.
    field: Gathered,
    /// The text of the open entry outside of its elements.
    bare: Gathered,
    pub(super) has_doctype: bool,
    /// The last event was text, which may go on.
    pub(super) after_text: bool,
    pub(super) line: u64,
}

impl<'o, 'a> Reading<'o, 'a> {
    pub(super) fn new(output: &'o mut Output<'a>) -> Reading<'o, 'a> {
        Reading {
            output,
            kind: None,
            tags: Tags::default(),
            draft: Draft::default(),
            entry_name: String::new(),
            field: Gathered::default(),
            bare: Gathered::default(),
            has_doctype: false,
            after_text: false,
            line: 1,
        }
    }

    pub(super) fn note(&mut self, kind: ProblemKind, example: &str) {
        self.output.problems.note(kind, self.line, example);
    }

    pub(super) fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), NotASitemap> {
        self.after_text = false;
        let name = tag.name();
        if name.as_ref().is_empty() {
            // More likely a bare `<` than a tag.
            self.note(ProblemKind::Markup, "a tag without a name");
            return Ok(());
        }
        let role = match self.kind {
            None => self.root(tag)?,
            Some(kind) => {
                if self.tags.is_empty() {
                    self.note(ProblemKind::Markup, "a second root element");
                }
                self.role(kind, tag)
            }
        };
        match role {
            Role::Entry => {
                self.draft = Draft::begin(self.line);
                self.bare.clear();
                self.entry_name.clear();
                self.entry_name.push_str(name.as_ref());
            }
            Role::Field(_) => self.field.clear(),
            Role::Root | Role::Within | Role::Other => {}
        }
        if !self.tags.open(name.as_ref(), role) {
            self.note(ProblemKind::TooDeep, name.as_ref());
        }
        Ok(())
    }

    /// The root decides what the file is.
    fn root(&mut self, tag: &BytesStart<'_>) -> Result<Role, NotASitemap> {
        let (local, prefix) = tag.name().decompose();
        let Some(kind) = kind_of_root(local.as_ref()) else {
            return Err(NotASitemap::Root(shown(tag.name().as_ref())));
        };
        if let Some(expected) = namespace(kind) {
            let prefix = prefix.map_or("", |prefix| prefix.into_inner());
            let given = declared_namespace(tag, prefix).unwrap_or_default();
            if given != expected {
                if self.output.settings.strict.namespace {
                    return Err(NotASitemap::Namespace(shown(&given)));
                }
                self.note(ProblemKind::Namespace, &given);
            }
        }
        self.kind = Some(kind);
        Ok(Role::Root)
    }

    /// What an element means at this place. Missing end tags are made up for
    /// where it is plain that they are missing.
    fn role(&mut self, kind: SitemapKind, tag: &BytesStart<'_>) -> Role {
        let name = tag.name();
        let (local, prefix) = name.decompose();
        let local = local.as_ref();
        let prefix = prefix.map_or("", |prefix| prefix.into_inner());
        loop {
            let role = self.tags.role();
            let again = name.as_ref() == self.entry_name && is_entry(kind, local);
            match role {
                None | Some(Role::Root) => {
                    return if is_entry(kind, local) && !self.is_foreign(tag, prefix) {
                        Role::Entry
                    } else if is_container(kind, local) {
                        Role::Root
                    } else {
                        Role::Other
                    };
                }
                // An entry in an entry: the first one was not closed.
                Some(Role::Entry) if again => {}
                Some(Role::Entry) => return self.part(kind, tag, prefix, local),
                // `<loc><url>…</url></loc>` is met, and means its text.
                Some(Role::Field(_)) if again && self.field.is_blank() => return Role::Within,
                Some(Role::Field(_)) if again || self.is_field(kind, prefix, local) => {}
                Some(Role::Field(_) | Role::Within) => return Role::Within,
                Some(Role::Other) => return Role::Other,
            }
            self.note(ProblemKind::Markup, "an end tag is missing");
            self.close();
        }
    }

    fn is_field(&self, kind: SitemapKind, prefix: &str, local: &str) -> bool {
        field(kind, local).is_some() && prefix == self.entry_prefix()
    }

    fn entry_prefix(&self) -> &str {
        self.entry_name
            .split_once(':')
            .map_or("", |(prefix, _)| prefix)
    }

    /// An element in an entry. Only those in the entry's own vocabulary count:
    /// the `loc` of an image is not that of the page.
    fn part(&mut self, kind: SitemapKind, tag: &BytesStart<'_>, prefix: &str, local: &str) -> Role {
        if is_foreign_date(kind, prefix, local) {
            return Role::Field(Field::Published);
        }
        if local == "link" && kind == SitemapKind::UrlSet {
            self.translation(tag);
        }
        if prefix != self.entry_prefix() || self.is_foreign(tag, prefix) {
            return Role::Other;
        }
        if local == "link" && kind == SitemapKind::Atom {
            let rel = attribute(tag, "rel");
            if rel.is_none_or(|rel| rel.trim().eq_ignore_ascii_case("alternate")) {
                self.draft
                    .locate(&attribute(tag, "href").unwrap_or_default());
            }
        }
        let Some(field) = field(kind, local) else {
            return Role::Other;
        };
        // Some write one entry with many URLs in it, each with its own date.
        let sitemap = matches!(kind, SitemapKind::Index | SitemapKind::UrlSet);
        if field == Field::Location && sitemap && self.draft.is_located() {
            let next = Draft::begin(self.line);
            std::mem::replace(&mut self.draft, next).give(kind, &self.bare, self.output);
        }
        Role::Field(field)
    }

    /// Another namespace, declared on the spot. Patient readers do not mind:
    /// some tools write `xmlns=""` everywhere.
    fn is_foreign(&self, tag: &BytesStart<'_>, prefix: &str) -> bool {
        let strict = self.output.settings.strict.namespace;
        strict
            && self.kind.and_then(namespace).is_some_and(|expected| {
                declared_namespace(tag, prefix).is_some_and(|given| given != expected)
            })
    }

    fn translation(&mut self, tag: &BytesStart<'_>) {
        let rel = attribute(tag, "rel").unwrap_or_default();
        let is_alternate = rel
            .split_ascii_whitespace()
            .any(|word| word.eq_ignore_ascii_case("alternate"));
        let language = attribute(tag, "hreflang");
        if let (true, Some(language), Some(url)) = (is_alternate, language, attribute(tag, "href"))
        {
            self.draft.translate(language.trim(), &url, self.output);
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        self.after_text = false;
        let was_lost = self.tags.is_lost();
        let ended = self.tags.ended_by(name);
        if ended != 1 && !was_lost {
            self.output
                .problems
                .note_with(ProblemKind::Markup, self.line, || {
                    format!("the tags around `</{}>` do not match", shown(name))
                });
        }
        for _ in 0..ended {
            self.close();
        }
    }

    /// Close the innermost element, and see what was in it.
    fn close(&mut self) {
        match (self.tags.close(), self.kind) {
            (Some(Role::Field(field)), _) => {
                self.draft.set(field, &self.field, self.line, self.output);
                self.field.clear();
            }
            (Some(Role::Entry), Some(kind)) => {
                std::mem::take(&mut self.draft).give(kind, &self.bare, self.output);
            }
            _ => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        // The reader hands an ampersand that begins no reference on as text.
        if text.starts_with('&') {
            self.note(ProblemKind::Markup, "a bare `&`");
        }
        self.cdata(text);
    }

    pub(super) fn cdata(&mut self, text: &str) {
        self.after_text = true;
        if self.tags.is_empty() && !text.trim().is_empty() {
            self.note(ProblemKind::Markup, "text outside of the root element");
        }
        if let Some(gathered) = self.gathered() {
            gathered.add(text);
        }
    }

    /// Where text at this place belongs.
    fn gathered(&mut self) -> Option<&mut Gathered> {
        match self.tags.role()? {
            Role::Field(_) | Role::Within => Some(&mut self.field),
            Role::Entry => Some(&mut self.bare),
            Role::Root | Role::Other => None,
        }
    }

    pub(super) fn reference(&mut self, reference: &BytesRef<'_>) {
        self.after_text = true;
        let name: &str = reference;
        let mut spelt = [0; 4];
        let meant = match reference.resolve_char_ref() {
            Ok(Some(c)) => Some(&*c.encode_utf8(&mut spelt)),
            Ok(None) => resolve_xml_entity(name),
            Err(_) => None,
        };
        if let Some(meant) = meant {
            if let Some(gathered) = self.gathered() {
                gathered.add(meant);
            }
            return;
        }
        let is_name = name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '#'));
        if is_name {
            let kind = match self.has_doctype {
                true => ProblemKind::Reference,
                false => ProblemKind::Markup,
            };
            self.output.problems.note_with(kind, self.line, || {
                format!("`&{};` is not known", shown(name))
            });
            if let Some(gathered) = self.gathered() {
                gathered.add_hole();
            }
        } else {
            // `?a=1&b=2;c=3`: a bare ampersand, and a semicolon far behind it.
            self.note(ProblemKind::Markup, "a bare `&`");
            if let Some(gathered) = self.gathered() {
                gathered.add("&");
                gathered.add(name);
                gathered.add(";");
            }
        }
    }

    /// Give what is open at the end of the file. A text that was broken off is
    /// not believed: half a URL is another URL.
    pub(super) fn finish(&mut self, broken_off: bool) {
        if self.tags.is_empty() {
            return;
        }
        // What a limit ended is not the file's fault.
        if !self.output.truncated {
            self.note(ProblemKind::EndsEarly, "");
        }
        if broken_off {
            if let Some(Role::Field(Field::Location) | Role::Within) = self.tags.role() {
                self.draft.give_up();
            }
            self.field.clear();
            self.bare.clear();
        }
        self.draft.excuse();
        while !self.tags.is_empty() {
            self.close();
        }
    }
}
