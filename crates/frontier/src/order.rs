//! The order of visits inside a host.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Breadth first: nearest to the seeds, then first come.
    Bfs,
    /// Depth first: last come.
    Dfs,
}

impl Order {
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Bfs => "bfs",
            Order::Dfs => "dfs",
        }
    }

    /// Lower goes first; ties go by sequence.
    pub fn priority(self, depth: u32, sequence: u64) -> u64 {
        match self {
            Order::Bfs => u64::from(depth),
            Order::Dfs => u64::MAX - sequence,
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "bfs" => Ok(Order::Bfs),
            "dfs" => Ok(Order::Dfs),
            _ => Err(format!("`{text}` is none of bfs, dfs")),
        }
    }
}
