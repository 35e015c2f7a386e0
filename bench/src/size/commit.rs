//! The commit by itself: journal records of visits and of what they led to,
//! and the views that follow them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_crawl::{Shares, ViewTables, Views, ViewsPart};
use rhumb_store::runs::{RunFolder, RunTable, RunsError, Table, TableConfig, Worker};
use rhumb_store::{
    Admission, Admitted, Disk, Fate, Journal, LinkRecord, Outcome, Position, RealDisk, Record,
    Timestamp, Visit,
};
use rhumb_url::KeyedUrl;

use super::AGAIN;
use super::gauge::cpu;
use super::load::{LINKS_PER_PAGE, Load};
use crate::BenchError;

/// Visits that are committed together: what gathers in a busy crawl.
const GROUP: u64 = 16;
/// Links of a visit: what a page of the web has, nearly.
const LINKS: usize = 33;
/// A crawl's usual distance between two syncs.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
const HOSTS: u32 = 10_000;
const SEED: u64 = 7;

/// Write so many visits, and say what they cost.
pub fn measure(folder: &Path, memory: u64, visits: u64) -> Result<(), BenchError> {
    let failed = |error: &dyn std::fmt::Display| BenchError::Other(error.to_string());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let journals = folder.join("journal");
    disk.create_folder(&journals)
        .map_err(BenchError::io("the journal"))?;
    let mut journal = Journal::begin(Arc::clone(&disk), &journals, 0, 1, 256 << 20)
        .map_err(|error| failed(&error))?;
    let views = open_views(disk, folder, memory).map_err(|error| failed(&error))?;
    let making = {
        let (before, mut load) = (cpu(), Load::new(HOSTS));
        (0..visits).for_each(|visit| drop(std::hint::black_box(records(&mut load, visit))));
        cpu() - before
    };
    let mut load = Load::new(HOSTS);
    let (before, start) = (cpu(), Instant::now());
    let (mut in_journal, mut in_views) = (Duration::ZERO, Duration::ZERO);
    let mut last_sync = start;
    for group in 0..visits.div_ceil(GROUP) {
        let group: Vec<Record> = (0..GROUP)
            .flat_map(|visit| records(&mut load, group * GROUP + visit))
            .collect();
        let began = Instant::now();
        let entered: Vec<(Position, &Record)> = group
            .iter()
            .map(|record| (journal.push(record), record))
            .collect();
        journal.commit().map_err(|error| failed(&error))?;
        if last_sync.elapsed() >= SYNC_INTERVAL {
            journal.sync().map_err(|error| failed(&error))?;
            last_sync = Instant::now();
        }
        in_journal += began.elapsed();
        let began = Instant::now();
        enter(&views, &entered).map_err(|error| failed(&error))?;
        in_views += began.elapsed();
    }
    let spent = (cpu() - before).saturating_sub(making).as_secs_f64() * 1e6;
    let (count, wall) = (visits as f64, start.elapsed());
    println!(
        "\nThe commit: {visits} visits with {LINKS} links each, in groups of {GROUP}, synced every second.\n\
         {:.1} CPU-µs a visit, {:.2} a link (making the records up, {:.1} a visit, not counted); {:.1} s.\n\
         Of the caller's time {:.1} µs a visit in the journal, {:.1} in the views. {:.0} bytes of journal a visit.",
        spent / count,
        spent / count / LINKS as f64,
        making.as_secs_f64() * 1e6 / count,
        wall.as_secs_f64(),
        in_journal.as_secs_f64() * 1e6 / count,
        in_views.as_secs_f64() * 1e6 / count,
        bytes_in(&journals)? as f64 / count,
    );
    Ok(())
}

fn open_views(disk: Arc<dyn Disk>, folder: &Path, memory: u64) -> Result<Views, RunsError> {
    let folder = RunFolder::open(disk, &folder.join("views"))?;
    let worker = |name| Worker::start(name, || ()).map_err(RunsError::io(Path::new(name)));
    let (soon, merges) = (worker("views")?, worker("merge")?);
    let shares = Shares { memory, shards: 1 };
    let table = |config: TableConfig| -> Box<dyn Table> {
        let (soon, merges) = (soon.clone(), merges.clone());
        Box::new(RunTable::new(&folder, config, soon, merges))
    };
    let tables = ViewTables {
        content: table(shares.content()),
        index: table(shares.index()),
        seeds: table(shares.seeds()),
    };
    Ok(Views::new(SEED, tables, &ViewsPart::default()))
}

/// What the commit thread does with a group that is written.
fn enter(views: &Views, group: &[(Position, &Record)]) -> Result<(), RunsError> {
    views.enter(group.iter().copied())?;
    views.tend()?;
    while views.is_congested() {
        std::thread::sleep(AGAIN);
        views.tend()?;
    }
    Ok(())
}

/// A visit, and what its links led to.
fn records(load: &mut Load, number: u64) -> [Record; 2] {
    let host = load.any_host();
    let mut urls: Vec<KeyedUrl> = Vec::with_capacity(LINKS + LINKS_PER_PAGE);
    urls.extend(load.seed(host));
    while urls.len() <= LINKS {
        load.page(host, &mut urls);
    }
    let url = urls[0].url.as_str().to_owned();
    let time = Timestamp(1_000_000_000_000_000 + number);
    let links = urls[1..=LINKS].iter().map(|link| LinkRecord {
        url: link.url.as_str().to_owned(),
        kind: 1,
        fate: Fate::Offered,
        rel: String::new(),
        anchor: format!("anchor text {}", link.key.url % 1000),
    });
    // One in five was new.
    let entries = urls[1..=LINKS].iter().step_by(5).map(|link| Admission {
        url: link.url.as_str().to_owned(),
        sequence: number * LINKS as u64,
        fate: Fate::Queued,
    });
    let admitted = Admitted {
        via: url.clone(),
        depth: 2,
        time,
        entries: entries.collect(),
        ..Admitted::default()
    };
    let visit = Visit {
        status: 200,
        address: "127.1.0.1".to_owned(),
        content_type: "text/html".to_owned(),
        charset: "UTF-8".to_owned(),
        wire_bytes: 20_000,
        body_bytes: 20_000,
        content: Some(u128::from(number + 1) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
        payload_digest: Some([number as u8; 20]),
        title: format!("The page of {url}"),
        links: links.collect(),
        ..Visit::new(&url, 2, Outcome::Fetched, time)
    };
    [Record::Visit(Box::new(visit)), Record::Admitted(admitted)]
}

fn bytes_in(folder: &Path) -> Result<u64, BenchError> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(BenchError::io("the journal"))? {
        let data = entry.and_then(|entry| entry.metadata());
        bytes += data.map_err(BenchError::io("the journal"))?.len();
    }
    Ok(bytes)
}
