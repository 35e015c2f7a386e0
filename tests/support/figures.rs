//! Reading what the program prints.

use std::path::Path;

use super::program::run;

/// A whole number in a JSON object.
pub fn figure(json: &serde_json::Value, name: &str) -> u64 {
    json[name]
        .as_u64()
        .unwrap_or_else(|| panic!("no whole number {name} in {json}"))
}

/// `rhumb urls --state STATE`, line by line.
pub fn urls(dir: &Path, state: &str) -> Vec<String> {
    let dir = dir.display().to_string();
    run(["urls", "--dir", &dir, "--state", state])
        .expect_code(0)
        .lines()
}
