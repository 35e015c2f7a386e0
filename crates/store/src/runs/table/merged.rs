//! Several rows of entries as one: of each key the newest, without what was
//! removed.

use super::super::RunsError;
use super::cursor::{Entries, Ranges};
use super::range::{head, is_before};

/// One source of removed ranges. Sources are numbered by age, the newest 0;
/// a range hides what is in older sources only.
pub(super) struct Shade<'a> {
    pub age: usize,
    pub ranges: Ranges<'a>,
}

/// Which keys are hidden, asked in order of keys. What covers a key changes
/// only where a range begins or ends, so most answers are one comparison.
#[derive(Default)]
struct Shadow<'a> {
    shades: Vec<Shade<'a>>,
    asked: bool,
    /// The answer below holds before this key; empty: to the end.
    until: Vec<u8>,
    newest: Option<usize>,
    /// Where the range of `newest` ends.
    end: Vec<u8>,
}

impl Shadow<'_> {
    /// If the key is hidden in a source of this age: the end of the range
    /// that hides it.
    fn over(&mut self, key: &[u8], age: usize) -> Result<Option<&[u8]>, RunsError> {
        if self.shades.is_empty() {
            return Ok(None);
        }
        if !self.asked || !is_before(key, &self.until) {
            self.move_to(key)?;
        }
        let hidden = self.newest.is_some_and(|newest| newest < age);
        Ok(hidden.then_some(&self.end[..]))
    }

    fn move_to(&mut self, key: &[u8]) -> Result<(), RunsError> {
        self.asked = true;
        self.newest = None;
        self.until.clear();
        for Shade { age, ranges } in &mut self.shades {
            while ranges.current().is_some_and(|(_, to)| !is_before(key, to)) {
                ranges.advance()?;
            }
            let Some((from, to)) = ranges.current() else {
                continue;
            };
            let mut change = from;
            if from <= key {
                change = to;
                if self.newest.is_none_or(|newest| *age < newest) {
                    self.newest = Some(*age);
                    self.end.clear();
                    self.end.extend_from_slice(to);
                }
            }
            if !change.is_empty() && is_before(change, &self.until) {
                self.until.clear();
                self.until.extend_from_slice(change);
            }
        }
        Ok(())
    }
}

struct Input<'a> {
    age: usize,
    entries: Entries<'a>,
}

#[derive(Default)]
pub(super) struct Merged<'a> {
    /// The newest first, and beside each the head of its key.
    inputs: Vec<Input<'a>>,
    heads: Vec<u128>,
    shadow: Shadow<'a>,
}

impl<'a> Merged<'a> {
    /// To be added from the newest to the oldest.
    pub fn add_entries(&mut self, age: usize, entries: Entries<'a>) {
        if let Some(key) = entries.key() {
            self.heads.push(head(key));
            self.inputs.push(Input { age, entries });
        }
    }

    pub fn add_ranges(&mut self, age: usize, ranges: Ranges<'a>) {
        if ranges.current().is_some() {
            self.shadow.shades.push(Shade { age, ranges });
        }
    }

    /// Go to the next entry that is not hidden. `Some(None)` in place of a
    /// value: the key was removed.
    pub fn find(&mut self) -> Result<Option<Found<'_, 'a>>, RunsError> {
        loop {
            let Some(least) = self.least()? else {
                return Ok(None);
            };
            let Input { age, entries } = &mut self.inputs[least];
            let Some(key) = entries.key() else {
                return Ok(None);
            };
            match self.shadow.over(key, *age)? {
                None => {
                    break Ok(Some(Found {
                        merged: self,
                        at: least,
                    }));
                }
                Some([]) => self.leave(least),
                Some(end) => {
                    entries.seek(end)?;
                    self.refresh(least);
                }
            }
        }
    }

    /// The input with the least key, the newest of several; the others that
    /// have the same key have passed it.
    fn least(&mut self) -> Result<Option<usize>, RunsError> {
        if self.inputs.is_empty() {
            return Ok(None);
        }
        let mut least = 0;
        let mut at = 1;
        while at < self.inputs.len() {
            if self.heads[at] < self.heads[least] {
                least = at;
            } else if self.heads[at] == self.heads[least] {
                let (one, other) = (&self.inputs[at], &self.inputs[least]);
                match one.entries.key().cmp(&other.entries.key()) {
                    std::cmp::Ordering::Less => least = at,
                    std::cmp::Ordering::Greater => {}
                    std::cmp::Ordering::Equal => {
                        // Older, and overruled. If it ends here, the next
                        // input takes its place.
                        if !self.pass(at)? {
                            continue;
                        }
                    }
                }
            }
            at += 1;
        }
        Ok(Some(least))
    }

    /// Step over an entry; `false` if the input has ended and is gone.
    fn pass(&mut self, at: usize) -> Result<bool, RunsError> {
        self.inputs[at].entries.advance()?;
        Ok(self.refresh(at))
    }

    fn refresh(&mut self, at: usize) -> bool {
        match self.inputs[at].entries.key() {
            Some(key) => {
                self.heads[at] = head(key);
                true
            }
            None => {
                self.leave(at);
                false
            }
        }
    }

    fn leave(&mut self, at: usize) {
        self.inputs.remove(at);
        self.heads.remove(at);
    }
}

/// An entry; the walk goes on with `pass`.
pub(super) struct Found<'m, 'a> {
    merged: &'m mut Merged<'a>,
    at: usize,
}

impl Found<'_, '_> {
    pub fn key(&self) -> &[u8] {
        self.merged.inputs[self.at]
            .entries
            .key()
            .unwrap_or_default()
    }

    /// `None`: the key was removed.
    pub fn value(&self) -> Option<&[u8]> {
        self.merged.inputs[self.at].entries.value()
    }

    pub fn pass(self) -> Result<(), RunsError> {
        self.merged.pass(self.at).map(drop)
    }
}
