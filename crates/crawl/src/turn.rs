//! A turn: the visits to one host name, over one connection, between *take*
//! and *put back*.

use std::net::IpAddr;
use std::time::Duration;

use rhumb_fetch::{Document, Failure};
use rhumb_frontier::{Queued, Seat, Turn, Waiter};
use rhumb_robots::Rules;
use rhumb_store::{HostEvent, Outcome, Record, State};
use rhumb_url::Url;

use crate::door::Follow;
use crate::recover::lane_of;
use crate::requests::{Unanswered, Visits, best_address, tried};
use crate::robots::{Robots, meaning};
use crate::seat::{HeldSeat, NoSeat};
use crate::shard::Shard;
use crate::unfetched::{
    Wanted, asked_rest, back_off, count_retry, fail, note_rest, refuse, refuse_all, release_page,
};
use crate::visit::record;

/// What a visit leaves for the rest of its turn.
pub enum Next {
    /// The next URL may follow at once, as far as the turn goes.
    GoOn,
    /// The lane rests until this time.
    Rest(Duration),
    /// The lane waits for a seat at another address of its name.
    NoSeat(NoSeat),
}

/// When to look again whether another turn has brought a robots.txt.
const ROBOTS_AWAITED: Duration = Duration::from_millis(50);

/// Carry out a turn.
pub async fn run(shard: &Shard, mut turn: Turn) {
    let handed_over = turn.seat.take();
    let Some(first) = pop(shard, &turn) else {
        if let Some(address) = handed_over {
            shard.give_up_seat(address);
        }
        return put_back(shard, turn, Duration::ZERO);
    };
    let given_up = shard.given_up(turn.lane());
    if let Some(reason) = given_up {
        if let Some(address) = handed_over {
            shard.give_up_seat(address);
        }
        refuse_all(shard, &turn, first, &reason).await;
        return put_back(shard, turn, Duration::ZERO);
    }
    let resolved = shard.resolver.resolve(first.url.name()).await;
    let addresses = match resolved {
        Ok(addresses) if !addresses.is_empty() => addresses,
        other => {
            if let Some(address) = handed_over {
                shard.give_up_seat(address);
            }
            let failure = other.err().unwrap_or(Failure::NoSuchName);
            let time = shard.shared.clock.wall();
            let next = fail(shard, &turn, first, Wanted::Page, &failure, time).await;
            return end(shard, turn, &next);
        }
    };
    let addresses = tried(&addresses);
    let place = |seat: IpAddr| addresses.iter().position(|known| *known == seat);
    let start = match handed_over.map(|seat| (seat, place(seat))) {
        // The addresses before it were tried when the lane came to wait.
        Some((_, Some(start))) => start,
        other => {
            if let Some((seat, _)) = other {
                shard.give_up_seat(seat);
            }
            let start = best_address(shard, &first.url, addresses);
            let waiter = Waiter {
                shard: shard.id,
                lane: turn.lane(),
            };
            let bench = &shard.shared.addresses;
            match bench.take(addresses[start], waiter, shard.now()) {
                Seat::Taken => start,
                Seat::Waits => {
                    give_back(shard, first);
                    return shard.frontier.borrow_mut().wait_for_address(turn);
                }
                Seat::Later(at) => {
                    give_back(shard, first);
                    return put_back(shard, turn, at);
                }
            }
        }
    };
    let seat = HeldSeat::taken(shard, turn.lane(), addresses[start]);
    let mut visits = Visits::new(shard, addresses, start, seat);
    let next = visits.run(&mut turn, first).await;
    visits.park(&turn);
    drop(visits);
    end(shard, turn, &next);
}

/// End a turn as its last visit says.
fn end(shard: &Shard, turn: Turn, next: &Next) {
    match *next {
        Next::GoOn => put_back(shard, turn, Duration::ZERO),
        Next::Rest(until) => put_back(shard, turn, until),
        Next::NoSeat(NoSeat::Busy) => {
            let again = shard.now() + shard.shared.config.retry_delay;
            put_back(shard, turn, again);
        }
        Next::NoSeat(NoSeat::Waits) => shard.frontier.borrow_mut().wait_for_address(turn),
        Next::NoSeat(NoSeat::Later { address, from }) => {
            let lane = turn.lane();
            shard.frontier.borrow_mut().wait_for_address(turn);
            shard.take_seat(lane, address, from);
        }
    }
}

pub fn pop(shard: &Shard, turn: &Turn) -> Option<Queued> {
    let popped = shard.frontier.borrow_mut().pop(turn);
    popped.unwrap_or_else(|error| {
        shard.fail(&error.to_string());
        None
    })
}

/// The URL was not visited after all.
pub fn give_back(shard: &Shard, item: Queued) {
    shard.frontier.borrow_mut().give_back(item);
}

