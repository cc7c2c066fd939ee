//! An RTO that is a fixed multiple of the RTT.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{JsonSchema, Span, Time};

use super::{LONGEST_ACK_DELAY, Limits, Smoothed};
use crate::config::RttBase;

/// An RTO that is a fixed multiple of the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MultipleTimer {
    /// RTO = factor x RTT. Default: 2.
    pub factor: f64,
    /// Which RTT is multiplied. Default: smoothed.
    pub of: RttBase,
    /// RTO before the first sample. Default: 1 s.
    pub initial: Span,
    /// Largest RTO. Default: 60 s.
    pub maximum: Span,
    /// Whether the RTO doubles at each expiry. Default: true.
    pub backoff: bool,
}

impl Default for MultipleTimer {
    fn default() -> MultipleTimer {
        MultipleTimer {
            factor: 2.0,
            of: RttBase::Smoothed,
            initial: Span::from_secs(1),
            maximum: Span::from_secs(60),
            backoff: true,
        }
    }
}

impl Part for MultipleTimer {
    fn check(&self) -> Checked {
        let good = self.factor > 0.0 && self.factor <= 1e6;
        part::require("factor", good, self.factor, "above 0, and at most 1e6")?;
        part::positive("maximum", self.maximum)?;
        part::positive("initial", self.initial)?;
        let most = format!("at most `maximum`, {}", self.maximum);
        part::require("initial", self.initial <= self.maximum, self.initial, most)
    }
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux has RFC 6298's timer alone: simulator only")
    }
}

/// A factor times an RTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// In units of 2^-16.
    factor: u64,
    of: RttBase,
    initial: u64,
    maximum: u64,
    backs_off: bool,
}

impl Rule {
    pub(super) fn new(config: &MultipleTimer) -> Rule {
        Rule {
            factor: (config.factor * 65536.0 + 0.5) as u64,
            of: config.of,
            initial: config.initial.as_nanos(),
            maximum: config.maximum.as_nanos(),
            backs_off: config.backoff,
        }
    }
}

impl super::Rule for Rule {
    #[inline]
    fn limits(&self) -> Limits {
        let (initial, maximum, backs_off) = (self.initial, self.maximum, self.backs_off);
        Limits {
            unit: 1,
            initial,
            after_syn_loss: initial,
            maximum,
            backs_off,
            linear_syn_timeouts: 0,
            retries: None,
            slack: 1_000_000,
            longest_ack_delay: LONGEST_ACK_DELAY,
            least: 0,
            least_is_added: false,
            is_exact: true,
            maximum_backoff: u64::MAX,
            forgets_after: u32::MAX,
        }
    }

    #[inline]
    fn measure(&mut self, sent: Time, now: Time) -> u64 {
        now.since(sent).as_nanos()
    }

    fn rto(&self, smoothed: &Smoothed) -> u64 {
        let rtt = match self.of {
            RttBase::Smoothed => smoothed.srtt,
            RttBase::Base => smoothed.least.as_nanos(),
        };
        (rtt.saturating_mul(self.factor) >> 16).max(1).min(self.maximum)
    }
}
