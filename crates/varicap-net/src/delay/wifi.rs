//! The jitter of a crowded Wi-Fi channel: Poisson numbers of short and of long waits for each packet.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part, require};
use varicap_units::{JsonSchema, Span, Stream, Time};

use super::{DelayPart, DelayProcess, DelaySegment, Files};
use crate::error::NetError;

/// A wait for collisions, and how many there are in the mean.
const SHORT: Span = Span::from_millis(1);
const SHORT_MEAN: f64 = 1.0;
/// A wait for retransmissions, and how many there are in the mean, where there are any.
const LONG: Span = Span::from_micros(7_500);
const LONG_MEAN: f64 = 12.0;
/// All long waits together, in the mean.
const LONG_TOTAL: Span = Span::from_millis(90);

/// Jitter as on Wi-Fi with hidden nodes.
///
/// To each packet's delay come N1 short waits of 1 ms, less a uniform part of one if there are any, and N2 long waits of
/// 7.5 ms. N1 is a Poisson number with mean 1; so is N2 with mean 12, for a share of the
/// packets that makes the average (from 1 to 91 ms) what is asked for, and zero for the others. Packets keep their order
/// unless the link has `reorder`. Source: draft-huitema-ccwg-c4-test, "Handling of High Jitter Environments".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WifiDelayConfig {
    /// The delay without jitter. Default: 0 s.
    #[serde(default)]
    pub delay: Span,
    /// Average of the jitter, as the draft counts it, before the part of a short wait is taken off. Default: 1 ms.
    #[serde(default = "short")]
    pub jitter: Span,
}

fn short() -> Span {
    SHORT
}

impl WifiDelayConfig {
    /// Share of the packets that have long waits.
    fn share(&self) -> f64 {
        let above = self.jitter.as_nanos().saturating_sub(SHORT.as_nanos());
        (above as f64 / LONG_TOTAL.as_nanos() as f64).min(1.0)
    }
}

impl Part for WifiDelayConfig {
    fn check(&self) -> Checked {
        part::bounded("delay", self.delay)?;
        let most = SHORT + LONG_TOTAL;
        let good = self.jitter >= SHORT && self.jitter <= most;
        require("jitter", good, self.jitter, format!("from {SHORT} to {most}"))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// The parts that all runs share.
#[derive(Clone, Debug)]
pub struct WifiDelayParts {
    config: WifiDelayConfig,
    short: Poisson,
    long: Poisson,
}

impl DelayPart for WifiDelayConfig {
    type Parts = Arc<WifiDelayParts>;
    type Path = WifiDelay;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<WifiDelayParts>, NetError> {
        self.check()?;
        let [short, long] = [SHORT_MEAN, LONG_MEAN].map(Poisson::new);
        Ok(Arc::new(WifiDelayParts { config: *self, short, long }))
    }

    fn mean(parts: &Arc<WifiDelayParts>) -> Span {
        // Half of a short wait is taken off where there is one.
        let taken = SHORT.as_nanos() as f64 / 2.0 * (1.0 - libm::exp(-SHORT_MEAN));
        let waits =
            SHORT.as_nanos() as f64 * SHORT_MEAN + LONG_TOTAL.as_nanos() as f64 * parts.config.share();
        parts.config.delay + Span::from_nanos((waits - taken + 0.5) as u64)
    }

    fn least(parts: &Arc<WifiDelayParts>) -> Span {
        parts.config.delay
    }

    fn is_per_frame() -> bool {
        true
    }

    fn path(parts: &Arc<WifiDelayParts>, stream: Stream) -> WifiDelay {
        WifiDelay { parts: parts.clone(), stream }
    }
}

/// A Poisson distribution: the probability of at most 0, 1, 2, ….
#[derive(Clone, Debug)]
struct Poisson(Arc<[f64]>);

impl Poisson {
    fn new(mean: f64) -> Poisson {
        let mut term = libm::exp(-mean);
        let (mut sum, mut sums) = (0.0, Vec::new());
        // Until what is left is less than a random number can tell.
        while sum + term > sum {
            sum += term;
            sums.push(sum);
            term *= mean / sums.len() as f64;
        }
        Poisson(sums.into())
    }

    /// The number of which a share `uniform` are smaller.
    fn quantile(&self, uniform: f64) -> u64 {
        self.0.partition_point(|&sum| sum <= uniform) as u64
    }
}

/// The delays of one direction of a link, packet by packet.
#[derive(Debug)]
pub struct WifiDelay {
    parts: Arc<WifiDelayParts>,
    stream: Stream,
}

impl DelayProcess for WifiDelay {
    /// Four random numbers for each packet, used or not.
    fn segment(&mut self, now: Time) -> DelaySegment {
        let WifiDelayParts { config, short, long } = &*self.parts;
        let n1 = short.quantile(self.stream.uniform());
        let r = self.stream.uniform_span(SHORT);
        let suffers = self.stream.chance(config.share());
        let n2 = long.quantile(self.stream.uniform());
        let mut wait = SHORT * n1;
        if n1 >= 1 {
            wait -= r;
        }
        if suffers {
            wait += LONG * n2;
        }
        DelaySegment { delay: config.delay + wait, until: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_numbers_have_their_distribution() {
        let poisson = Poisson::new(1.0);
        let at_most: Vec<f64> = poisson.0[..3].to_vec();
        let e = libm::exp(-1.0);
        for (found, expected) in at_most.iter().zip([e, 2.0 * e, 2.5 * e]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        assert_eq!([0.0, 0.3678, 0.3679, 0.99].map(|u| poisson.quantile(u)), [0, 0, 1, 4]);
        assert!(poisson.quantile(1.0 - f64::EPSILON / 2.0) < 20);
        assert!((Poisson::new(12.0).0.last().unwrap() - 1.0).abs() < 1e-14);
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |jitter| {
            let config = WifiDelayConfig { delay: Span::ZERO, jitter };
            NetError::from(config.check().unwrap_err()).to_string()
        };
        assert_eq!(refusal(Span::ZERO), "`jitter` is 0 s, expected from 1 ms to 91 ms");
        assert_eq!(refusal(Span::from_millis(92)), "`jitter` is 92 ms, expected from 1 ms to 91 ms");
    }
}
