//! The retransmission timer: how samples are measured, and what RTO follows from them. A rule is a file.

use varicap_units::{Span, Time};

mod linux;
mod multiple;
mod rfc6298;
pub(crate) mod step;
mod ticks;

pub use ticks::TickSamples;

/// How long the only segment in flight may be unanswered because its receiver delays the acknowledgement, unless a rule has
/// a measure of its own [ns]. Source: RFC 8985 §7.2 (TLP.max_ack_delay).
const LONGEST_ACK_DELAY: u64 = 200_000_000;
/// When a tail is probed before the round-trip time is known. Source: RFC 8985 §7.2; Linux (TCP_TIMEOUT_INIT).
pub(crate) const FIRST_PROBE: Span = Span::from_secs(1);

/// The registry of retransmission timers: the choice in a scenario file, and the static dispatch to the chosen rule.
macro_rules! timers {
    ($( $module:ident: $Variant:ident(config: $Config:ident) = $name:literal, $doc:literal; )+) => {
        $( pub use $module::$Config; )+

        varicap_units::parts! {
            /// The retransmission timer.
            #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, varicap_units::JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum Timer {
                $( $Variant(config: $Config) = $name, $doc; )+
            }
        }
        varicap_units::choice!(Timer);

        /// The chosen rule; with a tag of its own, which is read faster than one that hides in a rule.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        enum Chosen {
            $( $Variant($module::Rule), )+
        }

        impl TimerRule {
            pub(crate) fn new(timer: &Timer) -> TimerRule {
                match timer {
                    $( Timer::$Variant(config) => {
                        let rule = $module::Rule::new(config);
                        let limits = rule.limits();
                        TimerRule {
                            chosen: Chosen::$Variant(rule),
                            unit: limits.unit,
                            least: limits.least,
                            maximum: limits.maximum,
                            slack: limits.slack.max(1),
                            least_is_added: limits.least_is_added,
                            is_exact: limits.is_exact,
                        }
                    } )+
                }
            }

            /// A segment that was sent at `at` was acknowledged now. `smooth` makes a sample of the round-trip time as this clock
            /// sees it, in its units, as it would count as a first one, and of whether it has to keep RTTVAR. One dispatch serves all steps.
            #[inline]
            pub(crate) fn on_sample(
                &mut self,
                at: Time,
                now: Time,
                smooth: impl FnOnce(u64, u64, bool) -> Sample,
            ) {
                match &mut self.chosen {
                    $( Chosen::$Variant(rule) => {
                        let keeps_rttvar = <$module::Rule as Rule>::READS_RTTVAR;
                        let rtt = rule.measure(at, now);
                        let sample = smooth(rtt, rule.first(rtt), keeps_rttvar);
                        rule.take(&sample);
                    } )+
                }
            }

            /// The RTO that follows from the samples so far [ns], not backed off.
            pub(crate) fn rto(&self, smoothed: &Smoothed) -> u64 {
                match &self.chosen { $( Chosen::$Variant(rule) => rule.rto(smoothed), )+ }
            }

            /// The settings that all rules have in common. Who asks for one of them pays for no other.
            #[inline(always)]
            fn limits(&self) -> Limits {
                match &self.chosen { $( Chosen::$Variant(rule) => rule.limits(), )+ }
            }

            /// The instant at which a timer fires whose clock is not exact.
            fn on_clock(&self, now: Time, rto: Span) -> Time {
                match &self.chosen { $( Chosen::$Variant(rule) => rule.on_clock(now, rto), )+ }
            }
        }
    };
}

timers! {
    rfc6298: Rfc6298(config: Rfc6298Timer) = "rfc6298",
        "Smoothed RTT plus four deviations, with a clock granularity and a minimum. Source: RFC 6298.";
    linux: Linux(config: LinuxTimer) = "linux",
        "Smoothed RTT plus a deviation of at least 200 ms that falls once a round trip. Source: Linux 6.18.";
    ticks: Ticks(config: TickTimer) = "ticks", "A coarse clock: everything is counted in whole ticks, as BSD did.";
    multiple: Multiple(config: MultipleTimer) = "multiple", "A fixed multiple of the RTT.";
}

