//! `bench size`: what the set of URLs and the queue cost as a crawl grows.
//!
//! No network: links that were made up go through the set and the frontier
//! of a shard, with the memory a crawl would give them, on a real disk. The
//! cost of making them up (text, normal form and keys included) is measured
//! alone and taken off.

mod gauge;
mod load;
mod ours;
mod state;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rhumb_crawl::{Size, Value};
use rhumb_store::runs::RunsError;

use crate::BenchError;
use gauge::{Gaps, cpu, resident};
use load::{LINKS_PER_PAGE, Load, MIX, host_of};
use ours::Ours;
use state::{State, Tally};

/// Hosts whose first page is given at the beginning.
const SEEDS: usize = 10_000;
/// Pages that are made up alone, to know what that costs.
const SAMPLE: u64 = 200_000;
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
}

/// Where a stretch of the run began.
struct Stretch {
    cpu: Duration,
    wall: Instant,
    tally: Tally,
    gaps: Gaps,
}

impl Stretch {
    fn begin(tally: Tally) -> Stretch {
        Stretch {
            cpu: cpu(),
            wall: Instant::now(),
            tally,
            gaps: Gaps::default(),
        }
    }
}

pub fn run(args: &SizeArgs) -> Result<(), BenchError> {
    let failed = |error: RunsError| BenchError::Other(error.to_string());
    std::fs::create_dir_all(&args.dir).map_err(BenchError::io("the folder"))?;
    let folder = tempfile::tempdir_in(&args.dir).map_err(BenchError::io("the folder"))?;
    println!("{MIX}\n");
    println!(
        "Set and queue with a crawl's shares of {} MiB for one shard; up to {} hosts.\n",
        args.memory.0 >> 20,
        args.hosts
    );
    let ours = Ours::open(folder.path(), args.memory.0).map_err(failed)?;
    measure(args, &ours).map_err(failed)
}

fn measure(args: &SizeArgs, ours: &Ours) -> Result<(), RunsError> {
    let mut load = Load::new(args.hosts);
    let mut state = ours.state();
    let seeds = (0..SEEDS).filter_map(|_| {
        let host = load.any_host();
        load.seed(host)
    });
    state.seed(seeds.collect());
    state.begin_visits()?;
    print_header();
    let last = args.millions * 1_000_000;
    let mut mark = last.min(1_000_000);
    let mut stretch = Stretch::begin(state.tally);
    loop {
        while state.known() < mark {
            one_visit(&mut state, &mut load, &mut stretch.gaps)?;
        }
        settle(&mut state, ours, &mut stretch.gaps)?;
        report(&state, ours, &load, &stretch);
        if mark >= last {
            return Ok(());
        }
        mark = last.min(mark * 10);
        stretch = Stretch::begin(state.tally);
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
fn settle(state: &mut State, ours: &Ours, gaps: &mut Gaps) -> Result<(), RunsError> {
    while state.hurry() {
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
    }
    let is_written = gaps.time(|| state.freeze());
    while !is_written() || ours.is_busy() {
        std::thread::sleep(AGAIN);
        gaps.time(|| state.tend())?;
    }
    Ok(())
}

/// What it costs to make links up, and to measure: the time of one link.
fn cost_of_load(load: &Load) -> Duration {
    let mut load = load.clone();
    let mut gaps = Gaps::default();
    let before = cpu();
    for _ in 0..SAMPLE {
        let mut links = Vec::with_capacity(LINKS_PER_PAGE);
        let host = load.known_host();
        load.page(host, &mut links);
        gaps.time(|| drop(std::hint::black_box(links)));
    }
    (cpu() - before) / (SAMPLE * LINKS_PER_PAGE as u64) as u32
}

fn print_header() {
    println!(
        "{:>7} {:>7} {:>6} {:>6} | {:>9} {:>7} {:>7} {:>7} | {:>6} {:>7} | {:>6} {:>6} {:>6} | {:>8} {:>8} | {:>6}",
        "known",
        "queued",
        "hosts",
        "links",
        "links per",
        "µs per",
        "load’s",
        "wall",
        "bytes",
        "bytes",
        "MiB",
        "MiB",
        "MiB",
        "longest",
        "undis-",
        "at"
    );
    println!(
        "{:>7} {:>7} {:>6} {:>6} | {:>9} {:>7} {:>7} {:>7} | {:>6} {:>7} | {:>6} {:>6} {:>6} | {:>8} {:>8} | {:>6}",
        "M",
        "M",
        "k",
        "M",
        "CPU-sec",
        "link",
        "own",
        "s",
        "set",
        "queue",
        "res.",
        "peak",
        "says",
        "step ms",
        "turbed",
        "once"
    );
}

fn report(state: &State, ours: &Ours, load: &Load, stretch: &Stretch) {
    let (spent, wall) = (cpu() - stretch.cpu, stretch.wall.elapsed());
    let (now, most) = resident();
    let links = state.tally.links - stretch.tally.links;
    let later = state.tally.later - stretch.tally.later;
    let own = cost_of_load(load).as_secs_f64() * 1e6;
    let each = spent.as_secs_f64() * 1e6 / links as f64 - own;
    let held = ours.held();
    let (known, queued) = (state.known(), state.queued());
    println!(
        "{:>7.1} {:>7.1} {:>6} {:>6.1} | {:>9.0} {:>7.3} {:>7.3} {:>7.1} | {:>6.2} {:>7.1} | {:>6} {:>6} {:>6} | {:>8.1} {:>8.1} | {:>4.0} %",
        known as f64 / 1e6,
        queued as f64 / 1e6,
        load.hosts() / 1000,
        links as f64 / 1e6,
        1e6 / each,
        each,
        own,
        wall.as_secs_f64(),
        held.set_bytes as f64 / known as f64,
        held.queue_bytes as f64 / queued as f64,
        now,
        most,
        held.in_memory >> 20,
        stretch.gaps.longest.as_secs_f64() * 1e3,
        stretch.gaps.longest_undisturbed.as_secs_f64() * 1e3,
        100.0 - later as f64 * 100.0 / links as f64,
    );
    eprintln!("{held:?} {:?}", state.tally);
}
