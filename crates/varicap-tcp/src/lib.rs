//! Sans-IO TCP: the two halves of a connection as values. No network, no clock, no randomness.
//!
//! Push what arrives, poll until `None`, then ask `poll_at` when to poll again. Polling early is harmless;
//! polling late is a bug.

mod config;
pub mod congestion;
mod segment;

pub use config::*;
pub use segment::{Flags, MAX_SACK_BLOCKS, Segment};
