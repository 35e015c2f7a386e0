//! Recovery from directories made by hand: what stands where in the journals
//! and in the manifest is chosen, not left to the threads of a crawl.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rhumb_store::{
    CompactOptions, CrawlDirectory, Disk, Journal, JournalError, MemoryDisk, Outcome, Position,
    Record, Seed, SystemClock, Timestamp, Visit, compact,
};

use crate::config::Config;
use crate::engine::{Crawl, CrawlError};
use crate::identity::our_identity;
use crate::manifest::{Manifest, Mark, Marks, ShardPart, ViewsPart};
use crate::stopped::Stopped;

const DIR: &str = "crawl";
const ROLL: u64 = 1 << 20;

/// A crawl that two shards have written.
struct Written {
    disk: Arc<dyn Disk>,
    directory: CrawlDirectory,
}

impl Written {
    fn new() -> Written {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
        let identity = our_identity(&SystemClock::default());
        let directory = CrawlDirectory::open(&disk, Path::new(DIR), &identity).unwrap();
        Written { disk, directory }
    }

    /// Append to a journal; says where each record stands.
    fn write(&self, journal: u16, epoch: u32, records: &[Record]) -> Vec<Position> {
        let (disk, folder) = (Arc::clone(&self.disk), self.directory.journal());
        let mut journal = Journal::begin(disk, &folder, journal, epoch, ROLL).unwrap();
        let places = records.iter().map(|record| journal.push(record)).collect();
        journal.commit().unwrap();
        journal.sync().unwrap();
        places
    }

    fn checkpoint(&self, shards: Vec<ShardPart>, views: ViewsPart) {
        let manifest = Manifest::new(shards, views);
        manifest
            .store(&*self.disk, &self.directory.state())
            .unwrap();
    }

    fn recover(&self) -> Stopped {
        Stopped::open_on(&self.disk, Path::new(DIR)).unwrap()
    }
}

fn seed(url: &str, sequence: u64) -> Record {
    Record::Seed(Seed {
        url: url.to_owned(),
        sequence,
        ..Seed::default()
    })
}

fn visit(url: &str, sequence: u64) -> Visit {
    Visit {
        sequence,
        ..Visit::new(url, 0, Outcome::Fetched, Timestamp(1))
    }
}

/// A visit that was stored whole: nobody had entered this content by then.
fn document(url: &str, content: u128) -> Record {
    Record::Visit(Box::new(Visit {
        body_bytes: 10,
        content: Some(content),
        payload_digest: Some([1; 20]),
        ..visit(url, 1)
    }))
}

/// The same document comes to two shards at the same moment. The second
/// one's visit enters first, and its shard makes a checkpoint; the views' is
/// older, so that recovery enters both again, in the order of the journals.
#[test]
fn copies_count_once_whichever_of_them_a_checkpoint_has() {
    let written = Written::new();
    written.write(0, 1, &[document("http://a.test/", 7)]);
    let [second] = written.write(1, 1, &[document("http://b.test/", 7)])[..] else {
        panic!("one record");
    };
    let counted = ShardPart {
        own: Mark::from(second),
        ..ShardPart::default()
    };
    for shards in [
        vec![],
        vec![ShardPart::default(), counted.clone()],
        vec![counted, ShardPart::default()],
    ] {
        if !shards.is_empty() {
            written.checkpoint(shards, ViewsPart::default());
        }
        let stopped = written.recover();
        let duplicates = stopped.views.duplicates();
        assert_eq!(stopped.counters.snapshot(duplicates).duplicates, 1);
        assert_eq!(stopped.views.documents(), 1);
    }
}

/// A tail that is still being read holds the mark of its journal without
/// knowing the epoch of the record it stands before.
#[test]
fn tails_begin_at_the_lowest_mark_of_all_parts_whatever_their_epochs() {
    let written = Written::new();
    let seeds = |count: u64| -> Vec<Record> {
        let seed = |number| seed(&format!("http://a.test/{number}"), number);
        (1..=count).map(seed).collect()
    };
    written.write(0, 1, &seeds(50));
    let last = *written.write(0, 2, &seeds(10)).last().unwrap();
    let part = |epoch, sequence| ShardPart {
        settled: Marks::from([(0, Mark { epoch, sequence })]),
        ..ShardPart::default()
    };
    for parts in [[part(0, 57), part(1, 40)], [part(1, 40), part(0, 57)]] {
        written.checkpoint(parts.to_vec(), ViewsPart::default());
        let stopped = written.recover();
        let tails: Vec<_> = stopped.shard.tails.iter().collect();
        assert_eq!(tails.len(), 1);
        assert_eq!((tails[0].from, tails[0].through), (41, last.sequence));
        assert_eq!(stopped.shard.settled[&0].sequence, 40);
    }
}

