//! The archive: one row of WARC files per shard, rolled by size, each record
//! compressed by itself so that it can be read by itself.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::clock::{Clock, Timestamp};
use crate::disk::{AppendFile, Disk};
use crate::visit::Extent;
use crate::warc::{self, Capture, RecordId};
use crate::warc_reader::Packing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    Gzip,
    Zstd,
    None,
}

impl ArchiveFormat {
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveFormat::Gzip => "gzip",
            ArchiveFormat::Zstd => "zstd",
            ArchiveFormat::None => "none",
        }
    }
}

impl FromStr for ArchiveFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "gzip" => Ok(ArchiveFormat::Gzip),
            "zstd" => Ok(ArchiveFormat::Zstd),
            "none" => Ok(ArchiveFormat::None),
            _ => Err(format!("`{text}` is none of gzip, zstd, none")),
        }
    }
}

/// Whether a file's name is one that an archive of ours would give it:
/// `rhumb-20261115201042-e0001-s000-00000.warc.gz`.
pub fn is_archive_name(name: &str) -> bool {
    archive_origin(name).is_some()
}

/// Who wrote an archive file: no two files of one crawl are alike in this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveOrigin {
    pub epoch: u32,
    pub shard: u16,
    pub serial: u64,
}

/// When and by whom an archive file of ours was written, by its name.
pub fn archive_origin(name: &str) -> Option<ArchiveOrigin> {
    let stem = name
        .strip_suffix(".warc.gz")
        .or_else(|| name.strip_suffix(".warc.zst"))?;
    let parts: Vec<&str> = stem.split('-').collect();
    let ["rhumb", time, epoch, shard, serial] = parts[..] else {
        return None;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let shard = shard.strip_prefix('s')?;
    let epoch = epoch.strip_prefix('e').filter(|epoch| digits(epoch))?;
    if !(digits(time) && digits(shard) && digits(serial)) {
        return None;
    }
    Some(ArchiveOrigin {
        epoch: epoch.parse().ok()?,
        shard: shard.parse().ok()?,
        serial: serial.parse().ok()?,
    })
}

/// Packs records, each by itself.
pub(crate) enum Compressor {
    Gzip(libdeflater::Compressor),
    Zstd {
        pages: zstd::bulk::Compressor<'static>,
        notes: zstd::bulk::Compressor<'static>,
    },
}

/// Records below this are notes on a page: its request, its metadata. Making
/// the tables of an entropy coder costs more there than it brings: without
/// them a note takes 6 µs in place of 17, and 66 bytes more.
const NOTE_BYTES: usize = 1024;
const NOTE_LEVEL: i32 = -1;
const PAGE_LEVEL: i32 = 1;

impl Compressor {
    pub fn of(packing: Packing) -> io::Result<Compressor> {
        Ok(match packing {
            Packing::Gzip => {
                let level = libdeflater::CompressionLvl::new(1).unwrap_or_default();
                Compressor::Gzip(libdeflater::Compressor::new(level))
            }
            Packing::Zstd => {
                let (pages, notes) = (zstd_of(PAGE_LEVEL)?, zstd_of(NOTE_LEVEL)?);
                Compressor::Zstd { pages, notes }
            }
        })
    }

    /// Append the compressed record to `out`.
    pub fn append(&mut self, record: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        match self {
            Compressor::Gzip(gzip) => {
                out.resize(start + gzip.gzip_compress_bound(record.len()), 0);
                let length = gzip
                    .gzip_compress(record, &mut out[start..])
                    .map_err(|_| io::Error::other("gzip: the bound was too small"))?;
                out.truncate(start + length);
            }
            Compressor::Zstd { pages, notes } => {
                let zstd = if record.len() < NOTE_BYTES {
                    notes
                } else {
                    pages
                };
                out.resize(start + zstd::zstd_safe::compress_bound(record.len()), 0);
                let length = zstd.compress_to_buffer(record, &mut out[start..])?;
                out.truncate(start + length);
            }
        }
        Ok(())
    }
}

fn zstd_of(level: i32) -> io::Result<zstd::bulk::Compressor<'static>> {
    let mut zstd = zstd::bulk::Compressor::new(level)?;
    // As gzip has it: after a crash it tells garbage from content.
    zstd.include_checksum(true)?;
    Ok(zstd)
}

struct OpenFile {
    name: String,
    file: Box<dyn AppendFile>,
    info: RecordId,
}

