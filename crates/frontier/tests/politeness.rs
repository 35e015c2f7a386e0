//! Politeness proved without sleeping: simulated time, every rule at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rhumb_frontier::{Frontier, LaneId, Limits, Order, Pace, Place, Queued, Turn};
use rhumb_store::Timestamp;
use rhumb_store::runs::MemoryTable;
use rhumb_url::{Url, UrlKey};

fn item(host: u64, page: u64, depth: u32) -> Queued {
    Queued {
        key: UrlKey {
            lane: host,
            url: page,
        },
        place: Place::default(),
        url: Url::parse(&format!("http://h{host}.test/{page}")).unwrap(),
        depth,
        redirects: 0,
        attempts: 0,
        via: Arc::from(""),
    }
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn frontier_within(order: Order, per_host: usize, delay: Duration, limits: Limits) -> Frontier {
    Frontier::new(
        order,
        Pace {
            per_host,
            delay,
            visits_per_turn: 10,
            rest_factor: 5,
            most_rest: Duration::from_secs(3),
        },
        limits,
        Box::new(MemoryTable::new()),
        Box::new(MemoryTable::new()),
        Timestamp(0),
    )
}

fn frontier(order: Order, per_host: usize, delay: Duration) -> Frontier {
    frontier_within(order, per_host, delay, Limits::default())
}

fn admit(frontier: &mut Frontier, mut item: Queued) {
    let sequence = frontier.reserve(1);
    item.place = frontier.order().place(item.depth, sequence);
    frontier.admit(item);
}

#[test]
fn a_taken_host_cannot_be_taken_again() {
    let mut frontier = frontier(Order::Bfs, 1, Duration::ZERO);
    admit(&mut frontier, item(1, 1, 0));
    admit(&mut frontier, item(1, 2, 0));
    let turn = frontier.take(millis(0)).unwrap().unwrap();
    assert!(frontier.take(millis(1000)).unwrap().is_none());
    admit(&mut frontier, item(1, 3, 0));
    assert!(frontier.take(millis(1000)).unwrap().is_none());
    frontier.put_back(turn, millis(1000), Duration::ZERO);
    assert!(frontier.take(millis(1000)).unwrap().is_some());
}

#[test]
fn a_long_simulated_crawl_keeps_every_delay_and_visits_everything() {
    for (per_host, delay) in [(1, 0), (1, 100), (2, 100), (3, 7)] {
        // A bench of three, and room for five to wait: all others are found
        // on disk.
        let limits = Limits {
            bench: 3,
            most_bench: 6,
            heads: 12,
            waiting: 5,
        };
        let mut frontier = frontier_within(Order::Bfs, per_host, millis(delay), limits);
        for host in 0..20 {
            for page in 0..=host {
                admit(&mut frontier, item(host, page, 0));
            }
        }
        let mut now = millis(0);
        let mut open: Vec<(Duration, LaneId, Turn)> = Vec::new();
        let mut last_start: HashMap<LaneId, Duration> = HashMap::new();
        let mut last_end: HashMap<LaneId, Duration> = HashMap::new();
        let mut visited = 0;
        let mut random = 12345u64;
        while frontier.queued() > 0 || !open.is_empty() {
            while open.len() < 8 {
                let Some(mut turn) = frontier.take(now).unwrap() else {
                    break;
                };
                let lane = turn.lane();
                if delay > 0 {
                    for seen in [last_start.get(&lane), last_end.get(&lane)] {
                        assert!(seen.is_none_or(|&at| now >= at + millis(delay)));
                    }
                }
                let others = open.iter().filter(|(_, l, _)| *l == lane).count();
                assert!(others < per_host);
                while turn.spend() {
                    let Some(item) = frontier.pop(&turn).unwrap() else {
                        break;
                    };
                    frontier.finish(&item.key);
                    visited += 1;
                }
                assert!(frontier.on_bench() <= limits.most_bench);
                last_start.insert(lane, now);
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                open.push((now + millis(random >> 58), lane, turn));
            }
            now += millis(1);
            for (end, lane, turn) in std::mem::take(&mut open) {
                if end <= now {
                    last_end.insert(lane, now);
                    frontier.put_back(turn, now, Duration::ZERO);
                } else {
                    open.push((end, lane, turn));
                }
            }
        }
        assert_eq!(visited, 210);
    }
}

#[test]
fn a_lane_taken_by_name_is_taken_for_everybody() {
    let mut frontier = frontier(Order::Bfs, 1, millis(10));
    admit(&mut frontier, item(1, 1, 0));
    let turn = frontier.take_this(LaneId(1), millis(0)).unwrap().unwrap();
    assert!(frontier.take(millis(5)).unwrap().is_none());
    assert!(frontier.take_this(LaneId(1), millis(5)).unwrap().is_err());
    frontier.put_back(turn, millis(7), Duration::ZERO);
    assert_eq!(
        frontier
            .take_this(LaneId(1), millis(9))
            .unwrap()
            .unwrap_err(),
        millis(17)
    );
    assert!(frontier.take(millis(16)).unwrap().is_none());
    assert!(frontier.take(millis(17)).unwrap().is_some());
}

#[test]
fn requests_of_several_turns_are_spaced_when_they_are_sent() {
    let mut frontier = frontier(Order::Bfs, 2, millis(40));
    admit(&mut frontier, item(1, 1, 0));
    admit(&mut frontier, item(1, 2, 0));
    let slow = frontier.take(millis(0)).unwrap().unwrap();
    let quick = frontier.take(millis(40)).unwrap().unwrap();
    // The first one's connection took 35 ms.
    assert_eq!(frontier.may_send(&slow, millis(35)), Ok(()));
    assert_eq!(frontier.may_send(&quick, millis(41)), Err(millis(75)));
    assert_eq!(frontier.may_send(&quick, millis(75)), Ok(()));
}

#[test]
fn a_request_that_was_sent_late_holds_the_next_one_back() {
    const DELAY: u64 = 40;
    let mut frontier = frontier(Order::Bfs, 3, millis(DELAY));
    for page in 0..300 {
        admit(&mut frontier, item(1, page, 0));
    }
    let mut random = 987u64;
    let mut upto = |most: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        millis((random >> 33) % most)
    };
    // Turns wake up some time after they asked to, and answers take longer
    // than the delay, so that requests overlap.
    let mut wakes: Vec<(Duration, Turn)> = Vec::new();
    let mut ends: Vec<(Duration, Turn)> = Vec::new();
    let mut sent: Vec<Duration> = Vec::new();
    let mut overlapped = 0;
    for now in (0..30_000).map(millis) {
        if let Some(turn) = frontier.take(now).unwrap() {
            wakes.push((now + upto(30), turn));
        }
        for (at, turn) in std::mem::take(&mut wakes) {
            if at > now {
                wakes.push((at, turn));
                continue;
            }
            match frontier.may_send(&turn, now) {
                Err(again) => wakes.push((again + upto(30), turn)),
                Ok(()) => {
                    let last = sent.last().copied();
                    assert!(last.is_none_or(|last| now >= last + millis(DELAY)));
                    overlapped += usize::from(!ends.is_empty());
                    sent.push(now);
                    if let Some(item) = frontier.pop(&turn).unwrap() {
                        frontier.finish(&item.key);
                    }
                    ends.push((now + upto(200), turn));
                }
            }
        }
        for (at, turn) in std::mem::take(&mut ends) {
            match at <= now {
                true => frontier.put_back(turn, now, Duration::ZERO),
                false => ends.push((at, turn)),
            }
        }
        assert!(wakes.len() + ends.len() <= 3);
    }
    assert!(
        sent.len() > 100 && overlapped > 20,
        "{} sent, {overlapped} overlapped",
        sent.len()
    );
}

