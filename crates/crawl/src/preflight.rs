//! Limits of the machine, looked at before they are run into; and what the
//! process has used of it.

use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

use crate::config::Config;
use crate::socket::MAX_ASKERS;

/// File descriptors a process needs besides its connections.
const BASE_FILES: u64 = 64;
/// Those of a shard: its archive, its journal, readers of others' journals
/// and its name look-ups.
pub const FILES_PER_SHARD: u64 = 72;

/// Sockets and files that a configuration may hold open at one time: its
/// connections, whoever asks it, and what its shards need.
pub fn files_needed(config: &Config) -> u64 {
    let sockets = (config.connections + MAX_ASKERS) as u64;
    BASE_FILES + sockets + config.threads as u64 * FILES_PER_SHARD
}

/// Raise the limit on open files as far as the system lets us and say what
/// it is then.
pub fn raise_file_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return u64::MAX;
    };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        hard
    } else {
        soft
    }
}

/// CPU time of this process so far, user and system.
pub fn cpu_time() -> Duration {
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| {
        let micros =
            |time: nix::sys::time::TimeVal| Duration::from_micros(time.num_microseconds() as u64);
        micros(usage.user_time()) + micros(usage.system_time())
    })
}

/// The most memory this process has had resident, in bytes.
pub fn peak_rss() -> u64 {
    // Linux carries the figure of `getrusage` over from the process that
    // started this one; its own is in a file.
    if let Some(kib) = high_water_kib() {
        return kib * 1024;
    }
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit)
}

fn high_water_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
