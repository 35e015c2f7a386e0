//! What becomes of a link, as far as the page it was found on can tell.

use std::collections::HashSet;

use rhumb_page::{Link, LinkKind, Target};
use rhumb_store::{Fate, LinkRecord};
use rhumb_url::{Refusal, Scope, Url};

use crate::config::{Config, ConfigError};
use crate::takedowns::InForce;

/// `rel` words of `<link>` elements that lead to no page.
const NOT_PAGES: [&str; 14] = [
    "stylesheet",
    "icon",
    "shortcut",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "pingback",
    "edituri",
];

/// A link with its fate, and its target if that is to be offered.
pub struct Judged {
    pub record: LinkRecord,
    pub offered: Option<Url>,
}

/// The configuration's rules about links, ready for use.
pub struct LinkRules {
    follow: HashSet<LinkKind>,
    nofollow: bool,
    skip_extensions: HashSet<String>,
    max_depth: Option<u64>,
    max_redirects: usize,
    forgotten: InForce,
}

impl LinkRules {
    pub fn new(config: &Config) -> Result<LinkRules, ConfigError> {
        let mut follow = HashSet::new();
        for name in &config.follow {
            let kind: LinkKind = name.parse().map_err(|_| {
                let kinds: Vec<&str> = LinkKind::ALL.iter().map(|kind| kind.as_str()).collect();
                let kinds = kinds.join(", ");
                ConfigError::value(
                    "follow",
                    format!("`{name}` is no kind of link; there are {kinds}"),
                )
            })?;
            follow.insert(kind);
        }
        Ok(LinkRules {
            follow,
            nofollow: config.nofollow,
            skip_extensions: config
                .skip_extensions
                .iter()
                .map(|e| e.trim_start_matches('.').to_ascii_lowercase())
                .collect(),
            max_depth: config.max_depth.0,
            max_redirects: config.max_redirects,
            forgotten: InForce::default(),
        })
    }

    /// What must not come back.
    pub fn heed(&mut self, forgotten: InForce) {
        self.forgotten = forgotten;
    }

    /// The takedown that forbids a URL.
    pub fn takedown_of(&self, url: &Url) -> Option<&str> {
        self.forgotten.covering(url)
    }

    /// Give a link its fate. `depth` is the target's, `page_nofollow` what
    /// the page says of all its links.
    pub fn record(&self, link: Link, scope: &Scope, depth: u32, page_nofollow: bool) -> Judged {
        let fate = match &link.target {
            Target::Url(url) => self.fate(url, &link, scope, depth, page_nofollow),
            Target::Refused { why, .. } => refusal(why),
        };
        let (url, offered) = match link.target {
            Target::Url(url) if fate == Fate::Offered => (url.as_str().to_owned(), Some(url)),
            Target::Url(url) => (url.into_string(), None),
            Target::Refused { text, .. } => (text, None),
        };
        let record = LinkRecord {
            url,
            kind: link.kind.code(),
            fate,
            rel: link.rel,
            anchor: link.anchor,
        };
        Judged { record, offered }
    }

    /// Give the target of a redirect its fate, after so many in a row.
    pub fn record_redirect(&self, link: Link, scope: &Scope, depth: u32, redirects: u32) -> Judged {
        let mut judged = self.record(link, scope, depth, false);
        if judged.offered.is_some() && redirects as usize >= self.max_redirects {
            judged.record.fate = Fate::TooManyRedirects;
            judged.offered = None;
        }
        judged
    }

    fn fate(&self, url: &Url, link: &Link, scope: &Scope, depth: u32, page_nofollow: bool) -> Fate {
        let rel_has = |words: &[&str]| link.rel.split(' ').any(|word| words.contains(&word));
        if self.takedown_of(url).is_some() {
            Fate::Forgotten
        } else if !self.follow.contains(&link.kind)
            || (link.kind == LinkKind::Link && rel_has(&NOT_PAGES))
        {
            Fate::Kind
        } else if self.nofollow && (page_nofollow || rel_has(&["nofollow"])) {
            Fate::Nofollow
        } else if self.max_depth.is_some_and(|max| u64::from(depth) > max) {
            Fate::TooDeep
        } else if !scope.contains(url) {
            Fate::OutOfScope
        } else if self.skips_extension(url) {
            Fate::Extension
        } else {
            Fate::Offered
        }
    }

    fn skips_extension(&self, url: &Url) -> bool {
        url.extension().is_some_and(|extension| {
            self.skip_extensions
                .contains(extension.to_ascii_lowercase().as_str())
        })
    }
}

pub(crate) fn refusal(why: &Refusal) -> Fate {
    match why {
        Refusal::Scheme(_) => Fate::Scheme,
        Refusal::Credentials => Fate::Credentials,
        Refusal::TooLong { .. } => Fate::TooLong,
        _ => Fate::Malformed,
    }
}
