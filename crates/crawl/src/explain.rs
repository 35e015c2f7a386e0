//! Everything the crawl knows of one URL, and the reason for its state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem::Finder;
use rhumb_page::LinkKind;
use rhumb_store::{
    Admitted, Fate, HostEvent, JournalReader, Position, Positions, Record, Visit, journals_in,
};
use rhumb_url::Url;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Loader};
use crate::engine::CrawlError;
use crate::listing::open;
use crate::socket::{Answer, Question, ask};
use crate::stopped::Stopped;
use crate::takedowns::{Takedown, Takedowns};
use crate::views::{Mention, Views};

/// Links to the URL that are told one by one.
const LINKS_TOLD: usize = 10;

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
    /// File, offset and length of its record in the archive.
    pub archive: Vec<(String, u64, u64)>,
    pub position: String,
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

/// Answers `why` for one crawl, again and again.
pub struct Explainer {
    dir: PathBuf,
    stopped: Option<(Stopped, Positions)>,
}

impl Explainer {
    pub fn new(dir: &Path) -> Explainer {
        Explainer {
            dir: dir.to_owned(),
            stopped: None,
        }
    }

    /// What the index knows of the URL: from the running crawl if there is
    /// one, else from what it left.
    pub fn explain(&mut self, url: &Url) -> Result<Explanation, CrawlError> {
        let mut told = None;
        let question = Question::Why(url.as_str().to_owned());
        let asked = ask(&self.dir, &question, |answer| {
            if let Answer::Explanation(explanation) = answer {
                told = Some(*explanation);
            }
            Ok(())
        });
        let mut explanation = match (asked, told) {
            (Ok(Some(())), Some(explanation)) => explanation,
            _ => self.read_from_disk(url)?,
        };
        explanation.conclude(&self.dir);
        Ok(explanation)
    }

    fn read_from_disk(&mut self, url: &Url) -> Result<Explanation, CrawlError> {
        let (stopped, positions) = match &mut self.stopped {
            Some(open) => open,
            none => {
                let stopped = Stopped::open(&self.dir)?;
                let folder = stopped.directory.journal();
                let positions = Positions::open(Arc::clone(&stopped.disk), &folder);
                none.insert((stopped, positions))
            }
        };
        let mut explanation = facts(&stopped.views, positions, url)?;
        if explanation.is_unseen() {
            stopped.untaken(&mut |untaken, on| {
                if untaken == *url {
                    let offered = Fate::Offered.to_string();
                    *explanation.links_by_fate.entry(offered).or_default() += 1;
                    explanation.found.get_or_insert(FoundFact {
                        on: on.url.clone(),
                        depth: on.depth + 1,
                        fate: Fate::Offered.to_string(),
                        time: on.time.to_string(),
                        position: String::new(),
                    });
                }
            })?;
        }
        Ok(explanation)
    }

    /// Everything, also every link that names the URL: reads all journals.
    pub fn explain_with_links(&self, url: &Url) -> Result<Explanation, CrawlError> {
        let (directory, disk) = open(&self.dir)?;
        let folder = directory.journal();
        let mut explanation = Explanation::new(url);
        let takedowns = Takedowns::read(&self.dir)?;
        explanation.forgotten = takedowns.of(url).cloned().map(Into::into);
        let by_url = Finder::new(url.as_str());
        let by_host = Finder::new(url.origin());
        let journals = journals_in(&*disk, &folder).map_err(|error| CrawlError::Io {
            path: folder.clone(),
            error,
        })?;
        for journal in journals {
            let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
            while let Some(group) = reader.next_group()? {
                if !group.mentions(&by_host) {
                    continue;
                }
                for (position, record) in group.records_mentioning(&by_host) {
                    match record {
                        Ok(Record::HostEvent(event)) => explanation.note_host(event, url),
                        Ok(record) if group.mentions(&by_url) => explanation.note(position, record),
                        _ => {}
                    }
                }
            }
        }
        explanation.visits.sort_by(|a, b| a.time.cmp(&b.time));
        explanation.links.sort_by(|a, b| a.time.cmp(&b.time));
        explanation.links.truncate(LINKS_TOLD);
        explanation.conclude(&self.dir);
        Ok(explanation)
    }
}

