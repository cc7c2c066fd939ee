//! A window that follows the rate which the network advertises: Rate Adaptive TCP. Source: [ratcp, §II].
//!
//! `W_rate = floor(R * RTT / packet) + beta` in whole packets, where R is the last advertised rate, RTT an estimate of
//! the round trip without queueing, and a packet counts with its size on the wire (link framing is not known to a
//! sender). cwnd grows as Reno's, and never beyond `W_rate`. Where `W_rate` cuts cwnd, acknowledgements open no window
//! until no more is outstanding than cwnd allows. A loss leaves cwnd at `W_rate`, a timeout sets ssthresh to it.
//! Before the first rate, or without an RTT yet, all is as in Reno.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, NANOS_PER_SEC, Rate, Span, Time};

use super::reno::Prior;
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Reno, RenoConfig, Start, Wants};

/// How the advertised rate becomes a window. Source: [ratcp, §II].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RatcpConfig {
    /// Target backlog beta at the bottleneck, in whole packets beyond rate times RTT. Default: 1 packets.
    pub beta: Amount,
    /// Which RTT is multiplied with the rate. Default: base.
    pub rtt: RateRtt,
    /// Whether packets are spaced at the advertised rate instead of sent as acknowledgements come. Default: false.
    pub pacing: bool,
}

impl Default for RatcpConfig {
    fn default() -> RatcpConfig {
        RatcpConfig { beta: Amount::Packets(1), rtt: RateRtt::Base, pacing: false }
    }
}

/// The RTT with which a rate becomes a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::names)]
pub enum RateRtt {
    /// The least RTT seen.
    Base,
    /// The smoothed RTT (RFC 6298's SRTT), queueing included.
    Smoothed,
    /// A given one, known beforehand.
    Known(Span),
}
varicap_units::choice!(RateRtt);

/// The kernel engine brings it along, and chooses it socket by socket.
impl Part for RatcpConfig {
    fn check(&self) -> Checked {
        let whole = matches!(self.beta, Amount::Packets(packets) if packets <= u64::from(u32::MAX));
        part::require("beta", whole, self.beta, "whole packets, such as \"1 packets\"")?;
        match self.rtt {
            RateRtt::Known(rtt) => part::positive("rtt.known", rtt),
            RateRtt::Base | RateRtt::Smoothed => Ok(()),
        }
    }
}

/// No rate window is known.
const UNKNOWN: u64 = u64::MAX;

/// Which rules hold. [ratcp, §II.B] needs a variable of its own for it, since the rate may put cwnd below ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Slow start below ssthresh, congestion avoidance above, as in Reno.
    Open,
    /// Congestion avoidance that waits until what is outstanding has shrunk to the reduced window.
    Inactive,
    /// Congestion avoidance, wherever ssthresh is.
    Avoidance,
}

/// The window of [ratcp].
#[derive(Clone, Debug)]
pub struct Ratcp {
    /// Grows and, as long as there is no rate, falls.
    reno: Reno,
    phase: Phase,
    /// W_rate in payload, at least one segment [B]; [`UNKNOWN`] without a rate or an RTT.
    rate_window: u64,
    /// The last advertised rate; unlimited: none is known.
    rate: Rate,
    rtt: Option<Span>,
    rtt_source: RateRtt,
    mss: u64,
    /// The work of a packet on the wire [nanobits].
    packet: u64,
    /// Target backlog [packets].
    beta: u64,
    pacing: bool,
}

impl Ratcp {
    /// A window that starts as `start` says.
    pub fn new(config: &RatcpConfig, start: &Start) -> Ratcp {
        Ratcp {
            reno: Reno::new(&RenoConfig::default(), start),
            phase: Phase::Open,
            rate_window: UNKNOWN,
            rate: Rate::UNLIMITED,
            rtt: if let RateRtt::Known(rtt) = config.rtt { Some(rtt) } else { None },
            rtt_source: config.rtt,
            mss: start.mss.as_u64(),
            packet: start.packet.as_u64().max(1).saturating_mul(8 * NANOS_PER_SEC),
            beta: config.beta.bytes(Bytes::new(1), Bytes::ZERO).as_u64(),
            pacing: config.pacing,
        }
    }

    /// W_rate in payload [B], if it is known.
    pub fn rate_window(&self) -> Option<Bytes> {
        self.knows_rate().then(|| Bytes::new(self.rate_window))
    }

    #[inline]
    fn knows_rate(&self) -> bool {
        self.rate_window != UNKNOWN
    }

