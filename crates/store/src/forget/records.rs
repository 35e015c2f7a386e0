//! What becomes of a journal's records when some URLs are forgotten.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ForgetReport;
use super::archive::Cuts;
use crate::admitted::Admitted;
use crate::disk::Disk;
use crate::journal::JournalError;
use crate::positions::Positions;
use crate::record::{HostEvent, Position, Record};
use crate::rewrite::Verdict;
use crate::superseded::Superseded;
use crate::visit::{Extent, FactValue, Visit};

/// What is said of a page whose content was stored with a forgotten one.
const CONTENT_GONE: &str = "its content was stored with a page that has been forgotten";

/// What stands for a name in a reason told of another page.
const NAME_GONE: &str = "(forgotten)";

pub struct Forgetter<'a> {
    folder: PathBuf,
    matches: &'a dyn Fn(&str) -> bool,
    cuts: &'a HashMap<String, Cuts>,
    /// The journal as it was: for links that have to be moved.
    positions: Positions,
    report: &'a mut ForgetReport,
}

impl<'a> Forgetter<'a> {
    pub fn new(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        matches: &'a dyn Fn(&str) -> bool,
        cuts: &'a HashMap<String, Cuts>,
        report: &'a mut ForgetReport,
    ) -> Forgetter<'a> {
        Forgetter {
            folder: folder.to_owned(),
            matches,
            cuts,
            positions: Positions::open(Arc::clone(disk), folder),
            report,
        }
    }

    pub fn judge(&mut self, position: Position, bytes: &[u8]) -> Result<Verdict, JournalError> {
        let record = Record::decode(bytes).map_err(|_| JournalError::Malformed {
            folder: self.folder.clone(),
            position,
        })?;
        Ok(match record {
            Record::Visit(visit) => self.visit(*visit)?,
            Record::Admitted(admitted) => self.admitted(admitted),
            Record::Superseded(superseded) => self.superseded(superseded),
            Record::Seed(seed) => drop_if((self.matches)(&seed.url), &mut self.report.seeds),
            Record::HostEvent(event) => self.host_event(event),
            Record::Epoch(_) | Record::Control(_) | Record::Other { .. } => Verdict::Keep,
        })
    }

    fn visit(&mut self, mut visit: Visit) -> Result<Verdict, JournalError> {
        if (self.matches)(&visit.url) {
            self.report.visits += 1;
            return Ok(Verdict::Drop);
        }
        let mut changed = self.move_links(&mut visit)?;
        let links = visit.links.len();
        visit.links.retain(|link| !(self.matches)(&link.url));
        self.report.links += (links - visit.links.len()) as u64;
        changed |= links != visit.links.len();
        if !visit.duplicate_of.is_empty() && (self.matches)(&visit.duplicate_of) {
            visit.duplicate_of.clear();
            self.report.duplicates_cleared += 1;
            changed = true;
        }
        if visit.extents.iter().any(|extent| self.is_emptied(extent)) {
            // Later pages must not be stored as copies of what is not there.
            visit.content = None;
            CONTENT_GONE.clone_into(&mut visit.detail);
            changed = true;
        }
        changed |= self.clear_names(&mut visit.detail);
        let facts = visit.facts.len();
        visit.facts.retain(|fact| match &fact.value {
            FactValue::Text(text) => !(self.matches)(text),
            FactValue::Number(_) => true,
        });
        changed |= facts != visit.facts.len();
        changed |= self.move_extents(&mut visit.extents);
        Ok(match changed {
            true => Verdict::Change(Record::Visit(Box::new(visit))),
            false => Verdict::Keep,
        })
    }

    /// A visit that refers to the links of a forgotten one gets them itself.
    fn move_links(&mut self, visit: &mut Visit) -> Result<bool, JournalError> {
        let Some(earlier) = visit.links_of else {
            return Ok(false);
        };
        match self.positions.record_at(earlier)? {
            Some(Record::Visit(earlier)) if (self.matches)(&earlier.url) => {}
            _ => return Ok(false),
        }
        visit.links = self.positions.links_of(visit)?.unwrap_or_default();
        visit.links_of = None;
        visit.links_repeated = 0;
        self.report.links_moved += 1;
        Ok(true)
    }

    fn host_event(&mut self, mut event: HostEvent) -> Verdict {
        if (self.matches)(&format!("{}/", event.host)) {
            self.report.host_events += 1;
            return Verdict::Drop;
        }
        match self.clear_names(&mut event.detail) {
            true => Verdict::Change(Record::HostEvent(event)),
            false => Verdict::Keep,
        }
    }

    /// A reason in words may name another host. Says whether it did.
    fn clear_names(&self, text: &mut String) -> bool {
        let goes = |word: &&str| word.contains("://") && (self.matches)(&format!("{word}/"));
        let words: Vec<&str> = text.split(' ').collect();
        if !words.iter().any(goes) {
            return false;
        }
        let kept = words.iter().map(|word| match goes(word) {
            true => NAME_GONE,
            false => word,
        });
        *text = kept.collect::<Vec<&str>>().join(" ");
        true
    }

    fn admitted(&mut self, mut admitted: Admitted) -> Verdict {
        let entries = admitted.entries.len();
        admitted.entries.retain(|entry| !(self.matches)(&entry.url));
        self.report.admissions += (entries - admitted.entries.len()) as u64;
        if admitted.entries.is_empty() && entries > 0 {
            return Verdict::Drop;
        }
        let via_goes = !admitted.via.is_empty() && (self.matches)(&admitted.via);
        if via_goes {
            admitted.via.clear();
        }
        match via_goes || entries != admitted.entries.len() {
            true => Verdict::Change(Record::Admitted(admitted)),
            false => Verdict::Keep,
        }
    }

    fn superseded(&mut self, mut superseded: Superseded) -> Verdict {
        let emptied = superseded.emptied.len();
        superseded.emptied.retain(|at| !(self.matches)(&at.url));
        let changed =
            self.move_extents(&mut superseded.extents) || emptied != superseded.emptied.len();
        let nothing_left = superseded.extents.is_empty() && superseded.emptied.is_empty();
        match changed {
            true if nothing_left => Verdict::Drop,
            true => Verdict::Change(Record::Superseded(superseded)),
            false => Verdict::Keep,
        }
    }

    fn is_emptied(&self, extent: &Extent) -> bool {
        let cuts = self.cuts.get(&extent.file);
        cuts.is_some_and(|cuts| cuts.empties(extent))
    }

    /// Says whether any lies elsewhere now.
    fn move_extents(&self, extents: &mut Vec<Extent>) -> bool {
        let before = extents.clone();
        extents.retain_mut(|extent| {
            let Some(cuts) = self.cuts.get(&extent.file) else {
                return true;
            };
            match cuts.moved(extent) {
                Some(moved) => {
                    *extent = moved;
                    true
                }
                None => false,
            }
        });
        *extents != before
    }
}

fn drop_if(matches: bool, count: &mut u64) -> Verdict {
    if matches {
        *count += 1;
        return Verdict::Drop;
    }
    Verdict::Keep
}
