//! When a receiver acknowledges, as a scenario file says it.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{JsonSchema, Span};

/// Longest delay of an acknowledgement that the standard allows. Source: RFC 5681 §4.2.
pub(crate) const LONGEST: Span = Span::from_millis(500);

varicap_units::parts! {
    /// When the receiver acknowledges.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum AckPolicy {
        Every[EveryPacket] = "every", "Every packet.";
        Delayed(config: DelayedAck) = "delayed",
            "Every second segment or after a timer; out-of-order data at once. Source: RFC 1122 §4.2.3.2, RFC 5681 §4.2.";
    }
}
varicap_units::choice!(AckPolicy);

/// [`AckPolicy::Every`] has no settings.
struct EveryPacket;

impl Part for EveryPacket {}

impl Default for AckPolicy {
    fn default() -> AckPolicy {
        AckPolicy::Delayed(DelayedAck::default())
    }
}

/// Delayed acknowledgements. The defaults are the standard's; what Linux does beyond it is an option each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelayedAck {
    /// Full-sized segments per acknowledgement. Default: 2.
    pub segments: u32,
    /// Longest delay of an acknowledgement, at most 500 ms (RFC 5681 §4.2); the least one if there is a `maximum`. Default:
    /// 40 ms (Linux's least).
    pub timeout: Span,
    /// The delay follows the pauses between segments, from `timeout` up to this and to the round-trip time of the handshake,
    /// and doubles whenever it was waited for in vain. Default: none, a fixed delay (Linux: 200 ms).
    pub maximum: Option<Span>,
    /// Most segments that are acknowledged at once, each by itself: at the beginning, after a pause of more than an RTO and
    /// after a duplicate, though not more than half of the advertised window holds; two after a congestion mark and after data
    /// without ECT where other data had it, and one that says that the window fell (CWR). Default: 0, none of these (Linux: 16).
    pub quick: u32,
    /// Whether `segments` counts bytes, so that an acknowledgement is due when more than `segments` - 1 full-sized segments
    /// have come, whatever their number. Default: false (RFC 1122 and Linux: true).
    pub count_bytes: bool,
    /// Whether a segment shorter than the MSS is acknowledged as soon as the application has read it, as the end of what the
    /// sender had to say; the second one where data that goes the other way may carry the acknowledgement. Default: false
    /// (Linux: true).
    pub short_at_once: bool,
    /// Whether a full-sized segment with which a write of the application ends (PSH, RFC 9293 §3.9.1.2) is acknowledged as soon
    /// as the application there has read it, too, unless data that goes the other way may carry the acknowledgement: of a source
    /// that writes packet by packet each packet is. Default: false (Linux since 6.6: true).
    pub pushed_at_once: bool,
    /// Out-of-order data beyond the third segment since data last came in order is acknowledged together, after this or a
    /// twentieth of the handshake's round-trip time, and after 44 segments at the latest (RFC 5681 §4.2 wants an acknowledgement
    /// of each). Default: none (Linux with SACK: 1 ms).
    pub sack_compression: Option<Span>,
    /// Whether the receiver's window begins at 64 KiB and grows with what the application reads in a round trip, and each segment
    /// that lets it grow is acknowledged at once: in slow start mostly all of them. What is advertised is `receive_window`
    /// nevertheless. Default: false (Linux: true, `tcp_moderate_rcvbuf`).
    pub autotuning: bool,
    /// By which of Linux's rules the buffer grows that limits that window. Default: rcvbuf-grow.
    pub buffer_growth: BufferGrowth,
    /// Ticks of the receiver's clock in a second, at least four: pauses are measured in them, and a delayed acknowledgement
    /// leaves at the end of the one in which it is due, though not after 500 ms. Default: none, an exact clock (Linux: 250, on
    /// most distributions).
    pub hertz: Option<u32>,
}

/// How the buffer of a receiver grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferGrowth {
    /// To twice what is read in a round trip, and more while that grows, with what waits out of order, up to 32 MiB: Linux since
    /// 6.16 (tcp_rcvbuf_grow).
    #[default]
    RcvbufGrow,
    /// With 16 segments more, round trips in milliseconds of timestamps, and up to 6 MiB: Linux before 6.16 (tcp_rcv_space_adjust).
    SpaceAdjust,
}

impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck {
            segments: 2,
            timeout: Span::from_millis(40),
            maximum: None,
            quick: 0,
            count_bytes: false,
            short_at_once: false,
            pushed_at_once: false,
            sack_compression: None,
            autotuning: false,
            buffer_growth: BufferGrowth::RcvbufGrow,
            hertz: None,
        }
    }
}

impl Part for DelayedAck {
    fn check(&self) -> Checked {
        part::at_least_one("segments", self.segments)?;
        part::positive("timeout", self.timeout)?;
        let good = self.timeout <= LONGEST;
        part::require("timeout", good, self.timeout, "at most 500 ms (RFC 5681 §4.2)")?;
        if let Some(maximum) = self.maximum {
            let good = (self.timeout..=LONGEST).contains(&maximum);
            let expected = format!("`timeout`, {}, to 500 ms (RFC 5681 §4.2)", self.timeout);
            part::require("maximum", good, maximum, expected)?;
        }
        if let Some(delay) = self.sack_compression {
            part::positive("sack_compression", delay)?;
            let good = delay <= LONGEST;
            part::require("sack_compression", good, delay, "at most 500 ms (RFC 5681 §4.2)")?;
        }
        if let Some(hertz) = self.hertz {
            part::require("hertz", (4..=10_000).contains(&hertz), hertz, "4 to 10000")?;
        }
        Ok(())
    }
    fn on_kernel(&self) -> OnKernel {
        let of_any_version = DelayedAck { buffer_growth: BufferGrowth::default(), ..*self };
        match self.segments {
            2 if of_any_version == DelayedAck::linux() => OnKernel::AsWritten,
            2 => OnKernel::Nearly(
                "ack: Linux acknowledges the first packets at once and delays by 40 ms or more later on",
            ),
            _ => OnKernel::Refused("Linux acknowledges every second segment, or every one (`every`)"),
        }
    }
}

impl DelayedAck {
    /// The policy of Linux.
    pub fn linux() -> DelayedAck {
        DelayedAck {
            segments: 2,
            timeout: Span::from_millis(40),
            maximum: Some(Span::from_millis(200)),
            quick: 16,
            count_bytes: true,
            short_at_once: true,
            pushed_at_once: true,
            sack_compression: Some(Span::from_millis(1)),
            autotuning: true,
            buffer_growth: BufferGrowth::RcvbufGrow,
            hertz: Some(250),
        }
    }

    /// Whether it does more than count segments and wait for a fixed time.
    pub(crate) fn adapts(&self) -> bool {
        let plain = DelayedAck { segments: self.segments, timeout: self.timeout, ..DelayedAck::default() };
        *self != plain
    }
}
