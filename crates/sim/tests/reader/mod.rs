//! A small reader of HTML and robots.txt that shares nothing with the model.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

pub struct Anchor {
    pub url: Url,
    pub nofollow: bool,
}

struct Sink {
    page: Url,
    base: RefCell<Option<Url>>,
    found: RefCell<Vec<Anchor>>,
    failed: Cell<bool>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else {
            return TokenSinkResult::Continue;
        };
        if tag.kind != TagKind::StartTag {
            return TokenSinkResult::Continue;
        }
        match &*tag.name {
            "base" => {
                let href = attribute(&tag, "href").unwrap();
                *self.base.borrow_mut() = Some(self.page.join(&href).unwrap());
            }
            "a" => self.anchor(&tag),
            "script" => return TokenSinkResult::RawData(RawKind::ScriptData),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Sink {
    fn anchor(&self, tag: &Tag) {
        let href = attribute(tag, "href").unwrap();
        let base = self.base.borrow();
        let base = base.as_ref().unwrap_or(&self.page);
        let Ok(mut url) = base.join(&href) else {
            self.failed.set(true);
            return;
        };
        url.set_fragment(None);
        if url.scheme() == "http" {
            let rel = attribute(tag, "rel").unwrap_or_default();
            self.found.borrow_mut().push(Anchor {
                url,
                nofollow: rel.split_whitespace().any(|word| word == "nofollow"),
            });
        }
    }
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    let found = tag.attrs.iter().find(|own| &*own.name.local == name)?;
    Some(found.value.to_string())
}

/// Every `<a href>` with an http URL.
pub fn anchors(page: &Url, body: &[u8]) -> Vec<Anchor> {
    let sink = Sink {
        page: page.clone(),
        base: RefCell::new(None),
        found: RefCell::new(Vec::new()),
        failed: Cell::new(false),
    };
    // References are ASCII; what else is on the page may be in any encoding.
    let text: String = body.iter().map(|&byte| char::from(byte)).collect();
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(text));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    assert!(
        !tokenizer.sink.failed.get(),
        "a reference on {page} is broken"
    );
    tokenizer.sink.found.into_inner()
}

/// RFC 9309 without its fine print: the group that names the agent, else that
/// of `*`; the longest matching rule wins, and `Allow` wins a tie.
pub fn robots_allow(text: &str, agent: &str, target: &str) -> bool {
    let (mut named, mut general) = (Vec::new(), Vec::new());
    let mut has_named = false;
    let (mut agents, mut in_rules) = (Vec::new(), false);
    for line in text.lines() {
        let line = line.split('#').next().unwrap();
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let (field, value) = (field.trim().to_lowercase(), value.trim());
        match field.as_str() {
            "user-agent" => {
                if in_rules {
                    agents.clear();
                    in_rules = false;
                }
                has_named |= value.eq_ignore_ascii_case(agent);
                agents.push(value.to_lowercase());
            }
            "allow" | "disallow" => {
                in_rules = true;
                let rule = (field == "allow", value.to_owned());
                if agents.iter().any(|own| own == agent) {
                    named.push(rule.clone());
                }
                if agents.iter().any(|own| own == "*") {
                    general.push(rule);
                }
            }
            _ => {}
        }
    }
    let rules = if has_named { named } else { general };
    rules
        .into_iter()
        .filter(|(_, pattern)| !pattern.is_empty() && matches(pattern, target))
        .max_by_key(|(allow, pattern)| (pattern.len(), *allow))
        .is_none_or(|(allow, _)| allow)
}

fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = target.strip_prefix(parts.next().unwrap()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        let found = if to_the_end && at + 1 == parts.len() {
            rest.ends_with(part).then(|| rest.len() - part.len())
        } else {
            rest.find(part)
        };
        match found {
            Some(start) => rest = &rest[start + part.len()..],
            None => return false,
        }
    }
    !to_the_end || rest.is_empty()
}
