//! How much may be in flight. Loss detection, retransmission and the RTO belong to the sender.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Amount, Bytes, Rate, Span, Time, choice};

use crate::config::{Congestion, RttBase};

mod accel_brake;
mod cubic;
mod ratcp;
mod rate_adaptive;
mod reno;

pub use accel_brake::AccelBrake;
pub use cubic::Cubic;
pub use ratcp::Ratcp;
pub use rate_adaptive::RateAdaptiveWindow;
pub use reno::Reno;

/// How the window of RFC 5681 grows.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoConfig {
    /// Appropriate byte counting: the most MSS that one ACK may add in slow start (RFC 3465's L). Default: none (RFC 5681: one MSS per ACK).
    pub byte_counting: Option<u32>,
    /// By how much congestion avoidance opens the window. Default: per-window (what RFC 5681 §3.1 recommends).
    pub increase: Increase,
}

/// By how much congestion avoidance opens the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// A segment when a window's worth of acknowledgements is in, as Linux counts them.
    #[default]
    PerWindow,
    /// SMSS*SMSS/cwnd at each acknowledgement, as ns-2: less than a segment per window while windows are small. Source: RFC 5681 (3).
    PerAck,
}

/// The constants of RFC 9438.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CubicConfig {
    /// Multiplicative decrease factor. Default: 0.7 (RFC 9438 §4.6).
    pub beta: f64,
    /// Scaling constant C [MSS/s^3]. Default: 0.4 (RFC 9438 §5.1).
    pub c: f64,
    /// Fast convergence (RFC 9438 §4.7). Default: true.
    pub fast_convergence: bool,
    /// At least as fast as Reno (RFC 9438 §4.3). Default: true.
    pub reno_friendly: bool,
}

impl Default for CubicConfig {
    fn default() -> CubicConfig {
        CubicConfig { beta: 0.7, c: 0.4, fast_convergence: true, reno_friendly: true }
    }
}

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
#[schemars(transform = choice::names)]
pub enum RateRtt {
    /// The least RTT seen.
    Base,
    /// The smoothed RTT (RFC 6298's SRTT), queueing included.
    Smoothed,
    /// A given one, known beforehand.
    Known(Span),
}
varicap_units::choice!(RateRtt);

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

/// The congestion control of a sender: the built-in ones dispatch statically, extensions through a box.
#[derive(Debug)]
pub enum Controller {
    /// RFC 5681.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Cubic),
    /// Rate adaptive ([ratcp]).
    Ratcp(Ratcp),
    /// A reserved and a variable part ([minrate]).
    RateAdaptive(Box<RateAdaptiveWindow>),
    /// Accelerates and brakes ([goyal20]).
    AccelBrake(Box<AccelBrake>),
    /// An extension, from another crate or from Python.
    Boxed(Box<dyn CongestionControl>),
}

impl Controller {
    /// The control that `choice` names.
    ///
    /// # Panics
    /// If it is [`Congestion::Custom`]: whoever registered it makes it, and hands it over in
    /// [`Controller::Boxed`].
    pub fn new(choice: &Congestion, start: &Start) -> Controller {
        match choice {
            Congestion::Reno(config) => Controller::Reno(Reno::new(config, start)),
            Congestion::Cubic(config) => Controller::Cubic(Cubic::new(config, start)),
            Congestion::Ratcp(config) => Controller::Ratcp(Ratcp::new(config, start)),
            Congestion::RateAdaptiveWindow(config) => {
                Controller::RateAdaptive(Box::new(RateAdaptiveWindow::new(config, start)))
            }
            Congestion::AccelBrake => Controller::AccelBrake(Box::new(AccelBrake::new(start))),
            Congestion::Custom(name) => {
                panic!("the congestion control {name:?} must be handed over in a box")
            }
        }
    }
}

macro_rules! dispatch {
    ($self:ident, $control:ident => $call:expr) => {
        match $self {
            Controller::Reno($control) => $call,
            Controller::Cubic($control) => $call,
            Controller::Ratcp($control) => $call,
            Controller::RateAdaptive($control) => $call,
            Controller::AccelBrake($control) => $call,
            Controller::Boxed($control) => $call,
        }
    };
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        dispatch!(self, control => control.on_ack(ack))
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        dispatch!(self, control => control.on_congestion(event))
    }
    fn on_recovered(&mut self, now: Time, limit: Bytes) {
        dispatch!(self, control => control.on_recovered(now, limit))
    }
    fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        dispatch!(self, control => control.on_rate_feedback(now, rate))
    }
    fn on_reservation(&mut self, now: Time, rate: Option<Rate>) {
        dispatch!(self, control => control.on_reservation(now, rate))
    }
    fn on_idle(&mut self, restart_window: Bytes) {
        dispatch!(self, control => control.on_idle(restart_window))
    }
    #[inline]
    fn cwnd(&self) -> Bytes {
        dispatch!(self, control => control.cwnd())
    }
    #[inline]
    fn ssthresh(&self) -> Option<Bytes> {
        dispatch!(self, control => control.ssthresh())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        dispatch!(self, control => control.pacing_rate())
    }
}

/// The congestion control of a sender, and what it last said: the way of every segment reads it from here.
#[derive(Debug)]
pub(crate) struct Window {
    control: Controller,
    cwnd: u64,
    paces: bool,
}

impl Window {
    pub(crate) fn new(control: Controller) -> Window {
        let mut window = Window { control, cwnd: 0, paces: false };
        window.update();
        window
    }

    /// The congestion control itself.
    pub(crate) fn control(&self) -> &Controller {
        &self.control
    }

    /// Congestion window [B].
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The rate at which to pace, if it paces [b/s].
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        if self.paces { self.control.pacing_rate() } else { None }
    }

    /// New data was acknowledged, as `sample` tells.
    #[inline]
    pub(crate) fn on_ack(&mut self, sample: impl FnOnce() -> AckSample) {
        // Reno's few instructions stand in line, and it asks for little of the sample.
        match &mut self.control {
            Controller::Reno(reno) => {
                reno.on_ack(&sample());
                self.cwnd = reno.cwnd().as_u64();
            }
            _ => self.change(|control| control.on_ack(&sample())),
        }
    }

    /// Tells the control of something that may change what it says.
    #[inline(never)]
    pub(crate) fn change(&mut self, tell: impl FnOnce(&mut Controller)) {
        tell(&mut self.control);
        self.update();
    }

    fn update(&mut self) {
        self.cwnd = self.control.cwnd().as_u64();
        self.paces = self.control.pacing_rate().is_some();
    }
}
