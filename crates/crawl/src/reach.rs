//! How far a crawl may reach: to the public Internet only under a name that
//! can be answered to, to other addresses only where the crawl began there.

use std::str::FromStr;

use rhumb_fetch::{DnsConfig, Guard};
use rhumb_url::{Scope, Url, is_public_address, is_public_name};

use crate::config::Config;

/// Whether addresses that are not of the public Internet may be visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// If all seeds are such addresses, or names known to them alone.
    Auto,
    Allow,
    Refuse,
}

impl Special {
    pub fn as_str(self) -> &'static str {
        match self {
            Special::Auto => "auto",
            Special::Allow => "allow",
            Special::Refuse => "refuse",
        }
    }
}

impl FromStr for Special {
    type Err = String;

    fn from_str(text: &str) -> Result<Special, String> {
        match text {
            "auto" => Ok(Special::Auto),
            "allow" => Ok(Special::Allow),
            "refuse" => Ok(Special::Refuse),
            _ => Err(format!("`{text}` is none of auto, allow, refuse")),
        }
    }
}

pub struct Reach {
    special: Special,
    has_contact: bool,
    /// Names with fixed answers that are not public.
    here: Vec<String>,
    guard: Guard,
}

impl Reach {
    pub fn new(config: &Config, dns: &DnsConfig) -> Reach {
        let given: Vec<_> = dns.overrides.iter().map(|(_, address)| *address).collect();
        let fixed = dns.overrides.iter();
        let here = fixed.filter(|(_, address)| !is_public_address(*address));
        let has_contact = has_contact(&config.agent);
        let special = config.special_addresses;
        Reach {
            special,
            has_contact,
            here: here.map(|(name, _)| name.clone()).collect(),
            guard: Guard::new(has_contact, special == Special::Allow, &given),
        }
    }

    pub fn guard(&self) -> Guard {
        self.guard.clone()
    }

    /// The seeds have become more.
    pub fn heed(&self, scope: &Scope) {
        if self.special == Special::Auto {
            self.guard.open_special(scope.starts_locally());
        }
    }

    /// Why a seed cannot be visited by whoever gives no contact.
    pub fn lacks_contact(&self, seed: &Url) -> Option<String> {
        let name = seed.name();
        let here = self.here.iter().any(|known| known == "*" || known == name);
        let lacks = !self.has_contact && !here && is_public_name(name);
        lacks.then(|| {
            format!(
                "{seed} is on the public web, whose owners must be able to reach you: give a URL \
                 or mail address in the agent, as in --agent \"rhumb (+https://your.site/bot)\""
            )
        })
    }
}

/// A place where whoever runs the crawler can be reached.
fn has_contact(agent: &str) -> bool {
    let agent = agent.to_ascii_lowercase();
    let follows = |mark: &str| {
        let place = agent.find(mark).map(|at| &agent[at + mark.len()..]);
        place.is_some_and(|place| place.starts_with(|c: char| c.is_alphanumeric() || c == '['))
    };
    follows("http://") || follows("https://") || follows("mailto:") || follows("@")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_a_url_or_a_mail_address() {
        for agent in [
            "x (+https://example.org/bot)",
            "x/1 http://example.org",
            "x (me@example.org)",
            "x mailto:me",
        ] {
            assert!(has_contact(agent), "{agent}");
        }
        for agent in ["rhumb/0.1.0", "", "x (https://)", "x @"] {
            assert!(!has_contact(agent), "{agent}");
        }
    }

    #[test]
    fn who_gives_no_contact_stays_away_from_the_public_web() {
        let config = Config::default();
        let dns = DnsConfig {
            overrides: vec![("fixed.org".to_owned(), [127, 0, 0, 1].into())],
            ..DnsConfig::default()
        };
        let seed = |text| Url::parse(text).expect("a URL");
        let reach = Reach::new(&config, &dns);
        assert!(reach.lacks_contact(&seed("http://example.org/")).is_some());
        assert!(reach.lacks_contact(&seed("http://fixed.org/")).is_none());
        assert!(reach.lacks_contact(&seed("http://127.0.0.1/")).is_none());
        let config = Config {
            agent: "x (+https://example.org/bot)".to_owned(),
            ..config
        };
        let reach = Reach::new(&config, &dns);
        assert!(reach.lacks_contact(&seed("http://example.org/")).is_none());
    }
}