fn put_back(shard: &Shard, turn: Turn, earliest: Duration) {
    let now = shard.now();
    shard.frontier.borrow_mut().put_back(turn, now, earliest);
}

impl Visits<'_> {
    /// Visit until the turn is spent or the lane is empty; says when the
    /// lane's next turn may begin.
    async fn run(&mut self, turn: &mut Turn, first: Queued) -> Next {
        let shard = self.shard;
        let mut next = Some(first);
        loop {
            let Some(item) = next.take().or_else(|| pop(shard, turn)) else {
                return Next::GoOn;
            };
            let given_up = shard.given_up(turn.lane());
            let ends = shard.shared.control.holds() || shard.shared.byte_budget.is_spent();
            if given_up.is_some() || turn.is_spent() || ends {
                give_back(shard, item);
                return Next::GoOn;
            }
            let after = match self.robots_of(&item.url) {
                Some(Robots::Rules(rules)) => {
                    self.heed_delay(turn, &rules);
                    match disallowed(&rules, &item.url) {
                        Some(line) => {
                            refuse(shard, item, Outcome::Robots, line).await;
                            Next::GoOn
                        }
                        None => self.visit(turn, item).await,
                    }
                }
                Some(Robots::Unreachable { why }) => {
                    refuse(shard, item, Outcome::RobotsUnreachable, why).await;
                    Next::GoOn
                }
                Some(Robots::Elsewhere { url, hops }) => {
                    self.robots_once(turn, item, &url, hops).await
                }
                None => match item.url.join("/robots.txt") {
                    Ok(url) => self.robots_once(turn, item, &url, 0).await,
                    Err(why) => {
                        refuse(shard, item, Outcome::RobotsUnreachable, why.to_string()).await;
                        Next::GoOn
                    }
                },
            };
            if !matches!(after, Next::GoOn) {
                return after;
            }
        }
    }

    fn robots_of(&self, url: &Url) -> Option<Robots> {
        self.shard.robots_of(url)
    }

    /// Where several turns of a host are under way, one asks for its
    /// robots.txt and the others come again.
    async fn robots_once(&mut self, turn: &mut Turn, item: Queued, url: &Url, hops: u32) -> Next {
        let shard = self.shard;
        let host = shard.shared.print.host(&item.url);
        if !shard.robots_awaited.borrow_mut().insert(host) {
            give_back(shard, item);
            return Next::Rest(shard.now() + ROBOTS_AWAITED);
        }
        let next = self.fetch_robots(turn, item, url, hops).await;
        shard.robots_awaited.borrow_mut().remove(&host);
        next
    }

    /// Ask for a host's robots.txt: a visit of the turn like any other. The
    /// URL that needs it goes back into the queue meanwhile.
    async fn fetch_robots(&mut self, turn: &mut Turn, item: Queued, url: &Url, hops: u32) -> Next {
        let shard = self.shard;
        let time = shard.shared.clock.wall();
        let got = if url.name() == item.url.name() {
            turn.spend();
            self.get(turn, url, true).await
        } else {
            match get_elsewhere(shard, url, self.seat.at()).await {
                Ok(got) => got,
                Err(busy_until) => {
                    give_back(shard, item);
                    return Next::Rest(busy_until);
                }
            }
        };
        match got {
            Err(Unanswered::NoSeat(none)) => {
                give_back(shard, item);
                Next::NoSeat(none)
            }
            Err(Unanswered::Failed(failure)) => {
                fail(shard, turn, item, Wanted::Robots, &failure, time).await
            }
            Ok(document) => {
                let robots = meaning(&document, &shard.shared.agent_token, hops);
                let row = robots.to_row(&document, time);
                let (delay, detail) = match &robots {
                    Robots::Rules(rules) => (shard.own_delay(rules), String::new()),
                    Robots::Unreachable { why } => (Duration::ZERO, why.clone()),
                    Robots::Elsewhere { .. } => (Duration::ZERO, String::new()),
                };
                if let Robots::Rules(rules) = &robots
                    && self.heed_delay(turn, rules)
                {
                    turn.end();
                }
                let kept = shard.keep_robots(&item.url, robots, row.as_ref(), time);
                let wanted_by = item.url.clone();
                give_back(shard, item);
                let kept = match kept {
                    Ok(kept) => kept,
                    Err(error) => {
                        shard.fail(&error.to_string());
                        return Next::Rest(Duration::ZERO);
                    }
                };
                let event = HostEvent {
                    host: wanted_by.origin().to_owned(),
                    time,
                    event: HostEvent::ROBOTS.to_owned(),
                    detail: match detail.is_empty() {
                        true => format!("status {}", document.status),
                        false => detail,
                    },
                    delay,
                    status: row.as_ref().map_or(0, |row| row.status),
                    body: row.map_or(Vec::new(), |row| row.body),
                    bytes: document.wire.len() as u64,
                    failures: kept.failures,
                    ..HostEvent::default()
                };
                shard.count_robots(event.bytes);
                shard.committer.record(Record::HostEvent(event));
                if !kept.asks_again {
                    return Next::GoOn;
                }
                // Asked again later, whichever URL needs it then.
                count_retry(shard);
                let rest = asked_rest(shard, &document, time).unwrap_or_default();
                note_rest(shard, &wanted_by, document.status, rest);
                Next::Rest(shard.now() + rest.max(back_off(shard, kept.failures)))
            }
        }
    }

    /// A host may ask for more time between visits than is configured.
    /// Says whether it does.
    fn heed_delay(&self, turn: &mut Turn, rules: &Rules) -> bool {
        let delay = self.shard.own_delay(rules);
        if delay.is_zero() {
            return false;
        }
        self.shard.frontier.borrow_mut().set_own_delay(turn, delay);
        true
    }

    /// Fetch a page and hand it to the commit.
    async fn visit(&mut self, turn: &mut Turn, mut item: Queued) -> Next {
        let shard = self.shard;
        if !shard.shared.budget.reserve() {
            give_back(shard, item);
            return Next::Rest(Duration::ZERO);
        }
        turn.spend();
        let time = shard.shared.clock.wall();
        let document = match self.get(turn, &item.url, false).await {
            Ok(document) => document,
            Err(Unanswered::NoSeat(none)) => {
                release_page(shard);
                give_back(shard, item);
                return Next::NoSeat(none);
            }
            Err(Unanswered::Failed(failure)) => {
                release_page(shard);
                return fail(shard, turn, item, Wanted::Page, &failure, time).await;
            }
        };
        shard.frontier.borrow_mut().note_failure(turn.lane(), false);
        let rest = asked_rest(shard, &document, time);
        note_rest(shard, &item.url, document.status, rest.unwrap_or_default());
        if let Some(rest) = rest
            && (item.attempts as usize) < shard.shared.config.retries
        {
            release_page(shard);
            shard.leave_to_next_record(document.wire.len() as u64);
            item.attempts += 1;
            count_retry(shard);
            let wait = rest.max(back_off(shard, item.attempts));
            give_back(shard, item);
            return Next::Rest(shard.now() + wait);
        }
        let (mut visit, capture, offered) = match record(shard, &item, document, time) {
            Ok(recorded) => recorded,
            Err(error) => {
                shard.fail(&error.to_string());
                give_back(shard, item);
                return Next::Rest(Duration::ZERO);
            }
        };
        if visit.outcome.state() != State::Fetched {
            release_page(shard);
        }
        let key = item.key;
        let follow = Follow { key, offered };
        visit.other_bytes = shard.take_unrecorded();
        shard.committer.visit(visit, capture, follow).await;
        rest.map_or(Next::GoOn, |rest| Next::Rest(shard.now() + rest))
    }
}

