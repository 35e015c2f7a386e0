//! `rhumb status`

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rhumb_crawl::{Answer, AskError, Question, Snapshot, Status, ask, inspect};
use serde::Serialize;

use crate::args::StatusArgs;
use crate::commands::host_status;
use crate::commands::sizes::Sizes;
use crate::failure::Failure;
use crate::figures::{beyond_max_links, by_kind, bytes, clock, count};

/// What the directory holds and, if a crawl runs in it, how that goes.
#[derive(Serialize)]
struct Report {
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_full: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_connections: Option<usize>,
    documents: u64,
    sizes: Sizes,
    #[serde(flatten)]
    counts: Snapshot,
}

pub fn run(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let dir = &args.place.dir;
    if let Some(host) = &args.host {
        return host_status::run(args, host);
    }
    let mut last: Option<(f64, u64)> = None;
    loop {
        let (running, counts, documents) = match running_status(dir)? {
            Some(status) => {
                let (counts, documents) = (status.counts.clone(), status.documents);
                (Some(status), counts, documents)
            }
            None => {
                let (counts, documents) = inspect(dir)?;
                (None, counts, documents)
            }
        };
        let speed = running.as_ref().map(|status| speed(status, last));
        last = running
            .as_ref()
            .map(|status| (status.seconds, status.fetched_this_run));
        let is_running = running.is_some();
        print(&report(dir, running, counts, documents, speed), args)?;
        if !args.watch || !is_running {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Pages a second: between two looks where there were two, else over the run.
fn speed(now: &Status, last: Option<(f64, u64)>) -> f64 {
    if now.paused || now.disk_full {
        return 0.0;
    }
    let (then, before) = last
        .filter(|(then, _)| now.seconds > *then)
        .unwrap_or_default();
    let fetched = now.fetched_this_run.saturating_sub(before);
    fetched as f64 / (now.seconds - then).max(1e-3)
}

fn running_status(dir: &Path) -> Result<Option<Status>, Failure> {
    let mut status = None;
    let asked = ask(dir, &Question::Status, |answer| {
        if let Answer::Status(s) = answer {
            status = Some(*s);
        }
        Ok(())
    });
    match asked {
        Ok(_) => Ok(status),
        // It ended between the question and the answer.
        Err(AskError::Ended) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn report(
    dir: &Path,
    running: Option<Status>,
    counts: Snapshot,
    documents: u64,
    speed: Option<f64>,
) -> Report {
    let running = running.as_ref();
    Report {
        running: running.is_some(),
        ending: running.map(|s| s.ending),
        paused: running.map(|s| s.paused),
        disk_full: running.map(|s| s.disk_full),
        seconds: running.map(|s| s.seconds),
        pages_per_second: speed,
        shards: running.map(|s| s.shards),
        max_connections: running.map(|s| s.max_connections),
        documents,
        sizes: Sizes::of(
            dir,
            counts.urls_seen,
            counts.queued,
            documents,
            counts.hosts,
        ),
        counts,
    }
}

fn print(report: &Report, args: &StatusArgs) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let text = if args.json {
        serde_json::to_string(report).map_err(|e| Failure::Other(e.to_string()))? + "\n"
    } else {
        let clear = if args.watch && out.is_terminal() {
            "\x1b[H\x1b[J"
        } else {
            ""
        };
        format!("{clear}{}", describe(report, &args.place.dir))
    };
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

fn describe(report: &Report, dir: &Path) -> String {
    let counts = &report.counts;
    let is = |flag: Option<bool>| flag == Some(true);
    let state = match report.running {
        false => "not running",
        true if is(report.ending) => "stopping",
        true if is(report.disk_full) => "paused: the disk is nearly full",
        true if is(report.paused) => "paused",
        true => "running",
    };
    let mut rows = vec![("crawl", format!("{} ({state})", dir.display()))];
    if let (Some(speed), Some(seconds)) = (report.pages_per_second, report.seconds) {
        let time = clock(Duration::from_secs_f64(seconds));
        let speed = match is(report.paused) || is(report.disk_full) {
            true => "none while it is paused".to_owned(),
            false => format!("{speed:.1} pages/s"),
        };
        rows.push(("speed", format!("{speed}, running for {time}")));
        rows.push((
            "connections",
            format!(
                "{} open of {}, {} URLs in flight, {} shards",
                counts.connections,
                report.max_connections.unwrap_or_default(),
                counts.in_flight,
                report.shards.unwrap_or_default()
            ),
        ));
    }
    rows.extend([
        (
            "pages",
            format!(
                "{} fetched ({} redirects, {} duplicates), {} failed, {} refused",
                count(counts.fetched),
                count(counts.redirects),
                count(counts.duplicates),
                count(counts.failed),
                count(counts.refused)
            ),
        ),
        (
            "URLs",
            format!(
                "{} seen on {} hosts, {} queued; {} links, {} of them refused{}",
                count(counts.urls_seen),
                count(counts.hosts),
                count(counts.queued),
                count(counts.links),
                count(counts.links_refused),
                beyond_max_links(counts.links_dropped)
            ),
        ),
        ("bytes", format!("{} received", bytes(counts.bytes))),
    ]);
    for (label, table) in [("outcomes", &counts.outcomes), ("links", &counts.fates)] {
        if !table.is_empty() {
            rows.push((label, by_kind(table)));
        }
    }
    let labels = std::iter::once("on disk").chain(std::iter::repeat(""));
    rows.extend(labels.zip(report.sizes.describe()));
    rows.iter()
        .map(|(label, text)| format!("{label:<12} {text}\n"))
        .collect()
}
