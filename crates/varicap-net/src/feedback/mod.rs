//! What a link tells the source about its capacity, and what the source makes of it.

mod config;
mod effective;
mod exact;
mod instantaneous;
mod source;

use std::fmt::Debug;

use varicap_units::{Rate, Time, Work};

use crate::Backlog;

pub use config::*;
pub use effective::{Effective, MOST_SAMPLES, Scale, SlidingAverages};
pub use exact::Exact;
pub use instantaneous::Instantaneous;
pub use source::{KnownRtt, RateSource};

/// An estimator of a link's rate, fed by its watch and polled like a link: observe what happens in order of time, and
/// before that advertise what is due. The world delays what is advertised and hands it to a shaper or to a congestion
/// control. It only watches: it never changes what happens at the link.
pub trait RateFeedback: Debug + Send {
    /// From `now` on the link offers `capacity`, and `backlog` waits.
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog);
    /// At `now` the link had an opportunity to do `work`: of a link that has no rate at each instant only means are
    /// known.
    fn pass(&mut self, _now: Time, _work: Work) {}
    /// The next rate that is due by `now`; call it until it gives none.
    fn advertise(&mut self, now: Time) -> Option<Rate>;
    /// When the next rate is due.
    fn poll_at(&self) -> Time;
}

/// An estimator, dispatched without a pointer.
#[derive(Clone, Debug)]
pub enum Estimator {
    /// The capacity itself.
    Exact(Exact),
    /// Its mean over an interval.
    Instantaneous(Instantaneous),
    /// The least of such means, or their effective capacity.
    Effective(Box<Effective>),
}

impl Estimator {
    /// The part of the estimator that `config` names which is at the link, on one that offers `capacity` from `now`
    /// on. Stretches and delta refer to `scale`.
    pub fn new(config: &EstimatorConfig, scale: Scale, now: Time, capacity: Rate) -> Estimator {
        match config {
            EstimatorConfig::Exact(exact) => Estimator::Exact(Exact::new(now, exact.interval, capacity)),
            EstimatorConfig::Instantaneous(mean) => {
                Estimator::Instantaneous(Instantaneous::new(now, mean.interval, capacity))
            }
            EstimatorConfig::Effective(effective) => match effective.at {
                Place::Link => {
                    Estimator::Effective(Box::new(Effective::new(effective, scale, now, capacity)))
                }
                Place::Source(_) => {
                    Estimator::Instantaneous(Instantaneous::new(now, effective.interval, capacity))
                }
            },
        }
    }
}

impl RateFeedback for Estimator {
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog) {
        match self {
            Estimator::Exact(exact) => exact.observe(now, capacity, backlog),
            Estimator::Instantaneous(mean) => mean.observe(now, capacity, backlog),
            Estimator::Effective(effective) => effective.observe(now, capacity, backlog),
        }
    }

    fn pass(&mut self, now: Time, work: Work) {
        match self {
            Estimator::Exact(exact) => exact.pass(now, work),
            Estimator::Instantaneous(mean) => mean.pass(now, work),
            Estimator::Effective(effective) => effective.pass(now, work),
        }
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        match self {
            Estimator::Exact(exact) => exact.advertise(now),
            Estimator::Instantaneous(mean) => mean.advertise(now),
            Estimator::Effective(effective) => effective.advertise(now),
        }
    }

    fn poll_at(&self) -> Time {
        match self {
            Estimator::Exact(exact) => exact.poll_at(),
            Estimator::Instantaneous(mean) => mean.poll_at(),
            Estimator::Effective(effective) => effective.poll_at(),
        }
    }
}
