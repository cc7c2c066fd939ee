//! The options of runs: extensions, and what is recorded in addition to the rows.

use std::sync::Arc;

use varicap_experiment::live::Live;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_net::LoadReactiveControl;
use varicap_net::queue::QueuePolicy;
use varicap_tcp::TcpConfig;
use varicap_tcp::congestion::{CongestionControl, Decide};
use varicap_units::Span;

use crate::budget::Budget;
pub use crate::world::{EndpointFactory, EndpointStart};

/// Makes a congestion control for a connection that says `congestion = { custom = "name" }`, from that name and the name of
/// the flow.
pub type ControlFactory = dyn Fn(&str, &str, &TcpConfig) -> Option<Box<dyn CongestionControl>> + Send + Sync;

/// Makes who decides for a connection that says `congestion = { policy = … }`, from the file or the name of the policy and
/// the name of the connection.
pub type DeciderFactory = dyn Fn(&str, &str) -> Option<Box<dyn Decide>> + Send + Sync;

/// Makes the controller of a load-reactive link that says `control = { custom = "name" }`, from that name and the
/// link's.
pub type PolicyFactory = dyn Fn(&str, &str) -> Option<Box<dyn LoadReactiveControl>> + Send + Sync;

/// Makes the queue of a link that says `queue = { custom = "name" }`, from that name and the link's.
pub type QueueFactory = dyn Fn(&str, &str) -> Option<Box<dyn QueuePolicy>> + Send + Sync;

/// The extensions that a run may use, and what it records in addition to its rows.
#[derive(Clone, Default)]
pub struct Options {
    /// Makes congestion controls that are not built in.
    pub controls: Option<Arc<ControlFactory>>,
    /// Makes who decides for the policies of connections.
    pub deciders: Option<Arc<DeciderFactory>>,
    /// Makes controllers of load-reactive links that are not built in.
    pub policies: Option<Arc<PolicyFactory>>,
    /// Makes queues that are not built in.
    pub queues: Option<Arc<QueueFactory>>,
    /// Makes the ends of connections whose transport is not ours.
    pub endpoints: Option<Arc<EndpointFactory>>,
    /// The records to take in addition to the rows.
    pub record: Option<Recording>,
    /// An observer of the running simulation, which is shown samples at the interval of `record`'s series.
    pub live: Option<Arc<Live>>,
    /// The memory and the time that runs may take.
    pub budget: Option<Arc<Budget>>,
    /// Hears of each run that has ended, in [`run_many`], while others go on.
    pub finished: Option<Arc<Finished>>,
    /// Prepares the thread of each run in [`run_many`] for extensions, and cleans up after it.
    pub around: Option<Arc<Around>>,
}

/// Calls what it is given, which is a run, once.
pub type Around = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;

/// Receives the number of a network and its result; called on many threads.
pub type Finished = dyn Fn(usize, &RunResult) + Send + Sync;

/// The replications to record, and the receiver of the records.
#[derive(Clone)]
pub struct Recording {
    /// Time series of flows and links.
    pub series: SeriesRecording,
    /// Logs of packet events.
    pub packets: PacketRecording,
    /// Receives the records of a network in a replication, on the thread that ran it.
    pub take: Arc<dyn Fn(Recorded) + Send + Sync>,
}

/// Which replications have time series, and at which interval.
#[derive(Clone, Copy, Debug)]
pub struct SeriesRecording {
    /// Length of an interval; positive.
    pub interval: Span,
    /// Replications with lower numbers have series.
    pub below: u64,
}

/// Which replications have a log of packet events, and how long it may become.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecording {
    /// The maximum number of events that are kept of a run.
    pub limit: usize,
    /// Replications with lower numbers have a log.
    pub below: u64,
}
