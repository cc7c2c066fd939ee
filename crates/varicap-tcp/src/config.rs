//! How a TCP connection is put together, as a scenario file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Amount, Bytes, Span, choice};

use crate::congestion::{CubicConfig, RatcpConfig, RateAdaptiveWindowConfig, RenoConfig};
use crate::segment::OPTION_TIMESTAMPS;

/// One TCP connection: recovery, congestion control, timer and receiver, each chosen by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// What is retransmitted, and when recovery ends. Default: sack.
    pub recovery: Recovery,
    /// How much may be in flight. Default: reno.
    pub congestion: Congestion,
    /// The retransmission timer. Default: RFC 6298.
    pub timer: Timer,
    /// When the receiver acknowledges. Default: delayed (RFC 1122).
    pub ack: AckPolicy,
    /// Largest payload of a segment [B]. Default: 1460 B (Ethernet without options).
    pub mss: Bytes,
    /// TCP and IP header on the wire [B], options not included. Default: 40 B.
    pub header: Bytes,
    /// Whether option bytes (timestamps, SACK blocks) count on the wire. Default: true.
    pub count_options: bool,
    /// First congestion window. Default: 10 packets (RFC 6928).
    pub initial_window: Amount,
    /// Initial slow start threshold. Default: unlimited (RFC 5681 §3.1: arbitrarily high).
    pub initial_ssthresh: Amount,
    /// Upper limit of the congestion window. Default: unlimited.
    pub max_window: Amount,
    /// The receiver's buffer, which limits the advertised window. Default: unlimited.
    pub receive_window: Amount,
    /// Whether the connection begins with a three-way handshake. Default: true.
    pub handshake: bool,
    /// Timestamps option (RFC 7323): an RTT sample from every acknowledgement, 12 bytes in every segment. Default: false.
    pub timestamps: bool,
    /// Which acknowledgements give an RTT sample when there are no timestamps. Default: every-ack (as Linux).
    pub rtt_samples: RttSamples,
    /// Limited transmit (RFC 3042): new data on the first two duplicate ACKs. Default: true.
    pub limited_transmit: bool,
    /// Duplicate ACKs that trigger a fast retransmit. Default: 3 (RFC 5681 §3.2).
    pub duplicate_acks: u32,
    /// What a sender without SACK resends after a timeout. Default: go-back-n.
    pub after_timeout: AfterTimeout,
    /// NewReno's window when its recovery ends. Default: flight-size (RFC 6582 §3.2 (3), option 1).
    pub after_recovery: AfterRecovery,
    /// Whether duplicate ACKs for data sent before the last recovery may start another one. Default: false (RFC 6582 §3.2 step 1).
    pub repeat_fast_retransmit: bool,
    /// Whether duplicate ACKs stretch Reno's and NewReno's window in fast recovery (RFC 5681 §3.2 (3) and (4)). Without, a
    /// sender is silent until half of its window has left the network. Default: true.
    pub window_inflation: bool,
    /// Most segments sent in answer to one acknowledgement. Default: no limit.
    pub max_burst: Option<u32>,
    /// Whether cwnd falls back to the initial window after an idle RTO (RFC 5681 §4.1). Default: true.
    pub restart_after_idle: bool,
    /// Explicit congestion notification (RFC 3168). Default: false.
    pub ecn: bool,
}

impl Default for TcpConfig {
    fn default() -> TcpConfig {
        TcpConfig {
            recovery: Recovery::Sack,
            congestion: Congestion::default(),
            timer: Timer::default(),
            ack: AckPolicy::default(),
            mss: Bytes::new(1460),
            header: Bytes::new(40),
            count_options: true,
            initial_window: Amount::Packets(10),
            initial_ssthresh: Amount::Unlimited,
            max_window: Amount::Unlimited,
            receive_window: Amount::Unlimited,
            handshake: true,
            timestamps: false,
            rtt_samples: RttSamples::EveryAck,
            limited_transmit: true,
            duplicate_acks: 3,
            after_timeout: AfterTimeout::GoBackN,
            after_recovery: AfterRecovery::FlightSize,
            repeat_fast_retransmit: false,
            window_inflation: true,
            max_burst: None,
            restart_after_idle: true,
            ecn: false,
        }
    }
}

impl TcpConfig {
    /// A full segment on the wire, headers and counted options included [B].
    pub fn packet(&self) -> Bytes {
        let options = if self.timestamps && self.count_options { OPTION_TIMESTAMPS } else { 0 };
        self.mss + self.header + Bytes::new(u64::from(options))
    }
}

/// What is retransmitted, and when recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Timeouts only: no fast retransmit.
    OldTahoe,
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast retransmit and fast recovery with window inflation. Source: RFC 2581 §3.2.
    Reno,
    /// Reno that stays in recovery on partial acknowledgements. Source: RFC 6582.
    #[serde(rename = "newreno")]
    NewReno,
    /// Selective acknowledgements with a scoreboard. Source: RFC 6675.
    Sack,
}

