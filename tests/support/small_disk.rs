//! A real file system of a few hundred kilobytes.
//!
//! It is mounted in a mount namespace of its own, which lives as long as a
//! process that waits in it: nothing is left behind, however a test ends.

use std::path::PathBuf;

use tempfile::TempDir;

use super::patience::wait_for;
use super::program::{Running, command};

/// Mounts the folder `$1` with the size `$2`; a line on standard input gives
/// it the size `$3`.
const KEEPER: &str = r#"
mount -t tmpfs -o "size=$2" tmpfs "$1" || exit 1
echo mounted >&2
read -r _ || exit 0
mount -o "remount,size=$3" "$1" || exit 1
echo grown >&2
read -r _
"#;

pub struct SmallDisk {
    keeper: Running,
    /// Where it is mounted, in the keeper's namespace only.
    folder: TempDir,
}

impl SmallDisk {
    /// `None`, told plainly, where nothing can be mounted.
    pub fn mount(size: &str, larger: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a folder to mount on");
        // As root, or else as root of a namespace of one's own.
        for how in ["-m", "-rm"] {
            let mut unshare = command("unshare");
            unshare.args([how, "sh", "-c", KEEPER, "keeper"]);
            unshare.arg(folder.path()).args([size, larger]);
            let mut keeper = Running::spawn(unshare);
            let mounted = wait_for("a mount", || match keeper.has_ended() {
                true => Some(false),
                false => keeper.stderr_so_far().contains("mounted").then_some(true),
            });
            if mounted {
                return Some(SmallDisk { keeper, folder });
            }
        }
        eprintln!("left out: no small file system can be mounted here");
        None
    }

    /// A path on it that is good everywhere.
    pub fn path(&self, name: &str) -> String {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        let folder = self.folder.path();
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        root.join(inside).join(name).display().to_string()
    }

    /// Give it its larger size.
    pub fn grow(&mut self) {
        self.keeper.tell("grow");
        wait_for("the larger size", || {
            self.keeper.stderr_so_far().contains("grown").then_some(())
        });
    }
}
