//! Which URLs a crawl may visit, told by its seeds.

use std::collections::HashSet;
use std::str::FromStr;

use crate::{Fingerprinter, Url};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeRule {
    /// The seeds alone.
    Page,
    /// Everything below a seed's folder.
    Prefix,
    /// Every URL of a seed's name, whatever scheme and port.
    Host,
    /// Every URL of a seed's registered domain.
    Domain,
    /// The whole web.
    Any,
}

impl ScopeRule {
    pub fn as_str(self) -> &'static str {
        match self {
            ScopeRule::Page => "page",
            ScopeRule::Prefix => "prefix",
            ScopeRule::Host => "host",
            ScopeRule::Domain => "domain",
            ScopeRule::Any => "any",
        }
    }
}

impl FromStr for ScopeRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [
            ScopeRule::Page,
            ScopeRule::Prefix,
            ScopeRule::Host,
            ScopeRule::Domain,
            ScopeRule::Any,
        ]
        .into_iter()
        .find(|rule| rule.as_str() == text)
        .ok_or_else(|| format!("`{text}` is none of page, prefix, host, domain, any"))
    }
}

/// A rule and the fingerprints of what the seeds opened.
#[derive(Debug, Clone)]
pub struct Scope {
    rule: ScopeRule,
    print: Fingerprinter,
    open: HashSet<u64>,
}

impl Scope {
    pub fn new(rule: ScopeRule, print: Fingerprinter) -> Scope {
        Scope {
            rule,
            print,
            open: HashSet::new(),
        }
    }

    pub fn rule(&self) -> ScopeRule {
        self.rule
    }

    /// Open the scope to what this seed stands for.
    pub fn add_seed(&mut self, seed: &Url) {
        let opened = match self.rule {
            ScopeRule::Any => return,
            ScopeRule::Page => seed.as_str(),
            ScopeRule::Prefix => folder(seed.as_str(), seed),
            ScopeRule::Host => seed.name(),
            ScopeRule::Domain => seed.site(),
        };
        self.open.insert(self.print.name(opened));
    }

    pub fn contains(&self, url: &Url) -> bool {
        let has = |text: &str| self.open.contains(&self.print.name(text));
        match self.rule {
            ScopeRule::Any => true,
            ScopeRule::Page => has(url.as_str()),
            ScopeRule::Host => has(url.name()),
            ScopeRule::Domain => has(url.site()),
            ScopeRule::Prefix => {
                let path_start = url.origin().len();
                url.as_str()[..path_start + url.path().len()]
                    .match_indices('/')
                    .filter(|(at, _)| *at >= path_start)
                    .any(|(at, _)| has(&url.as_str()[..=at]))
            }
        }
    }
}

/// A URL's text up to and with the last slash of its path.
fn folder<'a>(text: &'a str, url: &Url) -> &'a str {
    let path_end = url.origin().len() + url.path().len();
    &text[..text[..path_end].rfind('/').map_or(path_end, |at| at + 1)]
}
