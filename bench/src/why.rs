//! `bench why`: how long the answer about one URL takes on a large crawl.
//!
//! The crawl is written straight into its journal, as if it had happened, and
//! its state is made from that by `rhumb rebuild`'s own code.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_crawl::{Config, Explainer, Handle, Observer, Snapshot, our_identity, rebuild};
use rhumb_store::{
    Admission, Admitted, CrawlDirectory, Disk, Fate, Journal, LinkRecord, Outcome, Position,
    RealDisk, Record, Seed, SystemClock, Timestamp, Visit,
};
use rhumb_url::Url;

use crate::BenchError;

/// New URLs that each visited page brings.
const NEW: u64 = 20;
/// Records of a commit group.
const GROUP: u64 = 16;
const ROLL: u64 = 256 << 20;
/// Questions asked before it counts.
const WARM_UP: u64 = 200;

#[derive(clap::Args)]
pub struct WhyArgs {
    /// Million URLs that the crawl knows.
    #[arg(long, default_value_t = 10)]
    millions: u64,
    /// URLs that are asked about.
    #[arg(long, default_value_t = 1_000)]
    questions: u64,
}

struct Silent;

impl Observer for Silent {
    fn note(&mut self, text: &str) {
        eprintln!("{text}");
    }

    fn progress(&mut self, _: &Snapshot, _: &Handle) {}
}

fn url(number: u64) -> String {
    let host = number % 50_000;
    format!("http://www.host{host}.example/some/folder/page-{number}.html")
}

pub fn run(args: &WhyArgs) -> Result<(), BenchError> {
    let folder = tempfile::tempdir_in(".").map_err(BenchError::io("a temporary folder"))?;
    let dir = folder.path().join("crawl");
    let known = args.millions * 1_000_000;
    let visited = write(&dir, known)?;
    let other = |error: rhumb_crawl::CrawlError| BenchError::Other(error.to_string());
    let began = Instant::now();
    let summary = rebuild(&dir, Config::default(), &mut Silent).map_err(other)?;
    println!(
        "{} URLs known, {visited} of them visited; state made from the journal in {:.0} s, {} MiB at most",
        summary.counts.urls_seen,
        began.elapsed().as_secs_f64(),
        summary.peak_rss_bytes >> 20
    );
    let mut explainer = Explainer::new(&dir);
    let mut times = Vec::new();
    let mut random = 1u64;
    for question in 0..WARM_UP + args.questions {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let text = url((random >> 20) % known);
        let asked = Url::parse(&text).map_err(|why| BenchError::Other(why.to_string()))?;
        let began = Instant::now();
        let answer = explainer.explain(asked.as_str()).map_err(other)?;
        if answer.state == "unseen" {
            return Err(BenchError::Other(format!("{text} is known, but unseen")));
        }
        if question >= WARM_UP {
            times.push(began.elapsed());
        }
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{} answers: p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        times.len(),
        ms(at(50)),
        ms(at(99)),
        ms(at(100))
    );
    Ok(())
}

/// Write the journal of a crawl that knows so many URLs; says how many of
/// them were visited.
fn write(dir: &Path, known: u64) -> Result<u64, BenchError> {
    let other = |error: &dyn std::fmt::Display| BenchError::Other(error.to_string());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let identity = our_identity(&SystemClock::default());
    let directory = CrawlDirectory::open(&disk, dir, &identity).map_err(|e| other(&e))?;
    let mut journal =
        Journal::begin(disk, &directory.journal(), 0, 1, ROLL).map_err(|e| other(&e))?;
    journal.push(&Record::Seed(Seed {
        url: url(0),
        sequence: 1,
        ..Seed::default()
    }));
    let (mut found, mut visited) = (1, 0);
    while found < known {
        let position = journal.push(&visit(visited, found));
        visited += 1;
        let new = NEW.min(known - found);
        journal.push(&admitted(position, visited, found, new));
        found += new;
        if visited.is_multiple_of(GROUP) {
            journal.commit().map_err(|e| other(&e))?;
        }
    }
    journal.commit().map_err(|e| other(&e))?;
    journal.sync().map_err(|e| other(&e))?;
    Ok(visited)
}

/// The visit of the URL of this number, with links to new and to known ones.
fn visit(number: u64, found: u64) -> Record {
    let mut visit = Visit::new(
        &url(number),
        depth_of(number),
        Outcome::Fetched,
        Timestamp(1),
    );
    visit.priority = u64::from(depth_of(number));
    visit.sequence = number + 1;
    visit.status = 200;
    visit.title = format!("Page {number}");
    let known = (0..13).map(|at| number.wrapping_mul(31 + at) % found);
    for target in (found..found + NEW).chain(known) {
        visit.links.push(LinkRecord {
            url: url(target),
            kind: 0,
            fate: Fate::Offered,
            rel: String::new(),
            anchor: format!("page {target}"),
        });
    }
    Record::Visit(Box::new(visit))
}

fn depth_of(number: u64) -> u32 {
    if number == 0 { 0 } else { 1 }
}

fn admitted(source: Position, visited: u64, found: u64, new: u64) -> Record {
    Record::Admitted(Admitted {
        source: Some(source),
        via: url(visited - 1),
        depth: 1,
        entries: (found..found + new)
            .map(|target| Admission {
                url: url(target),
                fate: Fate::Queued,
                sequence: target + 1,
            })
            .collect(),
        ..Admitted::default()
    })
}
