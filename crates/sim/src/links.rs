//! Which links a page has. The renderer writes them and the truth walks them:
//! both ask here, so neither can know a link the other does not.

use crate::hash::{Stream, mix, scale, zipf};
use crate::host::{Host, salt};
use crate::path::{BRANCHES, parent};
use crate::slot::{COPY, DOCUMENT, MISSING, PRIVATE, REDIRECT, Slot, UNLINKED};
use crate::web::Web;

/// Where on the page a link stands. Links come in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Nav,
    Crumbs,
    Body,
    Aside,
    Footer,
}

#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub rank: u32,
    pub slot: Slot,
    pub place: Place,
    pub nofollow: bool,
    /// Links to other hosts are always written with the host's name, even
    /// when chance led back to the page's own host.
    pub external: bool,
    /// Decides how the reference is written and what its text says.
    pub form: u64,
}

impl Web {
    /// The slot whose links a slot has: a copy has those of its original.
    /// None for what is not HTML.
    pub(crate) fn content_slot(&self, slot: Slot) -> Option<Slot> {
        match slot {
            Slot::Page(_) | Slot::Private(_) | Slot::Unlinked(_) => Some(slot),
            Slot::Copy(n) => Some(Slot::Page(COPY.page(n))),
            Slot::Document(_) | Slot::Redirect(_) | Slot::Loop(_) | Slot::Missing(_) => None,
        }
    }

    /// Every link of an HTML page, about thirty; none for anything else.
    pub(crate) fn links(&self, host: &Host, slot: Slot, emit: &mut impl FnMut(Link)) {
        let Some(content) = self.content_slot(slot) else {
            return;
        };
        let start = mix(self.seed, salt::LINKS, host.content.into(), content.key());
        let mut walk = Walk {
            web: self,
            host,
            chance: Stream::new(start),
            emit,
        };
        walk.nav();
        if let Slot::Page(page) = content {
            walk.crumbs(page);
            walk.special(page);
            walk.related();
            walk.external(page);
            walk.tree(page);
        }
        walk.footer();
    }

    /// Where a redirect leads.
    pub(crate) fn redirect_target(&self, host: &Host, slot: Slot) -> Option<(u32, Slot)> {
        match slot {
            Slot::Loop(n) => Some((host.rank, Slot::Loop(1 - n.min(1)))),
            Slot::Redirect(n) => {
                let next = Slot::Redirect(n + 1);
                if matches!(n % 8, 1 | 2) && host.layout.holds(next) {
                    return Some((host.rank, next));
                }
                let r = mix(self.seed, salt::REDIRECT, host.content.into(), n);
                if r.is_multiple_of(4) {
                    let other = zipf(r.rotate_left(17), self.hosts.into()) as u32;
                    let page = zipf(r.rotate_left(34), self.sizes.of(other));
                    return Some((other, Slot::Page(page)));
                }
                Some((host.rank, Slot::Page(zipf(r, host.pages()))))
            }
            _ => None,
        }
    }
}

struct Walk<'a, E> {
    web: &'a Web,
    host: &'a Host,
    chance: Stream,
    emit: &'a mut E,
}

impl<E: FnMut(Link)> Walk<'_, E> {
    fn own(&mut self, place: Place, slot: Slot) {
        let form = self.chance.next();
        (self.emit)(Link {
            rank: self.host.rank,
            slot,
            place,
            nofollow: matches!(slot, Slot::Unlinked(_)),
            external: false,
            form,
        });
    }

    fn nav(&mut self) {
        for page in 0..self.host.pages().min(6) {
            self.own(Place::Nav, Slot::Page(page));
        }
    }

    /// The way up to the home page.
    fn crumbs(&mut self, page: u64) {
        let mut at = page;
        while at != 0 {
            at = parent(at);
            self.own(Place::Crumbs, Slot::Page(at));
        }
    }

    fn special(&mut self, page: u64) {
        let slots = [
            COPY.number(page + 1).map(Slot::Copy),
            DOCUMENT.number(page).map(Slot::Document),
            REDIRECT.number(page).map(Slot::Redirect),
            MISSING.number(page).map(Slot::Missing),
            PRIVATE.number(page).map(Slot::Private),
            UNLINKED.number(page).map(Slot::Unlinked),
            (page == 0 && self.host.has_loop).then_some(Slot::Loop(0)),
        ];
        for slot in slots.into_iter().flatten() {
            if self.host.layout.holds(slot) {
                self.own(Place::Body, slot);
            }
        }
    }

    /// Pages of the host that somebody found worth a link: few get many.
    fn related(&mut self) {
        let pages = self.host.pages();
        let count = (7 + self.chance.below(8)).min(pages - 1);
        for _ in 0..count {
            let page = zipf(self.chance.next(), pages);
            self.own(Place::Body, Slot::Page(page));
        }
    }

    fn external(&mut self, page: u64) {
        let hosts = u64::from(self.web.hosts);
        if hosts > 1 {
            for _ in 0..3 + self.chance.below(6) {
                let rank = zipf(self.chance.next(), hosts) as u32;
                let deep = self.chance.next();
                let page = if deep.is_multiple_of(4) {
                    zipf(deep, self.web.sizes.of(rank))
                } else {
                    0
                };
                let nofollow = scale(deep.rotate_left(32), 16) == 0;
                self.outward(rank, Slot::Page(page), nofollow);
            }
        }
        let (web, host) = (self.web, self.host);
        web.child_hosts(host, page, &mut |rank| {
            self.outward(rank, Slot::Page(0), false)
        });
    }

    fn outward(&mut self, rank: u32, slot: Slot, nofollow: bool) {
        let form = self.chance.next();
        (self.emit)(Link {
            rank,
            slot,
            place: Place::Body,
            nofollow,
            external: true,
            form,
        });
    }

    /// Children and neighbours.
    fn tree(&mut self, page: u64) {
        let pages = self.host.pages();
        let children = page * BRANCHES + 1;
        for child in children..(children + BRANCHES).min(pages) {
            self.own(Place::Aside, Slot::Page(child));
        }
        if page == 0 {
            return;
        }
        let first = parent(page) * BRANCHES + 1;
        let end = (first + BRANCHES).min(pages);
        for neighbour in page.saturating_sub(2).max(first)..(page + 3).min(end) {
            if neighbour != page {
                self.own(Place::Aside, Slot::Page(neighbour));
            }
        }
    }

    /// Links that are on the page already.
    fn footer(&mut self) {
        self.own(Place::Footer, Slot::Page(0));
        let last = self.host.pages().min(3) - 1;
        self.own(Place::Footer, Slot::Page(last));
    }
}
