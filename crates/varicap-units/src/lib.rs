//! Exact units and named random streams, which every other crate of varicap uses.
//!
//! Time is integer nanoseconds, rates are integer bits per second, and `Rate * Span = Work` is exact, so that
//! service at a link never accumulates rounding. Files write quantities with their unit (`"0.8 Mbit/s"`,
//! `"50 ms"`, `"1.5 bdp"`); [`parse`] turns them into these types once.

mod amount;
mod bucket;
mod bytes;
pub mod choice;
mod pacer;
mod parse;
pub mod part;
mod rate;
mod rng;
pub mod room;
#[cfg(feature = "schema")]
pub mod schema;
pub mod stream_name;
mod time;
mod totals;
mod work;

pub use amount::{Amount, Cadence, Frequency, Probability, Stretch};
pub use bucket::{BucketDepth, TokenBucket};
pub use bytes::Bytes;
pub use choice::Named;
pub use pacer::Pacer;
pub use parse::{QuantityError, units_of};
pub use rate::Rate;
pub use rng::{Stream, Streams};
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;
pub use time::{Span, Time};
pub use totals::Total;
#[cfg(not(feature = "schema"))]
pub use varicap_no_schema::JsonSchema;
pub use work::Work;

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;