#[test]
fn a_turn_is_one_visit_where_there_is_a_delay() {
    let mut frontier = frontier(Order::Bfs, 1, millis(10));
    admit(&mut frontier, item(1, 1, 0));
    let mut turn = frontier.take(millis(0)).unwrap().unwrap();
    assert!(turn.spend());
    assert!(!turn.spend());
}

#[test]
fn breadth_and_depth_first() {
    for (order, expected) in [(Order::Bfs, [1, 3, 2, 4]), (Order::Dfs, [4, 3, 2, 1])] {
        let mut frontier = frontier(order, 1, Duration::ZERO);
        for (page, depth) in [(1, 0), (2, 2), (3, 1), (4, 2)] {
            admit(&mut frontier, item(1, page, depth));
        }
        let turn = frontier.take(millis(0)).unwrap().unwrap();
        for page in expected {
            let popped = frontier.pop(&turn).unwrap().unwrap();
            assert_eq!(popped.url.path(), format!("/{page}"));
        }
    }
}

#[test]
fn hosts_without_work_are_forgotten_after_their_delay() {
    let mut frontier = frontier(Order::Bfs, 1, millis(50));
    admit(&mut frontier, item(1, 1, 0));
    let turn = frontier.take(millis(0)).unwrap().unwrap();
    drop(frontier.pop(&turn).unwrap());
    frontier.put_back(turn, millis(10), Duration::ZERO);
    admit(&mut frontier, item(1, 2, 0));
    assert!(
        frontier.take(millis(59)).unwrap().is_none(),
        "the delay is kept"
    );
    let turn = frontier.take(millis(60)).unwrap().unwrap();
    drop(frontier.pop(&turn).unwrap());
    frontier.put_back(turn, millis(60), Duration::ZERO);
    assert!(frontier.take(millis(1000)).unwrap().is_none());
    assert_eq!(frontier.on_bench(), 0);
}

