//! Flows over transports that are not ours, as a file describes them: QUIC, and endpoints that a run is given by name.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Fault};
use varicap_units::{Bytes, JsonSchema, Span};

/// The headers of IPv4 and UDP, which come on top of the bytes of a datagram [B].
pub const IP_AND_UDP: Bytes = Bytes::new(28);
/// Smallest payload that every path of QUIC carries [B]. Source: RFC 9000 §14.
const SMALLEST_DATAGRAM: u64 = 1200;
/// Largest packet [B].
const LARGEST_PACKET: u64 = 65_535;
/// Largest number that QUIC writes. Source: RFC 9000 §16.
const LARGEST_NUMBER: u64 = (1 << 62) - 1;

/// QUIC by an implementation that people use, in simulated time: its packets, its cryptography, its timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuicConfig {
    /// Whose implementation. Default: quinn.
    pub stack: QuicStack,
    /// The congestion control. Default: cubic, the stack's own default.
    pub congestion: QuicCongestion,
    /// Largest IP packet [B]: 28 B of IPv4 and UDP, the rest QUIC's. Nothing probes for a larger one. Default: 1500 B.
    pub mtu: Bytes,
    /// First congestion window [B]. Default: the stack's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Bytes>,
    /// Whether packets are ECN-capable, as long as the path passes the validation of RFC 9000 §13.4. Default: true.
    pub ecn: bool,
    /// Data that a receiver takes ahead of what was read, on one stream [B] (`initial_max_stream_data`, RFC 9000 §4.1).
    /// Default: the stack's; quinn has 1250000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_receive_window: Option<Bytes>,
    /// The same of all streams of a connection [B] (`initial_max_data`). Default: the stack's; quinn has no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Bytes>,
    /// Data that a sender keeps until it is acknowledged [B]. Default: the stack's; quinn has 10000000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_window: Option<Bytes>,
    /// The sender asks for acknowledgements of this frequency (draft-ietf-quic-ack-frequency). Default: as RFC 9000 §13.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_frequency: Option<AckFrequency>,
    /// The round trip that is assumed before there is a sample. Default: 333 ms (RFC 9002 §6.2.2).
    pub initial_rtt: Span,
    /// Packets that may overtake another before that is found to be lost. Default: 3 (RFC 9002 §6.1.1).
    pub packet_threshold: u32,
    /// The connection ends after this time without a packet; 0 s: never. Default: 30 s.
    pub idle_timeout: Span,
}

/// An implementation of QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicStack {
    /// `quinn-proto` 0.11, of which the program must have been built: `make quic`, or a wheel.
    #[default]
    Quinn,
}

/// The congestion control of a QUIC connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicCongestion {
    /// The stack's CUBIC.
    #[default]
    Cubic,
    /// The stack's NewReno (RFC 9002 §7).
    Reno,
    /// The stack's BBR, version 1.
    Bbr,
    /// That of the flow's `tcp` table, as the simulator's TCP has it: the same control in another stack.
    Varicap,
}

/// How often a receiver acknowledges. Source: draft-ietf-quic-ack-frequency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AckFrequency {
    /// Packets that may come before one acknowledgement covers them. Default: 1, an acknowledgement for every second packet.
    pub ack_eliciting_threshold: u64,
    /// The longest that an acknowledgement waits. Default: what the receiver has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_delay: Option<Span>,
}

impl Default for AckFrequency {
    fn default() -> AckFrequency {
        AckFrequency { ack_eliciting_threshold: 1, max_ack_delay: None }
    }
}

impl Default for QuicConfig {
    fn default() -> QuicConfig {
        QuicConfig {
            stack: QuicStack::Quinn,
            congestion: QuicCongestion::Cubic,
            mtu: Bytes::new(1500),
            initial_window: None,
            ecn: true,
            stream_receive_window: None,
            receive_window: None,
            send_window: None,
            ack_frequency: None,
            initial_rtt: Span::from_millis(333),
            packet_threshold: 3,
            idle_timeout: Span::from_secs(30),
        }
    }
}

impl QuicConfig {
    /// Checks it, with keys relative to its table.
    pub(crate) fn check(&self) -> Checked {
        let smallest = SMALLEST_DATAGRAM + IP_AND_UDP.as_u64();
        if !(smallest..=LARGEST_PACKET).contains(&self.mtu.as_u64()) {
            return Err(Fault::new(
                "mtu",
                self.mtu,
                format!("{smallest} B (RFC 9000 §14) to {LARGEST_PACKET} B"),
            ));
        }
        let windows = [
            ("initial_window", self.initial_window),
            ("stream_receive_window", self.stream_receive_window),
            ("receive_window", self.receive_window),
            ("send_window", self.send_window),
        ];
        for (key, window) in windows {
            if let Some(window) = window
                && !(self.mtu.as_u64()..=LARGEST_NUMBER).contains(&window.as_u64())
            {
                let expected = format!("at least `mtu`, {}, and at most 2^62 - 1 B", self.mtu);
                return Err(Fault::new(key, window, expected));
            }
        }
        if let Some(AckFrequency { ack_eliciting_threshold: threshold, max_ack_delay }) = self.ack_frequency {
            if threshold > 1 << 20 {
                return Err(Fault::new(
                    "ack_frequency.ack_eliciting_threshold",
                    threshold,
                    "at most 1048576",
                ));
            }
            if let Some(delay) = max_ack_delay {
                part::positive("ack_frequency.max_ack_delay", delay)?;
            }
        }
        part::positive("initial_rtt", self.initial_rtt)?;
        if self.packet_threshold < 3 {
            return Err(Fault::new(
                "packet_threshold",
                self.packet_threshold,
                "at least 3 (RFC 9002 §6.1.1)",
            ));
        }
        part::bounded("idle_timeout", self.idle_timeout)
    }
}

/// A transport that a run is given: a class in Python, a library with a C interface, a Rust type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// The name under which the run is given it.
    pub name: String,
    /// Largest IP packet [B]: 28 B of IPv4 and UDP, the rest the endpoint's. Default: 1500 B.
    #[serde(default = "mtu")]
    pub mtu: Bytes,
}

impl EndpointConfig {
    /// Checks it, with keys relative to its table.
    pub(crate) fn check(&self) -> Checked {
        if self.name.is_empty() {
            return Err(Fault::new("name", "nothing", "the name under which the run is given it"));
        }
        let smallest = IP_AND_UDP.as_u64() + 1;
        if !(smallest..=LARGEST_PACKET).contains(&self.mtu.as_u64()) {
            return Err(Fault::new("mtu", self.mtu, format!("{smallest} B to {LARGEST_PACKET} B")));
        }
        Ok(())
    }
}

fn mtu() -> Bytes {
    Bytes::new(1500)
}