/// How much may be in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum Congestion {
    /// Slow start and additive increase, multiplicative decrease. Source: RFC 5681.
    Reno(RenoConfig),
    /// A cubic function of the time since the last loss. Source: RFC 9438.
    Cubic(CubicConfig),
    /// Rate adaptive: at most what the flow's `feedback` allows; Reno as long as it has told nothing. Source: [ratcp].
    Ratcp(RatcpConfig),
    /// A part for the flow's `reservation`, reserved rate times RTT, and a variable part that adapts as ever. Source: [minrate].
    RateAdaptiveWindow(RateAdaptiveWindowConfig),
    /// A window that each acknowledgement accelerates or brakes, as the bottleneck's `accel-brake` queue marked the packet.
    /// Every packet is ECN-capable and acknowledged, whatever `ecn` and `ack` say. Source: [goyal20].
    AccelBrake,
    /// One written in Python, by the name under which it was given to `varicap.run`.
    Custom(String),
}
varicap_units::choice!(Congestion);

impl Default for Congestion {
    fn default() -> Congestion {
        Congestion::Reno(RenoConfig::default())
    }
}

/// The retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum Timer {
    /// Smoothed RTT plus four deviations, with a clock granularity and a minimum. Source: RFC 6298.
    Rfc6298(Rfc6298Timer),
    /// A coarse clock: everything is counted in whole ticks, as BSD did.
    Ticks(TickTimer),
    /// A fixed multiple of the RTT.
    Multiple(MultipleTimer),
}
varicap_units::choice!(Timer);

impl Default for Timer {
    fn default() -> Timer {
        Timer::Rfc6298(Rfc6298Timer::default())
    }
}

/// RFC 6298's timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rfc6298Timer {
    /// Least RTO. Default: 1 s (RFC 6298 §2.4; Linux has 200 ms).
    pub minimum: Span,
    /// RTO before the first sample. Default: 1 s (RFC 6298 §2.1).
    pub initial: Span,
    /// Largest RTO. Default: 60 s (RFC 6298 §2.5).
    pub maximum: Span,
    /// Clock granularity G: RTT samples and RTOs are rounded up to it. Default: 1 ms.
    pub granularity: Span,
}

impl Default for Rfc6298Timer {
    fn default() -> Rfc6298Timer {
        Rfc6298Timer {
            minimum: Span::from_secs(1),
            initial: Span::from_secs(1),
            maximum: Span::from_secs(60),
            granularity: Span::from_millis(1),
        }
    }
}

/// A coarse tick timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TickTimer {
    /// Length of a tick. Default: 500 ms (BSD).
    pub tick: Span,
    /// Least RTO in ticks. Default: 2.
    pub minimum_ticks: u32,
    /// RTO before the first sample. Default: 6 s.
    pub initial: Span,
    /// Largest RTO. Default: 64 s.
    pub maximum: Span,
}

impl Default for TickTimer {
    fn default() -> TickTimer {
        TickTimer {
            tick: Span::from_millis(500),
            minimum_ticks: 2,
            initial: Span::from_secs(6),
            maximum: Span::from_secs(64),
        }
    }
}

/// An RTO that is a fixed multiple of the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MultipleTimer {
    /// RTO = factor x RTT. Default: 2.
    pub factor: f64,
    /// Which RTT is multiplied. Default: smoothed.
    pub of: RttBase,
    /// RTO before the first sample. Default: 1 s.
    pub initial: Span,
    /// Largest RTO. Default: 60 s.
    pub maximum: Span,
    /// Whether the RTO doubles at each expiry. Default: true.
    pub backoff: bool,
}

impl Default for MultipleTimer {
    fn default() -> MultipleTimer {
        MultipleTimer {
            factor: 2.0,
            of: RttBase::Smoothed,
            initial: Span::from_secs(1),
            maximum: Span::from_secs(60),
            backoff: true,
        }
    }
}

/// Which round-trip time a rule uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttBase {
    /// The smoothed RTT (RFC 6298's SRTT).
    Smoothed,
    /// The least RTT seen.
    Base,
}

/// Which acknowledgements give an RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSamples {
    /// Every acknowledgement of a segment that was sent once (Karn), as a host that remembers each sending time.
    EveryAck,
    /// One timed segment at a time, as BSD did (Karn: none while it is retransmitted).
    OnePerWindow,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum AckPolicy {
    /// Every packet.
    Every,
    /// Every second segment or after a timer; out-of-order data at once. Source: RFC 1122 §4.2.3.2, RFC 5681 §4.2.
    Delayed(DelayedAck),
}
varicap_units::choice!(AckPolicy);

impl Default for AckPolicy {
    fn default() -> AckPolicy {
        AckPolicy::Delayed(DelayedAck::default())
    }
}

/// Delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelayedAck {
    /// Full-sized segments per acknowledgement. Default: 2.
    pub segments: u32,
    /// Longest delay of an acknowledgement. Default: 40 ms (Linux's least; RFC 1122 allows 500 ms).
    pub timeout: Span,
}

impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck { segments: 2, timeout: Span::from_millis(40) }
    }
}

/// What a sender without SACK resends after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterTimeout {
    /// Everything from the first hole on, as slow start allows.
    GoBackN,
    /// The first unacknowledged segment only; then one more for each acknowledgement that uncovers another hole.
    FirstHole,
}

/// NewReno's window when its recovery ends. Source: RFC 6582 §3.2 (3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterRecovery {
    /// A segment more than what is in flight, at most ssthresh: no burst (option 1).
    FlightSize,
    /// ssthresh, as ns-2: a burst if less is in flight (option 2).
    Ssthresh,
}
