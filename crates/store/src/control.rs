//! What was commanded or became true of a whole journal.

use crate::clock::Timestamp;
use crate::codec::{Fields, Malformed, Unknown, read_fields};
use crate::record::Position;

pub(crate) const CONTROL_KIND: u8 = 6;

/// A command or a change of configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Control {
    pub time: Timestamp,
    pub command: String,
    pub detail: String,
    /// What the command is about: of a takedown, the host or the beginning of
    /// URLs that the user named.
    pub subject: String,
    pub unknown: Unknown,
}

impl Control {
    /// The command that a clean stop leaves as a journal's last record, but
    /// for the one that says it is durable.
    pub const STOPPED: &str = "stopped";
    /// All of this journal up to the sequence in `detail` was synced, with
    /// the archive records it names, before this was written. A start cuts
    /// nothing off before that place: a flaw there is damage, no tear.
    pub const SYNCED: &str = "synced";
    /// The command of a takedown; its detail says how much went.
    pub const FORGOTTEN: &str = "forgotten";
    /// The command that lets what was forgotten be visited again. It holds
    /// the other's name, so that one search finds both.
    pub const LIFTED: &str = "forgotten-lifted";

    pub fn synced(position: Position, time: Timestamp) -> Control {
        Control {
            time,
            command: Control::SYNCED.to_owned(),
            detail: position.sequence.to_string(),
            ..Control::default()
        }
    }

    /// The sequence that an encoded record says is synced, if it is of that
    /// kind.
    pub(crate) fn synced_by(record: &[u8]) -> Option<u64> {
        let (&CONTROL_KIND, rest) = record.split_first()? else {
            return None;
        };
        let control = Control::decode(rest).ok()?;
        let says = control.command == Control::SYNCED;
        says.then(|| control.detail.parse().ok())?
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Fields(out);
        fields.number(1, self.time.0);
        fields.text(2, &self.command);
        fields.text(3, &self.detail);
        fields.text(4, &self.subject);
        fields.unknown(&self.unknown);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Control, Malformed> {
        let mut record = Control::default();
        record.unknown = read_fields(bytes, |field, value| {
            match field {
                1 => record.time = Timestamp(value.number()?),
                2 => record.command = value.text()?,
                3 => record.detail = value.text()?,
                4 => record.subject = value.text()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}