/// What the index leads to: a few records, wherever they stand.
pub fn facts(views: &Views, journal: &mut Positions, url: &Url) -> Result<Explanation, CrawlError> {
    let mut explanation = Explanation::new(url);
    explanation.forgotten = views.takedown_of(url).map(Into::into);
    for of in [Mention::Found, Mention::Visit, Mention::Refused] {
        let Some(position) = views.find(url.as_str(), of)? else {
            continue;
        };
        let Some(record) = journal.record_at(position)? else {
            continue;
        };
        if let Record::Admitted(admitted) = &record
            && let Some(page) = finder_of(admitted, views, journal)?
        {
            explanation.note_links(&page);
        }
        if of == Mention::Refused
            && let Record::Visit(page) = &record
        {
            explanation.note_links(page);
        } else {
            explanation.note(position, record);
        }
    }
    for of in [Mention::Robots, Mention::GivenUp] {
        if let Some(position) = views.find(url.origin(), of)?
            && let Some(Record::HostEvent(event)) = journal.record_at(position)?
        {
            explanation.note_host(event, url);
        }
    }
    Ok(explanation)
}

/// The visit that found something, or where compaction has dropped it the
/// latest of the same page.
fn finder_of(
    admitted: &Admitted,
    views: &Views,
    journal: &mut Positions,
) -> Result<Option<Box<Visit>>, CrawlError> {
    let Some(source) = admitted.source else {
        return Ok(None);
    };
    if let Some(Record::Visit(page)) = journal.record_at(source)? {
        return Ok(Some(page));
    }
    let Some(latest) = views.find(&admitted.via, Mention::Visit)? else {
        return Ok(None);
    };
    let Some(Record::Visit(mut page)) = journal.record_at(latest)? else {
        return Ok(None);
    };
    page.links = journal.links_of(&page)?.unwrap_or_default();
    Ok(Some(page))
}

impl Explanation {
    fn new(url: &Url) -> Explanation {
        Explanation {
            url: url.as_str().to_owned(),
            state: String::new(),
            reason: String::new(),
            seed: None,
            found: None,
            visits: Vec::new(),
            links: Vec::new(),
            links_by_fate: BTreeMap::new(),
            host: Vec::new(),
            forgotten: None,
        }
    }

    fn is_unseen(&self) -> bool {
        self.seed.is_none()
            && self.found.is_none()
            && self.visits.is_empty()
            && self.links.is_empty()
    }

    fn note(&mut self, position: Position, record: Record) {
        match record {
            Record::Seed(seed) if seed.url == self.url => {
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
    }

    fn note_visit(&mut self, position: Position, visit: &Visit) {
        if visit.url == self.url {
            self.visits.push(visit_fact(position, visit));
        }
        self.note_links(visit);
    }

    /// The links of a page that lead here.
    fn note_links(&mut self, visit: &Visit) {
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

    fn note_host(&mut self, event: HostEvent, url: &Url) {
        if event.host == url.origin() {
            self.host.push(HostFact {
                host: event.host,
                event: event.event,
                detail: event.detail,
                time: event.time.to_string(),
            });
        }
    }

    /// From the facts to the state and its reason.
    fn conclude(&mut self, dir: &Path) {
        let (state, reason) = if let Some(visit) = self.visits.last() {
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

/// A fate and the setting behind it.
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
        Some((key, value)) => format!("{fate} ({key} = {value})"),
        None => fate.to_owned(),
    }
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
        archive: visit
            .extents
            .iter()
            .map(|e| (e.file.clone(), e.offset, e.length))
            .collect(),
        position: position.to_string(),
    }
}
