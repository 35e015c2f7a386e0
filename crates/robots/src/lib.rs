//! What a site asks of robots.
//!
//! Bytes of a robots.txt go in, the [`Rules`] for one agent come out, and every
//! verdict names the line that decided. Robots meta tags and `X-Robots-Tag`
//! headers are read here too. The matcher is our own because the ones at hand
//! fail RFC 9309 cases or can be made slow; `README.md` says which leniencies
//! it has. Sitemaps, which a robots.txt often names, are read in [`Sitemap`].
//!
//! It is pure: no I/O, no clock, no global state. It never decides what an
//! unreachable robots.txt means; whoever fetches does.

mod agent;
mod line;
mod meta;
mod parse;
mod pattern;
mod rules;
mod sitemap;

pub use agent::product_token;
pub use meta::MetaRobots;
pub use parse::{MAX_CRAWL_DELAY, MAX_RULES, MAX_SITEMAPS, MAX_SIZE};
pub use rules::{Rules, Verdict};
pub use sitemap::{
    Alternate, ChangeFrequency, Entry, NotASitemap, Problem, ProblemKind, Sitemap, SitemapKind,
    SitemapSettings, Strictness,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
