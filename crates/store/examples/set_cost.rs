//! What the set of known URLs costs: a stream of links as a crawl finds them.
//!
//! `set_cost [millions of known keys] [megabytes of memory]`
//!
//! Half of the links are new. Of the old ones half are popular (a few pages
//! of hosts met lately), half are any key ever seen. A batch is a page's 33
//! links, 80% of them to its own host. Figures are printed at 1, 10, 100 million.

use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rhumb_store::RealDisk;
use rhumb_store::runs::{KeySet, KeySetConfig, KeySnapshot, Keys, RunFolder, Verdict, Worker};

const LINKS_PER_PAGE: usize = 33;
const KEYS_PER_HOST: u64 = 100;
const RECENT_HOSTS: usize = 20_000;

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// The `page`th page of a host.
fn key(host: u64, page: u64) -> u128 {
    let host_hash = mix(host.wrapping_add(0x9e37_79b9_7f4a_7c15));
    u128::from(host_hash) << 64 | u128::from(mix(host_hash ^ (page + 1)))
}

/// Links as a crawl finds them. Every key can be computed from its number,
/// so that the stream itself needs next to no memory.
struct Links {
    random: u64,
    /// Hosts with pages not yet linked to, and how many of them are known.
    open: Vec<(u64, u64)>,
    hosts: u64,
    recent: VecDeque<u64>,
}

impl Links {
    fn new() -> Links {
        Links {
            random: 1,
            open: Vec::new(),
            hosts: 0,
            recent: VecDeque::new(),
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix(self.random)) * u128::from(end)) >> 64) as u64
    }

    /// The next page of a host that has some left.
    fn new_key(&mut self, place: usize) -> u128 {
        let (host, known) = self.open[place];
        self.open[place].1 += 1;
        if known + 1 == KEYS_PER_HOST {
            self.recent.push_back(host);
            if self.recent.len() > RECENT_HOSTS {
                self.recent.pop_front();
            }
            self.open[place] = (self.hosts, 0);
            self.hosts += 1;
        }
        key(host, known)
    }

    /// Zipf over hosts met lately, and over their first pages.
    fn popular_key(&mut self) -> Option<u128> {
        let rank = self.zipf(self.recent.len() as u64)?;
        let host = self.recent[self.recent.len() - 1 - rank as usize];
        let page = self.zipf(KEYS_PER_HOST)?;
        Some(key(host, page))
    }

    fn zipf(&mut self, end: u64) -> Option<u64> {
        let uniform = self.below(1 << 53) as f64 / (1u64 << 53) as f64;
        (end > 0).then(|| ((end as f64).powf(uniform) as u64 - 1).min(end - 1))
    }

    fn page(&mut self, keys: &mut Vec<u128>) {
        const OPEN_HOSTS: usize = 4_000;
        while self.open.len() < OPEN_HOSTS {
            self.open.push((self.hosts, 0));
            self.hosts += 1;
        }
        keys.clear();
        let own = self.below(OPEN_HOSTS as u64) as usize;
        for _ in 0..LINKS_PER_PAGE {
            let kind = self.below(4);
            let is_own = self.below(10) < 8;
            let place = match is_own {
                true => own,
                false => self.below(OPEN_HOSTS as u64) as usize,
            };
            let (host, known) = self.open[place];
            let old = match kind {
                0 | 1 => None,
                // An old link within a site is to one of its known pages.
                2 if is_own && known > 0 => Some(key(host, self.below(known))),
                2 => self.popular_key(),
                _ => {
                    let host = self.below(self.hosts);
                    let page = self.below(KEYS_PER_HOST);
                    let is_open = self.hosts - host < 2 * OPEN_HOSTS as u64;
                    (!is_open).then(|| key(host, page))
                }
            };
            keys.push(match old {
                Some(key) => key,
                None => self.new_key(place),
            });
        }
    }
}

fn cpu() -> Result<Duration, Box<dyn Error>> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: nix::sys::time::TimeVal| {
        Duration::from_micros(time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64)
    };
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

/// Resident megabytes: now and at most.
fn resident() -> Result<(u64, u64), Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        number.unwrap_or(0) / 1024
    };
    Ok((of("VmRSS:"), of("VmHWM:")))
}

