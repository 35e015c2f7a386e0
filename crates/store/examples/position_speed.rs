//! What it costs to read a record by its position, and to start.
//!
//! `cargo run --release -p rhumb-store --example position_speed -- [VISITS] [FOLDER]`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_store::{
    CompactOptions, Disk, Fate, Journal, JournalError, LinkRecord, Outcome, Position, Positions,
    RealDisk, Record, Timestamp, Visit, compact,
};

const GROUP: u64 = 16;
const LINKS: u64 = 33;
const ROLL: u64 = 256 << 20;
const LOOKUPS: usize = 10_000;

fn main() -> Result<(), JournalError> {
    let mut arguments = std::env::args().skip(1);
    let visits: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let folder = arguments.next().map_or_else(
        || std::env::temp_dir().join("rhumb-position-speed"),
        PathBuf::from,
    );
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let made = disk.create_folder(&folder);
    made.map_err(|error| JournalError::Io {
        path: folder.clone(),
        error,
    })?;
    let mut random = 88_172_645_463_325_252;
    let started = Instant::now();
    let written = write(&disk, &folder, visits, &mut random)?;
    println!("{visits} visits written in {:.1?}", started.elapsed());

    let mut positions = Positions::open(Arc::clone(&disk), &folder);
    let first = time(|| positions.record_at(written[written.len() - 1]))?;
    println!("first look-up in a segment of 256 MiB or the last: {first:.1?}");
    let mut first: Vec<Duration> = Vec::new();
    for _ in 0..20 {
        let mut positions = Positions::open(Arc::clone(&disk), &folder);
        let position = written[below(&mut random, visits) as usize];
        first.push(time(|| positions.record_at(position))?);
    }
    percentiles("a first look-up anywhere", &mut first);
    let mut next = Vec::with_capacity(LOOKUPS);
    for _ in 0..LOOKUPS {
        let position = written[below(&mut random, visits) as usize];
        next.push(time(|| positions.record_at(position))?);
    }
    percentiles("random look-ups", &mut next);

    let (nowhere, last) = (folder.join("warc"), written[written.len() - 1]);
    let begin = time(|| Journal::begin(Arc::clone(&disk), &folder, 0, 9, ROLL))?;
    println!("begin {begin:.1?}");
    let tail = time(|| Journal::recover_from(&disk, &folder, &nowhere, &[last]))?;
    println!("recovery from the last synced record {tail:.1?}");
    let all = time(|| Journal::recover(&disk, &folder, &nowhere))?;
    println!("recovery from nothing {all:.1?}");
    let options = CompactOptions {
        last_segments: true,
        ..CompactOptions::default()
    };
    let started = Instant::now();
    let report = compact(&disk, &folder, &options, &mut || Ok(()))?;
    println!("compaction {:.1?}: {report:?}", started.elapsed());
    Ok(())
}

/// Every tenth URL is visited a second time.
fn write(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    visits: u64,
    random: &mut u64,
) -> Result<Vec<Position>, JournalError> {
    let mut journal = Journal::begin(Arc::clone(disk), folder, 0, 1, ROLL)?;
    let mut written = Vec::new();
    for n in 0..visits {
        let page = n % (visits * 10 / 11).max(1);
        let host = page % 997;
        let url = format!("http://www.host{host}.test/articles/{page}.html");
        let mut visit = Visit::new(&url, 3, Outcome::Fetched, Timestamp(1 << 50));
        visit.status = 200;
        visit.content = Some(u128::from(below(random, u64::MAX)));
        visit.payload_digest = Some([n as u8; 20]);
        visit.title = format!("Article {page} of host {host}");
        for _ in 0..LINKS {
            let to = below(random, visits * 4);
            visit.links.push(LinkRecord {
                url: format!("http://www.host{host}.test/articles/{to}.html"),
                kind: 1,
                fate: Fate::Offered,
                rel: String::new(),
                anchor: format!("More about {}", to % 1000),
            });
        }
        written.push(journal.push(&Record::Visit(Box::new(visit))));
        if n % GROUP == GROUP - 1 {
            journal.commit()?;
        }
    }
    journal.commit()?;
    journal.sync()?;
    Ok(written)
}

fn time<T>(mut work: impl FnMut() -> Result<T, JournalError>) -> Result<Duration, JournalError> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn percentiles(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{what}: p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
        at(50),
        at(99),
        at(100)
    );
}

fn below(random: &mut u64, limit: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % limit
}
