//! A little crawl's journal and archive, written as the commit writes them.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rhumb_store::{
    Archive, ArchiveFormat, Capture, CompactOptions, CompactReport, Disk, Extent, Fate,
    ForgetError, ForgetReport, Journal, JournalError, JournalReader, LinkRecord, ManualClock,
    MemoryDisk, Outcome, Position, RealDisk, Record, Revisit, Timestamp, Visit, compact, forget,
    journals_in, payload_digest,
};

/// A place to write to, in memory or in real files.
pub struct Place {
    pub disk: Arc<dyn Disk>,
    pub root: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub fn in_memory(memory: &MemoryDisk) -> Place {
        Place {
            disk: Arc::new(memory.clone()),
            root: PathBuf::from("crawl"),
            _folder: None,
        }
    }

    pub fn real() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            disk: Arc::new(RealDisk),
            root: folder.path().to_owned(),
            _folder: Some(folder),
        };
        place.disk.create_folder(&place.journal()).unwrap();
        place.disk.create_folder(&place.warc()).unwrap();
        place
    }

    pub fn both() -> [Place; 2] {
        [Place::in_memory(&MemoryDisk::default()), Place::real()]
    }

    pub fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub fn warc(&self) -> PathBuf {
        self.root.join("warc")
    }

    pub fn recover(&self) -> u32 {
        Journal::recover(&self.disk, &self.journal(), &self.warc()).unwrap()
    }

    pub fn compact(&self, options: &CompactOptions) -> Result<CompactReport, JournalError> {
        compact(&self.disk, &self.journal(), options, &mut || Ok(()))
    }

    pub fn forget(
        &self,
        subject: &str,
        matches: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<ForgetReport, ForgetError> {
        let (journal, warc) = (self.journal(), self.warc());
        let before = &mut || Ok(());
        forget(&self.disk, &journal, &warc, subject, matches, now, before)
    }

    /// Every record of every journal.
    pub fn records(&self) -> Vec<(Position, Record)> {
        let folder = self.journal();
        let mut all = Vec::new();
        for journal in journals_in(&*self.disk, &folder).unwrap() {
            let mut reader = JournalReader::open(Arc::clone(&self.disk), &folder, journal, 0);
            while let Some(group) = reader.next_group().unwrap() {
                for (position, record) in group.records() {
                    all.push((position, record.unwrap()));
                }
            }
        }
        all
    }

    pub fn visits(&self) -> Vec<(Position, Visit)> {
        let records = self.records().into_iter();
        records
            .filter_map(|(position, record)| match record {
                Record::Visit(visit) => Some((position, *visit)),
                _ => None,
            })
            .collect()
    }

    /// All bytes of all files, as they are and unpacked.
    pub fn everything(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for folder in [self.journal(), self.warc()] {
            for name in self.disk.list(&folder).unwrap() {
                all.extend_from_slice(name.as_bytes());
                let bytes = self.disk.read(&folder.join(&name)).unwrap();
                if name.contains(".warc.") {
                    all.extend(unpacked(&name, &bytes));
                }
                all.extend(bytes);
            }
        }
        for (_, record) in self.records() {
            record.encode(&mut all);
        }
        all
    }
}

pub struct Crawl {
    pub journal: Journal,
    pub archive: Option<Archive>,
    /// The page by which those archived next were found.
    pub via: String,
    time: u64,
}

impl Crawl {
    pub fn begin(place: &Place, journal: u16, epoch: u32, format: ArchiveFormat) -> Crawl {
        Crawl::rolling(place, journal, epoch, format, 1 << 20, 1 << 20)
    }

    pub fn rolling(
        place: &Place,
        journal: u16,
        epoch: u32,
        format: ArchiveFormat,
        journal_roll: u64,
        warc_roll: u64,
    ) -> Crawl {
        let clock = ManualClock::default();
        clock.advance(Duration::from_secs(u64::from(epoch)));
        Crawl {
            journal: Journal::begin(
                Arc::clone(&place.disk),
                &place.journal(),
                journal,
                epoch,
                journal_roll,
            )
            .unwrap(),
            archive: Archive::begin(
                Arc::clone(&place.disk),
                Arc::new(clock),
                &place.warc(),
                format,
                journal,
                epoch,
                7,
                warc_roll,
                "software: test\r\n".to_owned(),
            )
            .unwrap(),
            via: String::new(),
            time: u64::from(epoch) * 1_000_000_000,
        }
    }

    /// Visit a page that says `body` and links to these.
    pub fn visit(&mut self, url: &str, body: &str, links: &[&str]) -> Position {
        let visit = self.page(url, body, links);
        self.add(visit, body, None)
    }

    pub fn page(&mut self, url: &str, body: &str, links: &[&str]) -> Visit {
        self.time += 1_000;
        let mut visit = Visit::new(url, 1, Outcome::Fetched, Timestamp(self.time));
        // Each visit of a page has a place of its own in the queue.
        visit.sequence = self.time;
        visit.status = 200;
        visit.body_bytes = body.len() as u64;
        visit.payload_digest = Some(payload_digest(body.as_bytes()));
        visit.links = links
            .iter()
            .map(|link| LinkRecord {
                url: (*link).to_owned(),
                kind: 1,
                fate: Fate::Offered,
                rel: String::new(),
                anchor: format!("anchor of {link}"),
            })
            .collect();
        visit
    }

    pub fn add(&mut self, mut visit: Visit, body: &str, revisit: Option<Revisit>) -> Position {
        if let Some(extents) = self.archive(&visit, body, revisit) {
            visit.extents = extents;
        }
        self.journal.push(&Record::Visit(Box::new(visit)))
    }

    /// Only the archive's part of a visit.
    pub fn archive(
        &mut self,
        visit: &Visit,
        body: &str,
        revisit: Option<Revisit>,
    ) -> Option<Vec<Extent>> {
        let head = b"HTTP/1.1 200 OK\r\nServer: test\r\n\r\n";
        let capture = Capture {
            url: visit.url.clone(),
            time: visit.time,
            address: "127.0.0.1".to_owned(),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            wire: [&head[..], body.as_bytes()].concat(),
            head_length: head.len(),
            payload_digest: payload_digest(body.as_bytes()),
            framed: false,
            truncated: "",
            revisit,
            via: self.via.clone(),
            depth: 1,
            fetch_micros: 10,
        };
        let archive = self.archive.as_mut()?;
        Some(archive.add(&capture).unwrap())
    }

    pub fn commit(&mut self) {
        if let Some(archive) = &mut self.archive {
            archive.flush().unwrap();
        }
        self.journal.commit().unwrap();
    }

    pub fn sync(&mut self) {
        if let Some(archive) = &mut self.archive {
            archive.sync().unwrap();
        }
        self.journal.sync().unwrap();
    }
}

/// A small generator of numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The records of an archive file, or of a part of it.
pub fn unpacked(name: &str, bytes: &[u8]) -> Vec<u8> {
    if name.ends_with(".zst") {
        return zstd::stream::decode_all(bytes).unwrap();
    }
    let mut plain = Vec::new();
    let mut members = flate2::read::MultiGzDecoder::new(bytes);
    members.read_to_end(&mut plain).unwrap();
    plain
}

pub fn mentions(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}
