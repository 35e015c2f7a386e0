//! What is remembered of hosts that are not at hand: one row per host name,
//! and one per origin for its robots.txt.

use std::time::Duration;

use rhumb_store::Timestamp;
use rhumb_store::codec::{Cursor, Fields, Malformed, read_fields};
use rhumb_store::runs::{RunsError, Snapshot, Table};

use crate::lane::LaneId;

/// What must not be forgotten of a host name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneRow {
    /// No visit before this.
    pub next_allowed: Timestamp,
    /// The host's own wish for a delay.
    pub own_delay: Duration,
    /// Visits that failed in a row.
    pub failures: u32,
    /// Why nothing of it is visited any more.
    pub given_up: String,
}

/// The text of an origin's robots.txt, or why there is none, as the crawl's
/// engine writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsRow {
    pub fetched: Timestamp,
    pub status: u16,
    pub body: Vec<u8>,
}

/// How far asking for an origin's robots.txt has come while it is not had.
/// Here and not in memory alone, because whoever forgets how often it asked
/// asks for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotsTries {
    /// The run that asked last, and when it did.
    pub epoch: u32,
    pub time: Timestamp,
    /// Times in a row that it could not be had, and why the last time.
    pub failures: u32,
    pub why: String,
    /// Where the last answer led, and how many in a row have led elsewhere.
    pub leads_to: String,
    pub hops: u32,
}

pub struct HostRows {
    table: Box<dyn Table>,
    value: Vec<u8>,
}

fn robots_key(lane: LaneId, origin: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&lane.0.to_be_bytes());
    key[8..].copy_from_slice(&origin.to_be_bytes());
    key
}

fn tries_key(lane: LaneId, origin: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..16].copy_from_slice(&robots_key(lane, origin));
    key
}

impl HostRows {
    pub fn new(table: Box<dyn Table>) -> HostRows {
        HostRows {
            table,
            value: Vec::new(),
        }
    }

    pub fn lane(&self, lane: LaneId) -> Result<Option<LaneRow>, RunsError> {
        let row = self.table.get(&lane.0.to_be_bytes())?;
        // A row that this version cannot read is as good as none.
        Ok(row.and_then(|row| LaneRow::decode(&row).ok()))
    }

    pub fn put_lane(&mut self, lane: LaneId, row: &LaneRow) {
        self.value.clear();
        row.encode(&mut self.value);
        self.table.put(&lane.0.to_be_bytes(), &self.value);
    }

    pub fn robots(&self, lane: LaneId, origin: u64) -> Result<Option<RobotsRow>, RunsError> {
        let row = self.table.get(&robots_key(lane, origin))?;
        Ok(row.and_then(|row| RobotsRow::decode(&row).ok()))
    }

    /// A robots.txt is had: what was tried for it does not count any more.
    pub fn put_robots(
        &mut self,
        lane: LaneId,
        origin: u64,
        row: &RobotsRow,
    ) -> Result<(), RunsError> {
        self.value.clear();
        row.encode(&mut self.value);
        self.table.put(&robots_key(lane, origin), &self.value);
        self.forget_tries(lane, origin)
    }

    pub fn tries(&self, lane: LaneId, origin: u64) -> Result<Option<RobotsTries>, RunsError> {
        let row = self.table.get(&tries_key(lane, origin))?;
        Ok(row.and_then(|row| RobotsTries::decode(&row).ok()))
    }

    pub fn put_tries(&mut self, lane: LaneId, origin: u64, tries: &RobotsTries) {
        self.value.clear();
        tries.encode(&mut self.value);
        self.table.put(&tries_key(lane, origin), &self.value);
    }

    pub fn forget_tries(&mut self, lane: LaneId, origin: u64) -> Result<(), RunsError> {
        let key = tries_key(lane, origin);
        // Most have none, and a removal takes room too.
        if self.table.get(&key)?.is_some() {
            self.table.remove(&key);
        }
        Ok(())
    }

    /// Read everything that is on disk.
    pub fn read_all(&self) -> Result<(), RunsError> {
        self.table.scan(&[], &[], &mut |_, _| true)
    }

    pub fn tend(&mut self) -> Result<(), RunsError> {
        self.table.tend()
    }

    pub fn is_congested(&self) -> bool {
        self.table.is_congested()
    }

    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.table.snapshot()
    }
}

impl LaneRow {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        fields.number(1, self.next_allowed.0);
        fields.number(2, self.own_delay.as_micros() as u64);
        fields.number(3, u64::from(self.failures));
        fields.text(4, &self.given_up);
    }

    fn decode(bytes: &[u8]) -> Result<LaneRow, Malformed> {
        let mut row = LaneRow::default();
        read_fields(bytes, |field, value| {
            match field {
                1 => row.next_allowed = Timestamp(value.number()?),
                2 => row.own_delay = Duration::from_micros(value.number()?),
                3 => row.failures = value.number()? as u32,
                4 => row.given_up = value.text()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(row)
    }
}

impl RobotsTries {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        fields.number(1, u64::from(self.epoch));
        fields.number(2, self.time.0);
        fields.number(3, u64::from(self.failures));
        fields.text(4, &self.why);
        fields.text(5, &self.leads_to);
        fields.number(6, u64::from(self.hops));
    }

    fn decode(bytes: &[u8]) -> Result<RobotsTries, Malformed> {
        let mut tries = RobotsTries::default();
        read_fields(bytes, |field, value| {
            match field {
                1 => tries.epoch = value.number()? as u32,
                2 => tries.time = Timestamp(value.number()?),
                3 => tries.failures = value.number()? as u32,
                4 => tries.why = value.text()?,
                5 => tries.leads_to = value.text()?,
                6 => tries.hops = value.number()? as u32,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(tries)
    }
}

impl RobotsRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fetched.0.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.body);
    }

    fn decode(bytes: &[u8]) -> Result<RobotsRow, Malformed> {
        let mut cursor = Cursor(bytes);
        let fetched = cursor.take(8)?.try_into().map_err(|_| Malformed)?;
        let status = cursor.take(2)?.try_into().map_err(|_| Malformed)?;
        Ok(RobotsRow {
            fetched: Timestamp(u64::from_le_bytes(fetched)),
            status: u16::from_le_bytes(status),
            body: cursor.0.to_vec(),
        })
    }
}
