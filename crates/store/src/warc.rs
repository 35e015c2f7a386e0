//! WARC 1.1 records, as bytes.
//!
//! One visit gives a `response` (or a `revisit`, when the same payload is in
//! the archive already), the `request` that led to it, and a `metadata`
//! record that says how the crawl came there.

use std::io::Write;

use data_encoding::BASE32;
use sha1::{Digest, Sha1};

use crate::clock::Timestamp;

const REVISIT_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// Request headers that never reach the archive.
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// The earlier visit with the same payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revisit {
    pub url: String,
    pub time: Timestamp,
}

/// What went over the wire in one visit.
#[derive(Debug, Clone)]
pub struct Capture<B> {
    pub url: String,
    pub time: Timestamp,
    /// The server's IP address.
    pub address: String,
    /// The request head exactly as sent.
    pub request: B,
    /// The response exactly as received: head, then body with its framing.
    pub wire: B,
    pub head_length: usize,
    pub payload_digest: [u8; 20],
    /// The body on the wire has transfer framing (chunks) around the payload.
    pub framed: bool,
    /// `length`, `time`, `disconnect`, or empty when the body is whole.
    pub truncated: &'static str,
    pub revisit: Option<Revisit>,
    pub via: String,
    pub depth: u32,
    pub fetch_micros: u64,
}

pub fn payload_digest(payload: &[u8]) -> [u8; 20] {
    Sha1::digest(payload).into()
}

pub(crate) fn digest_text(digest: &[u8; 20]) -> String {
    format!("sha1:{}", BASE32.encode(digest))
}

/// A record's identity: a version 4 UUID as a URN.
pub struct RecordId(pub u128);

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = (self.0 & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        write!(
            f,
            "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
            bits >> 96,
            bits >> 80 & 0xffff,
            bits >> 64 & 0xffff,
            bits >> 48 & 0xffff,
            bits & 0xffff_ffff_ffff
        )
    }
}

/// Writing to a `Vec` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{
        let _ = write!($out, $($text)*);
        $out.extend_from_slice(b"\r\n");
    }};
}

fn begin(out: &mut Vec<u8>, kind: &str, id: &RecordId, time: Timestamp) {
    out.clear();
    line!(out, "WARC/1.1");
    line!(out, "WARC-Type: {kind}");
    line!(out, "WARC-Record-ID: {id}");
    line!(out, "WARC-Date: {time}");
}

fn finish(out: &mut Vec<u8>, content_type: &str, blocks: &[&[u8]]) {
    let length: usize = blocks.iter().map(|block| block.len()).sum();
    line!(out, "Content-Type: {content_type}");
    line!(out, "Content-Length: {length}");
    out.extend_from_slice(b"\r\n");
    for block in blocks {
        out.extend_from_slice(block);
    }
    out.extend_from_slice(b"\r\n\r\n");
}

pub fn warcinfo(out: &mut Vec<u8>, id: &RecordId, time: Timestamp, file: &str, fields: &str) {
    begin(out, "warcinfo", id, time);
    line!(out, "WARC-Filename: {file}");
    finish(out, "application/warc-fields", &[fields.as_bytes()]);
}

/// The response, or a revisit that keeps only its head.
pub fn response<B: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    id: &RecordId,
    info: &RecordId,
    capture: &Capture<B>,
) {
    let wire = capture.wire.as_ref();
    let kind = if capture.revisit.is_some() {
        "revisit"
    } else {
        "response"
    };
    begin(out, kind, id, capture.time);
    line!(out, "WARC-Target-URI: {}", capture.url);
    line!(out, "WARC-IP-Address: {}", capture.address);
    line!(out, "WARC-Warcinfo-ID: {info}");
    // Readers take the digest of a chunked payload with its framing, the
    // standard without: there the digest of the whole block says it plainly.
    if capture.framed && capture.revisit.is_none() {
        let digest = digest_text(&payload_digest(wire));
        line!(out, "WARC-Block-Digest: {digest}");
    } else {
        let digest = digest_text(&capture.payload_digest);
        line!(out, "WARC-Payload-Digest: {digest}");
    }
    if !capture.truncated.is_empty() {
        line!(out, "WARC-Truncated: {}", capture.truncated);
    }
    let block = match &capture.revisit {
        None => wire,
        Some(earlier) => {
            line!(out, "WARC-Profile: {REVISIT_PROFILE}");
            line!(out, "WARC-Refers-To-Target-URI: {}", earlier.url);
            line!(out, "WARC-Refers-To-Date: {}", earlier.time);
            &wire[..capture.head_length.min(wire.len())]
        }
    };
    finish(out, "application/http; msgtype=response", &[block]);
}

pub fn request<B: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    id: &RecordId,
    response: &RecordId,
    capture: &Capture<B>,
) {
    begin(out, "request", id, capture.time);
    line!(out, "WARC-Target-URI: {}", capture.url);
    line!(out, "WARC-Concurrent-To: {response}");
    let blocks = without_secrets(capture.request.as_ref());
    finish(out, "application/http; msgtype=request", &blocks);
}

pub fn metadata<B: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    id: &RecordId,
    response: &RecordId,
    capture: &Capture<B>,
) {
    let mut fields = Vec::with_capacity(128);
    if !capture.via.is_empty() {
        line!(fields, "via: {}", capture.via);
    }
    line!(fields, "hopsFromSeed: {}", capture.depth);
    line!(fields, "fetchTimeMs: {}", capture.fetch_micros / 1000);
    begin(out, "metadata", id, capture.time);
    line!(out, "WARC-Target-URI: {}", capture.url);
    line!(out, "WARC-Concurrent-To: {response}");
    finish(out, "application/warc-fields", &[&fields]);
}

/// The request's lines less those that carry secrets.
fn without_secrets(request: &[u8]) -> Vec<&[u8]> {
    let is_secret = |line: &&[u8]| {
        let name = line.split(|&b| b == b':').next().unwrap_or(&[]);
        SECRETS
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
    };
    request
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| !is_secret(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_ids_are_version_4_uuids() {
        assert_eq!(
            RecordId(u128::MAX).to_string(),
            "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>"
        );
        assert_eq!(
            RecordId(0).to_string(),
            "<urn:uuid:00000000-0000-4000-8000-000000000000>"
        );
    }

    #[test]
    fn secret_headers_stay_out_of_the_archive() {
        let request = b"GET / HTTP/1.1\r\nhost: a\r\nCookie: s=1\r\naUTHorization: Basic x\r\n\r\n";
        let kept = without_secrets(request).concat();
        assert_eq!(kept, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    }
}
