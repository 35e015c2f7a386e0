//! Whether journal and archive agree: each visit's extents hold the records
//! of that visit, and nothing else is in the files.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use rhumb_store::{Extent, State};

use super::{journal, note};

/// The files of the archive with their bytes.
type Files = BTreeMap<String, Vec<u8>>;

/// Says how many responses and revisits there are.
pub fn compare(dir: &Path, breaches: &mut Vec<String>) -> usize {
    match try_compare(dir, breaches) {
        Ok(captures) => captures,
        Err(reason) => {
            breaches.push(reason);
            0
        }
    }
}

fn try_compare(dir: &Path, breaches: &mut Vec<String>) -> Result<usize, String> {
    let visited = journal::visited(dir)?;
    let files = read_files(&dir.join("warc")).map_err(|error| error.to_string())?;
    let mut named: BTreeMap<&str, Vec<&Extent>> = BTreeMap::new();
    let (mut captures, mut wrong) = (0, Vec::new());
    for (url, visit) in &visited {
        let kinds: Vec<String> = (visit.extents.iter())
            .map(|extent| kind_of(&files, extent, url))
            .collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        match kinds[..] {
            ["response" | "revisit", "request", "metadata"] => captures += 1,
            // What was refused, or never answered, leaves nothing.
            [] if visit.state != State::Fetched => {}
            _ => wrong.push(format!("{url}: {kinds:?}")),
        }
        for extent in &visit.extents {
            named.entry(&extent.file).or_default().push(extent);
        }
    }
    note(breaches, "visits have not one capture", wrong);
    let loose = files.iter().filter_map(|(name, bytes)| {
        let extents = named.remove(name.as_str()).unwrap_or_default();
        Some(format!("{name}: {}", gap_in(bytes, extents)?))
    });
    note(
        breaches,
        "archive files hold what no visit names",
        loose.collect(),
    );
    Ok(captures)
}

fn read_files(folder: &Path) -> std::io::Result<Files> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(name.into_owned(), std::fs::read(&path)?);
    }
    Ok(files)
}

/// The type of the record at an extent, or what is wrong with it.
fn kind_of(files: &Files, extent: &Extent, url: &str) -> String {
    let bytes = files.get(&extent.file).and_then(|bytes| {
        let start = extent.offset as usize;
        bytes.get(start..start + extent.length as usize)
    });
    let Some(bytes) = bytes else {
        return format!("{extent:?} is not there");
    };
    let record = match unpack(bytes) {
        Ok(record) => record,
        Err(error) => return format!("{extent:?}: {error}"),
    };
    let text = String::from_utf8_lossy(&record);
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        values.next().map_or("", |(_, value)| value)
    };
    let of = header("warc-target-uri");
    if of != url {
        return format!("{extent:?} is of {of:?}");
    }
    header("warc-type").to_owned()
}

fn unpack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut record = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut record)?;
    } else {
        zstd::stream::copy_decode(bytes, &mut record)?;
    }
    Ok(record)
}

/// Where a file has bytes that belong to no extent, besides the `warcinfo`
/// record at its start, or to two.
fn gap_in(bytes: &[u8], mut extents: Vec<&Extent>) -> Option<String> {
    extents.sort_by_key(|extent| extent.offset);
    let Some(first) = extents.first() else {
        return Some("no visit names it".to_owned());
    };
    let info = bytes.get(..first.offset as usize).map(unpack);
    if !matches!(&info, Some(Ok(info)) if info.starts_with(b"WARC/1.1\r\nWARC-Type: warcinfo")) {
        return Some(format!("no warcinfo record before {}", first.offset));
    }
    let mut end = first.offset;
    for extent in extents {
        if extent.offset != end {
            return Some(format!("{end} is followed by {}", extent.offset));
        }
        end += extent.length;
    }
    (end != bytes.len() as u64).then(|| format!("{} bytes, {end} of them named", bytes.len()))
}
