//! What is forgotten is gone from every file; everything else is as it was.

mod written;

use std::collections::BTreeMap;
use std::sync::Arc;

use rhumb_store::{
    Admission, Admitted, ArchiveFormat, CompactOptions, Control, Fate, Finding, HostEvent,
    MemoryDisk, Position, Positions, Record, Revisit, Seed, Timestamp, Unsynced, finish_forget,
    lift, verify_journal,
};
use written::{Crawl, Place, mentions, unpacked};

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);
const SECRET: &str = "the text that must go";

fn matches(url: &str) -> bool {
    url.starts_with("http://gone.test/")
}

/// A crawl with all that can name a page which will be forgotten.
fn write(place: &Place, format: ArchiveFormat) {
    for epoch in 1..=2 {
        let mut crawl = Crawl::rolling(place, 0, place.recover(), format, 1_500, 6_000);
        for url in ["http://gone.test/", "http://kept.test/"] {
            crawl.journal.push(&Record::Seed(Seed {
                url: url.to_owned(),
                ..Seed::default()
            }));
            crawl.journal.push(&Record::HostEvent(HostEvent {
                host: url.trim_end_matches('/').to_owned(),
                ..HostEvent::default()
            }));
        }
        for n in 0..6 {
            let [gone, kept] = ["gone", "kept"].map(|host| format!("http://{host}.test/{n}"));
            let links = [gone.as_str(), kept.as_str()];
            let secret = format!("{SECRET} {epoch} {n}");
            crawl.via.clear();
            let holder = crawl.visit(&gone, &secret, &links);
            crawl.via = match n % 2 {
                0 => gone.clone(),
                _ => "http://kept.test/".to_owned(),
            };
            crawl.visit(&kept, &format!("kept {epoch} {n}"), &links);
            // The same document elsewhere: its body stands with the other.
            let copy = format!("http://copy.test/{n}");
            let mut visit = crawl.page(&copy, &secret, &[]);
            visit.detail = format!("leads to http://gone.test and {kept}");
            visit.content = Some(n);
            visit.duplicate_of = gone.clone();
            visit.links_of = Some(holder);
            visit.links_repeated = 2;
            let revisit = Revisit {
                url: gone.clone(),
                time: visit.time,
            };
            crawl.add(visit, &secret, Some(revisit));
            for via in [&gone, &kept] {
                let admission = |(sequence, url): (u64, &String)| Admission {
                    url: url.clone(),
                    fate: Fate::Queued,
                    sequence,
                };
                crawl.journal.push(&Record::Admitted(Admitted {
                    source: Some(holder),
                    via: via.clone(),
                    entries: [(3, &kept), (4, &gone), (5, &kept)].map(admission).to_vec(),
                    ..Admitted::default()
                }));
            }
            crawl.commit();
        }
        crawl.sync();
    }
}

/// What stands of a page that stays.
#[derive(Debug, PartialEq)]
struct Kept {
    url: String,
    /// Lines of its archive records that say nothing of what goes.
    records: Vec<Vec<String>>,
    /// Links that lead to pages that stay.
    links: Vec<String>,
}

fn kept(place: &Place) -> BTreeMap<Position, Kept> {
    let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
    let mut kept = BTreeMap::new();
    for (position, visit) in place.visits() {
        if matches(&visit.url) {
            continue;
        }
        let records = visit.extents.iter().map(|extent| {
            let file = place.disk.read(&place.warc().join(&extent.file)).unwrap();
            let packed = &file[extent.offset as usize..][..extent.length as usize];
            let text = String::from_utf8(unpacked(&extent.file, packed)).unwrap();
            let names_it = |line: &&str| {
                let changes = ["WARC-Refers-To-Date", "Content-Length"];
                line.contains("gone.test") || changes.iter().any(|name| line.starts_with(name))
            };
            let lines = text.lines().filter(|line| !names_it(line));
            lines.map(str::to_owned).collect()
        });
        let records = records.collect();
        let links = positions.links_of(&visit).unwrap().expect("its links");
        let links = links.into_iter().map(|link| link.url);
        let links = links.filter(|url| !matches(url)).collect();
        let url = visit.url;
        kept.insert(
            position,
            Kept {
                url,
                records,
                links,
            },
        );
    }
    kept
}

