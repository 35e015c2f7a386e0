//! A list of what waits, read in pieces while URLs come and go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rhumb_frontier::{Frontier, LaneId, Limits, Order, Pace, Place, Queued};
use rhumb_store::Timestamp;
use rhumb_store::runs::MemoryTable;
use rhumb_url::{Url, UrlKey};

/// A small generator: the same numbers for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn frontier(order: Order) -> Frontier {
    let pace = Pace {
        delay: Duration::ZERO,
        ..Pace::default()
    };
    let (queue, rows) = (MemoryTable::new(), MemoryTable::new());
    Frontier::new(
        order,
        pace,
        Limits::default(),
        Box::new(queue),
        Box::new(rows),
        Timestamp(0),
    )
}

fn admit(frontier: &mut Frontier, chance: &mut Chance, page: u64) -> Queued {
    let (host, depth) = (chance.below(7), chance.below(300) as u32);
    let sequence = frontier.reserve(1);
    let key = UrlKey {
        lane: host,
        url: page,
    };
    let item = Queued {
        key,
        place: frontier.order().place(depth, sequence),
        url: Url::parse(&format!("http://h{host}.test/{page}")).unwrap(),
        depth,
        redirects: 0,
        attempts: 0,
        via: Arc::from(""),
    };
    frontier.admit(item.clone());
    item
}

#[test]
fn what_waits_all_the_while_is_listed_once() {
    for (seed, order) in [(1, Order::Bfs), (2, Order::Dfs), (3, Order::Bfs)] {
        let chance = &mut Chance(seed);
        let mut frontier = frontier(order);
        let mut pages = 0..;
        let mut next = || pages.next().unwrap();
        let mut waiting: Vec<Queued> = (0..500)
            .map(|_| admit(&mut frontier, chance, next()))
            .collect();
        let mut came = BTreeSet::new();
        let mut listed: Vec<String> = Vec::new();
        let mut behind: Option<(LaneId, Place)> = None;
        loop {
            let most = 1 + chance.below(20) as usize;
            let (from, mut piece) = (behind, Vec::new());
            let mut take = |item: Queued| {
                behind = Some((LaneId(item.key.lane), item.place));
                piece.push(item.url.to_string());
                piece.len() < most
            };
            match from {
                None => frontier.waiting(&mut take).unwrap(),
                Some((lane, place)) => {
                    frontier.waiting_behind(lane, place, &mut take).unwrap();
                }
            }
            if piece.is_empty() {
                break;
            }
            listed.extend(piece);
            for _ in 0..chance.below(5) {
                if !waiting.is_empty() {
                    let gone = waiting.swap_remove(chance.below(waiting.len() as u64) as usize);
                    frontier.forget(LaneId(gone.key.lane), gone.place);
                    came.insert(gone.url.to_string());
                }
                let new = admit(&mut frontier, chance, next());
                came.insert(new.url.to_string());
            }
        }
        let set: BTreeSet<String> = listed.iter().cloned().collect();
        assert_eq!(set.len(), listed.len(), "some are listed twice");
        let waited: BTreeSet<String> = waiting.iter().map(|item| item.url.to_string()).collect();
        assert!(waited.is_subset(&set), "some are not listed");
        assert!(set.is_subset(&(&waited | &came)), "some never waited");
    }
}
