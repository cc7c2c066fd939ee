//! How much may be in flight. Loss detection, retransmission and the RTO belong to the sender.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Bytes, Rate, Span, Time};

/// Parameters of [`Congestion::Reno`](crate::Congestion::Reno).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoConfig {
    /// Appropriate byte counting: the most MSS that one ACK may add in slow start (RFC 3465's L). Default: none (RFC 5681: one MSS per ACK).
    pub byte_counting: Option<u32>,
}

/// Parameters of [`Congestion::Cubic`](crate::Congestion::Cubic).
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

/// What a congestion control learns from an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// New data that it acknowledged, cumulatively or selectively [B].
    pub newly_acked: Bytes,
    /// Data in flight before it [B].
    pub in_flight: Bytes,
    /// Whether the application, not the window, limited the sender since the last one.
    pub app_limited: bool,
    /// Smoothed RTT, if there was a sample.
    pub smoothed_rtt: Option<Span>,
    /// Least RTT seen, if there was a sample.
    pub min_rtt: Option<Span>,
    /// The RTT sample of this acknowledgement, if it gave one.
    pub rtt: Option<Span>,
}

/// Why the window must fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// A fast retransmit; once per episode.
    FastRetransmit,
    /// An ECN echo; once per window.
    EcnEcho,
    /// The retransmission timer expired; `backoff` expiries in a row before this one.
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
    /// Data in flight when it was noticed (RFC 5681's FlightSize) [B].
    pub in_flight: Bytes,
}

/// How much may be in flight. Windows are bytes. Source: RFC 5681 §3 fixes the roles.
pub trait CongestionControl: Debug + Send {
    /// New data was acknowledged, outside of recovery.
    fn on_ack(&mut self, ack: &AckSample);
    /// A congestion signal: ssthresh and cwnd fall.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// Recovery has ended.
    fn on_recovered(&mut self, _now: Time) {}
    /// The network advertised a rate ([abr], [ratcp]).
    fn on_rate_feedback(&mut self, _now: Time, _rate: Rate) {}
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