/// Where seeds and admissions of what stays stand in the journal, and with
/// which sequences in the queue.
fn queue_places(place: &Place) -> Vec<(Position, String, u64)> {
    let mut places = Vec::new();
    for (position, record) in place.records() {
        match record {
            Record::Seed(seed) => places.push((position, seed.url, seed.sequence)),
            Record::Admitted(admitted) => {
                let entries = admitted.entries.into_iter();
                places.extend(entries.map(|entry| (position, entry.url, entry.sequence)));
            }
            _ => {}
        }
    }
    places.retain(|(_, url, _)| !matches(url));
    places
}

fn assert_forgotten(place: &Place) {
    let everything = place.everything();
    assert!(!mentions(&everything, SECRET));
    for (position, record) in place.records() {
        if let Record::Visit(visit) = &record {
            // Links of its own are no longer those of another as well.
            assert!(visit.links.is_empty() || visit.links_repeated == 0);
        }
        let mut bytes = Vec::new();
        match record {
            Record::Control(_) => {}
            other => other.encode(&mut bytes),
        }
        assert!(!mentions(&bytes, "gone.test"), "{position}");
    }
    for folder in [place.journal(), place.warc()] {
        for name in place.disk.list(&folder).unwrap() {
            if name.contains(".warc.") {
                let bytes = place.disk.read(&folder.join(&name)).unwrap();
                assert!(!mentions(&unpacked(&name, &bytes), "gone.test"), "{name}");
            }
            assert!(name.ends_with(".rj") || name.contains(".warc."), "{name}");
            assert!(!name.ends_with(".forget"), "{name}");
        }
    }
}

fn notes(place: &Place) -> Vec<Control> {
    let records = place.records().into_iter();
    let controls = records.filter_map(|(_, record)| match record {
        Record::Control(control) if control.command == Control::FORGOTTEN => Some(control),
        _ => None,
    });
    controls.collect()
}

#[test]
fn forgotten_pages_are_gone_and_the_others_are_as_they_were() {
    for format in [ArchiveFormat::Gzip, ArchiveFormat::Zstd] {
        for place in Place::both() {
            write(&place, format);
            let (before, queued) = (kept(&place), queue_places(&place));
            assert!(mentions(&place.everything(), SECRET));
            let report = place.forget("gone.test", &matches, NOW).unwrap();
            assert_forgotten(&place);
            assert_eq!(kept(&place), before);
            assert_eq!(queue_places(&place), queued);
            // No copy stands for content that went with the original.
            for (_, visit) in place.visits() {
                assert!(visit.content.is_none(), "{}", visit.url);
                assert!(visit.duplicate_of.is_empty(), "{}", visit.url);
            }
            assert_eq!((report.visits, report.archive_records), (12, 36));
            // Copies, their metadata, and the pages found by what is gone.
            assert_eq!(report.archive_records_changed, 12 + 6 + 6);
            assert_eq!((report.seeds, report.host_events), (2, 2));
            // Twelve in their own visits, and twelve that were moved first.
            assert_eq!((report.links, report.links_moved), (24, 12));
            assert_eq!(report.admissions, 24);
            assert_eq!(report.duplicates_cleared, 12);
            assert_eq!(report.revisits_without_content, 12);
            let notes = notes(&place);
            assert_eq!(notes.len(), 1);
            assert_eq!(notes[0].time, NOW);
            assert_eq!(notes[0].subject, "gone.test");
            assert!(notes[0].detail.starts_with("12 visits"));
            // The crawl goes on in an epoch of its own.
            assert_eq!(place.recover(), 4);
            assert_eq!(kept(&place), before);
            let again = place.forget("x", &matches, NOW).unwrap();
            assert_eq!(
                (again.visits, again.links, again.archive_records),
                (0, 0, 0)
            );
            assert_eq!(kept(&place), before);
        }
    }
}

#[test]
fn archived_pages_are_forgotten_that_compaction_left_without_a_visit() {
    for place in Place::both() {
        write(&place, ArchiveFormat::Zstd);
        let options = CompactOptions {
            last_segments: true,
            ..CompactOptions::default()
        };
        let report = place.compact(&options).unwrap();
        assert!(report.visits_dropped > 0);
        let before = kept(&place);
        let report = place.forget("gone.test", &matches, NOW).unwrap();
        assert_eq!(report.archive_records, 36);
        assert_forgotten(&place);
        assert_eq!(kept(&place), before);
    }
}

