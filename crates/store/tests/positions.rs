//! A record is found by its position, wherever it stands, or not at all.

mod written;

use std::collections::BTreeMap;
use std::sync::Arc;

use rhumb_store::{ArchiveFormat, JournalError, MemoryDisk, Position, Positions, Record};
use written::{Crawl, Place, Random};

#[test]
fn every_record_is_found_and_no_other_is() {
    for place in Place::both() {
        let mut random = Random(9);
        let mut written: BTreeMap<Position, String> = BTreeMap::new();
        for epoch in 1..=3 {
            assert_eq!(place.recover(), epoch);
            for journal in 0..2 {
                let mut crawl =
                    Crawl::rolling(&place, journal, epoch, ArchiveFormat::None, 9_000, 1);
                for n in 0..400 {
                    let url = format!("http://h{journal}.test/{epoch}/{n}");
                    written.insert(crawl.visit(&url, "x", &["http://h.test/"]), url);
                    if random.below(4) == 0 {
                        crawl.commit();
                    }
                }
                crawl.commit();
            }
        }
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        let all: Vec<(&Position, &String)> = written.iter().collect();
        for _ in 0..2_000 {
            let (position, url) = all[random.below(all.len() as u64) as usize];
            match positions.record_at(*position).unwrap() {
                Some(Record::Visit(visit)) => assert_eq!(&visit.url, url),
                other => panic!("{position} is {other:?}"),
            }
            let elsewhere = Position {
                epoch: position.epoch % 3 + 1,
                ..*position
            };
            assert_eq!(positions.record_at(elsewhere).unwrap(), None);
        }
        for sequence in [0, 1_201, u64::MAX] {
            for epoch in 0..5 {
                let nowhere = Position {
                    journal: 1,
                    epoch,
                    sequence,
                };
                assert_eq!(positions.record_at(nowhere).unwrap(), None);
            }
        }
    }
}

#[test]
fn a_position_cut_off_by_a_crash_is_not_the_record_written_there_later() {
    let memory = MemoryDisk::default();
    let place = Place::in_memory(&memory);
    let mut crawl = Crawl::begin(&place, 0, place.recover(), ArchiveFormat::Gzip);
    let kept = crawl.visit("http://a.test/", "a", &[]);
    crawl.commit();
    crawl.sync();
    let lost = crawl.visit("http://lost.test/", "b", &[]);
    crawl.commit();
    memory.crash(0);
    let mut crawl = Crawl::begin(&place, 0, place.recover(), ArchiveFormat::Gzip);
    let later = crawl.visit("http://later.test/", "c", &[]);
    crawl.commit();
    assert_eq!(later.sequence, lost.sequence);
    let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
    assert!(positions.record_at(kept).unwrap().is_some());
    assert!(positions.record_at(later).unwrap().is_some());
    assert_eq!(positions.record_at(lost).unwrap(), None);
}

#[test]
fn records_written_since_are_found_in_old_and_new_segments() {
    for place in Place::both() {
        let mut crawl = Crawl::rolling(&place, 0, 1, ArchiveFormat::None, 2_000, 1);
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        for n in 0..200 {
            let url = format!("http://a.test/{n}");
            let position = crawl.visit(&url, "", &[]);
            assert_eq!(positions.record_at(position).unwrap(), None);
            crawl.commit();
            assert!(positions.record_at(position).unwrap().is_some(), "{n}");
        }
    }
}

#[test]
fn links_are_those_of_the_visit_referred_to() {
    let place = Place::in_memory(&MemoryDisk::default());
    let mut crawl = Crawl::begin(&place, 0, 1, ArchiveFormat::None);
    let first = crawl.visit("http://a.test/", "a", &["http://b.test/"]);
    let mut again = crawl.page("http://a.test/", "a", &[]);
    again.links_of = Some(first);
    let mut lost = again.clone();
    lost.links_of = Some(Position { epoch: 9, ..first });
    let mut itself = again.clone();
    itself.links_of = Some(Position {
        sequence: 4,
        ..first
    });
    for visit in [&again, &lost, &itself] {
        crawl.add(visit.clone(), "a", None);
    }
    crawl.commit();
    let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
    let links = positions.links_of(&again).unwrap().unwrap();
    assert_eq!(links[0].url, "http://b.test/");
    assert_eq!(positions.links_of(&lost).unwrap(), None);
    assert_eq!(positions.links_of(&itself).unwrap(), None);
}

#[test]
fn a_damaged_group_is_an_error() {
    for place in Place::both() {
        let mut crawl = Crawl::begin(&place, 0, 1, ArchiveFormat::None);
        let first = crawl.visit("http://a.test/", "a", &[]);
        crawl.commit();
        let second = crawl.visit("http://b.test/", "b", &[]);
        crawl.commit();
        let name = place.disk.list(&place.journal()).unwrap().remove(0);
        let path = place.journal().join(name);
        let mut bytes = place.disk.read(&path).unwrap();
        bytes[45] ^= 1;
        place.disk.replace(&path, &bytes).unwrap();
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        assert!(matches!(
            positions.record_at(first),
            Err(JournalError::Damaged { offset: 0, .. })
        ));
        assert!(positions.record_at(second).unwrap().is_some());
    }
}

#[test]
fn records_are_found_in_long_segments_and_behind_damage() {
    for place in Place::both() {
        let mut random = Random(77);
        let mut crawl = Crawl::rolling(&place, 0, 1, ArchiveFormat::None, 1 << 30, 1);
        let mut written = Vec::new();
        let mut starts = Vec::new();
        for n in 0..3_000u32 {
            // Bytes that do not compress, so that there are many of them.
            let title: String = (0..1_500)
                .map(|_| char::from(b' ' + random.below(90) as u8))
                .collect();
            let mut visit = crawl.page(&format!("http://a.test/{n}"), "", &[]);
            visit.title = title;
            written.push(crawl.add(visit, "", None));
            if random.below(3) == 0 {
                crawl.commit();
                starts.push(written.len());
            }
        }
        crawl.commit();
        let found = |positions: &mut Positions, n: usize| {
            let record = positions.record_at(written[n]);
            record.map(|record| match record {
                Some(Record::Visit(visit)) => visit.url == format!("http://a.test/{n}"),
                _ => false,
            })
        };
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        for _ in 0..3_000 {
            let n = random.below(3_000) as usize;
            assert!(found(&mut positions, n).unwrap(), "{n}");
        }
        // A header in the middle is overwritten.
        let name = place.disk.list(&place.journal()).unwrap().remove(0);
        let path = place.journal().join(name);
        let mut bytes = place.disk.read(&path).unwrap();
        let middle = bytes.len() / 2;
        let mark = bytes[middle..].windows(4).position(|w| w == b"rjG\x01");
        let at = middle + mark.unwrap();
        let lost = u64::from_le_bytes(bytes[at + 16..at + 24].try_into().unwrap());
        bytes[at..at + 4].fill(0);
        place.disk.replace(&path, &bytes).unwrap();
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        for n in 0..3_000 {
            let next_start = starts.iter().find(|start| **start as u64 >= lost);
            let is_lost = n + 1 >= lost as usize && next_start.is_some_and(|start| n < *start);
            match found(&mut positions, n) {
                Ok(found) => assert!(found && !is_lost, "{n}"),
                Err(JournalError::Damaged { offset, .. }) => {
                    assert!(is_lost && offset == at as u64, "{n}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
