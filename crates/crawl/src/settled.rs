//! How far a shard has taken in the links of each journal.

use std::collections::{BTreeMap, HashMap};

use crate::manifest::{Mark, Marks};

/// One journal's messages.
#[derive(Default)]
struct Source {
    /// Every message up to here has come.
    received: Mark,
    /// Messages that have come and still wait for answers, and how many.
    open: BTreeMap<Mark, usize>,
}

/// A message is settled when the set has answered for all its links and the
/// new ones are admitted. What is settled is in the next checkpoint; the rest
/// is read from its journal again after a crash.
#[derive(Default)]
pub struct Settled {
    sources: HashMap<u16, Source>,
}

impl Settled {
    /// Begin with what a recovery has found to be taken in.
    pub fn new(marks: &Marks) -> Settled {
        let mut settled = Settled::default();
        for (journal, mark) in marks {
            settled.received(*journal, *mark);
        }
        settled
    }

    /// Every message of a journal up to a place has come.
    pub fn received(&mut self, journal: u16, mark: Mark) {
        let source = self.sources.entry(journal).or_default();
        source.received = source.received.max(mark);
    }

    /// So many links of a message wait for their answers.
    pub fn open(&mut self, journal: u16, mark: Mark, links: usize) {
        let source = self.sources.entry(journal).or_default();
        *source.open.entry(mark).or_default() += links;
    }

    /// One of them has its answer.
    pub fn close(&mut self, journal: u16, mark: Mark) {
        let Some(source) = self.sources.get_mut(&journal) else {
            return;
        };
        if let Some(left) = source.open.get_mut(&mark) {
            *left -= 1;
            if *left == 0 {
                source.open.remove(&mark);
            }
        }
    }

    pub fn marks(&self) -> Marks {
        let marks = self.sources.iter().map(|(journal, source)| {
            let mark = match source.open.keys().next() {
                None => source.received,
                Some(first) => Mark {
                    epoch: first.epoch,
                    sequence: first.sequence.saturating_sub(1),
                }
                .min(source.received),
            };
            (*journal, mark)
        });
        marks.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(sequence: u64) -> Mark {
        Mark { epoch: 1, sequence }
    }

    #[test]
    fn the_first_open_message_holds_the_mark_back() {
        let mut settled = Settled::default();
        settled.received(0, mark(5));
        assert_eq!(settled.marks()[&0], mark(5));
        settled.open(0, mark(6), 2);
        settled.open(0, mark(8), 1);
        settled.received(0, mark(9));
        assert_eq!(settled.marks()[&0], mark(5));
        settled.close(0, mark(6));
        settled.close(0, mark(6));
        assert_eq!(settled.marks()[&0], mark(7));
        settled.close(0, mark(8));
        assert_eq!(settled.marks()[&0], mark(9));
    }

    #[test]
    fn a_message_of_an_unknown_epoch_stands_where_its_sequence_says() {
        let mut settled = Settled::default();
        settled.received(0, mark(5));
        let unknown = Mark {
            epoch: 0,
            sequence: 8,
        };
        settled.open(0, unknown, 1);
        settled.open(0, mark(6), 1);
        settled.received(0, mark(9));
        assert_eq!(settled.marks()[&0].sequence, 5);
        settled.close(0, mark(6));
        assert_eq!(settled.marks()[&0].sequence, 7);
    }
}
