//! Delays from given instants on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Span, Stream, Time};

use super::{DelayPart, DelayProcess, DelaySegment, Files, check_delays, mean_of};
use crate::error::NetError;
use crate::timeline::{Steps, Timeline, check_instants};

/// A delay from each given instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsDelayConfig {
    /// When each delay begins, in increasing order, the first at `"0 s"`.
    pub at: Vec<Span>,
    /// The delays, as many as instants.
    pub delays: Vec<Span>,
    /// If given, the steps repeat with this period.
    #[serde(default)]
    pub period: Option<Span>,
}

impl Part for StepsDelayConfig {
    fn check(&self) -> Checked {
        check_instants(&self.at, ("delays", self.delays.len()), self.period)?;
        check_delays("delays", &self.delays)
    }
}

impl DelayPart for StepsDelayConfig {
    type Parts = Arc<Timeline<Span>>;
    type Path = Steps<Span>;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<Timeline<Span>>, NetError> {
        self.check()?;
        Ok(Arc::new(Timeline::new(self.at.clone(), self.delays.clone(), self.period, true)))
    }

    fn mean(parts: &Arc<Timeline<Span>>) -> Span {
        mean_of(parts.held())
    }

    fn least(parts: &Arc<Timeline<Span>>) -> Span {
        parts.least()
    }

    fn path(parts: &Arc<Timeline<Span>>, _: Stream) -> Steps<Span> {
        Steps::new(parts.clone())
    }
}

impl DelayProcess for Steps<Span> {
    fn segment(&mut self, now: Time) -> DelaySegment {
        let (delay, until) = self.piece(now);
        DelaySegment { delay, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(at: &[u64], delays: &[u64], period: Option<u64>) -> StepsDelayConfig {
        StepsDelayConfig {
            at: at.iter().map(|&secs| Span::from_secs(secs)).collect(),
            delays: delays.iter().map(|&nanos| Span::from_nanos(nanos)).collect(),
            period: period.map(Span::from_secs),
        }
    }

    fn read(config: &StepsDelayConfig) -> Result<Arc<Timeline<Span>>, NetError> {
        config.read(&mut Files::of(&mut |_| Err("no files".to_owned())))
    }

    #[test]
    fn the_mean_weighs_delays_with_the_time_that_they_hold() {
        let repeating = read(&config(&[0, 2], &[10, 40], Some(3))).unwrap();
        assert_eq!(StepsDelayConfig::mean(&repeating), Span::from_nanos(20));
        assert_eq!(StepsDelayConfig::least(&repeating), Span::from_nanos(10));
        let once = read(&config(&[0, 2], &[10, 40], None)).unwrap();
        assert_eq!(StepsDelayConfig::mean(&once), Span::from_nanos(40));
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |config: StepsDelayConfig| read(&config).unwrap_err().to_string();
        assert_eq!(refusal(config(&[], &[], None)), "`delays` is empty, expected at least one delay");
        assert_eq!(refusal(config(&[0], &[1, 2], None)), "`at` is 1 values, expected 2, one per delay");
        assert_eq!(refusal(config(&[1], &[1], None)), "`at.0` is 1 s, expected 0 s");
        assert_eq!(
            refusal(config(&[0, 3], &[1, 2], Some(3))),
            "`period` is 3 s, expected longer than the last step at 3 s"
        );
        assert_eq!(refusal(config(&[0, 3], &[1, u64::MAX], None)).split(" is ").next(), Some("`delays.1`"));
    }
}
