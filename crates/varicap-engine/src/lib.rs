//! The parts of every engine, in simulated time or in real time: the links of a network with their meters, the wires
//! and routes over them, what links advertise to senders, how links share a capacity, when connections open, and what
//! their applications offer.
//!
//! Nothing here knows what a packet contains, who sends it, or where time comes from.

mod advice;
mod application;
mod endpoint;
mod feedback;
mod links;
mod nodes;
mod openings;
mod pools;
pub mod workload;

pub use application::{Application, Completed};
pub use endpoint::{Breach, Datagram, Endpoint, Host, IP_AND_UDP, Report, Stage};
pub use feedback::{Feedback, Rtts};
pub use links::{Hop, Links, Wire, routes};
pub use nodes::{Node, NodeId, Nodes};
pub use openings::{Admission, Opening, Openings, meters_of, start_of};
pub use pools::{Pools, Reactives};
pub use varicap_app::Offer;
