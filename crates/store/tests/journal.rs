//! What a journal promises: what was committed is there after a crash, what
//! was torn is gone, and a position never means two things.

use std::path::Path;
use std::sync::Arc;

use rhumb_store::{
    Control, Disk, EpochStart, Journal, JournalError, JournalReader, MemoryDisk, Record, Seed,
};

const FOLDER: &str = "journal";

fn seed(n: usize) -> Record {
    Record::Seed(Seed {
        url: format!("http://host{n}.test/"),
        ..Seed::default()
    })
}

fn begin(disk: &Arc<dyn Disk>, roll: u64) -> (Journal, u32) {
    let epoch = Journal::recover(disk, Path::new(FOLDER), Path::new("warc")).unwrap();
    let journal = Journal::begin(Arc::clone(disk), Path::new(FOLDER), 3, epoch, roll).unwrap();
    (journal, epoch)
}

fn read_from(disk: &Arc<dyn Disk>, from: u64) -> Vec<(u64, Record)> {
    let mut reader = JournalReader::open(Arc::clone(disk), Path::new(FOLDER), 3, from);
    let mut all = Vec::new();
    while let Some(group) = reader.next_group().unwrap() {
        for (position, record) in group.records() {
            if position.sequence >= from {
                all.push((position.sequence, record.unwrap()));
            }
        }
    }
    all
}

#[test]
fn records_are_read_back_from_any_sequence_across_segments() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let (mut journal, _) = begin(&disk, 200);
    for n in 0..100 {
        let position = journal.push(&seed(n));
        assert_eq!(position.sequence, n as u64 + 1);
        if n % 3 == 0 {
            journal.commit().unwrap();
        }
    }
    journal.commit().unwrap();
    assert!(disk.list(Path::new(FOLDER)).unwrap().len() > 3);
    for from in [0, 1, 2, 50, 99, 100] {
        let records = read_from(&disk, from);
        let first = from.max(1);
        assert_eq!(records.len() as u64, 101 - first);
        assert_eq!(records[0], (first, seed(first as usize - 1)));
    }
    assert!(read_from(&disk, 101).is_empty());
}

#[test]
fn a_reader_follows_a_growing_journal() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let (mut journal, _) = begin(&disk, 120);
    let mut reader = JournalReader::open(Arc::clone(&disk), Path::new(FOLDER), 3, 0);
    assert!(reader.next_group().unwrap().is_none());
    for n in 0..20 {
        journal.push(&seed(n));
        journal.commit().unwrap();
        let group = reader.next_group().unwrap().expect("the new group");
        assert_eq!(group.first().sequence, n as u64 + 1);
        assert!(reader.next_group().unwrap().is_none());
    }
}

#[test]
fn a_crash_keeps_what_was_synced_and_begins_a_new_epoch() {
    for torn in 0..150 {
        let memory = MemoryDisk::default();
        let disk: Arc<dyn Disk> = Arc::new(memory.clone());
        let (mut journal, first_epoch) = begin(&disk, 1 << 20);
        journal.push(&Record::Epoch(EpochStart::default()));
        for n in 0..10 {
            journal.push(&seed(n));
        }
        journal.commit().unwrap();
        journal.sync().unwrap();
        journal.push(&seed(10));
        journal.commit().unwrap();
        drop(journal);
        memory.crash(torn);

        let (mut journal, epoch) = begin(&disk, 1 << 20);
        assert_eq!(epoch, first_epoch + 1);
        let kept = read_from(&disk, 0).len();
        assert!(
            kept == 11 || kept == 12,
            "{kept} records after {torn} bytes"
        );
        let position = journal.push(&Record::Control(Control::default()));
        assert_eq!(position.sequence as usize, kept + 1);
        journal.commit().unwrap();
        assert_eq!(read_from(&disk, 0).len(), kept + 1);
    }
}

#[test]
fn damage_in_the_middle_is_told_and_not_cut_away() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let (mut journal, _) = begin(&disk, 1 << 20);
    for n in 0..3 {
        journal.push(&seed(n));
        journal.commit().unwrap();
    }
    let name = disk.list(Path::new(FOLDER)).unwrap().remove(0);
    let path = Path::new(FOLDER).join(name);
    let mut bytes = disk.read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    disk.replace(&path, &bytes).unwrap();
    assert!(matches!(
        Journal::recover(&disk, Path::new(FOLDER), Path::new("warc")),
        Err(JournalError::Corrupt { .. })
    ));
    assert_eq!(disk.read(&path).unwrap(), bytes);
}
