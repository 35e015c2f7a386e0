//! The facts about one URL, and the state that follows from them.

use std::collections::BTreeMap;
use std::path::Path;

use rhumb_page::LinkKind;
use rhumb_store::{Fact, Fate, HostEvent, LinkRecord, Position, Record, Visit};
use rhumb_url::Refusal;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Loader};
use crate::judge::refusal;
use crate::manifest::moment;
use crate::socket::{Answer, Question, ask};
use crate::takedowns::Takedown;

/// Links to the URL that are told one by one.
pub(super) const LINKS_TOLD: usize = 10;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Explanation {
    pub url: String,
    /// `unseen`, `queued`, `in-flight`, `fetched`, `failed` or `refused`.
    pub state: String,
    /// The outcome or fate that decided, and what stood behind it.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<SeedFact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundFact>,
    pub visits: Vec<VisitFact>,
    /// The first links that name it.
    pub links: Vec<LinkFact>,
    /// How many links name it, by fate.
    pub links_by_fate: BTreeMap<String, u64>,
    /// What happened to its host.
    pub host: Vec<HostFact>,
    /// The takedown it is under, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<ForgottenFact>,
    /// Its last visit failed, and it was given as a seed again since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_again: bool,
    #[serde(skip)]
    given_again: Option<(u32, u64)>,
    #[serde(skip)]
    visited: Option<(u32, u64)>,
}

/// The journal does not say which URLs were forgotten, only what was named.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgottenFact {
    pub what: String,
    pub time: String,
    /// Since when it may be visited again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted: Option<String>,
}

