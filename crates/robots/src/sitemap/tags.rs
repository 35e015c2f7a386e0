//! The elements that are open at a place of a file.
//!
//! End tags are matched here and not by the XML reader, because files are
//! broken: a missing end tag must not cost the rest of the file.

use super::vocabulary::Field;

/// Deeper elements are counted, not kept. No sitemap is near it.
const MAX_DEPTH: usize = 64;

/// As much of a name as is compared.
const MAX_NAME: usize = 128;

/// What an open element means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The root, or what may stand between it and the entries.
    Root,
    Entry,
    Field(Field),
    /// An element inside a field, whose text counts as the field's.
    Within,
    /// Nothing in it counts.
    Other,
}

#[derive(Default)]
pub(super) struct Tags {
    /// The names of all open elements, one behind the other.
    names: String,
    open: Vec<(usize, Role)>,
    /// How many more are open, too deep to be kept.
    beyond: usize,
}

impl Tags {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The role of the innermost element; none outside of the root.
    pub(super) fn role(&self) -> Option<Role> {
        match self.beyond {
            0 => self.open.last().map(|(_, role)| *role),
            _ => Some(Role::Other),
        }
    }

    /// Says whether the element could be kept.
    pub(super) fn open(&mut self, name: &str, role: Role) -> bool {
        if self.beyond > 0 || self.open.len() >= MAX_DEPTH {
            self.beyond += 1;
            return false;
        }
        self.open.push((self.names.len(), role));
        self.names.push_str(compared(name));
        true
    }

    /// How many elements end with this end tag: one if all is well, none if
    /// nothing of that name is open.
    pub(super) fn ended_by(&mut self, name: &str) -> usize {
        if self.beyond > 0 {
            self.beyond -= 1;
            return 0;
        }
        let mut end = self.names.len();
        for (distance, (start, _)) in self.open.iter().rev().enumerate() {
            if &self.names[*start..end] == compared(name) {
                return distance + 1;
            }
            end = *start;
        }
        0
    }

    /// Is anything too deep to be known open?
    pub(super) fn is_lost(&self) -> bool {
        self.beyond > 0
    }

    /// Close the innermost element that is kept.
    pub(super) fn close(&mut self) -> Option<Role> {
        let (start, role) = self.open.pop()?;
        self.names.truncate(start);
        Some(role)
    }
}

fn compared(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}
