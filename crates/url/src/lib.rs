//! URLs as the crawl knows them.
//!
//! A [`Url`] is always in normal form; there is no way to hold one that is
//! not. This room also says which host, site and partition a URL belongs to,
//! gives it its fingerprint, and decides whether it is in scope.
//!
//! It is pure: no I/O, no clock, no global state.

mod fingerprint;
mod host;
mod normal;
mod scope;

pub use fingerprint::{Fingerprinter, PARTITIONS, Partition, UrlKey};
pub use host::{Host, Scheme, site_of};
pub use normal::{NORMALISER_VERSION, Refusal, Url};
pub use scope::{Scope, ScopeRule};
