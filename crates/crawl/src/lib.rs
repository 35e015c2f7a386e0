//! The engine: the only switchboard.
//!
//! Frontier, fetch and page never call each other; this room takes a
//! URL from one and hands it to the next, and makes a page true in one step
//! (the commit). It owns the configuration, the shards and what passes
//! between them, recovery, the running crawl's local socket, and the answers
//! to questions about a crawl directory.
//!
//! It reads time and files through the store's doors only.

mod admission;
mod again;
mod budget;
mod catch_up;
mod checkpoint;
mod commit;
mod commit_queue;
mod config;
mod control;
mod counters;
mod door;
mod engine;
mod exchange;
mod explain;
mod forgotten;
mod freezing;
mod gauges;
mod handle;
mod host_status;
mod identity;
mod intake;
mod judge;
mod listing;
mod maintenance;
mod manifest;
mod notes;
mod opening;
mod preflight;
mod reach;
mod reading;
mod recover;
#[cfg(test)]
mod recovery_tests;
mod replay;
mod requests;
mod robots;
mod robots_file;
mod seat;
mod seed_feed;
mod seed_lines;
mod seeds;
mod settled;
mod shard;
mod shared;
mod shares;
mod socket;
mod start;
mod state;
mod stopped;
mod summary;
mod takedowns;
mod throttle;
mod turn;
mod unfetched;
mod verification;
mod views;
mod visit;
mod watch;

pub use config::{
    Config, ConfigError, ENV_PREFIX, Key, Limit, Loader, Size, SizeLimit, TimeLimit, Value,
};
pub use control::Ending;
pub use counters::Snapshot;
pub use engine::{Crawl, CrawlError, Observer};
pub use explain::{Explainer, Explanation, VisitFact};
pub use forgotten::Forgotten;
pub use handle::Handle;
pub use host_status::{HostStatus, RobotsStatus, host_url, inspect_host};
pub use identity::our_identity;
pub use judge::LinkRules;
pub use listing::{Listed, inspect, list_urls};
pub use maintenance::{compact_journal, forget_pages, lift_takedown, rebuild};
pub use manifest::ViewsPart;
pub use preflight::{cpu_time, peak_rss};
pub use reach::{Reach, Special};
pub use reading::{judged, read_links};
pub use robots_file::{NoVerdict, RobotsFile, Standing};
pub use seeds::{SeedError, SeedSource, Seeds};
pub use shared::{dns_config, fetch_config};
pub use shares::Shares;
pub use socket::{Answer, AskError, Question, Status, ask};
pub use state::ViewTables;
pub use summary::Summary;
pub use takedowns::{Takedown, Takedowns};
pub use verification::{Verified, verify, verify_on};
pub use views::Views;
pub use visit::outcome_of_failure;
