//! `rhumb urls`

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use rhumb_crawl::{Answer, AskError, Listed, Question, ask, list_urls};
use rhumb_store::State;

use crate::args::{StateArg, UrlsArgs};
use crate::failure::Failure;

pub fn run(args: &UrlsArgs) -> Result<ExitCode, Failure> {
    let dir = &args.place.dir;
    let state = match args.state {
        StateArg::Queued => State::Queued,
        StateArg::InFlight => State::InFlight,
        StateArg::Fetched => State::Fetched,
        StateArg::Failed => State::Failed,
        StateArg::Refused => State::Refused,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let asked = match state {
        State::Queued => ask_running(args, &Question::Queued, state, &mut out)?,
        State::InFlight => ask_running(args, &Question::InFlight, state, &mut out)?,
        _ => false,
    };
    if !asked {
        list_urls(dir, state, |listed| write(&mut out, &listed, args.json))?;
    }
    out.flush().map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// What waits or is in flight is known best by the crawl that runs.
fn ask_running(
    args: &UrlsArgs,
    question: &Question,
    state: State,
    out: &mut impl Write,
) -> Result<bool, Failure> {
    let mut listed_any = false;
    let asked = ask(&args.place.dir, question, |answer| {
        if let Answer::Urls(urls) = answer {
            for url in urls {
                listed_any = true;
                let listed = Listed {
                    url,
                    state: state.label(),
                    reason: state.label().to_owned(),
                    detail: String::new(),
                    status: None,
                    time: None,
                };
                write(out, &listed, args.json)?;
            }
        }
        Ok(())
    });
    match asked {
        // It ended before it had said anything: what it left is all there is.
        Err(AskError::Ended) if !listed_any => Ok(false),
        asked => Ok(asked?.is_some()),
    }
}

fn write(out: &mut impl Write, listed: &Listed, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, listed)?;
        out.write_all(b"\n")
    } else {
        writeln!(out, "{}", listed.url)
    }
}
