//! A coarse clock, as BSD had it.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{JsonSchema, Span, Time};

use super::step::Step;
use super::{LONGEST_ACK_DELAY, Limits, Smoothed};

/// A coarse tick timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TickTimer {
    /// Length of a tick. Default: 500 ms (BSD).
    pub tick: Span,
    /// Least RTO in ticks. Default: 2.
    pub minimum_ticks: u32,
    /// RTO before the first sample. Default: 6 s.
    pub initial: Span,
    /// Largest RTO. Default: 64 s.
    pub maximum: Span,
}

impl Default for TickTimer {
    fn default() -> TickTimer {
        TickTimer {
            tick: Span::from_millis(500),
            minimum_ticks: 2,
            initial: Span::from_secs(6),
            maximum: Span::from_secs(64),
        }
    }
}

impl Part for TickTimer {
    fn check(&self) -> Checked {
        part::positive("tick", self.tick)?;
        part::positive("maximum", self.maximum)?;
        part::positive("initial", self.initial)?;
        let most = format!("at most `maximum`, {}", self.maximum);
        part::at_least_one("minimum_ticks", self.minimum_ticks)?;
        let minimum = self.tick.saturating_mul(u64::from(self.minimum_ticks));
        part::require("minimum_ticks", minimum <= self.maximum, self.minimum_ticks, most.clone())?;
        part::require("initial", self.initial <= self.maximum, self.initial, most)
    }
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux has RFC 6298's timer alone: simulator only")
    }
}

/// Everything in whole ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    tick: Step,
    minimum: u64,
    initial: u64,
    maximum: u64,
}

impl Rule {
    pub(super) fn new(config: &TickTimer) -> Rule {
        let tick = Step::new(config.tick);
        Rule {
            tick,
            minimum: tick.step.saturating_mul(u64::from(config.minimum_ticks.max(1))),
            initial: tick.round_up(config.initial.as_nanos()),
            maximum: tick.round_up(config.maximum.as_nanos()),
        }
    }
}

impl super::Rule for Rule {
    #[inline]
    fn limits(&self) -> Limits {
        let (initial, maximum) = (self.initial, self.maximum);
        Limits {
            unit: self.tick.step,
            initial,
            after_syn_loss: initial,
            maximum,
            backs_off: true,
            linear_syn_timeouts: 0,
            retries: None,
            slack: self.tick.step,
            longest_ack_delay: LONGEST_ACK_DELAY,
            least: 0,
            least_is_added: false,
            is_exact: false,
            may_be_early: true,
        }
    }

    /// BSD counts the tick boundaries that it crosses, so a sample is right on average only.
    #[inline]
    fn measure(&mut self, sent: Time, now: Time) -> u64 {
        self.tick.whole(now.as_nanos()) - self.tick.whole(sent.as_nanos().min(now.as_nanos()))
    }

    fn rto(&self, smoothed: &Smoothed) -> u64 {
        (smoothed.srtt + smoothed.four_rttvar)
            .saturating_mul(self.tick.step)
            .max(self.minimum)
            .min(self.maximum)
    }

    /// The tick under way counts as one, as in BSD: a timer of n ticks fires between n - 1 and n ticks later.
    #[inline]
    fn on_clock(&self, now: Time, rto: Span) -> Time {
        Time::from_nanos(self.tick.whole(now.as_nanos()) * self.tick.step) + rto
    }
}
