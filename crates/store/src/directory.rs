//! The crawl directory: its folders, its identity and its lock.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::archive::is_archive_name;
use crate::disk::{Disk, Locked, RealDisk, is_unwritable};
use crate::reader::journals_in;

/// The version of the directory's layout and of the journal.
pub const FORMAT: u32 = 2;

/// The file in `state` that names what the state is made of.
pub const MANIFEST: &str = "manifest.json";

const IDENTITY: &str = "identity.toml";

/// How the last line of the identity begins: a hash seed that changed
/// unnoticed would have everything visited a second time.
const CHECKSUM: &str = "checksum = ";

/// What a crawl's files depend on. Another version of the program either
/// finds the same values or refuses to mix its own with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub format: u32,
    pub normaliser: u32,
    pub suffix_list: String,
    pub partitions: u16,
    pub hash_seed: u64,
    pub created: String,
    pub program: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} is in use by process {holder}", path.display())]
    InUse { path: PathBuf, holder: String },
    #[error("{} is not a crawl directory (no state/identity.toml in it)", .0.display())]
    NotACrawl(PathBuf),
    #[error("{}: state/identity.toml is lost, but journal or state are there", .0.display())]
    IdentityLost(PathBuf),
    #[error(
        "{}: warc/{file} is there, but no journal that could name it; nothing was changed",
        path.display()
    )]
    ArchiveOfOthers { path: PathBuf, file: String },
    #[error("{}: state/identity.toml cannot be read: {reason}", path.display())]
    BadIdentity { path: PathBuf, reason: String },
    #[error(
        "{} was made with {field} {theirs}, this program has {ours}; \
         use the program that made it ({program})", path.display()
    )]
    OtherVersion {
        path: PathBuf,
        field: &'static str,
        theirs: String,
        ours: String,
        program: String,
    },
}

/// A crawl directory; holding one with the lock means owning the crawl.
pub struct CrawlDirectory {
    path: PathBuf,
    identity: Identity,
    _lock: Option<Box<dyn Any + Send>>,
}

impl CrawlDirectory {
    /// Whether a crawl is there, be it one that has lost its identity.
    pub fn exists(path: &Path) -> bool {
        identity_path(path).is_file() || has_crawl(&RealDisk, path).unwrap_or(false)
    }

    /// Open for crawling: make what is missing, take the lock.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        ours: &Identity,
    ) -> Result<CrawlDirectory, DirectoryError> {
        let has_identity = |known: Vec<String>| known.iter().any(|name| name == IDENTITY);
        let state = path.join("state");
        let is_new = !has_identity(disk.list(&state).map_err(failed(&state))?);
        if is_new && !has_crawl(&**disk, path)? {
            check_archive(&**disk, path)?;
        }
        for folder in ["", "journal", "warc", "state"] {
            let folder = path.join(folder);
            disk.create_folder(&folder).map_err(failed(&folder))?;
        }
        let lock = take_lock(&**disk, path)?;
        let identity_file = identity_path(path);
        // Asked again, now that nobody else can make one.
        if !has_identity(disk.list(&state).map_err(failed(&state))?) {
            // Another hash seed would not fit what is there.
            if has_crawl(&**disk, path)? {
                return Err(DirectoryError::IdentityLost(path.to_owned()));
            }
            let text = ours
                .to_text()
                .map_err(|error| DirectoryError::BadIdentity {
                    path: path.to_owned(),
                    reason: error.to_string(),
                })?;
            disk.replace(&identity_file, text.as_bytes())
                .map_err(failed(&identity_file))?;
        }
        let mut directory = CrawlDirectory::read(&**disk, path, ours)?;
        directory._lock = Some(lock);
        Ok(directory)
    }

    /// Open for reading, with the lock if the directory can be written: so no
    /// crawl begins meanwhile. Says what kept us from locking it if not.
    pub fn read_locked(
        disk: &dyn Disk,
        path: &Path,
        ours: &Identity,
    ) -> Result<(CrawlDirectory, Option<io::Error>), DirectoryError> {
        let mut directory = CrawlDirectory::read(disk, path, ours)?;
        match take_lock(disk, path) {
            Ok(lock) => {
                directory._lock = Some(lock);
                Ok((directory, None))
            }
            Err(DirectoryError::Io { error, .. }) if is_unwritable(&error) => {
                Ok((directory, Some(error)))
            }
            Err(other) => Err(other),
        }
    }

    /// Open for reading what is committed, beside a running crawl or not.
    pub fn read(
        disk: &dyn Disk,
        path: &Path,
        ours: &Identity,
    ) -> Result<CrawlDirectory, DirectoryError> {
        let identity_file = identity_path(path);
        let bytes = match disk.read(&identity_file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(match has_crawl(disk, path)? {
                    true => DirectoryError::IdentityLost(path.to_owned()),
                    false => DirectoryError::NotACrawl(path.to_owned()),
                });
            }
            other => other.map_err(failed(&identity_file))?,
        };
        let bad = |reason: String| DirectoryError::BadIdentity {
            path: path.to_owned(),
            reason,
        };
        let text = String::from_utf8(bytes).map_err(|error| bad(error.to_string()))?;
        if !is_whole(&text) {
            return Err(bad("its checksum is wrong".to_owned()));
        }
        let identity: Identity =
            toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))?;
        identity.check(ours, path)?;
        Ok(CrawlDirectory {
            path: path.to_owned(),
            identity,
            _lock: None,
        })
    }

    /// That there is no archive without a journal: what no journal names is
    /// cut off as never committed, and that would be all of it.
    pub fn check_archive(&self, disk: &dyn Disk) -> Result<(), DirectoryError> {
        check_archive(disk, &self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub fn warc(&self) -> PathBuf {
        self.path.join("warc")
    }

    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join("crawl.toml")
    }
}

