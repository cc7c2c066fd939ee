//! The capacity itself, at each of its changes or by an interval. Source: [ratcp, §IV] (exact rate feedback).

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, positive};
use varicap_units::{JsonSchema, Rate, Span, Time};

use super::{EstimatorPart, RateFeedback, Scale};
use crate::frame::Backlog;

/// The rate itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExactConfig {
    /// Time from one update to the next. Default: each change is advertised at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
}

impl Part for ExactConfig {
    fn check(&self) -> Checked {
        self.interval.map_or(Ok(()), |interval| positive("interval", interval))
    }
}

impl EstimatorPart for ExactConfig {
    type Estimator = Exact;

    fn averages(&self) -> bool {
        false
    }

    fn interval(&self) -> Option<Span> {
        self.interval
    }

    fn estimator(&self, _: Scale, now: Time, capacity: Rate) -> Exact {
        Exact::new(now, self.interval, capacity)
    }
}

/// Advertises the capacity as it is: whenever it changes, or as it is every interval.
#[derive(Clone, Debug)]
pub struct Exact {
    interval: Option<Span>,
    due: Time,
    capacity: Rate,
    /// The last rate that was advertised.
    advertised: Option<Rate>,
}

impl Exact {
    /// Advertises `capacity` at once, and later each change, or what there is at every `interval`.
    pub fn new(now: Time, interval: Option<Span>, capacity: Rate) -> Exact {
        let interval = interval.map(|interval| interval.max(Span::from_nanos(1)));
        Exact { interval, due: now, capacity, advertised: None }
    }
}

impl RateFeedback for Exact {
    fn observe(&mut self, now: Time, capacity: Rate, _backlog: Backlog) {
        self.capacity = capacity;
        if self.interval.is_none() {
            self.due = if self.advertised == Some(capacity) { Time::NEVER } else { self.due.min(now) };
        }
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        if now < self.due {
            return None;
        }
        self.due = self.interval.map_or(Time::NEVER, |interval| self.due + interval);
        self.advertised = Some(self.capacity);
        Some(self.capacity)
    }

    fn poll_at(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    const SLOW: Rate = Rate::from_bps(1_000);
    const FAST: Rate = Rate::from_bps(2_000);

    #[test]
    fn each_change_is_advertised_once_and_at_once() {
        let mut feedback = Exact::new(Time::ZERO, None, SLOW);
        assert_eq!(feedback.advertise(Time::ZERO), Some(SLOW));
        assert_eq!((feedback.advertise(ms(5)), feedback.poll_at()), (None, Time::NEVER));
        feedback.observe(ms(7), FAST, Backlog::default());
        assert_eq!(feedback.poll_at(), ms(7));
        assert_eq!(feedback.advertise(ms(7)), Some(FAST));
        assert_eq!(feedback.advertise(ms(7)), None);
        // The same again is no change, nor is a change that is over before anyone asks.
        feedback.observe(ms(8), FAST, Backlog::default());
        feedback.observe(ms(9), SLOW, Backlog::default());
        feedback.observe(ms(9), FAST, Backlog::default());
        assert_eq!((feedback.advertise(ms(9)), feedback.poll_at()), (None, Time::NEVER));
    }

    #[test]
    fn with_an_interval_what_lies_between_is_not_advertised() {
        let mut feedback = Exact::new(Time::ZERO, Some(Span::from_millis(10)), SLOW);
        assert_eq!(feedback.advertise(Time::ZERO), Some(SLOW));
        feedback.observe(ms(4), FAST, Backlog::default());
        feedback.observe(ms(6), SLOW, Backlog::default());
        assert_eq!((feedback.advertise(ms(9)), feedback.poll_at()), (None, ms(10)));
        // A change at the very instant comes first.
        feedback.observe(ms(10), FAST, Backlog::default());
        assert_eq!(feedback.advertise(ms(10)), Some(FAST));
        assert_eq!(feedback.advertise(ms(20)), Some(FAST), "unchanged, and advertised again");
    }
}
