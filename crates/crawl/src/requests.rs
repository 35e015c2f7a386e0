//! The requests of a turn, and the connection that they share.

use std::net::IpAddr;

use rhumb_fetch::{Connection, Document, Failure, Fetcher};
use rhumb_frontier::Turn;
use rhumb_url::Url;

use crate::seat::{HeldSeat, NoSeat};
use crate::shard::Shard;

/// The visits of one turn and the connection they share.
pub struct Visits<'a> {
    pub shard: &'a Shard,
    /// Those of the name that are tried, in order.
    addresses: &'a [IpAddr],
    /// Where to begin among them.
    first: usize,
    /// At the address that the connection leads to, or that is tried.
    pub seat: HeldSeat<'a>,
    /// The open connection and the host (scheme, name, port) it leads to.
    connection: Option<(u64, Connection)>,
}

/// Why a request brought no document.
pub enum Unanswered {
    Failed(Failure),
    /// It did not go out: the next address to try has no room.
    NoSeat(NoSeat),
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        Unanswered::Failed(failure)
    }
}

impl From<NoSeat> for Unanswered {
    fn from(none: NoSeat) -> Unanswered {
        Unanswered::NoSeat(none)
    }
}

/// Those addresses of a name that are tried.
pub fn tried(addresses: &[IpAddr]) -> &[IpAddr] {
    &addresses[..addresses.len().min(Fetcher::MAX_TRIES)]
}

/// Where to begin among the addresses of a name: where a connection is open.
pub fn best_address(shard: &Shard, url: &Url, addresses: &[IpAddr]) -> usize {
    let host = shard.shared.print.host(url);
    let parked = shard.parked.borrow();
    let open = parked.get(&host).map(|(open, _)| open.remote().ip());
    let place = open.and_then(|open| addresses.iter().position(|known| *known == open));
    place.unwrap_or(0)
}

impl<'a> Visits<'a> {
    /// Over these addresses, from this one on.
    pub fn new(
        shard: &'a Shard,
        addresses: &'a [IpAddr],
        first: usize,
        seat: HeldSeat<'a>,
    ) -> Visits<'a> {
        Visits {
            shard,
            addresses,
            first,
            seat,
            connection: None,
        }
    }

    /// One request on the connection at hand, or on a fresh one. A robots.txt
    /// is read whatever type it claims to be.
    pub async fn get(
        &mut self,
        turn: &Turn,
        url: &Url,
        any_type: bool,
    ) -> Result<Document, Unanswered> {
        let host = self.shard.shared.print.host(url);
        if let Some(mut connection) = self.kept_connection(host)
            && self.seat.at() == Some(connection.remote().ip())
            && connection.is_still_open().await
        {
            // If the server closes instead of answering, the request may have
            // reached it: asking again is another visit, after the delay.
            return Ok(self.get_on(turn, connection, url, any_type).await?);
        }
        let connection = self.connect(url).await?;
        Ok(self.get_on(turn, connection, url, any_type).await?)
    }

    /// Try the addresses in turn, each from a seat of its own. When none
    /// answers, the first one's failure is told.
    async fn connect(&mut self, url: &Url) -> Result<Connection, Unanswered> {
        let mut failure = None;
        let from = std::mem::take(&mut self.first);
        for (at, address) in self.addresses.iter().enumerate().skip(from) {
            self.seat.move_to(*address)?;
            match self.shard.fetcher.connect_to(url, *address).await {
                Ok(connection) => {
                    self.first = at;
                    return Ok(connection);
                }
                Err(reason) if !reason.is_of_one_address() => return Err(reason.into()),
                Err(reason) => failure.get_or_insert(reason),
            };
        }
        Err(failure.unwrap_or(Failure::NoSuchName).into())
    }

    async fn wait_to_send(&self, turn: &Turn) {
        let now = self.shard.now();
        let at = self.shard.shared.throttle.reserve(now);
        if at > now {
            tokio::time::sleep(at - now).await;
        }
        loop {
            let now = self.shard.now();
            let asked = self.shard.frontier.borrow_mut().may_send(turn, now);
            match asked {
                Ok(()) => return,
                Err(at) => tokio::time::sleep(at.saturating_sub(now)).await,
            }
        }
    }

    async fn get_on(
        &mut self,
        turn: &Turn,
        mut connection: Connection,
        url: &Url,
        any_type: bool,
    ) -> Result<Document, Failure> {
        self.wait_to_send(turn).await;
        let (began, before) = (self.shard.now(), connection.received());
        let got = match any_type {
            true => connection.get_of_any_type(url).await,
            false => connection.get(url, None).await,
        };
        let took = self.shard.now().saturating_sub(began);
        self.shard.frontier.borrow_mut().note_answer(turn, took);
        let received = connection.received() - before;
        self.shard.shared.byte_budget.add(received);
        let now = self.shard.now();
        self.shard.shared.throttle.received(received, now);
        let told = got
            .as_ref()
            .map_or(0, |document| document.wire.len() as u64);
        let untold = received.saturating_sub(told);
        self.shard.leave_to_next_record(untold);
        let document = got?;
        if connection.reusable() {
            let host = self.shard.shared.print.host(url);
            self.connection = Some((host, connection));
        }
        Ok(document)
    }

    fn kept_connection(&mut self, host: u64) -> Option<Connection> {
        if let Some((kept, connection)) = self.connection.take()
            && kept == host
        {
            return Some(connection);
        }
        let (connection, since) = self.shard.parked.borrow_mut().remove(&host)?;
        let fresh = self.shard.now() < since + self.shard.shared.config.keep_alive;
        fresh.then_some(connection)
    }

    /// Keep the connection for the lane's next turn, if there will be one
    /// soon and there is room.
    pub fn park(&mut self, turn: &Turn) {
        let shard = self.shard;
        let Some((host, connection)) = self.connection.take() else {
            return;
        };
        let soon = shard.shared.config.delay < shard.shared.config.keep_alive;
        let wanted = shard.frontier.borrow().has_more(turn);
        let now = shard.now();
        let mut parked = shard.parked.borrow_mut();
        let room = shard.room_to_park();
        if parked.len() >= room {
            let keep_alive = shard.shared.config.keep_alive;
            parked.retain(|_, (_, since)| now < *since + keep_alive);
        }
        if soon && wanted && parked.len() < room {
            parked.insert(host, (connection, now));
        }
    }
}
