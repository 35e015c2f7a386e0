//! Reading one record of an archive file, to say whether it is whole.
//!
//! The bytes pass through a small buffer: what a record holds is looked at,
//! not kept. Whatever stands in the file, the answer is a record or a flaw.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};

use data_encoding::BASE32;
use sha1::{Digest, Sha1};
use zstd::zstd_safe::{DCtx, ResetDirective};

use crate::disk::ReadFile;

const BUFFER: usize = 16 << 10;
/// A record's own header lines; ours stay far below.
const MAX_HEAD: u64 = 64 << 10;
/// The flag of a zstd frame that ends with a checksum, and its place.
const ZSTD_FLAGS_AT: usize = 4;
const ZSTD_CHECKSUM: u8 = 0x04;

/// How the records of a file are packed, by the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    pub fn of(name: &str) -> Option<Packing> {
        if name.ends_with(".warc.gz") {
            Some(Packing::Gzip)
        } else if name.ends_with(".warc.zst") {
            Some(Packing::Zstd)
        } else {
            None
        }
    }
}

/// Whether the digest that a record states is that of what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestCheck {
    Matches,
    Differs,
    /// None is stated, or it is that of a payload kept elsewhere.
    Unchecked,
}

/// What a whole record says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcRecord {
    /// `response`, `request`, …
    pub kind: String,
    pub target: String,
    /// The URL that a revisit refers to.
    pub refers_to: String,
    /// As stated, empty if none is.
    pub payload_digest: String,
    pub digest: DigestCheck,
    /// The packing has a checksum of its own, which held.
    pub checksummed: bool,
    /// Bytes that the record takes in the file.
    pub stored_length: u64,
}

/// Why there is no whole record.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    #[error("{0}")]
    Io(io::Error),
    #[error("it cannot be unpacked")]
    Unpacking,
    #[error("it is not a WARC record")]
    NotARecord,
    #[error("it is longer or shorter than it says")]
    Length,
}

/// A part of a file, read from its beginning on.
struct Part<'a> {
    file: &'a dyn ReadFile,
    at: u64,
    end: u64,
    /// Set when the disk failed, which says nothing about the record.
    failed: &'a Cell<Option<io::Error>>,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (self.end - self.at).min(buffer.len() as u64) as usize;
        if let Err(error) = self.file.read_exact_at(self.at, &mut buffer[..length]) {
            let kind = error.kind();
            self.failed.set(Some(error));
            return Err(kind.into());
        }
        self.at += length as u64;
        Ok(length)
    }
}

/// What unpacking needs, kept from record to record: to make it anew would
/// cost more than a small record.
pub struct Unpacker {
    zstd: DCtx<'static>,
}

impl Default for Unpacker {
    fn default() -> Self {
        Unpacker {
            zstd: DCtx::create(),
        }
    }
}

/// Read the record that begins at `offset` and ends no later than `end`.
pub fn read_record(
    unpacker: &mut Unpacker,
    file: &dyn ReadFile,
    offset: u64,
    end: u64,
    packing: Packing,
) -> Result<WarcRecord, Flaw> {
    let failed = Cell::new(None);
    let part = Part {
        file,
        at: offset,
        end: end.max(offset),
        failed: &failed,
    };
    let capacity = (part.end - part.at).clamp(64, BUFFER as u64) as usize;
    let result = unpack(
        unpacker,
        BufReader::with_capacity(capacity, part),
        offset,
        packing,
    );
    match failed.take() {
        Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(Flaw::Io(error)),
        _ => result,
    }
}

fn unpack(
    unpacker: &mut Unpacker,
    mut input: BufReader<Part<'_>>,
    offset: u64,
    packing: Packing,
) -> Result<WarcRecord, Flaw> {
    let used =
        |input: &BufReader<Part<'_>>| input.get_ref().at - offset - input.buffer().len() as u64;
    match packing {
        Packing::Gzip => {
            let mut decoder = flate2::bufread::GzDecoder::new(input);
            let mut record = parse(&mut decoder)?;
            record.stored_length = used(decoder.get_ref());
            record.checksummed = true;
            Ok(record)
        }
        Packing::Zstd => {
            let start = input.fill_buf().map_err(|_| Flaw::Unpacking)?;
            let flags = *start.get(ZSTD_FLAGS_AT).ok_or(Flaw::Unpacking)?;
            // A flawed record may have left it in the middle of a frame.
            let fresh = unpacker.zstd.reset(ResetDirective::SessionOnly);
            fresh.map_err(|_| Flaw::Unpacking)?;
            let decoder = zstd::stream::read::Decoder::with_context(input, &mut unpacker.zstd);
            let mut decoder = decoder.single_frame();
            let mut record = parse(&mut decoder)?;
            record.stored_length = used(decoder.get_ref());
            record.checksummed = flags & ZSTD_CHECKSUM != 0;
            Ok(record)
        }
    }
}

