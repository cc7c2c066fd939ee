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
const SAMPLES: u32 = 8;
/// Least and largest increase of the RTT that ends slow start.
const INCREASE: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
/// Linux: ACKs that are closer are of one train.
const TRAIN: Span = Span::from_millis(2);
/// Linux: smaller windows are left alone [segments].
const LOW_WINDOW: u64 = 16;
/// Linux: what may be delayed on the way to and from the wire, 4 * 64 KiB, takes at most this.
const AGGREGATION: (u64, Span) = (4 * 65_536, Span::from_millis(1));
/// RFC 9406 §4.3: L of a sender that does not pace [segments].
const LIMIT: u32 = 8;
/// RFC 9406: rounds of conservative slow start, and by how much slower it is.
const CSS_ROUNDS: u32 = 5;
const CSS_DIVISOR: u64 = 4;

/// An acknowledgement as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
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

impl Seen {
    /// The acknowledgement `ack` as a control with a window of `cwnd` sees it.
    #[inline]
    pub(super) fn of(ack: &AckSample, cwnd: u64, mss: u64, unit: u64) -> Seen {
        Seen {
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

/// What slow start does about an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on as usual.
    Usual,
    /// The window opens by this much [B].
    Open(u64),
    /// It has ended: ssthresh is the window.
    Leave,
}

/// The rules and their state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    rules: Rules,
    /// The round ends when so much has been delivered [B].
    round_end: u64,
    /// The least RTT of the round, and its samples.
    least: Span,
    samples: u32,
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
        base: Span,
        found: bool,
        /// Something paces (`sk_pacing_status`): a window then takes half of an RTT to leave, without a queue.
        paced: bool,
    },
    PlusPlus {
        limit: u64,
        /// No limit was asked for: it is RFC 9406's.
        is_usual: bool,
        /// Least RTT of the last round.
        last: Span,
        /// Conservative slow start: its baseline, and rounds that have ended in it.
        conservative: Option<(Span, u32)>,
        /// Acknowledged data that has not yet opened the window [B].
        rest: u64,
    },
}

impl Exit {
    /// The rules of `choice`, if there are any.
    pub(super) fn boxed(choice: Hystart) -> Option<Box<Exit>> {
        (choice != Hystart::None).then(|| Box::new(Exit::new(choice)))
    }

    pub(super) fn new(choice: Hystart) -> Exit {
        let rules = match choice {
            Hystart::None => Rules::Off,
            Hystart::Linux => Rules::Linux {
                round_start: Time::ZERO,
                last_ack: Time::ZERO,
                base: Span::MAX,
                found: false,
                paced: false,
            },
            Hystart::PlusPlus(config) => Rules::PlusPlus {
                limit: config.limit.unwrap_or(LIMIT).into(),
                is_usual: config.limit.is_none(),
                last: Span::MAX,
                conservative: None,
                rest: 0,
            },
        };
        Exit { rules, round_end: 0, least: Span::MAX, samples: 0 }
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
    pub(super) fn on_ack(&mut self, seen: &Seen) -> Verdict {
        match self.rules {
            Rules::Off | Rules::Linux { found: true, .. } => Verdict::Usual,
            Rules::Linux { .. } => self.on_ack_linux(seen),
            Rules::PlusPlus { .. } => self.on_ack_plus_plus(seen),
        }
    }

    /// Whether a round has ended, of what was sent before it began. Another one begins.
    fn turn(&mut self, seen: &Seen, is_over: bool) -> bool {
        if is_over {
            self.round_end = seen.delivered.saturating_sub(seen.acked) + seen.in_flight;
            (self.least, self.samples) = (Span::MAX, 0);
        }
        is_over
    }

    fn on_ack_linux(&mut self, seen: &Seen) -> Verdict {
        let Some(rtt) = seen.rtt else { return Verdict::Usual };
        let is_over = seen.delivered > self.round_end;
        let turns = self.turn(seen, is_over);
        let Rules::Linux { round_start, last_ack, base, found, paced } = &mut self.rules else {
            return Verdict::Usual;
        };
        if turns {
            (*round_start, *last_ack) = (seen.now, seen.now);
        }
        *base = rtt.min(*base);
        if seen.cwnd < LOW_WINDOW * seen.mss {
            return Verdict::Usual;
        }
        if seen.now.since(*last_ack) <= TRAIN {
            *last_ack = seen.now;
            // Linux's estimate of the rate in slow start is two windows per RTT.
            let nanos = u128::from(AGGREGATION.0) * u128::from(rtt.as_nanos()) / u128::from(2 * seen.cwnd);
            let delay = AGGREGATION.1.min(Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
            let threshold = *base + delay;
            *found |= seen.now.since(*round_start) > if *paced { threshold } else { threshold / 2 };
        }
        self.least = self.least.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            *found |= self.least > *base + increase(*base);
        }
        if *found { Verdict::Leave } else { Verdict::Usual }
    }

    fn on_ack_plus_plus(&mut self, seen: &Seen) -> Verdict {
        let (before, is_over) = (self.least, seen.delivered >= self.round_end);
        let turns = self.turn(seen, is_over);
        let Rules::PlusPlus { limit, last, conservative, rest, .. } = &mut self.rules else {
            return Verdict::Usual;
        };
        if turns {
            *last = before;
            if let Some((_, rounds)) = conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    self.rules = Rules::Off;
                    return Verdict::Leave;
                }
            }
        }
        if let Some(rtt) = seen.rtt {
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            *conservative = match *conservative {
                None if *last < Span::MAX && self.least >= *last + increase(*last) => Some((self.least, 0)),
                // The increase was no queue that stays.
                Some((baseline, _)) if self.least < baseline => None,
                as_before => as_before,
            };
        }
        let counted = seen.acked.min(limit.saturating_mul(seen.mss));
        if conservative.is_none() {
            return Verdict::Open(counted);
        }
        *rest += counted;
        let opened = *rest / CSS_DIVISOR / seen.unit * seen.unit;
        *rest -= opened * CSS_DIVISOR;
        Verdict::Open(opened)
    }

    /// A congestion event.
    pub(super) fn on_congestion(&mut self, now: Time, kind: CongestionKind) {
        match (&mut self.rules, kind) {
            // RFC 9406 §4.3: for the initial slow start alone.
            (Rules::PlusPlus { .. }, _) => self.rules = Rules::Off,
            (Rules::Linux { round_start, last_ack, base, found, .. }, CongestionKind::Timeout { .. }) => {
                (*round_start, *last_ack, *base, *found) = (now, now, Span::MAX, false);
                (self.least, self.samples) = (Span::MAX, 0);
            }
            _ => {}
        }
    }
}

/// By how much the RTT must have grown over `base`.
fn increase(base: Span) -> Span {
    (base / 8).clamp(INCREASE.0, INCREASE.1)
}
