//! What to visit next, and when.
//!
//! The frontier holds the URLs that wait, by host name, on disk; a bounded
//! number of names is at hand, on the *bench*. It lets a name be *taken* for a
//! turn of visits and *put back* with the earliest time of its next turn. What
//! has been taken cannot be taken again: politeness is not checked here, it is
//! what the types allow.
//!
//! This room never asks the time (it is told), opens no socket, touches only
//! the tables it is given, and knows nothing of pages.

mod address;
mod bench;
mod frontier;
mod hasher;
mod lane;
mod order;
mod queue;
mod rows;
mod standing;
mod timing;
mod waiting;

pub use address::{AddressBench, Reserved, Seat, Waiter, network_of};
pub use frontier::{Frontier, FrontierCounts, Limits};
pub use hasher::ByFingerprint;
pub use lane::{LaneId, Place, Queued};
pub use order::Order;
pub use rows::{HostRows, LaneRow, RobotsRow, RobotsTries};
pub use standing::Standing;
pub use timing::{Pace, Turn};