    /// W_rate by [ratcp, §II.A], in whole packets as in [ratcp, §III].
    fn measure(&mut self) {
        let Some(rtt) = self.rtt.filter(|_| !self.rate.is_unlimited()) else {
            self.rate_window = UNKNOWN;
            return;
        };
        let pipe = match self.rate.as_bps().checked_mul(rtt.as_nanos()) {
            Some(nanobits) => nanobits / self.packet,
            None => {
                let packets = (self.rate * rtt).as_nanobits() / u128::from(self.packet);
                u64::try_from(packets).unwrap_or(u64::MAX)
            }
        };
        let packets = pipe.saturating_add(self.beta).max(1);
        self.rate_window = packets.saturating_mul(self.mss).min(UNKNOWN - 1);
    }

    /// [ratcp, §II.B]: cwnd = min(cwnd, W_rate), and congestion avoidance is entered, inactive at first.
    #[inline]
    fn clip(&mut self) {
        if self.rate_window < self.reno.cwnd {
            self.reno.set(self.rate_window);
            self.phase = Phase::Inactive;
        }
    }

    fn grow(&mut self, acked: u64, in_flight: u64) {
        match self.phase {
            Phase::Open if self.reno.cwnd < self.reno.ssthresh => {
                self.reno.slow_start(acked);
                self.clip();
            }
            // More is outstanding than the window: an acknowledgement that only makes up for the reduction.
            Phase::Inactive if in_flight > self.reno.cwnd => {}
            phase => {
                if phase == Phase::Inactive {
                    self.phase = Phase::Avoidance;
                }
                // At W_rate there is nothing to grow for. Below, a step ends at whole segments, as W_rate does.
                if self.reno.cwnd < self.rate_window {
                    self.reno.avoid_congestion(acked);
                }
            }
        }
    }
}

impl CongestionControl for Ratcp {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        let rtt = match self.rtt_source {
            RateRtt::Base => ack.min_rtt,
            RateRtt::Smoothed => ack.smoothed_rtt,
            RateRtt::Known(rtt) => Some(rtt),
        };
        if rtt != self.rtt {
            self.rtt = rtt;
            self.measure();
        }
        self.clip();
        if !ack.app_limited {
            self.grow(ack.newly_acked.as_u64(), ack.in_flight.as_u64());
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::Timeout { .. } => {
                self.reno.on_congestion(event);
                self.phase = Phase::Open;
                if self.knows_rate() {
                    // [ratcp, §II.B]: ssthresh is W_rate at the timeout, of whichever expiry.
                    self.reno.ssthresh = self.rate_window;
                }
            }
            // [ratcp, §II.B]: cwnd = min(cwnd, W_rate) instead of half. The paper knows no ECN: an echo counts as a
            // loss.
            CongestionKind::FastRetransmit | CongestionKind::EcnEcho if self.knows_rate() => {
                self.reno.prior = Prior::default();
                self.reno.set(self.reno.cwnd);
                self.clip();
                if self.phase == Phase::Open {
                    self.phase = Phase::Avoidance;
                }
            }
            CongestionKind::FastRetransmit | CongestionKind::EcnEcho => {
                self.reno.on_congestion(event);
                self.phase = Phase::Open;
            }
        }
    }

    fn on_undo(&mut self, now: Time) {
        self.reno.on_undo(now);
        self.clip();
    }

    /// An unlimited rate says that none is known any more.
    fn on_rate_feedback(&mut self, _now: Time, rate: Rate) {
        self.rate = rate;
        self.measure();
        self.clip();
    }

    fn cap(&mut self, most: Bytes) {
        // A window that a rate allows was not found by sending; and the rate says how large it may be after recovery: RFC 6582's
        // option 2, where `max_burst` guards against bursts.
        if !self.knows_rate() {
            self.reno.cap(most);
        }
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.reno.on_kept(in_flight);
    }

    fn on_unused(&mut self, window: Bytes) {
        if self.knows_rate() {
            // W_rate is no less than what the window was.
            self.on_idle(window);
        } else {
            self.reno.on_unused(window);
        }
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        if self.knows_rate() && restart_window.as_u64() < self.reno.cwnd {
            // RFC 5681 §4.1: slow start from the restart window, up to where the rate allows.
            self.reno.ssthresh = self.rate_window;
            self.phase = Phase::Open;
        }
        self.reno.on_idle(restart_window);
    }

    /// A loss leaves cwnd at W_rate: there is nothing that would fall in proportion. Linux leaves recovery to a control
    /// that replaces its rules for the window, as this one does there, with and without a rate.
    fn wants(&self) -> Wants {
        Wants { own_recovery: true, ..Wants::default() }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.reno.cwnd)
    }

    #[inline]
    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes::new(self.reno.ssthresh))
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing && !self.rate.is_unlimited()).then_some(self.rate)
    }
}
