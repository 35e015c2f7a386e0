//! `rhumb crawl`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use rhumb_crawl::{
    Config, Crawl, CrawlError, Ending, Handle, Reach, SeedSource, Seeds, Summary, dns_config,
    list_urls,
};
use rhumb_store::{CrawlDirectory, Outcome, State};

use crate::args::CrawlArgs;
use crate::commands::{effective_config, kept_config, program};
use crate::failure::{Failure, verdict};
use crate::figures::{beyond_max_links, by_kind, bytes, clock, count};
use crate::output::say;
use crate::progress::Progress;
use crate::shell::word;
use crate::signals::on_signals;

/// Visits that brought nothing and are told one by one.
const FAILURES_TOLD: usize = 3;

pub fn run(args: Box<CrawlArgs>) -> Result<ExitCode, Failure> {
    let call = effective_config(None, &args.settings)?;
    let mut seeds = open_seeds(&args)?;
    let Some(dir) = choose_dir(&args, &call, &mut seeds) else {
        return Err(no_seeds(&seeds));
    };
    let Config { json, quiet, .. } = effective_config(Some(&dir), &args.settings)?;
    let config = kept_config(&dir, &args.settings)?;
    if !CrawlDirectory::exists(&dir) && seeds.first().is_none() {
        return Err(match seeds.skipped().is_empty() {
            false => no_seeds(&seeds),
            true => Failure::NoCrawl(format!(
                "there is no crawl in {} to go on with, and no seed to begin one: give a URL, or --seeds FILE",
                dir.display()
            )),
        });
    }
    if CrawlDirectory::exists(&dir) && !dir.join("crawl.toml").exists() {
        say(format_args!(
            "rhumb: {} has no crawl.toml any more: what is not given now is as by default",
            dir.display()
        ));
    }
    let reach = Reach::new(&config, &dns_config(&config)?);
    // Before there is anything on disk. The others are looked at as they come.
    if !CrawlDirectory::exists(&dir)
        && let Some(why) = seeds.first().and_then(|seed| reach.lacks_contact(seed))
    {
        return Err(Failure::Usage(why));
    }
    let (summary, signal) = run_to_end(&dir, config, seeds, quiet)?;
    if !quiet {
        print_summary(&summary);
    }
    let said = match json {
        true => print_json(&summary),
        false => Ok(()),
    };
    verdict(conclude(&summary, signal)?, said)
}

/// Seeds on the command line are checked before anything else happens.
fn open_seeds(args: &CrawlArgs) -> Result<Seeds, Failure> {
    for text in &args.seeds {
        Seeds::check(text)?;
    }
    let given = args.seeds.iter().cloned().map(SeedSource::Given);
    let files = args.seed_files.iter().map(|path| {
        if path == Path::new("-") {
            SeedSource::Stdin
        } else {
            SeedSource::File(path.clone())
        }
    });
    Ok(Seeds::open(&given.chain(files).collect::<Vec<_>>())?)
}

fn no_seeds(seeds: &Seeds) -> Failure {
    match seeds.skipped().first() {
        Some(mistake) => Failure::Usage(format!(
            "none of the seeds is a URL ({} lines are not); the first mistake: {mistake}",
            count(seeds.skipped_count())
        )),
        None => CrawlError::NoSeeds.into(),
    }
}

/// The directory that was named, or that of the first seed, or this one if a
/// crawl is in it.
fn choose_dir(args: &CrawlArgs, call: &Config, seeds: &mut Seeds) -> Option<PathBuf> {
    if let Some(dir) = &args.settings.dir {
        return Some(dir.clone());
    }
    if !call.dir.is_empty() {
        return Some(PathBuf::from(&call.dir));
    }
    if let Some(seed) = seeds.first() {
        let name = seed.name().trim_matches(['[', ']']).replace(':', "-");
        return Some(PathBuf::from(format!("crawl-{name}")));
    }
    CrawlDirectory::exists(Path::new(".")).then(|| PathBuf::from("."))
}

/// Open and run a crawl with its display and its signals; also used by the
/// demo.
pub fn run_to_end(
    dir: &Path,
    config: Config,
    seeds: Seeds,
    quiet: bool,
) -> Result<(Summary, Option<u8>), Failure> {
    let opened: Arc<OnceLock<Handle>> = Arc::default();
    let (first, second) = (Arc::clone(&opened), Arc::clone(&opened));
    let signal = on_signals(
        move |code| match first.get() {
            Some(handle) => handle.end(Ending::Interrupted),
            // Nothing has begun: opening only reads, and cuts what was torn.
            None => std::process::exit(code.into()),
        },
        move |code| match second.get() {
            Some(handle) => handle.abandon(),
            None => std::process::exit(code.into()),
        },
    )
    .map_err(Failure::io("signals"))?;
    let crawl = Crawl::open(dir, config)?;
    let _ = opened.set(crawl.handle());
    let mut progress = Progress::new(quiet);
    let result = crawl.run(seeds, &mut progress);
    progress.clear();
    Ok((result?, signal.exit_code()))
}

