//! A window of two parts: what a reservation carries, and what adapts to the rest of the network.
//! Source: [minrate, §IV-B, Fig. 8].
//!
//! `CWND = RWND + V`, where RWND = reserved rate x RTT and V obeys the ordinary rules of a congestion control, which
//! sees only the share V/CWND of each acknowledgement: packets sent under RWND must not clock the window. With Reno's
//! rules that is Fig. 8 as printed, V/CWND for each acknowledgement in slow start and 1/CWND in congestion avoidance,
//! since 1/V times V/CWND is 1/CWND. A loss halves V, a timeout leaves RWND + 1. V is the state, so that a reservation
//! that changes moves the window at once. Without a reservation, or before the first RTT sample, RWND is zero.

use serde::{Deserialize, Serialize};
use varicap_units::part::{OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Rate, Span, Time};

use super::{
    AckSample, ByteCounting, CongestionControl, CongestionEvent, Counting, Cubic, CubicConfig, Reno,
    RenoConfig, Rounding, Start,
};

use crate::config::RttBase;
use crate::reservation::reserved_window;

/// How a window with a reserved part moves. Source: [minrate, Fig. 8].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateAdaptiveWindowConfig {
    /// Which RTT makes the reserved rate a window. Default: base (the least RTT seen: the conservative choice of [minrate, §IV-B]).
    pub rtt: RttBase,
    /// How the variable part opens and falls. Default: reno, as in [minrate]; cubic goes beyond the paper.
    pub grow: Growth,
}

impl Default for RateAdaptiveWindowConfig {
    fn default() -> RateAdaptiveWindowConfig {
        RateAdaptiveWindowConfig { rtt: RttBase::Base, grow: Growth::Reno }
    }
}

/// How the variable part of a window with a reserved part opens and falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// As in RFC 5681.
    Reno,
    /// As in RFC 9438.
    Cubic,
}

impl Part for RateAdaptiveWindowConfig {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("the kernel has no window with a reserved part: simulator only")
    }
}

/// Parts of a byte that are carried from one acknowledgement to the next.
const PARTS: u128 = 1 << 16;

/// The rules of the variable part.
#[derive(Clone, Debug)]
enum Variable {
    Reno(Reno),
    Cubic(Box<Cubic>),
}

/// The window of [minrate].
#[derive(Clone, Debug)]
pub struct RateAdaptiveWindow {
    variable: Variable,
    counts_acks: bool,
    /// RWND in payload [B].
    reserved: u64,
    rate: Rate,
    rtt: Option<Span>,
    rtt_source: RttBase,
    mss: u64,
    /// A full segment on the wire [B].
    packet: u64,
    /// Acknowledged data that has not yet been passed on to the variable part [B/PARTS].
    rest: u128,
}

impl RateAdaptiveWindow {
    /// A window that starts as `start` says.
    pub fn new(config: &RateAdaptiveWindowConfig, start: &Start) -> RateAdaptiveWindow {
        let counts_acks = start.counting == Counting::Acks;
        // The variable part sees shares of segments.
        let bytes = Counting::Bytes(ByteCounting { limit: u32::MAX });
        let counting = if start.counting == Counting::Segments { bytes } else { start.counting };
        // Nor does it round: it is not the window.
        let start = &Start { counting, rounding: Rounding::None, ..*start };
        RateAdaptiveWindow {
            counts_acks,
            variable: match config.grow {
                Growth::Reno => Variable::Reno(Reno::new(&RenoConfig::default(), start)),
                Growth::Cubic => Variable::Cubic(Box::new(Cubic::new(&CubicConfig::default(), start))),
            },
            reserved: 0,
            rate: Rate::ZERO,
            rtt: None,
            rtt_source: config.rtt,
            mss: start.mss.as_u64(),
            packet: start.packet.as_u64(),
            rest: 0,
        }
    }

    /// RWND: the part of the window that carries the reserved rate, in payload [B].
    pub fn reserved(&self) -> Bytes {
        Bytes::new(self.reserved)
    }

    /// V: the part of the window that adapts [B].
    pub fn variable(&self) -> Bytes {
        self.rules().cwnd()
    }

    fn rules(&self) -> &dyn CongestionControl {
        match &self.variable {
            Variable::Reno(reno) => reno,
            Variable::Cubic(cubic) => cubic.as_ref(),
        }
    }

    fn rules_mut(&mut self) -> &mut dyn CongestionControl {
        match &mut self.variable {
            Variable::Reno(reno) => reno,
            Variable::Cubic(cubic) => cubic.as_mut(),
        }
    }

    fn measure(&mut self) {
        self.reserved = self.rtt.map_or(0, |rtt| reserved_window(self.rate, rtt, self.mss, self.packet));
    }

    /// The share V/CWND of `acked`, whole bytes; the rest counts next time.
    fn share(&mut self, acked: u64) -> u64 {
        let (variable, window) = (self.variable().as_u64(), self.cwnd().as_u64());
        let parts = u128::from(acked) * u128::from(variable) * PARTS / u128::from(window) + self.rest;
        self.rest = parts % PARTS;
        u64::try_from(parts / PARTS).unwrap_or(u64::MAX)
    }
}

impl CongestionControl for RateAdaptiveWindow {
    fn on_ack(&mut self, ack: &AckSample) {
        let rtt = match self.rtt_source {
            RttBase::Base => ack.min_rtt,
            RttBase::Smoothed => ack.smoothed_rtt,
        };
        if rtt != self.rtt {
            self.rtt = rtt;
            self.measure();
        }
        let acked = ack.newly_acked.as_u64();
        // RFC 5681 (2) counts at most a segment for each acknowledgement; RFC 9438 counts all that was acknowledged.
        let is_reno = matches!(self.variable, Variable::Reno(_));
        let counted = if is_reno && self.counts_acks { acked.min(self.mss) } else { acked };
        let newly_acked = Bytes::new(self.share(counted));
        self.rules_mut().on_ack(&AckSample { newly_acked, ..*ack });
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // [minrate, Fig. 8]: halved is CWND - RWND, not what is in flight.
        let in_flight = self.variable();
        self.rules_mut().on_congestion(&CongestionEvent { in_flight, ..*event });
    }

    fn on_undo(&mut self, now: Time) {
        self.rules_mut().on_undo(now);
    }

    fn on_reservation(&mut self, _now: Time, rate: Option<Rate>) {
        match rate {
            Some(rate) => {
                self.rate = rate;
                self.measure();
            }
            None => {
                // An ordinary window from now on: all of it adapts.
                let whole = self.cwnd().as_u64();
                (self.rate, self.reserved) = (Rate::ZERO, 0);
                match &mut self.variable {
                    Variable::Reno(reno) => reno.set(whole),
                    Variable::Cubic(cubic) => cubic.set_bytes(whole),
                }
            }
        }
    }

    fn cap(&mut self, most: Bytes) {
        let beyond = most.saturating_sub(self.reserved());
        self.rules_mut().cap(beyond);
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        let beyond = in_flight.saturating_sub(self.reserved());
        self.rules_mut().on_kept(beyond);
    }

    fn on_unused(&mut self, window: Bytes) {
        // The reserved part remains, used or not.
        let window = window.saturating_sub(self.reserved());
        self.rules_mut().on_unused(window);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.rules_mut().on_idle(restart_window);
    }

    fn on_start(&mut self, now: Time, idle: Span) {
        self.rules_mut().on_start(now, idle);
    }

    fn cwnd(&self) -> Bytes {
        self.variable().saturating_add(self.reserved())
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.rules().ssthresh()?.saturating_add(self.reserved()))
    }
}
