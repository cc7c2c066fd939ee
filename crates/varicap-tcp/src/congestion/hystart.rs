//! When slow start ends before a loss: Linux's HyStart and HyStart++.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{JsonSchema, Span, Time};

use super::{AckSample, CongestionKind};

varicap_units::parts! {
    /// When slow start ends before a loss.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum Hystart {
        #[default]
        None[NoHystart] = "none", "At ssthresh alone. Source: RFC 5681.";
        Linux[LinuxHystart] = "linux",
            "When the ACKs of a round come in one train for half of the least RTT, or all of it where something paces, or its RTTs are\nan eighth longer: Linux's CUBIC (6.18). Windows below 16 segments are left alone.";
        PlusPlus(config: PlusPlusConfig) = "plus-plus",
            "When the RTTs of a round are an eighth longer than those of the last one, after five rounds of a quarter of the growth in\nwhich they stay so. In the first slow start alone. Source: RFC 9406.";
    }
}
varicap_units::choice!(Hystart);

/// [`Hystart::None`] has no settings.
struct NoHystart;

impl Part for NoHystart {}

/// [`Hystart::Linux`] has no settings.
struct LinuxHystart;

impl Part for LinuxHystart {}

/// HyStart++.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlusPlusConfig {
    /// Most segments that one acknowledgement may add (RFC 9406's L), whatever the connection's `counting` allows. Default: 8, and
    /// no limit where segments are paced (RFC 9406 §4.3).
    pub limit: Option<u32>,
}

impl Part for PlusPlusConfig {
    fn check(&self) -> Checked {
        self.limit.map_or(Ok(()), |limit| part::at_least_one("limit", limit))
    }
}

/// RTT samples by which a round is judged.
const N_RTT_SAMPLE: u32 = 8;
/// Least and largest increase of the RTT that ends slow start.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
/// Linux: ACKs that are closer are of one train.
const ACK_DELTA: Span = Span::from_millis(2);
/// Linux: smaller windows are left alone [segments].
const HYSTART_LOW_WINDOW: u64 = 16;
/// Linux: what may be delayed on the way to and from the wire, 4 * 64 KiB, takes at most this.
const AGGREGATION_BYTES: u64 = 4 * 65_536;
const AGGREGATION_MOST: Span = Span::from_millis(1);
/// RFC 9406 §4.3: L of a sender that does not pace [segments].
const L: u32 = 8;
/// RFC 9406: rounds of conservative slow start, and by how much slower it is.
const CSS_ROUNDS: u32 = 5;
const CSS_GROWTH_DIVISOR: u64 = 4;

/// An acknowledgement as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HystartAck {
    pub(super) now: Time,
    pub(super) rtt: Option<Span>,
    /// All data delivered so far [B], and how much of it by this acknowledgement.
    pub(super) delivered: u64,
    pub(super) acked: u64,
    /// Data in flight before it [B].
    pub(super) in_flight: u64,
    /// The window before it [B].
    pub(super) cwnd: u64,
    pub(super) mss: u64,
    /// The window opens by multiples of this [B].
    pub(super) unit: u64,
}

impl HystartAck {
    /// The acknowledgement `ack` as a control with a window of `cwnd` sees it.
    #[inline]
    pub(super) fn of(ack: &AckSample, cwnd: u64, mss: u64, unit: u64) -> HystartAck {
        HystartAck {
            now: ack.now,
            rtt: ack.rtt,
            delivered: ack.delivered.as_u64(),
            acked: ack.newly_acked.as_u64(),
            in_flight: ack.in_flight.as_u64(),
            cwnd,
            mss,
            unit,
        }
    }
}

/// The reaction of slow start to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlowStart {
    /// It goes on as usual.
    Continue,
    /// The window opens by this much [B].
    Open(u64),
    /// It has ended: ssthresh is the window.
    Exit,
}

/// The rules and their state.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowStartExit {
    rules: Rules,
    /// The round ends when so much has been delivered [B].
    round_end: u64,
    /// The least RTT of the round, and its samples.
    current_round_min_rtt: Span,
    rtt_sample_count: u32,
}

/// Conservative slow start. Source: RFC 9406 §4.2.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt.
    baseline_min_rtt: Span,
    /// Rounds that have ended in it.
    round_count: u32,
}

#[derive(Clone, Copy, Debug)]
enum Rules {
    /// Nothing, or nothing any more.
    Off,
    Linux {
        /// When the round began, and the last ACK of its train.
        round_start: Time,
        last_ack: Time,
        /// Least RTT of the connection.
        delay_min: Span,
        found: bool,
        /// Something paces (`sk_pacing_status`): a window then takes half of an RTT to leave, without a queue.
        paced: bool,
    },
    PlusPlus {
        limit: u64,
        /// No limit was asked for: it is RFC 9406's.
        is_usual: bool,
        /// Least RTT of the last round.
        last_round_min_rtt: Span,
        /// Conservative slow start, if it is under way.
        css: Option<Css>,
        /// Acknowledged data that has not yet opened the window [B].
        css_credit: u64,
    },
}

impl SlowStartExit {
    /// The rules of `choice`, if there are any.
    pub(super) fn boxed(choice: Hystart) -> Option<Box<SlowStartExit>> {
        (choice != Hystart::None).then(|| Box::new(SlowStartExit::new(choice)))
    }

