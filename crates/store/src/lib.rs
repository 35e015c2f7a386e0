//! What the crawl keeps on disk.
//!
//! The journal and the archive *are* the crawl; everything else is derived
//! from them. This room holds both, the records they are made of, the crawl
//! directory with its identity and lock, and the two doors through which all
//! code reaches the outside: [`Clock`] and [`Disk`].
//!
//! It touches files only through a [`Disk`] and asks the time only of a
//! [`Clock`]. It never opens a socket and never decides what to crawl.

mod admitted;
mod archive;
mod clock;
pub mod codec;
mod compaction;
mod control;
mod directory;
mod disk;
mod fate;
mod forget;
mod group;
mod journal;
mod latest;
mod memory_disk;
mod positions;
mod reader;
mod record;
mod recovery;
mod rewrite;
pub mod runs;
mod segment;
mod superseded;
mod verify;
mod visit;
mod warc;
mod warc_reader;

pub use admitted::{Admission, Admitted};
pub use archive::{Archive, ArchiveFormat, ArchiveOrigin, archive_origin};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use codec::Unknown;
pub use compaction::{CompactOptions, CompactReport, compact};
pub use control::Control;
pub use directory::{CrawlDirectory, DirectoryError, FORMAT, Identity, MANIFEST};
pub use disk::{AppendFile, Disk, Locked, ReadFile, RealDisk};
pub use fate::{Fate, Outcome, State};
pub use forget::{ForgetError, ForgetReport, finish_forget, forget, lift};
pub use group::Group;
pub use journal::{Journal, JournalError};
pub use memory_disk::{Fault, MemoryDisk, Unsynced};
pub use positions::Positions;
pub use reader::{JournalReader, epochs_in, journals_in};
pub use record::{EpochStart, HostEvent, Position, Record, Seed};
pub use superseded::{Emptied, Superseded};
pub use verify::{Finding, Part, Severity, VerifyCounts, verify_journal};
pub use visit::{Extent, Fact, FactValue, LinkRecord, Origin, Visit};
pub use warc::{Capture, Revisit, payload_digest};
pub use warc_reader::Flaw;
