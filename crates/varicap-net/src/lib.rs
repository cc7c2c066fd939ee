//! Links for any frame (a simulated segment or real bytes): queue, server with a capacity that varies, delay, loss.
//!
//! Push what arrives, poll until `None`, then ask `poll_at` when to poll again. Polling early is harmless;
//! polling late is a bug. A link knows no event list, no clock and no TCP.

mod config;
mod frame;

pub use config::*;
pub use frame::{Backlog, Frame, Lost, LossCause, Watch};
