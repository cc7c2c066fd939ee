//! When the retransmission timer fires: RFC 6298, BSD's ticks, or a multiple of the RTT.

use varicap_units::{Span, Time};

use crate::config::{RttBase, Timer};

/// RTO that a timer shorter than this restarts from when the SYN was lost. Source: RFC 6298 §5.7.
const AFTER_SYN_LOSS: Span = Span::from_secs(3);

/// How samples are measured and turned into an RTO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerRule {
    kind: Kind,
    /// Nanoseconds of one unit of the estimator [ns]: 1, or a tick.
    unit: u64,
    granularity: Step,
    minimum: u64,
    maximum: u64,
    initial: u64,
    backs_off: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rfc6298,
    Ticks,
    /// The factor in units of 2^-16.
    Multiple {
        factor: u64,
        of: RttBase,
    },
}

impl TimerRule {
    pub(crate) fn new(timer: &Timer) -> TimerRule {
        match timer {
            Timer::Rfc6298(rfc) => {
                let granularity = Step::new(rfc.granularity);
                TimerRule {
                    kind: Kind::Rfc6298,
                    unit: 1,
                    granularity,
                    minimum: granularity.round_up(rfc.minimum.as_nanos()),
                    maximum: rfc.maximum.as_nanos(),
                    initial: granularity.round_up(rfc.initial.as_nanos()),
                    backs_off: true,
                }
            }
            Timer::Ticks(ticks) => {
                let granularity = Step::new(ticks.tick);
                TimerRule {
                    kind: Kind::Ticks,
                    unit: granularity.step,
                    granularity,
                    minimum: granularity.step.saturating_mul(u64::from(ticks.minimum_ticks.max(1))),
                    maximum: granularity.round_up(ticks.maximum.as_nanos()),
                    initial: granularity.round_up(ticks.initial.as_nanos()),
                    backs_off: true,
                }
            }
            Timer::Multiple(multiple) => TimerRule {
                kind: Kind::Multiple { factor: (multiple.factor * 65536.0 + 0.5) as u64, of: multiple.of },
                unit: 1,
                granularity: Step::new(Span::ZERO),
                minimum: 1,
                maximum: multiple.maximum.as_nanos(),
                initial: multiple.initial.as_nanos(),
                backs_off: multiple.backoff,
            },
        }
    }

    /// A round-trip time as this clock sees it, in its units.
    #[inline]
    pub(crate) fn measure(&self, sent: Time, now: Time) -> u64 {
        match self.kind {
            Kind::Rfc6298 => self.granularity.round_up(now.since(sent).as_nanos()),
            // BSD counts the tick boundaries that it crosses, so a sample is right on average only.
            Kind::Ticks => {
                self.granularity.whole(now.as_nanos())
                    - self.granularity.whole(sent.as_nanos().min(now.as_nanos()))
            }
            Kind::Multiple { .. } => now.since(sent).as_nanos(),
        }
    }

    /// The RTO that follows from the estimator's state [ns], not backed off.
    #[inline]
    pub(crate) fn rto(&self, srtt: u64, four_rttvar: u64, least: Span) -> u64 {
        match self.kind {
            Kind::Rfc6298 => {
                // RFC 6298 (2.3): RTO <- SRTT + max(G, K*RTTVAR).
                let rto = srtt + four_rttvar.max(self.granularity.step);
                if rto <= self.minimum {
                    self.minimum.min(self.maximum)
                } else {
                    self.granularity.round_up(rto).min(self.maximum)
                }
            }
            Kind::Ticks => {
                ((srtt + four_rttvar).saturating_mul(self.unit)).max(self.minimum).min(self.maximum)
            }
            Kind::Multiple { factor, of } => {
                let rtt = match of {
                    RttBase::Smoothed => srtt,
                    RttBase::Base => least.as_nanos(),
                };
                (rtt.saturating_mul(factor) >> 16).max(self.minimum).min(self.maximum)
            }
        }
    }

    /// `rto` after `expiries` expiries without a new sample [ns].
    pub(crate) fn backed_off(&self, rto: u64, expiries: u32) -> u64 {
        // RFC 6298 (5.5): RTO <- RTO * 2; (2.5): a maximum may be placed on it.
        let factor = if self.backs_off { 1u64 << expiries.min(32) } else { 1 };
        rto.saturating_mul(factor).min(self.maximum.max(1))
    }

    /// When a timer that is set now for `rto` fires.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, rto: Span) -> Time {
        match self.kind {
            Kind::Rfc6298 | Kind::Multiple { .. } => now + rto,
            // The tick under way counts as one, as in BSD: a timer of n ticks fires between n - 1 and n ticks later.
            Kind::Ticks => Time::from_nanos(self.granularity.whole(now.as_nanos()) * self.unit) + rto,
        }
    }

    /// The RTO before the first sample [ns].
    pub(crate) fn initial(&self) -> u64 {
        self.initial.max(1)
    }

    /// The RTO with which data starts after a SYN timed out [ns].
    pub(crate) fn after_syn_loss(&self) -> u64 {
        match self.kind {
            Kind::Rfc6298 => self.initial().max(AFTER_SYN_LOSS.as_nanos()).min(self.maximum.max(1)),
            Kind::Ticks | Kind::Multiple { .. } => self.initial(),
        }
    }

    /// Nanoseconds of one unit of the estimator [ns].
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }
}

/// Whole multiples of a step, without a division instruction on the way of every acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Step {
    step: u64,
    /// floor(2^64 / step); unused when the step is 1.
    reciprocal: u64,
}

impl Step {
    fn new(step: Span) -> Step {
        let step = step.as_nanos().max(1);
        let reciprocal = u64::try_from((1u128 << 64) / u128::from(step)).unwrap_or(u64::MAX);
        Step { step, reciprocal }
    }

    /// floor(n / step). The product with the rounded-down reciprocal is short by at most one.
    #[inline]
    fn whole(self, n: u64) -> u64 {
        let guess = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        guess + u64::from(n - guess * self.step >= self.step)
    }

    #[inline]
    fn round_up(self, n: u64) -> u64 {
        let floor = self.whole(n) * self.step;
        if floor == n { n } else { floor.saturating_add(self.step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_multiples_agree_with_division() {
        for step in [1, 2, 3, 7, 1_000, 999_983, 1_000_000, 500_000_000, u64::MAX / 3, u64::MAX] {
            let steps = Step::new(Span::from_nanos(step));
            for n in
                [0, 1, 2, step - 1, step, step.saturating_add(1), 123_456_789_012, u64::MAX - 1, u64::MAX]
            {
                assert_eq!(steps.whole(n), n / step, "{n} / {step}");
            }
        }
    }
}