/// What happened since the last line of figures.
#[derive(Default)]
struct Tally {
    links: u64,
    later: u64,
    new: u64,
    longest: Duration,
    /// Among calls during which nobody else was given the processor.
    longest_undisturbed: Duration,
}

impl Tally {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> Result<T, Box<dyn Error>> {
        let switches = || -> Result<_, Box<dyn Error>> {
            let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
            Ok(usage.involuntary_context_switches() + usage.voluntary_context_switches())
        };
        let (before, start) = (switches()?, Instant::now());
        let result = call();
        let taken = start.elapsed();
        self.longest = self.longest.max(taken);
        if taken > self.longest_undisturbed && switches()? == before {
            self.longest_undisturbed = taken;
        }
        Ok(result)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |n| n.parse::<u64>());
    let known = number(10)? * 1_000_000;
    let budget = number(200)? << 20;
    let folder = Path::new("target/set_cost");
    let _ = std::fs::remove_dir_all(folder);
    let runs = RunFolder::open(Arc::new(RealDisk), folder)?;
    let config = KeySetConfig::within(budget as usize);
    println!("{config:?}");
    let soon = Worker::start("soon", || ())?;
    let merges = Worker::start("merges", || ())?;
    let mut set = KeySet::new(&runs, config, soon, merges);

    let (mut links, mut dry) = (Links::new(), Links::new());
    let (mut keys, mut verdicts, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    let mut tally = Tally::default();
    let (mut cpu_before, mut wall_before) = (cpu()?, start.elapsed());
    let mut token = 0;
    let mut next_report = 1_000_000.min(known);
    let mut last: Option<KeySnapshot> = None;
    loop {
        if set.count() >= next_report && last.is_none() {
            last = Some(tally.time(|| set.snapshot())?);
        }
        if !set.is_congested() && last.is_none() {
            links.page(&mut keys);
            let now = start.elapsed();
            tally.time(|| set.offer(&keys, token, now, &mut verdicts))?;
            token += keys.len() as u64;
            tally.links += keys.len() as u64;
            tally.new += verdicts.iter().filter(|v| **v == Verdict::New).count() as u64;
            tally.later += verdicts.iter().filter(|v| **v == Verdict::Later).count() as u64;
            verdicts.clear();
        } else {
            set.hurry();
            std::thread::sleep(Duration::from_micros(200));
        }
        let now = start.elapsed();
        tally.time(|| set.tend(now, &mut answers))??;
        tally.new += answers.iter().filter(|(_, is_new)| *is_new).count() as u64;
        answers.clear();
        if set.pending() > 0 || !last.as_ref().is_some_and(KeySnapshot::is_written) {
            continue;
        }
        // All is answered and written: the cost of this stretch, less that
        // of the stream.
        let spent = cpu()? - cpu_before;
        let wall = start.elapsed() - wall_before;
        let before = cpu()?;
        for _ in 0..tally.links / LINKS_PER_PAGE as u64 {
            dry.page(&mut keys);
        }
        let own = (cpu()? - before).min(spent);
        let per_link = |time: Duration| time.as_secs_f64() * 1e6 / tally.links as f64;
        let (now, most) = resident()?;
        println!(
            "{:>4} M known: {:.3} µs CPU a link ({:.2} M links a CPU-second; the stream's own {:.3} µs not counted), {:.1} s",
            set.count() / 1_000_000,
            per_link(spent - own),
            1.0 / per_link(spent - own),
            per_link(own),
            wall.as_secs_f64(),
        );
        println!(
            "       {} MB resident (at most {}), set says {}; {:.2} bytes a key in {} runs; longest call {:.1} ms, {:.1} undisturbed; {:.0}% at once, {:.0}% new",
            now,
            most,
            set.bytes_in_memory() >> 20,
            set.bytes_on_disk() as f64 / set.count() as f64,
            set.runs(),
            tally.longest.as_secs_f64() * 1e3,
            tally.longest_undisturbed.as_secs_f64() * 1e3,
            100.0 - tally.later as f64 * 100.0 / tally.links as f64,
            tally.new as f64 * 100.0 / tally.links as f64,
        );
        if set.count() >= known {
            break;
        }
        tally = Tally::default();
        last = None;
        next_report = (next_report * 10).min(known);
        (cpu_before, wall_before) = (cpu()?, start.elapsed());
    }
    drop(set);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
