//! SRTT plus four times RTTVAR. Source: RFC 6298.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{JsonSchema, Span, Time};

use super::step::Step;
use super::{LONGEST_ACK_DELAY, Limits, Smoothed};

/// RTO that a timer shorter than this restarts from when the SYN was lost. Source: RFC 6298 §5.7.
const AFTER_SYN_LOSS: Span = Span::from_secs(3);

/// RFC 6298's timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rfc6298Timer {
    /// Least RTO. Default: 1 s (RFC 6298 §2.4; Linux has 200 ms).
    pub minimum: Span,
    /// RTO before the first sample. Default: 1 s (RFC 6298 §2.1).
    pub initial: Span,
    /// Largest RTO. Default: 60 s (RFC 6298 §2.5).
    pub maximum: Span,
    /// Clock granularity G: RTT samples and RTOs are rounded up to it. Default: 1 ms.
    pub granularity: Span,
}

impl Default for Rfc6298Timer {
    fn default() -> Rfc6298Timer {
        Rfc6298Timer {
            minimum: Span::from_secs(1),
            initial: Span::from_secs(1),
            maximum: Span::from_secs(60),
            granularity: Span::from_millis(1),
        }
    }
}

impl Part for Rfc6298Timer {
    fn check(&self) -> Checked {
        part::positive("maximum", self.maximum)?;
        part::positive("initial", self.initial)?;
        part::positive("granularity", self.granularity)?;
        let most = format!("at most `maximum`, {}", self.maximum);
        part::require("minimum", self.minimum <= self.maximum, self.minimum, most.clone())?;
        part::require("initial", self.initial <= self.maximum, self.initial, most)
    }
}

/// The rule of RFC 6298.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    granularity: Step,
    /// The last round-trip time, rounded up [ns]: the next one mostly comes to the same.
    latest: u64,
    minimum: u64,
    initial: u64,
    maximum: u64,
}

impl Rule {
    pub(super) fn new(config: &Rfc6298Timer) -> Rule {
        let granularity = Step::new(config.granularity);
        Rule {
            granularity,
            latest: 0,
            minimum: granularity.round_up(config.minimum.as_nanos()),
            initial: granularity.round_up(config.initial.as_nanos()),
            maximum: config.maximum.as_nanos(),
        }
    }
}

impl super::Rule for Rule {
    #[inline]
    fn limits(&self) -> Limits {
        let (initial, maximum) = (self.initial, self.maximum);
        let after_syn_loss = initial.max(AFTER_SYN_LOSS.as_nanos()).min(maximum.max(1));
        Limits {
            unit: 1,
            initial,
            after_syn_loss,
            maximum,
            backs_off: true,
            linear_syn_timeouts: 0,
            retries: None,
            slack: self.granularity.step,
            longest_ack_delay: LONGEST_ACK_DELAY,
            least: self.minimum.min(initial).min(maximum),
            least_is_added: false,
            is_exact: true,
            maximum_backoff: u64::MAX,
            forgets_after: u32::MAX,
        }
    }

    #[inline]
    fn measure(&mut self, sent: Time, now: Time) -> u64 {
        let rtt = now.since(sent).as_nanos();
        if self.latest.wrapping_sub(rtt) >= self.granularity.step {
            self.latest = self.granularity.round_up(rtt);
        }
        self.latest
    }

    fn rto(&self, smoothed: &Smoothed) -> u64 {
        // RFC 6298 (2.3): RTO <- SRTT + max(G, K*RTTVAR).
        let rto = smoothed.srtt + smoothed.four_rttvar.max(self.granularity.step);
        if rto <= self.minimum {
            self.minimum.min(self.maximum)
        } else {
            self.granularity.round_up(rto).min(self.maximum)
        }
    }
}