/// The record's head, its block, and nothing behind.
fn parse(unpacked: &mut dyn Read) -> Result<WarcRecord, Flaw> {
    let mut input = BufReader::with_capacity(BUFFER, unpacked);
    let mut head = Head::default();
    let mut room = MAX_HEAD;
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        let limited = input.by_ref().take(room).read_until(b'\n', &mut line);
        room -= limited.map_err(|_| Flaw::Unpacking)? as u64;
        let Some(text) = line.strip_suffix(b"\r\n") else {
            return Err(Flaw::NotARecord);
        };
        match (number, text) {
            (0, b"WARC/1.1" | b"WARC/1.0") => {}
            (0, _) => return Err(Flaw::NotARecord),
            (_, b"") => break,
            (_, text) => head.note(text).ok_or(Flaw::NotARecord)?,
        }
    }
    let digest = read_block(&mut input, &head)?;
    let mut rest = Vec::with_capacity(8);
    input
        .take(5)
        .read_to_end(&mut rest)
        .map_err(|_| Flaw::Unpacking)?;
    if rest != b"\r\n\r\n" {
        return Err(Flaw::Length);
    }
    Ok(WarcRecord {
        kind: head.kind,
        target: head.target,
        refers_to: head.refers_to,
        payload_digest: head.payload_digest,
        digest,
        checksummed: false,
        stored_length: 0,
    })
}

#[derive(Default)]
struct Head {
    kind: String,
    target: String,
    refers_to: String,
    block_digest: String,
    payload_digest: String,
    length: Option<u64>,
}

impl Head {
    fn note(&mut self, line: &[u8]) -> Option<()> {
        let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        let value = value.trim();
        let field = match name.to_ascii_lowercase().as_str() {
            "warc-type" => &mut self.kind,
            "warc-target-uri" => &mut self.target,
            "warc-refers-to-target-uri" => &mut self.refers_to,
            "warc-block-digest" => &mut self.block_digest,
            "warc-payload-digest" => &mut self.payload_digest,
            "content-length" => {
                self.length = Some(value.parse().ok()?);
                return Some(());
            }
            _ => return Some(()),
        };
        value.clone_into(field);
        Some(())
    }
}

/// Pass the block through, comparing the digests that can be compared.
fn read_block(input: &mut dyn BufRead, head: &Head) -> Result<DigestCheck, Flaw> {
    let mut left = head.length.ok_or(Flaw::NotARecord)?;
    let payload_is_here = head.kind == "response" && !head.payload_digest.is_empty();
    let mut block = (!head.block_digest.is_empty()).then(Sha1::new);
    let mut payload = payload_is_here.then(Sha1::new);
    let mut http_head = HttpHead::default();
    while left > 0 {
        let bytes = input.fill_buf().map_err(|_| Flaw::Unpacking)?;
        let taken = left.min(bytes.len() as u64) as usize;
        if taken == 0 {
            return Err(Flaw::Length);
        }
        let bytes = &bytes[..taken];
        if let Some(block) = &mut block {
            block.update(bytes);
        }
        if let Some(payload) = &mut payload {
            payload.update(&bytes[http_head.passed_in(bytes)..]);
        }
        input.consume(taken);
        left -= taken as u64;
    }
    let holds = |digest: Option<Sha1>, stated: &str| match (digest, stated.strip_prefix("sha1:")) {
        (Some(digest), Some(stated)) => Some(BASE32.encode(&digest.finalize()) == stated),
        _ => None,
    };
    let checks = [
        holds(block, &head.block_digest),
        holds(payload, &head.payload_digest),
    ];
    Ok(if checks.contains(&Some(false)) {
        DigestCheck::Differs
    } else if checks.contains(&Some(true)) {
        DigestCheck::Matches
    } else {
        DigestCheck::Unchecked
    })
}

/// Finds the first empty line: behind it begins the payload.
#[derive(Default)]
struct HttpHead {
    state: LineState,
}

#[derive(Default, PartialEq)]
enum LineState {
    #[default]
    InLine,
    AtStart,
    AfterReturn,
    Ended,
}

impl HttpHead {
    /// How many of these bytes still belong to the head.
    fn passed_in(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            self.state = match (&self.state, byte) {
                (LineState::Ended, _) => return at,
                (LineState::AtStart | LineState::AfterReturn, b'\n') => LineState::Ended,
                (LineState::InLine, b'\n') => LineState::AtStart,
                (LineState::AtStart, b'\r') => LineState::AfterReturn,
                _ => LineState::InLine,
            };
        }
        bytes.len()
    }
}
