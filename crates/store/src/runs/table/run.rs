//! One sorted run on disk.
//!
//! ```text
//! header: magic 6 · version 2
//! blocks of entries, and of removed ranges (from each start to its end),
//! each row of blocks with its fences · filter · footer
//! ```
//!
//! An entry of a run stands against the removed ranges of the same run:
//! those hide only what is in older runs.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::{RunFile, RunsError};
use super::block::{Block, Frame, frame_bytes};
use super::fences::Fences;
use super::filter::{self, Filter};
use super::range::{common_prefix, contains, earlier_end, is_before, is_empty};
use super::{RunState, TableConfig};

const MAGIC: &[u8; 6] = b"RHTABL";
const VERSION: u16 = 1;
pub(super) const HEADER: usize = 8;
const FIELDS: usize = 13;
const FOOTER: usize = FIELDS * 8 + 8;

pub(super) fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..6].copy_from_slice(MAGIC);
    header[6..].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// What the footer tells of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub entries: u64,
    pub ranges: u64,
    /// Removed ranges over more than one prefix: no filter knows them.
    pub wide_ranges: u64,
    /// Bytes of all blocks before compression.
    pub raw_bytes: u64,
    /// Prefixes of keys, as long as `filter_prefix` says.
    pub prefixes: u64,
    pub filter_prefix: u64,
    /// Fences of the fences; of length 0 where there are no blocks.
    pub entries_top: Frame,
    pub ranges_top: Frame,
    pub filter: Frame,
}

impl Facts {
    pub fn write(&self, offset: u64, out: &mut Vec<u8>) {
        let frames = [self.entries_top, self.ranges_top, self.filter];
        let counts = [
            self.entries,
            self.ranges,
            self.wide_ranges,
            self.raw_bytes,
            self.prefixes,
            self.filter_prefix,
            0,
        ];
        let start = out.len();
        let frames = frames.iter().flat_map(|f| [f.offset, u64::from(f.length)]);
        for field in counts.into_iter().chain(frames) {
            out.extend_from_slice(&field.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&out[start..], offset);
        out.extend_from_slice(&checksum.to_le_bytes());
    }

    fn read(file: &RunFile) -> Result<Facts, RunsError> {
        let at = file.length().saturating_sub(FOOTER as u64);
        if at < HEADER as u64 {
            return Err(file.damaged(0));
        }
        let mut start = [0; HEADER];
        file.read_exact_at(0, &mut start)?;
        if start != header() {
            return Err(file.damaged(0));
        }
        let mut footer = [0; FOOTER];
        file.read_exact_at(at, &mut footer)?;
        Facts::parse(&footer, at).ok_or_else(|| file.damaged(at))
    }

    fn parse(footer: &[u8; FOOTER], offset: u64) -> Option<Facts> {
        let (bytes, checksum) = footer.split_last_chunk::<8>()?;
        if xxh3_64_with_seed(bytes, offset) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let field = |at: usize| {
            let bytes = bytes.get(at * 8..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let frame = |at: usize| {
            Some(Frame {
                offset: field(at)?,
                length: u32::try_from(field(at + 1)?).ok()?,
            })
        };
        Some(Facts {
            entries: field(0)?,
            ranges: field(1)?,
            wide_ranges: field(2)?,
            raw_bytes: field(3)?,
            prefixes: field(4)?,
            filter_prefix: field(5)?,
            entries_top: frame(7)?,
            ranges_top: frame(9)?,
            filter: frame(11)?,
        })
    }
}

/// Which row of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Entries,
    Ranges,
}

pub(super) struct Run {
    pub file: Arc<RunFile>,
    /// The part of its keys that this table sees.
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub facts: Facts,
    pub entries: Fences,
    pub ranges: Fences,
}

impl Run {
    fn open(file: Arc<RunFile>, state: &RunState) -> Result<Run, RunsError> {
        let facts = Facts::read(&file)?;
        let top = |frame: Frame| match frame.length {
            0 => Ok(Fences::default()),
            _ => Fences::read(&file, frame),
        };
        let entries = top(facts.entries_top)?;
        let ranges = top(facts.ranges_top)?;
        Ok(Run {
            from: state.from.clone(),
            to: state.to.clone(),
            facts,
            entries,
            ranges,
            file,
        })
    }

    pub fn state(&self) -> RunState {
        RunState {
            name: self.file.name().to_owned(),
            from: self.from.clone(),
            to: self.to.clone(),
        }
    }

    pub fn top(&self, section: Section) -> &Fences {
        match section {
            Section::Entries => &self.entries,
            Section::Ranges => &self.ranges,
        }
    }

    pub fn is_restricted(&self) -> bool {
        !self.from.is_empty() || !self.to.is_empty()
    }

    /// The part of a range that this table may see of it.
    pub fn clip<'a>(&'a self, from: &'a [u8], to: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let from = from.max(&self.from[..]);
        let to = earlier_end(to, &self.to);
        (!is_empty(from, to)).then_some((from, to))
    }

    /// Raw bytes it stands for, by the share of its blocks that are seen.
    pub fn weight(&self) -> u64 {
        let parts = self.entries.len() as u64;
        if !self.is_restricted() || parts == 0 {
            return self.facts.raw_bytes;
        }
        let last = match &self.to[..] {
            [] => self.entries.len() - 1,
            to => self.entries.find(to),
        };
        let seen = last.saturating_sub(self.entries.find(&self.from)) as u64 + 1;
        self.facts.raw_bytes / parts * seen.min(parts)
    }
}

/// All parts of a run's fences.
#[derive(Default)]
pub(super) struct Parts {
    pub entries: Vec<Arc<Fences>>,
    pub ranges: Vec<Arc<Fences>>,
}

impl Parts {
    pub fn bytes(&self) -> usize {
        let all = self.entries.iter().chain(&self.ranges);
        all.map(|fences| fences.bytes()).sum()
    }

