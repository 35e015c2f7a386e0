//! The requests of a turn, and the connection that they share.

use std::net::IpAddr;

use rhumb_fetch::{Connection, Document, Failure};
use rhumb_frontier::Turn;
use rhumb_url::Url;

use crate::shard::Shard;

/// The visits of one turn and the connection they share.
pub struct Visits<'a> {
    pub shard: &'a Shard,
    pub addresses: &'a [IpAddr],
    /// The open connection and the host (scheme, name, port) it leads to.
    pub connection: Option<(u64, Connection)>,
}

impl Visits<'_> {
    /// One request on the connection at hand, or on a fresh one. A robots.txt
    /// is read whatever type it claims to be.
    pub async fn get(
        &mut self,
        turn: &Turn,
        url: &Url,
        any_type: bool,
    ) -> Result<Document, Failure> {
        let host = self.shard.shared.print.host(url);
        if let Some(mut connection) = self.kept_connection(host)
            && connection.is_still_open().await
        {
            // If the server closes instead of answering, the request may have
            // reached it: asking again is another visit, after the delay.
            return self.get_on(turn, connection, url, any_type).await;
        }
        let connection = self.shard.fetcher.connect(url, self.addresses).await?;
        self.get_on(turn, connection, url, any_type).await
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
