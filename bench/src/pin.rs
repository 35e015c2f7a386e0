//! Which core runs what: the simulated web has one to itself, so that it and
//! the client that is measured never wait for each other.

use std::io;
use std::process::{Child, Command};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The two cores, when there are two.
pub struct Cores {
    /// What this thread may use when it is not starting anybody.
    all: CpuSet,
    pair: Option<[usize; 2]>,
    load: String,
}

#[derive(Clone, Copy)]
pub enum Core {
    Server,
    Client,
}

impl Cores {
    pub fn find() -> Cores {
        let all = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let mut allowed = (0..CpuSet::count()).filter(|cpu| all.is_set(*cpu).unwrap_or(false));
        let pair = match (allowed.next(), allowed.next()) {
            (Some(server), Some(client)) => Some([server, client]),
            _ => None,
        };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        // The last minute's comes first.
        let load = load.split(' ').next().unwrap_or_default().to_owned();
        Cores { all, pair, load }
    }

    /// Nobody has a core to itself: for what is not timed.
    pub fn unpinned() -> Cores {
        Cores {
            pair: None,
            ..Cores::find()
        }
    }

    pub fn describe(&self) -> String {
        match self.pair {
            Some([server, client]) => {
                format!("the simulated web on core {server}, every client on core {client}")
            }
            None => "NOT PINNED: fewer than two cores may be used; wall times mean little".into(),
        }
    }

    /// How many programs wanted a core in the minute before: figures of a
    /// busy machine are worth less.
    pub fn load_before(&self) -> &str {
        &self.load
    }

    /// Start a program on its core: a child inherits the mask of the thread
    /// that starts it.
    pub fn spawn(&self, core: Core, command: &mut Command) -> io::Result<Child> {
        let Some([server, client]) = self.pair else {
            return command.spawn();
        };
        let mut one = CpuSet::new();
        one.set(match core {
            Core::Server => server,
            Core::Client => client,
        })?;
        let this_thread = Pid::from_raw(0);
        sched_setaffinity(this_thread, &one)?;
        let child = command.spawn();
        sched_setaffinity(this_thread, &self.all)?;
        child
    }
}
