//! The simulated web: hosts, pages, links, robots rules, redirects, copies
//! and DNS, all computed from a seed and none of it stored, so a web of a
//! hundred million pages costs no more memory than one of ten.
//!
//! [`Web`] is the pure model: the same configuration gives the same bytes and
//! the same [`Truth`]. [`Sim`] serves a `Web` over HTTP and DNS on loopback
//! addresses from a thread of its own, and logs every request.
//!
//! This room touches its sockets and, when asked, one log file. It never
//! answers a peer that is not on this machine, never opens a connection, and
//! depends on no other room: a test that compares the crawler with it compares
//! two independent opinions.

mod config;
mod connection;
mod content;
mod dns;
mod hash;
mod host;
mod href;
mod html;
mod links;
mod log;
mod name;
mod path;
mod robots;
mod server;
mod sitemap;
mod sizes;
mod slot;
mod survey;
mod truth;
mod vocabulary;
mod web;

pub use config::{ConfigError, Log, SimConfig, SimError, WebConfig};
pub use log::LoggedRequest;
pub use server::{Sim, StopHandle};
pub use truth::Truth;
pub use web::{Response, Web};
