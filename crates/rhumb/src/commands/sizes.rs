//! What a crawl's main data sets take on disk, for `rhumb status`.

use std::path::Path;

use serde::Serialize;

use crate::figures::{bytes, count};

/// One of them. What is newest in the state of a running crawl is in memory,
/// and counts in `entries` alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Size {
    /// Where that is known without reading all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    pub bytes: u64,
    pub files: u64,
}

#[derive(Debug, Serialize)]
pub struct Sizes {
    /// The URL set: all that were ever admitted.
    pub urls: Size,
    pub queue: Size,
    /// Fingerprints of different documents.
    pub content: Size,
    /// Where the journals speak of each URL.
    pub index: Size,
    /// What is remembered of hosts, robots.txt included.
    pub hosts: Size,
    pub seeds: Size,
    pub journal: Size,
    pub archive: Size,
}

impl Sizes {
    /// Of a crawl directory, with the numbers of entries that are known.
    pub fn of(dir: &Path, urls: u64, queued: u64, documents: u64, hosts: u64) -> Sizes {
        let state = dir.join("state");
        let runs = |kind: &str, entries: Option<u64>| Size {
            entries,
            ..folder(&state, |name| {
                let rest = name.strip_prefix(kind);
                rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".run"))
            })
        };
        Sizes {
            urls: runs("keys", Some(urls)),
            queue: runs("queue", Some(queued)),
            content: runs("content", Some(documents)),
            index: runs("index", None),
            hosts: runs("rows", Some(hosts)),
            seeds: runs("seeds", None),
            journal: folder(&dir.join("journal"), |_| true),
            archive: folder(&dir.join("warc"), |_| true),
        }
    }

    /// A row for each.
    pub fn describe(&self) -> Vec<String> {
        let rows = [
            ("URL set", "URLs", &self.urls),
            ("queue", "URLs", &self.queue),
            ("content", "documents", &self.content),
            ("hosts", "host names", &self.hosts),
            ("index", "", &self.index),
            ("seeds", "", &self.seeds),
            ("journal", "", &self.journal),
            ("archive", "", &self.archive),
        ];
        rows.iter()
            .map(|(name, unit, size)| {
                let taken = bytes(size.bytes);
                let files = match size.files {
                    1 => "1 file".to_owned(),
                    n => format!("{} files", count(n)),
                };
                let entries = size.entries.map_or(String::new(), |entries| {
                    format!(", {} {unit}", count(entries))
                });
                format!("{name:<8} {taken} in {files}{entries}")
            })
            .collect()
    }
}

/// The files of a folder that are wanted; one that is not there is empty.
fn folder(path: &Path, wanted: impl Fn(&str) -> bool) -> Size {
    let mut size = Size::default();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let is_wanted = entry.file_name().to_str().is_some_and(&wanted);
        // It may have been merged away since it was listed.
        if let (true, Ok(metadata)) = (is_wanted, entry.metadata()) {
            size.bytes += metadata.len();
            size.files += 1;
        }
    }
    size
}
