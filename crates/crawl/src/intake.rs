//! Taking in what was found: links that other shards, this one and earlier
//! runs have sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rhumb_store::{Position, Visit};

use crate::catch_up::CatchUp;
use crate::exchange::{LinkBatch, Received, batches_of, offered_by};
use crate::manifest::Mark;
use crate::shard::Shard;

/// Link messages taken from one sender before the others get their turn.
const BATCHES_AT_A_TIME: usize = 256;

impl Shard {
    /// Take in what other shards, this one and earlier runs have found.
    /// `true` if there is more.
    pub fn take_in_links(&self) -> bool {
        if self.freezing.is_marking() || self.is_congested() {
            return false;
        }
        let tails = self.read_a_tail();
        let mut more = tails;
        for from in 0..self.shared.shards() {
            // Read before the channel: what had been sent by then has come
            // when the channel is empty.
            let sent = self.shared.applied[from].load(Ordering::Acquire);
            for taken in 0.. {
                if taken == BATCHES_AT_A_TIME {
                    more = true;
                    break;
                }
                match self.shared.exchange.receive(from, self.id) {
                    Received::Batch(batch) => {
                        let source = batch.source;
                        self.offer_links(batch);
                        self.has_received(from, source.sequence);
                    }
                    Received::Behind {
                        from: first,
                        through,
                    } => {
                        self.catch_up(from, first, through);
                    }
                    Received::Nothing => {
                        // Where nothing was sent yet, what earlier runs have
                        // settled stands.
                        if sent > 0 {
                            self.has_received(from, sent);
                        }
                        break;
                    }
                }
            }
        }
        more
    }

    fn has_received(&self, from: usize, sequence: u64) {
        let epoch = self.shared.epoch;
        let mut settled = self.admissions.settled.borrow_mut();
        settled.received(from as u16, Mark { epoch, sequence });
    }

    /// Read on in a journal of an earlier run, one group: `true` if there is
    /// more.
    fn read_a_tail(&self) -> bool {
        let mut tails = self.tails.borrow_mut();
        let Some((tail, reader)) = tails.front_mut() else {
            return false;
        };
        let read = reader.read(tail.next, tail.through, |position, visit| {
            if let Some(batch) = self.batches_here(position, visit) {
                self.shared.pending.add(1);
                self.offer_links(batch);
            }
        });
        match read {
            // Nothing stands there any more: a takedown may have removed it.
            Ok(reached) if reached < tail.next => tail.next = tail.through + 1,
            Ok(reached) => tail.next = reached + 1,
            Err(error) => {
                self.fail(&error.to_string());
                return false;
            }
        }
        if tail.next > tail.through {
            let before = Mark {
                epoch: 0,
                sequence: tail.from,
            };
            let mut settled = self.admissions.settled.borrow_mut();
            settled.close(tail.journal, before);
            settled.received(tail.journal, tail.end);
            drop(settled);
            tails.pop_front();
            self.shared.pending.done(1);
        }
        !tails.is_empty()
    }

    /// Read a sender's journal over the messages that found no room: one
    /// group at a time, so that the other work goes on in between.
    fn catch_up(&self, from: usize, first: u64, through: u64) {
        let shared = &self.shared;
        let mut catching_up = self.catching_up.borrow_mut();
        let reader = catching_up.entry(from).or_insert_with(|| {
            CatchUp::new(
                Arc::clone(&shared.disk),
                &shared.journal_folder,
                from as u16,
            )
        });
        let read = reader.read(first, through, |position, visit| {
            // The sender has counted them as work.
            if let Some(batch) = self.batches_here(position, visit) {
                self.offer_links(batch);
            }
        });
        match read {
            Ok(reached) => {
                self.has_received(from, reached);
                shared.exchange.caught_up(from, self.id, reached);
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// The links of a recorded visit that belong here.
    fn batches_here(&self, position: Position, visit: &Visit) -> Option<LinkBatch> {
        let (print, shards) = (&self.shared.print, self.shared.shards());
        let batches = batches_of(visit, offered_by(visit), position, print, shards);
        let mine = batches.into_iter().find(|(owner, _)| *owner == self.id);
        mine.map(|(_, batch)| batch)
    }
}