impl Default for Timer {
    fn default() -> Timer {
        Timer::Rfc6298(Rfc6298Timer::default())
    }
}

/// How samples are measured and turned into an RTO.
#[derive(Clone, Debug)]
pub(crate) struct TimerRule {
    chosen: Chosen,
    // Of the limits, what acknowledgements ask for.
    unit: u64,
    least: u64,
    maximum: u64,
    slack: u64,
    least_is_added: bool,
    is_exact: bool,
}

/// After how many retransmissions without an answer a connection is given up. Source: Linux, `tcp_write_timeout`.
#[derive(Clone, Copy, Debug)]
struct Retries {
    /// Of data, and probes of a closed window: `tcp_retries2`.
    data: u8,
    /// Of a SYN, beside those whose RTO does not double: `tcp_syn_retries`.
    syn: u8,
}

/// The RTO from which Linux counts retransmissions of data, whatever the path's is (TCP_RTO_MIN).
const RTO_MIN: Span = Span::from_millis(200);

/// How long `retries` retransmissions take, and the wait after the last of them, if the first RTO is `rto` and the largest one
/// `maximum` [ns]. Source: Linux, `tcp_model_timeout`.
fn model_timeout(retries: u8, rto: u64, maximum: u64) -> u64 {
    let doublings = (maximum / rto.max(1)).max(1).ilog2();
    let doubled = u32::from(retries).min(doublings);
    let rest = u64::from(u32::from(retries) - doubled);
    ((2 << doubled) - 1_u64).saturating_mul(rto).saturating_add(rest.saturating_mul(maximum))
}

/// The settings that all rules have in common.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Nanoseconds of one unit of the estimator [ns]: 1, or a tick.
    unit: u64,
    /// RTO before the first sample [ns].
    initial: u64,
    /// RTO with which data starts after a SYN timed out [ns].
    after_syn_loss: u64,
    /// Largest RTO [ns].
    maximum: u64,
    /// Whether the RTO doubles at each expiry.
    backs_off: bool,
    /// Expiries of a SYN that do not double it.
    linear_syn_timeouts: u32,
    /// When a connection is given up; none: never.
    retries: Option<Retries>,
    /// The time that the clock adds to a wait that is shorter than an RTO [ns].
    slack: u64,
    /// How long the acknowledgement of a single segment may be delayed, beyond two round trips [ns].
    longest_ack_delay: u64,
    /// No timer that is set for an RTO fires sooner [ns].
    least: u64,
    /// Whether that is the least that is added to the smoothed RTT.
    least_is_added: bool,
    /// Whether a timer fires exactly when its RTO is over.
    is_exact: bool,
    /// By how much expiries in a row multiply the RTO at most.
    maximum_backoff: u64,
    /// Expiries in a row after which the next sample begins the estimate anew.
    forgets_after: u32,
}

/// The estimates that all samples have made; times in the rule's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Smoothed {
    pub(crate) srtt: u64,
    /// Eight times SRTT, with its fraction.
    pub(crate) eight_srtt: u64,
    /// Four times RTTVAR, for a rule that reads it.
    pub(crate) four_rttvar: u64,
    /// Least RTT seen [ns].
    pub(crate) least: Span,
}

/// A sample; times in the rule's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The round-trip time as the rule measures it.
    pub(crate) rtt: u64,
    /// SRTT before the sample; meaningless for the first one.
    pub(crate) srtt_before: u64,
    /// Whether it is the first one.
    pub(crate) is_first: bool,
    /// SND.UNA with the acknowledgement that gave it [B].
    pub(crate) acked: u64,
    /// End of the highest data sent [B].
    pub(crate) sent: u64,
}

/// One of the timers.
trait Rule {
    /// Whether its RTO follows from RTTVAR, and not from a deviation of its own.
    const READS_RTTVAR: bool = true;

    /// The settings that all rules have in common.
    fn limits(&self) -> Limits;
    /// A round-trip time as this clock sees it, in its units.
    fn measure(&mut self, sent: Time, now: Time) -> u64;
    /// The value of this round-trip time as a first sample.
    #[inline]
    fn first(&self, rtt: u64) -> u64 {
        rtt
    }
    /// Takes a sample into a state of its own, if it keeps one.
    #[inline]
    fn take(&mut self, _sample: &Sample) {}
    /// The RTO that follows from the samples so far [ns], not backed off.
    fn rto(&self, smoothed: &Smoothed) -> u64;
    /// The instant at which a timer that is set now for `rto` fires, if the clock is not exact.
    #[inline]
    fn on_clock(&self, now: Time, rto: Span) -> Time {
        now + rto
    }
}

