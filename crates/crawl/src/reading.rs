//! From a document to what its visit records: pure, and `Send`, so that any
//! thread may do it.

use rhumb_fetch::{Document, Unwanted};
use rhumb_page::{Link, LinkKind, Options, Page, Source, Target, extract};
use rhumb_robots::MetaRobots;
use rhumb_store::{LinkRecord, Outcome};
use rhumb_url::{Base, Refusal, Scope, Url};

use crate::judge::{Judged, LinkRules};

/// What a response's status makes of the visit.
fn outcome_of(document: &Document) -> Outcome {
    match document.status {
        200..=299 => Outcome::Fetched,
        301..=303 | 307 | 308 if document.location().is_some() => Outcome::Redirect,
        _ => Outcome::HttpError,
    }
}

/// How a visit that brought this response ends, and what decided it.
pub fn judged(document: &Document) -> (Outcome, String) {
    match &document.unwanted {
        Some(Unwanted::Type(kind)) => {
            let why = format!("content type {kind}, not among the setting `types`");
            (Outcome::UnwantedType, why)
        }
        Some(Unwanted::Size(size)) => {
            let why = format!("{size} bytes, more than the setting `max_body`");
            (Outcome::UnwantedSize, why)
        }
        None => match outcome_of(document) {
            Outcome::HttpError => {
                let leads_nowhere = matches!(document.status, 301..=303 | 307 | 308);
                let location = if leads_nowhere {
                    " without a Location"
                } else {
                    ""
                };
                let why = format!("status {}{location}", document.status);
                (Outcome::HttpError, why)
            }
            other => (other, String::new()),
        },
    }
}

/// What was read out of a document.
#[derive(Default)]
pub struct Reading {
    pub title: String,
    pub charset: String,
    pub links: Vec<LinkRecord>,
    /// The targets of the links whose fate is `offered`, in order.
    pub offered: Vec<Url>,
    /// Links beyond `max_links`.
    pub links_dropped: usize,
}

impl Reading {
    fn add(&mut self, judged: Judged) {
        self.links.push(judged.record);
        self.offered.extend(judged.offered);
    }
}

/// Settings of a reading.
pub struct Reader<'a> {
    pub rules: &'a LinkRules,
    pub scope: &'a Scope,
    pub agent_token: &'a str,
    pub max_links: usize,
    pub max_anchor: usize,
}

impl Reader<'_> {
    /// Read a document that was found at `depth`, in steps from a seed, and
    /// after so many redirects in a row.
    pub fn read(
        &self,
        document: &Document,
        outcome: Outcome,
        depth: u32,
        redirects: u32,
    ) -> Reading {
        match outcome {
            Outcome::Redirect => self.read_redirect(document, depth, redirects),
            Outcome::Fetched => self.read_page(document, depth),
            _ => Reading::default(),
        }
    }

    fn read_redirect(&self, document: &Document, depth: u32, redirects: u32) -> Reading {
        let mut reading = Reading::default();
        if let Some(link) = redirect_link(document) {
            let judged = self
                .rules
                .record_redirect(link, self.scope, depth, redirects);
            reading.add(judged);
        }
        reading
    }

    fn read_page(&self, document: &Document, depth: u32) -> Reading {
        let options = Options {
            text: false,
            resources: true,
            max_links: self.max_links,
            max_anchor: self.max_anchor,
            agent: self.agent_token.to_owned(),
            ..Options::default()
        };
        let page = read_links(document, &options);
        let nofollow = self.wishes(document, &page).nofollow;
        let mut reading = Reading {
            title: page.title.unwrap_or_default(),
            charset: page.charset.to_owned(),
            links: Vec::with_capacity(page.links.len()),
            offered: Vec::with_capacity(page.links.len()),
            links_dropped: page.links_dropped,
        };
        for link in page.links {
            let judged = self.rules.record(link, self.scope, depth + 1, nofollow);
            reading.add(judged);
        }
        reading
    }

    /// What the page and its header ask of robots.
    fn wishes(&self, document: &Document, page: &Page) -> MetaRobots {
        let tags = document.headers.get_all("x-robots-tag");
        let from_headers = tags
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(|value| MetaRobots::parse_header(value, self.agent_token));
        let from_page = page.meta_robots.iter().map(|c| MetaRobots::parse_meta(c));
        from_headers
            .chain(from_page)
            .fold(MetaRobots::default(), MetaRobots::or)
    }
}

/// Run the page room over a fetched document.
pub fn read_links(document: &Document, options: &Options) -> Page {
    let link_headers: Vec<&str> = document
        .headers
        .get_all("link")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    extract(
        &Source {
            url: &document.url,
            body: &document.body,
            content_type: document.content_type(),
            link_headers: &link_headers,
            refresh_header: document.header("refresh"),
        },
        options,
    )
}

fn redirect_link(document: &Document) -> Option<Link> {
    let location = document.location()?;
    let target = match document.url.join(&location) {
        Ok(url) => Target::Url(url),
        Err(why) => Target::Refused {
            text: match why {
                Refusal::TooLong { .. } => Base::new(&document.url).stand_in(&location),
                _ => location.chars().take(Url::MAX_LENGTH).collect(),
            },
            why,
        },
    };
    let internal = target
        .url()
        .is_some_and(|url| url.name() == document.url.name());
    Some(Link {
        target,
        kind: LinkKind::Redirect,
        rel: String::new(),
        anchor: String::new(),
        internal,
    })
}
