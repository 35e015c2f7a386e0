//! Content codings: from the payload to the body, never longer than allowed.

use std::io::Read;

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use memchr::memmem;

use crate::Truncation;

/// Nobody stacks more codings than this in good faith.
const MAX_CODINGS: usize = 5;

/// What servers write in that header and what changes nothing.
const NO_CODINGS: [&[u8]; 11] = [
    b"",
    b"identity",
    b"none",
    b"utf-8",
    b"utf8",
    b"us-ascii",
    b"iso-8859-1",
    b"windows-1252",
    b"7bit",
    b"8bit",
    b"binary",
];

/// The longest part of an unknown name worth repeating.
const MAX_NAME_SHOWN: usize = 32;

/// How every member of a gzip body begins: magic number, deflate.
const GZIP_MEMBER: [u8; 3] = [0x1f, 0x8b, 8];

/// gzip allows any number of members one after another; a body of empty
/// members would buy a set-up of the decoder for every twenty bytes.
const MAX_MEMBERS: usize = 1024;

/// RFC 9659: zstd for the web needs no window above 8 MB.
const MAX_ZSTD_WINDOW_LOG: u32 = 23;

/// Brotli asks for its input in pieces of this size.
const BROTLI_INPUT: usize = 4096;

/// deflate cannot expand by more than this.
const MAX_DEFLATE_RATIO: u64 = 1032;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Take the content codings off. Without any the payload is given back as it
/// is. What went wrong, if anything, is told next to the prefix that could be
/// read.
pub(crate) fn decode(
    headers: &HeaderMap,
    payload: &Bytes,
    max_body: u64,
) -> (Bytes, Option<Truncation>) {
    let Some(codings) = codings(headers) else {
        return (Bytes::new(), Some(Truncation::Decode));
    };
    let mut body = payload.clone();
    let mut truncated = None;
    // The last coding in the header was put on last and comes off first.
    for coding in codings.iter().rev() {
        // Nothing at all is what a redirect or an error often sends with a
        // coding in its header: that is an empty body, not a broken one.
        if body.is_empty() {
            break;
        }
        let (decoded, trouble) = decode_one(*coding, &body, max_body);
        body = decoded.into();
        truncated = truncated.or(trouble);
    }
    (body, truncated)
}

/// The codings in the order they were put on, `None` when there are too many.
/// Names that mean nothing, and those nobody knows (`utf-8` is often written
/// there), are passed over as browsers do.
fn codings(headers: &HeaderMap) -> Option<Vec<Coding>> {
    let mut known = Vec::new();
    for coding in names(headers).filter_map(coding_of) {
        if known.len() == MAX_CODINGS {
            return None;
        }
        known.push(coding);
    }
    Some(known)
}

/// A coding that nobody here can take off, if the header names one.
pub(crate) fn unknown_coding(headers: &HeaderMap) -> Option<String> {
    let is_unknown = |name: &&[u8]| {
        coding_of(name).is_none() && !NO_CODINGS.contains(&&*name.to_ascii_lowercase())
    };
    let shown = |name: &[u8]| {
        let shown = &name[..name.len().min(MAX_NAME_SHOWN)];
        shown.escape_ascii().to_string()
    };
    names(headers).find(is_unknown).map(shown)
}

fn names(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(CONTENT_ENCODING).into_iter();
    values
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
}

fn coding_of(name: &[u8]) -> Option<Coding> {
    Some(match name.to_ascii_lowercase().as_slice() {
        b"gzip" | b"x-gzip" => Coding::Gzip,
        b"deflate" => Coding::Deflate,
        b"br" => Coding::Brotli,
        b"zstd" => Coding::Zstd,
        _ => return None,
    })
}

fn decode_one(coding: Coding, input: &[u8], max: u64) -> (Vec<u8>, Option<Truncation>) {
    match coding {
        Coding::Gzip => gzip(input, max),
        Coding::Deflate => deflate(input, max),
        Coding::Brotli => drain(Decompressor::new(input, BROTLI_INPUT), max),
        Coding::Zstd => zstd(input, max),
    }
}

