//! Linux's timer: SRTT plus a deviation that never falls below the least RTO. Source: `tcp_rtt_estimator` and
//! `tcp_set_rto` in Linux's net/ipv4/tcp_input.c, and kernel/time/timer.c.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{JsonSchema, Span, Time};

use super::step::Step;
use super::{Limits, Retries, Sample, Smoothed};

/// RTO that data starts with when the SYN was lost and nothing was measured. Source: RFC 6298 §5.7, and Linux's
/// TCP_TIMEOUT_FALLBACK.
const AFTER_SYN_LOSS: Span = Span::from_secs(3);

/// Nanoseconds of a microsecond, in which Linux measures [ns].
const MICROSECOND: Span = Span::from_micros(1);

/// The time that Linux adds to a wait that is shorter than an RTO, before it counts ticks (TCP_TIMEOUT_MIN_US).
const SLACK: Span = Span::from_millis(2);

/// Linux's timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinuxTimer {
    /// Least deviation that is added to the smoothed RTT, so that the RTO is at least the smoothed RTT plus this (RFC 6298
    /// bounds the RTO as a whole). The probe of a tail that is a single segment waits for as much more than two smoothed RTTs
    /// (`tcp_schedule_loss_probe`). Default: 200 ms (net.ipv4.tcp_rto_min_us).
    pub minimum: Span,
    /// RTO before the first sample. Default: 1 s.
    pub initial: Span,
    /// Largest RTO. Default: 120 s (net.ipv4.tcp_rto_max_ms).
    pub maximum: Span,
    /// Ticks of the kernel's clock in a second: RTOs are whole ticks. Default: 250 (most distributions).
    pub hertz: u32,
    /// Whether a timer fires where Linux's timer wheel does: in the next tick and, the longer it is, at coarser steps (32 ms
    /// above 252 ms, 256 ms above 2 s). Default: true.
    pub wheel: bool,
    /// Whether of the timers that the wheel fires in one tick the longest are first, a nanosecond before those of the next finer
    /// step: that is the order of Linux on a single processor. With several each has a wheel of its own, and their ticks are apart.
    /// Default: false, in the order of the flows.
    pub long_first: bool,
    /// How often a SYN times out before its RTO begins to double. Default: 4 (net.ipv4.tcp_syn_linear_timeouts; RFC 6298
    /// doubles at once: 0).
    pub linear_syn_timeouts: u32,
    /// A connection gives up when the timer expires and nothing has been answered for as long as so many retransmissions take that
    /// begin with an RTO of 200 ms: 924.6 s for 15, if `maximum` is 120 s. So it does after so many probes of a closed window that
    /// are not answered. 0 to 255. Default: 15 (net.ipv4.tcp_retries2).
    pub retries2: u32,
    /// It gives up when so many SYNs beside the first one and `linear_syn_timeouts` others were not answered. 1 to 127. Default: 6
    /// (net.ipv4.tcp_syn_retries): 131 s.
    pub syn_retries: u32,
}

impl Default for LinuxTimer {
    fn default() -> LinuxTimer {
        LinuxTimer {
            minimum: Span::from_millis(200),
            initial: Span::from_secs(1),
            maximum: Span::from_secs(120),
            hertz: 250,
            wheel: true,
            long_first: false,
            linear_syn_timeouts: 4,
            retries2: 15,
            syn_retries: 6,
        }
    }
}

impl Part for LinuxTimer {
    fn check(&self) -> Checked {
        part::positive("maximum", self.maximum)?;
        part::positive("initial", self.initial)?;
        part::positive("minimum", self.minimum)?;
        let most = format!("at most `maximum`, {}", self.maximum);
        part::require("minimum", self.minimum <= self.maximum, self.minimum, most.clone())?;
        part::require("initial", self.initial <= self.maximum, self.initial, most)?;
        part::require("hertz", (1..=10_000).contains(&self.hertz), self.hertz, "1 to 10000")?;
        part::require("retries2", self.retries2 <= 255, self.retries2, "0 to 255")?;
        part::require("syn_retries", (1..=127).contains(&self.syn_retries), self.syn_retries, "1 to 127")
    }
}

/// The deviation as Linux keeps it, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Four times the mean deviation.
    mdev: u64,
    /// The largest `mdev` of this round trip, at least `minimum`.
    mdev_max: u64,
    /// The deviation that is added to SRTT: rises at once, falls once a round trip.
    rttvar: u64,
    /// The round trip under way ends when data beyond this is acknowledged [B].
    round_end: u64,
    /// Least `rttvar`.
    minimum: u64,
    tick: Step,
    initial: u64,
    maximum: u64,
    wheel: bool,
    long_first: bool,
    linear_syn_timeouts: u8,
    retries: Retries,
}

impl Rule {
    pub(super) fn new(config: &LinuxTimer) -> Rule {
        let tick = Step::new(Span::from_secs(1) / u64::from(config.hertz.max(1)));
        let minimum = tick.round_up(config.minimum.as_nanos());
        Rule {
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            minimum: minimum / MICROSECOND.as_nanos(),
            tick,
            initial: tick.round_up(config.initial.as_nanos()),
            maximum: tick.round_up(config.maximum.as_nanos()),
            wheel: config.wheel,
            long_first: config.long_first,
            linear_syn_timeouts: config.linear_syn_timeouts.min(255) as u8,
            retries: Retries { data: config.retries2 as u8, syn: config.syn_retries as u8 },
        }
    }

