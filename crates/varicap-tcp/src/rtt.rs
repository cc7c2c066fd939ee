//! The round-trip time and the RTO. Source: RFC 6298.

use varicap_units::{Span, Time};

use crate::timer::{Sample, Smoothed, Timer, TimerRule};

/// SRTT, RTTVAR and RTO of one connection. What most acknowledgements read is first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct RttEstimator {
    smooth: Smooth,
    /// Expiries since the last sample.
    backoff: u32,
    /// Further expiries that do not count: those of a SYN that some rules do not back off.
    linear: u16,
    /// The next sample is as a first one.
    begins: bool,
    rule: TimerRule,
    /// RTO without backoff while there is no sample [ns].
    initial: u64,
}

/// The smoothed state from which every rule starts.
#[derive(Clone, Copy, Debug)]
struct Smooth {
    /// 8 x SRTT, in the rule's units: the scaling of Jacobson's appendix keeps the fractions.
    srtt8: u64,
    /// 4 x RTTVAR, in the rule's units, if it reads that.
    rttvar4: u64,
    /// Least RTT seen [ns]; meaningful once sampled.
    least: Span,
    samples: u64,
}

impl Smooth {
    /// Takes a round-trip time in the rule's units, at which all below `acked` was acknowledged of what was `sent` [B]. It may
    /// have to keep RTTVAR, or be a first sample.
    #[inline]
    fn take(&mut self, rtt: u64, keeps_rttvar: bool, is_first: bool, acked: u64, sent: u64) -> Sample {
        let srtt_before = self.srtt8 >> 3;
        if is_first {
            // RFC 6298 (2.2): SRTT <- R, RTTVAR <- R/2.
            self.srtt8 = rtt << 3;
            self.rttvar4 = rtt << 1;
        } else {
            // RFC 6298 (2.3), RTTVAR first: RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R|, SRTT <- 7/8 SRTT + 1/8 R.
            if keeps_rttvar {
                self.rttvar4 = self.rttvar4 - (self.rttvar4 >> 2) + srtt_before.abs_diff(rtt);
            }
            self.srtt8 = self.srtt8 - srtt_before + rtt;
        }
        self.samples += 1;
        Sample { rtt, srtt_before, is_first, acked, sent }
    }
}

impl RttEstimator {
    /// The estimator of a connection that begins with a handshake or not.
    pub(crate) fn new(timer: &Timer, handshake: bool) -> RttEstimator {
        let rule = TimerRule::new(timer);
        let initial = rule.initial();
        let linear = if handshake { rule.linear_syn_timeouts() } else { 0 };
        let linear = u16::try_from(linear).unwrap_or(u16::MAX);
        RttEstimator {
            rule,
            smooth: Smooth { srtt8: 0, rttvar4: 0, least: Span::MAX, samples: 0 },
            begins: true,
            initial,
            backoff: 0,
            linear,
        }
    }

    /// The last of what most acknowledgements read of it.
    #[inline]
    pub(crate) fn last_read(&self) -> &impl Sized {
        &self.linear
    }

    /// A segment sent at `at` was acknowledged now, and all below `acked` of what was `sent` [B].
    #[inline]
    pub(crate) fn on_sample(&mut self, at: Time, now: Time, acked: u64, sent: u64) {
        debug_assert!(at <= now, "acknowledged at {now:?}, before it was sent at {at:?}");
        debug_assert!(acked <= sent, "{acked} B were acknowledged of {sent} B sent");
        self.smooth.least = self.smooth.least.min(now.since(at));
        // RFC 6298 §5, last paragraph but one: a new measurement collapses a backed off RTO.
        self.backoff = 0;
        let is_first = std::mem::take(&mut self.begins);
        let smooth = &mut self.smooth;
        self.rule.on_sample(at, now, |rtt, first, keeps_rttvar| {
            smooth.take(if is_first { first } else { rtt }, keeps_rttvar, is_first, acked, sent)
        });
    }

    /// A round trip that may be the least, beside the sample that feeds the RTO.
    #[inline]
    pub(crate) fn note_least(&mut self, rtt: Span) {
        self.smooth.least = self.smooth.least.min(rtt);
    }

