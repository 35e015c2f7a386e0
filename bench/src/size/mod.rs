//! `bench size`: what the set of URLs and the queue cost as a crawl grows.
//!
//! No network: links that were made up go through the set and the frontier
//! of a shard, with the memory a crawl would give them, on a real disk. The
//! cost of making them up (text, normal form and keys included) is measured
//! alone and taken off.

mod commit;
mod gauge;
mod load;
mod ours;
mod report;
#[cfg(feature = "fjall")]
mod rival;
mod state;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rhumb_crawl::{Size, Value};
use rhumb_store::runs::RunsError;

use crate::BenchError;
use gauge::Gaps;
use load::{LINKS_PER_PAGE, Load, MIX, host_of};
use ours::Ours;
use report::{Figures, LEGEND, Stretch, print_header};
use state::{State, Subject};

/// Hosts whose first page is given at the beginning.
const SEEDS: usize = 10_000;
/// The rival is measured up to here: beyond, it would take the afternoon.
#[cfg(feature = "fjall")]
const RIVAL_MILLIONS: u64 = 10;
/// How long the caller waits before it asks a state that is congested again.
const AGAIN: Duration = Duration::from_micros(200);

#[derive(clap::Args)]
pub struct SizeArgs {
    /// Millions of URLs known in the end.
    #[arg(long, default_value_t = 100)]
    millions: u64,
    /// Memory for the state of the crawl; set and queue get their shares.
    #[arg(long, default_value = "512MiB", value_parser = <Size as Value>::parse)]
    memory: Size,
    /// Hosts that the URLs are spread over.
    #[arg(long, default_value_t = 1_000_000)]
    hosts: u32,
    /// A folder on the disk to be measured; it needs 60 bytes free for each
    /// URL.
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// Visits that are committed, measured by themselves.
    #[arg(long, default_value_t = 100_000)]
    visits: u64,
    /// Another store under the same load, up to 10 million.
    #[arg(long)]
    rival: Option<RivalName>,
}

/// Another store under the same load.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RivalName {
    Fjall,
}

pub fn run(args: &SizeArgs) -> Result<(), BenchError> {
    let failed = |error: RunsError| BenchError::Other(error.to_string());
    std::fs::create_dir_all(&args.dir).map_err(BenchError::io("the folder"))?;
    let folder = tempfile::tempdir_in(&args.dir).map_err(BenchError::io("the folder"))?;
    println!("{MIX}\n{LEGEND}\n");
    println!(
        "A shard's shares of {} MiB; up to {} hosts.",
        args.memory.0 >> 20,
        args.hosts
    );
    let path = folder.path().join("ours");
    let ours = Ours::open(&path, args.memory.0).map_err(failed)?;
    let figures = measure(args, args.millions, &ours).map_err(failed)?;
    drop(ours);
    if args.visits > 0 {
        commit::measure(folder.path(), args.memory.0, args.visits)?;
    }
    let Some(RivalName::Fjall) = args.rival else {
        return Ok(());
    };
    let rivals = measure_fjall(args, &folder.path().join("fjall"))?;
    for (ours, theirs) in figures.iter().zip(&rivals) {
        println!(
            "At {:.0} M known ours takes {:.1} times as many links per CPU-second.",
            ours.known as f64 / 1e6,
            ours.links_per_cpu_second / theirs.links_per_cpu_second
        );
    }
    Ok(())
}

#[cfg(feature = "fjall")]
fn measure_fjall(args: &SizeArgs, folder: &Path) -> Result<Vec<Figures>, BenchError> {
    let failed = |error: RunsError| BenchError::Other(error.to_string());
    println!("\nfjall 3.1 within the memory that set, queue and host rows have of it:");
    let rival = rival::Rival::open(folder, args.memory.0).map_err(failed)?;
    measure(args, args.millions.min(RIVAL_MILLIONS), &rival).map_err(failed)
}

#[cfg(not(feature = "fjall"))]
fn measure_fjall(_: &SizeArgs, _: &Path) -> Result<Vec<Figures>, BenchError> {
    Err(BenchError::Other(
        "build with `--features fjall` to measure fjall".to_owned(),
    ))
}

fn measure(
    args: &SizeArgs,
    millions: u64,
    subject: &dyn Subject,
) -> Result<Vec<Figures>, RunsError> {
    let mut load = Load::new(args.hosts);
    let mut state = subject.state();
    let seeds = (0..SEEDS).filter_map(|_| {
        let host = load.any_host();
        load.seed(host)
    });
    state.seed(seeds.collect());
    state.begin_visits()?;
    print_header();
    let last = millions * 1_000_000;
    let mut mark = last.min(1_000_000);
    let mut figures = Vec::new();
    loop {
        let mut stretch = Stretch::begin(&state);
        while state.known() < mark {
            one_visit(&mut state, &mut load, &mut stretch.gaps)?;
        }
        settle(&mut state, subject, &mut stretch.gaps)?;
        figures.push(stretch.end(&state, subject.held(), &load));
        if mark >= last {
            return Ok(figures);
        }
        mark = last.min(mark * 10);
    }
}

fn one_visit(state: &mut State, load: &mut Load, gaps: &mut Gaps) -> Result<(), RunsError> {
    while state.is_congested() {
        let start = Instant::now();
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
        state.tally.held_back += start.elapsed();
    }
    let Some((turn, item)) = state.next() else {
        // All that is known waits for its answer.
        state.hurry();
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
        return state.begin_visits();
    };
    let mut links = Vec::with_capacity(LINKS_PER_PAGE);
    load.page(host_of(&item.url).unwrap_or(0), &mut links);
    gaps.time(|| state.step(turn, item, links))
}

/// Until all is answered, written and merged: what a stretch has caused is
/// paid for in it.
fn settle(state: &mut State, subject: &dyn Subject, gaps: &mut Gaps) -> Result<(), RunsError> {
    while state.hurry() {
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
    }
    subject.write_all()?;
    let is_written = gaps.time(|| state.freeze());
    while !is_written() || subject.is_busy() {
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
    }
    Ok(())
}
