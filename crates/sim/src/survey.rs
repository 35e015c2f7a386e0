//! What can be reached from the seed URL by links and redirects, found by
//! walking the model. One bit for each URL, and no queue: the web is swept in
//! order until a sweep finds nothing new. Trees lead from low numbers to high
//! ones, so a few sweeps are enough.

use crate::host::Host;
use crate::slot::Slot;
use crate::web::Web;

/// What a reachable URL turns out to be for the crawler `rhumb` with its
/// default settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// 200, of a wanted type.
    Page,
    Redirect,
    /// 404.
    Missing,
    /// 200, of a type that is not wanted.
    Unwanted,
    /// Robots rules say no.
    Forbidden,
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(len: u64) -> Bits {
        Bits(vec![0; len.div_ceil(64) as usize])
    }

    fn set(&mut self, at: u64) {
        self.0[(at / 64) as usize] |= 1 << (at % 64);
    }

    fn get(&self, at: u64) -> bool {
        self.0[(at / 64) as usize] >> (at % 64) & 1 == 1
    }
}

pub struct Survey<'a> {
    web: &'a Web,
    /// Where the bits of each host start; one more than there are hosts.
    starts: Vec<u64>,
    reached: Bits,
    /// Links that stand on reachable pages.
    pub links: u64,
}

impl<'a> Survey<'a> {
    pub fn new(web: &'a Web) -> Survey<'a> {
        let mut starts = vec![0];
        let mut end = 0;
        for rank in 0..web.hosts {
            end += web.host(rank).layout.len();
            starts.push(end);
        }
        let mut survey = Survey {
            web,
            starts,
            reached: Bits::new(end),
            links: 0,
        };
        survey.reached.set(0);
        let mut visited = Bits::new(end);
        while survey.sweep(&mut visited) {}
        survey
    }

    /// Visit whatever is reached and not visited; whether there was anything.
    fn sweep(&mut self, visited: &mut Bits) -> bool {
        let mut found = false;
        for rank in 0..self.web.hosts {
            let (start, end) = self.range(rank);
            let mut host = None;
            let mut at = start;
            while at < end {
                let word = (at / 64) as usize;
                let open = (self.reached.0[word] & !visited.0[word]) >> (at % 64);
                if open == 0 {
                    at = (word as u64 + 1) * 64;
                    continue;
                }
                at += u64::from(open.trailing_zeros());
                if at >= end {
                    break;
                }
                visited.set(at);
                found = true;
                let host = host.get_or_insert_with(|| self.web.host(rank));
                if let Some(slot) = host.layout.slot(at - start) {
                    self.visit(host, slot);
                }
                at += 1;
            }
        }
        found
    }

    fn range(&self, rank: u32) -> (u64, u64) {
        (self.starts[rank as usize], self.starts[rank as usize + 1])
    }

    fn visit(&mut self, host: &Host, slot: Slot) {
        if !host.rules.allow(slot) {
            return;
        }
        if let Some((rank, to)) = self.web.redirect_target(host, slot) {
            self.reach(host, rank, to);
        }
        let web = self.web;
        web.links(host, slot, &mut |link| {
            self.links += 1;
            if !link.nofollow {
                self.reach(host, link.rank, link.slot);
            }
        });
    }

    fn reach(&mut self, from: &Host, rank: u32, slot: Slot) {
        let position = match slot {
            // Pages come first in every layout.
            Slot::Page(page) => Some(page),
            _ if rank == from.rank => from.layout.position(slot),
            _ => self.web.host(rank).layout.position(slot),
        };
        if let Some(position) = position {
            self.reached.set(self.starts[rank as usize] + position);
        }
    }

    fn class(&self, host: &Host, slot: Slot) -> Class {
        match slot {
            _ if !host.rules.allow(slot) => Class::Forbidden,
            Slot::Redirect(_) | Slot::Loop(_) => Class::Redirect,
            Slot::Missing(_) => Class::Missing,
            _ if self.web.is_unwanted(host, slot) => Class::Unwanted,
            _ => Class::Page,
        }
    }

    /// Every reachable URL, host by host.
    pub fn each<E>(
        &self,
        mut visit: impl FnMut(&Host, Slot, Class) -> Result<(), E>,
    ) -> Result<(), E> {
        for rank in 0..self.web.hosts {
            let (start, end) = self.range(rank);
            let host = self.web.host(rank);
            for at in start..end {
                if self.reached.get(at)
                    && let Some(slot) = host.layout.slot(at - start)
                {
                    visit(&host, slot, self.class(&host, slot))?;
                }
            }
        }
        Ok(())
    }

    /// Whether links lead to a host and its rules let the crawler in.
    pub fn enters(&self, host: &Host) -> bool {
        self.reached.get(self.starts[host.rank as usize]) && host.rules.allow(Slot::Page(0))
    }
}
