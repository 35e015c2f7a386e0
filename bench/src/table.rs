//! The results, for people and for programs.

use serde_json::{Value, json};

use crate::measure::Measured;
use crate::pin::Cores;
use crate::served::Served;

/// From this share of the wall time on, a process could hardly do more.
const BUSY: f64 = 0.9;

pub struct Row<'a> {
    pub name: &'a str,
    pub command: String,
    pub measured: &'a Measured,
}

/// Speeds of the two others, as far as they took part.
struct Yardsticks {
    wrk: Option<f64>,
    wget2: Option<f64>,
}

impl Yardsticks {
    fn of(rows: &[Row]) -> Yardsticks {
        let speed = |word: &str| {
            let row = rows.iter().find(|row| row.name.starts_with(word))?;
            Some(row.measured.pages_per_cpu_second())
        };
        Yardsticks {
            wrk: speed("wrk"),
            wget2: speed("wget2"),
        }
    }
}

pub fn print(rows: &[Row], cores: &Cores, served: &Served, rounds: u32) {
    let yardsticks = Yardsticks::of(rows);
    println!(
        "{} hosts, {} pages to be found; best of {rounds}; {}.\nLoad average before the first run: {}\n",
        served.truth.hosts,
        served.truth.pages.len(),
        cores.describe(),
        cores.load_before()
    );
    println!(
        "{:<21} {:>7} {:>8} {:>7} {:>7} {:>9} {:>7} {:>8} {:>10}",
        "client",
        "pages",
        "requests",
        "wall s",
        "CPU s",
        "pages per",
        "µs per",
        "ratio to",
        "ratio to"
    );
    println!(
        "{:<21} {:>7} {:>8} {:>7} {:>7} {:>9} {:>7} {:>8} {:>10}",
        "", "", "", "", "", "CPU-sec", "page", "wrk", "wget2"
    );
    for row in rows {
        let m = row.measured;
        let speed = m.pages_per_cpu_second();
        let ratio = |other: Option<f64>| other.map_or("-".into(), |o| format!("{:.3}", speed / o));
        println!(
            "{:<21} {:>7} {:>8} {:>7.2} {:>7.2} {:>9.0} {:>7.0} {:>8} {:>10}",
            row.name,
            m.pages,
            m.requests,
            m.wall_seconds,
            m.cpu_seconds,
            speed,
            1e6 / speed,
            ratio(yardsticks.wrk),
            ratio(yardsticks.wget2)
        );
    }
    println!("\nShare of its own core that each side used (client, simulated web):");
    for row in rows {
        let (client, server) = (row.measured.client_share(), row.measured.server_share);
        println!(
            "  {:<21} {:>4.0} % {:>4.0} %  {}",
            row.name,
            client * 100.0,
            server * 100.0,
            verdict(client, server)
        );
    }
    println!("\nCommand lines:\n  {}", served.command);
    for row in rows {
        println!("  {}", row.command);
    }
}

/// Who set the pace. The client's processor time is its own either way.
fn verdict(client: f64, server: f64) -> &'static str {
    if server >= BUSY {
        "the simulated web was the bottleneck"
    } else if client >= BUSY {
        "the client was the bottleneck"
    } else {
        "neither: they waited for each other, or other programs used the cores"
    }
}

pub fn json(rows: &[Row], cores: &Cores, served: &Served) -> Value {
    let yardsticks = Yardsticks::of(rows);
    let row = |row: &Row| {
        let speed = row.measured.pages_per_cpu_second();
        json!({
            "client": row.name,
            "command": row.command,
            "measured": row.measured,
            "pages_per_cpu_second": speed,
            "ratio_to_wrk": yardsticks.wrk.map(|other| speed / other),
            "ratio_to_wget2": yardsticks.wget2.map(|other| speed / other),
            "server_was_bottleneck": row.measured.server_share >= BUSY,
        })
    };
    json!({
        "hosts": served.truth.hosts,
        "pages_to_be_found": served.truth.pages.len(),
        "pinning": cores.describe(),
        "load_before": cores.load_before(),
        "server": served.command,
        "clients": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
