//! `rhumb why`

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use rhumb_crawl::{Explainer, Explanation, VisitFact};
use rhumb_url::Refusal;

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::figures::{bytes, count};
use crate::lines::{Line, Lines, TOO_LONG};

pub fn run(args: &WhyArgs) -> Result<ExitCode, Failure> {
    let mut explainer = Explainer::new(&args.place.dir);
    if args.url == "-" {
        return answer_all(&mut explainer);
    }
    let explanation = explainer
        .explain_typed(&args.url, args.links)?
        .map_err(|why| Failure::Usage(unknown(&args.url, &why)))?;
    let text = if args.json {
        json(&explanation)?
    } else {
        describe(&explanation)
    };
    write(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(text: &str, why: &Refusal) -> String {
    format!(
        "`{text}` is not a URL a crawl can hold ({why}), and no page had it as a link; \
         give the URL as `rhumb urls` lists it, or one such as https://example.org/page"
    )
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::Other(e.to_string()))?;
    Ok(text + "\n")
}

fn write(text: &str) -> Result<(), Failure> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Failure::output)
}

/// One line of JSON for each line of standard input.
fn answer_all(explainer: &mut Explainer) -> Result<ExitCode, Failure> {
    let mut lines = Lines::of_stdin();
    while let Some(line) = lines.next()? {
        let answer = match line {
            Line::Text(text) if text.is_empty() => continue,
            Line::Text(text) => match explainer.explain_typed(&text, false)? {
                Ok(explanation) => json(&explanation)?,
                Err(why) => mistake(&text, &unknown(&text, &why))?,
            },
            // What a crawl knows is text: no record names it.
            Line::NotUtf8(text) => mistake(&text, "not a URL: the line is not UTF-8 text")?,
            Line::TooLong(start) => mistake(&start, TOO_LONG)?,
        };
        write(&answer)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn mistake(text: &str, why: &str) -> Result<String, Failure> {
    json(&serde_json::json!({"url": text, "error": why}))
}

/// Writing to a string cannot fail.
macro_rules! row {
    ($out:expr, $label:expr, $($text:tt)*) => {{
        let _ = write!($out, "  {:<10} ", $label);
        let _ = writeln!($out, $($text)*);
    }};
}

fn response(visit: &VisitFact) -> String {
    if visit.status == 0 {
        return "no response".to_owned();
    }
    let kind = match visit.content_type.as_str() {
        "" => "no content type",
        stated => stated,
    };
    let size = bytes(visit.wire_bytes);
    format!("status {}, {kind}, {size} on the wire", visit.status)
}

fn describe(explanation: &Explanation) -> String {
    let mut out = format!(
        "{}\n  {:<10} {} ({})\n",
        explanation.url, "state", explanation.state, explanation.reason
    );
    if let Some(seed) = &explanation.seed {
        row!(out, "seed", "given at {}", seed.time);
    }
    if let Some(found) = &explanation.found {
        row!(
            out,
            "found",
            "on {} at {}, {} steps from a seed; {}",
            found.on,
            found.time,
            found.depth,
            found.fate
        );
    }
    if let Some(forgotten) = &explanation.forgotten {
        let lifted = forgotten.lifted.as_ref().map_or(String::new(), |time| {
            format!("; it may be visited again since {time}")
        });
        row!(
            out,
            "forgotten",
            "on request at {}, with all of {}{lifted}",
            forgotten.time,
            forgotten.what
        );
    }
    for visit in &explanation.visits {
        row!(
            out,
            "visit",
            "{} at {}: {}{}",
            visit.outcome,
            visit.time,
            response(visit),
            if visit.detail.is_empty() {
                String::new()
            } else {
                format!("; {}", visit.detail)
            }
        );
        if !visit.address.is_empty() {
            row!(
                out,
                "",
                "from {}, first byte after {:.1} ms, all after {:.1} ms, attempt {}",
                visit.address,
                visit.first_byte_ms,
                visit.total_ms,
                visit.attempts
            );
        }
        if let Some(redirect) = &visit.redirect {
            row!(out, "leads to", "{}: {}", redirect.to, redirect.fate);
        }
        if !visit.title.is_empty() {
            row!(out, "title", "{}", visit.title);
        }
        if !visit.duplicate_of.is_empty() {
            row!(out, "same as", "{}", visit.duplicate_of);
        }
        if !visit.truncated.is_empty() {
            row!(out, "truncated", "{}", visit.truncated);
        }
        if let Some((file, offset, length)) = visit.archive.first() {
            row!(out, "archive", "warc/{file} at {offset}, {length} bytes");
        }
        if visit.redirect.is_none() {
            let dropped = match visit.links_dropped {
                0 => String::new(),
                dropped => format!(", and {} beyond max_links left out", count(dropped)),
            };
            let links = count(visit.links as u64);
            row!(out, "links", "{links} on the page{dropped}");
        }
    }
    for link in &explanation.links {
        let anchor = if link.anchor.is_empty() {
            String::new()
        } else {
            format!(" “{}”", link.anchor)
        };
        row!(
            out,
            "linked",
            "by {} ({}{anchor}): {}",
            link.on,
            link.kind,
            link.fate
        );
    }
    let total: u64 = explanation.links_by_fate.values().sum();
    if total > explanation.links.len() as u64 {
        row!(out, "", "… {} links name it in all", count(total));
    }
    for event in &explanation.host {
        row!(
            out,
            "host",
            "{} {}: {} at {}",
            event.host,
            event.event,
            event.detail,
            event.time
        );
    }
    out
}
