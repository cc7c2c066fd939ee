//! Exogenous capacity: a piecewise-constant path of rates, generated forward in time from its own random stream.
//!
//! A path never depends on traffic. Rate 0 is an ordinary state. A load-reactive capacity is no path of its own: a
//! controller at the link sets it (`reactive`); what has a path is the residual that bounds it.

mod markov;
mod sessions;
mod steps;
mod trace;

use std::fmt::Debug;
use std::sync::Arc;

use varicap_units::{Rate, Stream, Time};

use crate::link::{OpportunityParts, OpportunityTrace};
use crate::{CapacityConfig, NetError, ReactiveParts};

pub use markov::{Markov, MarkovParts, SlottedMarkov, SlottedMarkovParts};
pub use sessions::{Sessions, SessionsParts};
pub use steps::{Steps, Timeline};
pub use trace::read_rates;

/// Reads the file of a name, or says why it cannot.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<Arc<[u8]>, String> + 'a;

/// A rate that holds until an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacitySegment {
    /// The capacity [b/s].
    pub rate: Rate,
    /// Until when; never if for ever.
    pub until: Time,
}

/// An exogenous path of capacity.
pub trait CapacityProcess: Debug + Send {
    /// The segment that `now` lies in: `until` is later than `now`, which never decreases from call to call. The same
    /// instant gives the same segment again.
    fn segment(&mut self, now: Time) -> CapacitySegment;
}

/// What a path is made of, checked, with its traces read. Cheap to clone: all runs share it.
#[derive(Clone, Debug)]
pub enum CapacityParts {
    /// The same at all times.
    Constant(Rate),
    /// This rate until another is set from outside ([`crate::Link::set_rate`]).
    Held(Rate),
    /// Rates from given instants on: steps of a scenario, or a trace.
    Steps(Arc<Timeline>),
    /// Delivery opportunities.
    Opportunities(OpportunityParts),
    /// A continuous-time Markov chain.
    Markov(Arc<MarkovParts>),
    /// A Markov chain in slots.
    SlottedMarkov(Arc<SlottedMarkovParts>),
    /// What ephemeral sessions leave.
    Sessions(Arc<SessionsParts>),
    /// What a controller sets by the queue at the link.
    LoadReactive(Arc<ReactiveParts>),
}

impl CapacityParts {
    /// Checks `config` and reads the files that it names through `read_file`.
    pub fn from_config(
        config: &CapacityConfig,
        read_file: &mut ReadFile<'_>,
    ) -> Result<CapacityParts, NetError> {
        let mut read =
            |file: &str| read_file(file).map_err(|reason| NetError::File { file: file.to_owned(), reason });
        Ok(match config {
            CapacityConfig::Constant(rate) => CapacityParts::Constant(*rate),
            CapacityConfig::Steps(steps) => CapacityParts::Steps(Arc::new(Timeline::from_config(steps)?)),
            CapacityConfig::Trace(trace) => {
                let text = read(&trace.file)?;
                CapacityParts::Steps(Arc::new(read_rates(&trace.file, &text, trace.repeat)?))
            }
            CapacityConfig::Opportunities(config) => {
                if config.size.as_u64() == 0 {
                    return Err(NetError::value("capacity.opportunities.size", config.size, "at least 1 B"));
                }
                let text = read(&config.file)?;
                CapacityParts::Opportunities(OpportunityParts {
                    trace: Arc::new(OpportunityTrace::parse(&config.file, &text)?),
                    size: config.size,
                    mahimahi: config.mahimahi,
                    repeat: config.repeat,
                })
            }
            CapacityConfig::Markov(markov) => CapacityParts::Markov(Arc::new(MarkovParts::new(markov)?)),
            CapacityConfig::SlottedMarkov(markov) => {
                CapacityParts::SlottedMarkov(Arc::new(SlottedMarkovParts::new(markov)?))
            }
            CapacityConfig::Sessions(sessions) => {
                CapacityParts::Sessions(Arc::new(SessionsParts::new(sessions)?))
            }
            CapacityConfig::LoadReactive(reactive) => {
                CapacityParts::LoadReactive(Arc::new(ReactiveParts::new(reactive, read_file)?))
            }
        })
    }

    /// Long-run mean rate [b/s], exact up to rounding: from the stationary distribution of a chain, over one round of
    /// a trace. Of steps without a period: their last rate. Of a load-reactive capacity: that of its residual, the most
    /// that it can be.
    pub fn mean_rate(&self) -> Rate {
        match self {
            CapacityParts::Constant(rate) | CapacityParts::Held(rate) => *rate,
            CapacityParts::Steps(timeline) => timeline.mean_rate(),
            CapacityParts::Opportunities(opportunities) => opportunities.mean_rate(),
            CapacityParts::Markov(markov) => markov.mean_rate(),
            CapacityParts::SlottedMarkov(markov) => markov.mean_rate(),
            CapacityParts::Sessions(sessions) => sessions.mean_rate(),
            CapacityParts::LoadReactive(reactive) => reactive.residual.mean_rate(),
        }
    }
}

/// The path of one run, dispatched without a pointer.
#[derive(Debug)]
pub enum Capacity {
    /// The same at all times, or set from outside.
    Constant(Rate),
    /// Rates from given instants on.
    Steps(Steps),
    /// A continuous-time Markov chain.
    Markov(Markov),
    /// A Markov chain in slots.
    SlottedMarkov(SlottedMarkov),
    /// What ephemeral sessions leave.
    Sessions(Sessions),
}

impl Capacity {
    /// The path of `parts` that `stream` draws. Opportunities are no path of rates: the link serves them itself; here
    /// they count with their mean, and a load-reactive capacity with its residual.
    pub fn new(parts: &CapacityParts, stream: Stream) -> Capacity {
        match parts {
            CapacityParts::Constant(rate) | CapacityParts::Held(rate) => Capacity::Constant(*rate),
            CapacityParts::Steps(timeline) => Capacity::Steps(Steps::new(timeline.clone())),
            CapacityParts::Opportunities(opportunities) => Capacity::Constant(opportunities.mean_rate()),
            CapacityParts::Markov(markov) => Capacity::Markov(Markov::new(markov.clone(), stream)),
            CapacityParts::SlottedMarkov(markov) => {
                Capacity::SlottedMarkov(SlottedMarkov::new(markov.clone(), stream))
            }
            CapacityParts::Sessions(sessions) => Capacity::Sessions(Sessions::new(sessions.clone(), stream)),
            CapacityParts::LoadReactive(reactive) => Capacity::new(&reactive.residual, stream),
        }
    }
}

impl CapacityProcess for Capacity {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        match self {
            Capacity::Constant(rate) => CapacitySegment { rate: *rate, until: Time::NEVER },
            Capacity::Steps(steps) => steps.segment(now),
            Capacity::Markov(markov) => markov.segment(now),
            Capacity::SlottedMarkov(markov) => markov.segment(now),
            Capacity::Sessions(sessions) => sessions.segment(now),
        }
    }
}

/// `weights`-average of rates; unlimited if a rate that has weight is.
fn mean_of(rates: &[Rate], weights: &[f64]) -> Rate {
    let mut sum = 0.0;
    for (rate, weight) in rates.iter().zip(weights) {
        if rate.is_unlimited() && *weight > 0.0 {
            return Rate::UNLIMITED;
        }
        sum += rate.as_bps() as f64 * weight;
    }
    Rate::from_bps((sum + 0.5) as u64)
}
