//! What every table must do, asked of each implementation.

use rhumb_store::MemoryDisk;
use rhumb_store::runs::{FilterOn, MemoryTable, RunTable, Table};

use super::{all, empty, folder, scanned, small};

/// A table, and something to do between two steps: for the table of runs,
/// every state in which its entries can be.
trait Subject {
    fn table(&mut self) -> &mut dyn Table;
    fn between(&mut self) {}
}

impl Subject for MemoryTable {
    fn table(&mut self) -> &mut dyn Table {
        self
    }
}

struct Buffered(RunTable);

impl Subject for Buffered {
    fn table(&mut self) -> &mut dyn Table {
        &mut self.0
    }
}

struct Frozen(RunTable);

impl Subject for Frozen {
    fn table(&mut self) -> &mut dyn Table {
        &mut self.0
    }
    fn between(&mut self) {
        // Written, but not taken in: reads find the frozen buffer.
        drop(self.0.snapshot());
    }
}

struct Written(RunTable);

impl Subject for Written {
    fn table(&mut self) -> &mut dyn Table {
        &mut self.0
    }
    fn between(&mut self) {
        drop(self.0.snapshot());
        self.0.tend().unwrap();
    }
}

struct Merged(RunTable);

impl Subject for Merged {
    fn table(&mut self) -> &mut dyn Table {
        &mut self.0
    }
    fn between(&mut self) {
        drop(self.0.snapshot());
        self.0.reclaim();
        for _ in 0..3 {
            self.0.tend().unwrap();
        }
        assert!(self.0.runs() <= 1);
    }
}

fn conforms(check: impl Fn(&mut dyn Subject)) {
    check(&mut MemoryTable::new());
    for filter in [FilterOn::Nothing, FilterOn::Prefix(2), FilterOn::Key] {
        let disk = MemoryDisk::default();
        let table = || empty(&folder(&disk), small(filter));
        check(&mut Buffered(table()));
        check(&mut Frozen(table()));
        check(&mut Written(table()));
        check(&mut Merged(table()));
    }
}

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn holds(subject: &mut dyn Subject, expected: Pairs) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect();
    assert_eq!(all(subject.table()), expected);
    for (key, value) in &expected {
        assert_eq!(subject.table().get(key).unwrap().as_ref(), Some(value));
    }
}

fn put(subject: &mut dyn Subject, pairs: Pairs) {
    for (key, value) in pairs {
        subject.table().put(key.as_bytes(), value.as_bytes());
        subject.between();
    }
}

#[test]
fn an_empty_table_has_nothing() {
    conforms(|subject| {
        assert_eq!(subject.table().get(b"a").unwrap(), None);
        subject.table().remove(b"a");
        subject.table().remove_range(b"a", b"b");
        subject.between();
        holds(subject, &[]);
    });
}

#[test]
fn entries_come_in_order_of_their_keys() {
    conforms(|subject| {
        put(
            subject,
            &[("b", "2"), ("", "0"), ("aa", "1"), ("abc", ""), ("a", "x")],
        );
        holds(
            subject,
            &[("", "0"), ("a", "x"), ("aa", "1"), ("abc", ""), ("b", "2")],
        );
        assert_eq!(subject.table().get(b"ab").unwrap(), None);
    });
}

#[test]
fn the_newest_value_wins_whatever_its_length() {
    conforms(|subject| {
        put(
            subject,
            &[("k", "first"), ("k", "2"), ("l", "x"), ("k", "the third")],
        );
        holds(subject, &[("k", "the third"), ("l", "x")]);
        put(subject, &[("k", "")]);
        holds(subject, &[("k", ""), ("l", "x")]);
    });
}

#[test]
fn what_is_removed_is_gone_until_it_is_put_again() {
    conforms(|subject| {
        put(subject, &[("a", "1"), ("b", "2"), ("c", "3")]);
        subject.table().remove(b"b");
        subject.between();
        assert_eq!(subject.table().get(b"b").unwrap(), None);
        holds(subject, &[("a", "1"), ("c", "3")]);
        put(subject, &[("b", "4")]);
        holds(subject, &[("a", "1"), ("b", "4"), ("c", "3")]);
    });
}

#[test]
fn a_removed_range_takes_what_is_older_and_leaves_what_is_newer() {
    conforms(|subject| {
        put(
            subject,
            &[("aa1", "1"), ("aa2", "2"), ("aa3", "3"), ("ab1", "4")],
        );
        subject.table().remove_range(b"aa1", b"aa3");
        put(subject, &[("aa2", "new")]);
        holds(subject, &[("aa2", "new"), ("aa3", "3"), ("ab1", "4")]);
        assert_eq!(subject.table().get(b"aa1").unwrap(), None);
        // To the next prefix, and over several.
        subject.table().remove_range(b"aa", b"ab");
        subject.between();
        holds(subject, &[("ab1", "4")]);
        put(subject, &[("ac", "5"), ("zz", "6")]);
        subject.table().remove_range(b"ab", b"zz");
        subject.between();
        holds(subject, &[("zz", "6")]);
        put(subject, &[("a", "7"), ("m", "8")]);
        subject.table().remove_range(b"b", b"");
        subject.between();
        holds(subject, &[("a", "7")]);
        subject.table().remove_range(b"", b"");
        subject.between();
        holds(subject, &[]);
        put(subject, &[("m", "9")]);
        holds(subject, &[("m", "9")]);
    });
}

#[test]
fn a_range_that_ends_before_it_begins_is_nothing() {
    conforms(|subject| {
        put(subject, &[("a", "1"), ("b", "2")]);
        subject.table().remove_range(b"b", b"a");
        subject.table().remove_range(b"b", b"b");
        subject.between();
        holds(subject, &[("a", "1"), ("b", "2")]);
        assert!(scanned(subject.table(), b"b", b"a").is_empty());
        assert!(scanned(subject.table(), b"a", b"a").is_empty());
    });
}

#[test]
fn a_scan_keeps_to_its_range_and_stops_when_told() {
    conforms(|subject| {
        put(
            subject,
            &[("aa", "1"), ("ab", "2"), ("ac", "3"), ("b", "4")],
        );
        let keys = |subject: &mut dyn Subject, from: &str, to: &str| {
            scanned(subject.table(), from.as_bytes(), to.as_bytes())
                .into_iter()
                .map(|(key, _)| String::from_utf8(key).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(subject, "ab", "b"), ["ab", "ac"]);
        assert_eq!(keys(subject, "aba", ""), ["ac", "b"]);
        assert_eq!(keys(subject, "", "ab"), ["aa"]);
        let mut seen = 0;
        let mut two = |_: &[u8], _: &[u8]| {
            seen += 1;
            seen < 2
        };
        subject.table().scan(b"", b"", &mut two).unwrap();
        assert_eq!(seen, 2);
    });
}

#[test]
fn values_larger_than_a_block_come_back_whole() {
    conforms(|subject| {
        let large = vec![b'x'; 5000];
        subject.table().put(b"k", &large);
        subject.between();
        subject.table().put(b"l", b"1");
        subject.between();
        assert_eq!(subject.table().get(b"k").unwrap(), Some(large));
        assert_eq!(subject.table().get(b"l").unwrap(), Some(b"1".to_vec()));
    });
}
