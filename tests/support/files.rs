//! Crawl directories as bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file below a folder but the lock and sockets, with its bytes.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() && !path.ends_with("state/lock") {
            found.insert(path.clone(), std::fs::read(&path).expect("a file"));
        }
    }
    found
}