/// Lanes come and go on a bench of two, and go on where they were: URLs that
/// belong before that place, new or given back, must not be passed over.
#[test]
fn whatever_comes_late_or_comes_back_is_visited_once() {
    for (seed, order) in (1..40u64).flat_map(|s| [(s, Order::Bfs), (s, Order::Dfs)]) {
        let limits = Limits {
            bench: 2,
            most_bench: 2,
            heads: 8,
            waiting: [3, 100][seed as usize % 2],
        };
        let mut frontier = frontier_within(order, 1, Duration::ZERO, limits);
        let mut random = seed;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (random >> 33) % end
        };
        let mut visits: HashMap<UrlKey, usize> = HashMap::new();
        let mut out: Vec<Queued> = Vec::new();
        let (mut page, mut rounds) = (0, 0);
        loop {
            rounds += 1;
            assert!(rounds < 10_000, "seed {seed}: something is never visited");
            let more = page < 400;
            for _ in 0..if more { below(6) } else { 0 } {
                page += 1;
                let item = item(below(5), page, below(4) as u32 * 100);
                visits.insert(item.key, 0);
                admit(&mut frontier, item);
            }
            if let Some(mut turn) = frontier.take(millis(page)).unwrap() {
                while below(8) > 0
                    && turn.spend()
                    && let Some(item) = frontier.pop(&turn).unwrap()
                {
                    out.push(item);
                }
                frontier.put_back(turn, millis(page), Duration::ZERO);
            }
            // Committed, or given back, long after the lane was put back.
            while out.len() > if more { 12 } else { 0 } {
                let item = out.swap_remove(below(out.len() as u64) as usize);
                match below(4) {
                    0 => frontier.give_back(item),
                    _ => {
                        *visits.get_mut(&item.key).unwrap() += 1;
                        frontier.finish(&item.key);
                    }
                }
            }
            if !more && frontier.queued() == 0 {
                break;
            }
        }
        assert!(visits.values().all(|visits| *visits == 1), "seed {seed}");
    }
}

