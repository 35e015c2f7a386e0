//! `rhumb status --host`

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use rhumb_crawl::{Answer, AskError, HostStatus, Question, ask, host_url, inspect_host};

use crate::args::StatusArgs;
use crate::failure::Failure;
use crate::figures::count;

const AGAIN: Duration = Duration::from_secs(1);

pub fn run(args: &StatusArgs, host: &str) -> Result<ExitCode, Failure> {
    let dir = &args.place.dir;
    let url = host_url(host).map_err(Failure::Usage)?;
    loop {
        let mut found = None;
        let mut refused = None;
        let question = Question::Host(url.as_str().to_owned());
        let asked = ask(dir, &question, |answer| {
            match answer {
                Answer::Host(status) => found = Some(*status),
                Answer::Refused(why) => refused = Some(why),
                _ => {}
            }
            Ok(())
        });
        let is_running = match asked {
            Ok(answered) => answered.is_some(),
            // It ended between the question and the answer.
            Err(AskError::Ended) => false,
            Err(error) => return Err(error.into()),
        };
        if let Some(why) = refused {
            return Err(Failure::Usage(why));
        }
        if !is_running {
            found = inspect_host(dir, &url)?;
        }
        let Some(status) = found else {
            return Err(Failure::Usage(format!(
                "nothing of {} was ever found by this crawl",
                url.name()
            )));
        };
        print(&status, args)?;
        if !args.watch || !is_running {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(AGAIN);
    }
}

fn print(status: &HostStatus, args: &StatusArgs) -> Result<(), Failure> {
    let text = match args.json {
        true => serde_json::to_string(status).map_err(|e| Failure::Other(e.to_string()))? + "\n",
        false => describe(status),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

fn describe(status: &HostStatus) -> String {
    let mut rows = vec![("host", format!("{} ({})", status.host, status.state))];
    let more = if status.more_queued { "more than " } else { "" };
    let queued = count(status.queued as u64);
    rows.push((
        "URLs",
        format!("{more}{queued} queued, {} under way", status.under_way),
    ));
    let mut delay = format!("{:.3} s between visits", status.delay);
    if status.crawl_delay > 0.0 {
        delay += &format!("; robots.txt asks for {:.3} s", status.crawl_delay);
    }
    if status.slow_rest > 0.0 {
        delay += &format!("; its slow answer asks for {:.3} s", status.slow_rest);
    }
    rows.push(("delay", delay));
    if status.rests > 0.0 {
        rows.push(("rests", format!("for {:.3} s more", status.rests)));
    }
    if status.failures > 0 {
        rows.push(("failures", format!("{} in a row", status.failures)));
    }
    if !status.given_up.is_empty() {
        rows.push(("given up", status.given_up.clone()));
    }
    for robots in &status.robots {
        let what = match robots.status {
            0 => format!("{} times in a row: {}", robots.failures, robots.why),
            status => format!("status {status}"),
        };
        let (origin, fetched) = (&robots.origin, &robots.fetched);
        rows.push(("robots.txt", format!("{origin}: {what}, at {fetched}")));
    }
    rows.iter()
        .map(|(label, text)| format!("{label:<12} {text}\n"))
        .collect()
}
