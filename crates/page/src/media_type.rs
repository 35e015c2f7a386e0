//! What a body is: by its `Content-Type`, or by its first bytes when there is
//! none that says anything.

use crate::attributes::is_space;
use crate::meta_charset::charset_in;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Html,
    Xhtml,
    Text,
    /// Something this room cannot read.
    Other,
}

pub(crate) fn media_of(content_type: Option<&str>, body: &[u8]) -> Media {
    let essence = content_type
        .and_then(|value| value.split([';', ',']).next())
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "text/html" => Media::Html,
        "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => Media::Xhtml,
        "text/plain" => Media::Text,
        "" | "unknown/unknown" | "application/unknown" | "*/*" if looks_like_html(body) => {
            Media::Html
        }
        _ => Media::Other,
    }
}

pub(crate) fn http_charset(content_type: Option<&str>) -> Option<&str> {
    std::str::from_utf8(charset_in(content_type?.as_bytes())?).ok()
}

/// The beginnings by which the MIME sniffing standard knows HTML.
fn looks_like_html(body: &[u8]) -> bool {
    const OPENINGS: [&[u8]; 16] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a",
        b"<style",
        b"<title",
        b"<b",
        b"<body",
        b"<br",
        b"<p",
    ];
    const SNIFFED: usize = 1024;
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = body.iter().position(|b| !is_space(*b)).unwrap_or(0);
    let body = &body[start..body.len().min(start + SNIFFED)];
    let begins_with = |opening: &[u8]| {
        body.get(..opening.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(opening))
    };
    begins_with(b"<!--")
        || OPENINGS.iter().any(|opening| {
            begins_with(opening) && matches!(body.get(opening.len()), Some(b' ' | b'>'))
        })
        || (begins_with(b"<?xml")
            && body
                .windows(5)
                .any(|found| found.eq_ignore_ascii_case(b"<html")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_unless_it_says_nothing() {
        let page = b"\n<!DOCTYPE html><a href=x>";
        assert_eq!(media_of(Some("Text/HTML; charset=x"), b""), Media::Html);
        assert_eq!(media_of(Some("application/xhtml+xml"), b""), Media::Xhtml);
        assert_eq!(media_of(Some("text/plain"), page), Media::Text);
        assert_eq!(media_of(Some("image/png"), page), Media::Other);
        assert_eq!(media_of(None, page), Media::Html);
        assert_eq!(
            media_of(Some(""), b"<?xml version='1.0'?><html>"),
            Media::Html
        );
        assert_eq!(media_of(None, b"<apple"), Media::Other);
        assert_eq!(media_of(None, b""), Media::Other);
    }
}
