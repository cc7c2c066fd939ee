//! How much may be in flight. Loss detection, retransmission and the RTO belong to the sender.

use std::fmt::Debug;

use varicap_units::part::OnKernel;
use varicap_units::{Bytes, Rate, Span, Time};

#[macro_use]
mod registry;
mod window;

mod accel_brake;
mod cubic;
mod ratcp;
mod rate_adaptive;
mod reno;

pub(crate) use window::Window;

controls! {
    reno: Reno(config: RenoConfig) = "reno", "Slow start and additive increase, multiplicative decrease. Source: RFC 5681.";
    cubic: Cubic(config: CubicConfig) = "cubic", "A cubic function of the time since the last loss. Source: RFC 9438.";
    ratcp: Ratcp(config: RatcpConfig) = "ratcp",
        "Rate adaptive: at most what the flow's `feedback` allows; Reno as long as it has told nothing. Source: [ratcp].";
    rate_adaptive: RateAdaptiveWindow(config: RateAdaptiveWindowConfig) = "rate-adaptive-window",
        "A part for the flow's `reservation`, reserved rate times RTT, and a variable part that adapts as ever. Source: [minrate].";
    accel_brake: AccelBrake[AccelBrakeConfig] = "accel-brake",
        "A window that each acknowledgement accelerates or brakes, as the bottleneck's `accel-brake` queue marked the packet.\nEvery packet is ECN-capable and acknowledged, whatever `ecn` and `ack` say. Source: [goyal20].";
}

/// What a congestion control learns from an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// New data that it acknowledged cumulatively: by how much SND.UNA advanced [B].
    pub newly_acked: Bytes,
    /// Data in flight before it [B].
    pub in_flight: Bytes,
    /// Whether something other than cwnd limited the sender when it last stopped sending: the application, the
    /// receiver's window or the maximum window. Growing then would open a window that nobody has tested.
    pub app_limited: bool,
    /// Smoothed RTT, if there was a sample.
    pub smoothed_rtt: Option<Span>,
    /// Least RTT seen, if there was a sample.
    pub min_rtt: Option<Span>,
    /// The RTT sample of this acknowledgement, if it gave one.
    pub rtt: Option<Span>,
    /// Whether the packet that it acknowledges was marked; told only to a control that reacts to each mark.
    pub marked: bool,
}

/// Why the window must fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// A fast retransmit; once per episode.
    FastRetransmit,
    /// An ECN echo; once per window.
    EcnEcho,
    /// The retransmission timer expired, or Tahoe resends after duplicate ACKs, which it treats the same:
    /// slow start from one segment.
    Timeout {
        /// Expiries in a row before this one.
        backoff: u32,
    },
}

/// A congestion signal.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When it was noticed.
    pub now: Time,
    /// Why.
    pub kind: CongestionKind,
    /// FlightSize when it was noticed, without what limited transmit sent (RFC 5681 §3.2 step 2) [B].
    pub in_flight: Bytes,
}

/// How much may be in flight. Windows are bytes. Source: RFC 5681 §3 fixes the roles.
pub trait CongestionControl: Debug + Send {
    /// New data was acknowledged, outside of recovery.
    fn on_ack(&mut self, ack: &AckSample);
    /// A congestion signal: ssthresh and cwnd fall.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// Recovery has ended. A window above `limit` would let out a burst (RFC 6582 §3.2 step 3, option 1);
    /// [`Bytes::MAX`] where the recovery has no such rule.
    fn on_recovered(&mut self, _now: Time, _limit: Bytes) {}
    /// The network advertised a rate ([abr], [ratcp]).
    fn on_rate_feedback(&mut self, _now: Time, _rate: Rate) {}
    /// The reservation is this rate from now on; none: the sender does not trust it any more ([minrate]).
    fn on_reservation(&mut self, _now: Time, _rate: Option<Rate>) {}
    /// The sender was idle for an RTO: fall back to at most `restart_window` (RFC 5681 §4.1).
    fn on_idle(&mut self, restart_window: Bytes);
    /// Congestion window [B], at least one MSS.
    fn cwnd(&self) -> Bytes;
    /// Slow start threshold [B], if it has one.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }
    /// The rate at which to pace, if it paces [b/s].
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

/// What every congestion control starts from.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Largest payload of a segment [B].
    pub mss: Bytes,
    /// A full segment on the wire, headers included [B].
    pub packet: Bytes,
    /// First congestion window [B].
    pub initial_window: Bytes,
    /// Initial slow start threshold [B].
    pub initial_ssthresh: Bytes,
}

/// The kernel's control of this name, which has no settings: `config` must be the default.
fn kernels_own<C: Default + PartialEq>(name: &str, config: &C) -> OnKernel {
    if *config == C::default() {
        OnKernel::Named(name.to_owned())
    } else {
        OnKernel::Refused("the kernel's has no settings: leave them out")
    }
}