/// One request to another name of the site, in that name's own turn. The
/// error says when that name may be free. At the address where the caller has
/// a seat it takes that.
async fn get_elsewhere(
    shard: &Shard,
    url: &Url,
    seat: Option<IpAddr>,
) -> Result<Result<Document, Unanswered>, Duration> {
    let lane = lane_of(&shard.shared.print, url);
    let again = || shard.now() + shard.shared.config.retry_delay;
    let taken = shard.frontier.borrow_mut().take_this(lane, shard.now());
    let turn = taken.unwrap_or_else(|error| {
        shard.fail(&error.to_string());
        Err(again())
    })?;
    let resolved = shard.resolver.resolve(url.name()).await;
    let got = match resolved {
        Err(failure) => Err(failure.into()),
        Ok(addresses) if addresses.is_empty() => Err(Failure::NoSuchName.into()),
        Ok(addresses) => {
            let addresses = tried(&addresses);
            let start = best_address(shard, url, addresses);
            let seat = HeldSeat::beside(shard, seat);
            let mut visits = Visits::new(shard, addresses, start, seat);
            match visits.seat.move_to(addresses[start]) {
                Ok(()) => visits.get(&turn, url, true).await,
                Err(none) => Err(none.into()),
            }
        }
    };
    put_back(shard, turn, Duration::ZERO);
    match got {
        Err(Unanswered::NoSeat(_)) => Err(again()),
        got => Ok(got),
    }
}

/// The deciding line, if the rules forbid the URL.
fn disallowed(rules: &Rules, url: &Url) -> Option<String> {
    let verdict = rules.check(url.path_and_query());
    if verdict.allowed {
        return None;
    }
    let rule = verdict.rule.unwrap_or("everything is disallowed");
    Some(match verdict.line {
        Some(line) => format!("robots.txt line {line}: {rule}"),
        None => format!("robots.txt: {rule}"),
    })
}
