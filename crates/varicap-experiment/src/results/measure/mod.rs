//! Meters: what is counted while a run goes on, in integers, and read when it is over.
//!
//! Totals run from the start of the run and are never set back. A measured value is a difference of totals, so
//! the cut of the warm-up ([`LinkMeter::reset`], [`FlowMeter::reset`]) and a time series read the same numbers.

mod flow;
mod link;

pub use flow::{FlowMeasure, FlowMeter, FlowTotals, SenderTotals, Transfers};
pub use link::{CapacityRange, LinkMeasure, LinkMeter, LinkTotals};
