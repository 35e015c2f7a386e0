//! How a reference to a slot is written: absolute, from the root, relative,
//! with and without detours. All forms of a reference mean the same URL.

use crate::host::Host;
use crate::links::{Link, Place};
use crate::path::write_number;
use crate::web::Web;

/// The page on which references stand.
pub struct Base<'a> {
    pub host: &'a Host,
    /// Path up to and with the last slash.
    pub folder: &'a [u8],
    /// The page is served at other URLs too: references start from the root.
    pub rooted: bool,
}

/// The folder part of a path with its query.
pub fn folder_of(path: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'?', path).unwrap_or(path.len());
    let slash = memchr::memrchr(b'/', &path[..end]).unwrap_or(0);
    &path[..slash + 1]
}

impl Web {
    /// Write the reference for an attribute value: `&` is `&amp;`.
    pub(crate) fn write_href(
        &self,
        base: &Base<'_>,
        link: &Link,
        path: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        path.clear();
        if link.external {
            // A home page has the same path everywhere; only a deep link
            // needs to know the host it leads to.
            match link.slot {
                crate::slot::Slot::Page(0) => path.push(b'/'),
                slot => self.write_path(&self.host(link.rank), slot, path),
            }
            match link.form % 32 {
                0 => self.write_upper_case(link.rank, out),
                1 => {
                    out.extend_from_slice(b"//");
                    self.write_authority(link.rank, out);
                }
                _ => self.write_origin(link.rank, out),
            }
            // Home pages are often written without the slash.
            if !(path.len() == 1 && link.form >> 8 & 3 == 0) {
                write_escaped(path, out);
            }
        } else {
            self.write_path(base.host, link.slot, path);
            self.write_own(base, link, path, out);
        }
        if link.form >> 16 & 15 == 0 {
            out.extend_from_slice(b"#part-");
            write_number(link.form >> 20 & 7, out);
        }
    }

    fn write_own(&self, base: &Base<'_>, link: &Link, path: &[u8], out: &mut Vec<u8>) {
        let form = match (link.form % 32, link.place) {
            (form, _) if base.rooted => form % 8 + 4,
            (_, Place::Crumbs) => 31,
            (form, Place::Nav | Place::Footer) => form / 2 + 3,
            // Bytes that a mirror repeats cannot name their host.
            (form @ 0..4, _) if base.host.mirrored => form + 20,
            (form, _) => form,
        };
        match form {
            0 => self.write_upper_case(base.host.rank, out),
            1..3 => self.write_origin(base.host.rank, out),
            3 if !base.host.mirrored => {
                out.extend_from_slice(b"//");
                self.write_authority(base.host.rank, out);
            }
            4 => out.extend_from_slice(b"/old/.."),
            5 => out.extend_from_slice(b"/."),
            3 | 6..16 => {}
            16..19 => {
                out.extend_from_slice(b"./");
                return write_escaped(relative(base.folder, path, out), out);
            }
            _ => {
                let before = out.len();
                let rest = relative(base.folder, path, out);
                if rest.is_empty() && out.len() == before {
                    out.extend_from_slice(b"./");
                }
                return write_escaped(rest, out);
            }
        }
        write_escaped(path, out);
    }

    fn write_upper_case(&self, rank: u32, out: &mut Vec<u8>) {
        let start = out.len();
        self.write_origin(rank, out);
        out[start..].make_ascii_uppercase();
    }
}

/// Write the steps up to the last common folder; what is left is the way down.
fn relative<'a>(folder: &[u8], path: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let target = folder_of(path);
    let mut common = 0;
    for (at, (a, b)) in folder.iter().zip(target).enumerate() {
        if a != b {
            break;
        }
        if *a == b'/' {
            common = at + 1;
        }
    }
    for _ in memchr::memchr_iter(b'/', &folder[common..]) {
        out.extend_from_slice(b"../");
    }
    &path[common..]
}

fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b"&amp;");
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
