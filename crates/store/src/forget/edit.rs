//! Archive records of pages that stay, without the names of what goes.
//!
//! Two lines of ours name another page: the `via` of a `metadata` record, and
//! what a `revisit` refers to. What servers sent is never changed.

use std::io::{self, Read};

use crate::archive::Compressor;
use crate::disk::ReadFile;
use crate::warc_reader::{Packing, WarcRecord};

/// Both kinds are a header and little else.
const MAX_RECORD: u64 = 16 << 20;

/// The lines of a record's own header that say which page it refers to.
const REFERENCES: [&str; 2] = ["warc-refers-to-target-uri", "warc-refers-to-date"];

/// The record as it is to be, packed; `None` if it names nothing that goes.
pub fn edited(
    file: &dyn ReadFile,
    offset: u64,
    record: &WarcRecord,
    packing: Packing,
    matches: &dyn Fn(&str) -> bool,
) -> io::Result<Option<Vec<u8>>> {
    let refers = record.kind == "revisit" && !record.refers_to.is_empty();
    if record.kind != "metadata" && !(refers && matches(&record.refers_to)) {
        return Ok(None);
    }
    let bytes = unpacked(file, offset, record.stored_length, packing)?;
    let Some(plain) = without_names(&bytes, refers, matches) else {
        return Ok(None);
    };
    let mut packed = Vec::new();
    Compressor::of(packing)?.append(&plain, &mut packed)?;
    Ok(Some(packed))
}

fn unpacked(
    file: &dyn ReadFile,
    offset: u64,
    length: u64,
    packing: Packing,
) -> io::Result<Vec<u8>> {
    let mut packed = vec![0; length.min(MAX_RECORD) as usize];
    file.read_exact_at(offset, &mut packed)?;
    let mut bytes = Vec::new();
    let input = &packed[..];
    match packing {
        Packing::Gzip => flate2::read::GzDecoder::new(input)
            .take(MAX_RECORD)
            .read_to_end(&mut bytes)?,
        Packing::Zstd => zstd::stream::read::Decoder::new(input)?
            .take(MAX_RECORD)
            .read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// Header and block less the lines that name what goes.
fn without_names(record: &[u8], refers: bool, matches: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
    let text_end = memchr::memmem::find(record, b"\r\n\r\n")?;
    let head = std::str::from_utf8(&record[..text_end]).ok()?;
    let block = record[text_end + 4..].strip_suffix(b"\r\n\r\n")?;
    let mut kept = block.to_vec();
    if !refers {
        let is_gone = |line: &&[u8]| {
            let via = line.strip_prefix(b"via: ").unwrap_or_default();
            let via = std::str::from_utf8(via).unwrap_or_default().trim_end();
            !via.is_empty() && matches(via)
        };
        let lines = block.split_inclusive(|byte| *byte == b'\n');
        kept = lines
            .filter(|line| !is_gone(line))
            .flatten()
            .copied()
            .collect();
        if kept.len() == block.len() {
            return None;
        }
    }
    let mut out = Vec::with_capacity(record.len());
    for line in head.split("\r\n") {
        let name = line.split(':').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if refers && REFERENCES.contains(&name.as_str()) {
            continue;
        }
        match name.as_str() {
            "content-length" => {
                out.extend_from_slice(format!("Content-Length: {}", kept.len()).as_bytes());
            }
            _ => out.extend_from_slice(line.as_bytes()),
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&kept);
    out.extend_from_slice(b"\r\n\r\n");
    Some(out)
}
