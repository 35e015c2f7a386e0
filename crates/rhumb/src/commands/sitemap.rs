//! `rhumb sitemap`: the entries of a sitemap, as a crawl would see them.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use rhumb_robots::{Alternate, Entry, Problem, Sitemap, SitemapSettings, Strictness};
use rhumb_store::Timestamp;
use rhumb_url::Url;
use serde::Serialize;

use crate::args::{NOWHERE, SitemapArgs};
use crate::failure::Failure;
use crate::output::say;

pub fn run(args: &SitemapArgs) -> Result<ExitCode, Failure> {
    let url = args.url.as_deref().unwrap_or(NOWHERE);
    let at = Url::parse_seed(url)
        .map_err(|why| Failure::Usage(format!("--url `{url}`: {why}; {}", why.remedy())))?;
    let settings = SitemapSettings {
        strict: match args.strict {
            true => Strictness::STRICT,
            false => Strictness::LENIENT,
        },
        ..SitemapSettings::default()
    };
    let bytes = read(&args.file, settings.max_bytes)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let sitemap = Sitemap::read(
        &bytes,
        &at,
        args.content_type.as_deref(),
        &settings,
        |_, entry| {
            written = match args.json {
                true => write_json(&mut out, &Told::of(&entry)),
                false => writeln!(out, "{}", entry.url),
            };
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        },
    );
    written.map_err(Failure::output)?;
    let sitemap =
        sitemap.map_err(|why| Failure::Usage(format!("{}: {why}", args.file.display())))?;
    if args.json {
        write_json(&mut out, &Summary::of(&sitemap)).map_err(Failure::output)?;
    }
    out.flush().map_err(Failure::output)?;
    if !args.json {
        tell(&args.file, &sitemap);
    }
    Ok(ExitCode::SUCCESS)
}

/// As much of a file as can count, and one byte more, so that it shows.
fn read(file: &Path, max_bytes: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin()
            .lock()
            .take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(Failure::io("standard input"))?;
    } else {
        File::open(file)
            .and_then(|open| open.take(max_bytes + 1).read_to_end(&mut bytes))
            .map_err(Failure::io(file.display().to_string()))?;
    }
    Ok(bytes)
}

fn tell(file: &Path, sitemap: &Sitemap) {
    let file = file.display();
    let kind = sitemap.kind.as_str();
    let entries = match sitemap.entries {
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    };
    let more = match sitemap.truncated {
        true => ", and there is more",
        false => "",
    };
    say(format_args!("rhumb: {file}: {kind}, {entries}{more}"));
    for problem in &sitemap.problems {
        say(format_args!("rhumb: {file}: {problem}"));
    }
}

fn write_json(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Told<'a> {
    url: &'a str,
    last_modified: Option<String>,
    change_frequency: Option<&'a str>,
    priority: Option<f32>,
    alternates: Vec<ToldAlternate<'a>>,
}

#[derive(Serialize)]
struct ToldAlternate<'a> {
    language: &'a str,
    url: &'a str,
}

impl Told<'_> {
    fn of(entry: &Entry) -> Told<'_> {
        let date = |seconds: u64| Timestamp(seconds.saturating_mul(1_000_000)).to_string();
        Told {
            url: entry.url.as_str(),
            last_modified: entry.last_modified.map(date),
            change_frequency: entry.change_frequency.map(|frequency| frequency.as_str()),
            priority: entry.priority,
            alternates: entry.alternates.iter().map(ToldAlternate::of).collect(),
        }
    }
}

impl ToldAlternate<'_> {
    fn of(alternate: &Alternate) -> ToldAlternate<'_> {
        ToldAlternate {
            language: &alternate.language,
            url: alternate.url.as_str(),
        }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    kind: &'a str,
    entries: usize,
    truncated: bool,
    problems: Vec<ToldProblem<'a>>,
}

#[derive(Serialize)]
struct ToldProblem<'a> {
    kind: &'a str,
    count: u64,
    line: u64,
    example: &'a str,
}

impl Summary<'_> {
    fn of(sitemap: &Sitemap) -> Summary<'_> {
        Summary {
            kind: sitemap.kind.as_str(),
            entries: sitemap.entries,
            truncated: sitemap.truncated,
            problems: sitemap.problems.iter().map(ToldProblem::of).collect(),
        }
    }
}

impl ToldProblem<'_> {
    fn of(problem: &Problem) -> ToldProblem<'_> {
        ToldProblem {
            kind: problem.kind.as_str(),
            count: problem.count,
            line: problem.line,
            example: &problem.example,
        }
    }
}
