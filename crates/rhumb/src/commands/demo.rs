//! `rhumb demo`: the whole thing on one machine, without a network.

use std::path::Path;
use std::process::ExitCode;

use rhumb_crawl::{Config, CrawlError, Ending, SeedSource, Seeds};
use rhumb_sim::{Log, Sim, SimConfig};
use rhumb_store::{DirectoryError, Disk, Locked, RealDisk};

use crate::args::DemoArgs;
use crate::commands::crawl::{print_summary, run_to_end};
use crate::commands::program;
use crate::commands::sim::sim_failure;
use crate::failure::Failure;
use crate::figures::count;
use crate::output::say;
use crate::shell::word;

/// Marks a directory that a demo made and a demo may replace.
const MARK: &str = "demo";

pub fn run(args: &DemoArgs) -> Result<ExitCode, Failure> {
    make_room(&args.dir)?;
    let sim = Sim::start(SimConfig {
        hosts: args.hosts,
        pages: args.pages,
        seed: args.seed,
        port: 0,
        dns_port: Some(0),
        log: Log::None,
        ..SimConfig::default()
    })
    .map_err(sim_failure)?;
    let seed = sim.seed_url();
    say(format_args!(
        "A simulated web of {} hosts and about {} pages runs on this machine. Crawling it from {seed}",
        count(u64::from(args.hosts)),
        count(args.pages),
    ));
    let mut config = Config::default();
    let dns = sim.dns_addr().map(|a| a.to_string()).unwrap_or_default();
    // Our own servers on loopback need no rest between two requests.
    for (key, value) in [("scope", "any"), ("delay", "0s"), ("dns", &dns)] {
        config.set(key, value)?;
    }
    let state = args.dir.join("state");
    std::fs::create_dir_all(&state)
        .and_then(|()| std::fs::write(state.join(MARK), seed.as_bytes()))
        .map_err(Failure::io(args.dir.display().to_string()))?;
    let seeds = Seeds::open(&[SeedSource::Given(seed.clone())])?;
    let (summary, signal) = run_to_end(&args.dir, config, seeds, false)?;
    print_summary(&summary);
    if let Ending::Failed(reason) = &summary.ending {
        return Err(Failure::Disk(reason.clone()));
    }
    print_next(&args.dir, &seed);
    Ok(signal.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn print_next(dir: &Path, seed: &str) {
    let (program, folder, dir) = (program(), dir.display(), word(dir));
    say(format_args!("\nTry next:"));
    for line in [
        format!("why {seed} --dir {dir}"),
        format!("urls --state failed --json --dir {dir} | head"),
        format!("urls --state refused --json --dir {dir} | head"),
        format!("status --dir {dir}"),
        "crawl https://example.org/ --agent \"rhumb (+https://your.site/contact)\"".to_owned(),
    ] {
        say(format_args!("  {program} {line}"));
    }
    say(format_args!(
        "The pages are in {folder}/warc/, the journal of every visit and link in {folder}/journal/."
    ));
}

/// An earlier demo is removed; anything else is left alone.
fn make_room(dir: &Path) -> Result<(), Failure> {
    if !dir.exists() {
        return Ok(());
    }
    let state = dir.join("state");
    if state.join(MARK).is_file() {
        let _lock = nobody_crawls(dir, &state.join("lock"))?;
        return std::fs::remove_dir_all(dir).map_err(Failure::io(dir.display().to_string()));
    }
    let mut entries = std::fs::read_dir(dir).map_err(Failure::io(dir.display().to_string()))?;
    if entries.next().is_none() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} exists and was not made by a demo; choose another --dir",
        dir.display()
    )))
}

/// The lock of the crawl that is there; an error if somebody holds it.
fn nobody_crawls(dir: &Path, lock: &Path) -> Result<Locked, Failure> {
    let owner = std::process::id().to_string();
    match RealDisk.lock(lock, &owner) {
        Ok(Locked::InUse(holder)) => {
            let path = dir.to_owned();
            Err(CrawlError::from(DirectoryError::InUse { path, holder }).into())
        }
        Ok(held) => Ok(held),
        Err(error) => Err(Failure::io(lock.display().to_string())(error)),
    }
}
