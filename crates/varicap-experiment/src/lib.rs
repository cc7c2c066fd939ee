//! The two waists of varicap: what goes in (a scenario) and what comes out (measures, records).
//!
//! A [`Scenario`] is read from a file, checked and resolved into a [`Network`], which every engine takes. It knows
//! nothing of simulated time passing, of sockets or of drawing.

mod abr;
mod arq;
pub mod columns;
mod decode;
mod document;
mod error;
mod estimate;
mod explain;
mod facts;
mod feedback;
pub mod fidelity;
pub mod histogram;
pub mod interval;
pub mod live;
pub mod measure;
mod network;
pub mod packets;
pub mod pcapng;
mod queue;
mod reactive;
mod read;
mod relay;
mod reservation;
mod resolve;
pub mod results;
pub mod rows;
pub mod scenario;
mod schema;
pub mod series;
mod topology;
mod validate;

pub use error::ScenarioError;
pub use estimate::Estimate;
pub use explain::{Explained, explain};
pub use facts::facts;
pub use network::{
    AbrSpec, FeedbackSpec, FlowSpec, LinkSpec, Network, RelaySpec, ReservationSpec, Transport,
};
pub use reservation::{ReservationConfig, ReservedRate};
pub use resolve::ReadFile;
pub use scenario::Scenario;
pub use schema::schema;
