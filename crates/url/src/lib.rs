//! URLs as the crawl knows them.
//!
//! A [`Url`] is always in normal form; there is no way to hold one that is
//! not. This room also says which host, site and partition a URL belongs to,
//! gives it its fingerprint, and decides whether it is in scope.
//!
//! It is pure: no I/O, no clock, no global state.

mod base;
mod fingerprint;
mod host;
mod normal;
#[cfg(test)]
mod odd;
mod percent;
mod plain;
mod reach;
mod refusal;
mod scope;
mod seed;

pub use base::Base;
pub use fingerprint::{Fingerprinter, KeyedUrl, Keyer, PARTITIONS, Partition, UrlKey};
pub use host::{Host, Scheme, site_of, suffix_list_version};
pub use normal::{NORMALISER_VERSION, Url};
pub use reach::{is_public_address, is_public_name};
pub use refusal::Refusal;
pub use scope::{Scope, ScopeRule};
