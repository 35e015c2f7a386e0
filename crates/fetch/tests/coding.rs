//! Content codings, whole, broken and hostile.

mod support;

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rhumb_fetch::{Document, FetchConfig, Truncation};
use support::{config, fetch, run};

/// "the same words " ten times, by the reference encoder.
const BROTLI: &str = "G5UA+CVAcpBDFEsBiECmjQ4A";

fn text() -> Vec<u8> {
    (0..5000u32)
        .flat_map(|n| format!("line {n}\n").into_bytes())
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn get_limited(coding: &str, payload: &[u8], max_body: u64) -> Document {
    let mut response = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        payload.len()
    )
    .into_bytes();
    response.extend_from_slice(payload);
    let config = FetchConfig {
        max_body,
        ..config()
    };
    let document = run(fetch(config, &response)).unwrap();
    assert_eq!(document.wire, response);
    assert_eq!(document.payload, payload);
    document
}

fn get(coding: &str, payload: &[u8]) -> Document {
    get_limited(coding, payload, 64 << 20)
}

#[test]
fn every_coding_comes_off() {
    let text = text();
    let cases = [
        ("gzip", gzip(&text)),
        ("X-GZIP", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("zstd", zstd(&text)),
        ("identity", text.clone()),
        ("none, utf-8", text.clone()),
        ("gzip, identity", gzip(&text)),
        ("deflate, gzip", gzip(&zlib(&text))),
        ("zstd,gzip,deflate", zlib(&gzip(&zstd(&text)))),
    ];
    for (coding, payload) in cases {
        let document = get(coding, &payload);
        assert_eq!(document.truncated, None, "{coding}");
        assert!(document.body == text, "{coding}");
    }
}

#[test]
fn brotli_comes_off() {
    let payload = data_encoding::BASE64.decode(BROTLI.as_bytes()).unwrap();
    let document = get("br", &payload);
    assert_eq!(document.truncated, None);
    assert_eq!(document.body, "the same words ".repeat(10));
    let document = get("br", &payload[..payload.len() - 3]);
    assert_eq!(document.truncated, Some(Truncation::Decode));
    let document = get("br", b"\xff\xff\xff not brotli at all");
    assert_eq!(document.truncated, Some(Truncation::Decode));
}

#[test]
fn without_a_coding_nothing_is_copied() {
    let document = get("identity", b"hello");
    assert_eq!(document.body.as_ptr(), document.payload.as_ptr());
}

#[test]
fn gzip_members_follow_each_other() {
    let text = text();
    let mut payload = gzip(&text);
    payload.extend(gzip(b"second"));
    payload.extend(gzip(b""));
    let document = get("gzip", &payload);
    assert_eq!(document.truncated, None);
    assert!(document.body == [text.as_slice(), b"second"].concat());
    // Two of the same size: the size at the end fits the first alone.
    let document = get("gzip", &[gzip(b"one"), gzip(b"two")].concat());
    assert_eq!(document.body, "onetwo");
}

#[test]
fn padding_after_gzip_is_ignored() {
    let document = get("gzip", &[gzip(b"hello").as_slice(), &[0; 100]].concat());
    assert_eq!(document.truncated, None);
    assert_eq!(document.body, "hello");
}

#[test]
fn broken_codings_keep_their_prefix() {
    let text = text();
    for (coding, payload) in [
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
    ] {
        let cut = &payload[..payload.len() / 2];
        let document = get(coding, cut);
        assert_eq!(document.truncated, Some(Truncation::Decode), "{coding}");
        assert!(document.body.len() > text.len() / 4, "{coding}");
        assert!(text.starts_with(&document.body), "{coding}");
    }
    for (coding, payload) in [("gzip", gzip(&text)), ("deflate", zlib(&text))] {
        let mut spoiled = payload.clone();
        let middle = payload.len() / 2;
        spoiled[middle..middle + 40].fill(0xff);
        let document = get(coding, &spoiled);
        assert_eq!(document.truncated, Some(Truncation::Decode), "{coding}");
        assert!(!document.body.is_empty(), "{coding}");
    }
    let payload = zstd(&text);
    let document = get("zstd", &payload[..payload.len() - 10]);
    assert_eq!(document.truncated, Some(Truncation::Decode));
    assert!(text.starts_with(&document.body));
}

#[test]
fn what_is_not_coded_at_all() {
    for coding in ["gzip", "deflate", "zstd"] {
        let document = get(coding, b"<html>plain</html>");
        assert_eq!(document.truncated, Some(Truncation::Decode), "{coding}");
        assert_eq!(document.payload, "<html>plain</html>");
    }
}

#[test]
fn an_empty_body_is_not_broken() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let document = get(coding, b"");
        assert_eq!(document.truncated, None, "{coding}");
        assert!(document.body.is_empty());
    }
}

#[test]
fn bombs_are_cut_at_the_limit() {
    let zeros = vec![0; 20 << 20];
    for (coding, payload) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("zstd", zstd(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        let document = get_limited(coding, &payload, 1 << 20);
        assert_eq!(document.truncated, Some(Truncation::Expanded), "{coding}");
        assert_eq!(document.body.len(), 1 << 20, "{coding}");
    }
}

#[test]
fn a_body_of_exactly_the_limit_is_whole() {
    for (coding, payload) in [("gzip", gzip(&[7; 1000])), ("zstd", zstd(&[7; 1000]))] {
        let document = get_limited(coding, &payload, 1000);
        assert_eq!(document.truncated, None, "{coding}");
        assert_eq!(document.body.len(), 1000);
    }
}

#[test]
fn too_many_codings_are_refused() {
    let document = get("gzip,gzip,gzip,gzip,gzip,gzip", b"x");
    assert_eq!(document.truncated, Some(Truncation::Decode));
    assert!(document.body.is_empty());
}

#[test]
fn a_flood_of_empty_members_ends() {
    let document = get("gzip", &gzip(b"").repeat(5000));
    assert_eq!(document.truncated, Some(Truncation::Decode));
}
