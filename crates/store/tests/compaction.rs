//! A compacted journal has the latest visit of every URL at the position it
//! had, and all that is not a superseded visit; nothing archived is given up.

mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhumb_store::{
    ArchiveFormat, CompactOptions, Control, Extent, Journal, MemoryDisk, Position, Positions,
    Record, Seed, Unsynced,
};
use written::{Crawl, Place, Random};

const EVERYTHING: CompactOptions = CompactOptions {
    memory: 1 << 20,
    last_segments: true,
};

/// Some epochs in which few URLs are visited again and again. Visits that
/// find a page unchanged, or find a copy of another, refer to the links of an
/// earlier one.
fn recrawl(place: &Place, visits: u64) {
    recrawl_by_chance(place, visits, 5);
}

fn recrawl_by_chance(place: &Place, visits: u64, seed: u64) {
    let mut random = Random(seed);
    let mut with_links: BTreeMap<String, Position> = BTreeMap::new();
    for epoch in 1..=3 {
        for journal in 0..2 {
            let mut crawl =
                Crawl::rolling(place, journal, epoch, ArchiveFormat::Zstd, 1_500, 9_000);
            crawl.journal.push(&Record::Seed(Seed {
                url: format!("http://seed.test/{epoch}"),
                ..Seed::default()
            }));
            for n in 0..visits {
                let url = format!("http://h{journal}.test/{}", random.below(10));
                let link = format!("http://l.test/{epoch}-{n}");
                let copied = match random.below(4) {
                    0 => format!("http://h{}.test/{}", random.below(2), random.below(10)),
                    _ => url.clone(),
                };
                match with_links.get(&copied) {
                    Some(earlier) if random.below(2) == 0 => {
                        let mut visit = crawl.page(&url, "same", &[]);
                        visit.links_of = Some(*earlier);
                        crawl.add(visit, "same", None);
                    }
                    _ => {
                        let position = crawl.visit(&url, "changed", &[&link]);
                        with_links.insert(url, position);
                    }
                }
                if random.below(3) == 0 {
                    crawl.commit();
                }
            }
            crawl.journal.push(&Record::Control(Control::default()));
            crawl.commit();
            crawl.sync();
        }
    }
}

/// What must outlast compaction.
#[derive(Debug, PartialEq)]
struct Essence {
    /// URL to the position of its latest visit, and that visit's links.
    latest: BTreeMap<String, (Position, Vec<String>)>,
    others: Vec<(Position, Record)>,
    /// Bytes of the archive that some record names, by file.
    archived: BTreeMap<String, u64>,
    last: Vec<u64>,
}

fn essence(place: &Place) -> Essence {
    let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
    let mut essence = Essence {
        latest: BTreeMap::new(),
        others: Vec::new(),
        archived: BTreeMap::new(),
        last: Vec::new(),
    };
    let mut extents: Vec<Extent> = Vec::new();
    let mut records = place.records();
    records.sort_by_key(|(p, _)| (p.epoch, p.sequence));
    for (position, record) in records {
        extents.extend_from_slice(record.extents());
        match record {
            Record::Visit(visit) => {
                let links = positions.links_of(&visit).unwrap().expect("its links");
                let links = links.into_iter().map(|link| link.url).collect();
                essence.latest.insert(visit.url, (position, links));
            }
            Record::Superseded(_) => assert_eq!(positions.record_at(position).unwrap(), None),
            other => essence.others.push((position, other)),
        }
    }
    for extent in extents {
        *essence.archived.entry(extent.file).or_default() += extent.length;
    }
    essence.last = (0..2)
        .map(|journal| {
            let disk = Arc::clone(&place.disk);
            let mut journal = Journal::begin(disk, &place.journal(), journal, 90, 1).unwrap();
            journal.push(&Record::Control(Control::default())).sequence
        })
        .collect();
    essence
}

