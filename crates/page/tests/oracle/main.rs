//! The scanner against html5ever's tokenizer, on hand-written documents, on
//! all small damages of them, and on random heaps of their pieces.
//!
//! The oracle is the tokenizer: states, comments, raw text, attributes and
//! references are html5ever's. What a tree builder would tell the tokenizer
//! (which elements hold raw text, where SVG and MathML are) this test says
//! itself, by name, without a tree. Outside are therefore: elements the tree
//! builder would move, copy or drop, and white space in anchors.

mod documents;
mod sink;

use std::cell::RefCell;

use documents::{PIECES, TRICKY};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};
use rhumb_page::{LinkKind, Options, Source, Target, extract};
use rhumb_url::Url;
use sink::{Oracle, Seen};

/// Text without white space, and without what stands for a NUL.
fn solid(text: &str) -> String {
    let gap = |c: char| c.is_ascii_whitespace() || matches!(c, '\u{a0}' | '\u{fffd}' | '\0');
    text.chars().filter(|c| !gap(*c)).collect()
}

type Line = (LinkKind, Result<String, String>, String, String);

fn by_html5ever(page: &Url, document: &str) -> (Vec<Line>, String) {
    let tokenizer = Tokenizer::new(
        Oracle(RefCell::new(Seen::default())),
        TokenizerOpts::default(),
    );
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(document));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let seen = tokenizer.sink.0.into_inner();
    let base = seen.base.and_then(|base| page.join(&base).ok());
    let base = base.unwrap_or_else(|| page.clone());
    let resolve = |(kind, reference, rel, anchor): (_, String, _, String)| {
        let target = base.join(&reference);
        let target = target
            .map(|url| url.to_string())
            .map_err(|why| why.to_string());
        let anchor = if kind == LinkKind::A {
            solid(&anchor)
        } else {
            String::new()
        };
        (kind, target, rel, anchor)
    };
    (
        seen.links.into_iter().map(resolve).collect(),
        solid(&seen.title),
    )
}

fn by_us(page: &Url, document: &str) -> (Vec<Line>, String) {
    let source = Source {
        url: page,
        body: document.as_bytes(),
        content_type: Some("text/html; charset=utf-8"),
        link_headers: &[],
        refresh_header: None,
    };
    let options = Options {
        max_anchor: usize::MAX,
        ..Options::default()
    };
    let page = extract(&source, &options);
    let mut links = Vec::new();
    for link in page.links {
        match link.kind {
            LinkKind::Srcset | LinkKind::Refresh | LinkKind::Media => continue,
            LinkKind::Embed | LinkKind::Object => continue,
            _ => {}
        }
        let target = match link.target {
            Target::Url(url) => Ok(url.to_string()),
            Target::Refused { why, .. } => Err(why.to_string()),
        };
        let anchor = if link.kind == LinkKind::A {
            solid(&link.anchor)
        } else {
            String::new()
        };
        links.push((link.kind, target, link.rel, anchor));
    }
    (links, solid(&page.title.unwrap_or_default()))
}

fn agree(page: &Url, document: &str) -> usize {
    let ours = by_us(page, document);
    assert_eq!(ours, by_html5ever(page, document), "in {document:?}");
    ours.0.len()
}

fn page() -> Url {
    Url::parse("http://example.org/dir/page?q").expect("a URL")
}

#[test]
fn tricky_documents() {
    let page = page();
    let links: usize = TRICKY.iter().map(|document| agree(&page, document)).sum();
    assert!(links > 60, "only {links} links");
}

#[test]
fn truncated_and_flipped_documents() {
    const FLIPS: &[u8] = b"<>/\"'=-!&; \0aS]?#\xff";
    let page = page();
    let mut documents = 0;
    for document in TRICKY {
        for at in 0..document.len() {
            let bytes = document.as_bytes();
            agree(&page, &String::from_utf8_lossy(&bytes[..at]));
            let mut flipped = bytes.to_vec();
            for byte in FLIPS {
                flipped[at] = *byte;
                agree(&page, &String::from_utf8_lossy(&flipped));
            }
            let without = [&bytes[..at], &bytes[at + 1..]].concat();
            agree(&page, &String::from_utf8_lossy(&without));
            documents += FLIPS.len() + 2;
        }
    }
    println!("{documents} damaged documents");
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn random_heaps_of_pieces() {
    let page = page();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut links = 0;
    for _ in 0..30_000 {
        let mut document = String::new();
        for _ in 0..2 + dice.below(24) {
            document.push_str(PIECES[dice.below(PIECES.len())]);
        }
        links += agree(&page, &document);
    }
    println!("{links} links in 30,000 heaps");
    assert!(links > 10_000, "only {links} links");
}
