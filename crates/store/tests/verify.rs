//! A verification finds nothing in what is sound, and names what is not.

mod written;

use rhumb_store::{
    ArchiveFormat, CompactOptions, Finding, MemoryDisk, Position, Record, Severity, Timestamp,
    VerifyCounts, verify_journal,
};
use written::{Crawl, Place};

fn write(place: &Place, format: ArchiveFormat) {
    for _ in 0..2 {
        let epoch = place.recover();
        for journal in 0..2 {
            let mut crawl = Crawl::rolling(place, journal, epoch, format, 1_000, 5_000);
            for n in 0..12 {
                let url = format!("http://h{journal}.test/{}", n % 8);
                let body = format!("page {n} of {epoch} ").repeat(30);
                let first = crawl.visit(&url, &body, &["http://l.test/"]);
                let mut again = crawl.page(&url, &body, &[]);
                again.links_of = Some(first);
                crawl.add(again, &body, None);
                if n % 3 == 2 {
                    crawl.commit();
                }
            }
            crawl.sync();
        }
    }
}

fn verify(place: &Place) -> (Vec<Finding>, VerifyCounts) {
    verify_synced(place, &[])
}

/// Where this much is known to be synced.
fn verify_synced(place: &Place, synced: &[Position]) -> (Vec<Finding>, VerifyCounts) {
    let mut findings = Vec::new();
    let mut steps = 0;
    let counts = verify_journal(
        &place.disk,
        &place.journal(),
        &place.warc(),
        synced,
        &mut |finding| findings.push(finding),
        &mut |_| steps += 1,
    )
    .unwrap();
    assert!(steps > 0);
    let told = counts.notes + counts.warnings + counts.damages;
    assert_eq!(told as usize, findings.len());
    (findings, counts)
}

fn change(place: &Place, folder: &str, name: &str, with: impl FnOnce(&mut Vec<u8>)) {
    let path = place.root.join(folder).join(name);
    let mut bytes = place.disk.read(&path).unwrap();
    with(&mut bytes);
    place.disk.replace(&path, &bytes).unwrap();
}

#[test]
fn sound_crawls_give_no_findings_also_compacted_and_after_a_takedown() {
    for format in [
        ArchiveFormat::Gzip,
        ArchiveFormat::Zstd,
        ArchiveFormat::None,
    ] {
        for place in Place::both() {
            write(&place, format);
            let (findings, counts) = verify(&place);
            assert_eq!(findings, []);
            assert_eq!((counts.visits, counts.records), (96, 96));
            if format != ArchiveFormat::None {
                assert_eq!(counts.archive_records, 96 * 3 + counts.archive_files);
            }
            let options = CompactOptions {
                last_segments: true,
                ..CompactOptions::default()
            };
            let report = place.compact(&options).unwrap();
            let (findings, after) = verify(&place);
            assert_eq!(findings, []);
            assert_eq!(after.superseded, report.visits_dropped);
            assert_eq!(after.archive_records, counts.archive_records);
            let matches = |url: &str| url.starts_with("http://h0.test/3");
            let now = Timestamp(5);
            place.forget("h0", &matches, now).unwrap();
            assert_eq!(verify(&place).0, []);
        }
    }
}

#[test]
fn damage_in_the_archive_is_found_at_its_record() {
    for format in [ArchiveFormat::Gzip, ArchiveFormat::Zstd] {
        for place in Place::both() {
            write(&place, format);
            let (_, visit) = place.visits().swap_remove(5);
            let extent = visit.extents[0].clone();
            change(&place, "warc", &extent.file, |bytes| {
                bytes[(extent.offset + extent.length / 2) as usize] ^= 0x10;
            });
            let (findings, counts) = verify(&place);
            assert!(!counts.is_sound());
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert!(matches!(
                &findings[0],
                Finding::BadExtent { offset, url, .. }
                    if *offset == extent.offset && *url == visit.url
            ));
        }
    }
}

#[test]
fn lost_files_and_lost_segments_are_named() {
    for place in Place::both() {
        write(&place, ArchiveFormat::Zstd);
        let archive = place.disk.list(&place.warc()).unwrap().remove(0);
        place.disk.remove(&place.warc().join(&archive)).unwrap();
        let segments = place.disk.list(&place.journal()).unwrap();
        place
            .disk
            .remove(&place.journal().join(&segments[1]))
            .unwrap();
        let (findings, _) = verify(&place);
        let missing = |f: &&Finding| matches!(f, Finding::ArchiveFileMissing { .. });
        assert_eq!(findings.iter().filter(missing).count(), 1);
        let gap = |f: &Finding| matches!(f, Finding::Gap { journal: 0, .. });
        assert!(findings.iter().any(gap), "{findings:?}");
    }
}