fn gzip(input: &[u8], max: u64) -> (Vec<u8>, Option<Truncation>) {
    if let Some(whole) = gzip_at_once(input, max) {
        return (whole, None);
    }
    let mut out = Vec::new();
    let mut rest = input;
    for _ in 0..MAX_MEMBERS {
        match inflate(Decompress::new_gzip(15), rest, &mut out, max) {
            Ok(used) => rest = &rest[used..],
            Err(trouble) => return (out, Some(trouble)),
        }
        // What follows a member and is no other one is padding.
        if !rest.starts_with(&GZIP_MEMBER) {
            return (out, None);
        }
    }
    (out, Some(Truncation::Decode))
}

/// Most bodies are one whole member that states its size in the last four
/// bytes: those go through libdeflate in one go, which takes about half the
/// time. Whatever is odd in the least is left to the careful way.
fn gzip_at_once(input: &[u8], max: u64) -> Option<Vec<u8>> {
    let (_, trailer) = input.split_last_chunk::<4>()?;
    let size = u64::from(u32::from_le_bytes(*trailer));
    if size > max || size > (input.len() as u64).saturating_mul(MAX_DEFLATE_RATIO) {
        return None;
    }
    // libdeflate would not tell that it left a second member unread.
    if memmem::find(&input[GZIP_MEMBER.len()..], &GZIP_MEMBER).is_some() {
        return None;
    }
    let mut out = vec![0; usize::try_from(size).ok()?];
    let written = libdeflater::Decompressor::new()
        .gzip_decompress(input, &mut out)
        .ok()?;
    (written == out.len()).then_some(out)
}

/// By the standard this is zlib, but many servers send it without the header.
fn deflate(input: &[u8], max: u64) -> (Vec<u8>, Option<Truncation>) {
    let looks_like_zlib = match input {
        [cmf, flags, ..] => {
            cmf & 0x0f == 8 && u16::from_be_bytes([*cmf, *flags]).is_multiple_of(31)
        }
        _ => false,
    };
    let mut out = Vec::new();
    if looks_like_zlib {
        match inflate(Decompress::new(true), input, &mut out, max) {
            Ok(_) => return (out, None),
            Err(trouble) if !out.is_empty() => return (out, Some(trouble)),
            Err(_) => {}
        }
    }
    let trouble = inflate(Decompress::new(false), input, &mut out, max).err();
    (out, trouble)
}

/// Run one deflate stream to its end and say how much of the input it took.
fn inflate(
    mut decoder: Decompress,
    input: &[u8],
    out: &mut Vec<u8>,
    max: u64,
) -> Result<usize, Truncation> {
    let mut used = 0;
    loop {
        let room = max.saturating_sub(out.len() as u64);
        // One byte more than allowed tells "full" from "over".
        let step = room.saturating_add(1).min(64 << 10) as usize;
        out.reserve(step);
        let before = decoder.total_in();
        let written = decoder.total_out();
        let result = decoder.decompress_vec(&input[used..], out, FlushDecompress::None);
        used += (decoder.total_in() - before) as usize;
        if out.len() as u64 > max {
            out.truncate(max as usize);
            return Err(Truncation::Expanded);
        }
        let stuck = decoder.total_in() == before && decoder.total_out() == written;
        match result {
            Ok(Status::StreamEnd) => return Ok(used),
            Ok(_) if !stuck => {}
            // No progress with room to write: the input ends too early.
            Ok(_) | Err(_) => return Err(Truncation::Decode),
        }
    }
}

fn zstd(input: &[u8], max: u64) -> (Vec<u8>, Option<Truncation>) {
    let decoder = zstd::stream::read::Decoder::with_buffer(input).and_then(|mut decoder| {
        decoder
            .window_log_max(MAX_ZSTD_WINDOW_LOG)
            .map(|()| decoder)
    });
    match decoder {
        Ok(decoder) => drain(decoder, max),
        Err(_) => (Vec::new(), Some(Truncation::Decode)),
    }
}

/// Read to the end, or to the limit. What was read before an error stays.
fn drain(reader: impl Read, max: u64) -> (Vec<u8>, Option<Truncation>) {
    let mut out = Vec::new();
    let result = reader.take(max.saturating_add(1)).read_to_end(&mut out);
    if out.len() as u64 > max {
        out.truncate(max as usize);
        return (out, Some(Truncation::Expanded));
    }
    (out, result.err().map(|_| Truncation::Decode))
}
