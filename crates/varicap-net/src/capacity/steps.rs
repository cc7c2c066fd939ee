//! Rates from given instants on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, Part};
use varicap_units::{JsonSchema, Rate, Span, Stream, Time};

use super::{CapacityPart, CapacityProcess, CapacitySegment, Files, check_rates};
use crate::error::NetError;
use crate::timeline::{Steps, Timeline, check_instants};

/// A rate from each given instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsConfig {
    /// When each rate begins, in increasing order, the first at `"0 s"`.
    pub at: Vec<Span>,
    /// The rates, as many as instants.
    pub rates: Vec<Rate>,
    /// If given, the steps repeat with this period.
    #[serde(default)]
    pub period: Option<Span>,
}

impl Part for StepsConfig {
    fn check(&self) -> Checked {
        let StepsConfig { at, rates, period } = self;
        check_instants(at, ("rates", rates.len()), *period)?;
        check_rates("rates", rates)
    }
}

impl CapacityPart for StepsConfig {
    type Parts = Arc<Timeline>;
    type Path = Steps;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<Timeline>, NetError> {
        Ok(Arc::new(Timeline::from_config(self)?))
    }

    fn mean_rate(parts: &Arc<Timeline>) -> Rate {
        parts.mean_rate()
    }

    fn path(parts: &Arc<Timeline>, _: Stream) -> Steps {
        Steps::new(parts.clone())
    }
}

impl Timeline {
    /// The timeline of a scenario's steps, which are checked.
    pub fn from_config(config: &StepsConfig) -> Result<Timeline, Fault> {
        config.check()?;
        let StepsConfig { at, rates, period } = config;
        Ok(Timeline::new(at.clone(), rates.clone(), *period, true))
    }

    /// Mean over its length; without one, the last rate [b/s].
    pub fn mean_rate(&self) -> Rate {
        let (mut bits, mut nanos): (u128, u128) = (0, 0);
        for (rate, length) in self.held() {
            if rate.is_unlimited() {
                return Rate::UNLIMITED;
            }
            bits = bits.saturating_add((rate * length).as_nanobits());
            nanos += u128::from(length.as_nanos());
        }
        Rate::from_bps(u64::try_from((bits + nanos / 2) / nanos).unwrap_or(u64::MAX))
    }
}

impl CapacityProcess for Steps {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        let (rate, until) = self.piece(now);
        CapacitySegment { rate, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(at: &[u64], rates: &[u64], period: Option<u64>) -> StepsConfig {
        StepsConfig {
            at: at.iter().map(|&secs| Span::from_secs(secs)).collect(),
            rates: rates.iter().map(|&bps| Rate::from_bps(bps)).collect(),
            period: period.map(Span::from_secs),
        }
    }

    fn secs(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn steps_hold_from_their_instant_on_and_repeat() {
        let timeline = Timeline::from_config(&config(&[0, 2], &[10, 40], Some(3))).unwrap();
        assert_eq!(timeline.mean_rate(), Rate::from_bps(20));
        let mut path = Steps::new(Arc::new(timeline));
        for (now, rate, until) in [(0, 10, 2), (2, 40, 3), (3, 10, 5), (7, 10, 8), (8, 40, 9)] {
            let expected = CapacitySegment { rate: Rate::from_bps(rate), until: secs(until) };
            assert_eq!(path.segment(secs(now)), expected);
        }
    }

    #[test]
    fn without_a_period_the_last_rate_stays() {
        let timeline = Timeline::from_config(&config(&[0, 2], &[10, 40], None)).unwrap();
        assert_eq!(timeline.mean_rate(), Rate::from_bps(40));
        let mut path = Steps::new(Arc::new(timeline));
        let forever = CapacitySegment { rate: Rate::from_bps(40), until: Time::NEVER };
        assert_eq!(path.segment(secs(1_000)), forever);
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |config| NetError::from(Timeline::from_config(&config).unwrap_err()).to_string();
        assert_eq!(refusal(config(&[], &[], None)), "`rates` is empty, expected at least one rate");
        assert_eq!(refusal(config(&[0], &[1, 2], None)), "`at` is 1 values, expected 2, one per rate");
        assert_eq!(refusal(config(&[1], &[1], None)), "`at.0` is 1 s, expected 0 s");
        assert_eq!(refusal(config(&[0, 3, 3], &[1, 2, 3], None)), "`at.2` is 3 s, expected later than 3 s");
        assert_eq!(
            refusal(config(&[0, 3], &[1, 2], Some(3))),
            "`period` is 3 s, expected longer than the last step at 3 s"
        );
    }

    #[test]
    fn a_path_that_begins_within_the_timeline_is_the_same_path_earlier() {
        let (from_start, offset) = (config(&[0, 2, 3], &[1, 2, 3], Some(5)), Span::from_millis(2500));
        let timeline = Arc::new(Timeline::from_config(&from_start).unwrap());
        let (mut whole, mut rest) = (Steps::new(timeline.clone()), Steps::begun(timeline, offset));
        for ms in (0..20_000).step_by(500) {
            let now = Time::ZERO + Span::from_millis(ms);
            let CapacitySegment { rate, until } = whole.segment(now + offset);
            let shifted = CapacitySegment { rate, until: Time::ZERO + until.since(Time::ZERO + offset) };
            assert_eq!(rest.segment(now), shifted);
        }
        let once = Arc::new(Timeline::from_config(&config(&[0, 2], &[1, 2], None)).unwrap());
        assert_eq!(Steps::begun(once, Span::from_secs(3)).segment(Time::ZERO).until, Time::NEVER);
    }
}
