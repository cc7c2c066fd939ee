//! Meters count in integers while a run is in progress, and are read when it is over.
//!
//! Totals start at the beginning of the run and are never reset. A measured value is a difference of totals, so
//! cutting off the warm-up ([`LinkMeter::reset`], [`FlowMeter::reset`]) and a time series use the same numbers.

mod flow;
mod link;

pub use flow::{FlowMeasure, FlowMeter, FlowTotals, SenderTotals, Transfers};
pub use link::{CapacityRange, LinkMeasure, LinkMeter, LinkTotals};
