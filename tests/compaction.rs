//! A crawl whose pages were visited again and again is the same after
//! compaction, and its journal is smaller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rhumb_store::{
    Control, Disk, EpochStart, Journal, JournalReader, Position, RealDisk, Record, Timestamp,
    Visit, journals_in,
};
use serde_json::Value;

use crate::support::trial::Chance;
use crate::support::{Simulated, run_with, urls};

const ROUNDS: u32 = 6;
const STATES: [&str; 3] = ["fetched", "failed", "refused"];

/// Visit everything again, some rounds long, as a crawler would that comes
/// back: what it finds unchanged refers to the links of an earlier visit.
fn visit_again(dir: &Path, chance: &mut Chance) {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let [folder, warc] = ["journal", "warc"].map(|name| dir.join(name));
    let mut next = Journal::recover(&disk, &folder, &warc).expect("a journal");
    for journal in journals_in(&*disk, &folder).expect("journals") {
        let mut visits: Vec<(Position, Visit)> = Vec::new();
        let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
        while let Some(group) = reader.next_group().expect("a group") {
            for (position, record) in group.records() {
                if let Ok(Record::Visit(visit)) = record {
                    visits.push((position, *visit));
                }
            }
        }
        for _ in 0..ROUNDS {
            let disk = Arc::clone(&disk);
            let mut output = Journal::begin(disk, &folder, journal, next, 1 << 20).expect("it");
            output.push(&Record::Epoch(EpochStart {
                epoch: next,
                ..EpochStart::default()
            }));
            next += 1;
            for (holder, visit) in &mut visits {
                visit.time = Timestamp(visit.time.0 + 60_000_000);
                visit.extents.clear();
                let mut again = visit.clone();
                let has_links = !visit.links.is_empty();
                if has_links && chance.between(0.0, 1.0) < 0.5 {
                    again.links_of = Some(*holder);
                    again.links_repeated = again.links.len() as u64;
                    again.links.clear();
                    output.push(&Record::Visit(Box::new(again)));
                } else {
                    *holder = output.push(&Record::Visit(Box::new(again)));
                }
            }
            output.push(&Record::Control(Control {
                command: Control::STOPPED.to_owned(),
                ..Control::default()
            }));
            output.commit().expect("a commit");
            output.sync().expect("a sync");
        }
    }
}

fn lists(web: &Simulated) -> BTreeMap<&'static str, BTreeSet<String>> {
    let list = |state| (state, urls(&web.dir("crawl"), state).into_iter().collect());
    STATES.into_iter().map(list).collect()
}

/// What `why` says, less which of the pages with a link is named.
fn reasons(web: &Simulated, asked: &[&str]) -> Vec<Value> {
    let dir = web.dir_arg("crawl");
    let done = run_with(["why", "-", "--dir", &dir], asked.join("\n").as_bytes());
    let answers = done.expect_code(0).lines().into_iter().map(|line| {
        let mut answer: Value = serde_json::from_str(&line).expect("a line of JSON");
        let links = answer["links"].as_array().cloned().unwrap_or_default();
        let mut links = links.iter();
        let found_by = links.find(|link| link["on"] == answer["found"]["on"]);
        answer["links"] = match found_by {
            Some(link) => serde_json::json!([link["anchor"], link["fate"]]),
            None => Value::Null,
        };
        // Counted are the links of the few pages that the index leads to, and
        // those may be others.
        answer["links_by_fate"].take();
        answer
    });
    answers.collect()
}

fn journal_bytes(web: &Simulated) -> u64 {
    let files = std::fs::read_dir(web.dir("crawl").join("journal")).expect("a folder");
    let lengths = files.map(|entry| entry.expect("a file").metadata().expect("a file").len());
    lengths.sum()
}

#[test]
fn after_compaction_the_crawl_is_the_same_and_its_journal_is_smaller() {
    let web = Simulated::new(20, 300, 241);
    web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    let once = journal_bytes(&web);
    visit_again(&web.dir("crawl"), &mut Chance::new(241));
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    web.ask("verify", "crawl", &[]).expect_code(0);
    let before = lists(&web);
    let asked: Vec<&str> = before.values().flatten().map(String::as_str).collect();
    let said = reasons(&web, &asked);
    let grown = journal_bytes(&web);
    assert!(grown > 3 * once, "{once} {grown}");
    let told = web.ask("compact", "crawl", &[]).expect_code(0).stdout;
    assert!(!told.contains(" 0 visits dropped"), "{told}");
    let left = journal_bytes(&web);
    assert!(left < grown / 2, "{told}: {grown} before, {left} after");
    web.ask("verify", "crawl", &[]).expect_code(0);
    assert_eq!(lists(&web), before);
    assert!(said.iter().any(|answer| answer["links"].is_array()));
    for (before, after) in said.iter().zip(reasons(&web, &asked)) {
        assert_eq!(*before, after);
    }
    // Each URL has one visit, but for those whose links others have.
    let fetched = urls(&web.dir("crawl"), "fetched").len();
    assert!(fetched < 2 * before["fetched"].len(), "{fetched}");
    // Nothing is lost for the crawl that goes on, nor asked for again.
    let requests = web.requests().len();
    web.go_on("crawl", &[]).expect_code(0);
    assert_eq!(web.requests().len(), requests);
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    assert_eq!(lists(&web), before);
    web.ask("verify", "crawl", &[]).expect_code(0);
}
