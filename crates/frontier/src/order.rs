//! The order of visits inside a host.

use std::str::FromStr;

use crate::lane::Place;

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

    /// Where a URL of this depth and sequence stands in its lane.
    pub fn place(self, depth: u32, sequence: u64) -> Place {
        let priority = match self {
            Order::Bfs => u64::from(depth),
            Order::Dfs => u64::MAX - sequence,
        };
        Place { priority, sequence }
    }

    /// Its stable number, in journals.
    pub fn code(self) -> u8 {
        match self {
            Order::Bfs => 0,
            Order::Dfs => 1,
        }
    }

    /// The order of a journal's number; one that is not known was not ours.
    pub fn from_code(code: u8) -> Order {
        match code {
            1 => Order::Dfs,
            _ => Order::Bfs,
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
