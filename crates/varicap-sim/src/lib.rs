//! The simulator: a resolved network and a seed in, measured rows out. One run is single-threaded and exactly
//! repeatable; many runs go over all cores.

#[cfg(debug_assertions)]
mod audit;
mod budget;
mod build;
mod connection;
mod course;
mod episode;
mod events;
mod net;
mod observe;
mod openers;
mod options;
mod packet;
mod pages;
mod plausible;
mod prefetch;
mod record;
mod run;
mod world;

pub use budget::{Budget, Exceeded, count_elsewhere, left};
pub use course::Course;
pub use episode::{AdviceTask, Command, Episodes, FlowTask, LinkTask, Outcome, Report, Shape, Task};
pub use events::Timers;
/// Endpoints of transports that are not ours.
pub mod endpoint {
    pub use varicap_engine::{Breach, Datagram, Endpoint, IP_AND_UDP, Offer, Report, Stage};
}

pub use options::{
    Around, ControlFactory, DeciderFactory, EndpointFactory, EndpointStart, Finished, Options,
    PacketRecording, PolicyFactory, QueueFactory, Recording, SeriesRecording,
};
pub use run::{RunError, run, run_many};
