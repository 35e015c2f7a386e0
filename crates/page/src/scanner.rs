//! The tokens of a document, by the rules of the WHATWG tokenizer.

use memchr::{memchr, memmem};

use crate::attributes::{Attribute, Attributes, is_space};
use crate::foreign::Foreign;
use crate::names::Name;
use crate::raw_text::{raw_text_end, script_end};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Character data with its references not yet decoded.
    Text(&'a str),
    /// Character data in which `&` means `&`.
    Verbatim(&'a str),
    /// The content of a `title`, `script` and the like.
    Raw(Name, &'a str),
    /// A start tag; its attributes are asked from the scanner.
    Start {
        name: Name,
        foreign: bool,
    },
    End(Name),
}

/// Reads forward only, each byte a bounded number of times.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    attributes: Attributes,
    foreign: Foreign,
    /// The element just opened whose content is not markup.
    raw: Option<Name>,
    /// The element that the last start tag opened and closed.
    closed: Option<Name>,
    xml: bool,
}

impl<'a> Scanner<'a> {
    /// With `xml`, every element can close itself and CDATA is everywhere.
    pub(crate) fn new(text: &'a str, xml: bool) -> Scanner<'a> {
        Scanner {
            text,
            bytes: text.as_bytes(),
            at: 0,
            attributes: Attributes::default(),
            foreign: Foreign::default(),
            raw: None,
            closed: None,
            xml,
        }
    }

    /// The value of an attribute of the last start tag, not decoded.
    pub(crate) fn attribute(&self, attribute: Attribute) -> Option<&'a str> {
        self.attributes
            .get(attribute)
            .map(|place| &self.text[place])
    }

    /// Whether text here is part of a drawing.
    pub(crate) fn inside_svg(&self) -> bool {
        self.foreign.inside_svg()
    }

    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.closed.take() {
            return Some(Token::End(name));
        }
        if let Some(name) = self.raw.take()
            && let Some(token) = self.raw_text(name)
        {
            return Some(token);
        }
        let mut start = self.at;
        let mut from = start;
        loop {
            let Some(found) = memchr(b'<', &self.bytes[from..]) else {
                self.at = self.bytes.len();
                let text = &self.text[start..];
                return (!text.is_empty()).then_some(Token::Text(text));
            };
            let open = from + found;
            let next = self.bytes.get(open + 1).copied().unwrap_or(0);
            let is_end = next == b'/';
            let is_markup = next.is_ascii_alphabetic()
                || matches!(next, b'!' | b'?')
                || (is_end && open + 2 < self.bytes.len());
            if !is_markup {
                from = open + 1;
                continue;
            }
            if open > start {
                self.at = open;
                return Some(Token::Text(&self.text[start..open]));
            }
            if next.is_ascii_alphabetic() {
                return self.start_tag(open);
            }
            if is_end && self.bytes[open + 2].is_ascii_alphabetic() {
                return self.end_tag(open);
            }
            if next == b'!'
                && (self.xml || self.foreign.inside())
                && self.bytes[open..].starts_with(b"<![CDATA[")
            {
                return Some(self.cdata(open));
            }
            start = self.after_declaration(open);
            from = start;
        }
    }

    fn raw_text(&mut self, name: Name) -> Option<Token<'a>> {
        let end = match name {
            Name::PlainText => self.bytes.len(),
            Name::Script => script_end(self.bytes, self.at),
            _ => raw_text_end(self.bytes, self.at, name.raw_end()?),
        };
        let content = &self.text[self.at..end];
        self.at = end;
        (!content.is_empty()).then_some(Token::Raw(name, content))
    }

    fn name_end(&self, start: usize) -> usize {
        self.bytes[start..]
            .iter()
            .position(|b| is_space(*b) || matches!(b, b'/' | b'>'))
            .map_or(self.bytes.len(), |length| start + length)
    }

    fn start_tag(&mut self, open: usize) -> Option<Token<'a>> {
        let name_end = self.name_end(open + 1);
        let name = Name::of(&self.bytes[open + 1..name_end]);
        let Some(end) = self.attributes.read(self.bytes, name_end) else {
            self.at = self.bytes.len();
            return None;
        };
        self.at = end.after;
        let foreign = self.foreign.start(name, end.self_closing);
        if end.self_closing && (self.xml || (foreign && name == Name::A)) {
            self.closed = Some(name);
        } else if !foreign && name.raw_end().is_some() {
            self.raw = Some(name);
        }
        Some(Token::Start { name, foreign })
    }

    fn end_tag(&mut self, open: usize) -> Option<Token<'a>> {
        let name_end = self.name_end(open + 2);
        let name = Name::of(&self.bytes[open + 2..name_end]);
        let Some(end) = self.attributes.read(self.bytes, name_end) else {
            self.at = self.bytes.len();
            return None;
        };
        self.at = end.after;
        self.foreign.end(name);
        Some(Token::End(name))
    }

    fn cdata(&mut self, open: usize) -> Token<'a> {
        let start = open + b"<![CDATA[".len();
        let end = memmem::find(&self.bytes[start..], b"]]>");
        let content_end = end.map_or(self.bytes.len(), |length| start + length);
        self.at = end.map_or(self.bytes.len(), |length| start + length + 3);
        Token::Verbatim(&self.text[start..content_end])
    }

    /// Behind a comment, doctype, processing instruction or nonsense.
    fn after_declaration(&self, open: usize) -> usize {
        if self.bytes[open..].starts_with(b"<!--") {
            return comment_end(self.bytes, open + 4);
        }
        memchr(b'>', &self.bytes[open..]).map_or(self.bytes.len(), |length| open + length + 1)
    }
}

/// Behind the comment whose content begins at `start`.
pub(crate) fn comment_end(bytes: &[u8], start: usize) -> usize {
    let content = &bytes[start..];
    if content.starts_with(b">") {
        return start + 1;
    }
    if content.starts_with(b"->") {
        return start + 2;
    }
    let mut at = start;
    while let Some(found) = memmem::find(&bytes[at..], b"--") {
        at += found + 2;
        while bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        match &bytes[at..] {
            [b'>', ..] => return at + 1,
            [b'!', b'>', ..] => return at + 2,
            _ => {}
        }
    }
    bytes.len()
}
