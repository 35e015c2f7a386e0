//! From the tokens of an HTML document to what the page says.

use std::borrow::Cow;

use crate::Options;
use crate::attributes::Attribute;
use crate::collapse::{Collapse, collapsed};
use crate::link::LinkKind;
use crate::names::Name;
use crate::references::attribute_value;
use crate::refresh::refresh_target;
use crate::scanner::{Scanner, Token};
use crate::srcset::candidates;

const MAX_TITLE: usize = 1024;
const MAX_DESCRIPTION: usize = 4096;
const MAX_REL: usize = 256;
const MAX_LANGUAGE: usize = 64;
const MAX_META_ROBOTS: usize = 16;
const MAX_META_ROBOTS_VALUE: usize = 1024;

/// A link not yet resolved: the base may come later in the document.
pub(crate) struct Reference<'a> {
    pub(crate) kind: LinkKind,
    pub(crate) text: Cow<'a, str>,
    pub(crate) rel: String,
    pub(crate) anchor: String,
}

/// What an HTML document says, before anything is resolved.
pub(crate) struct Document<'a> {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) references: Vec<Reference<'a>>,
    pub(crate) references_dropped: usize,
    pub(crate) base: Option<Cow<'a, str>>,
    pub(crate) meta_robots: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) language: Option<String>,
}

pub(crate) fn read<'a>(text: &'a str, xml: bool, options: &Options) -> Document<'a> {
    let mut reader = Reader {
        scanner: Scanner::new(text, xml),
        options,
        text: Collapse::new(if options.text { options.max_text } else { 0 }),
        anchor: Collapse::new(options.max_anchor),
        anchored: None,
        templates: 0,
        document: Document {
            title: None,
            text: String::new(),
            references: Vec::new(),
            references_dropped: 0,
            base: None,
            meta_robots: Vec::new(),
            description: None,
            language: None,
        },
    };
    reader.read();
    reader.close_anchor();
    Document {
        text: reader.text.into_string(),
        ..reader.document
    }
}

