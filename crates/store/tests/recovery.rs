//! After a crash nothing stands in the journal whose archive records are not
//! whole, and a known good place spares looking at what stands before it.

mod written;

use rhumb_store::{ArchiveFormat, Control, Journal, JournalError, MemoryDisk, Record, Timestamp};
use written::{Crawl, Place};

const PAGES: u64 = 8;

/// Pages in groups of two; only the first group is synced.
fn write(place: &Place, format: ArchiveFormat) -> Crawl {
    let mut crawl = Crawl::begin(place, 0, place.recover(), format);
    for n in 0..PAGES {
        let body = format!("page {n} ").repeat(40 + n as usize);
        crawl.visit(&format!("http://a.test/{n}"), &body, &[]);
        if n % 2 == 1 {
            crawl.commit();
        }
        if n == 1 {
            crawl.sync();
        }
    }
    crawl
}

#[test]
fn a_group_with_garbage_in_the_archive_is_cut_with_all_behind_it() {
    for format in [ArchiveFormat::Gzip, ArchiveFormat::Zstd] {
        for place in Place::both() {
            write(&place, format);
            let archive = place.disk.list(&place.warc()).unwrap().remove(0);
            let path = place.warc().join(&archive);
            let extents: Vec<_> = place
                .visits()
                .into_iter()
                .flat_map(|(_, visit)| visit.extents)
                .collect();
            // What was not synced can be anything: zeros, or old bytes.
            for (at, extent) in extents.iter().enumerate().rev() {
                let mut bytes = place.disk.read(&path).unwrap();
                let start = (extent.offset + extent.length / 2) as usize;
                let garbage = if at % 2 == 0 { 0 } else { 0xa5 };
                bytes[start..start + 6].fill(garbage);
                place.disk.replace(&path, &bytes).unwrap();
                place.recover();
                let left = place.visits().len();
                // Three records a visit, two visits a group.
                assert_eq!(left, at / 6 * 2, "{format:?}, extent {at}");
            }
        }
    }
}

#[test]
fn an_archive_cut_anywhere_leaves_visits_that_are_whole() {
    let memory = MemoryDisk::default();
    let place = Place::in_memory(&memory);
    write(&place, ArchiveFormat::Zstd);
    let archive = place.disk.list(&place.warc()).unwrap().remove(0);
    let path = place.warc().join(&archive);
    let mut length = place.disk.read(&path).unwrap().len() as u64;
    while length > 0 {
        length = length.saturating_sub(53);
        place.disk.cut(&path, length).unwrap();
        place.recover();
        for (_, visit) in place.visits() {
            assert!(visit.extents.iter().all(|e| e.offset + e.length <= length));
        }
    }
    assert!(place.visits().is_empty());
}

#[test]
fn what_a_start_accepted_survives_the_loss_of_power_after_it() {
    let memory = MemoryDisk::default();
    let place = Place::in_memory(&memory);
    // The process dies, the machine does not: nothing is lost.
    write(&place, ArchiveFormat::Gzip);
    place.recover();
    memory.crash(0);
    assert_eq!(place.recover(), 2);
    assert_eq!(place.visits().len() as u64, PAGES);
}

#[test]
fn only_what_stands_behind_the_known_good_place_is_looked_at() {
    for place in Place::both() {
        let mut crawl = write(&place, ArchiveFormat::Gzip);
        let known = crawl.journal.synced().unwrap();
        assert_eq!(known.sequence, 2);
        crawl.sync();
        assert_eq!(crawl.journal.synced().unwrap().sequence, PAGES);
        // Damage in the archive before the place is no torn tail.
        let archive = place.disk.list(&place.warc()).unwrap().remove(0);
        let path = place.warc().join(&archive);
        let extent = place.visits()[0].1.extents[0].clone();
        let mut bytes = place.disk.read(&path).unwrap();
        bytes[extent.offset as usize + 20] ^= 0xff;
        place.disk.replace(&path, &bytes).unwrap();
        let (journal, warc) = (place.journal(), place.warc());
        let epoch = Journal::recover_from(&place.disk, &journal, &warc, &[known]).unwrap();
        assert_eq!(epoch, 2);
        assert_eq!(place.visits().len() as u64, PAGES);
        // Behind it, it is one.
        let extent = place.visits()[5].1.extents[0].clone();
        bytes[extent.offset as usize + 20] ^= 0xff;
        place.disk.replace(&path, &bytes).unwrap();
        Journal::recover_from(&place.disk, &journal, &warc, &[known]).unwrap();
        assert_eq!(place.visits().len(), 4);
        let next = Crawl::begin(&place, 0, 2, ArchiveFormat::None)
            .visit("http://b.test/", "", &[])
            .sequence;
        assert_eq!(next, 5);
    }
}

/// An epoch that lost all its records leaves a segment with a high number and
/// nothing in it; the next goes on below.
#[test]
fn what_the_last_epoch_says_is_synced_is_heard_behind_an_epoch_that_was_lost() {
    for place in Place::both() {
        let lost = "j00000-e00000001-00000000000000000100.rj";
        place.disk.append(&place.journal().join(lost)).unwrap();
        let mut crawl = write(&place, ArchiveFormat::Gzip);
        crawl.sync();
        let synced = crawl.journal.synced().unwrap();
        let says = Control::synced(synced, Timestamp(1));
        crawl.journal.push(&Record::Control(says));
        crawl.commit();
        let extent = place.visits()[3].1.extents[0].clone();
        let path = place.warc().join(&extent.file);
        let mut bytes = place.disk.read(&path).unwrap();
        bytes[extent.offset as usize + 20] ^= 0xff;
        place.disk.replace(&path, &bytes).unwrap();
        place.recover();
        assert_eq!(place.visits().len() as u64, PAGES);
    }
}

#[test]
fn a_journal_that_ends_before_the_known_good_place_is_told() {
    for place in Place::both() {
        let mut crawl = write(&place, ArchiveFormat::None);
        crawl.sync();
        let known = crawl.journal.synced().unwrap();
        let name = place.disk.list(&place.journal()).unwrap().remove(0);
        place.disk.cut(&place.journal().join(name), 100).unwrap();
        let lost = Journal::recover_from(&place.disk, &place.journal(), &place.warc(), &[known]);
        assert!(matches!(lost, Err(JournalError::Lost { .. })));
    }
}

#[test]
fn a_torn_segment_with_a_successor_is_damage() {
    for place in Place::both() {
        let mut crawl = Crawl::rolling(&place, 0, 1, ArchiveFormat::None, 300, 1);
        for n in 0..40 {
            crawl.visit(&format!("http://a.test/{n}"), "", &[]);
            crawl.commit();
        }
        let name = place.disk.list(&place.journal()).unwrap().remove(1);
        let path = place.journal().join(name);
        let length = place.disk.read(&path).unwrap().len() as u64;
        place.disk.cut(&path, length - 1).unwrap();
        let refused = Journal::recover(&place.disk, &place.journal(), &place.warc());
        assert!(matches!(refused, Err(JournalError::Corrupt { .. })));
    }
}