#[test]
fn only_what_is_superseded_goes() {
    for place in Place::both() {
        recrawl(&place, 80);
        place.recover();
        let (before, all) = (essence(&place), place.visits());
        let report = place.compact(&EVERYTHING).unwrap();
        assert_eq!(essence(&place), before);
        let left = place.visits();
        assert_eq!(all.len() - left.len(), report.visits_dropped as usize);
        assert_eq!(
            left.len(),
            before.latest.len() + report.visits_kept_for_links as usize
        );
        assert!(report.visits_kept_for_links > 0);
        assert!(report.bytes_after < report.bytes_before / 2, "{report:?}");
        let mut positions = Positions::open(Arc::clone(&place.disk), &place.journal());
        let kept: BTreeSet<Position> = left.iter().map(|(position, _)| *position).collect();
        for (position, visit) in all {
            let found = positions.record_at(position).unwrap();
            let expected = kept
                .contains(&position)
                .then(|| Record::Visit(Box::new(visit)));
            assert_eq!(found, expected);
        }
        // Nothing is left to do, and a start finds nothing wrong.
        let again = place.compact(&EVERYTHING).unwrap();
        assert_eq!((again.segments_rewritten, again.visits_dropped), (0, 0));
        assert_eq!(again.bytes_before, report.bytes_after);
        assert_eq!(place.recover(), 4);
        assert_eq!(essence(&place), before);
    }
}

#[test]
fn no_visit_that_stays_loses_the_links_it_refers_to() {
    for seed in 1..40 {
        let place = Place::in_memory(&MemoryDisk::default());
        recrawl_by_chance(&place, 12, seed * 0x9e37_79b9);
        let all: BTreeMap<Position, _> = place.visits().into_iter().collect();
        let before = essence(&place);
        let report = place.compact(&EVERYTHING).unwrap();
        assert_eq!(essence(&place), before, "seed {seed}");
        let left: BTreeMap<Position, _> = place.visits().into_iter().collect();
        let mut needed: BTreeSet<Position> = before.latest.values().map(|(at, _)| *at).collect();
        // Those that are referred to have links of their own here.
        let referred = needed.iter().filter_map(|at| all[at].links_of);
        needed.extend(referred.collect::<Vec<_>>());
        assert_eq!(left.keys().copied().collect::<BTreeSet<_>>(), needed);
        let dropped = all.len() - left.len();
        assert_eq!(report.visits_dropped as usize, dropped, "seed {seed}");
        assert!(dropped > 0 && report.bytes_after < report.bytes_before);
        let lengths = place.disk.list(&place.journal()).unwrap().into_iter();
        let lengths = lengths.map(|name| {
            let bytes = place.disk.read(&place.journal().join(name));
            bytes.unwrap().len() as u64
        });
        assert_eq!(lengths.sum::<u64>(), report.bytes_after);
    }
}

#[test]
fn little_memory_takes_more_passes_and_finds_the_same() {
    let [one, other] = [MemoryDisk::default(), MemoryDisk::default()].map(|memory| {
        let place = Place::in_memory(&memory);
        recrawl(&place, 80);
        place
    });
    let plenty = one.compact(&EVERYTHING).unwrap();
    let tiny = CompactOptions {
        memory: 0,
        ..EVERYTHING
    };
    let little = other.compact(&tiny).unwrap();
    assert_eq!(
        (plenty.passes, plenty.visits_dropped),
        (1, little.visits_dropped)
    );
    assert!(little.passes > 1);
    assert_eq!(one.records(), other.records());
}

#[test]
fn the_last_segments_may_be_left_to_their_writers() {
    let place = Place::in_memory(&MemoryDisk::default());
    recrawl(&place, 80);
    let names = place.disk.list(&place.journal()).unwrap();
    let last = place.journal().join(names.last().unwrap());
    let bytes = place.disk.read(&last).unwrap();
    let before = essence(&place);
    place.compact(&CompactOptions::default()).unwrap();
    assert_eq!(place.disk.read(&last).unwrap(), bytes);
    assert_eq!(essence(&place), before);
}

#[test]
fn whichever_write_is_the_last_the_journal_is_whole() {
    let mut finished = false;
    for writes in 0.. {
        let memory = MemoryDisk::default();
        let place = Place::in_memory(&memory);
        recrawl(&place, 30);
        place.recover();
        let before = essence(&place);
        memory.fail_after(writes);
        let result = place.compact(&EVERYTHING);
        let loss = [
            Unsynced::Kept,
            Unsynced::Dropped,
            Unsynced::Torn(writes),
            Unsynced::Reordered(writes),
        ][writes as usize % 4];
        let place = Place::in_memory(&memory.after_power_loss(loss));
        assert_eq!(place.recover(), 4);
        assert_eq!(essence(&place), before, "after {writes} writes");
        place.compact(&EVERYTHING).unwrap();
        assert_eq!(essence(&place), before);
        let names = place.disk.list(&place.journal()).unwrap();
        assert!(names.iter().all(|name| name.ends_with(".rj")));
        if result.is_ok() {
            finished = true;
            break;
        }
    }
    assert!(finished);
}
