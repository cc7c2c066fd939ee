//! Sans-IO TCP: the two halves of a connection as values. No network, no clock, no randomness but what it is given.
//!
//! Push what arrives, poll until `None`, then ask `poll_at` when to poll again. Polling early is harmless;
//! polling late is a bug.

mod ack_policy;
mod config;
pub mod congestion;
mod ecn;
mod pacing;
mod place;
mod receiver;
mod recovery;
mod reservation;
mod rtt;
mod segment;
mod sender;
mod stacks;
mod timer;
mod writes;

pub use ack_policy::{AckPolicy, BufferGrowth, DelayedAck};
pub use config::*;
pub use congestion::Congestion;
pub use ecn::{AccurateEcn, EcnMode};
pub use pacing::{Pacing, PacingRatios};
pub use place::Place;
pub use receiver::Receiver;
pub use recovery::{Beliefs, EchoCheck, Order, RackConfig, Recovery, Reduction, State};
pub use reservation::{DelayedConfig, Reservation, TimedConfig, TimerOwner, lossless_interval};
pub use segment::{EcnBytes, Flags, MAX_SACK_BLOCKS, Segment};
pub use sender::{AckOutcome, Counters, Polled, Sender};
pub use stacks::{DEFAULT_STACK, Stack};
pub use timer::{LinuxTimer, MultipleTimer, Rfc6298Timer, TickSamples, TickTimer, Timer};
pub use writes::Writes;
