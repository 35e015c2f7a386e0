//! `rhumb status`

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rhumb_crawl::{Answer, Question, Snapshot, Status, ask, inspect};
use serde::Serialize;

use crate::args::StatusArgs;
use crate::failure::Failure;
use crate::figures::{by_kind, bytes, clock, count};

/// What the directory holds and, if a crawl runs in it, how that goes.
#[derive(Serialize)]
struct Report {
    running: bool,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    journal_bytes: u64,
    archive_bytes: u64,
    archive_files: u64,
    #[serde(flatten)]
    counts: Snapshot,
}

pub fn run(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let dir = &args.place.dir;
    let mut last: Option<(f64, u64)> = None;
    loop {
        let (running, counts) = match running_status(dir)? {
            Some(status) => (Some(status.clone()), status.counts),
            None => (None, inspect(dir)?),
        };
        let now = running
            .as_ref()
            .map(|status| (status.seconds, counts.fetched));
        let speed = now.map(|(seconds, fetched)| match last {
            // Between two looks where there were two, else over the run.
            Some((then, before)) if seconds > then => {
                fetched.saturating_sub(before) as f64 / (seconds - then)
            }
            _ => fetched as f64 / seconds.max(1e-3),
        });
        last = now.or(last);
        let is_running = running.is_some();
        print(&report(dir, running, counts, speed), args)?;
        if !args.watch || !is_running {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
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
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(Failure::io("the running crawl")(error)),
    }
}

fn report(dir: &Path, running: Option<Status>, counts: Snapshot, speed: Option<f64>) -> Report {
    let (journal_bytes, _) = folder_size(&dir.join("journal"));
    let (archive_bytes, archive_files) = folder_size(&dir.join("warc"));
    let running = running.as_ref();
    Report {
        running: running.is_some(),
        paused: running.map(|s| s.paused),
        disk_full: running.map(|s| s.disk_full),
        seconds: running.map(|s| s.seconds),
        pages_per_second: speed,
        shards: running.map(|s| s.shards),
        max_connections: running.map(|s| s.max_connections),
        documents: running.map(|s| s.documents),
        journal_bytes,
        archive_bytes,
        archive_files,
        counts,
    }
}

fn folder_size(folder: &Path) -> (u64, u64) {
    let lengths = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    lengths.fold((0, 0), |(sum, files), length| (sum + length, files + 1))
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
        .map_err(Failure::io("standard output"))
}

fn describe(report: &Report, dir: &Path) -> String {
    let counts = &report.counts;
    let state = match (report.running, report.paused, report.disk_full) {
        (false, ..) => "not running",
        (_, _, Some(true)) => "paused: the disk is nearly full",
        (_, Some(true), _) => "paused",
        _ => "running",
    };
    let mut rows = vec![("crawl", format!("{} ({state})", dir.display()))];
    if let (Some(speed), Some(seconds)) = (report.pages_per_second, report.seconds) {
        let time = clock(Duration::from_secs_f64(seconds));
        rows.push(("speed", format!("{speed:.1} pages/s, running for {time}")));
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
                "{} seen on {} hosts, {} queued; {} links, {} of them refused",
                count(counts.urls_seen),
                count(counts.hosts),
                count(counts.queued),
                count(counts.links),
                count(counts.links_refused)
            ),
        ),
        (
            "disk",
            format!(
                "archive {} in {} files, journal {}; {} received",
                bytes(report.archive_bytes),
                report.archive_files,
                bytes(report.journal_bytes),
                bytes(counts.bytes)
            ),
        ),
    ]);
    for (label, table) in [("outcomes", &counts.outcomes), ("links", &counts.fates)] {
        if !table.is_empty() {
            rows.push((label, by_kind(table)));
        }
    }
    rows.iter()
        .map(|(label, text)| format!("{label:<12} {text}\n"))
        .collect()
}
