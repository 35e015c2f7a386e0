//! One run of one client, measured from outside.

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::Serialize;

use crate::BenchError;
use crate::pin::{Core, Cores};
use crate::served::Served;

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Measured {
    pub pages: u64,
    pub requests: u64,
    pub wall_seconds: f64,
    /// User and system time of the client.
    pub cpu_seconds: f64,
    /// The server's processor time as a share of the wall time.
    pub server_share: f64,
}

impl Measured {
    pub fn pages_per_cpu_second(&self) -> f64 {
        self.pages as f64 / self.cpu_seconds
    }

    /// The client's processor time as a share of the wall time.
    pub fn client_share(&self) -> f64 {
        self.cpu_seconds / self.wall_seconds
    }
}

pub fn measure(
    served: &Served,
    cores: &Cores,
    command: &mut Command,
) -> Result<Measured, BenchError> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let place = served.log_end()?;
    let server_before = served.cpu_seconds();
    let cpu_before = children_cpu_seconds()?;
    let started = Instant::now();
    let status = cores
        .spawn(Core::Client, command)
        .and_then(|mut child| child.wait())
        .map_err(BenchError::io(name.clone()))?;
    let wall_seconds = started.elapsed().as_secs_f64();
    // Only the client was waited for in between.
    let cpu_seconds = children_cpu_seconds()? - cpu_before;
    let server_seconds = served.cpu_seconds() - server_before;
    let asked = served.asked_since(place)?;
    if asked.pages == 0 {
        return Err(BenchError::Other(format!(
            "{name} fetched no page and ended with {status}"
        )));
    }
    Ok(Measured {
        pages: asked.pages,
        requests: asked.requests,
        wall_seconds,
        cpu_seconds,
        server_share: server_seconds / wall_seconds,
    })
}

/// Processor time of all children that were waited for.
fn children_cpu_seconds() -> Result<f64, BenchError> {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let sum = |usage: Usage| seconds(usage.user_time()) + seconds(usage.system_time());
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map(sum)
        .map_err(|error| BenchError::Other(format!("getrusage: {error}")))
}
