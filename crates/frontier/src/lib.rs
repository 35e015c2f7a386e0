//! What to visit next, and when.
//!
//! The frontier holds the URLs that wait, by host name; lets a name be
//! *taken* for a turn of visits and *put back* with the earliest time of its
//! next turn; and keeps the set of URLs ever seen. What has been taken cannot
//! be taken again: politeness is not checked here, it is what the types allow.
//!
//! This room never asks the time (it is told), opens no socket and no file,
//! and knows nothing of pages.

mod address;
mod lane;
mod order;
mod set;
mod timing;

pub use address::{AddressBench, Seat, Waiter};
pub use lane::{LaneId, Queued};
pub use order::Order;
pub use set::{Answer, MemorySet, Ticket, UrlSet};
pub use timing::{Frontier, Pace, Turn};