    pub(super) fn new(choice: Hystart) -> SlowStartExit {
        let rules = match choice {
            Hystart::None => Rules::Off,
            Hystart::Linux => Rules::Linux {
                round_start: Time::ZERO,
                last_ack: Time::ZERO,
                delay_min: Span::MAX,
                found: false,
                paced: false,
            },
            Hystart::PlusPlus(config) => Rules::PlusPlus {
                limit: config.limit.unwrap_or(L).into(),
                is_usual: config.limit.is_none(),
                last_round_min_rtt: Span::MAX,
                css: None,
                css_credit: 0,
            },
        };
        SlowStartExit { rules, round_end: 0, current_round_min_rtt: Span::MAX, rtt_sample_count: 0 }
    }

    /// Whether it wants to see the acknowledgements of slow start.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.rules, Rules::Off)
    }

    /// From now on segments are paced.
    pub(super) fn on_paced(&mut self) {
        match &mut self.rules {
            Rules::Linux { paced, .. } => *paced = true,
            Rules::PlusPlus { limit, is_usual: true, .. } => *limit = u64::MAX,
            Rules::Off | Rules::PlusPlus { .. } => {}
        }
    }

    /// An acknowledgement in slow start.
    #[cold]
    pub(super) fn on_ack(&mut self, ack: &HystartAck) -> SlowStart {
        match self.rules {
            Rules::Off | Rules::Linux { found: true, .. } => SlowStart::Continue,
            Rules::Linux { .. } => self.on_ack_linux(ack),
            Rules::PlusPlus { .. } => self.on_ack_plus_plus(ack),
        }
    }

    /// Whether a round has ended, of what was sent before it began. Another one begins.
    fn start_round(&mut self, ack: &HystartAck, is_over: bool) -> bool {
        if is_over {
            self.round_end = ack.delivered.saturating_sub(ack.acked) + ack.in_flight;
            (self.current_round_min_rtt, self.rtt_sample_count) = (Span::MAX, 0);
        }
        is_over
    }

    fn on_ack_linux(&mut self, ack: &HystartAck) -> SlowStart {
        let Some(rtt) = ack.rtt else { return SlowStart::Continue };
        let is_over = ack.delivered > self.round_end;
        let starts = self.start_round(ack, is_over);
        let Rules::Linux { round_start, last_ack, delay_min, found, paced } = &mut self.rules else {
            return SlowStart::Continue;
        };
        if starts {
            (*round_start, *last_ack) = (ack.now, ack.now);
        }
        *delay_min = rtt.min(*delay_min);
        if ack.cwnd < HYSTART_LOW_WINDOW * ack.mss {
            return SlowStart::Continue;
        }
        if ack.now.since(*last_ack) <= ACK_DELTA {
            *last_ack = ack.now;
            // Linux's estimate of the rate in slow start is two windows per RTT.
            let nanos = u128::from(AGGREGATION_BYTES) * u128::from(rtt.as_nanos()) / u128::from(2 * ack.cwnd);
            let delay = AGGREGATION_MOST.min(Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
            let threshold = *delay_min + delay;
            *found |= ack.now.since(*round_start) > if *paced { threshold } else { threshold / 2 };
        }
        self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
        if self.rtt_sample_count < N_RTT_SAMPLE {
            self.rtt_sample_count += 1;
        } else {
            *found |= self.current_round_min_rtt > *delay_min + increase(*delay_min);
        }
        if *found { SlowStart::Exit } else { SlowStart::Continue }
    }

    fn on_ack_plus_plus(&mut self, ack: &HystartAck) -> SlowStart {
        let (before, is_over) = (self.current_round_min_rtt, ack.delivered >= self.round_end);
        let starts = self.start_round(ack, is_over);
        let Rules::PlusPlus { limit, last_round_min_rtt, css, css_credit, .. } = &mut self.rules else {
            return SlowStart::Continue;
        };
        if starts {
            *last_round_min_rtt = before;
            if let Some(css) = css {
                css.round_count += 1;
                if css.round_count >= CSS_ROUNDS {
                    self.rules = Rules::Off;
                    return SlowStart::Exit;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            *css = match *css {
                None if *last_round_min_rtt < Span::MAX
                    && self.current_round_min_rtt >= *last_round_min_rtt + increase(*last_round_min_rtt) =>
                {
                    Some(Css { baseline_min_rtt: self.current_round_min_rtt, round_count: 0 })
                }
                // The increase was no queue that stays.
                Some(Css { baseline_min_rtt, .. }) if self.current_round_min_rtt < baseline_min_rtt => None,
                as_before => as_before,
            };
        }
        let counted = ack.acked.min(limit.saturating_mul(ack.mss));
        if css.is_none() {
            return SlowStart::Open(counted);
        }
        *css_credit += counted;
        let opened = *css_credit / CSS_GROWTH_DIVISOR / ack.unit * ack.unit;
        *css_credit -= opened * CSS_GROWTH_DIVISOR;
        SlowStart::Open(opened)
    }

    /// A congestion event.
    pub(super) fn on_congestion(&mut self, now: Time, kind: CongestionKind) {
        match (&mut self.rules, kind) {
            // RFC 9406 §4.3: for the initial slow start alone.
            (Rules::PlusPlus { .. }, _) => self.rules = Rules::Off,
            (
                Rules::Linux { round_start, last_ack, delay_min, found, .. },
                CongestionKind::Timeout { .. },
            ) => {
                (*round_start, *last_ack, *delay_min, *found) = (now, now, Span::MAX, false);
                (self.current_round_min_rtt, self.rtt_sample_count) = (Span::MAX, 0);
            }
            _ => {}
        }
    }
}

/// By how much the RTT must have grown over `base`.
fn increase(delay_min: Span) -> Span {
    (delay_min / 8).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}