    /// The deviation moves by a quarter of its error; by a 32nd if a shorter RTT would raise it.
    #[inline]
    fn deviate(&mut self, sample: &Sample) {
        let mean = self.mdev >> 2;
        let error = sample.rtt.abs_diff(sample.srtt_before);
        self.mdev = if error <= mean {
            self.mdev - (mean - error)
        } else if sample.rtt < sample.srtt_before {
            self.mdev + ((error - mean) >> 3)
        } else {
            self.mdev + (error - mean)
        };
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
    }
}

impl super::Rule for Rule {
    const READS_RTTVAR: bool = false;

    #[inline]
    fn limits(&self) -> Limits {
        let (initial, maximum) = (self.initial, self.maximum);
        Limits {
            unit: MICROSECOND.as_nanos(),
            initial,
            after_syn_loss: initial.max(AFTER_SYN_LOSS.as_nanos()).min(maximum),
            maximum,
            backs_off: true,
            linear_syn_timeouts: self.linear_syn_timeouts.into(),
            retries: Some(self.retries),
            slack: SLACK.as_nanos(),
            // tcp_schedule_loss_probe: tcp_rto_min_us.
            longest_ack_delay: self.minimum * MICROSECOND.as_nanos(),
            least: (self.minimum * MICROSECOND.as_nanos()).min(initial).min(maximum),
            least_is_added: true,
            is_exact: !self.wheel,
            maximum_backoff: u64::MAX,
            forgets_after: u32::MAX,
        }
    }

    #[inline]
    fn measure(&mut self, sent: Time, now: Time) -> u64 {
        now.since(sent).as_nanos() / MICROSECOND.as_nanos()
    }

    #[inline]
    fn take(&mut self, sample: &Sample) {
        if sample.is_first {
            self.mdev = sample.rtt << 1;
            self.rttvar = self.mdev.max(self.minimum);
            self.mdev_max = self.rttvar;
            self.round_end = sample.sent;
        } else {
            self.deviate(sample);
            if sample.acked > self.round_end {
                self.rttvar -= self.rttvar.saturating_sub(self.mdev_max) >> 2;
                self.mdev_max = self.minimum;
                self.round_end = sample.sent;
            }
        }
    }

    fn rto(&self, smoothed: &Smoothed) -> u64 {
        let rto = (smoothed.srtt + self.rttvar).saturating_mul(MICROSECOND.as_nanos());
        self.tick.round_up(rto).min(self.maximum)
    }

    #[inline]
    fn on_clock(&self, now: Time, rto: Span) -> Time {
        let ticks = self.tick.whole_up(rto.as_nanos());
        let clock = self.tick.whole(now.as_nanos());
        let shift = shift_of(ticks);
        let fires = on_wheel(clock + ticks, shift);
        let rank = if self.long_first { u64::from((MOST_SHIFT - shift) / SHIFT) } else { 0 };
        Time::from_nanos(fires.saturating_mul(self.tick.step).saturating_add(rank))
    }
}

/// By so many bits more the slots of a wheel are longer than those of the one before, and those of the last one at most [bits].
const SHIFT: u32 = 3;
const MOST_SHIFT: u32 = 24;

/// How long the slots are of the wheel in which a timer waits for `ticks`, as a power of two [bits]. A wheel has 63 slots.
#[inline]
fn shift_of(ticks: u64) -> u32 {
    let mut shift = 0;
    while ticks >> shift >= 63 && shift < MOST_SHIFT {
        shift += SHIFT;
    }
    shift
}

/// The tick at which a timer fires that is due at tick `due`, in a slot of that length: when it is over, so that no timer is
/// early.
#[inline]
fn on_wheel(due: u64, shift: u32) -> u64 {
    ((due >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_never_early_and_at_most_a_slot_late() {
        for ticks in [1, 10, 62, 63, 100, 503, 504, 2_000, 4_031, 4_032, 30_000] {
            for clock in [0, 1, 7, 8, 63, 64, 1_001, 123_457] {
                let fires = on_wheel(clock + ticks, shift_of(ticks));
                let slot = if ticks < 63 {
                    1
                } else if ticks < 504 {
                    8
                } else if ticks < 4_032 {
                    64
                } else {
                    512
                };
                assert!(fires > clock + ticks, "{ticks} from {clock} fires at {fires}: early");
                assert!(fires <= clock + ticks + slot, "{ticks} from {clock} fires at {fires}: late");
                assert_eq!(fires % slot, 0);
            }
        }
    }

    #[test]
    fn of_the_timers_of_one_tick_the_longest_is_first_if_that_is_asked_for() {
        use super::super::Rule as _;

        // The 96th tick ends a slot of both wheels: an RTO of 300 ms, a probe of 40 ms.
        let at = |long_first| {
            let rule = Rule::new(&LinuxTimer { long_first, ..LinuxTimer::default() });
            let [long, short] = [(60, 300), (340, 40)].map(|(now, wait)| {
                rule.on_clock(Time::ZERO + Span::from_millis(now), Span::from_millis(wait))
            });
            (long, short)
        };
        let tick = Time::ZERO + Span::from_millis(384);
        assert_eq!(at(false), (tick, tick));
        let (long, short) = at(true);
        assert!(tick < long && long < short && short < tick + Span::from_micros(1), "{long:?}, {short:?}");
    }
}