#[test]
fn damage_in_a_journal_does_not_hide_what_stands_behind_it() {
    for place in Place::both() {
        write(&place, ArchiveFormat::None);
        let segments = place.disk.list(&place.journal()).unwrap();
        change(&place, "journal", &segments[0], |bytes| bytes[50] ^= 1);
        let (findings, counts) = verify(&place);
        assert_eq!(
            findings[0],
            Finding::DamagedGroup {
                segment: segments[0].clone(),
                offset: 0
            }
        );
        assert!(matches!(findings[1], Finding::Gap { from: 1, .. }));
        assert!(counts.visits >= 90);
        // Whoever needs the lost records' links is told too.
        let severe = findings.iter().all(|f| f.severity() == Severity::Damage);
        assert!(severe);
    }
}

#[test]
fn what_the_next_start_clears_away_is_only_noted() {
    let memory = MemoryDisk::default();
    let place = Place::in_memory(&memory);
    write(&place, ArchiveFormat::Zstd);
    let last = place.disk.list(&place.journal()).unwrap().pop().unwrap();
    change(&place, "journal", &last, |bytes| bytes.extend([7; 90]));
    let archive = place.disk.list(&place.warc()).unwrap().pop().unwrap();
    change(&place, "warc", &archive, |bytes| bytes.extend([0; 11]));
    let (findings, counts) = verify(&place);
    assert_eq!(
        findings,
        [
            Finding::TornTail {
                segment: last,
                bytes: 90
            },
            Finding::Uncommitted {
                file: archive,
                bytes: 11
            },
        ]
    );
    assert!(counts.is_sound());
    assert_eq!(
        findings[1].to_string().split(" ends").nth(1),
        Some(" with 11 bytes that no visit names; the next start cuts them off")
    );
}

/// What a loss of power took from the archive was not synced, and the next
/// start takes it out of the journal.
#[test]
fn what_was_lost_before_it_was_synced_is_only_noted() {
    for place in Place::both() {
        write(&place, ArchiveFormat::Zstd);
        let mut crawl = Crawl::begin(&place, 0, place.recover(), ArchiveFormat::Zstd);
        let pages = ["a", "b", "c"].map(|name| {
            let position = crawl.visit(&format!("http://{name}.test/"), name, &[]);
            crawl.commit();
            position
        });
        let (_, visit) = place
            .visits()
            .into_iter()
            .find(|(at, _)| *at == pages[1])
            .unwrap();
        let extent = &visit.extents[0];
        change(&place, "warc", &extent.file, |bytes| {
            bytes[extent.offset as usize..].fill(0);
        });
        let (findings, counts) = verify_synced(&place, &pages[..1]);
        let sequence = pages[1].sequence;
        assert_eq!(
            findings[0],
            Finding::Unsynced {
                journal: 0,
                sequence
            }
        );
        assert!(counts.is_sound(), "{findings:?}");
        // Where it is known to be synced it is damage.
        let (findings, counts) = verify_synced(&place, &pages[..2]);
        assert!(matches!(findings[0], Finding::BadExtent { .. }));
        assert!(!counts.is_sound());
        let left = place.visits().len();
        place.recover();
        assert_eq!(place.visits().len(), left - 2);
    }
}

#[test]
fn visits_that_name_what_is_not_theirs_are_found() {
    for place in Place::both() {
        let mut crawl = Crawl::begin(&place, 0, 1, ArchiveFormat::Gzip);
        crawl.visit("http://a.test/", "a", &[]);
        crawl.visit("http://b.test/", "b", &[]);
        crawl.visit("http://c.test/", "c", &[]);
        crawl.commit();
        let visits = place.visits();
        let extents = |n: usize| visits[n].1.extents.clone();
        let unknown = Position {
            journal: 0,
            epoch: 1,
            sequence: 77,
        };
        // A second journal that says other things about the same archive.
        let mut other = Crawl::begin(&place, 1, 1, ArchiveFormat::None);
        let mut add = |url: &str, change: &dyn Fn(&mut rhumb_store::Visit)| {
            let mut visit = visits[0].1.clone();
            visit.url = url.to_owned();
            change(&mut visit);
            other.add(visit, "", None);
        };
        add("http://z.test/", &|visit| visit.extents = extents(0));
        add("http://a.test/", &|visit| visit.extents.reverse());
        add("http://a.test/", &|visit| {
            visit.payload_digest = Some([1; 20])
        });
        add("http://a.test/", &|visit| visit.links_of = Some(unknown));
        other.commit();
        let synced = [(0, 3), (1, 4)].map(|(journal, sequence)| Position {
            journal,
            epoch: 1,
            sequence,
        });
        let (findings, _) = verify_synced(&place, &synced);
        let count = |is: &dyn Fn(&Finding) -> bool| findings.iter().filter(|f| is(f)).count();
        assert_eq!(count(&|f| matches!(f, Finding::WrongTarget { .. })), 3);
        assert_eq!(count(&|f| matches!(f, Finding::WrongKind { .. })), 2);
        assert_eq!(count(&|f| matches!(f, Finding::WrongDigest { .. })), 1);
        assert_eq!(count(&|f| matches!(f, Finding::LinksMissing { .. })), 1);
        assert_eq!(findings.len(), 7, "{findings:?}");
    }
}

