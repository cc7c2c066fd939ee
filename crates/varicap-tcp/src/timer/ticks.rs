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
    /// Deviations (RTTVAR) that are added to SRTT. Default: 4 (Jacobson 1990; 4.3BSD-Tahoe: 2).
    pub deviations: u32,
    /// By how much expiries in a row multiply the RTO at most. Default: 64 (`tcp_backoff` of 4.3BSD, `t_backoff_` of ns-2).
    pub maximum_backoff: u32,
    /// How a round trip is counted in ticks. Default: crossed (4.3BSD).
    pub samples: TickSamples,
    /// Whether a timer ends with a tick of the clock, up to one tick early. Default: true (4.3BSD; ns-2: false, when its time
    /// is over).
    pub on_tick: bool,
}

/// How a round trip is counted in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TickSamples {
    /// The ticks of the clock in it, and one more for a first sample: 4.3BSD, whose `t_rtt` begins with one.
    #[default]
    Crossed,
    /// The ticks of the clock in it, but at least one: ns-2.
    AtLeastOne,
    /// The nearest number of ticks, but at least one: ns 1, and ns-2 with timestamps.
    Nearest,
}

/// Expiries in a row after which the next sample begins the estimate anew: `t_rxtshift > TCP_MAXRXTSHIFT / 4` in 4.3BSD,
/// `t_backoff_ > 8` in ns-2.
const FORGETS_AFTER: u32 = 4;

impl Default for TickTimer {
    fn default() -> TickTimer {
        TickTimer {
            tick: Span::from_millis(500),
            minimum_ticks: 2,
            initial: Span::from_secs(6),
            maximum: Span::from_secs(64),
            deviations: 4,
            maximum_backoff: 64,
            samples: TickSamples::Crossed,
            on_tick: true,
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
        part::at_least_one("deviations", self.deviations)?;
        part::at_least_one("maximum_backoff", self.maximum_backoff)?;
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
    deviations: u64,
    maximum_backoff: u64,
    samples: TickSamples,
    on_tick: bool,
}

impl Rule {
    pub(super) fn new(config: &TickTimer) -> Rule {
        let tick = Step::new(config.tick);
        Rule {
            tick,
            minimum: tick.step.saturating_mul(u64::from(config.minimum_ticks.max(1))),
            initial: tick.round_up(config.initial.as_nanos()),
            maximum: tick.round_up(config.maximum.as_nanos()),
            deviations: u64::from(config.deviations.max(1)),
            maximum_backoff: u64::from(config.maximum_backoff.max(1)),
            samples: config.samples,
            on_tick: config.on_tick,
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
            is_exact: !self.on_tick,
            maximum_backoff: self.maximum_backoff,
            forgets_after: FORGETS_AFTER,
        }
    }

    /// BSD counts the tick boundaries that it crosses, so a sample is right on average only.
    #[inline]
    fn measure(&mut self, sent: Time, now: Time) -> u64 {
        let crossed = self.tick.whole(now.as_nanos()) - self.tick.whole(sent.as_nanos().min(now.as_nanos()));
        match self.samples {
            TickSamples::Crossed => crossed,
            TickSamples::AtLeastOne => crossed.max(1),
            TickSamples::Nearest => self.tick.whole(now.since(sent).as_nanos() + self.tick.step / 2).max(1),
        }
    }

    fn first(&self, rtt: u64) -> u64 {
        rtt + u64::from(self.samples == TickSamples::Crossed)
    }

    fn rto(&self, smoothed: &Smoothed) -> u64 {
        // Both are scaled, as Jacobson's appendix has it: nothing is rounded before the sum.
        let sum = smoothed.eight_srtt + 2 * self.deviations * smoothed.four_rttvar;
        (sum >> 3).saturating_mul(self.tick.step).max(self.minimum).min(self.maximum)
    }

    /// The tick under way counts as one, as in BSD: a timer of n ticks fires between n - 1 and n ticks later.
    #[inline]
    fn on_clock(&self, now: Time, rto: Span) -> Time {
        Time::from_nanos(self.tick.whole(now.as_nanos()) * self.tick.step) + rto
    }
}
