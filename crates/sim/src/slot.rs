//! The numbered URLs of a host.
//!
//! Every URL that a link can lead to is a [`Slot`]; how many of each kind a
//! host has follows from its number of pages, so slots can be counted, and be
//! bits in a set, without a list of them.

/// A page links to the special slot with number `page / every` when
/// `page % every == at`.
#[derive(Clone, Copy)]
pub struct Rhythm {
    every: u64,
    at: u64,
}

impl Rhythm {
    /// How many special slots a host with so many pages has.
    pub fn count(self, pages: u64) -> u64 {
        (pages + self.every - 1 - self.at) / self.every
    }

    /// The number of the special slot that belongs to a page.
    pub fn number(self, page: u64) -> Option<u64> {
        (page % self.every == self.at).then_some(page / self.every)
    }

    pub fn page(self, number: u64) -> u64 {
        number * self.every + self.at
    }
}

/// The pages that exist twice. The link to the copy is on the page before.
pub const COPY: Rhythm = Rhythm { every: 12, at: 5 };
pub const DOCUMENT: Rhythm = Rhythm { every: 10, at: 3 };
pub const REDIRECT: Rhythm = Rhythm { every: 20, at: 7 };
pub const MISSING: Rhythm = Rhythm { every: 25, at: 9 };
pub const PRIVATE: Rhythm = Rhythm { every: 15, at: 2 };
pub const UNLINKED: Rhythm = Rhythm { every: 50, at: 11 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A page of the host's tree: page `i` links to `8 i + 1` to `8 i + 8`.
    Page(u64),
    /// The bytes of a page at another URL.
    Copy(u64),
    /// Something that is not HTML.
    Document(u64),
    Redirect(u64),
    /// Two redirects to one another, on some hosts.
    Loop(u64),
    Missing(u64),
    /// Pages that robots rules speak about.
    Private(u64),
    /// In the sitemap, or behind a link with `rel=nofollow`, never behind a
    /// link to follow.
    Unlinked(u64),
}

impl Slot {
    /// A number that no other slot of the host has, for hashing.
    pub fn key(self) -> u64 {
        let (kind, number) = match self {
            Slot::Page(n) => (0, n),
            Slot::Copy(n) => (1, n),
            Slot::Document(n) => (2, n),
            Slot::Redirect(n) => (3, n),
            Slot::Loop(n) => (4, n),
            Slot::Missing(n) => (5, n),
            Slot::Private(n) => (6, n),
            Slot::Unlinked(n) => (7, n),
        };
        kind << 60 | number
    }
}

/// The slots of one host, laid out one kind after the other.
#[derive(Clone, Copy)]
pub struct Layout {
    pages: u64,
    ends: [u64; 7],
}

impl Layout {
    /// Unlinked slots are not laid out: nothing that is followed leads there.
    pub fn new(pages: u64, has_loop: bool) -> Layout {
        let counts = [
            pages,
            COPY.count(pages),
            DOCUMENT.count(pages),
            REDIRECT.count(pages),
            if has_loop { 2 } else { 0 },
            MISSING.count(pages),
            PRIVATE.count(pages),
        ];
        let mut end = 0;
        Layout {
            pages,
            ends: counts.map(|count| {
                end += count;
                end
            }),
        }
    }

    pub fn pages(&self) -> u64 {
        self.pages
    }

    pub fn len(&self) -> u64 {
        self.ends[6]
    }

    pub fn position(&self, slot: Slot) -> Option<u64> {
        let (kind, number) = match slot {
            Slot::Page(n) => (0, n),
            Slot::Copy(n) => (1, n),
            Slot::Document(n) => (2, n),
            Slot::Redirect(n) => (3, n),
            Slot::Loop(n) => (4, n),
            Slot::Missing(n) => (5, n),
            Slot::Private(n) => (6, n),
            Slot::Unlinked(_) => return None,
        };
        let start = if kind == 0 { 0 } else { self.ends[kind - 1] };
        (number < self.ends[kind] - start).then_some(start + number)
    }

    pub fn slot(&self, position: u64) -> Option<Slot> {
        let kind = self.ends.iter().position(|&end| position < end)?;
        let start = if kind == 0 { 0 } else { self.ends[kind - 1] };
        let number = position - start;
        Some(match kind {
            0 => Slot::Page(number),
            1 => Slot::Copy(number),
            2 => Slot::Document(number),
            3 => Slot::Redirect(number),
            4 => Slot::Loop(number),
            5 => Slot::Missing(number),
            _ => Slot::Private(number),
        })
    }

    /// Whether the host has such a slot.
    pub fn holds(&self, slot: Slot) -> bool {
        match slot {
            Slot::Unlinked(n) => n < UNLINKED.count(self.pages),
            other => self.position(other).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_slots_are_the_same_thing() {
        for pages in [1, 2, 6, 100, 1_001] {
            let layout = Layout::new(pages, pages % 2 == 0);
            for position in 0..layout.len() {
                let slot = layout.slot(position).unwrap();
                assert_eq!(layout.position(slot), Some(position));
            }
            assert_eq!(layout.slot(layout.len()), None);
        }
    }

    #[test]
    fn each_special_slot_belongs_to_a_page_that_exists() {
        for rhythm in [COPY, DOCUMENT, REDIRECT, MISSING, PRIVATE, UNLINKED] {
            for pages in 0..200 {
                let linked = (0..pages).filter_map(|page| rhythm.number(page)).count();
                assert_eq!(rhythm.count(pages), linked as u64);
            }
        }
    }
}
