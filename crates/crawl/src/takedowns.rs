//! Takedowns: what was forgotten on request, and is not to come back by a
//! link or a seed until that is lifted.
//!
//! The journal's records are the truth. The views keep this list of them, and
//! every checkpoint has it, so that a start need not read the whole journal.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;
use rhumb_store::{Control, JournalReader, Record, Timestamp, journals_in};
use rhumb_url::Url;
use serde::{Deserialize, Serialize};

use crate::engine::{CrawlError, io_error};
use crate::forgotten::Forgotten;
use crate::listing::open;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takedown {
    /// The host, or the beginning of URLs.
    pub what: String,
    pub time: Timestamp,
    /// How much went.
    pub removed: String,
    /// Since when it may be visited again.
    pub lifted: Option<Timestamp>,
}

/// All takedowns of a crawl, in the order they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takedowns(Vec<Takedown>);

impl Takedowns {
    /// Those of a crawl directory, whether a crawl runs there or not: reads
    /// its journals.
    pub fn read(dir: &Path) -> Result<Takedowns, CrawlError> {
        let (directory, disk) = open(dir)?;
        let folder = directory.journal();
        let named = Finder::new(Control::FORGOTTEN);
        let mut found = Vec::new();
        for journal in journals_in(&*disk, &folder).map_err(io_error(&folder))? {
            let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
            while let Some(group) = reader.next_group()? {
                if group.mentions(&named) {
                    let records = group.records_mentioning(&named);
                    found.extend(records.filter_map(|(position, record)| match record {
                        Ok(Record::Control(control)) => Some((position.epoch, control)),
                        _ => None,
                    }));
                }
            }
            reader.check_end()?;
        }
        // Each was made in an epoch of its own.
        found.sort_by_key(|(epoch, _)| *epoch);
        let mut takedowns = Takedowns::default();
        for (_, control) in &found {
            takedowns.enter(control);
        }
        Ok(takedowns)
    }

    /// Take in a record, if it is about a takedown.
    pub fn enter(&mut self, control: &Control) {
        match control.command.as_str() {
            Control::FORGOTTEN => self.0.push(Takedown {
                what: control.subject.clone(),
                time: control.time,
                removed: control.detail.clone(),
                lifted: None,
            }),
            Control::LIFTED => {
                for takedown in self.0.iter_mut().filter(|t| t.what == control.subject) {
                    takedown.lifted.get_or_insert(control.time);
                }
            }
            _ => {}
        }
    }

    pub fn all(&self) -> &[Takedown] {
        &self.0
    }

    /// The takedown a URL is under, or else the last that it was under.
    pub fn of(&self, url: &Url) -> Option<&Takedown> {
        let mut about = self.0.iter().filter(|takedown| {
            let what = Forgotten::parse(&takedown.what);
            what.is_ok_and(|what| what.matches(url.as_str()))
        });
        let last = about.clone().next_back();
        about.find(|takedown| takedown.lifted.is_none()).or(last)
    }

    /// Whether a takedown of exactly this holds.
    pub fn holds(&self, what: &Forgotten) -> bool {
        let mut same = self.0.iter().filter(|t| t.what == what.as_str());
        same.any(|takedown| takedown.lifted.is_none())
    }

    pub fn in_force(&self) -> InForce {
        let mut force = InForce::default();
        for takedown in self.0.iter().filter(|t| t.lifted.is_none()) {
            match Forgotten::parse(&takedown.what) {
                Ok(Forgotten::Host(host)) => drop(force.hosts.insert(host)),
                Ok(Forgotten::Prefix(prefix)) => drop(force.prefixes.insert(prefix)),
                Err(_) => {}
            }
        }
        // One that begins like another says nothing more. Without such, only
        // the last prefix before a URL can be the beginning of it.
        let mut last: Option<String> = None;
        force.prefixes.retain(|prefix| {
            let said = last.as_ref().is_some_and(|last| prefix.starts_with(last));
            if !said {
                last = Some(prefix.clone());
            }
            !said
        });
        force
    }
}

/// The takedowns that hold, ready to be asked for every link.
#[derive(Debug, Default)]
pub struct InForce {
    hosts: HashSet<String>,
    prefixes: BTreeSet<String>,
}

impl InForce {
    /// The takedown that forbids a URL.
    pub fn covering(&self, url: &Url) -> Option<&str> {
        if !self.hosts.is_empty() {
            let mut name = Some(url.name());
            while let Some(this) = name {
                if let Some(host) = self.hosts.get(this) {
                    return Some(host);
                }
                name = this.split_once('.').map(|(_, above)| above);
            }
        }
        let up_to = (Bound::Unbounded, Bound::Included(url.as_str()));
        let before = self.prefixes.range::<str, _>(up_to).next_back();
        let before = before.filter(|prefix| url.as_str().starts_with(prefix.as_str()));
        before.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(command: &str, what: &str, time: u64) -> Control {
        Control {
            command: command.to_owned(),
            subject: Forgotten::parse(what).unwrap().as_str().to_owned(),
            time: Timestamp(time),
            ..Control::default()
        }
    }

    #[test]
    fn what_is_asked_for_every_link_says_what_the_list_says() {
        let names = [
            "gone.test",
            "b.gone.test",
            "one.test",
            "[::1]",
            "http://a.test/x",
            "http://a.test/x/y/",
            "http://a.test/z/",
            "https://a.test/",
        ];
        let urls: Vec<Url> = [
            "http://gone.test/",
            "http://a.b.gone.test:81/q",
            "http://begone.test/",
            "http://gone.test.other/",
            "http://[::1]:8080/",
            "http://one.test/?x",
            "http://a.test/",
            "http://a.test/x",
            "http://a.test/xyz",
            "http://a.test/x/y/z",
            "http://a.test/y",
            "http://a.test/z",
            "http://a.test/z/",
            "https://a.test/x",
            "https://b.test/",
        ]
        .map(|url| Url::parse(url).unwrap())
        .into();
        let mut takedowns = Takedowns::default();
        let mut barred = 0;
        // Every name is forgotten, then every name is lifted, one by one.
        for (time, name) in (0..).zip(names.iter().chain(&names)) {
            let command = match time < names.len() as u64 {
                true => Control::FORGOTTEN,
                false => Control::LIFTED,
            };
            takedowns.enter(&control(command, name, time));
            let force = takedowns.in_force();
            for url in &urls {
                let said = takedowns.of(url).is_some_and(|t| t.lifted.is_none());
                assert_eq!(force.covering(url).is_some(), said, "{url} at {time}");
                barred += u32::from(said);
            }
        }
        assert!(barred > 50, "{barred}");
        assert_eq!(takedowns.all().len(), names.len());
        assert!(takedowns.all().iter().all(|t| t.lifted.is_some()));
    }

    #[test]
    fn what_was_lifted_can_be_forgotten_again() {
        let url = Url::parse("http://gone.test/").unwrap();
        let mut takedowns = Takedowns::default();
        for (time, command) in [Control::FORGOTTEN, Control::LIFTED, Control::FORGOTTEN]
            .iter()
            .enumerate()
        {
            takedowns.enter(&control(command, "Gone.test", time as u64));
        }
        let times = takedowns.of(&url).map(|t| (t.time.0, t.lifted));
        assert_eq!(times, Some((2, None)));
        assert!(takedowns.holds(&Forgotten::parse("gone.test").unwrap()));
    }
}
