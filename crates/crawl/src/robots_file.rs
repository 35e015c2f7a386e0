//! A robots.txt that a person asks about: read from a file, or fetched and
//! understood as a crawl does.

use rhumb_fetch::{Document, Failure, Fetcher, Resolver};
use rhumb_robots::{Rules, Verdict, product_token};
use rhumb_url::{Refusal, Url};

use crate::config::Config;
use crate::engine::CrawlError;
use crate::robots::{Robots, meaning};
use crate::shared::{dns_config, fetch_config};
use crate::visit::outcome_of_failure;

/// The rules for one agent, and the site they are for.
pub struct RobotsFile {
    rules: Rules,
    /// Any page of the site; none if they are for whatever is asked.
    site: Option<Url>,
    standing: Standing,
}

/// What a crawl makes of the answer to a request for robots.txt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its rules count.
    Found,
    /// There is none: everything is allowed.
    Missing { why: String },
    /// It is not known what it says: nothing is visited.
    Closed { why: String },
    /// Nobody answered: nothing is visited either, and it is asked for again.
    Unanswered { why: String },
}

/// Why there is no answer to a question.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVerdict {
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    NotAUrl(#[from] Refusal),
    #[error("another origin: this robots.txt speaks for {0} alone")]
    OtherOrigin(String),
}

impl RobotsFile {
    /// The rules of a text, for the URLs of any site.
    pub fn read(text: &[u8], agent: &str) -> RobotsFile {
        RobotsFile {
            rules: Rules::parse(text, product_token(agent)),
            site: None,
            standing: Standing::Found,
        }
    }

    /// Ask the site of a page for its robots.txt, once, and follow where it
    /// leads as far as a crawl does.
    pub async fn fetch(page: &Url, config: &Config) -> Result<RobotsFile, CrawlError> {
        let resolver = Resolver::new(&dns_config(config)?)?;
        let fetcher = Fetcher::new(fetch_config(config)?)?;
        let token = product_token(&config.agent);
        let mut next = page.join("/robots.txt");
        let mut hops = 0;
        let (rules, standing) = loop {
            let url = match next {
                Ok(url) => url,
                Err(why) => {
                    let why = why.to_string();
                    break (Rules::disallow_all(), Standing::Closed { why });
                }
            };
            let document = match get(&resolver, &fetcher, &url).await {
                Ok(document) => document,
                Err(failure) => {
                    let why = format!("{}: {failure}", outcome_of_failure(&failure));
                    break (Rules::disallow_all(), Standing::Unanswered { why });
                }
            };
            match meaning(&document, token, hops) {
                Robots::Rules(rules) => break (rules, standing_of(&document)),
                Robots::Unreachable { why } => {
                    break (Rules::disallow_all(), Standing::Closed { why });
                }
                Robots::Elsewhere { url: to, hops: now } => {
                    // Another request to the same name is another visit.
                    if to.name() == url.name() {
                        tokio::time::sleep(config.delay).await;
                    }
                    (next, hops) = (Ok(to), now);
                }
            }
        };
        Ok(RobotsFile {
            rules,
            site: Some(page.clone()),
            standing,
        })
    }

    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// May it be visited? The text is a URL, as a seed may be written, or a
    /// path of the site; nothing at all is its root. A URL too long for any
    /// crawl is asked about as it is written.
    pub fn ask(&self, text: &str) -> Result<Verdict<'_>, NoVerdict> {
        let text = text.trim();
        let is_path = text.is_empty() || (text.starts_with('/') && !text.starts_with("//"));
        let text = match is_path {
            true => {
                let site = self.site.as_ref().map_or("http://localhost", Url::origin);
                &format!("{site}{text}")
            }
            false => text,
        };
        match Url::parse_seed(text) {
            Ok(url) => self.check(&url, url.path_and_query()),
            Err(Refusal::TooLong { .. }) => {
                let (site, target) = as_written(text)?;
                self.check(&site, &target)
            }
            Err(why) => Err(why.into()),
        }
    }

    fn check(&self, url: &Url, target: &str) -> Result<Verdict<'_>, NoVerdict> {
        if let Some(site) = &self.site
            && site.origin() != url.origin()
        {
            return Err(NoVerdict::OtherOrigin(site.origin().to_owned()));
        }
        match self.standing {
            Standing::Found | Standing::Missing { .. } => Ok(self.rules.check(target)),
            // Not even the robots.txt itself is a page to visit then.
            Standing::Closed { .. } | Standing::Unanswered { .. } => Ok(Verdict {
                allowed: false,
                line: None,
                rule: None,
            }),
        }
    }
}

async fn get(resolver: &Resolver, fetcher: &Fetcher, url: &Url) -> Result<Document, Failure> {
    let addresses = resolver.resolve(url.name()).await?;
    let mut connection = fetcher.connect(url, &addresses).await?;
    connection.get_of_any_type(url).await
}

/// Of an answer that is no reason to stay away.
fn standing_of(document: &Document) -> Standing {
    match document.status {
        200..300 => Standing::Found,
        status => Standing::Missing {
            why: format!("robots.txt answered with status {status}"),
        },
    }
}

/// The site of a URL, and its path and query, which are not brought into
/// normal form.
fn as_written(text: &str) -> Result<(Url, String), Refusal> {
    let text = text.split('#').next().unwrap_or_default();
    let name = match text.split_once("//") {
        Some((scheme, _)) if !scheme.contains(['/', '?']) => scheme.len() + 2,
        _ => 0,
    };
    let end = text[name..].find(['/', '?']);
    let (site, target) = text.split_at(end.map_or(text.len(), |at| name + at));
    let slash = if target.starts_with('/') { "" } else { "/" };
    Ok((Url::parse_seed(site)?, format!("{slash}{target}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(robots: &RobotsFile, text: &str) -> bool {
        robots.ask(text).unwrap().allowed
    }

    #[test]
    fn a_question_is_a_url_a_name_or_a_path() {
        let text = b"User-agent: *\nDisallow: /a\nDisallow: /$\n";
        let robots = RobotsFile::read(text, "rhumb");
        for refused in [
            "http://x.test/a",
            "https://y.test:8443/%61?q#f",
            "x.test/b/../a",
            "//x.test/a",
            "/a",
            " /b/./../ab ",
            "http://x.test",
            "x.test",
            "/",
            "",
        ] {
            assert!(!allowed(&robots, refused), "{refused}");
        }
        for fine in ["http://x.test/A", "/b", "x.test/?a", "/?"] {
            assert!(allowed(&robots, fine), "{fine}");
        }
        for wrong in [
            "http://[",
            "mailto:a@b.test",
            "http://me@x.test/",
            "?a",
            "#",
        ] {
            let why = robots.ask(wrong).unwrap_err();
            assert!(matches!(why, NoVerdict::NotAUrl(_)), "{wrong}: {why}");
        }
    }

    #[test]
    fn a_url_too_long_for_a_crawl_is_asked_about_as_written() {
        let long = "x".repeat(3 * Url::MAX_LENGTH);
        let robots = RobotsFile::read(b"User-agent: *\nDisallow: /*x/a$\nDisallow: /?b", "rhumb");
        for (url, expected) in [
            (format!("http://x.test/{long}/a#b"), false),
            (format!("x.test/{long}//a"), true),
            (format!("/{long}/a"), false),
            (format!("//x.test?b{long}"), false),
            (format!("x.test/?u=http://y.test/{long}"), true),
        ] {
            assert_eq!(allowed(&robots, &url), expected, "{url}");
        }
        let name = format!("http://{long}/a");
        assert!(robots.ask(&name).is_err(), "no name is that long");
    }
}
