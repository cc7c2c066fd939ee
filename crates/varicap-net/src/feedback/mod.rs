//! What a link tells the source about its capacity.

mod exact;
mod instantaneous;

use std::fmt::Debug;

use varicap_units::{Rate, Time};

use crate::{Backlog, EstimatorConfig};

pub use exact::Exact;
pub use instantaneous::Instantaneous;

/// An estimator of a link's rate, fed by its watch and polled like a link: observe what happens in order of time, and
/// before that advertise what is due. The world delays what is advertised and hands it to a shaper or to a congestion
/// control. It only watches: it never changes what happens at the link.
pub trait RateFeedback: Debug + Send {
    /// From `now` on the link offers `capacity`, and `backlog` waits.
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog);
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
}

impl Estimator {
    /// The estimator that `config` names, on a link that offers `capacity` from `now` on.
    pub fn new(config: &EstimatorConfig, now: Time, capacity: Rate) -> Estimator {
        match config {
            EstimatorConfig::Exact(exact) => Estimator::Exact(Exact::new(now, exact.interval, capacity)),
            EstimatorConfig::Instantaneous(mean) => {
                Estimator::Instantaneous(Instantaneous::new(now, mean.interval, capacity))
            }
        }
    }
}

impl RateFeedback for Estimator {
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog) {
        match self {
            Estimator::Exact(exact) => exact.observe(now, capacity, backlog),
            Estimator::Instantaneous(mean) => mean.observe(now, capacity, backlog),
        }
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        match self {
            Estimator::Exact(exact) => exact.advertise(now),
            Estimator::Instantaneous(mean) => mean.advertise(now),
        }
    }

    fn poll_at(&self) -> Time {
        match self {
            Estimator::Exact(exact) => exact.poll_at(),
            Estimator::Instantaneous(mean) => mean.poll_at(),
        }
    }
}
