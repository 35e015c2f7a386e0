//! `rhumb verify`, `rhumb rebuild`, `rhumb compact`, `rhumb forget`

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use rhumb_crawl::{Forgotten, Takedowns, compact_journal, forget_pages, lift_takedown};

use crate::args::{DirArgs, ForgetArgs, Settings, VerifyArgs};
use crate::commands::kept_config;
use crate::failure::{Failure, code, verdict};
use crate::figures::{bytes, count};
use crate::output::answer;
use crate::progress::Progress;

pub fn verify(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    let mut out = std::io::stdout().lock();
    let mut failed = Ok(());
    let mut print = |line: String| {
        if failed.is_ok() {
            failed = writeln!(out, "{line}");
        }
    };
    let shows_progress = std::io::stderr().is_terminal();
    let verified = rhumb_crawl::verify(
        &args.place.dir,
        &mut |part, severity, finding| {
            let (part, severity) = (part.label(), severity.label());
            print(if args.json {
                serde_json::json!({"severity": severity, "part": part, "finding": finding})
                    .to_string()
            } else {
                format!("{severity}: {finding}")
            });
        },
        &mut |how_far| {
            if shows_progress {
                let _ = write!(std::io::stderr(), "\r{how_far}\x1b[K");
            }
        },
    )?;
    if shows_progress {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let journal = &verified.journal;
    let sound = verified.is_sound();
    print(if args.json {
        serde_json::json!({
            "sound": sound,
            "segments": journal.segments, "records": journal.records, "visits": journal.visits,
            "archive_files": journal.archive_files, "archive_records": journal.archive_records,
            "admitted": verified.admitted, "queued": verified.queued,
            "notes": journal.notes, "warnings": journal.warnings,
            "damages": journal.damages + verified.state_damages,
            "journal_damages": journal.journal_damages,
            "archive_damages": verified.archive_damages(),
            "state_damages": verified.state_damages,
            "unfinished_forget": journal.unfinished_forget,
            "state_compared": verified.compared, "advice": verified.advice(),
        })
        .to_string()
    } else {
        format!(
            "journal  {} records in {} segments, {} visits\n\
             archive  {} records in {} files, {}\n\
             state    {}\n{}",
            count(journal.records),
            count(journal.segments),
            count(journal.visits),
            count(journal.archive_records),
            count(journal.archive_files),
            bytes(journal.archive_bytes),
            if verified.compared {
                let (admitted, queued) = (count(verified.admitted), count(verified.queued));
                format!("{admitted} URLs admitted, {queued} waiting")
            } else if journal.unfinished_forget {
                "not looked at".to_owned()
            } else {
                "not compared with the journal, because of the damage".to_owned()
            },
            if sound {
                "Sound: journal, archive and state agree.".to_owned()
            } else if journal.unfinished_forget {
                format!("Not checked.\n{}", verified.advice().join("\n"))
            } else {
                format!(
                    "NOT sound: {} damages in the journal, {} in the archive, {} in the state.\n{}",
                    count(journal.journal_damages),
                    count(verified.archive_damages()),
                    count(verified.state_damages),
                    verified.advice().join("\n")
                )
            }
        )
    });
    let code = if sound { 0 } else { code::DISK };
    verdict(code, failed.map_err(Failure::output))
}

pub fn rebuild(args: &DirArgs) -> Result<ExitCode, Failure> {
    let config = kept_config(&args.dir, &Settings::default())?;
    let mut progress = Progress::new(false);
    let summary = rhumb_crawl::rebuild(&args.dir, config, &mut progress)?;
    progress.clear();
    answer(format_args!(
        "{}: made again from the journal: {} pages, {} URLs seen, {} queued",
        args.dir.display(),
        count(summary.counts.fetched),
        count(summary.counts.urls_seen),
        count(summary.counts.queued)
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub fn compact(args: &DirArgs) -> Result<ExitCode, Failure> {
    let config = kept_config(&args.dir, &Settings::default())?;
    let mut progress = Progress::new(false);
    let report = compact_journal(&args.dir, config, &mut progress)?;
    progress.clear();
    answer(format_args!(
        "{}: {} of {} segments rewritten, {} visits dropped, {} before, {} after",
        args.dir.display(),
        count(report.segments_rewritten),
        count(report.segments),
        count(report.visits_dropped),
        bytes(report.bytes_before),
        bytes(report.bytes_after)
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub fn forget(args: &ForgetArgs) -> Result<ExitCode, Failure> {
    let dir = &args.place.dir;
    let Some(text) = &args.what else {
        return list_takedowns(dir, args.json);
    };
    let what = Forgotten::parse(text)
        .map_err(|why| Failure::Usage(format!("`{text}` cannot be forgotten: {why}")))?;
    let config = kept_config(dir, &Settings::default())?;
    let mut progress = Progress::new(false);
    if args.allow {
        if !lift_takedown(dir, &what, config, &mut progress)? {
            return Err(Failure::Usage(format!(
                "no takedown of `{}` holds; `rhumb forget --list` shows all",
                what.as_str()
            )));
        }
        progress.clear();
        answer(format_args!(
            "{}: {} may be visited again, where a link or a seed leads there",
            dir.display(),
            what.as_str()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = forget_pages(dir, &what, config, &mut progress)?;
    progress.clear();
    answer(format_args!(
        "{}: forgotten: {} visits, {} archive records ({}), {} links that led there; \
         the journal says that it was done",
        dir.display(),
        count(report.visits),
        count(report.archive_records),
        bytes(report.archive_bytes),
        count(report.links)
    ))?;
    if report.revisits_without_content > 0 {
        answer(format_args!(
            "{} other pages had been stored as copies of what is gone; their content is gone with it",
            count(report.revisits_without_content)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each takedown.
fn list_takedowns(dir: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let mut out = std::io::stdout().lock();
    for takedown in Takedowns::read(dir)?.all() {
        let lifted = takedown.lifted.map(|time| time.to_string());
        let line = if as_json {
            serde_json::json!({
                "what": takedown.what, "time": takedown.time.to_string(),
                "removed": takedown.removed, "lifted": lifted,
            })
            .to_string()
        } else {
            let holds = lifted.map_or("holds".to_owned(), |time| format!("lifted {time}"));
            format!(
                "{}  {}  {holds}; {} removed",
                takedown.time, takedown.what, takedown.removed
            )
        };
        writeln!(out, "{line}").map_err(Failure::output)?;
    }
    Ok(ExitCode::SUCCESS)
}
