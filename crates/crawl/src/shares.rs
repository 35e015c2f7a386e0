//! How the memory for the state of a crawl is shared out.

use rhumb_store::runs::{Compression, FilterOn, KeySetConfig, TableConfig};

/// Hundredths of `memory` for each part of the state. The rest is for heads,
/// pages under way and the program itself.
mod share {
    pub const SEEN: u64 = 45;
    pub const QUEUE: u64 = 20;
    pub const ROWS: u64 = 4;
    pub const CONTENT: u64 = 6;
    pub const INDEX: u64 = 8;
    pub const SEEDS: u64 = 1;
}

/// Settings of sets and tables that keep the state within a limit.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// For all shards together.
    pub memory: u64,
    pub shards: usize,
}

impl Shares {
    /// The URLs that one shard has seen.
    pub fn seen(&self) -> KeySetConfig {
        KeySetConfig::within(self.bytes(share::SEEN) / self.shards)
    }

    /// The URLs that wait in one shard.
    pub fn queue(&self) -> TableConfig {
        TableConfig {
            compression: Compression::Zstd(-1),
            filter: FilterOn::Prefix(8),
            ..table("queue", self.bytes(share::QUEUE) / self.shards)
        }
    }

    /// What one shard remembers of hosts.
    pub fn rows(&self) -> TableConfig {
        table("rows", self.bytes(share::ROWS) / self.shards)
    }

    pub fn content(&self) -> TableConfig {
        table("content", self.bytes(share::CONTENT))
    }

    pub fn index(&self) -> TableConfig {
        TableConfig {
            // It is asked only by people.
            filter: FilterOn::Nothing,
            ..table("index", self.bytes(share::INDEX))
        }
    }

    pub fn seeds(&self) -> TableConfig {
        table("seeds", self.bytes(share::SEEDS))
    }

    fn bytes(&self, hundredths: u64) -> usize {
        (self.memory / 100 * hundredths) as usize
    }
}

/// A table that stays within so many bytes of memory: one buffer that is
/// filled, those being written, filters and fences.
fn table(kind: &str, bytes: usize) -> TableConfig {
    TableConfig {
        buffer_bytes: (bytes / 4).max(64 << 10),
        waiting_bytes: bytes / 4,
        filter_bytes: bytes / 4,
        index_bytes: bytes / 8,
        ..TableConfig::new(kind)
    }
}
