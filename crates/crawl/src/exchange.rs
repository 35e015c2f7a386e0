//! The exchange: how links reach the shard that owns their site.
//!
//! A message is sent only after the visit that found the links is in its
//! journal. A full channel never blocks: from then on the receiver reads the
//! sender's journal until it has caught up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rhumb_store::{Fate, Outcome, Position, Visit};
use rhumb_url::{Fingerprinter, KeyedUrl, Keyer, Partition, Url};

/// The links of one visit that belong to one shard.
#[derive(Debug, Clone)]
pub struct LinkBatch {
    pub source: Position,
    pub via: Arc<str>,
    pub depth: u32,
    /// Redirects in a row that led to these.
    pub redirects: u32,
    pub urls: Vec<KeyedUrl>,
}

#[derive(Default)]
struct Channel {
    batches: VecDeque<LinkBatch>,
    /// The sender ran out of room at this sequence.
    behind_from: Option<u64>,
    last_sent: u64,
}

pub enum Received {
    Batch(LinkBatch),
    /// Read the sender's journal over these sequences, both included. What
    /// stands behind them has not been sent yet.
    Behind {
        from: u64,
        through: u64,
    },
    Nothing,
}

pub struct Exchange {
    shards: usize,
    room: usize,
    /// By receiver, then sender.
    channels: Vec<Mutex<Channel>>,
}

impl Exchange {
    pub fn new(shards: usize, room: usize) -> Exchange {
        Exchange {
            shards,
            room,
            channels: (0..shards * shards).map(|_| Mutex::default()).collect(),
        }
    }

    pub fn send(&self, from: usize, to: usize, batch: LinkBatch) {
        let mut channel = self.channel(from, to);
        channel.last_sent = batch.source.sequence;
        if channel.behind_from.is_some() {
            return;
        }
        if channel.batches.len() >= self.room {
            channel.behind_from = Some(batch.source.sequence);
        } else {
            channel.batches.push_back(batch);
        }
    }

    pub fn receive(&self, from: usize, to: usize) -> Received {
        let mut channel = self.channel(from, to);
        match (channel.batches.pop_front(), channel.behind_from) {
            (Some(batch), _) => Received::Batch(batch),
            (None, Some(from)) => Received::Behind {
                from,
                through: channel.last_sent,
            },
            (None, None) => Received::Nothing,
        }
    }

    /// The receiver has read the sender's journal through this sequence.
    pub fn caught_up(&self, from: usize, to: usize, through: u64) {
        let mut channel = self.channel(from, to);
        channel.behind_from = (channel.last_sent > through).then_some(through + 1);
    }

    fn channel(&self, from: usize, to: usize) -> std::sync::MutexGuard<'_, Channel> {
        self.channels[to * self.shards + from]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The targets of the links that a recorded visit offers.
pub fn offered_by(visit: &Visit) -> impl Iterator<Item = Url> + '_ {
    let offered = visit.links.iter().filter(|l| l.fate == Fate::Offered);
    offered.filter_map(|link| Url::from_normal(&link.url).ok())
}

/// A committed visit's offered links, by the shard that owns them. The same
/// for a visit just committed and for one read back from a journal.
pub fn batches_of(
    visit: &Visit,
    offered: impl IntoIterator<Item = Url>,
    source: Position,
    print: &Fingerprinter,
    shards: usize,
) -> Vec<(usize, LinkBatch)> {
    let mut batches: Vec<(usize, LinkBatch)> = Vec::new();
    let mut via: Option<Arc<str>> = None;
    let mut keyer = Keyer::new(*print);
    // A redirect leads to the page that was meant: no step further.
    let is_redirect = visit.outcome == Outcome::Redirect;
    let depth = visit.depth + u32::from(!is_redirect);
    let redirects = if is_redirect { visit.redirects + 1 } else { 0 };
    for url in offered {
        let url = keyer.keyed(url);
        let shard = Partition::of_lane(url.key.lane).shard(shards);
        match batches.iter_mut().find(|(to, _)| *to == shard) {
            Some((_, batch)) => batch.urls.push(url),
            None => batches.push((
                shard,
                LinkBatch {
                    source,
                    via: Arc::clone(via.get_or_insert_with(|| Arc::from(visit.url.as_str()))),
                    depth,
                    redirects,
                    urls: vec![url],
                },
            )),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(sequence: u64) -> LinkBatch {
        LinkBatch {
            source: Position {
                journal: 0,
                epoch: 1,
                sequence,
            },
            via: Arc::from(""),
            depth: 1,
            redirects: 0,
            urls: Vec::new(),
        }
    }

    #[test]
    fn a_full_channel_sends_its_receiver_to_the_journal_and_back() {
        let exchange = Exchange::new(2, 2);
        for sequence in 1..=5 {
            exchange.send(0, 1, batch(sequence));
        }
        for expected in 1..=2 {
            assert!(
                matches!(exchange.receive(0, 1), Received::Batch(b) if b.source.sequence == expected)
            );
        }
        assert!(matches!(
            exchange.receive(0, 1),
            Received::Behind {
                from: 3,
                through: 5
            }
        ));
        exchange.send(0, 1, batch(6));
        exchange.caught_up(0, 1, 5);
        assert!(matches!(
            exchange.receive(0, 1),
            Received::Behind {
                from: 6,
                through: 6
            }
        ));
        exchange.caught_up(0, 1, 6);
        assert!(matches!(exchange.receive(0, 1), Received::Nothing));
        exchange.send(0, 1, batch(7));
        assert!(matches!(exchange.receive(0, 1), Received::Batch(_)));
        assert!(matches!(exchange.receive(1, 1), Received::Nothing));
    }
}
