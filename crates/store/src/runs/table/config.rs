//! How a table spends memory, disk and time.

/// What a run's filter is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOn {
    /// No filters.
    Nothing,
    /// The first bytes of keys: scans and removals within one prefix (from
    /// `prefix…` to `prefix…`, or to the next prefix without anything behind
    /// it) skip runs that lack it. Reads of single keys use it too.
    Prefix(usize),
    /// Whole keys, for reads of single keys.
    Key,
}

impl FilterOn {
    pub(super) fn is_wanted(self) -> bool {
        self != FilterOn::Nothing
    }

    pub(super) fn prefix(self) -> usize {
        match self {
            FilterOn::Prefix(length) => length,
            FilterOn::Nothing | FilterOn::Key => usize::MAX,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Plain,
    /// With this level.
    Zstd(i32),
}

#[derive(Clone, Debug)]
pub struct TableConfig {
    /// The first part of its files' names.
    pub kind: String,
    /// A buffer of this size is frozen and written.
    pub buffer_bytes: usize,
    /// With more than this in frozen buffers the table is congested.
    pub waiting_bytes: usize,
    /// Entries of about this size together are read at once.
    pub block_bytes: usize,
    pub compression: Compression,
    /// Only runs of this size are compressed: small ones are soon merged.
    pub compress_above: u64,
    pub filter: FilterOn,
    /// All filters together; the oldest runs go without.
    pub filter_bytes: usize,
    /// Fences of all runs in memory; the oldest runs read theirs from disk.
    pub index_bytes: usize,
    /// So many runs of similar size become one.
    pub fan_in: usize,
    /// With more runs than this the table is congested.
    pub most_runs: usize,
}

impl TableConfig {
    pub fn new(kind: &str) -> TableConfig {
        TableConfig {
            kind: kind.to_owned(),
            buffer_bytes: 16 << 20,
            waiting_bytes: 48 << 20,
            block_bytes: 16 << 10,
            compression: Compression::Plain,
            compress_above: 256 << 20,
            filter: FilterOn::Key,
            filter_bytes: 16 << 20,
            index_bytes: 8 << 20,
            fan_in: 8,
            most_runs: 64,
        }
    }

    /// Values with which merging would never end, or a block not fit in
    /// memory, are taken for the nearest that make sense.
    pub(super) fn within_reason(mut self) -> TableConfig {
        self.fan_in = self.fan_in.clamp(2, 64);
        self.most_runs = self.most_runs.max(self.fan_in);
        self.block_bytes = self.block_bytes.clamp(64, 1 << 20);
        self
    }
}
