//! `rhumb pause`, `rhumb resume`, `rhumb stop`

use std::process::ExitCode;

use rhumb_crawl::{Question, ask};

use crate::args::DirArgs;
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

fn tell(args: &DirArgs, question: &Question, done: &str) -> Result<ExitCode, Failure> {
    let dir = args.dir.display();
    match ask(&args.dir, question, |_| Ok(())) {
        Ok(Some(())) => {
            println!("{dir}: {done}");
            Ok(ExitCode::SUCCESS)
        }
        Ok(None) => Err(Failure::NotRunning(format!(
            "no crawl is running in {dir}; start it with `rhumb crawl --dir {dir}`"
        ))),
        Err(error) => Err(Failure::io(format!("{dir}: the running crawl"))(error)),
    }
}