/// An interrupted takedown is nothing to restore a backup for.
fn assert_not_called_damaged(place: &Place, when: &str) {
    let (journal, warc) = (place.journal(), place.warc());
    let mut findings = Vec::new();
    let mut find = |finding: Finding| findings.push(finding);
    let counts = verify_journal(&place.disk, &journal, &warc, &[], &mut find, &mut |_| ());
    let counts = counts.unwrap();
    assert_eq!(counts.damages, 0, "{when}: {findings:?}");
    let decided = place.disk.list(&journal).unwrap();
    let decided = decided.iter().any(|name| name == "forget.plan");
    assert_eq!(counts.unfinished_forget, decided, "{when}: {findings:?}");
    assert_eq!(counts.is_sound(), !decided, "{when}");
}

#[test]
fn whichever_write_is_the_last_the_takedown_is_done_or_undone() {
    let mut completed_later = 0;
    for writes in 0.. {
        // What was not synced may be there, gone, in part, or in disorder.
        let losses = [
            Unsynced::Kept,
            Unsynced::Dropped,
            Unsynced::Torn(writes),
            Unsynced::Reordered(writes),
        ];
        let mut finished = false;
        for loss in losses {
            let memory = MemoryDisk::default();
            let place = Place::in_memory(&memory);
            write(&place, ArchiveFormat::Zstd);
            place.recover();
            let (before, all) = (kept(&place), place.visits().len());
            let (journal, warc) = (place.journal(), place.warc());
            memory.fail_after(writes);
            let result = place.forget("gone.test", &matches, NOW);
            finished |= result.is_ok();
            let place = Place::in_memory(&memory.after_power_loss(loss));
            assert_not_called_damaged(&place, &format!("{loss:?} after {writes} writes"));
            let completed = finish_forget(&*place.disk, &journal, &warc).unwrap();
            assert_eq!(kept(&place), before, "after {writes} writes");
            // The last sync of all may fail when everything has been done.
            if completed || result.is_ok() || !notes(&place).is_empty() {
                completed_later += u32::from(completed);
                assert_forgotten(&place);
                assert_eq!(notes(&place).len(), 1);
            } else {
                assert_eq!(place.visits().len(), all);
                assert!(notes(&place).is_empty());
            }
            place.recover();
            place.forget("gone.test", &matches, NOW).unwrap();
            assert_forgotten(&place);
            assert_eq!(kept(&place), before);
        }
        if finished {
            break;
        }
    }
    assert!(completed_later > 10, "{completed_later}");
}

#[test]
fn whichever_write_is_the_last_a_takedown_is_lifted_or_holds() {
    for writes in 0.. {
        let memory = MemoryDisk::default();
        let place = Place::in_memory(&memory);
        write(&place, ArchiveFormat::Zstd);
        place.recover();
        let before = place.records();
        memory.fail_after(writes);
        let lifted = lift(&place.disk, &place.journal(), &place.warc(), "a", NOW);
        let loss = [Unsynced::Kept, Unsynced::Dropped][writes as usize % 2];
        let place = Place::in_memory(&memory.after_power_loss(loss));
        place.recover();
        let mut records = place.records();
        // The first journal is the only one.
        let last = records.pop();
        match last.map(|(_, record)| record) {
            Some(Record::Control(control)) if control.command == Control::LIFTED => {
                assert_eq!((control.subject.as_str(), control.time), ("a", NOW));
                assert_eq!(records, before);
            }
            _ => {
                assert!(lifted.is_err());
                assert_eq!(place.records(), before);
            }
        }
        if lifted.is_ok() {
            break;
        }
    }
}

#[test]
fn an_archive_that_cannot_be_read_is_left_alone() {
    for place in Place::both() {
        write(&place, ArchiveFormat::Gzip);
        // Epochs that were accepted are not read again by a start.
        let mut crawl = Crawl::begin(&place, 0, place.recover(), ArchiveFormat::None);
        crawl.journal.push(&Record::Control(Control::default()));
        crawl.commit();
        let name = place.disk.list(&place.warc()).unwrap().remove(0);
        let path = place.warc().join(name);
        let mut bytes = place.disk.read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 30].fill(0);
        place.disk.replace(&path, &bytes).unwrap();
        let visits = place.visits();
        let (journal, warc) = (place.journal(), place.warc());
        let refused = place.forget("gone.test", &matches, NOW);
        assert!(refused.is_err());
        assert!(!finish_forget(&*place.disk, &journal, &warc).unwrap());
        assert_eq!(place.visits(), visits);
        assert_eq!(place.disk.read(&path).unwrap(), bytes);
    }
}