    /// The timer, which says when a silent peer is given up.
    pub(crate) fn rule(&self) -> &TimerRule {
        &self.rule
    }

    /// The timer expired: back it off.
    pub(crate) fn on_expiry(&mut self) {
        if self.linear > 0 && self.smooth.samples == 0 {
            self.linear -= 1;
            return;
        }
        self.backoff = self.backoff.saturating_add(1);
        // The estimate from before so many expiries says little of the path now; the RTO stays as it is until then.
        self.begins |= self.backoff >= self.rule.forgets_after();
    }

    /// The receiver's window opened: what was backed off were probes.
    pub(crate) fn on_window_opened(&mut self) {
        self.backoff = 0;
    }

    /// The handshake ended although a SYN was lost.
    pub(crate) fn on_connected_after_loss(&mut self) {
        // RFC 6298 (5.7): if the SYN's timer expired, data starts with an RTO of at least 3 s.
        if self.smooth.samples == 0 {
            self.initial = self.rule.after_syn_loss();
            (self.backoff, self.linear) = (0, 0);
        }
    }

    /// The instant at which a timer that is set now fires.
    #[inline]
    pub(crate) fn deadline(&self, now: Time) -> Time {
        self.rule.deadline(now, self.rto())
    }

    /// `span`, if it is no longer than the RTO.
    #[inline]
    pub(crate) fn at_most_rto(&self, span: Span) -> Span {
        if span <= self.least_rto() { span } else { span.min(self.rto()) }
    }

    /// No timer that is set for an RTO fires sooner, whatever has been measured.
    #[inline]
    pub(crate) fn least_rto(&self) -> Span {
        self.rule.least()
    }

    /// The instant at which a timer fires that is set now for `wait`.
    #[inline]
    pub(crate) fn after(&self, now: Time, wait: Span) -> Time {
        // A coarse clock counts from its last tick, which may lie before `now` by more than a short wait.
        self.rule.deadline(now, wait).max(now + Span::from_nanos(1))
    }

    /// As `least_rto`, by what has been measured.
    #[inline]
    pub(crate) fn soonest_rto(&self) -> Span {
        self.smoothed().map_or(self.least_rto(), |smoothed| self.rule.least_after(smoothed))
    }

    /// The time that the clock adds to a wait that is shorter than an RTO.
    #[inline]
    pub(crate) fn slack(&self) -> Span {
        self.rule.slack()
    }

    /// The longest delay of the acknowledgement of a single segment.
    pub(crate) fn longest_ack_delay(&self) -> Span {
        self.rule.longest_ack_delay()
    }

    /// The RTO in force. It is computed where it is asked for, since most acknowledgements only feed it.
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        let Smooth { srtt8, rttvar4, least, samples, .. } = self.smooth;
        let base = if samples == 0 {
            self.initial
        } else {
            self.rule.rto(&Smoothed { srtt: srtt8 >> 3, eight_srtt: srtt8, four_rttvar: rttvar4, least })
        };
        Span::from_nanos(if self.backoff == 0 { base } else { self.rule.backed_off(base, self.backoff) })
    }

    #[inline]
    pub(crate) fn smoothed(&self) -> Option<Span> {
        (self.smooth.samples > 0).then(|| Span::from_nanos((self.smooth.srtt8 >> 3) * self.rule.unit()))
    }

    #[inline]
    pub(crate) fn least(&self) -> Option<Span> {
        (self.smooth.samples > 0).then_some(self.smooth.least)
    }

    /// The least and the smoothed RTT; both are longer than every RTT before there is a sample.
    #[inline]
    pub(crate) fn least_and_smoothed(&self) -> (Span, Span) {
        if self.smooth.samples == 0 {
            return (Span::MAX, Span::MAX);
        }
        (self.smooth.least, Span::from_nanos((self.smooth.srtt8 >> 3) * self.rule.unit()))
    }

    pub(crate) fn samples(&self) -> u64 {
        self.smooth.samples
    }
}
