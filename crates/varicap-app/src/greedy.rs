//! The greedy application: it always has more to send.

use varicap_units::part::Part;
use varicap_units::{Bytes, Time};

use crate::{Application, Feeding, Offer, Start};

/// Always more to send; there is nothing to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greedy;

impl Part for Greedy {}

impl Application for Greedy {
    type Feed = Endless;

    fn feed(&self, start: &Start<'_>) -> Endless {
        Endless { due: start.at }
    }

    fn packets(&self, _: f64, _: f64) -> f64 {
        f64::INFINITY
    }
}

/// An endless supply, offered at once.
#[derive(Debug)]
pub struct Endless {
    /// The instant at which it is offered; NEVER afterwards.
    due: Time,
}

impl Feeding for Endless {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        (now >= std::mem::replace(&mut self.due, Time::NEVER)).then_some(Offer::Write(Bytes::MAX))
    }

    fn poll_at(&self) -> Time {
        self.due
    }
}
