//! What the whole-crawl tests have in common.

pub mod figures;
pub mod files;
pub mod name_server;
pub mod odd_server;
pub mod patience;
pub mod program;
pub mod python;
pub mod request_log;
pub mod simulated;
pub mod small_disk;
pub mod stalls;
pub mod trial;
pub mod warc;

pub use figures::{figure, urls};
pub use patience::wait_for;
pub use program::{Done, Running, run, run_with};
pub use simulated::Simulated;