    /// `None` if they take more than they may.
    fn read(run: &Run, most: usize) -> Result<Option<Parts>, RunsError> {
        let mut parts = Parts::default();
        let mut left = most;
        for (top, all) in [
            (&run.entries, &mut parts.entries),
            (&run.ranges, &mut parts.ranges),
        ] {
            for at in 0..top.len() {
                let part = Fences::read(&run.file, top.frame(at))?;
                let Some(rest) = left.checked_sub(part.bytes()) else {
                    return Ok(None);
                };
                left = rest;
                all.push(Arc::new(part));
            }
        }
        Ok(Some(parts))
    }
}

/// A run with what of it is in memory.
#[derive(Clone)]
pub(super) struct Held {
    pub run: Arc<Run>,
    pub filter: Option<Arc<Filter>>,
    pub parts: Option<Arc<Parts>>,
}

impl Held {
    /// Open a run that a manifest names; filter and fences are read if there
    /// are so many bytes left for them.
    pub fn open(
        file: Arc<RunFile>,
        state: &RunState,
        config: &TableConfig,
        filter_bytes: usize,
        index_bytes: usize,
    ) -> Result<Held, RunsError> {
        let run = Run::open(file, state)?;
        let facts = &run.facts;
        let wanted = facts.filter.length > 0
            && facts.filter_prefix == config.filter.prefix() as u64
            && facts.filter.length as usize <= filter_bytes;
        let filter = match wanted {
            true => Some(Arc::new(read_filter(&run)?)),
            false => None,
        };
        let parts = Parts::read(&run, index_bytes)?.map(Arc::new);
        Ok(Held {
            run: Arc::new(run),
            filter,
            parts,
        })
    }

    pub fn fences(&self, section: Section, part: usize) -> Result<Arc<Fences>, RunsError> {
        if let Some(parts) = &self.parts {
            let parts = match section {
                Section::Entries => &parts.entries,
                Section::Ranges => &parts.ranges,
            };
            return Ok(Arc::clone(&parts[part]));
        }
        let frame = self.run.top(section).frame(part);
        Fences::read(&self.run.file, frame).map(Arc::new)
    }

    /// Whether it may have entries, and whether it may have removed ranges,
    /// within a range.
    pub fn may_hold(&self, from: &[u8], to: &[u8]) -> (bool, bool) {
        let Some((from, to)) = self.run.clip(from, to) else {
            return (false, false);
        };
        let length = usize::try_from(self.run.facts.filter_prefix).unwrap_or(usize::MAX);
        let passes = match (&self.filter, common_prefix(from, to, length)) {
            (Some(filter), Some(prefix)) => filter.may_hold(filter::hash(prefix)),
            _ => true,
        };
        self.with_sections(passes)
    }

    /// The same for one key; `hash` is that of its prefix.
    pub fn may_hold_key(&self, key: &[u8], hash: u64) -> (bool, bool) {
        if !contains(&self.run.from, &self.run.to, key) {
            return (false, false);
        }
        let passes = self.filter.as_ref().is_none_or(|f| f.may_hold(hash));
        self.with_sections(passes)
    }

    fn with_sections(&self, passes: bool) -> (bool, bool) {
        let facts = &self.run.facts;
        (
            passes && facts.entries > 0,
            facts.ranges > 0 && (passes || facts.wide_ranges > 0),
        )
    }

    /// What the run says of a key: nothing, or its value, or that it was
    /// removed.
    pub fn find(&self, key: &[u8]) -> Result<Option<Option<Vec<u8>>>, RunsError> {
        let mut block = self.block_of(Section::Entries, key)?;
        let found = block.find(&self.run.file, key)?;
        Ok(found.then(|| block.value().map(<[u8]>::to_vec)))
    }

    /// Whether one of its removed ranges holds the key.
    pub fn covers(&self, key: &[u8]) -> Result<bool, RunsError> {
        let mut block = self.block_of(Section::Ranges, key)?;
        while block.next(&self.run.file)? && block.key() <= key {
            if is_before(key, block.value().unwrap_or_default()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn block_of(&self, section: Section, key: &[u8]) -> Result<Block, RunsError> {
        let part = self.run.top(section).find(key);
        let fences = self.fences(section, part)?;
        let mut block = Block::default();
        block.read(&self.run.file, fences.frame(fences.find(key)))?;
        Ok(block)
    }
}

fn read_filter(run: &Run) -> Result<Filter, RunsError> {
    let frame = run.facts.filter;
    let mut block = Block::default();
    block.read(&run.file, frame)?;
    Filter::parse(block.rest()).ok_or_else(|| run.file.damaged(frame.offset))
}

pub(super) fn write_filter(filter: &Filter, offset: u64, out: &mut Vec<u8>) -> Frame {
    let mut bytes = Vec::new();
    filter.write(&mut bytes);
    frame_bytes(&bytes, offset, out)
}
