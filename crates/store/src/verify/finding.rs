//! What a verification can find, and how bad it is.

use crate::record::Position;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// To be expected, after a crash or beside a running crawl.
    Note,
    /// Nothing that was committed is lost, but it is not as it should be.
    Warning,
    /// Something that was committed is lost or wrong.
    Damage,
}

impl Severity {
    pub fn label(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Damage => "damage",
        }
    }
}

/// Where something was found: what helps depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    Journal,
    Archive,
    State,
}

impl Part {
    pub fn label(self) -> &'static str {
        match self {
            Part::Journal => "journal",
            Part::Archive => "archive",
            Part::State => "state",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    #[error(
        "{segment} ends with {bytes} bytes that are no whole group; the next start cuts them off"
    )]
    TornTail { segment: String, bytes: u64 },
    #[error("{segment} is damaged at byte {offset}")]
    DamagedGroup { segment: String, offset: u64 },
    #[error("{segment} has a group at byte {offset} that belongs elsewhere")]
    MisplacedGroup { segment: String, offset: u64 },
    #[error("{segment}: journal {journal} lacks the records {from} to {through} here or before")]
    Gap {
        segment: String,
        journal: u16,
        from: u64,
        through: u64,
    },
    #[error("{segment}: journal {journal} has record {sequence} twice")]
    Repeated {
        segment: String,
        journal: u16,
        sequence: u64,
    },
    #[error("{segment}: the record at {position} cannot be read")]
    MalformedRecord { segment: String, position: Position },
    #[error(
        "j{journal:05}-….rj: journal {journal} ends at record {found}, \
         but record {synced} was written and synced"
    )]
    Lost {
        journal: u16,
        found: u64,
        synced: u64,
    },
    #[error("{file} is not in the archive, but the journal names it at {position}")]
    ArchiveFileMissing { file: String, position: Position },
    #[error("{file} has no whole record of {url} at byte {offset}: {flaw}")]
    BadExtent {
        file: String,
        offset: u64,
        url: String,
        flaw: String,
    },
    #[error(
        "{file} has at byte {offset} a {kind} record, which a visit of {url} cannot have there"
    )]
    WrongKind {
        file: String,
        offset: u64,
        url: String,
        kind: String,
    },
    #[error("{file} has at byte {offset} a record of {found} where one of {url} should be")]
    WrongTarget {
        file: String,
        offset: u64,
        url: String,
        found: String,
    },
    #[error("{file} has at byte {offset} a record of {url} whose digest is wrong")]
    WrongDigest {
        file: String,
        offset: u64,
        url: String,
    },
    #[error("{file} has a {kind} record of {url} at byte {offset} that no visit names")]
    UnnamedRecord {
        file: String,
        offset: u64,
        kind: String,
        url: String,
    },
    #[error("{file} has {bytes} bytes at byte {offset} that are no record and that no visit names")]
    UnnamedBytes {
        file: String,
        offset: u64,
        bytes: u64,
    },
    #[error("{file}: no visit names any of its {bytes} bytes; they were never committed")]
    UnnamedFile { file: String, bytes: u64 },
    #[error("{file} ends with {bytes} bytes that no visit names; the next start cuts them off")]
    Uncommitted { file: String, bytes: u64 },
    #[error(
        "{places} places in the archive belong to no visit that can be read: \
         theirs stand where the journal is damaged"
    )]
    Unexplained { places: u64 },
    #[error("the visit at {position} has the links of the visit at {links_of}, which is not there")]
    LinksMissing {
        position: Position,
        links_of: Position,
    },
    #[error(
        "{file} was left by work that was interrupted; the next start or compaction clears it away"
    )]
    LeftOver { file: String },
    #[error(
        "journal {journal} names from record {sequence} on what the archive lost before it was \
         synced; the next start cuts them off"
    )]
    Unsynced { journal: u16, sequence: u64 },
    #[error(
        "a takedown was interrupted and waits to be finished; \
         journal and archive cannot be checked before"
    )]
    UnfinishedForget,
}

impl Finding {
    pub fn severity(&self) -> Severity {
        match self {
            Finding::TornTail { .. }
            | Finding::Uncommitted { .. }
            | Finding::UnnamedFile { .. }
            | Finding::Unexplained { .. }
            | Finding::LeftOver { .. }
            | Finding::Unsynced { .. } => Severity::Note,
            Finding::UnnamedRecord { .. } | Finding::UnfinishedForget => Severity::Warning,
            _ => Severity::Damage,
        }
    }

    /// Whether a start would take this, of a record that was not synced, for
    /// a torn tail.
    pub(super) fn is_what_power_takes(&self) -> bool {
        matches!(
            self,
            Finding::ArchiveFileMissing { .. }
                | Finding::BadExtent { .. }
                | Finding::WrongTarget { .. }
        )
    }

    pub fn part(&self) -> Part {
        match self {
            Finding::TornTail { .. }
            | Finding::DamagedGroup { .. }
            | Finding::MisplacedGroup { .. }
            | Finding::Gap { .. }
            | Finding::Repeated { .. }
            | Finding::MalformedRecord { .. }
            | Finding::Lost { .. }
            | Finding::LinksMissing { .. }
            | Finding::Unsynced { .. }
            | Finding::UnfinishedForget => Part::Journal,
            Finding::LeftOver { file } if !file.ends_with(".forget") => Part::Journal,
            _ => Part::Archive,
        }
    }
}
