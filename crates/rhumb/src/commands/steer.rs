//! `rhumb pause`, `rhumb resume`, `rhumb stop`, `rhumb add`, `rhumb checkpoint`

use std::process::ExitCode;

use rhumb_crawl::{Answer, Question, ask};

use crate::args::{AddArgs, DirArgs};
use crate::failure::Failure;

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
    let mut refused = 0;
    let mut one = |text: &str| -> Result<(), Failure> {
        if let Some(why) = ask_to(&args.place, &Question::Add(text.to_owned()))? {
            eprintln!("rhumb: `{text}` was not taken: {why}");
            refused += 1;
        }
        Ok(())
    };
    for seed in &args.seeds {
        if seed == "-" {
            for line in std::io::stdin().lines() {
                let line = line.map_err(Failure::io("standard input"))?;
                if !line.trim().is_empty() {
                    one(line.trim())?;
                }
            }
        } else {
            one(seed)?;
        }
    }
    match refused {
        0 => {
            println!(
                "{}: taken; `rhumb why URL` tells what became of one",
                args.place.dir.display()
            );
            Ok(ExitCode::SUCCESS)
        }
        n => Err(Failure::Usage(format!("{n} seeds were not taken"))),
    }
}

fn tell(args: &DirArgs, question: &Question, done: &str) -> Result<ExitCode, Failure> {
    if let Some(why) = ask_to(args, question)? {
        return Err(Failure::Usage(why));
    }
    println!("{}: {done}", args.dir.display());
    Ok(ExitCode::SUCCESS)
}

/// Ask the running crawl to do something; what it says against it, if it does.
fn ask_to(args: &DirArgs, question: &Question) -> Result<Option<String>, Failure> {
    let dir = args.dir.display();
    let mut refused = None;
    let asked = ask(&args.dir, question, |answer| {
        if let Answer::Refused(why) = answer {
            refused = Some(why);
        }
        Ok(())
    });
    match asked {
        Ok(Some(())) => Ok(refused),
        Ok(None) => Err(Failure::NotRunning(format!(
            "no crawl is running in {dir}; start it with `rhumb crawl --dir {dir}`"
        ))),
        Err(error) => Err(Failure::io(format!("{dir}: the running crawl"))(error)),
    }
}
