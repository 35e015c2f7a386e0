//! `rhumb pause`, `rhumb resume`, `rhumb stop`, `rhumb add`, `rhumb checkpoint`

use std::process::ExitCode;

use rhumb_crawl::{Answer, Question, SeedSource, Seeds, ask};

use crate::args::{AddArgs, DirArgs};
use crate::failure::{Failure, code, verdict};
use crate::figures::count;
use crate::output::{answer, say};
use crate::shell::word;

/// Seeds not taken that are told one by one.
const MISTAKES_TOLD: u64 = 10;

pub fn pause(args: &DirArgs) -> Result<ExitCode, Failure> {
    tell(
        args,
        &Question::Pause,
        "paused; `rhumb resume` lets it go on",
    )
}

pub fn resume(args: &DirArgs) -> Result<ExitCode, Failure> {
    tell(args, &Question::Resume, "going on")
}

pub fn stop(args: &DirArgs) -> Result<ExitCode, Failure> {
    tell(
        args,
        &Question::Stop,
        "stopping; visits under way are finished first",
    )
}

pub fn checkpoint(args: &DirArgs) -> Result<ExitCode, Failure> {
    tell(args, &Question::Checkpoint, "checkpoint made")
}

/// Each URL is journalled by the crawl before it is visited; `rhumb why URL`
/// tells what became of it.
pub fn add(args: &AddArgs) -> Result<ExitCode, Failure> {
    let sources: Vec<SeedSource> = args
        .seeds
        .iter()
        .map(|seed| match seed.as_str() {
            "-" => SeedSource::Stdin,
            given => SeedSource::Given(given.to_owned()),
        })
        .collect();
    let (mut added, mut known, mut refused) = (0, 0, 0);
    for seed in Seeds::open(&sources)?.urls() {
        let answer = match &seed {
            Ok(url) => ask_to(&args.place, &Question::Add(url.as_str().to_owned()))?,
            Err(mistake) => Some(Answer::Refused(mistake.to_string())),
        };
        match answer {
            None => added += 1,
            Some(Answer::Known) => known += 1,
            Some(other) => {
                refused += 1;
                if let (true, Answer::Refused(why)) = (refused <= MISTAKES_TOLD, other) {
                    let url = seed.map_or(String::new(), |url| format!("`{url}`: "));
                    say(format_args!("rhumb: {url}{why}"));
                }
            }
        }
    }
    let said = answer(format_args!(
        "{}: {} added, {} already known, {} refused; `rhumb why URL` tells what became of one",
        args.place.dir.display(),
        count(added),
        count(known),
        count(refused)
    ));
    verdict(if refused == 0 { 0 } else { code::USAGE }, said)
}

fn tell(args: &DirArgs, question: &Question, done: &str) -> Result<ExitCode, Failure> {
    if let Some(Answer::Refused(why)) = ask_to(args, question)? {
        return Err(Failure::Usage(why));
    }
    answer(format_args!("{}: {done}", args.dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Ask the running crawl to do something; what it says to it, if anything.
fn ask_to(args: &DirArgs, question: &Question) -> Result<Option<Answer>, Failure> {
    let dir = args.dir.display();
    let mut said = None;
    let asked = ask(&args.dir, question, |answer| {
        said = Some(answer);
        Ok(())
    });
    match asked {
        Ok(Some(())) => Ok(said),
        Ok(None) => Err(Failure::NoCrawl(format!(
            "no crawl is running in {dir}; start it with `rhumb crawl --dir {}`",
            word(&args.dir)
        ))),
        Err(error) => Err(error.into()),
    }
}
