//! Sitemaps: one file on small hosts, an index of many on large ones. They
//! list the pages of the tree and the unlinked ones.

use crate::hash::mix;
use crate::host::{Host, salt};
use crate::path::write_number;
use crate::slot::{Slot, UNLINKED};
use crate::web::Web;

/// URLs in one file.
const PER_FILE: u64 = 2_000;
/// What the protocol allows an index to name.
const MAX_FILES: u64 = 50_000;

const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

impl Web {
    /// Write the sitemap at a path, if the host has one there.
    pub(crate) fn write_sitemap(&self, host: &Host, path: &str, out: &mut Vec<u8>) -> bool {
        if !host.has_sitemap {
            return false;
        }
        let entries = host.pages() + UNLINKED.count(host.pages());
        let files = entries.div_ceil(PER_FILE).min(MAX_FILES);
        if path == "/sitemap.xml" {
            if files == 1 {
                self.write_urls(host, 0, entries, out);
            } else {
                self.write_index(host, files, out);
            }
            return true;
        }
        let number = path
            .strip_prefix("/sitemap-")
            .and_then(|rest| rest.strip_suffix(".xml"))
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse::<u64>().ok());
        match number {
            Some(number) if files > 1 && number < files => {
                let first = number * PER_FILE;
                self.write_urls(host, first, (first + PER_FILE).min(entries), out);
                true
            }
            _ => false,
        }
    }

    fn write_index(&self, host: &Host, files: u64, out: &mut Vec<u8>) {
        open("sitemapindex", out);
        for number in 0..files {
            out.extend_from_slice(b"<sitemap><loc>");
            self.write_origin(host.rank, out);
            out.extend_from_slice(b"/sitemap-");
            write_number(number, out);
            out.extend_from_slice(b".xml</loc></sitemap>\n");
        }
        out.extend_from_slice(b"</sitemapindex>\n");
    }

    /// The unlinked pages come first: they are what a sitemap is read for.
    fn write_urls(&self, host: &Host, first: u64, end: u64, out: &mut Vec<u8>) {
        let unlinked = UNLINKED.count(host.pages());
        open("urlset", out);
        for entry in first..end {
            let slot = if entry < unlinked {
                Slot::Unlinked(entry)
            } else {
                Slot::Page(entry - unlinked)
            };
            out.extend_from_slice(b"<url><loc>");
            self.write_url(host, slot, out);
            let day = mix(self.seed, salt::TEXT, host.content.into(), slot.key()) % 28 + 1;
            out.extend_from_slice(b"</loc><lastmod>2025-11-");
            out.extend_from_slice(&[b'0' + (day / 10) as u8, b'0' + (day % 10) as u8]);
            out.extend_from_slice(b"</lastmod></url>\n");
        }
        out.extend_from_slice(b"</urlset>\n");
    }
}

fn open(element: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<");
    out.extend_from_slice(element.as_bytes());
    out.extend_from_slice(b" xmlns=\"");
    out.extend_from_slice(NAMESPACE.as_bytes());
    out.extend_from_slice(b"\">\n");
}
