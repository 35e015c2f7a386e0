//! `bench journal`: what a visit costs on its way to the disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_page::{Options, Source, extract};
use rhumb_sim::{Web, WebConfig};
use rhumb_store::{
    Archive, ArchiveFormat, Capture, Disk, Fate, Journal, LinkRecord, Outcome, RealDisk, Record,
    SystemClock, Timestamp, Visit, payload_digest,
};
use rhumb_url::Url;

use crate::BenchError;

/// Visits that are committed together: what gathers in a busy crawl.
const GROUP: usize = 16;
const NEVER_ROLL: u64 = u64::MAX;

#[derive(clap::Args)]
pub struct JournalArgs {
    /// Visits to write.
    #[arg(long, default_value_t = 4_000)]
    visits: u64,
    /// How often everything is written; the best time counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

struct Cost {
    what: &'static str,
    time: Duration,
    bytes: u64,
}

pub fn run(args: &JournalArgs) -> Result<(), BenchError> {
    let web = Web::new(&WebConfig {
        hosts: 20,
        pages: args.visits.max(20),
        seed: 1,
        port: 8080,
    })?;
    let (records, captures) = visits(&web);
    let links: usize = records
        .iter()
        .map(|record| match record {
            Record::Visit(visit) => visit.links.len(),
            _ => 0,
        })
        .sum();
    let wire: usize = captures.iter().map(|e| e.wire.len()).sum();
    let count = records.len() as f64;
    println!(
        "{count} visits with {:.1} links and {:.0} bytes on the wire each, in groups of {GROUP}; best of {}.\n",
        links as f64 / count,
        wire as f64 / count,
        args.rounds
    );
    println!(
        "{:<14} {:>12} {:>15}",
        "", "µs per visit", "bytes per visit"
    );
    for cost in [
        best(args.rounds, |folder| write_journal(folder, &records))?,
        best(args.rounds, |folder| {
            write_archive(folder, ArchiveFormat::Zstd, "archive, zstd", &captures)
        })?,
        best(args.rounds, |folder| {
            write_archive(folder, ArchiveFormat::Gzip, "archive, gzip", &captures)
        })?,
    ] {
        println!(
            "{:<14} {:>12.1} {:>15.0}",
            cost.what,
            cost.time.as_secs_f64() * 1e6 / count,
            cost.bytes as f64 / count
        );
    }
    Ok(())
}

/// The visits a crawl of this web would make.
fn visits(web: &Web) -> (Vec<Record>, Vec<Capture<Vec<u8>>>) {
    let (mut records, mut captures) = (Vec::new(), Vec::new());
    for text in &web.truth().pages {
        let Ok(url) = Url::parse(text) else { continue };
        let response = web.response(url.name(), url.path_and_query(), false);
        let mut wire = b"HTTP/1.1 200 OK\r\nServer: rhumb-sim\r\n".to_vec();
        for (name, value) in &response.headers {
            wire.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        wire.extend_from_slice(
            format!("Content-Length: {}\r\n\r\n", response.body.len()).as_bytes(),
        );
        let head_length = wire.len();
        wire.extend_from_slice(&response.body);
        let digest = payload_digest(&response.body);
        let visit = visit(&url, &response.body, wire.len(), digest);
        captures.push(Capture {
            url: visit.url.clone(),
            time: visit.time,
            address: visit.address.clone(),
            request: format!(
                "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: bench\r\nAccept-Encoding: gzip\r\n\r\n",
                url.path_and_query(),
                url.authority()
            )
            .into_bytes(),
            wire,
            head_length,
            payload_digest: digest,
            framed: false,
            truncated: "",
            revisit: None,
            via: web.seed_url(),
            depth: 2,
            fetch_micros: visit.total_micros,
        });
        records.push(Record::Visit(Box::new(visit)));
    }
    (records, captures)
}

fn visit(url: &Url, body: &[u8], wire_bytes: usize, digest: [u8; 20]) -> Visit {
    let source = Source {
        url,
        body,
        content_type: Some("text/html"),
        link_headers: &[],
        refresh_header: None,
    };
    let page = extract(&source, &Options::default());
    let links = page.links.into_iter().filter_map(|link| {
        Some(LinkRecord {
            url: link.target.url()?.as_str().to_owned(),
            kind: link.kind.code(),
            fate: Fate::Offered,
            rel: link.rel,
            anchor: link.anchor,
        })
    });
    let time = Timestamp(1_000_000_000_000_000);
    Visit {
        first_byte_micros: 150,
        total_micros: 400,
        status: 200,
        address: "127.1.0.1".to_owned(),
        content_type: "text/html".to_owned(),
        charset: page.charset.to_owned(),
        wire_bytes: wire_bytes as u64,
        body_bytes: body.len() as u64,
        payload_digest: Some(digest),
        title: page.title.unwrap_or_default(),
        links: links.collect(),
        ..Visit::new(url.as_str(), 2, Outcome::Fetched, time)
    }
}

fn best(
    rounds: u32,
    mut write: impl FnMut(&Path) -> Result<Cost, BenchError>,
) -> Result<Cost, BenchError> {
    let mut round = || {
        let folder = tempfile::tempdir().map_err(BenchError::io("a temporary folder"))?;
        write(folder.path())
    };
    let mut best = round()?;
    for _ in 1..rounds {
        let cost = round()?;
        if cost.time < best.time {
            best = cost;
        }
    }
    Ok(best)
}

fn write_journal(folder: &Path, records: &[Record]) -> Result<Cost, BenchError> {
    let failed = |error: rhumb_store::JournalError| BenchError::Other(error.to_string());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut journal = Journal::begin(disk, folder, 0, 1, NEVER_ROLL).map_err(failed)?;
    let started = Instant::now();
    for group in records.chunks(GROUP) {
        for record in group {
            journal.push(record);
        }
        journal.commit().map_err(failed)?;
    }
    finish("journal", started, folder)
}

fn write_archive(
    folder: &Path,
    format: ArchiveFormat,
    what: &'static str,
    captures: &[Capture<Vec<u8>>],
) -> Result<Cost, BenchError> {
    let archive = Archive::begin(
        Arc::new(RealDisk),
        Arc::new(SystemClock::default()),
        folder,
        format,
        0,
        1,
        1,
        NEVER_ROLL,
        String::new(),
    );
    let Some(mut archive) = archive.map_err(BenchError::io(what))? else {
        return Err(BenchError::Other(format!("{what}: nothing is written")));
    };
    let started = Instant::now();
    for group in captures.chunks(GROUP) {
        for capture in group {
            archive.add(capture).map_err(BenchError::io(what))?;
        }
        archive.flush().map_err(BenchError::io(what))?;
    }
    finish(what, started, folder)
}

fn finish(what: &'static str, started: Instant, folder: &Path) -> Result<Cost, BenchError> {
    let time = started.elapsed();
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(BenchError::io(what))? {
        let data = entry.and_then(|entry| entry.metadata());
        bytes += data.map_err(BenchError::io(what))?.len();
    }
    Ok(Cost { what, time, bytes })
}
