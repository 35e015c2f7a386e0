//! Reading another shard's journal where its messages found no room.

use std::path::Path;
use std::sync::Arc;

use rhumb_store::{Disk, Group, JournalError, JournalReader, Position, Record, Visit};

/// A reader that stays where it is between two readings: a sender's journal
/// is passed over once, however often its receiver falls behind.
pub struct CatchUp {
    reader: JournalReader,
    /// The group read last: the next reading may begin in it.
    group: Option<Group>,
}

impl CatchUp {
    pub fn new(disk: Arc<dyn Disk>, folder: &Path, journal: u16) -> CatchUp {
        CatchUp {
            reader: JournalReader::open(disk, folder, journal, 0),
            group: None,
        }
    }

    /// Hand on the visits from `first` to `through`, as far as one group
    /// goes; says how far that was.
    pub fn read(
        &mut self,
        first: u64,
        through: u64,
        mut with: impl FnMut(Position, &Visit),
    ) -> Result<u64, JournalError> {
        let at_hand = self.group.take().filter(|g| g.last_sequence() >= first);
        let group = match at_hand {
            Some(group) => Some(group),
            None => {
                self.reader.pass_to(first);
                self.reader.next_group()?
            }
        };
        // What is to be read was written before it was sent, so there is a
        // group; if not, nothing has been reached.
        let Some(group) = group else {
            return Ok(first.saturating_sub(1));
        };
        for (position, record) in group.records() {
            if (first..=through).contains(&position.sequence)
                && let Ok(Record::Visit(visit)) = record
            {
                with(position, &visit);
            }
        }
        let reached = group.last_sequence().min(through);
        self.group = Some(group);
        Ok(reached)
    }
}
