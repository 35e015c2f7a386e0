//! Pages are computed, not stored. This test has a process of its own, so that
//! what it measures is its own.

use rhumb_sim::{Web, WebConfig};

/// Resident memory in kilobytes, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_hundred_million_pages_take_no_memory() {
    let Some(before) = resident() else {
        println!("left out: this system does not tell how much memory is used");
        return;
    };
    let web = Web::new(&WebConfig {
        hosts: 1_000_000,
        pages: 100_000_000,
        seed: 1,
        port: 8080,
    })
    .unwrap();
    let mut bytes = 0;
    for rank in (0..1_000_000).step_by(500) {
        let host = web.host_name(rank);
        bytes += web.response(&host, "/", false).body.len();
    }
    assert!(bytes > 20_000_000);
    let grown = resident().unwrap().saturating_sub(before);
    assert!(grown < 24_000, "grown by {grown} kB");
}
