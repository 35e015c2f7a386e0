//! Writes one run from entries and removed ranges that come in order.

use std::sync::Arc;

use super::super::{RunFolder, RunWriter, RunsError};
use super::block::{BlockBuilder, Frame};
use super::fences::Fences;
use super::filter::{self, Filter};
use super::range::common_prefix;
use super::run::{Facts, Held, Parts, Run, header, write_filter};
use super::{Compression, TableConfig};

/// Blocks are handed to the disk in pieces of about this size.
const WRITE_BYTES: usize = 256 << 10;
/// A part of the fences is closed at so many of them, or so many bytes.
pub(super) const PART_FENCES: usize = 256;
const PART_BYTES: usize = 64 << 10;
const HASHES: usize = 64;
const NO_FRAME: Frame = Frame {
    offset: 0,
    length: 0,
};

/// How a run is to be built.
#[derive(Clone)]
pub(super) struct Build {
    pub folder: RunFolder,
    pub config: Arc<TableConfig>,
    /// Whether it is large enough to be worth compressing.
    pub compress: bool,
    /// At most so many key prefixes will come.
    pub prefixes: u64,
    /// What its filter and its fences may take of memory.
    pub filter_bytes: usize,
    pub index_bytes: usize,
}

/// The file, begun with the first byte: a run that stays empty leaves none.
struct Sink {
    folder: RunFolder,
    kind: String,
    writer: Option<RunWriter>,
    waiting: Vec<u8>,
    written: u64,
}

impl Sink {
    fn offset(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    fn flush(&mut self) -> Result<(), RunsError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.folder.create(&self.kind)?),
        };
        writer.append(&self.waiting)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// A row of blocks with its fences.
#[derive(Default)]
struct Row {
    block: BlockBuilder,
    first_key: Vec<u8>,
    fences: Fences,
    top: Fences,
    /// `None` once they take more than they may.
    parts: Option<Vec<Arc<Fences>>>,
    part_bytes: usize,
    part_keys: usize,
}

impl Row {
    fn seal_block(
        &mut self,
        sink: &mut Sink,
        encoder: Option<&mut zstd::bulk::Compressor<'static>>,
        index_bytes: usize,
    ) -> Result<(), RunsError> {
        let frame = self.block.seal(sink.offset(), encoder, &mut sink.waiting);
        self.fences.push(&self.first_key, frame);
        self.part_keys += self.first_key.len();
        if self.fences.len() >= PART_FENCES || self.part_keys >= PART_BYTES {
            self.seal_part(sink, index_bytes);
        }
        match sink.waiting.len() >= WRITE_BYTES {
            true => sink.flush(),
            false => Ok(()),
        }
    }

    fn seal_part(&mut self, sink: &mut Sink, index_bytes: usize) {
        if self.fences.is_empty() {
            return;
        }
        let fences = std::mem::take(&mut self.fences);
        let frame = seal_fences(&fences, sink);
        self.top.push(fences.key(0), frame);
        self.part_keys = 0;
        self.part_bytes += fences.bytes();
        if self.part_bytes > index_bytes {
            self.parts = None;
        } else if let Some(parts) = &mut self.parts {
            parts.push(Arc::new(fences));
        }
    }
}

fn seal_fences(fences: &Fences, sink: &mut Sink) -> Frame {
    let mut block = BlockBuilder::default();
    fences.write(&mut block);
    block.seal(sink.offset(), None, &mut sink.waiting)
}

pub(super) struct RunBuilder {
    build: Build,
    sink: Sink,
    entries: Row,
    ranges: Row,
    encoder: Option<zstd::bulk::Compressor<'static>>,
    filter: Option<Filter>,
    /// Hashes for the filter, added together: the processor can then wait
    /// for several of its lines at once.
    hashes: Vec<u64>,
    last_prefix: Vec<u8>,
    facts: Facts,
}

impl RunBuilder {
    pub fn new(build: Build) -> RunBuilder {
        let encoder = match build.config.compression {
            Compression::Zstd(level) if build.compress => zstd::bulk::Compressor::new(level).ok(),
            _ => None,
        };
        let filter = build
            .config
            .filter
            .is_wanted()
            .then(|| Filter::sized(build.prefixes, build.filter_bytes))
            .flatten();
        let row = || Row {
            parts: Some(Vec::new()),
            ..Row::default()
        };
        RunBuilder {
            sink: Sink {
                folder: build.folder.clone(),
                kind: build.config.kind.clone(),
                writer: None,
                waiting: header().to_vec(),
                written: 0,
            },
            entries: row(),
            ranges: row(),
            encoder,
            filter,
            hashes: Vec::with_capacity(HASHES),
            last_prefix: Vec::new(),
            facts: Facts {
                entries: 0,
                ranges: 0,
                wide_ranges: 0,
                raw_bytes: 0,
                prefixes: 0,
                filter_prefix: build.config.filter.prefix() as u64,
                entries_top: NO_FRAME,
                ranges_top: NO_FRAME,
                filter: NO_FRAME,
            },
            build,
        }
    }

