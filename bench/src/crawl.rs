//! `bench crawl`: who fetches how many pages in a second of processor time.

use crate::BenchError;
use crate::clients::{self, Client, Keeps};
use crate::measure::{Measured, measure};
use crate::pin::Cores;
use crate::program;
use crate::served::Served;
use crate::table::{self, Row};

#[derive(clap::Args)]
pub struct CrawlArgs {
    /// Pages of the simulated web.
    #[arg(long, default_value_t = 10_000)]
    pages: u64,
    /// Its hosts.
    #[arg(long, default_value_t = 300)]
    hosts: u32,
    /// Another seed gives another web.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often each client runs; its best run counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CrawlArgs) -> Result<(), BenchError> {
    let rhumb = program::rhumb()?;
    let folder = tempfile::tempdir().map_err(BenchError::io("a temporary folder"))?;
    let cores = Cores::find();
    let served = Served::start(
        &rhumb,
        &cores,
        folder.path(),
        (args.hosts, args.pages, args.seed),
    )?;
    let mut clients = Vec::new();
    match clients::wrk(&served, folder.path())? {
        Some(wrk) => clients.push(wrk),
        None => eprintln!("left out: wrk is missing: apt-get install wrk"),
    }
    for keeps in [Keeps::Files, Keeps::Nothing] {
        match clients::wget2(&served, folder.path(), keeps)? {
            Ok(wget2) => clients.push(wget2),
            Err(why) => eprintln!("left out: {why}"),
        }
    }
    for (name, warc) in [
        ("rhumb, zstd archive", "zstd"),
        ("rhumb, gzip archive", "gzip"),
        ("rhumb, no archive", "none"),
    ] {
        clients.push(clients::rhumb(&rhumb, &served, folder.path(), name, warc));
    }
    let best = run_rounds(&clients, args.rounds, &served, &cores)?;
    let rows: Vec<Row> = clients.iter().zip(&best).map(row).collect();
    if args.json {
        println!("{}", table::json(&rows, &cores, &served));
    } else {
        table::print(&rows, &cores, &served, args.rounds);
    }
    Ok(())
}

fn row<'a>((client, measured): (&'a Client, &'a Measured)) -> Row<'a> {
    Row {
        name: client.name,
        command: client.command_line(),
        measured,
    }
}

/// The best run of each client. Every other round goes through them backwards,
/// so that none is always the one after another.
fn run_rounds(
    clients: &[Client],
    rounds: u32,
    served: &Served,
    cores: &Cores,
) -> Result<Vec<Measured>, BenchError> {
    let mut best: Vec<Option<Measured>> = vec![None; clients.len()];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let client = &clients[at];
            let measured = measure(served, cores, &mut client.command())?;
            client.clean_up()?;
            eprintln!(
                "round {}: {}: {} pages, {:.2} s of processor time",
                round + 1,
                client.name,
                measured.pages,
                measured.cpu_seconds
            );
            let speed = measured.pages_per_cpu_second();
            if best[at].is_none_or(|earlier| earlier.pages_per_cpu_second() < speed) {
                best[at] = Some(measured);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}
