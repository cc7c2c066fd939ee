//! QUIC by `quinn-proto` in simulated time: its connections as endpoints of a run.
//!
//! Nothing of it reads a clock or draws a random number that is not the run's: every instant is `now`, added to one origin;
//! keys, identifiers and all else that is drawn come from the seed of the connection. So the same run gives the same bytes,
//! in any process.

mod clock;
mod control;
mod random;
mod side;
mod tls;

pub use side::pair;