/// A page that was visited twice, from two places in the queue: the later
/// visit, which is left, emptied another place than the one it was admitted
/// to. In one group, so that admissions stand among the visits that go.
#[test]
fn what_was_visited_does_not_wait_again_when_the_journal_is_compacted() {
    let written = Written::new();
    let again = |url: &str, sequence| Record::Visit(Box::new(visit(url, sequence)));
    written.write(
        0,
        1,
        &[
            seed("http://a.test/", 1),
            again("http://a.test/", 1),
            seed("http://b.test/", 2),
            again("http://b.test/", 2),
            seed("http://c.test/", 3),
        ],
    );
    let later = [again("http://a.test/", 7), again("http://b.test/", 8)];
    written.write(0, 2, &later);
    let waiting = || {
        let mut urls = Vec::new();
        let stopped = written.recover();
        let frontier = &stopped.shard.frontier;
        frontier
            .waiting(&mut |item| {
                urls.push(item.url.as_str().to_owned());
                true
            })
            .unwrap();
        urls
    };
    assert_eq!(waiting(), ["http://c.test/"]);
    let folder = written.directory.journal();
    let options = CompactOptions {
        last_segments: true,
        ..CompactOptions::default()
    };
    for dropped in [2, 0] {
        let report = compact(&written.disk, &folder, &options, &mut || Ok(())).unwrap();
        assert_eq!(report.visits_dropped, dropped);
        assert_eq!(waiting(), ["http://c.test/"]);
    }
}

/// Whoever follows a journal furthest knows best what must be there. Else the
/// sequences that are given again would be taken for what is known.
#[test]
fn a_journal_that_ends_before_what_any_part_has_followed_is_refused() {
    let written = Written::new();
    written.write(0, 1, &[seed("http://a.test/", 1)]);
    written.write(
        1,
        1,
        &[seed("http://b.test/", 1), seed("http://c.test/", 2)],
    );
    let mark = |sequence| Mark { epoch: 1, sequence };
    let followed = Marks::from([(0, mark(1)), (1, mark(3))]);
    let views = ViewsPart {
        applied: followed.clone(),
        ..ViewsPart::default()
    };
    let part = |own, settled| ShardPart {
        own: mark(own),
        settled,
        ..ShardPart::default()
    };
    let shards = |settled: Marks| vec![part(1, settled), part(1, Marks::new())];
    for (shards, views) in [
        (shards(Marks::new()), views),
        (shards(followed), ViewsPart::default()),
    ] {
        written.checkpoint(shards, views);
        let (disk, clock) = (Arc::clone(&written.disk), Arc::new(SystemClock::default()));
        let opened = Crawl::open_with(Path::new(DIR), Config::default(), disk, clock);
        assert!(matches!(
            opened.err(),
            Some(CrawlError::Journal(JournalError::Lost {
                journal: 1,
                found: 2,
                synced: 3,
                ..
            }))
        ));
    }
}

/// Its head tells that the last group is there; its body is spoiled. The state
/// has it, but not the views: they would go without.
#[test]
fn a_synced_group_that_cannot_be_read_is_told_although_it_is_the_last() {
    let written = Written::new();
    written.write(0, 1, &[seed("http://a.test/", 1)]);
    let [last] = written.write(0, 2, &[seed("http://b.test/", 2)])[..] else {
        panic!("one record");
    };
    let part = ShardPart {
        own: Mark::from(last),
        settled: Marks::from([(0, Mark::from(last))]),
        ..ShardPart::default()
    };
    written.checkpoint(vec![part], ViewsPart::default());
    written.recover();
    let folder = written.directory.journal();
    let segment = folder.join(written.disk.list(&folder).unwrap().pop().unwrap());
    let mut bytes = written.disk.read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    written.disk.replace(&segment, &bytes).unwrap();
    let opened = Stopped::open_on(&written.disk, Path::new(DIR));
    assert!(matches!(
        opened.err(),
        Some(CrawlError::Journal(JournalError::Lost {
            journal: 0,
            found: 1,
            synced: 2,
            ..
        }))
    ));
}

/// Two shards, in the crawl's second epoch: the other one's journal is synced
/// up to its third record.
#[test]
fn a_visit_may_refer_to_its_own_journal_and_to_what_is_synced() {
    let written = Written::new();
    written.write(1, 1, &[seed("http://a.test/", 1)]);
    let mut config = Config::default();
    config.set("threads", "2").unwrap();
    let (disk, clock) = (Arc::clone(&written.disk), Arc::new(SystemClock::default()));
    let crawl = Crawl::open_with(Path::new(DIR), config, disk, clock).unwrap();
    let handle = crawl.handle();
    let shared = handle.shared();
    shared.synced[1].store(3, Ordering::Release);
    let outlives = |journal, epoch, sequence| {
        let position = Position {
            journal,
            epoch,
            sequence,
        };
        shared.outlives_next_visit(position, 0)
    };
    assert!(outlives(0, 2, 9), "a journal is cut from its end");
    assert!(outlives(1, 1, 9), "earlier epochs have been synced");
    assert!(outlives(1, 2, 3), "synced in this run");
    assert!(!outlives(1, 2, 4), "this may be lost alone");
}
