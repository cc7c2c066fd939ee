//! INSTCAP: the capacity itself, averaged over the interval between two advertisements.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, positive};
use varicap_units::{JsonSchema, Rate, Span, Time, Work};

use super::{EstimatorPart, RateFeedback, Scale};
use crate::frame::Backlog;

/// The mean rate of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InstantaneousConfig {
    /// Time over which the mean is taken, and after which it is advertised. Default: 100 ms.
    pub interval: Span,
}

impl Default for InstantaneousConfig {
    fn default() -> InstantaneousConfig {
        InstantaneousConfig { interval: Span::from_millis(100) }
    }
}

impl Part for InstantaneousConfig {
    fn check(&self) -> Checked {
        positive("interval", self.interval)
    }
}

impl EstimatorPart for InstantaneousConfig {
    type Estimator = Instantaneous;

    fn interval(&self) -> Option<Span> {
        Some(self.interval)
    }

    fn estimator(&self, _: Scale, now: Time, capacity: Rate) -> Instantaneous {
        Instantaneous::new(now, self.interval, capacity)
    }
}

/// Advertises, every interval, the mean capacity of that interval. Source: [abr], INSTCAP.
#[derive(Clone, Debug)]
pub struct Instantaneous {
    interval: Span,
    due: Time,
    capacity: Rate,
    /// The instant up to which `offered` counts.
    counted: Time,
    /// The work that the link has offered since the last advertisement.
    offered: Work,
}

impl Instantaneous {
    /// Advertises every `interval`, the first time after one, on a link that offers `capacity` now. An interval of no
    /// length is taken as one nanosecond: the capacity as it is.
    pub fn new(now: Time, interval: Span, capacity: Rate) -> Instantaneous {
        let interval = interval.max(Span::from_nanos(1));
        Instantaneous { interval, due: now + interval, capacity, counted: now, offered: Work::ZERO }
    }

    fn count(&mut self, until: Time) {
        self.offered += self.capacity * (until - self.counted);
        self.counted = until;
    }
}

impl RateFeedback for Instantaneous {
    fn observe(&mut self, now: Time, capacity: Rate, _backlog: Backlog) {
        assert!(now <= self.due, "observed at {now:?} before what was due at {:?} was advertised", self.due);
        self.count(now);
        self.capacity = capacity;
    }

    fn pass(&mut self, now: Time, work: Work) {
        assert!(now <= self.due, "passed at {now:?} before what was due at {:?} was advertised", self.due);
        self.offered += work;
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        if now < self.due {
            return None;
        }
        self.count(self.due);
        let nanobits = std::mem::take(&mut self.offered).as_nanobits();
        let nanos = u128::from(self.interval.as_nanos());
        self.due += self.interval;
        // A mean of rates is a rate.
        Some(Rate::from_bps(u64::try_from((nanobits + nanos / 2) / nanos).unwrap_or(u64::MAX)))
    }

    fn poll_at(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Bytes;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn each_interval_is_averaged_by_itself() {
        let mut feedback = Instantaneous::new(Time::ZERO, Span::from_millis(10), Rate::from_bps(1_000));
        feedback.observe(ms(4), Rate::from_bps(2_000), Backlog::default());
        assert_eq!(feedback.advertise(ms(9)), None);
        assert_eq!(feedback.poll_at(), ms(10));
        assert_eq!(feedback.advertise(ms(10)), Some(Rate::from_bps(1_600)));
        assert_eq!(feedback.advertise(ms(10)), None);
        assert_eq!(feedback.advertise(ms(20)), Some(Rate::from_bps(2_000)));
    }

    #[test]
    fn an_outage_is_advertised_as_one() {
        let mut feedback = Instantaneous::new(Time::ZERO, Span::from_millis(10), Rate::from_bps(1_000));
        feedback.observe(Time::ZERO, Rate::ZERO, Backlog::default());
        assert_eq!(feedback.advertise(ms(10)), Some(Rate::ZERO));
    }

    #[test]
    fn opportunities_count_in_the_interval_that_ends_with_them() {
        let mut feedback = Instantaneous::new(Time::ZERO, Span::from_millis(10), Rate::ZERO);
        let packet = Work::of(Bytes::new(1500));
        feedback.pass(ms(3), packet);
        feedback.pass(ms(10), packet);
        assert_eq!(feedback.advertise(ms(10)), Some(Rate::from_bps(2_400_000)));
        feedback.pass(ms(11), packet);
        assert_eq!(feedback.advertise(ms(20)), Some(Rate::from_bps(1_200_000)));
        assert_eq!(feedback.advertise(ms(30)), Some(Rate::ZERO));
    }

    #[test]
    fn intervals_polled_late_come_one_by_one() {
        let mut feedback = Instantaneous::new(ms(5), Span::from_millis(10), Rate::from_bps(1_000));
        let advertised: Vec<Rate> = std::iter::from_fn(|| feedback.advertise(ms(40))).collect();
        assert_eq!(advertised, [Rate::from_bps(1_000); 3]);
        assert_eq!(feedback.poll_at(), ms(45));
    }
}
