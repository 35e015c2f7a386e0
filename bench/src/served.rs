//! The simulated web in a process of its own, and what its log says.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rhumb_sim::{LoggedRequest, Truth, Web, WebConfig};
use serde::Deserialize;

use crate::BenchError;
use crate::pin::{Core, Cores};

/// The log is flushed every 200 ms: after this it is whole.
const LOG_IS_WHOLE: Duration = Duration::from_millis(500);
/// Unit of the processor times in `/proc`, the same on all of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// The line that `rhumb sim` prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    seed: String,
    port: u16,
    dns: Option<String>,
}

pub struct Served {
    process: Child,
    log: PathBuf,
    web: Web,
    /// URLs, without the scheme, of documents that are no pages.
    no_pages: HashSet<String>,
    pub seed: String,
    pub port: u16,
    pub dns: String,
    pub command: String,
    pub truth: Truth,
}

/// What one client asked for.
#[derive(Default)]
pub struct Asked {
    /// Whole pages: answers with status 200 less robots.txt, sitemaps and
    /// documents of a type that no crawler of pages wants.
    pub pages: u64,
    pub requests: u64,
}

impl Served {
    pub fn start(
        rhumb: &Path,
        cores: &Cores,
        folder: &Path,
        (hosts, pages, seed): (u32, u64, u64),
    ) -> Result<Served, BenchError> {
        let log = folder.join("requests.jsonl");
        let mut command = Command::new(rhumb);
        command
            .args(["sim", "--port", "0", "--dns-port", "0"])
            .args(["--hosts", &hosts.to_string(), "--pages", &pages.to_string()])
            .args(["--seed", &seed.to_string(), "--log"])
            .arg(&log)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = cores
            .spawn(Core::Server, &mut command)
            .map_err(BenchError::io("rhumb sim"))?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out)
                .read_line(&mut line)
                .map_err(BenchError::io("rhumb sim"))?;
        }
        let ready: Ready = serde_json::from_str(&line)
            .map_err(|error| BenchError::Other(format!("rhumb sim did not start: {error}")))?;
        let web = Web::new(&WebConfig {
            hosts,
            pages,
            seed,
            port: ready.port,
        })?;
        let truth = web.truth();
        Ok(Served {
            process,
            log,
            no_pages: truth.unwanted.iter().map(|url| key_of(url)).collect(),
            web,
            seed: ready.seed,
            port: ready.port,
            dns: ready.dns.unwrap_or_default(),
            command: format!(
                "rhumb sim --port 0 --dns-port 0 --hosts {hosts} --pages {pages} --seed {seed} --log FILE"
            ),
            truth,
        })
    }

    /// Every host's address and name.
    pub fn names(&self) -> impl Iterator<Item = (Ipv4Addr, String)> + '_ {
        (0..self.web.hosts()).filter_map(|rank| {
            let name = self.web.host_name(rank);
            Some((self.web.address(&name)?, name))
        })
    }

    /// Processor seconds the server has used so far.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()));
        let stat = stat.unwrap_or_default();
        // The name of the program, in brackets, may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
    }

    /// Where the log ends now, with everything in it that was asked before.
    pub fn log_end(&self) -> Result<u64, BenchError> {
        std::thread::sleep(LOG_IS_WHOLE);
        let size = std::fs::metadata(&self.log).map(|data| data.len());
        size.map_err(BenchError::io("the request log"))
    }

    /// What was asked after this place in the log.
    pub fn asked_since(&self, place: u64) -> Result<Asked, BenchError> {
        let mut asked = Asked::default();
        self.each_request_since(place, |request| {
            asked.requests += 1;
            asked.pages += u64::from(self.is_page(&request));
        })?;
        Ok(asked)
    }

    /// Every request so far.
    pub fn requests(&self) -> Result<Vec<LoggedRequest>, BenchError> {
        let mut requests = Vec::new();
        self.each_request_since(0, |request| requests.push(request))?;
        Ok(requests)
    }

    fn each_request_since(
        &self,
        place: u64,
        mut with: impl FnMut(LoggedRequest),
    ) -> Result<(), BenchError> {
        let end = self.log_end()?;
        let mut file = File::open(&self.log).map_err(BenchError::io("the request log"))?;
        file.seek(SeekFrom::Start(place))
            .map_err(BenchError::io("the request log"))?;
        for line in BufReader::new(std::io::Read::take(file, end - place)).lines() {
            let line = line.map_err(BenchError::io("the request log"))?;
            let request: LoggedRequest = serde_json::from_str(&line)
                .map_err(|error| BenchError::Other(format!("the request log: {error}")))?;
            with(request);
        }
        Ok(())
    }

    fn is_page(&self, request: &LoggedRequest) -> bool {
        let path = &request.path;
        request.status == 200
            && path != "/robots.txt"
            && !path.starts_with("/sitemap")
            && !self
                .no_pages
                .contains(&format!("{}:{}{path}", request.host, self.port))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn key_of(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}
