//! What a table costs: CPU, memory, disk and the longest call.
//!
//! `cargo run --release -p rhumb-store --example table_cost -- [queue|index] [millions]`

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rhumb_store::RealDisk;
use rhumb_store::runs::{
    Compression, FilterOn, RunFolder, RunTable, RunsError, Table, TableConfig, Worker,
};

/// Puts between two calls of `tend`.
const BATCH: u64 = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let load = arguments.next().unwrap_or_else(|| "queue".to_owned());
    let millions: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let place = tempfile::tempdir_in(".")?;
    let folder = RunFolder::open(Arc::new(RealDisk), place.path())?;
    let soon = Worker::start("soon", || {})?;
    let merges = Worker::start("merges", || {})?;
    match load.as_str() {
        "queue" => {
            let config = TableConfig {
                compression: Compression::Zstd(1),
                filter: FilterOn::Prefix(8),
                block_bytes: 8 << 10,
                ..TableConfig::new("queue")
            };
            queue(RunTable::new(&folder, config, soon, merges), millions)?;
        }
        _ => index(
            RunTable::new(&folder, TableConfig::new("index"), soon, merges),
            millions,
        )?,
    }
    println!("peak resident: {} MB", peak_resident_kb()? / 1000);
    Ok(())
}

/// Times calls on the owner's thread. On a busy machine the longest were
/// those in which another process had its turn, so the longest of the others
/// is told too.
#[derive(Default)]
struct Stopwatch {
    longest: Duration,
    longest_alone: Duration,
}

impl Stopwatch {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let (switches, start) = (switches(), Instant::now());
        let result = call();
        let spent = start.elapsed();
        self.longest = self.longest.max(spent);
        if switches == self::switches() {
            self.longest_alone = self.longest_alone.max(spent);
        }
        result
    }
}

impl std::fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Stopwatch {
            longest,
            longest_alone,
        } = self;
        write!(f, "{longest:.1?} ({longest_alone:.1?} undisturbed)")
    }
}

/// How often this thread was put aside for another.
fn switches() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| {
        usage.voluntary_context_switches() + usage.involuntary_context_switches()
    })
}

fn queue(mut table: RunTable, millions: u64) -> Result<(), RunsError> {
    let lanes = millions * 10_000;
    let (mut puts, mut takes) = (Stopwatch::default(), Stopwatch::default());
    let mut tends = Stopwatch::default();
    let mut random = 88_172_645_463_325_252_u64;
    let mut entries = |batch: u64| -> Vec<_> {
        (batch * BATCH..(batch + 1) * BATCH)
            .map(|sequence| {
                let lane = mixed(next(&mut random) % lanes);
                let key = queue_key(lane, sequence % 3, sequence);
                (key, url(lane, next(&mut random)))
            })
            .collect()
    };
    let batches = millions * 1_000_000 / BATCH;
    let idle = cpu();
    let made: usize = (0..batches).map(|batch| entries(batch).len()).sum();
    let making = cpu() - idle;
    println!("{made} entries");
    let start = cpu() + making;
    for batch in 0..batches {
        let entries = entries(batch);
        puts.time(|| {
            for (key, value) in &entries {
                table.put(key, value.as_bytes());
            }
        });
        tend(&mut table, &mut tends, 0)?;
    }
    settle(&mut table)?;
    let count = millions * 1_000_000;
    report("put", start, count);
    describe(&table, count);
    println!("longest {BATCH} puts {puts}, tend {tends}");

    // Take whole lanes while as many new entries are put.
    let (mut taken, mut taken_lanes, mut sequence) = (0_u64, 0_u64, count);
    let start = cpu();
    let mut random = 7_777_777_u64;
    let mut scans = Duration::ZERO;
    for lane in (0..lanes).step_by(10) {
        let lane = mixed(lane);
        let end = (lane + 1).to_be_bytes();
        let began = Instant::now();
        let mut found = 0;
        takes.time(|| {
            table.scan(&lane.to_be_bytes(), &end, &mut |_, value| {
                found += u64::from(!value.is_empty());
                true
            })
        })?;
        table.remove_range(&lane.to_be_bytes(), &end);
        scans += began.elapsed();
        for _ in 0..found {
            let lane = mixed(next(&mut random) % lanes);
            let key = queue_key(lane, sequence % 3, sequence);
            table.put(&key, url(lane, sequence).as_bytes());
            sequence += 1;
            tend(&mut table, &mut tends, sequence)?;
        }
        taken += found;
        taken_lanes += 1;
    }
    settle(&mut table)?;
    report("put and take", start, taken);
    println!(
        "took {taken_lanes} lanes, {:.1} µs each ({:.2} µs an entry); longest take {takes}, tend {tends}",
        scans.as_secs_f64() * 1e6 / taken_lanes as f64,
        scans.as_secs_f64() * 1e6 / taken as f64,
    );
    describe(&table, count);
    Ok(())
}

