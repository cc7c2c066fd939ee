//! Links for any frame (a simulated segment or real bytes): queue, server with a capacity that varies, delay, loss.
//!
//! Push what arrives, poll until `None`, then ask `poll_at` when to poll again. Polling early is harmless;
//! polling late is a bug. A link knows no event list, no clock and no TCP.

mod by_flow;
pub mod capacity;
mod chain;
pub mod channel;
mod check;
mod config;
pub mod delay;
mod error;
pub mod feedback;
mod file;
mod frame;
pub mod handover;
mod handover_phase;
mod link;
pub mod loss;
mod loss_trace;
mod netem;
mod offset;
mod policing;
pub mod queue;
pub mod reactive;
mod timeline;
mod traced;

pub use capacity::{
    CapacityConfig, CapacityParts, CapacityProcess, CapacitySegment, LightConfig, LightParts, MarkovConfig,
    OpportunitiesConfig, OpportunityParts, OpportunityTrace, ResidualConfig, SessionsConfig,
    SlottedMarkovConfig, StepsConfig, TraceConfig, TraceOffset,
};
pub use channel::{ChannelParts, GoodBadConfig, RayleighConfig, StatesConfig};
pub use config::*;
pub use delay::{
    DelayConfig, DelayParts, DelayProcess, DelaySegment, MarkovDelayConfig, NetemDelayConfig,
    StepsDelayConfig, TraceDelayConfig, WifiDelayConfig,
};
pub use error::NetError;
pub use feedback::{
    AbrConfig, AtSourceConfig, EffectiveConfig, Estimator, EstimatorConfig, ExactConfig, InstantaneousConfig,
    MeasuredRtt, Place, PolicyConfig, RateFeedback, SconeConfig,
};
pub use frame::{Ahead, Backlog, Codepoint, Frame, LossCause, Lost, Watch};
pub use handover::HandoverConfig;
pub use handover_phase::HandoverPhase;
pub use link::{ArqConfig, ArqParts, Link, LinkParts, Pipe};
pub use loss::{GilbertElliottConfig, LossConfig, LossParts};
pub use loss_trace::{TraceLossConfig, read_losses};
pub use netem::{CorrelatedLossConfig, Distribution, FourStateConfig, GeModelConfig, NetemConfig};
pub use policing::{Nonconformant, Policed, PolicingParts};
pub use queue::config::*;
pub use queue::{CbqClass, DropFrom, DropSpacing, DualScheduler, Per, QueuePart, Ties};
pub use reactive::*;
pub use traced::Traced;