impl Identity {
    fn to_text(&self) -> Result<String, toml::ser::Error> {
        let mut text = toml::to_string(self)?;
        let sum = checksum(&text);
        text.push_str(&format!("{CHECKSUM}\"{sum}\"\n"));
        Ok(text)
    }

    fn check(&self, ours: &Identity, path: &Path) -> Result<(), DirectoryError> {
        let pairs = [
            ("format", self.format.to_string(), ours.format.to_string()),
            (
                "URL normaliser",
                self.normaliser.to_string(),
                ours.normaliser.to_string(),
            ),
            (
                "public suffix list",
                self.suffix_list.clone(),
                ours.suffix_list.clone(),
            ),
            (
                "partitions",
                self.partitions.to_string(),
                ours.partitions.to_string(),
            ),
        ];
        for (field, theirs, ours) in pairs {
            if theirs != ours {
                return Err(DirectoryError::OtherVersion {
                    path: path.to_owned(),
                    field,
                    theirs,
                    ours,
                    program: self.program.clone(),
                });
            }
        }
        Ok(())
    }
}

/// Keep everybody else from the crawl for as long as this is kept.
fn take_lock(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Any + Send>, DirectoryError> {
    let file = path.join("state").join("lock");
    let owner = std::process::id().to_string();
    match disk.lock(&file, &owner).map_err(failed(&file))? {
        Locked::Held(lock) => Ok(lock),
        Locked::InUse(holder) => Err(DirectoryError::InUse {
            path: path.to_owned(),
            holder,
        }),
    }
}

/// Whether an identity's text is what its checksum says; earlier builds wrote
/// none. It is over the text, so that values this version does not know count.
fn is_whole(text: &str) -> bool {
    text.rfind(CHECKSUM).is_none_or(|at| {
        let (values, line) = text.split_at(at);
        line.trim_end() == format!("{CHECKSUM}\"{}\"", checksum(values))
    })
}

fn checksum(values: &str) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(values.as_bytes()))
}

/// Whether there are files that only an identity tells how to read.
fn has_crawl(disk: &dyn Disk, path: &Path) -> Result<bool, DirectoryError> {
    let (journal, state) = (path.join("journal"), path.join("state"));
    let journals = journals_in(disk, &journal).map_err(failed(&journal))?;
    let known = disk.list(&state).map_err(failed(&state))?;
    Ok(!journals.is_empty() || known.iter().any(|name| name == MANIFEST))
}

fn check_archive(disk: &dyn Disk, path: &Path) -> Result<(), DirectoryError> {
    let (journal, archive) = (path.join("journal"), path.join("warc"));
    if !journals_in(disk, &journal)
        .map_err(failed(&journal))?
        .is_empty()
    {
        return Ok(());
    }
    let files = disk.list(&archive).map_err(failed(&archive))?;
    match files.into_iter().find(|name| is_archive_name(name)) {
        None => Ok(()),
        Some(file) => Err(DirectoryError::ArchiveOfOthers {
            path: path.to_owned(),
            file,
        }),
    }
}

fn identity_path(path: &Path) -> PathBuf {
    path.join("state").join(IDENTITY)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_owned();
    move |error| DirectoryError::Io { path, error }
}
