//! A source's use of the rates that it hears: its own estimate, and the bounds of an ABR source.

use varicap_units::Rate;

use super::{AbrConfig, EstimatorConfig, KnownRtt, Scale, SourceEstimate};

/// The rate at which a source may send: from what it hears, through an estimate of its own if it has one, within the
/// bounds of its ABR source if it has one. An unlimited rate says that none is known (any more).
#[derive(Clone, Debug)]
pub struct RateSource {
    estimate: Option<Box<SourceEstimate>>,
    bounds: Option<Bounds>,
}

/// The bounds of an ABR source, and its rate.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    initial: Rate,
    minimum: Rate,
    peak: Rate,
    increase: Rate,
    rate: Rate,
}

impl RateSource {
    /// A source that hears what `estimator` advertises; `scale` holds until it has measured a round trip.
    pub fn new(estimator: &EstimatorConfig, abr: Option<&AbrConfig>, scale: Scale) -> RateSource {
        let bounds = abr.map(|abr| Bounds {
            initial: abr.first_rate(),
            minimum: abr.minimum,
            peak: abr.peak,
            increase: abr.increase,
            rate: abr.first_rate(),
        });
        RateSource { estimate: estimator.at_source(scale).map(Box::new), bounds }
    }

    /// Whether it wants to know the sender's round trips.
    pub fn measures_rtt(&self) -> bool {
        self.estimate.is_some()
    }

    /// The rate from now on, after `heard` came to a sender whose round trips are `rtt`.
    pub fn hear(&mut self, heard: Rate, rtt: Option<KnownRtt>) -> Rate {
        let estimated = match &mut self.estimate {
            Some(estimate) => estimate.hear(heard, rtt),
            None => heard,
        };
        match &mut self.bounds {
            Some(bounds) => bounds.hear(estimated),
            None => estimated,
        }
    }

    /// The rate from now on, after nothing was heard for so long that the last rate has expired.
    pub fn forget(&mut self) -> Rate {
        match &mut self.bounds {
            Some(bounds) => {
                bounds.rate = bounds.initial;
                bounds.rate
            }
            None => Rate::UNLIMITED,
        }
    }
}

impl Bounds {
    fn hear(&mut self, heard: Rate) -> Rate {
        let raised = Rate::from_bps(self.rate.as_bps().saturating_add(self.increase.as_bps()));
        self.rate = heard.min(raised).max(self.minimum).min(self.peak);
        self.rate
    }
}

impl AbrConfig {
    /// The rate before the first one is heard.
    pub fn first_rate(&self) -> Rate {
        self.rate.or(self.initial).unwrap_or(self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{AtSourceConfig, EffectiveConfig, MeasuredRtt, Place};
    use varicap_units::{Bytes, Span, Stretch};

    const SCALE: Scale = Scale { rtt: Span::from_millis(60), packet: Bytes::new(500) };

    fn hear_all(source: &mut RateSource, rates: &[u64]) -> Vec<u64> {
        rates.iter().map(|bps| source.hear(Rate::from_bps(*bps), None).as_bps()).collect()
    }

    #[test]
    fn without_bounds_and_estimate_the_rate_is_what_is_heard() {
        let mut source = RateSource::new(&EstimatorConfig::default(), None, SCALE);
        assert_eq!(hear_all(&mut source, &[7, 0, 9]), [7, 0, 9]);
        assert!(!source.measures_rtt() && source.forget().is_unlimited());
    }

    #[test]
    fn the_rate_rises_in_steps_and_falls_at_once_within_its_bounds() {
        let bps = Rate::from_bps;
        let abr = AbrConfig {
            initial: Some(bps(20)),
            minimum: bps(10),
            peak: bps(90),
            increase: bps(30),
            ..AbrConfig::default()
        };
        let mut source = RateSource::new(&EstimatorConfig::default(), Some(&abr), SCALE);
        assert_eq!(hear_all(&mut source, &[100, 100, 100, 100]), [50, 80, 90, 90]);
        assert_eq!(hear_all(&mut source, &[0, 35, 100]), [10, 35, 65]);
        assert_eq!(source.forget(), bps(20));
        assert_eq!(hear_all(&mut source, &[100]), [50]);
    }

    #[test]
    fn an_estimate_at_the_source_follows_the_round_trip_that_it_measures() {
        let estimator = |rtt: MeasuredRtt| {
            EstimatorConfig::Effective(EffectiveConfig {
                at: Place::Source(AtSourceConfig { rtt }),
                least: Stretch::Samples(1),
                ..EffectiveConfig::default()
            })
        };
        let rtt = KnownRtt { base: Span::from_millis(30), smoothed: Span::from_millis(90) };
        let mut source = RateSource::new(&estimator(MeasuredRtt::Base), None, SCALE);
        assert!(source.measures_rtt());
        // Averages of two as long as nothing is measured, then of one.
        assert_eq!(hear_all(&mut source, &[4, 8, 8]), [4, 6, 8]);
        assert_eq!(source.hear(Rate::from_bps(2), Some(rtt)), Rate::from_bps(2));
        let mut source = RateSource::new(&estimator(MeasuredRtt::Smoothed), None, SCALE);
        assert_eq!(hear_all(&mut source, &[4, 8, 7]), [4, 6, 8]);
        assert_eq!(source.hear(Rate::from_bps(6), Some(rtt)), Rate::from_bps(7));
    }
}
