//! `rhumb sim`

use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

use rhumb_crawl::Value;
use rhumb_sim::{Log, Sim, SimConfig, SimError, Web, WebConfig};

use crate::args::SimArgs;
use crate::failure::Failure;
use crate::figures::count;
use crate::output::say;
use crate::signals::on_signals;

pub fn run(args: SimArgs) -> Result<ExitCode, Failure> {
    if args.truth {
        return tell_truth(&args);
    }
    let latency = Duration::parse(&args.latency)
        .map_err(|reason| Failure::Usage(format!("--latency: {reason}")))?;
    let sim = Sim::start(SimConfig {
        hosts: args.hosts,
        pages: args.pages,
        seed: args.seed,
        port: args.port,
        dns_port: args.dns_port,
        log: args.log.map_or(Log::None, Log::File),
        latency,
        ..SimConfig::default()
    })
    .map_err(sim_failure)?;
    announce(&sim, args.hosts, args.pages).map_err(Failure::output)?;
    let stop = sim.stop_handle();
    let again = sim.stop_handle();
    on_signals(move |_| stop.stop(), move |_| again.stop()).map_err(Failure::io("signals"))?;
    sim.wait().map_err(sim_failure)?;
    Ok(ExitCode::SUCCESS)
}

/// One line of JSON that a script can read, and a hint for people.
fn announce(sim: &Sim, hosts: u32, pages: u64) -> std::io::Result<()> {
    let seed = sim.seed_url();
    let dns = sim.dns_addr().map(|address| address.to_string());
    let line = serde_json::json!({ "seed": seed, "port": sim.port(), "dns": dns });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    say(format_args!(
        "Serving {} hosts with about {} pages; Ctrl-C ends it.",
        count(u64::from(hosts)),
        count(pages)
    ));
    match dns {
        Some(dns) => say(format_args!(
            "Crawl it: rhumb crawl {seed} --scope any --delay 0s --dns {dns}"
        )),
        None => say(format_args!(
            "Give --dns-port too, so that a crawler can look its names up."
        )),
    }
    Ok(())
}

fn tell_truth(args: &SimArgs) -> Result<ExitCode, Failure> {
    if args.port == 0 {
        return Err(Failure::Usage(
            "--truth needs the --port that the web is served on: it is part of every URL"
                .to_owned(),
        ));
    }
    let web = Web::new(&WebConfig {
        hosts: args.hosts,
        pages: args.pages,
        seed: args.seed,
        port: args.port,
    })
    .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    web.write_truth(&mut out)
        .and_then(|()| out.flush())
        .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

pub fn sim_failure(error: SimError) -> Failure {
    match error {
        SimError::Config(_) | SimError::Listen { .. } | SimError::Log { .. } => {
            Failure::Usage(error.to_string())
        }
        other => Failure::Other(other.to_string()),
    }
}
