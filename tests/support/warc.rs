//! A second opinion on the archive: a small reader of its own.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// One record: its headers with names in lower case, and its block.
pub struct Record {
    pub headers: BTreeMap<String, String>,
    pub block: Vec<u8>,
}

impl Record {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn kind(&self) -> &str {
        self.header("warc-type")
    }

    pub fn url(&self) -> &str {
        self.header("warc-target-uri")
    }

    pub fn is_capture(&self) -> bool {
        matches!(self.kind(), "response" | "revisit")
    }
}

/// The records of each archive file of a crawl directory.
pub fn read(dir: &Path) -> Vec<Vec<Record>> {
    let mut files: Vec<_> = std::fs::read_dir(dir.join("warc"))
        .expect("the archive's folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files.iter().map(|file| records(&unpacked(file))).collect()
}

fn unpacked(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).expect("an archive file");
    let mut plain = Vec::new();
    if file.extension().is_some_and(|extension| extension == "zst") {
        zstd::stream::copy_decode(&bytes[..], &mut plain).expect("zstd frames");
    } else {
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut plain)
            .expect("gzip members");
    }
    plain
}

fn records(mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let head = find(bytes, b"\r\n\r\n").expect("the end of a record's head");
        let text = std::str::from_utf8(&bytes[..head]).expect("a head in UTF-8");
        let mut lines = text.split("\r\n");
        assert_eq!(lines.next(), Some("WARC/1.1"));
        let headers: BTreeMap<String, String> = lines
            .map(|line| line.split_once(": ").expect("a header line"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length: usize = headers["content-length"].parse().expect("a length");
        let (block, rest) = bytes[head + 4..].split_at(length);
        bytes = rest.strip_prefix(b"\r\n\r\n").expect("the end of a record");
        records.push(Record {
            headers,
            block: block.to_vec(),
        });
    }
    records
}

pub fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