fn index(mut table: RunTable, millions: u64) -> Result<(), RunsError> {
    let count = millions * 1_000_000;
    let (mut puts, mut tends) = (Stopwatch::default(), Stopwatch::default());
    let start = cpu();
    for batch in 0..count / BATCH {
        let keys: [_; BATCH as usize] =
            std::array::from_fn(|n| index_key(batch * BATCH + n as u64));
        puts.time(|| keys.iter().for_each(|key| table.put(key, &key[..10])));
        tend(&mut table, &mut tends, 0)?;
    }
    settle(&mut table)?;
    report("put", start, count);
    describe(&table, count);
    println!("longest {BATCH} puts {puts}, tend {tends}");
    let mut gets = Stopwatch::default();
    for (what, offset) in [("get", 0), ("get of what is not there", count)] {
        let mut random = 12_345;
        let start = cpu();
        let mut found = 0;
        for _ in 0..100_000 {
            let key = index_key(offset + next(&mut random) % count);
            found += u64::from(gets.time(|| table.get(&key))?.is_some());
        }
        report(what, start, 100_000);
        println!("{found} found; longest {gets}");
    }
    Ok(())
}

fn tend(table: &mut RunTable, tends: &mut Stopwatch, turn: u64) -> Result<(), RunsError> {
    if turn.is_multiple_of(BATCH) {
        tends.time(|| table.tend())?;
        while table.is_congested() {
            std::thread::sleep(Duration::from_millis(1));
            table.tend()?;
        }
    }
    Ok(())
}

/// Until everything is written and no merge is under way.
fn settle(table: &mut RunTable) -> Result<(), RunsError> {
    let snapshot = table.snapshot();
    while !snapshot.is_written() || table.is_busy() {
        std::thread::sleep(Duration::from_millis(1));
        table.tend()?;
    }
    Ok(())
}

fn describe(table: &RunTable, entries: u64) {
    println!(
        "{} runs, {:.1} bytes an entry on disk, {} MB in memory",
        table.runs(),
        table.bytes_on_disk() as f64 / entries as f64,
        table.bytes_in_memory() / 1_000_000
    );
}

fn report(what: &str, start: Duration, count: u64) {
    let spent = cpu() - start;
    let each = spent.as_secs_f64() * 1e6 / count as f64;
    println!("{what}: {each:.3} CPU-µs each, with all background work");
}

fn queue_key(lane: u64, priority: u64, sequence: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&lane.to_be_bytes());
    key[8..16].copy_from_slice(&priority.to_be_bytes());
    key[16..].copy_from_slice(&sequence.to_be_bytes());
    key
}

fn url(lane: u64, page: u64) -> String {
    let (page, section) = (page % 0xff_ffff, page % 37);
    format!("https://www.host-{lane:x}.example/section/{section}/page-{page:x}.html")
}

fn index_key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed(n).to_be_bytes());
    key[8..].copy_from_slice(&mixed(n ^ 0x5555).to_be_bytes());
    key
}

fn mixed(n: u64) -> u64 {
    let mut n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Never the last lane, which has none after it.
    (n ^ n >> 31) >> 1
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// CPU time of the whole process.
fn cpu() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return Duration::ZERO;
    };
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| {
            let micros = time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
            Duration::from_micros(micros)
        })
        .sum()
}

fn peak_resident_kb() -> std::io::Result<u64> {
    let status = std::fs::read_to_string(Path::new("/proc/self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Ok(number.unwrap_or(0))
}
