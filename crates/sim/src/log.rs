//! The request log: what tests and benchmarks judge a crawler's manners by.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::config::{Log, SimError};

/// How often a log file is flushed.
pub const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedRequest {
    /// When the head of the request was complete, in Unix seconds.
    pub time: f64,
    /// Just before the last write of the response was issued: the client
    /// cannot have had all of it earlier.
    pub end: f64,
    /// As the `Host` header said, without the port, in lower case.
    pub host: String,
    /// The address the client connected to.
    pub address: Ipv4Addr,
    /// Path and query.
    pub path: String,
    pub status: u16,
    pub agent: String,
    /// Length of the body as sent, without its transfer coding.
    pub bytes: u64,
}

enum Sink {
    None,
    File(BufWriter<File>),
    Memory {
        requests: Vec<LoggedRequest>,
        limit: usize,
    },
}

pub struct RequestLog {
    sink: Mutex<Sink>,
    enabled: bool,
    started: Instant,
    started_unix: f64,
}

impl RequestLog {
    pub fn open(log: &Log) -> Result<RequestLog, SimError> {
        let sink = match log {
            Log::None => Sink::None,
            Log::Memory { limit } => Sink::Memory {
                requests: Vec::new(),
                limit: *limit,
            },
            Log::File(path) => {
                let file = File::create(path).map_err(|source| SimError::Log {
                    path: path.clone(),
                    source,
                })?;
                Sink::File(BufWriter::with_capacity(64 * 1024, file))
            }
        };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(RequestLog {
            enabled: !matches!(sink, Sink::None),
            sink: Mutex::new(sink),
            started: Instant::now(),
            started_unix: since_epoch.unwrap_or_default().as_secs_f64(),
        })
    }

    /// Unix seconds on a clock that never steps back, to the microsecond.
    pub fn now(&self) -> f64 {
        let now = self.started_unix + self.started.elapsed().as_secs_f64();
        (now * 1e6).floor() / 1e6
    }

    /// The record is only made when somebody will read it.
    pub fn record(&self, request: impl FnOnce() -> LoggedRequest) -> io::Result<()> {
        if !self.enabled {
            return Ok(());
        }
        let request = request();
        match &mut *self.lock() {
            Sink::None => {}
            Sink::File(file) => {
                serde_json::to_writer(&mut *file, &request)?;
                file.write_all(b"\n")?;
            }
            Sink::Memory { requests, limit } => {
                if requests.len() < *limit {
                    requests.push(request);
                }
            }
        }
        Ok(())
    }

    pub fn flush(&self) -> io::Result<()> {
        match &mut *self.lock() {
            Sink::File(file) => file.flush(),
            Sink::None | Sink::Memory { .. } => Ok(()),
        }
    }

    pub fn requests(&self) -> Vec<LoggedRequest> {
        match &*self.lock() {
            Sink::Memory { requests, .. } => requests.clone(),
            Sink::None | Sink::File(_) => Vec::new(),
        }
    }

    /// A thread that died while writing leaves whole records behind.
    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
