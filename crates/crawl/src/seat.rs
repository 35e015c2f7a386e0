//! The seat of a turn: at the address that it really talks to, whichever of
//! its name's addresses that is.

use std::net::IpAddr;
use std::time::Duration;

use rhumb_frontier::{LaneId, Reserved, Waiter, network_of};

use crate::shard::Shard;

/// A seat that a turn holds. It is given up when this is dropped.
pub struct HeldSeat<'a> {
    shard: &'a Shard,
    at: Option<IpAddr>,
    /// The seat of somebody else, who lets us use it: to want a second there
    /// while others wait for the first would be to wait for oneself.
    lent: Option<IpAddr>,
    /// Who stands in a row for us; without one there is no waiting.
    waiter: Option<Waiter>,
}

/// Why a turn cannot go on at the next address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSeat {
    /// The lane stands in the address's row.
    Waits,
    /// The lane has a seat there, for use from this time on.
    Later { address: IpAddr, from: Duration },
    /// None is free, and nobody waits for one.
    Busy,
}

impl<'a> HeldSeat<'a> {
    /// The seat that a lane's turn has taken.
    pub fn taken(shard: &'a Shard, lane: LaneId, address: IpAddr) -> HeldSeat<'a> {
        HeldSeat {
            shard,
            at: Some(address),
            lent: None,
            waiter: Some(Waiter {
                shard: shard.id,
                lane,
            }),
        }
    }

    /// No seat yet, but for the one that somebody lends.
    pub fn beside(shard: &'a Shard, lent: Option<IpAddr>) -> HeldSeat<'a> {
        HeldSeat {
            shard,
            at: None,
            lent,
            waiter: None,
        }
    }

    pub fn at(&self) -> Option<IpAddr> {
        self.at
    }

    /// Give the seat up for one at this address.
    pub fn move_to(&mut self, address: IpAddr) -> Result<(), NoSeat> {
        if self.at == Some(address) {
            return Ok(());
        }
        self.leave();
        if self.lent.map(network_of) != Some(network_of(address)) {
            self.take(address)?;
        }
        self.at = Some(address);
        Ok(())
    }

    fn take(&self, address: IpAddr) -> Result<(), NoSeat> {
        let (bench, now) = (&self.shard.shared.addresses, self.shard.now());
        let Some(waiter) = self.waiter else {
            let free = bench.try_take(address, now);
            return free.then_some(()).ok_or(NoSeat::Busy);
        };
        match bench.reserve(address, waiter, now) {
            Reserved::From(from) if from <= now => Ok(()),
            Reserved::From(from) => Err(NoSeat::Later { address, from }),
            Reserved::Waits => Err(NoSeat::Waits),
        }
    }

    fn leave(&mut self) {
        let left = self.at.take();
        if let Some(address) = left.filter(|at| self.lent.map(network_of) != Some(network_of(*at)))
        {
            self.shard.give_up_seat(address);
        }
    }
}

impl Drop for HeldSeat<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
