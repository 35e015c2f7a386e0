//! Files, their names, and what of them a loss of power leaves.
//!
//! Two things are lost that were not synced: bytes at the end of files, and
//! changes of names in folders. A file may be synced and yet be gone because
//! its name was not, and a removed one may come back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What becomes of unsynced bytes and names when power is lost. The numbers
/// choose among the many ways in which it can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// All is kept: only the process died.
    Kept,
    /// All is lost.
    Dropped,
    /// Each file keeps some first part of its unsynced bytes.
    Torn(u64),
    /// Some files and names keep all, the others nothing.
    Reordered(u64),
}

#[derive(Default)]
pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// How much of it is sure to outlast a loss of power.
    pub synced: usize,
}

impl Content {
    fn left_of(&self, path: &Path, unsynced: Unsynced) -> Inode {
        let extra = (self.bytes.len() - self.synced) as u64;
        let kept = match unsynced {
            Unsynced::Kept => extra,
            Unsynced::Dropped => 0,
            Unsynced::Torn(seed) => chance(path, seed, 1) % (extra + 1),
            Unsynced::Reordered(seed) => extra * (chance(path, seed, 1) & 1),
        };
        Inode::durable(self.bytes[..self.synced + kept as usize].to_vec())
    }
}

/// A file, whatever its name; whoever has it open keeps it.
#[derive(Default, Clone)]
pub(super) struct Inode(Arc<Mutex<Content>>);

impl Inode {
    pub fn durable(bytes: Vec<u8>) -> Inode {
        let synced = bytes.len();
        Inode(Arc::new(Mutex::new(Content { bytes, synced })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn length(&self) -> usize {
        self.lock().bytes.len()
    }
}

#[derive(Default)]
pub(super) struct Files {
    names: BTreeMap<PathBuf, Inode>,
    /// The names as they are sure to outlast a loss of power.
    durable: BTreeMap<PathBuf, Inode>,
}

impl Files {
    pub fn get(&self, path: &Path) -> Option<&Inode> {
        self.names.get(path)
    }

    pub fn insert(&mut self, path: &Path, inode: Inode) -> Option<Inode> {
        self.names.insert(path.to_owned(), inode)
    }

    pub fn remove(&mut self, path: &Path) -> Option<Inode> {
        self.names.remove(path)
    }

    pub fn in_folder(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let paths = self.names.keys().map(PathBuf::as_path);
        paths.filter(move |path| path.parent() == Some(folder))
    }

    pub fn sync_folder(&mut self, folder: &Path) {
        let inside = |path: &Path| path.parent() == Some(folder);
        self.durable.retain(|path, _| !inside(path));
        let now = self.names.iter().filter(|(path, _)| inside(path));
        self.durable
            .extend(now.map(|(path, inode)| (path.clone(), inode.clone())));
    }

    /// What is left when power was lost, and that for good.
    pub fn after_power_loss(&self, unsynced: Unsynced) -> Files {
        let paths: BTreeSet<&PathBuf> = self.names.keys().chain(self.durable.keys()).collect();
        let mut left = BTreeMap::new();
        for path in paths {
            let newest = match unsynced {
                Unsynced::Kept => true,
                Unsynced::Dropped => false,
                Unsynced::Torn(seed) | Unsynced::Reordered(seed) => chance(path, seed, 0) & 1 == 0,
            };
            let names = if newest { &self.names } else { &self.durable };
            if let Some(inode) = names.get(path) {
                left.insert(path.clone(), inode.lock().left_of(path, unsynced));
            }
        }
        Files {
            names: left.clone(),
            durable: left,
        }
    }

    /// Lose power, but keep all names and so many of each file's unsynced
    /// bytes.
    pub fn tear(&mut self, torn: usize) {
        for inode in self.names.values() {
            let mut content = inode.lock();
            let kept = content.synced + torn;
            content.bytes.truncate(kept);
            content.synced = content.bytes.len();
        }
        self.durable.clone_from(&self.names);
    }
}

/// The same number for the same file and seed, and another for any other.
fn chance(path: &Path, seed: u64, question: u64) -> u64 {
    let name = path.as_os_str().as_encoded_bytes();
    xxh3_64_with_seed(name, seed.wrapping_mul(2).wrapping_add(question)) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One file for each combination of synced or not: name, bytes.
    fn files() -> Files {
        let mut files = Files::default();
        for folder in ["named", "unnamed"] {
            for number in 0..40 {
                let inode = Inode::durable(b"synced".to_vec());
                inode.lock().bytes.extend_from_slice(b"-and-more");
                files.insert(Path::new(&format!("{folder}/{number}")), inode);
            }
        }
        files.sync_folder(Path::new("named"));
        files
    }

    fn lengths(files: &Files, folder: &str) -> Vec<usize> {
        let paths = files.in_folder(Path::new(folder));
        let inodes = paths.filter_map(|path| files.get(path));
        inodes.map(Inode::length).collect()
    }

    #[test]
    fn what_was_synced_is_kept_whatever_else_is_lost() {
        for seed in 0..50 {
            for unsynced in [
                Unsynced::Kept,
                Unsynced::Dropped,
                Unsynced::Torn(seed),
                Unsynced::Reordered(seed),
            ] {
                let files = files().after_power_loss(unsynced);
                let named = lengths(&files, "named");
                assert_eq!(named.len(), 40);
                assert!(named.iter().all(|length| (6..=15).contains(length)));
            }
        }
    }

    #[test]
    fn the_unsynced_is_kept_dropped_torn_or_reordered() {
        let after = |unsynced| {
            let files = files().after_power_loss(unsynced);
            (lengths(&files, "named"), lengths(&files, "unnamed"))
        };
        assert_eq!(after(Unsynced::Kept), (vec![15; 40], vec![15; 40]));
        assert_eq!(after(Unsynced::Dropped), (vec![6; 40], vec![]));
        let (named, unnamed) = after(Unsynced::Torn(1));
        assert!(BTreeSet::from_iter(named).len() > 4);
        assert!(!unnamed.is_empty() && unnamed.len() < 40);
        let (named, unnamed) = after(Unsynced::Reordered(1));
        assert_eq!(BTreeSet::from_iter(named), BTreeSet::from([6, 15]));
        assert!(!unnamed.is_empty() && unnamed.len() < 40);
    }

    #[test]
    fn a_removed_file_comes_back_unless_its_folder_was_synced() {
        let mut files = files();
        files.remove(Path::new("named/1"));
        files = files.after_power_loss(Unsynced::Dropped);
        assert!(files.get(Path::new("named/1")).is_some());
        files.remove(Path::new("named/1"));
        files.sync_folder(Path::new("named"));
        files = files.after_power_loss(Unsynced::Dropped);
        assert!(files.get(Path::new("named/1")).is_none());
    }
}