pub struct Archive {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    folder: PathBuf,
    compressor: Compressor,
    extension: &'static str,
    /// Names of files and records are made of these.
    epoch: u32,
    shard: u16,
    serial: u32,
    id_seed: u64,
    ids: u64,
    roll_bytes: u64,
    /// What every file's `warcinfo` says.
    info: String,
    open: Option<OpenFile>,
    record: Vec<u8>,
    /// Compressed records not yet written.
    buffer: Vec<u8>,
}

impl Archive {
    /// `None` when the format says that nothing is archived.
    #[expect(clippy::too_many_arguments, reason = "called once, from the shard")]
    pub fn begin(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        format: ArchiveFormat,
        shard: u16,
        epoch: u32,
        id_seed: u64,
        roll_bytes: u64,
        info: String,
    ) -> io::Result<Option<Archive>> {
        let (packing, extension) = match format {
            ArchiveFormat::None => return Ok(None),
            ArchiveFormat::Gzip => (Packing::Gzip, "warc.gz"),
            ArchiveFormat::Zstd => (Packing::Zstd, "warc.zst"),
        };
        Ok(Some(Archive {
            disk,
            clock,
            folder: folder.to_owned(),
            compressor: Compressor::of(packing)?,
            extension,
            epoch,
            shard,
            serial: 0,
            id_seed,
            ids: 0,
            roll_bytes,
            info,
            open: None,
            record: Vec::new(),
            buffer: Vec::new(),
        }))
    }

    /// Add a visit's records; they are in the file after `flush`.
    pub fn add<B: AsRef<[u8]>>(&mut self, capture: &Capture<B>) -> io::Result<Vec<Extent>> {
        self.roll_if_full()?;
        let (response, request, metadata) = (self.next_id(), self.next_id(), self.next_id());
        let mut record = std::mem::take(&mut self.record);
        let mut extents = Vec::with_capacity(3);
        let info = match &self.open {
            Some(open) => RecordId(open.info.0),
            None => self.open_next()?,
        };
        warc::response(&mut record, &response, &info, capture);
        extents.push(self.append(&record)?);
        warc::request(&mut record, &request, &response, capture);
        extents.push(self.append(&record)?);
        warc::metadata(&mut record, &metadata, &response, capture);
        extents.push(self.append(&record)?);
        self.record = record;
        Ok(extents)
    }

    /// Write what was added.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(open) = &mut self.open
            && !self.buffer.is_empty()
        {
            open.file.append(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub fn sync(&mut self) -> io::Result<()> {
        match &mut self.open {
            Some(open) => open.file.sync(),
            None => Ok(()),
        }
    }

    /// Bytes that wait for `flush`.
    pub fn pending_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn append(&mut self, record: &[u8]) -> io::Result<Extent> {
        let open = self
            .open
            .as_ref()
            .ok_or_else(|| io::Error::other("no archive file is open"))?;
        let start = self.buffer.len();
        let offset = open.file.length() + start as u64;
        let file = open.name.clone();
        self.compressor.append(record, &mut self.buffer)?;
        Ok(Extent {
            file,
            offset,
            length: (self.buffer.len() - start) as u64,
        })
    }

    fn roll_if_full(&mut self) -> io::Result<()> {
        let full = self
            .open
            .as_ref()
            .is_some_and(|o| o.file.length() + self.buffer.len() as u64 >= self.roll_bytes);
        if full {
            self.flush()?;
            self.sync()?;
            self.open = None;
        }
        Ok(())
    }

    /// Begin the next file with its `warcinfo`.
    fn open_next(&mut self) -> io::Result<RecordId> {
        let time: Timestamp = self.clock.wall();
        let name = format!(
            "rhumb-{}-e{:04}-s{:03}-{:05}.{}",
            time.compact(),
            self.epoch,
            self.shard,
            self.serial,
            self.extension
        );
        self.serial += 1;
        let info = self.next_id();
        let file = self.disk.append(&self.folder.join(&name))?;
        self.disk.sync_folder(&self.folder)?;
        let mut record = Vec::new();
        warc::warcinfo(&mut record, &info, time, &name, &self.info);
        self.open = Some(OpenFile {
            name,
            file,
            info: RecordId(info.0),
        });
        self.append(&record)?;
        Ok(info)
    }

    fn next_id(&mut self) -> RecordId {
        self.ids += 1;
        let mut place = [0; 16];
        place[..8].copy_from_slice(&self.ids.to_le_bytes());
        place[8..12].copy_from_slice(&self.epoch.to_le_bytes());
        place[12..14].copy_from_slice(&self.shard.to_le_bytes());
        RecordId(xxh3_128_with_seed(&place, self.id_seed))
    }
}
