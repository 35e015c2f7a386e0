//! Which lines of a robots.txt speak to one agent.
//!
//! Groups that name the agent are merged (RFC 9309, 2.2.1); only when there is
//! none, those for everyone count. A line that is no rule does not end a run of
//! `User-agent` lines, but a `Crawl-delay` holds only for the agents named since
//! the last one.

use std::collections::HashSet;
use std::time::Duration;

use crate::agent::{Addressee, product_token};
use crate::line::{Directive, decode, directives};
use crate::rules::{Draft, Rules};

/// How much of a file is read; RFC 9309 asks for at least this.
pub const MAX_SIZE: usize = 500 * 1024;
/// How many rules of one agent count; later ones are not read.
pub const MAX_RULES: usize = 10_000;
/// How many sitemaps are remembered.
pub const MAX_SITEMAPS: usize = 1_000;
/// The longest delay there is: who asks for more gets this.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Longer than any URL that the crawl holds.
const MAX_SITEMAP_LENGTH: usize = 4096;

/// What the groups for one addressee say together.
#[derive(Default)]
struct Group<'a> {
    named: bool,
    rules: Vec<Draft<'a>>,
    delay: Option<Duration>,
    /// The rules that follow belong to it.
    open: bool,
    /// A delay that follows belongs to it.
    takes_delay: bool,
}

impl Group<'_> {
    fn address(&mut self) {
        self.named = true;
        self.open = true;
        self.takes_delay = true;
    }
}

pub(crate) fn parse(bytes: &[u8], agent: &str) -> Rules {
    let text = decode(&bytes[..bytes.len().min(MAX_SIZE)]);
    let token = product_token(agent).as_bytes();
    let mut own = Group::default();
    let mut everyone = Group::default();
    let mut sitemaps = Vec::new();
    let mut known_sitemaps = HashSet::new();
    let (mut after_rule, mut after_delay) = (false, false);

    for (line, directive) in directives(&text) {
        match directive {
            Directive::UserAgent(value) => {
                for group in [&mut own, &mut everyone] {
                    group.open &= !after_rule;
                    group.takes_delay &= !after_rule && !after_delay;
                }
                (after_rule, after_delay) = (false, false);
                match Addressee::of(value) {
                    Addressee::Everyone => everyone.address(),
                    Addressee::Token(name) => {
                        if !token.is_empty() && name.eq_ignore_ascii_case(token) {
                            own.address();
                        }
                    }
                }
            }
            Directive::Rule { allow, value } => {
                after_rule = true;
                for group in [&mut own, &mut everyone] {
                    // An empty rule says nothing, but it is one.
                    if group.open && !value.is_empty() && group.rules.len() < MAX_RULES {
                        group.rules.push(Draft { line, allow, value });
                    }
                }
            }
            Directive::CrawlDelay(value) => {
                after_delay = true;
                for group in [&mut own, &mut everyone] {
                    if group.takes_delay {
                        group.delay = group.delay.max(delay(value));
                    }
                }
            }
            Directive::Sitemap(value) => {
                let fits = !value.is_empty()
                    && value.len() <= MAX_SITEMAP_LENGTH
                    && sitemaps.len() < MAX_SITEMAPS;
                if fits && known_sitemaps.insert(value) {
                    sitemaps.push(String::from_utf8_lossy(value).into_owned());
                }
            }
        }
    }
    let group = if own.named { own } else { everyone };
    Rules::build(group.rules, group.delay, sitemaps)
}

/// Seconds, perhaps with a fraction; what follows the number does not count.
fn delay(value: &[u8]) -> Option<Duration> {
    let number = value
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b'.')
        .count();
    let seconds: f64 = std::str::from_utf8(&value[..number]).ok()?.parse().ok()?;
    let delay = Duration::try_from_secs_f64(seconds).unwrap_or(MAX_CRAWL_DELAY);
    Some(delay.min(MAX_CRAWL_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_leniently_and_bounded() {
        for (value, millis) in [
            ("1", Some(1_000)),
            ("0.5", Some(500)),
            (".2", Some(200)),
            ("0", Some(0)),
            ("10<BR>", Some(10_000)),
            ("5 s", Some(5_000)),
            ("", None),
            ("-1", None),
            ("soon", None),
            ("1.2.3", None),
            ("NaN", None),
            ("99999999999999999999999999", Some(86_400_000)),
        ] {
            let millis = millis.map(Duration::from_millis);
            assert_eq!(delay(value.as_bytes()), millis, "{value}");
        }
        let endless = "9".repeat(10_000);
        assert_eq!(delay(endless.as_bytes()), Some(MAX_CRAWL_DELAY));
    }
}