#[test]
fn records_that_no_visit_names_are_found() {
    let place = Place::in_memory(&MemoryDisk::default());
    let mut crawl = Crawl::begin(&place, 0, 1, ArchiveFormat::Gzip);
    crawl.visit("http://a.test/", "a", &[]);
    crawl.commit();
    // Archived, but its visit is lost.
    let lost = crawl.page("http://b.test/", "b", &[]);
    crawl.archive(&lost, "b", None);
    crawl.visit("http://c.test/", "c", &[]);
    crawl.commit();
    let (findings, counts) = verify(&place);
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(counts.is_sound() && counts.warnings == 3);
    assert!(findings.iter().all(|finding| matches!(
        finding,
        Finding::UnnamedRecord { url, .. } if url == "http://b.test/"
    )));
}

#[test]
fn groups_in_the_wrong_place_are_found() {
    for place in Place::both() {
        write(&place, ArchiveFormat::None);
        let segments = place.disk.list(&place.journal()).unwrap();
        let of = |journal: &str| {
            let mut names = segments.iter().filter(|name| name.starts_with(journal));
            names.next().unwrap().clone()
        };
        let (first, foreign) = (of("j00000"), of("j00001"));
        let good = place.disk.read(&place.journal().join(&first)).unwrap();
        let theirs = place.disk.read(&place.journal().join(&foreign)).unwrap();
        change(&place, "journal", &first, |bytes| *bytes = theirs.clone());
        let (findings, counts) = verify(&place);
        assert!(!counts.is_sound());
        let misplaced = |f: &Finding| {
            let segment = &first;
            matches!(f, Finding::MisplacedGroup { segment: s, offset: 0 } if s == segment)
        };
        assert!(findings.iter().any(misplaced), "{findings:?}");
        // The same groups once more behind themselves.
        change(&place, "journal", &first, |bytes| *bytes = good.repeat(2));
        let (findings, counts) = verify(&place);
        assert!(!counts.is_sound());
        let twice = |f: &Finding| {
            let sequence_twice = matches!(f, Finding::Repeated { sequence: 1, .. });
            sequence_twice && f.to_string().starts_with(first.as_str())
        };
        assert!(findings.iter().any(twice), "{findings:?}");
    }
}

#[test]
fn records_and_bytes_that_are_none_are_found() {
    for place in Place::both() {
        let mut crawl = Crawl::begin(&place, 0, 1, ArchiveFormat::Gzip);
        crawl.visit("http://a.test/", "a", &[]);
        let lost = crawl.page("http://b.test/", "b", &[]);
        let extents = crawl.archive(&lost, "b", None).unwrap();
        crawl.visit("http://c.test/", "c", &[]);
        // It has the number of a visit, and nothing that makes one.
        crawl.journal.push(&Record::Other {
            kind: 3,
            bytes: vec![0xff; 3],
        });
        crawl.commit();
        let archive = extents[0].file.clone();
        change(&place, "warc", &archive, |bytes| {
            bytes[extents[0].offset as usize] ^= 0xff;
        });
        let left = "j00000-e00000001-00000000000000000001.rj.compacted";
        place
            .disk
            .replace(&place.journal().join(left), b"half")
            .unwrap();
        let (findings, counts) = verify(&place);
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert_eq!((counts.notes, counts.warnings, counts.damages), (1, 0, 2));
        assert_eq!(findings[0], Finding::LeftOver { file: left.into() });
        assert!(
            matches!(&findings[1], Finding::MalformedRecord { segment, .. }
            if segment.ends_with(".rj") && findings[1].to_string().contains(segment))
        );
        assert!(
            matches!(&findings[2], Finding::UnnamedBytes { file, offset, .. }
            if *file == archive && *offset == extents[0].offset)
        );
    }
}
