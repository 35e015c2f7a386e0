//! The lines of figures.

use std::time::Instant;

use super::gauge::{Gaps, cpu, resident};
use super::load::{LINKS_PER_PAGE, Load};
use super::state::{Held, State, Tally};

/// Pages that are made up alone, to know what that costs.
const SAMPLE: u64 = 200_000;

/// What one stretch of the run came to.
pub struct Figures {
    pub known: u64,
    pub links_per_cpu_second: f64,
}

/// Where a stretch of the run began.
pub struct Stretch {
    cpu: std::time::Duration,
    wall: Instant,
    tally: Tally,
    pub gaps: Gaps,
}

impl Stretch {
    pub fn begin(state: &State) -> Stretch {
        Stretch {
            cpu: cpu(),
            wall: Instant::now(),
            tally: state.tally,
            gaps: Gaps::default(),
        }
    }

    /// Print what happened since.
    pub fn end(self, state: &State, held: Held, load: &Load) -> Figures {
        let (spent, wall) = (cpu() - self.cpu, self.wall.elapsed());
        let (resident, peak) = resident();
        let links = state.tally.links - self.tally.links;
        let later = state.tally.later - self.tally.later;
        let held_back = state.tally.held_back - self.tally.held_back;
        let whole = spent.as_secs_f64() * 1e6 / links as f64;
        let own = micros_of_load(load);
        let each = whole - own;
        let (known, queued) = (state.known(), state.queued());
        let millions = |n: u64| n as f64 / 1e6;
        println!(
            "{:>6.1} {:>6.1} {:>5} {:>6.1} | {:>9.2} {:>7.3} {:>7.3} | {:>6.1} {:>5.1} | {:>6.2} {:>6.1} | {:>5} {:>5} {:>5} | {:>7.1} {:>7.1} | {:>4.0} %",
            millions(known),
            millions(queued),
            load.hosts() / 1000,
            millions(links),
            1.0 / each,
            each,
            own,
            wall.as_secs_f64(),
            held_back.as_secs_f64(),
            held.set_bytes as f64 / known as f64,
            held.queue_bytes as f64 / queued as f64,
            resident,
            peak,
            held.in_memory >> 20,
            self.gaps.longest.as_secs_f64() * 1e3,
            self.gaps.longest_undisturbed.as_secs_f64() * 1e3,
            100.0 - later as f64 * 100.0 / links as f64,
        );
        Figures {
            known,
            links_per_cpu_second: 1e6 / each,
        }
    }
}

pub fn print_header() {
    println!(
        "      URLs, millions       |   set and queue    load |   seconds    |   bytes in    |   MiB resident    | longest step ms | answered"
    );
    println!(
        " known queued hosts  links | M links/s µs/link µs/link |   wall  held |    set  queue |   now  peak  says |     all undist. | at once"
    );
}

pub const LEGEND: &str = "\
Links per CPU-second and µs of CPU time per link of all threads, merges included, over the
stretch since the line before; what it costs to make the links up and to measure stands in a
column of its own and is not in them. A stretch ends when all is answered, written and merged.
Hosts in thousands. held: the caller held back because set or queue were congested. says: what
set and queue account for. undist.: among steps in which no other thread had the processor.";

/// What it costs to make a link up, and to measure.
fn micros_of_load(load: &Load) -> f64 {
    let mut load = load.clone();
    let mut gaps = Gaps::default();
    let before = cpu();
    for _ in 0..SAMPLE {
        let mut links = Vec::with_capacity(LINKS_PER_PAGE);
        let host = load.known_host();
        load.page(host, &mut links);
        gaps.time(|| drop(std::hint::black_box(links)));
    }
    (cpu() - before).as_secs_f64() * 1e6 / (SAMPLE * LINKS_PER_PAGE as u64) as f64
}