struct Reader<'a, 'o> {
    scanner: Scanner<'a>,
    options: &'o Options,
    text: Collapse,
    anchor: Collapse,
    /// The `a` that is open: its place among the references.
    anchored: Option<usize>,
    /// How many `template` elements are open: nothing in them is on the page.
    templates: usize,
    document: Document<'a>,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self) {
        while let Some(token) = self.scanner.next() {
            match token {
                Token::End(Name::Template) => self.templates = self.templates.saturating_sub(1),
                Token::Start {
                    name: Name::Template,
                    foreign: false,
                } => self.templates += 1,
                _ if self.templates > 0 => {}
                Token::Text(text) => self.character_data(text, Collapse::push),
                Token::Verbatim(text) => self.character_data(text, Collapse::push_verbatim),
                Token::Raw(Name::Title, text) => self.title(text),
                Token::Raw(Name::Xmp | Name::PlainText, text) => {
                    self.character_data(text, Collapse::push_verbatim);
                }
                Token::Raw(..) => {}
                Token::Start { name, foreign } => self.start(name, foreign),
                Token::End(name) => self.end(name),
            }
        }
    }

    fn character_data(&mut self, text: &str, push: fn(&mut Collapse, &str)) {
        if self.scanner.inside_svg() {
            return;
        }
        if !self.text.is_full() {
            push(&mut self.text, text);
        }
        if self.anchored.is_some() && !self.anchor.is_full() {
            push(&mut self.anchor, text);
        }
    }

    fn title(&mut self, text: &str) {
        if self.document.title.is_none() {
            let mut title = Collapse::new(MAX_TITLE);
            title.push(text);
            self.document.title = Some(title.into_string()).filter(|title| !title.is_empty());
        }
    }

    fn end(&mut self, name: Name) {
        if name == Name::A {
            self.close_anchor();
        }
        self.break_line(name);
    }

    fn break_line(&mut self, name: Name) {
        if name.breaks_line() {
            self.text.line();
            self.anchor.space();
        }
    }

    fn close_anchor(&mut self) {
        if let Some(at) = self.anchored.take() {
            self.document.references[at].anchor = self.anchor.take();
        }
    }

    fn start(&mut self, name: Name, foreign: bool) {
        self.break_line(name);
        match name {
            Name::A => {
                self.close_anchor();
                let known = self.document.references.len();
                self.href(LinkKind::A);
                if self.document.references.len() > known {
                    self.anchored = Some(known);
                }
            }
            _ if foreign => self.href(LinkKind::Other),
            Name::Area => self.href(LinkKind::Area),
            Name::Base => self.base(),
            Name::Link => self.link(),
            Name::Meta => self.meta(),
            Name::Html => self.language(),
            Name::Iframe => self.source(LinkKind::Iframe, Attribute::Src, Attribute::Title),
            Name::Frame => self.source(LinkKind::Frame, Attribute::Src, Attribute::Title),
            Name::Img | Name::Image => self.image(),
            _ if !self.options.resources => self.href(LinkKind::Other),
            Name::Input => self.input(),
            Name::Script => self.source(LinkKind::Script, Attribute::Src, Attribute::Title),
            Name::Embed => self.source(LinkKind::Embed, Attribute::Src, Attribute::Title),
            Name::Object => self.source(LinkKind::Object, Attribute::Data, Attribute::Title),
            Name::Audio | Name::Track | Name::Source | Name::Video => self.media(),
            _ => self.href(LinkKind::Other),
        }
    }

    fn value(&self, attribute: Attribute) -> Option<Cow<'a, str>> {
        self.scanner.attribute(attribute).map(attribute_value)
    }

    fn rel(&self) -> String {
        self.value(Attribute::Rel)
            .map_or(String::new(), |rel| rel_words(&rel))
    }

    fn described(&self, attribute: Attribute) -> String {
        self.value(attribute).map_or(String::new(), |text| {
            collapsed(&text, self.options.max_anchor)
        })
    }

    fn is_full(&mut self) -> bool {
        let full = self.document.references.len() >= self.options.max_links;
        if full {
            self.document.references_dropped += 1;
        }
        full
    }

    fn push(&mut self, kind: LinkKind, text: Cow<'a, str>, rel: String, anchor: String) {
        self.document.references.push(Reference {
            kind,
            text,
            rel,
            anchor,
        });
    }

    fn href(&mut self, kind: LinkKind) {
        let href = self
            .scanner
            .attribute(Attribute::Href)
            .or_else(|| self.scanner.attribute(Attribute::XlinkHref));
        let Some(href) = href else { return };
        if self.is_full() {
            return;
        }
        let anchor = match kind {
            LinkKind::Area => self.described(Attribute::Alt),
            LinkKind::Other | LinkKind::Link | LinkKind::Canonical => {
                self.described(Attribute::Title)
            }
            _ => String::new(),
        };
        let rel = self.rel();
        self.push(kind, attribute_value(href), rel, anchor);
    }

    fn source(&mut self, kind: LinkKind, place: Attribute, description: Attribute) {
        // An empty `src` is no address, where an empty `href` is the page's own.
        let Some(text) = self.value(place).filter(|text| !text.is_empty()) else {
            return;
        };
        if !self.is_full() {
            let anchor = self.described(description);
            self.push(kind, text, String::new(), anchor);
        }
    }

    fn base(&mut self) {
        if self.document.base.is_none() {
            self.document.base = self.value(Attribute::Href);
        }
    }

    fn link(&mut self) {
        let canonical = self
            .value(Attribute::Rel)
            .is_some_and(|rel| is_canonical(&rel));
        self.href(if canonical {
            LinkKind::Canonical
        } else {
            LinkKind::Link
        });
        self.srcset(Attribute::ImageSrcset);
    }

    fn image(&mut self) {
        if let Some(alt) = self.scanner.attribute(Attribute::Alt)
            && self.anchored.is_some()
        {
            self.anchor.space();
            self.anchor.push_verbatim(&attribute_value(alt));
            self.anchor.space();
        }
        if self.options.resources {
            self.source(LinkKind::Img, Attribute::Src, Attribute::Alt);
            self.srcset(Attribute::Srcset);
        }
    }

    fn input(&mut self) {
        let is_image = self
            .value(Attribute::Type)
            .is_some_and(|kind| kind.eq_ignore_ascii_case("image"));
        if is_image {
            self.source(LinkKind::Img, Attribute::Src, Attribute::Alt);
        }
    }

    fn media(&mut self) {
        self.source(LinkKind::Media, Attribute::Src, Attribute::Title);
        self.source(LinkKind::Media, Attribute::Poster, Attribute::Title);
        self.srcset(Attribute::Srcset);
    }

    fn srcset(&mut self, place: Attribute) {
        if !self.options.resources {
            return;
        }
        let Some(srcset) = self.value(place) else {
            return;
        };
        for candidate in candidates(&srcset) {
            if !self.is_full() {
                let text = Cow::Owned(candidate.to_owned());
                self.push(LinkKind::Srcset, text, String::new(), String::new());
            }
        }
    }

    fn meta(&mut self) {
        let Some(content) = self.value(Attribute::Content) else {
            return;
        };
        let name = self.value(Attribute::Name).unwrap_or_default();
        let name = name.trim_ascii();
        let to_us = !name.is_empty() && name.eq_ignore_ascii_case(&self.options.agent);
        if to_us || name.eq_ignore_ascii_case("robots") {
            if self.document.meta_robots.len() < MAX_META_ROBOTS {
                let value = collapsed(&content, MAX_META_ROBOTS_VALUE);
                self.document.meta_robots.push(value);
            }
        } else if name.eq_ignore_ascii_case("description") && self.document.description.is_none() {
            let description = collapsed(&content, MAX_DESCRIPTION);
            self.document.description = Some(description).filter(|text| !text.is_empty());
        }
        let pragma = self.value(Attribute::HttpEquiv).unwrap_or_default();
        if pragma.eq_ignore_ascii_case("refresh")
            && let Some(target) = refresh_target(&content)
            && !self.is_full()
        {
            let text = Cow::Owned(target.to_owned());
            self.push(LinkKind::Refresh, text, String::new(), String::new());
        }
    }

    fn language(&mut self) {
        if self.document.language.is_none() {
            self.document.language = self
                .value(Attribute::Lang)
                .or_else(|| self.value(Attribute::XmlLang))
                .map(|language| collapsed(&language, MAX_LANGUAGE))
                .filter(|language| !language.is_empty());
        }
    }
}

/// The words of a `rel`, in lower case, one space between them.
pub(crate) fn rel_words(rel: &str) -> String {
    let mut words = String::new();
    for word in rel.split_ascii_whitespace() {
        if words.len() + word.len() > MAX_REL {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words.make_ascii_lowercase();
    words
}

pub(crate) fn is_canonical(rel: &str) -> bool {
    rel.split_ascii_whitespace()
        .any(|word| word.eq_ignore_ascii_case("canonical"))
}
