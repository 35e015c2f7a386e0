//! The way to the network: a URL in, a [`Document`] or a named [`Failure`] out.
//!
//! This room resolves names ([`Resolver`]), opens connections ([`Fetcher`]),
//! and asks for one URL at a time on each ([`Connection`]). What comes back
//! carries the exact bytes that were sent and received, so that an archive can
//! keep them, next to the payload without its transfer framing and the body
//! without its content codings.
//!
//! It touches sockets, the system's DNS settings and files without a name for
//! long responses under way, nothing else. It never decides
//! what to fetch or when, knows nothing of robots.txt, delays, redirects or
//! archives, and starts no task of its own (only the resolver's sockets are
//! driven in the background of the runtime it is used in). All that servers
//! send is bounded in bytes and in time, and no connection leads to where the
//! [`Guard`] says it must not.
//!
//! It is made for a `current_thread` tokio runtime: a [`Connection`] stays in
//! its thread, a [`Document`] may go to another.
//!
//! One module per protocol: [`http1`](Connection) is the only one so far.

mod config;
mod connect;
mod decode;
mod dns;
mod document;
mod failure;
mod guard;
mod http1;
mod spool;
mod stream;
mod tls;
mod wanted;

pub use config::{FetchConfig, SetupError};
pub use connect::Fetcher;
pub use dns::{DnsConfig, Resolver};
pub use document::{Document, Truncation, Unwanted, Validators};
pub use failure::Failure;
pub use guard::Guard;
pub use http1::Connection;
pub use spool::Spool;
pub use wanted::WantedTypes;