impl TimerRule {
    /// The instant at which a timer that is set now for `rto` fires.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, rto: Span) -> Time {
        if self.is_exact { now + rto } else { self.on_clock(now, rto) }
    }

    /// `rto` after `expiries` expiries without a new sample [ns].
    pub(crate) fn backed_off(&self, rto: u64, expiries: u32) -> u64 {
        // RFC 6298 (5.5): RTO <- RTO * 2; (2.5): a maximum may be placed on it.
        let limits = self.limits();
        let factor =
            if limits.backs_off { (1u64 << expiries.min(32)).min(limits.maximum_backoff) } else { 1 };
        rto.saturating_mul(factor).min(self.maximum.max(1))
    }

    /// The time that the clock adds to a wait that is shorter than an RTO: more than nothing.
    #[inline]
    pub(crate) fn slack(&self) -> Span {
        Span::from_nanos(self.slack)
    }

    /// A probe of a tail that is a single segment waits for so much longer than two round trips.
    pub(crate) fn longest_ack_delay(&self) -> Span {
        Span::from_nanos(self.limits().longest_ack_delay)
    }

    /// No timer that is set for an RTO fires sooner.
    #[inline]
    pub(crate) fn least(&self) -> Span {
        Span::from_nanos(self.least)
    }

    /// As `least`, once the smoothed RTT is known.
    #[inline]
    pub(crate) fn least_after(&self, smoothed: Span) -> Span {
        let added = if self.least_is_added { smoothed.as_nanos() } else { 0 };
        Span::from_nanos((self.least + added).min(self.maximum))
    }

    /// The RTO before the first sample [ns].
    pub(crate) fn initial(&self) -> u64 {
        self.limits().initial.max(1)
    }

    /// The RTO with which data starts after a SYN timed out [ns].
    pub(crate) fn after_syn_loss(&self) -> u64 {
        self.limits().after_syn_loss.max(1)
    }

    /// Expiries in a row after which the next sample begins the estimate anew.
    pub(crate) fn forgets_after(&self) -> u32 {
        self.limits().forgets_after
    }

    /// Expiries of a SYN that do not double the RTO.
    pub(crate) fn linear_syn_timeouts(&self) -> u32 {
        self.limits().linear_syn_timeouts
    }

    /// Whether a connection is given up that has been resending for `silence` without an answer.
    pub(crate) fn gives_up(&self, silence: Span) -> bool {
        let limits = self.limits();
        let most = |retries: Retries| model_timeout(retries.data, RTO_MIN.as_nanos(), limits.maximum);
        limits.retries.is_some_and(|retries| silence.as_nanos() >= most(retries))
    }

    /// Whether it is given up where what is resent into a window that was taken back has not been answered for `silence`.
    /// Source: Linux, `tcp_rtx_probe0_timed_out`.
    pub(crate) fn gives_up_closed(&self, silence: Span) -> bool {
        let limits = self.limits();
        limits.retries.is_some() && silence.as_nanos() > limits.maximum.saturating_mul(2)
    }

    /// Whether it is given up after `unanswered` probes of a closed window.
    pub(crate) fn gives_up_probing(&self, unanswered: u32) -> bool {
        self.limits().retries.is_some_and(|retries| unanswered >= retries.data.into())
    }

    /// Whether it is given up before it begins: its SYN has been sent again `resent` times in `silence`.
    pub(crate) fn gives_up_connecting(&self, resent: u32, silence: Span) -> bool {
        let limits = self.limits();
        limits.retries.is_some_and(|Retries { syn, .. }| {
            let most = model_timeout(syn, limits.initial, limits.maximum);
            resent >= u32::from(syn) + limits.linear_syn_timeouts || resent > 0 && silence.as_nanos() >= most
        })
    }

    /// Nanoseconds of one unit of the estimator [ns].
    #[inline]
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }
}
