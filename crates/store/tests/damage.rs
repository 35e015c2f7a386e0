//! Files may hold anything: whatever they hold, there is an answer or an
//! error, and damage in a journal is never overlooked.

mod written;

use std::path::PathBuf;
use std::sync::Arc;

use rhumb_store::{
    ArchiveFormat, CompactOptions, Journal, MemoryDisk, Positions, Timestamp, verify_journal,
};
use written::{Crawl, Place, Random};

fn write(place: &Place, format: ArchiveFormat) {
    for epoch in 1..=2 {
        let mut crawl = Crawl::rolling(place, 0, epoch, format, 900, 3_000);
        for n in 0..20 {
            let url = format!("http://a.test/{}", n % 7);
            let first = crawl.visit(&url, &format!("body {n}"), &["http://b.test/"]);
            let mut again = crawl.page("http://c.test/", "c", &[]);
            again.links_of = Some(first);
            crawl.add(again, "c", None);
            crawl.commit();
        }
        crawl.sync();
    }
}

/// Overwrite, cut or lengthen one file somewhere.
fn harm(place: &Place, folder: PathBuf, random: &mut Random) {
    let names = place.disk.list(&folder).unwrap();
    let name = &names[random.below(names.len() as u64) as usize];
    let path = folder.join(name);
    let mut bytes = place.disk.read(&path).unwrap();
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(4) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2 => {
            let end = bytes.len().min(at + 50);
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        }
        _ => {
            let extra: Vec<u8> = bytes[at..].to_vec();
            bytes.extend(extra);
        }
    }
    place.disk.replace(&path, &bytes).unwrap();
}

#[test]
fn no_damage_makes_anything_panic_and_none_in_a_journal_is_overlooked() {
    let options = CompactOptions {
        last_segments: true,
        ..CompactOptions::default()
    };
    let mut random = Random(31);
    for round in 0..200 {
        let place = Place::in_memory(&MemoryDisk::default());
        let format = match round % 2 {
            0 => ArchiveFormat::Gzip,
            _ => ArchiveFormat::Zstd,
        };
        write(&place, format);
        let places: Vec<_> = place.visits().into_iter().map(|(p, _)| p).collect();
        let (journal, warc) = (place.journal(), place.warc());
        if round % 3 == 0 {
            place.compact(&options).unwrap();
        }
        let in_journal = round % 4 < 2;
        let folder = if in_journal { &journal } else { &warc };
        harm(&place, folder.clone(), &mut random);

        let verify = |findings: &mut Vec<_>| {
            let mut told = |finding| findings.push(finding);
            verify_journal(&place.disk, &journal, &warc, &[], &mut told, &mut |_| {})
        };
        let mut findings = Vec::new();
        let verified = verify(&mut findings);
        assert!(
            !in_journal || verified.is_err() || !findings.is_empty(),
            "round {round}"
        );
        let mut positions = Positions::open(Arc::clone(&place.disk), &journal);
        for position in &places {
            let _ = positions.record_at(*position);
        }
        let _ = place.compact(&options);
        let matches = |url: &str| url.ends_with("/3");
        let _ = place.forget("3", &matches, Timestamp(1));
        let _ = Journal::recover(&place.disk, &journal, &warc);
        let _ = verify(&mut findings);
    }
}
