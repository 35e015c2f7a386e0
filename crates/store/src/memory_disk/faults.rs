//! The ways in which a disk in memory can be told to fail.

use std::io;

/// What happens when a plan comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This write and every later one fails.
    Broken,
    /// This write fails, later ones succeed.
    Once,
    /// Half of this write lands before it fails, later ones succeed.
    Short,
    /// No byte finds room any more, until somebody gives space.
    NoSpace,
    /// This sync fails and leaves unsynced what it should have synced.
    Sync,
}

/// What a change of the disk is, as far as faults tell changes apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// So many bytes are added.
    Bytes(usize),
    Sync,
    /// A name appears or goes, a file is cut.
    Other,
}

/// How much of a change takes place, and the failure that ends it.
pub(super) struct Verdict {
    pub bytes: usize,
    pub failure: Option<io::Error>,
}

/// Counts what is done to a disk and fails it as planned.
#[derive(Default)]
pub(super) struct Faults {
    plan: Option<(u64, Fault)>,
    /// Bytes that still find room; `None`: any number.
    free: Option<u64>,
    writes: u64,
    syncs: u64,
    injected: u64,
}

impl Faults {
    /// After so many more writes (for [`Fault::Sync`]: syncs), this.
    pub fn plan(&mut self, after: u64, fault: Fault) {
        self.plan = Some((after, fault));
    }

    pub fn repair(&mut self) {
        self.plan = None;
        self.free = None;
    }

    pub fn set_free(&mut self, free: Option<u64>) {
        self.free = free;
    }

    pub fn free(&self) -> u64 {
        self.free.unwrap_or(u64::MAX)
    }

    /// A file was cut or removed.
    pub fn give_back(&mut self, bytes: usize) {
        if let Some(free) = &mut self.free {
            *free += bytes as u64;
        }
    }

    pub fn writes(&self) -> u64 {
        self.writes
    }

    pub fn syncs(&self) -> u64 {
        self.syncs
    }

    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// Judge a change before it is made.
    pub fn judge(&mut self, change: Change) -> Verdict {
        self.writes += 1;
        self.syncs += u64::from(change == Change::Sync);
        let wanted = match change {
            Change::Bytes(bytes) => bytes,
            _ => 0,
        };
        let verdict = match self.due(change) {
            None => self.take_room(wanted),
            Some(Fault::NoSpace) => {
                self.free = Some(0);
                self.take_room(wanted)
            }
            Some(Fault::Short) => fail(wanted / 2, "a short write"),
            Some(Fault::Broken | Fault::Once) => fail(0, "the disk fails"),
            Some(Fault::Sync) => fail(0, "the sync fails"),
        };
        self.injected += u64::from(verdict.failure.is_some());
        verdict
    }

    /// The fault whose time has come with this change.
    fn due(&mut self, change: Change) -> Option<Fault> {
        let (left, fault) = self.plan.as_mut()?;
        if *fault == Fault::Sync && change != Change::Sync {
            return None;
        }
        if *left > 0 {
            *left -= 1;
            return None;
        }
        let fault = *fault;
        if fault != Fault::Broken {
            self.plan = None;
        }
        Some(fault)
    }

    /// As on a real disk, the bytes that find room are written.
    fn take_room(&mut self, wanted: usize) -> Verdict {
        let room = usize::try_from(self.free()).unwrap_or(usize::MAX);
        let bytes = wanted.min(room);
        if let Some(free) = &mut self.free {
            *free -= bytes as u64;
        }
        let full = || io::Error::new(io::ErrorKind::StorageFull, "injected: no space left");
        Verdict {
            bytes,
            failure: (bytes < wanted).then(full),
        }
    }
}

fn fail(bytes: usize, what: &str) -> Verdict {
    Verdict {
        bytes,
        failure: Some(io::Error::other(format!("injected: {what}"))),
    }
}
