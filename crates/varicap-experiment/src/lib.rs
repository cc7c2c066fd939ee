//! The two narrow waists of varicap: what goes in (a scenario) and what comes out (measurements, records).
//!
//! A [`Scenario`] is read from a file, checked and resolved into a [`Network`], which every engine takes. It knows
//! nothing of simulated time passing, of sockets or of drawing.

mod check;
mod error;
mod mistakes;
mod read;
mod resolve;
pub mod results;
pub mod scenario;

pub use error::{Excerpt, ScenarioError};
pub use mistakes::Mistakes;
pub use read::{Format, Parsed, Written};
pub use resolve::estimate::{Estimate, Limits, Plan, changes_per_second};
pub use resolve::explain::{Explained, explain};
pub use resolve::facts::facts;
pub use resolve::network::{
    AbrSpec, EndpointSpec, FeedbackSpec, FlowSpec, LinkSpec, Network, RelaySpec, ReservationSpec, Transport,
};
pub use results::{columns, fidelity, histogram, interval, live, measure, packets, pcapng, rows, series};
pub use scenario::document::MAX_FILE;
pub use scenario::schema::schema;
#[cfg(feature = "schema")]
pub use scenario::schema::schema_of_types;
pub use scenario::stack::{habits, read_tcp, tcp_json};
pub use scenario::{ReservationConfig, ReservedRate, Scenario};
pub use varicap_net::capacity::{Files, KeptFiles, ReadFile};
