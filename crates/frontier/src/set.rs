//! The set of URLs ever seen, asked in batches.

use std::collections::{HashSet, VecDeque};

use rhumb_url::UrlKey;

/// Ties an answer to the batch it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub ticket: Ticket,
    /// For each key of the batch, in order: it was not in the set before.
    pub new: Vec<bool>,
}

/// A set that may take its time: an offer enters the keys, its answer comes
/// later, and answers come in the order of the offers. A key that stands
/// twice in a batch is new at most once.
pub trait UrlSet {
    fn offer(&mut self, ticket: Ticket, keys: &[UrlKey]);
    fn answer(&mut self) -> Option<Answer>;
    /// How many keys the set holds.
    fn count(&self) -> u64;
}

/// All in memory: 16 bytes a URL and the table's slack.
#[derive(Default)]
pub struct MemorySet {
    keys: HashSet<UrlKey>,
    answers: VecDeque<Answer>,
}

impl MemorySet {
    /// Whether a key is there, without entering it.
    pub fn contains(&self, key: &UrlKey) -> bool {
        self.keys.contains(key)
    }
}

impl UrlSet for MemorySet {
    fn offer(&mut self, ticket: Ticket, keys: &[UrlKey]) {
        let new = keys.iter().map(|key| self.keys.insert(*key)).collect();
        self.answers.push_back(Answer { ticket, new });
    }

    fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn count(&self) -> u64 {
        self.keys.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_once_also_within_a_batch() {
        let key = |url| UrlKey { lane: 1, url };
        let mut set = MemorySet::default();
        set.offer(Ticket(1), &[key(1), key(2), key(1)]);
        set.offer(Ticket(2), &[key(2), key(3)]);
        let first = set.answer().unwrap();
        assert_eq!(
            (first.ticket, first.new),
            (Ticket(1), vec![true, true, false])
        );
        let second = set.answer().unwrap();
        assert_eq!((second.ticket, second.new), (Ticket(2), vec![false, true]));
        assert_eq!(set.answer(), None);
        assert_eq!(set.count(), 3);
    }
}
