//! `bench kill`: a crawl that is killed at random moments, again and again,
//! and must end as if nothing had happened.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use clap::builder::RangedU64ValueParser;

use crate::BenchError;
use crate::pin::Cores;
use crate::program;
use crate::served::Served;
use crate::trial::{Allowed, Chance, Trial};

/// Every so many kills, one comes while the program starts or recovers.
const EARLY_EVERY: usize = 4;
/// How soon, at most.
const EARLY: f64 = 0.08;
/// A first guess at pages in a second; what is seen replaces it.
const GUESSED_RATE: f64 = 1000.0;
/// A life is planned so that the pages would last for this many kills more.
const KILLS_TO_SPARE: usize = 4;
/// A life is no longer than this, in seconds.
const LONGEST: f64 = 20.0;

#[derive(clap::Args)]
pub struct KillArgs {
    /// How often the crawl is killed.
    #[arg(long, default_value_t = 50, value_parser = at_least_once())]
    kills: usize,
    /// Hosts of the simulated web.
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Its pages.
    #[arg(long, default_value_t = 5_000)]
    pages: u64,
    /// Shards of the crawl.
    #[arg(long, default_value_t = 2)]
    shards: usize,
    /// Connections it may have open.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Milliseconds between two requests to one host.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    delay: u64,
    /// Another seed gives another web and other moments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Format of the archive.
    #[arg(long, default_value = "zstd", value_parser = ["zstd", "gzip"])]
    warc: String,
}

/// A crawl that is never killed would prove nothing.
fn at_least_once() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

pub fn run(args: &KillArgs) -> Result<(), BenchError> {
    let rhumb = program::rhumb()?;
    let folder = tempfile::tempdir().map_err(BenchError::io("a temporary folder"))?;
    // Nothing is timed here: everybody may use every core.
    let web = (args.hosts, args.pages, args.seed);
    let served = Served::start(&rhumb, &Cores::unpinned(), folder.path(), web)?;
    let crawl = Crawl {
        rhumb,
        dir: folder.path().join("crawl"),
        args,
        served: &served,
    };
    println!("{}\n{}\n", served.command, crawl.command_line());
    let began = Instant::now();
    let mut trial = Trial::new(&crawl.dir);
    kill_again_and_again(&crawl, &mut trial)?;
    trial.begins();
    crawl.finish()?;
    let wrong_lists = crawl.wrong_lists()?;
    let allowed = Allowed {
        connections: args.connections,
        delay: Duration::from_millis(args.delay),
    };
    let mut verdict = trial.judge(served.requests()?, &served.truth, &allowed);
    verdict.breaches.extend(wrong_lists);
    print!("{verdict}");
    println!("{:<24} {:.0} s", "time", began.elapsed().as_secs_f64());
    match verdict.breaches.is_empty() {
        true => Ok(()),
        false => Err(BenchError::Other("something does not hold".to_owned())),
    }
}

/// Kill as often as was asked, at moments spread over the whole crawl: each
/// life is planned from what is left and from how fast the last ones were.
fn kill_again_and_again(crawl: &Crawl, trial: &mut Trial) -> Result<(), BenchError> {
    let args = crawl.args;
    let mut chance = Chance::new(args.seed);
    let (mut done, mut rate) = (0, GUESSED_RATE);
    for kill in 0..args.kills {
        let left = crawl.urls().saturating_sub(done) as f64;
        let share = left / (args.kills - kill + KILLS_TO_SPARE) as f64;
        let early = kill % EARLY_EVERY == EARLY_EVERY - 1;
        let archived = crawl.archived();
        trial.begins();
        // A process that died before it wrote its seed has left none.
        let mut process = match done {
            0 => crawl.begin()?,
            _ => crawl.go_on()?,
        };
        let life = match early {
            true => chance.between(0.0, EARLY),
            false => {
                crawl.wait_for_pages(archived, &mut process)?;
                chance.between(0.0, 2.0) * (share / rate).min(LONGEST)
            }
        };
        std::thread::sleep(Duration::from_secs_f64(life));
        process.kill().map_err(BenchError::io("kill"))?;
        let at = SystemTime::now();
        let status = process.wait().map_err(BenchError::io("rhumb crawl"))?;
        if status.code().is_some() {
            return Err(BenchError::Other(format!(
                "the crawl ended ({status}) after {kill} kills; give it more --pages"
            )));
        }
        let before = std::mem::replace(&mut done, trial.was_killed(at));
        if !early {
            let seen = (done - before).max(1) as f64 / life.max(0.01);
            rate = (rate + seen) / 2.0;
        }
        let when = if early { "the start" } else { "its first page" };
        eprintln!(
            "kill {}: {life:.3} s after {when}, {done} URLs committed",
            kill + 1
        );
    }
    Ok(())
}

