//! The set of known keys: what every implementation must do, and what the one
//! on disk must survive.

mod conformance;
mod crash;
mod damage;
mod model;
mod snapshots;