#[test]
fn a_slow_server_rests_for_longer_within_limits() {
    let mut frontier = frontier(Order::Bfs, 1, millis(100));
    for page in 0..5 {
        admit(&mut frontier, item(1, page, 0));
    }
    // How long the answer takes, and the rest that follows.
    let mut now = 0;
    for (answer, rest) in [(10, 100), (300, 1500), (10_000, 3000), (20, 100)] {
        let turn = frontier.take(millis(now)).unwrap().unwrap();
        let item = frontier.pop(&turn).unwrap().unwrap();
        frontier.finish(&item.key);
        frontier.note_answer(&turn, millis(answer));
        now += answer;
        frontier.put_back(turn, millis(now), Duration::ZERO);
        assert!(frontier.take(millis(now + rest - 1)).unwrap().is_none());
        now += rest;
    }
    assert!(frontier.take(millis(now)).unwrap().is_some());
}

#[test]
fn without_a_delay_no_server_rests() {
    let mut frontier = frontier(Order::Bfs, 1, Duration::ZERO);
    admit(&mut frontier, item(1, 1, 0));
    admit(&mut frontier, item(1, 2, 0));
    let turn = frontier.take(millis(0)).unwrap().unwrap();
    frontier.note_answer(&turn, millis(10_000));
    frontier.put_back(turn, millis(0), Duration::ZERO);
    assert!(frontier.take(millis(0)).unwrap().is_some());
}

#[test]
fn what_the_journal_says_of_a_slow_answer_is_heeded() {
    let mut frontier = frontier(Order::Bfs, 1, millis(100));
    admit(&mut frontier, item(1, 1, 0));
    let end = Timestamp(2_000_000);
    frontier
        .restore_answer(LaneId(1), end, millis(400))
        .unwrap();
    frontier.resume(millis(2100), millis(100));
    assert!(frontier.take(millis(3999)).unwrap().is_none());
    assert!(frontier.take(millis(4000)).unwrap().is_some());
}

/// Each of its turns has waited, but a lane has room for one seat: a second
/// must go to others, or nobody would ever give it up.
#[test]
fn a_lane_takes_one_seat_however_many_of_its_turns_waited() {
    let mut frontier = frontier(Order::Bfs, 2, Duration::ZERO);
    admit(&mut frontier, item(1, 1, 0));
    admit(&mut frontier, item(1, 2, 0));
    let (one, two) = (frontier.take(millis(0)), frontier.take(millis(0)));
    let seat = IpAddr::from([127, 0, 0, 1]);
    frontier.wait_for_address(one.unwrap().unwrap());
    assert!(frontier.wake(LaneId(1), seat, millis(0)));
    frontier.wait_for_address(two.unwrap().unwrap());
    assert!(!frontier.wake(LaneId(1), seat, millis(0)));
    let turn = frontier.take(millis(0)).unwrap().unwrap();
    assert_eq!(turn.seat, Some(seat));
}

#[test]
fn a_host_that_was_given_up_is_open_again_with_a_url_to_be_tried_again() {
    for case in ["at hand", "on disk"] {
        let mut frontier = frontier(Order::Bfs, 1, Duration::ZERO);
        admit(&mut frontier, item(1, 1, 0));
        let turn = frontier.take(millis(0)).unwrap().unwrap();
        let failed = frontier.pop(&turn).unwrap().unwrap();
        frontier.note_failure(LaneId(1), true);
        frontier.give_up(LaneId(1), "no answer");
        frontier.finish(&failed.key);
        frontier.put_back(turn, millis(0), Duration::ZERO);
        if case == "on disk" {
            assert!(frontier.take(millis(1)).unwrap().is_none());
            assert_eq!(frontier.on_bench(), 0);
        }
        let mut again = item(1, 1, 0);
        let sequence = frontier.reserve(1);
        again.place = frontier.order().place(0, sequence);
        let place = again.place;
        frontier.admit_again(again, 0).unwrap();
        assert_eq!(frontier.counts().entries, 1, "{case}");
        let turn = frontier.take(millis(2)).unwrap().unwrap();
        assert_eq!(frontier.given_up(LaneId(1)), None, "{case}");
        let popped = frontier.pop(&turn).unwrap().unwrap();
        assert_eq!(popped.place, place, "{case}");
        assert!(frontier.pop(&turn).unwrap().is_none(), "{case}");
        assert_eq!(frontier.note_failure(LaneId(1), true), 1, "{case}");
    }
}
