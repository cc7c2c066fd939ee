//! What every engine is made of, in simulated time or in real time: the links of a network with their meters, the wires
//! and routes over them, what links tell senders, how links share a capacity, and what applications offer.
//!
//! Nothing here knows what a packet contains, who sends it, or where time comes from.

mod feedback;
mod links;
mod pools;
pub mod workload;

pub use feedback::{Feedback, Rtts};
pub use links::{Hop, Links, NodeId, Wire, meters_of, routes};
pub use pools::{Pools, Reactives};
