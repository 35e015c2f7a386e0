//! `rhumb robots`: what a robots.txt says to URLs.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use rhumb_crawl::{NoVerdict, RobotsFile, Standing};
use rhumb_robots::{MAX_SIZE, Verdict, product_token};
use rhumb_url::Url;
use serde::Serialize;

use crate::args::{RobotsArgs, Settings};
use crate::commands::effective_config;
use crate::failure::{Failure, code, verdict};
use crate::lines::{Line, Lines, TOO_LONG};
use crate::output::say;

pub fn run(args: &RobotsArgs) -> Result<ExitCode, Failure> {
    let from_stdin = args.urls.iter().any(|url| url == "-");
    if from_stdin && (args.urls.len() > 1 || args.source == Path::new("-")) {
        return Err(Failure::Usage(
            "`-` stands for all of standard input: give it once, and no URLs beside it".to_owned(),
        ));
    }
    let robots = open(args)?;
    tell_standing(&robots, &args.source);
    let mut out = BufWriter::new(io::stdout().lock());
    let said = match from_stdin {
        true => answer_stdin(&robots, &mut out),
        false => answer_given(&robots, args, &mut out).map_err(Failure::output),
    };
    let is_unanswered = |url: &String| robots.ask(url).is_err();
    let code = match robots.standing() {
        Standing::Unanswered { .. } => code::NOTHING_FETCHED,
        _ if !from_stdin && args.urls.iter().any(is_unanswered) => code::USAGE,
        _ => 0,
    };
    verdict(code, said)
}

fn open(args: &RobotsArgs) -> Result<RobotsFile, Failure> {
    let settings = args.settings.as_settings();
    let Some(url) = args.source.to_str().filter(|text| is_url(text)) else {
        let agent = agent_for_file(settings)?;
        tell_nameless(&agent);
        return Ok(RobotsFile::read(&read(&args.source)?, &agent));
    };
    let page = Url::parse(url)
        .map_err(|why| Failure::Usage(format!("`{url}`: {why}; {}", why.remedy())))?;
    let config = effective_config(None, &settings)?;
    tell_nameless(&config.agent);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("runtime"))?
        .block_on(RobotsFile::fetch(&page, &config))
        .map_err(Failure::Crawl)
}

fn is_url(text: &str) -> bool {
    let begins = |with: &str| {
        text.get(..with.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(with))
    };
    begins("http://") || begins("https://")
}

/// No request carries this agent, so any text will do.
fn agent_for_file(mut settings: Settings) -> Result<String, Failure> {
    let given = settings.agent.take();
    let config = effective_config(None, &settings)?;
    Ok(given.unwrap_or(config.agent))
}

fn tell_nameless(agent: &str) {
    if product_token(agent).is_empty() {
        say(format_args!(
            "rhumb: the agent `{}` does not begin with a name: the rules for everyone count",
            shown(agent)
        ));
    }
}

/// As much of a file as counts.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    if file == Path::new("-") {
        io::stdin()
            .lock()
            .take(MAX_SIZE as u64)
            .read_to_end(&mut text)
            .map_err(Failure::io("standard input"))?;
    } else {
        File::open(file)
            .and_then(|open| open.take(MAX_SIZE as u64).read_to_end(&mut text))
            .map_err(|error| {
                Failure::Usage(format!(
                    "{}: {error}\nGive a file, or a URL such as https://example.org/ for the robots.txt of a site.",
                    file.display()
                ))
            })?;
    }
    Ok(text)
}

fn tell_standing(robots: &RobotsFile, source: &Path) {
    let source = source.display();
    match robots.standing() {
        Standing::Found => {}
        Standing::Missing { why } => say(format_args!(
            "rhumb: {source}: {why}: no rules, everything is allowed"
        )),
        Standing::Closed { why } => say(format_args!(
            "rhumb: {source}: {why}: a crawl visits nothing there until it can read it"
        )),
        Standing::Unanswered { why } => say(format_args!(
            "rhumb: {source}: {why}: a crawl visits nothing there without an answer\n\
             Check the URL and the network; --resolve and --dns tell where names live."
        )),
    }
}

fn answer_given(robots: &RobotsFile, args: &RobotsArgs, out: &mut impl Write) -> io::Result<()> {
    for url in &args.urls {
        let answer = robots.ask(url);
        match args.json {
            true => write_json(out, url, &answer)?,
            false => write_text(out, url, &answer, robots.standing())?,
        }
    }
    out.flush()
}

/// One line of JSON for each line. Answers are held back only as long as the
/// next question is at hand: whoever waits for one gets it.
fn answer_stdin(robots: &RobotsFile, out: &mut impl Write) -> Result<(), Failure> {
    let mut lines = Lines::of_stdin();
    loop {
        if !lines.is_next_at_hand() {
            out.flush().map_err(Failure::output)?;
        }
        let written = match lines.next()? {
            None => return Ok(()),
            Some(Line::Text(text) | Line::NotUtf8(text)) => {
                write_json(out, &text, &robots.ask(&text))
            }
            Some(Line::TooLong(start)) => write_error(out, &start, TOO_LONG),
        };
        written.map_err(Failure::output)?;
    }
}

type Answer<'a> = Result<Verdict<'a>, NoVerdict>;

#[derive(Serialize)]
struct Answered<'a> {
    url: &'a str,
    allowed: bool,
    line: Option<u32>,
    rule: Option<&'a str>,
}

#[derive(Serialize)]
struct Unanswered<'a> {
    url: &'a str,
    error: &'a str,
}

fn write_json(out: &mut impl Write, url: &str, answer: &Answer<'_>) -> io::Result<()> {
    match answer {
        Ok(verdict) => {
            let answered = Answered {
                url,
                allowed: verdict.allowed,
                line: verdict.line,
                rule: verdict.rule,
            };
            serde_json::to_writer(&mut *out, &answered)?;
            writeln!(out)
        }
        Err(why) => write_error(out, url, &why.to_string()),
    }
}

fn write_error(out: &mut impl Write, url: &str, error: &str) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Unanswered { url, error })?;
    writeln!(out)
}

fn write_text(
    out: &mut impl Write,
    url: &str,
    answer: &Answer<'_>,
    standing: &Standing,
) -> io::Result<()> {
    let (word, why) = match answer {
        Ok(verdict) => {
            let word = if verdict.allowed {
                "allowed"
            } else {
                "refused"
            };
            (word, reason(verdict, standing))
        }
        Err(why) => ("error", why.to_string()),
    };
    let url = if url.is_empty() { "/" } else { url };
    writeln!(out, "{word:<8} {}  ({})", shown(url), shown(&why))
}

fn reason(verdict: &Verdict<'_>, standing: &Standing) -> String {
    match (verdict.line, verdict.rule, standing) {
        (Some(line), Some(rule), _) => format!("line {line}: {rule}"),
        (_, _, Standing::Found) => "no rule decides".to_owned(),
        (
            _,
            _,
            Standing::Missing { why } | Standing::Closed { why } | Standing::Unanswered { why },
        ) => why.clone(),
    }
}

/// Rules are written by strangers: what would steer the terminal is spelt out.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}