fn print_json(summary: &Summary) -> Result<(), Failure> {
    let line = serde_json::to_string(summary).map_err(|e| Failure::Other(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").map_err(Failure::output)
}

pub fn print_summary(summary: &Summary) {
    let counts = &summary.counts;
    let ending = match &summary.ending {
        Ending::Finished => "Finished: nothing is left to visit.",
        Ending::PageLimit => "Ended at the limit on pages; raise --max-pages to go on.",
        Ending::ByteLimit => "Ended at the limit on bytes; raise --max-bytes to go on.",
        Ending::TimeLimit => "Ended at the limit on time.",
        Ending::Interrupted | Ending::Stopped => "Stopped cleanly; nothing is lost.",
        Ending::Failed(_) => "Stopped by a failure.",
    };
    say(format_args!("{ending}"));
    let row = |label: &str, text: String| say(format_args!("  {label:<12} {text}"));
    row(
        "pages",
        format!(
            "{} ({} redirects, {} duplicates)",
            count(counts.fetched),
            count(counts.redirects),
            count(counts.duplicates)
        ),
    );
    for (state, n, kinds) in [
        ("failed", counts.failed, &counts.failures),
        ("refused", counts.refused, &counts.refusals),
    ] {
        let gap = if kinds.is_empty() { "" } else { ": " };
        row(state, format!("{}{gap}{}", count(n), by_kind(kinds)));
    }
    if summary.bad_seeds > 0 {
        row("seeds", format!("{} refused", count(summary.bad_seeds)));
    }
    row(
        "URLs",
        format!(
            "{} seen, {} queued; {} links, {} of them refused{}",
            count(counts.urls_seen),
            count(counts.queued),
            count(counts.links),
            count(counts.links_refused),
            beyond_max_links(counts.links_dropped)
        ),
    );
    row(
        "speed",
        format!(
            "{:.0} pages/s over {}, {:.0} per CPU-second",
            summary.pages_per_second,
            clock(std::time::Duration::from_secs_f64(summary.seconds)),
            summary.pages_per_cpu_second
        ),
    );
    row(
        "bytes",
        format!(
            "{} received, {} of memory at most",
            bytes(counts.bytes),
            bytes(summary.peak_rss_bytes)
        ),
    );
    row("directory", summary.dir.display().to_string());
}

/// The exit code, or the failure that the run amounts to.
fn conclude(summary: &Summary, signal: Option<u8>) -> Result<u8, Failure> {
    match &summary.ending {
        Ending::Failed(reason) => return Err(Failure::Disk(reason.clone())),
        Ending::Interrupted => {
            say(format_args!(
                "Go on with: {} crawl --dir {}",
                program(),
                word(&summary.dir)
            ));
            return Ok(signal.unwrap_or(130));
        }
        _ => {}
    }
    let counts = &summary.counts;
    if counts.fetched == 0 && counts.failed + counts.refused > 0 {
        return Err(nothing_fetched(summary));
    }
    Ok(0)
}

fn nothing_fetched(summary: &Summary) -> Failure {
    let (program, dir) = (program(), word(&summary.dir));
    let (what, failures) = match summary.unfetched.is_empty() {
        false => ("nothing could be fetched", summary.unfetched.clone()),
        true => (
            "nothing was left to visit, and nothing could be fetched before",
            failed_before(&summary.dir),
        ),
    };
    // What a rule refused stays refused: only failures are tried again.
    let of_host = [Outcome::RobotsUnreachable, Outcome::HostGivenUp];
    let again = summary.counts.failed > 0
        || (of_host.iter()).any(|kind| summary.counts.refusals.contains_key(kind.label()));
    let next = match again {
        false => "The rules that refused them hold when they are given again too.".to_owned(),
        true => format!(
            "Check the seeds and the network, then give a seed again to have it tried again: \
             `{program} crawl URL --dir {dir}`."
        ),
    };
    Failure::NothingFetched(format!(
        "{what}\n  {}\n{next} `{program} why URL --dir {dir}` tells all that is known of one.",
        failures.join("\n  "),
    ))
}

/// The first visits of earlier runs that brought nothing. Where they cannot
/// be read, the rest of the message has to do.
fn failed_before(dir: &Path) -> Vec<String> {
    let mut failures = Vec::new();
    for state in [State::Failed, State::Refused] {
        let _ = list_urls(dir, state, |listed| {
            if failures.len() < FAILURES_TOLD {
                let (url, reason, detail) = (listed.url, listed.reason, listed.detail);
                failures.push(format!("{url}: {reason}: {detail}"));
            }
            Ok(())
        });
    }
    failures
}
