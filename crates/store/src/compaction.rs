//! Compaction: closed segments are written anew without the visits that a
//! later visit of the same URL has superseded.
//!
//! Dropped are only those visits, and of them what they brought to the archive
//! stays known ([`Superseded`](crate::Superseded)), and where they stood in the
//! queue if the visit that is left stood elsewhere: archived pages are never
//! given up, and what was visited does not wait again. A superseded visit stays if another visit has no links but its
//! own. All other kinds of records stay: what was admitted, the seeds, host
//! events, epochs and commands are what the state of a crawl is made of.
//!
//! Positions stay true; counts of visits, made again from a compacted journal,
//! count the visits that are left. Each new file takes the place of the old
//! one in one step, newest segments first, so that a visit outlives those
//! that refer to it: whenever this stops, the journal is whole.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Disk;
use crate::journal::JournalError;
use crate::latest::{Outdated, outdated};
use crate::record::{Position, Record};
use crate::rewrite::{Verdict, rewrite};
use crate::segment::{Segment, parse_name, segments_in};
use crate::superseded::{Emptied, Superseded};

/// What a new file is called until it takes the old one's place.
const NEW: &str = ".compacted";

#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// Bytes for remembering URLs; with fewer, more passes are made.
    pub memory: u64,
    /// Also the last segment of each journal: only when no crawl runs and
    /// torn tails have been cut.
    pub last_segments: bool,
}

impl Default for CompactOptions {
    fn default() -> Self {
        CompactOptions {
            memory: 256 << 20,
            last_segments: false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Of all segments, also those that were left as they are.
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub segments: u64,
    pub segments_rewritten: u64,
    pub visits_dropped: u64,
    /// Superseded visits that stay because others refer to their links.
    pub visits_kept_for_links: u64,
    /// Readings of the whole journal that the memory allowed made necessary.
    pub passes: u32,
}

/// Compact all journals in a folder. Whoever has [`Positions`](crate::Positions)
/// open on it clears them afterwards.
///
/// `before` is called once before anything goes, and not if nothing does:
/// whatever leads to visits by their positions is no longer true then.
pub fn compact(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    options: &CompactOptions,
    before: &mut dyn FnMut() -> io::Result<()>,
) -> Result<CompactReport, JournalError> {
    remove_unfinished(&**disk, folder)?;
    let found = outdated(disk, folder, options.memory)?;
    let mut report = CompactReport {
        visits_kept_for_links: found.kept_for_links,
        passes: found.passes,
        ..CompactReport::default()
    };
    if !found.superseded.is_empty() {
        before().map_err(JournalError::io(folder))?;
    }
    let mut segments = segments_in(&**disk, folder)?;
    let last_of_journal: Vec<String> = segments
        .chunk_by(|(a, _), (b, _)| a.journal == b.journal)
        .filter_map(|chunk| Some(chunk.last()?.1.clone()))
        .collect();
    segments.sort_by_key(|(first, _)| (first.epoch, first.sequence));
    for segment in segments.iter().rev() {
        let open = !options.last_segments && last_of_journal.contains(&segment.1);
        compact_segment(disk, folder, segment, open, &found, &mut report)?;
    }
    Ok(report)
}

fn compact_segment(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    (first, name): &(Position, String),
    open: bool,
    found: &Outdated,
    report: &mut CompactReport,
) -> Result<(), JournalError> {
    let superseded = &found.superseded;
    let path = folder.join(name);
    let length = disk.open(&path).and_then(|file| file.length());
    let length = length.map_err(JournalError::io(&path))?;
    report.segments += 1;
    report.bytes_before += length;
    report.bytes_after += length;
    let last = Segment::open(&**disk, folder, name)?.last_sequence()?;
    let touched =
        last.is_some_and(|last| superseded.any_between(first.journal, first.sequence, last));
    if open || !touched {
        return Ok(());
    }
    let fresh = fresh_path(folder, name);
    let mut dropped = 0;
    let rewritten = rewrite(disk, folder, name, &fresh, &mut |position, bytes| {
        let record = match superseded.contains(position) || Record::is_superseded(bytes) {
            true => Record::decode(bytes).map_err(|_| JournalError::Malformed {
                folder: folder.to_owned(),
                position,
            })?,
            false => return Ok(Verdict::Keep),
        };
        Ok(match record {
            Record::Visit(visit) => {
                dropped += 1;
                let emptied = found.elsewhere.contains(position).then_some(Emptied {
                    url: visit.url,
                    priority: visit.priority,
                    sequence: visit.sequence,
                });
                Verdict::Supersede(Superseded {
                    visits: 1,
                    extents: visit.extents,
                    emptied: emptied.into_iter().collect(),
                    ..Superseded::default()
                })
            }
            // Gathered with its new neighbours.
            Record::Superseded(earlier) => Verdict::Supersede(earlier),
            _ => Verdict::Keep,
        })
    })?;
    disk.rename(&fresh, &path)
        .map_err(JournalError::io(&path))?;
    report.bytes_after = report.bytes_after - length + rewritten.bytes_after;
    report.segments_rewritten += 1;
    report.visits_dropped += dropped;
    Ok(())
}

fn fresh_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{NEW}"))
}

/// What an interrupted compaction left.
fn remove_unfinished(disk: &dyn Disk, folder: &Path) -> Result<(), JournalError> {
    for name in disk.list(folder).map_err(JournalError::io(folder))? {
        let stem = name.strip_suffix(NEW);
        if stem.and_then(parse_name).is_some() {
            let path = folder.join(&name);
            disk.remove(&path).map_err(JournalError::io(&path))?;
        }
    }
    Ok(())
}
