//! Everything the crawl knows of one URL, and the reason for its state.

mod explanation;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem::Finder;
use rhumb_store::{Admitted, Fate, JournalReader, Positions, Record, Visit, journals_in};
use rhumb_url::{Refusal, Url};

use crate::engine::CrawlError;
use crate::listing::open;
use crate::socket::{Answer, AskError, Question, ask};
use crate::stopped::Stopped;
use crate::takedowns::Takedowns;
use crate::views::{Mention, Views};

pub use explanation::{Explanation, VisitFact};
use explanation::{FoundFact, LINKS_TOLD};

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

    /// Explain what a person typed: a URL, or else a text that pages had as a
    /// link although no crawl can hold it (`mailto:…`). Those are recorded as
    /// they were written. The refusal is told if no record knows the text.
    pub fn explain_typed(
        &mut self,
        typed: &str,
        with_links: bool,
    ) -> Result<Result<Explanation, Refusal>, CrawlError> {
        let mut look_up = |text: &str| match with_links {
            true => self.explain_with_links(text),
            false => self.explain(text),
        };
        let as_url = match Url::parse_seed(typed) {
            Ok(url) => {
                let explanation = look_up(url.as_str())?;
                if !explanation.is_unseen() || url.as_str() == typed {
                    return Ok(Ok(explanation));
                }
                Ok(explanation)
            }
            Err(why @ Refusal::TooLong { .. }) => {
                // Pages write it in many ways; one text stands for all.
                for text in stand_ins(typed) {
                    let mut explanation = look_up(&text)?;
                    if !explanation.is_unseen() {
                        explanation.name_refusal(&why);
                        return Ok(Ok(explanation));
                    }
                }
                Err(why)
            }
            Err(why) => Err(why),
        };
        let mut as_written = look_up(typed)?;
        if as_written.is_unseen() {
            return Ok(as_url);
        }
        if let Err(why) = &as_url {
            as_written.name_refusal(why);
        }
        Ok(Ok(as_written))
    }

    /// What the index knows of a URL in normal form, or of a link as it was
    /// written: from the running crawl if there is one, else from what it left.
    pub fn explain(&mut self, url: &str) -> Result<Explanation, CrawlError> {
        let mut told = None;
        let question = Question::Why(url.to_owned());
        let asked = ask(&self.dir, &question, |answer| {
            if let Answer::Explanation(explanation) = answer {
                told = Some(*explanation);
            }
            Ok(())
        });
        let mut explanation = match (asked, told) {
            (Ok(Some(())), Some(explanation)) => explanation,
            // It runs: what is on disk is not all that it knows.
            (Err(error @ (AskError::NoAnswer(_) | AskError::Busy)), _) => return Err(error.into()),
            _ => self.read_from_disk(url)?,
        };
        explanation.conclude(&self.dir);
        Ok(explanation)
    }

    fn read_from_disk(&mut self, url: &str) -> Result<Explanation, CrawlError> {
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
                if untaken.as_str() == url {
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
    pub fn explain_with_links(&self, url: &str) -> Result<Explanation, CrawlError> {
        let (directory, disk) = open(&self.dir)?;
        let folder = directory.journal();
        let mut explanation = Explanation::new(url);
        let parsed = Url::from_normal(url).ok();
        if let Some(parsed) = &parsed {
            let takedowns = Takedowns::read(&self.dir)?;
            explanation.forgotten = takedowns.of(parsed).cloned().map(Into::into);
        }
        let origin = parsed.as_ref().map(Url::origin);
        let by_url = Finder::new(url);
        let by_host = Finder::new(origin.unwrap_or(url));
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
                        Ok(Record::HostEvent(event)) if origin == Some(&*event.host) => {
                            explanation.note_host(event);
                        }
                        Ok(record) if group.mentions(&by_url) => explanation.note(position, record),
                        _ => {}
                    }
                }
            }
            reader.check_end()?;
        }
        explanation.visits.sort_by(|a, b| a.time.cmp(&b.time));
        explanation.links.sort_by(|a, b| a.time.cmp(&b.time));
        explanation.links.truncate(LINKS_TOLD);
        explanation.conclude(&self.dir);
        Ok(explanation)
    }
}

/// What may stand in the journal for a URL that is too long, as a person types
/// it: with a scheme or without.
fn stand_ins(typed: &str) -> Vec<String> {
    let typed = typed.trim();
    match typed.contains("://") {
        true => vec![Url::stand_in(typed)],
        false => {
            let bare = typed.trim_start_matches('/');
            let schemes = ["https", "http"].iter();
            let urls = schemes.map(|scheme| Url::stand_in(&format!("{scheme}://{bare}")));
            urls.collect()
        }
    }
}

/// What the index leads to: a few records, wherever they stand.
pub fn facts(views: &Views, journal: &mut Positions, url: &str) -> Result<Explanation, CrawlError> {
    let mut explanation = Explanation::new(url);
    // A link that no crawl can hold has no host.
    let parsed = Url::from_normal(url).ok();
    explanation.forgotten = parsed
        .as_ref()
        .and_then(|url| views.takedown_of(url))
        .map(Into::into);
    for of in [Mention::Found, Mention::Visit, Mention::Refused] {
        let Some(position) = views.find(url, of)? else {
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
    let Some(url) = parsed else {
        return Ok(explanation);
    };
    for of in [Mention::Robots, Mention::GivenUp] {
        if let Some(position) = views.find(url.origin(), of)?
            && let Some(Record::HostEvent(event)) = journal.record_at(position)?
            && event.host == url.origin()
        {
            explanation.note_host(event);
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
