//! The attributes of one tag.
//!
//! Only the attributes the crawl asks for are kept, in one slot each, so that
//! a tag with a million attributes costs no more memory than one with two.

use std::ops::Range;

use memchr::memchr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Attribute {
    Alt,
    Charset,
    Content,
    Data,
    Href,
    HttpEquiv,
    ImageSrcset,
    Lang,
    Name,
    Poster,
    Rel,
    Src,
    Srcset,
    Title,
    Type,
    XlinkHref,
    XmlLang,
}

const SLOTS: usize = Attribute::XmlLang as usize + 1;

impl Attribute {
    fn of(name: &[u8]) -> Option<Attribute> {
        let (known, attribute): (&[u8], Attribute) = match (name.len(), name[0] | 0x20) {
            (3, b'a') => (b"alt", Attribute::Alt),
            (3, b's') => (b"src", Attribute::Src),
            (3, b'r') => (b"rel", Attribute::Rel),
            (4, b'h') => (b"href", Attribute::Href),
            (4, b'n') => (b"name", Attribute::Name),
            (4, b'l') => (b"lang", Attribute::Lang),
            (4, b'd') => (b"data", Attribute::Data),
            (4, b't') => (b"type", Attribute::Type),
            (5, b't') => (b"title", Attribute::Title),
            (6, b's') => (b"srcset", Attribute::Srcset),
            (6, b'p') => (b"poster", Attribute::Poster),
            (7, b'c') if name[1] | 0x20 == b'o' => (b"content", Attribute::Content),
            (7, b'c') => (b"charset", Attribute::Charset),
            (8, b'x') => (b"xml:lang", Attribute::XmlLang),
            (10, b'h') => (b"http-equiv", Attribute::HttpEquiv),
            (10, b'x') => (b"xlink:href", Attribute::XlinkHref),
            (11, b'i') => (b"imagesrcset", Attribute::ImageSrcset),
            _ => return None,
        };
        name.eq_ignore_ascii_case(known).then_some(attribute)
    }
}

/// The values of one tag's attributes, as places in the document.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    present: u32,
    values: [Range<usize>; SLOTS],
}

impl Attributes {
    pub(crate) fn get(&self, attribute: Attribute) -> Option<Range<usize>> {
        let slot = attribute as usize;
        (self.present & (1 << slot) != 0).then(|| self.values[slot].clone())
    }

    /// Read the attributes from `at`, just behind the tag's name, to the end
    /// of the tag. `None` if the document ends first: then there is no tag.
    pub(crate) fn read(&mut self, bytes: &[u8], mut at: usize) -> Option<TagEnd> {
        self.present = 0;
        loop {
            match next_attribute(bytes, at)? {
                Next::End(end) => return Some(end),
                Next::Attribute { name, value, after } => {
                    if let Some(attribute) = Attribute::of(&bytes[name]) {
                        let slot = attribute as usize;
                        // Of two attributes with the same name the first counts.
                        if self.present & (1 << slot) == 0 {
                            self.present |= 1 << slot;
                            self.values[slot] = value;
                        }
                    }
                    at = after;
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TagEnd {
    /// Just behind the `>`.
    pub(crate) after: usize,
    pub(crate) self_closing: bool,
}

enum Next {
    Attribute {
        name: Range<usize>,
        value: Range<usize>,
        after: usize,
    },
    End(TagEnd),
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}

fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|b| is_space(*b)) {
        at += 1;
    }
    at
}

/// The tokenizer's states from "before attribute name" on.
#[inline]
fn next_attribute(bytes: &[u8], mut at: usize) -> Option<Next> {
    let mut self_closing = false;
    loop {
        match *bytes.get(at)? {
            b'>' => {
                return Some(Next::End(TagEnd {
                    after: at + 1,
                    self_closing,
                }));
            }
            b'/' => self_closing = true,
            b if is_space(b) => self_closing = false,
            _ => break,
        }
        at += 1;
    }
    let name_start = at;
    // A `=` here is the first letter of a name.
    at += 1;
    loop {
        match *bytes.get(at)? {
            b'=' | b'>' | b'/' => break,
            b if is_space(b) => break,
            _ => at += 1,
        }
    }
    let name = name_start..at;
    let mut after = skip_spaces(bytes, at);
    if bytes.get(after)? != &b'=' {
        return Some(Next::Attribute {
            name,
            value: at..at,
            after,
        });
    }
    after = skip_spaces(bytes, after + 1);
    let (value, after) = match *bytes.get(after)? {
        quote @ (b'"' | b'\'') => {
            let start = after + 1;
            let end = start + memchr(quote, &bytes[start..])?;
            (start..end, end + 1)
        }
        b'>' => (after..after, after),
        _ => {
            let start = after;
            let mut end = after + 1;
            loop {
                match *bytes.get(end)? {
                    b'>' => break,
                    b if is_space(b) => break,
                    _ => end += 1,
                }
            }
            (start..end, end)
        }
    };
    Some(Next::Attribute { name, value, after })
}
