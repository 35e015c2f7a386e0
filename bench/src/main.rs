//! The benchmarks: what a page costs rhumb, next to a limit and a rival that
//! are measured in the same run over the same simulated web.
//!
//! This room starts and ends the processes it measures, and touches a
//! temporary folder and loopback addresses only. It never judges a speed: it
//! prints ratios and the command lines that gave them. What must hold at any
//! speed (`kill`) it does judge.

mod clients;
mod crawl;
mod journal;
mod kill;
mod measure;
mod pin;
mod program;
mod served;
mod size;
mod table;
#[path = "../../tests/support/trial/mod.rs"]
mod trial;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// As the program has it: what is measured in this process must be the same.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Parser)]
#[command(about = "Measure rhumb against a limit and a rival, over the same web in the same run.")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Pages per CPU-second of rhumb, of wget2 (the rival) and of wrk (the limit).
    Crawl(crawl::CrawlArgs),
    /// Time and bytes that a visit takes in the journal and in the archive.
    Journal(journal::JournalArgs),
    /// Kill a crawl again and again, and compare what it has in the end with
    /// the truth; ends with 1 if anything is not as it must be.
    Kill(kill::KillArgs),
    /// How long the answer about one URL takes on a large crawl.
    Why(why::WhyArgs),
    /// What the set of URLs, the queue and the commit cost as a crawl grows.
    Size(size::SizeArgs),
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    #[error("the web cannot be simulated: {0}")]
    Web(#[from] rhumb_sim::ConfigError),
    #[error("{0}")]
    Other(String),
}

impl BenchError {
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> BenchError {
        let what = what.into();
        move |error| BenchError::Io { what, error }
    }
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Crawl(args) => crawl::run(&args),
        Command::Journal(args) => journal::run(&args),
        Command::Kill(args) => kill::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Size(args) => size::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