impl From<Takedown> for ForgottenFact {
    fn from(takedown: Takedown) -> ForgottenFact {
        ForgottenFact {
            what: takedown.what,
            time: takedown.time.to_string(),
            lifted: takedown.lifted.map(|time| time.to_string()),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeedFact {
    pub time: String,
}

/// Where it was first found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FoundFact {
    pub on: String,
    pub depth: u32,
    pub fate: String,
    pub time: String,
    pub position: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VisitFact {
    pub outcome: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    pub time: String,
    pub depth: u32,
    pub attempts: u32,
    pub status: u16,
    pub address: String,
    pub content_type: String,
    pub charset: String,
    pub wire_bytes: u64,
    pub body_bytes: u64,
    pub first_byte_ms: f64,
    pub total_ms: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub duplicate_of: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub truncated: String,
    pub links: usize,
    /// Links beyond `max_links`, of which nothing else is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links_dropped: u64,
    /// Where a redirect leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectFact>,
    /// File, offset and length of its record in the archive.
    pub archive: Vec<(String, u64, u64)>,
    pub position: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RedirectFact {
    pub to: String,
    /// What became of it as a link, with the setting behind that.
    pub fate: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinkFact {
    pub on: String,
    pub kind: String,
    pub fate: String,
    pub anchor: String,
    pub time: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostFact {
    pub host: String,
    pub event: String,
    pub detail: String,
    pub time: String,
}

impl Explanation {
    pub(super) fn new(url: &str) -> Explanation {
        Explanation {
            url: url.to_owned(),
            state: String::new(),
            reason: String::new(),
            seed: None,
            found: None,
            visits: Vec::new(),
            links: Vec::new(),
            links_by_fate: BTreeMap::new(),
            host: Vec::new(),
            forgotten: None,
            waits_again: false,
            given_again: None,
            visited: None,
        }
    }

    pub(super) fn is_unseen(&self) -> bool {
        self.seed.is_none()
            && self.found.is_none()
            && self.visits.is_empty()
            && self.links.is_empty()
    }

    pub(super) fn note(&mut self, position: Position, record: Record) {
        match record {
            Record::Seed(seed) if seed.url == self.url => {
                if seed.again {
                    self.given_again = self.given_again.max(Some(moment(position)));
                }
                self.seed.get_or_insert(SeedFact {
                    time: seed.time.to_string(),
                });
            }
            Record::Admitted(admitted) => {
                if let Some(entry) = admitted.entries.iter().find(|e| e.url == self.url) {
                    self.found.get_or_insert(FoundFact {
                        on: admitted.via.clone(),
                        depth: admitted.depth,
                        fate: entry.fate.to_string(),
                        time: admitted.time.to_string(),
                        position: position.to_string(),
                    });
                }
            }
            Record::Visit(visit) => self.note_visit(position, &visit),
            _ => {}
        }
        self.waits_again = self.given_again > self.visited;
    }

    fn note_visit(&mut self, position: Position, visit: &Visit) {
        if visit.url == self.url {
            self.visits.push(visit_fact(position, visit));
            self.visited = self.visited.max(Some(moment(position)));
        }
        self.note_links(visit);
    }

    /// The links of a page that lead here.
    pub(super) fn note_links(&mut self, visit: &Visit) {
        for link in visit.links.iter().filter(|link| link.url == self.url) {
            *self.links_by_fate.entry(link.fate.to_string()).or_default() += 1;
            // Enough to choose the earliest from.
            if self.links.len() < 100 * LINKS_TOLD {
                self.links.push(LinkFact {
                    on: visit.url.clone(),
                    kind: LinkKind::from_code(link.kind)
                        .map_or("unknown", LinkKind::as_str)
                        .to_owned(),
                    fate: link.fate.to_string(),
                    anchor: link.anchor.clone(),
                    time: visit.time.to_string(),
                });
            }
        }
    }

    pub(super) fn note_host(&mut self, event: HostEvent) {
        self.host.push(HostFact {
            host: event.host,
            event: event.event,
            detail: event.detail,
            time: event.time.to_string(),
        });
    }

    /// Say what stands against the text, where that is what its links were
    /// refused for.
    pub(super) fn name_refusal(&mut self, why: &Refusal) {
        if self.reason == refusal(why).label() {
            self.reason = format!("{}: {why}", self.reason);
        }
    }

    /// From the facts to the state and its reason.
    pub(super) fn conclude(&mut self, dir: &Path) {
        let last = self.visits.last().filter(|_| !self.waits_again);
        let (state, reason) = if let Some(visit) = last {
            let outcome = rhumb_store::Outcome::ALL
                .iter()
                .find(|o| o.to_string() == visit.outcome);
            let state = outcome.map_or("refused", |o| o.state().label());
            let reason = if visit.detail.is_empty() {
                visit.outcome.clone()
            } else {
                format!("{}: {}", visit.outcome, visit.detail)
            };
            (state, reason)
        } else if self.seed.is_some() || self.found.is_some() || self.was_offered() {
            let (state, reason) = match self.is_in_flight(dir) {
                Some(true) => ("in-flight", "it is being fetched now"),
                Some(false) => ("queued", "it waits for its visit"),
                None => ("queued", "it waits for its visit; the crawl is not running"),
            };
            (state, reason.to_owned())
        } else if !self.links_by_fate.is_empty() {
            let config = own_config(dir);
            let fates: Vec<String> = self
                .links_by_fate
                .keys()
                .map(|fate| with_rule(fate, config.as_ref()))
                .collect();
            ("refused", fates.join(", "))
        } else if let Some(ForgottenFact {
            what, lifted: None, ..
        }) = &self.forgotten
        {
            (
                "refused",
                format!("forgotten: {what} was forgotten on request"),
            )
        } else {
            ("unseen", "no page, seed or record names it".to_owned())
        };
        self.state = state.to_owned();
        self.reason = reason;
        let config = own_config(dir);
        for redirect in self.visits.iter_mut().filter_map(|v| v.redirect.as_mut()) {
            redirect.fate = with_rule(&redirect.fate, config.as_ref());
        }
    }

    /// Found, but not admitted yet when the crawl ended.
    fn was_offered(&self) -> bool {
        self.links_by_fate.contains_key(Fate::Offered.label())
    }

    /// `None` if no crawl runs in the directory.
    fn is_in_flight(&self, dir: &Path) -> Option<bool> {
        let mut found = false;
        let asked = ask(dir, &Question::InFlight, |answer| {
            if let Answer::Urls(urls) = answer {
                found |= urls.contains(&self.url);
            }
            Ok(())
        });
        asked.ok().flatten().map(|()| found)
    }
}

/// The settings that the crawl had last.
fn own_config(dir: &Path) -> Option<Config> {
    let loader = Loader::default().file(&dir.join("crawl.toml")).ok()?;
    loader.finish().ok()
}

/// A fate and the setting behind it. The journal does not say what that was
/// at the time, so what it is now is told as that.
fn with_rule(fate: &str, config: Option<&Config>) -> String {
    let fates = [
        (Fate::OutOfScope, "scope"),
        (Fate::TooDeep, "max_depth"),
        (Fate::Kind, "follow"),
        (Fate::Nofollow, "nofollow"),
        (Fate::Extension, "skip_extensions"),
        (Fate::TooManyRedirects, "max_redirects"),
    ];
    let key = fates.iter().find(|(known, _)| known.label() == fate);
    match key.and_then(|(_, key)| Some((key, config?.get(key)?))) {
        // A long list says less than its name.
        Some((key, value)) if value.len() > 80 => format!("{fate} (setting `{key}`)"),
        Some((key, value)) => format!("{fate} (setting `{key}`; now {value})"),
        None => fate.to_owned(),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn redirect_fact(link: &LinkRecord) -> Option<RedirectFact> {
    (link.kind == LinkKind::Redirect.code()).then(|| RedirectFact {
        to: link.url.clone(),
        fate: link.fate.to_string(),
    })
}

fn visit_fact(position: Position, visit: &Visit) -> VisitFact {
    let millis = |micros: u64| micros as f64 / 1000.0;
    VisitFact {
        outcome: visit.outcome.to_string(),
        detail: visit.detail.clone(),
        time: visit.time.to_string(),
        depth: visit.depth,
        attempts: visit.attempts,
        status: visit.status,
        address: visit.address.clone(),
        content_type: visit.content_type.clone(),
        charset: visit.charset.clone(),
        wire_bytes: visit.wire_bytes,
        body_bytes: visit.body_bytes,
        first_byte_ms: millis(visit.first_byte_micros),
        total_ms: millis(visit.total_micros),
        title: visit.title.clone(),
        duplicate_of: visit.duplicate_of.clone(),
        truncated: visit.truncated.clone(),
        links: visit.links.len() + visit.links_repeated as usize,
        links_dropped: visit.number(Fact::LINKS_DROPPED),
        redirect: visit.links.iter().find_map(redirect_fact),
        archive: visit
            .extents
            .iter()
            .map(|e| (e.file.clone(), e.offset, e.length))
            .collect(),
        position: position.to_string(),
    }
}
