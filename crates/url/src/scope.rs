//! Which URLs a crawl may visit, told by its seeds.

use std::collections::{BTreeSet, HashSet};
use std::str::FromStr;

use crate::{Fingerprinter, Url, is_public_name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeRule {
    /// The seeds alone.
    Page,
    /// Everything below a seed's folder, whether by http or https.
    Prefix,
    /// Every URL of a seed's name, with or without `www.`, whatever scheme
    /// and port.
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
    /// How long the opened prefixes are: only those lengths of a URL are
    /// looked up, however many folders it has.
    prefix_lengths: BTreeSet<usize>,
    /// Seeds that everybody can reach, and seeds that only we can.
    public: bool,
    local: bool,
}

impl Scope {
    pub fn new(rule: ScopeRule, print: Fingerprinter) -> Scope {
        Scope {
            rule,
            print,
            open: HashSet::new(),
            prefix_lengths: BTreeSet::new(),
            public: false,
            local: false,
        }
    }

    pub fn rule(&self) -> ScopeRule {
        self.rule
    }

    /// Open the scope to what this seed stands for.
    pub fn add_seed(&mut self, seed: &Url) {
        match is_public_name(seed.name()) {
            true => self.public = true,
            false => self.local = true,
        }
        let opened = match self.rule {
            ScopeRule::Any => return,
            ScopeRule::Page => seed.as_str(),
            ScopeRule::Prefix => {
                self.prefix_lengths.insert(folder(seed).len());
                folder(seed)
            }
            ScopeRule::Host => bare(seed.name()),
            ScopeRule::Domain => seed.site(),
        };
        self.open.insert(self.print.text(opened));
    }

    /// Whether no seed is on the public Internet.
    pub fn starts_locally(&self) -> bool {
        self.local && !self.public
    }

    pub fn contains(&self, url: &Url) -> bool {
        let has = |text: &str| self.open.contains(&self.print.text(text));
        match self.rule {
            ScopeRule::Any => true,
            ScopeRule::Page => has(url.as_str()),
            ScopeRule::Host => has(bare(url.name())),
            ScopeRule::Domain => has(url.site()),
            ScopeRule::Prefix => {
                let folder = folder(url);
                let path_start = bare(url.authority()).len();
                self.prefix_lengths
                    .range(path_start + 1..=folder.len())
                    .any(|&length| folder.as_bytes()[length - 1] == b'/' && has(&folder[..length]))
            }
        }
    }
}

/// A URL without its scheme, up to and with the last slash of its path: the
/// http and the https form of a folder are the same place.
fn folder(url: &Url) -> &str {
    let name_start = url.origin().len() - url.authority().len();
    let path_end = url.origin().len() + url.path().len();
    let path_end = url.as_str()[..path_end]
        .rfind('/')
        .map_or(path_end, |at| at + 1);
    bare(&url.as_str()[name_start..path_end])
}

/// A name without a leading `www.`: sites send visitors from one to the other.
fn bare(name: &str) -> &str {
    name.strip_prefix("www.").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(rule: ScopeRule, seeds: &[&str]) -> Scope {
        let mut scope = Scope::new(rule, Fingerprinter::new(1));
        for seed in seeds {
            scope.add_seed(&Url::parse(seed).expect("a seed"));
        }
        scope
    }

    fn check(scope: &Scope, inside: &[&str], outside: &[&str]) {
        for text in inside {
            let url = Url::parse(text).expect("a URL");
            assert!(scope.contains(&url), "{text} should be inside");
        }
        for text in outside {
            let url = Url::parse(text).expect("a URL");
            assert!(!scope.contains(&url), "{text} should be outside");
        }
    }

    #[test]
    fn page_opens_the_seed_alone() {
        check(
            &scope(ScopeRule::Page, &["http://a.example/b?c"]),
            &["http://a.example/b?c#d"],
            &["http://a.example/b", "http://a.example/b?c&d"],
        );
    }

    #[test]
    fn prefix_opens_the_seeds_folder_by_both_schemes() {
        check(
            &scope(ScopeRule::Prefix, &["http://a.example/b/index.html?x=/y/"]),
            &[
                "http://a.example/b/",
                "http://a.example/b/?q",
                "http://a.example/b/c/d/e",
                "https://a.example/b/c",
                "http://www.a.example/b/",
            ],
            &[
                "http://a.example/",
                "http://a.example/b",
                "http://a.example/bb/",
                "http://a.example/c?x=/b/",
                "http://a.example:8080/b/",
                "http://b.example/b/",
            ],
        );
        check(
            &scope(ScopeRule::Prefix, &["http://a.example:8080/b/"]),
            &["http://a.example:8080/b/c"],
            &["http://a.example/b/c"],
        );
        check(
            &scope(ScopeRule::Prefix, &["http://a.example?x"]),
            &["https://a.example/any/where"],
            &["https://b.example/any/where"],
        );
    }

    #[test]
    fn host_opens_the_name_and_domain_its_site() {
        check(
            &scope(ScopeRule::Host, &["http://www.a.example.org/b/"]),
            &["https://www.a.example.org:8443/", "http://a.example.org/"],
            &["http://b.example.org/", "http://example.org/"],
        );
        check(
            &scope(ScopeRule::Domain, &["http://www.a.example.org/b/"]),
            &["https://example.org/", "http://x.example.org./"],
            &["http://example.com/"],
        );
    }

    #[test]
    fn any_opens_everything_and_no_seed_opens_nothing() {
        check(&scope(ScopeRule::Any, &[]), &["http://a.example/"], &[]);
        for rule in [
            ScopeRule::Page,
            ScopeRule::Prefix,
            ScopeRule::Host,
            ScopeRule::Domain,
        ] {
            check(&scope(rule, &[]), &[], &["http://a.example/"]);
        }
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        for name in ["page", "prefix", "host", "domain", "any"] {
            assert_eq!(name.parse::<ScopeRule>().map(ScopeRule::as_str), Ok(name));
        }
        assert!("site".parse::<ScopeRule>().is_err());
    }
}