/// The crawl that is killed.
struct Crawl<'a> {
    rhumb: PathBuf,
    dir: PathBuf,
    args: &'a KillArgs,
    served: &'a Served,
}

impl Crawl<'_> {
    fn words(&self) -> Vec<String> {
        let args = self.args;
        let mut words = vec!["crawl".to_owned(), "--quiet".to_owned()];
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
        flag("--dir", self.dir.display().to_string());
        flag("--scope", "any".to_owned());
        flag("--delay", format!("{}ms", args.delay));
        flag("--threads", args.shards.to_string());
        flag("--connections", args.connections.to_string());
        flag("--warc", args.warc.clone());
        flag("--dns", self.served.dns.clone());
        // Checkpoints between the kills, and a state that does not fit.
        flag("--set", "checkpoint_visits=50".to_owned());
        flag("--set", "sync_interval=50ms".to_owned());
        flag("--set", "memory=2Mi".to_owned());
        words.push(self.served.seed.clone());
        words
    }

    fn command_line(&self) -> String {
        let line = format!("rhumb {}", self.words().join(" "));
        line.replace(&self.dir.display().to_string(), "DIR")
    }

    fn begin(&self) -> Result<Child, BenchError> {
        self.start(&self.words())
    }

    /// The directory remembers everything.
    fn go_on(&self) -> Result<Child, BenchError> {
        let dir = self.dir.display().to_string();
        self.start(&["crawl", "--quiet", "--dir", &dir])
    }

    fn start<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Child, BenchError> {
        let mut command = Command::new(&self.rhumb);
        command.args(words).stdout(Stdio::null());
        command.spawn().map_err(BenchError::io("rhumb crawl"))
    }

    /// URLs that will have a visit in the end.
    fn urls(&self) -> usize {
        let truth = &self.served.truth;
        let lists = [
            &truth.pages,
            &truth.redirects,
            &truth.missing,
            &truth.unwanted,
            &truth.forbidden,
        ];
        lists.iter().map(|list| list.len()).sum()
    }

    /// Bytes in the archive.
    fn archived(&self) -> u64 {
        let Ok(files) = std::fs::read_dir(self.dir.join("warc")) else {
            return 0;
        };
        let lengths = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        lengths.sum()
    }

    /// Until the archive has grown, or the process has ended.
    fn wait_for_pages(&self, archived: u64, process: &mut Child) -> Result<(), BenchError> {
        let began = Instant::now();
        while self.archived() <= archived && began.elapsed().as_secs_f64() < LONGEST {
            let ended = process.try_wait().map_err(BenchError::io("rhumb crawl"))?;
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Let it run to its end.
    fn finish(&self) -> Result<(), BenchError> {
        let status = self
            .go_on()?
            .wait()
            .map_err(BenchError::io("rhumb crawl"))?;
        match status.success() {
            true => Ok(()),
            false => Err(BenchError::Other(format!("the crawl ended with {status}"))),
        }
    }

    /// How `rhumb urls` differs from the truth.
    fn wrong_lists(&self) -> Result<Vec<String>, BenchError> {
        let truth = &self.served.truth;
        let fetched = truth.pages.iter().chain(&truth.redirects);
        let expected = [
            ("fetched", fetched.collect::<BTreeSet<_>>()),
            ("failed", truth.missing.iter().collect()),
            ("queued", BTreeSet::new()),
        ];
        let mut wrong = Vec::new();
        for (state, expected) in expected {
            let listed = listed(&self.rhumb, &self.dir, state)?;
            let found: BTreeSet<&String> = listed.iter().collect();
            let missing = expected.difference(&found).count();
            let extra = found.difference(&expected).count();
            if missing + extra > 0 || listed.len() != found.len() {
                wrong.push(format!(
                    "`rhumb urls --state {state}`: {missing} missing, {extra} too many, {} twice",
                    listed.len() - found.len()
                ));
            }
        }
        Ok(wrong)
    }
}

fn listed(rhumb: &Path, dir: &Path, state: &str) -> Result<Vec<String>, BenchError> {
    let rhumb = rhumb.display().to_string();
    let dir = dir.display().to_string();
    program::output(&[&rhumb, "urls", "--dir", &dir, "--state", state])
        .map(|text| text.lines().map(str::to_owned).collect())
        .ok_or_else(|| BenchError::Other("`rhumb urls` failed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Kill {
        #[command(flatten)]
        args: KillArgs,
    }

    #[test]
    fn a_trial_without_kills_is_refused() {
        let kills = |count| Kill::try_parse_from(["kill", "--kills", count]);
        let refused = kills("0").err().map(|error| error.to_string());
        assert!(refused.is_some_and(|told| told.contains("0 is not in 1..")));
        assert_eq!(kills("3").ok().map(|kill| kill.args.kills), Some(3));
    }
}
