//! What html5ever's tokens say, by the same rules but written apart.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use rhumb_page::LinkKind;

use crate::solid;

#[derive(Default)]
pub struct Seen {
    /// Kind, reference, rel, anchor.
    pub links: Vec<(LinkKind, String, String, String)>,
    pub base: Option<String>,
    pub title: String,
    in_title: bool,
    title_done: bool,
    anchored: Option<usize>,
    raw: bool,
    templates: usize,
    /// `svg`, `math`, or the element in them that holds HTML.
    foreign: Vec<String>,
}

#[rustfmt::skip]
const BREAK_OUT: &[&str] = &[
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em",
    "embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing",
    "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike",
    "sub", "sup", "table", "tt", "u", "ul", "var",
];

fn holds_html(name: &str, inside: &str) -> bool {
    match inside {
        "svg" => ["foreignobject", "desc", "title"].contains(&name),
        _ => ["mi", "mo", "mn", "ms", "mtext"].contains(&name),
    }
}

impl Seen {
    fn inside(&self) -> Option<&str> {
        let innermost = self.foreign.last()?;
        ["svg", "math"]
            .contains(&innermost.as_str())
            .then_some(innermost)
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let value = |wanted: &str| {
            let found = tag.attrs.iter().find(|a| &*a.name.local == wanted)?;
            Some(found.value.to_string())
        };
        if self.inside().is_some() && BREAK_OUT.contains(&name) {
            while self.inside().is_some() {
                self.foreign.pop();
            }
        }
        let inside = self.inside().map(str::to_owned);
        let enters = match &inside {
            None => ["svg", "math"].contains(&name),
            Some(inside) => inside == name || holds_html(name, inside),
        };
        if enters && !tag.self_closing && self.foreign.len() < 32 {
            self.foreign.push(name.to_owned());
        }
        let foreign = inside.is_some() || ["svg", "math"].contains(&name);
        if name == "template" && !foreign {
            self.templates += 1;
        }
        if self.templates == 0 {
            self.element(name, foreign, &value);
        }
        self.raw = false;
        if foreign && tag.self_closing && name == "a" && self.templates == 0 {
            self.anchored = None;
        }
        if foreign {
            return TokenSinkResult::Continue;
        }
        let state = match name {
            "plaintext" => return TokenSinkResult::Plaintext,
            "title" | "textarea" => RawKind::Rcdata,
            "script" => RawKind::ScriptData,
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => RawKind::Rawtext,
            _ => return TokenSinkResult::Continue,
        };
        self.in_title = name == "title" && !self.title_done && self.templates == 0;
        self.raw = name != "xmp";
        TokenSinkResult::RawData(state)
    }

    fn element(&mut self, name: &str, foreign: bool, value: &dyn Fn(&str) -> Option<String>) {
        let href = value("href").or_else(|| value("xlink:href"));
        let src = value("src").filter(|src| !src.is_empty());
        let rel = value("rel").unwrap_or_default().to_ascii_lowercase();
        let rel = rel.split_ascii_whitespace().collect::<Vec<_>>();
        let (kind, reference) = match name {
            "a" => {
                self.anchored = href.is_some().then_some(self.links.len());
                (LinkKind::A, href)
            }
            _ if foreign => (LinkKind::Other, href),
            "area" => (LinkKind::Area, href),
            "link" if rel.contains(&"canonical") => (LinkKind::Canonical, href),
            "link" => (LinkKind::Link, href),
            "iframe" => (LinkKind::Iframe, src),
            "frame" => (LinkKind::Frame, src),
            "script" => (LinkKind::Script, src),
            "img" | "image" => {
                if let (Some(at), Some(alt)) = (self.anchored, value("alt")) {
                    self.links[at].3.push_str(&alt);
                }
                (LinkKind::Img, src)
            }
            "base" => {
                self.base = self.base.take().or(value("href"));
                return;
            }
            "meta" | "html" | "input" | "embed" | "object" | "audio" | "video" | "track"
            | "source" => return,
            _ => (LinkKind::Other, href),
        };
        if let Some(reference) = reference {
            let rel = match kind {
                LinkKind::Iframe | LinkKind::Frame | LinkKind::Script | LinkKind::Img => {
                    String::new()
                }
                _ => rel.join(" "),
            };
            self.links.push((kind, reference, rel, String::new()));
        }
    }

    fn end(&mut self, name: &str) {
        self.raw = false;
        if self.in_title {
            self.in_title = false;
            self.title_done = !solid(&self.title).is_empty();
        }
        if name == "template" {
            self.templates = self.templates.saturating_sub(1);
        } else if name == "a" && self.templates == 0 {
            self.anchored = None;
        }
        if self.inside().is_some() {
            if let Some(at) = self.foreign.iter().rposition(|open| open == name) {
                self.foreign.truncate(at);
            }
        } else if self.foreign.last().is_some_and(|open| open == name) {
            self.foreign.pop();
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        }
        if let Some(at) = self.anchored
            && !self.raw
            && self.templates == 0
            && self.inside() != Some("svg")
        {
            self.links[at].3.push_str(text);
        }
    }
}

pub struct Oracle(pub RefCell<Seen>);

impl TokenSink for Oracle {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut seen = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return seen.start(&tag),
            Token::TagToken(tag) => seen.end(&tag.name),
            Token::CharacterTokens(text) => seen.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.0.borrow().inside().is_some()
    }
}
