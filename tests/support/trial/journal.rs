//! What the journals of a crawl directory say was visited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rhumb_sim::Truth;
use rhumb_store::{Disk, Extent, JournalReader, RealDisk, Record, State, Visit, journals_in};

use super::note;

/// How often a URL was visited, how it ended, and where it is archived.
pub struct Visited {
    pub times: u32,
    pub state: State,
    pub extents: Vec<Extent>,
}

/// Every URL with a committed visit.
pub fn visited(dir: &Path) -> Result<BTreeMap<String, Visited>, String> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let folder = dir.join("journal");
    let mut found = BTreeMap::new();
    let journals = journals_in(&*disk, &folder).map_err(|error| error.to_string())?;
    for journal in journals {
        let mut reader = JournalReader::open(Arc::clone(&disk), &folder, journal, 0);
        while let Some(group) = reader.next_group().map_err(|error| error.to_string())? {
            for (_, record) in group.records() {
                match record {
                    Ok(Record::Visit(visit)) => add(&mut found, *visit),
                    Ok(_) => {}
                    Err(error) => return Err(format!("journal {journal}: {error:?}")),
                }
            }
        }
    }
    Ok(found)
}

fn add(found: &mut BTreeMap<String, Visited>, visit: Visit) {
    let entry = found.entry(visit.url).or_insert(Visited {
        times: 0,
        state: visit.outcome.state(),
        extents: Vec::new(),
    });
    entry.times += 1;
    entry.extents.extend(visit.extents);
}

/// The visits are those that the truth asks for, each once.
pub fn compare(dir: &Path, truth: &Truth, breaches: &mut Vec<String>) {
    let visited = match visited(dir) {
        Ok(visited) => visited,
        Err(reason) => return breaches.push(reason),
    };
    let fetched: BTreeSet<&String> = visited
        .iter()
        .filter(|(_, visit)| visit.state == State::Fetched)
        .map(|(url, _)| url)
        .collect();
    let reachable: BTreeSet<&String> = truth.pages.iter().chain(&truth.redirects).collect();
    let missing = reachable.difference(&fetched).collect();
    note(breaches, "reachable URLs are missing", missing);
    let extra = fetched.difference(&reachable).collect();
    note(breaches, "URLs are there that cannot be reached", extra);
    let twice = visited.iter().filter(|(_, visit)| visit.times > 1);
    let twice = twice.map(|(url, _)| url).collect();
    note(breaches, "URLs have two visits in the journal", twice);
}