    pub fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), RunsError> {
        let prefix = &key[..key.len().min(self.build.config.filter.prefix())];
        if self.facts.entries == 0 || prefix != self.last_prefix {
            self.last_prefix.clear();
            self.last_prefix.extend_from_slice(prefix);
            self.note_prefix(filter::hash(prefix));
        }
        self.facts.entries += 1;
        if self.entries.block.is_empty() {
            self.entries.first_key.clear();
            self.entries.first_key.extend_from_slice(key);
        }
        self.entries.block.add(key, value);
        if self.entries.block.raw_bytes() >= self.build.config.block_bytes {
            self.seal_entries()?;
        }
        Ok(())
    }

    fn note_prefix(&mut self, hash: u64) {
        self.facts.prefixes += 1;
        if self.filter.is_some() {
            self.hashes.push(hash);
            if self.hashes.len() == HASHES {
                self.add_hashes();
            }
        }
    }

    fn add_hashes(&mut self) {
        if let Some(filter) = &mut self.filter {
            self.hashes.drain(..).for_each(|hash| filter.add(hash));
        }
    }

    fn seal_entries(&mut self) -> Result<(), RunsError> {
        self.facts.raw_bytes += self.entries.block.raw_bytes() as u64;
        let (encoder, most) = (self.encoder.as_mut(), self.build.index_bytes);
        self.entries.seal_block(&mut self.sink, encoder, most)
    }

    /// Only after the last entry.
    pub fn add_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), RunsError> {
        self.facts.ranges += 1;
        match common_prefix(from, to, self.build.config.filter.prefix()) {
            Some(prefix) => self.note_prefix(filter::hash(prefix)),
            None => self.facts.wide_ranges += 1,
        }
        if self.ranges.block.is_empty() {
            self.ranges.first_key.clear();
            self.ranges.first_key.extend_from_slice(from);
        }
        self.ranges.block.add(from, Some(to));
        if self.ranges.block.raw_bytes() >= self.build.config.block_bytes {
            self.seal_ranges()?;
        }
        Ok(())
    }

    fn seal_ranges(&mut self) -> Result<(), RunsError> {
        self.facts.raw_bytes += self.ranges.block.raw_bytes() as u64;
        let (encoder, most) = (self.encoder.as_mut(), self.build.index_bytes);
        self.ranges.seal_block(&mut self.sink, encoder, most)
    }

    /// The run, synced; `None` if nothing came.
    pub fn finish(mut self) -> Result<Option<Held>, RunsError> {
        if self.facts.entries == 0 && self.facts.ranges == 0 {
            return Ok(None);
        }
        if !self.entries.block.is_empty() {
            self.seal_entries()?;
        }
        if !self.ranges.block.is_empty() {
            self.seal_ranges()?;
        }
        let most = self.build.index_bytes;
        self.entries.seal_part(&mut self.sink, most);
        self.ranges.seal_part(&mut self.sink, most);
        if !self.entries.top.is_empty() {
            self.facts.entries_top = seal_fences(&self.entries.top, &mut self.sink);
        }
        if !self.ranges.top.is_empty() {
            self.facts.ranges_top = seal_fences(&self.ranges.top, &mut self.sink);
        }
        self.add_hashes();
        let filter = self.filter.and_then(|f| f.settle(self.facts.prefixes));
        if let Some(filter) = &filter {
            let offset = self.sink.offset();
            self.facts.filter = write_filter(filter, offset, &mut self.sink.waiting);
        }
        let offset = self.sink.offset();
        self.facts.write(offset, &mut self.sink.waiting);
        self.sink.flush()?;
        let Some(writer) = self.sink.writer else {
            return Ok(None);
        };
        let parts = match (self.entries.parts, self.ranges.parts) {
            (Some(entries), Some(ranges)) => Some(Arc::new(Parts { entries, ranges })),
            _ => None,
        };
        Ok(Some(Held {
            run: Arc::new(Run {
                file: self.build.folder.share(writer.finish()?),
                from: Vec::new(),
                to: Vec::new(),
                facts: self.facts,
                entries: self.entries.top,
                ranges: self.ranges.top,
            }),
            filter: filter.map(Arc::new),
            parts,
        }))
    }
}
