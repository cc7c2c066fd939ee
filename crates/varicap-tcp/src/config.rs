//! How a TCP connection is put together, as a scenario file says it.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema};

use crate::ack_policy::AckPolicy;
use crate::congestion::{Congestion, Counting, GrowWhen, Halving, RenoConfig, Rounding, Validation};
use crate::ecn::EcnMode;
use crate::pacing::Pacing;
use crate::recovery::Recovery;
use crate::segment::{OPTION_TIMESTAMPS, options_of_syn, scales_windows};
use crate::sender::in_bytes;
use crate::stacks::Stack;
use crate::timer::Timer;

/// Largest IP packet [B].
const LARGEST_PACKET: u64 = 65_535;

/// Largest window that a receiver can advertise: 16 bits, shifted by 14 [B]. Source: RFC 7323 §2.2, §2.3.
pub const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// One TCP connection: recovery, congestion control, timer and receiver, each chosen by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = crate::stacks::by_stack)]
pub struct TcpConfig {
    /// Whose habits the connection has: what they are is the default of the other keys. Default: [`DEFAULT_STACK`].
    pub stack: Stack,
    /// The rule by which data is retransmitted and recovery ends. Default: by the stack; `rfc` has sack.
    pub recovery: Recovery,
    /// How much may be in flight. Default: reno.
    pub congestion: Congestion,
    /// The retransmission timer. Default: by the stack; `rfc` has RFC 6298's.
    pub timer: Timer,
    /// When the receiver acknowledges. Default: by the stack; `rfc` has delayed (RFC 1122).
    pub ack: AckPolicy,
    /// Whether the receiver reports in its first SACK block what arrived twice (RFC 2883), if `recovery` uses SACK. Default:
    /// by the stack; `rfc` has false.
    pub dsack: bool,
    /// Which blocks a receiver reports of what it holds out of order, if `recovery` uses SACK. Default: by the stack; `rfc` has
    /// held.
    pub sack_list: SackList,
    /// Largest payload of a segment [B]. Default: by the stack; `rfc` has 1460 B (Ethernet without options).
    pub mss: Bytes,
    /// TCP and IP header on the wire [B], options not included. Default: 40 B.
    pub header: Bytes,
    /// Whether option bytes (timestamps, SACK blocks) count on the wire. Default: by the stack; `rfc` has true.
    pub count_options: bool,
    /// First congestion window. Default: by the stack; `rfc` has 10 packets (RFC 6928).
    pub initial_window: Amount,
    /// Initial slow start threshold. Default: unlimited (RFC 5681 §3.1: arbitrarily high).
    pub initial_ssthresh: Amount,
    /// Upper limit of the congestion window. Default: unlimited.
    pub max_window: Amount,
    /// The receiver's buffer, which limits the advertised window: at most 1073741824 B (RFC 7323 §2.3). Default: unlimited, which
    /// is that much; a run notes flows that it allows less than their path has.
    pub receive_window: Amount,
    /// Whether the connection begins with a three-way handshake. Default: by the stack; `rfc` has true.
    pub handshake: bool,
    /// Whether the sender ends the handshake with a segment of its own even if data is about to leave; otherwise its first data
    /// does (RFC 9293 §3.10.7.3 allows both). Default: by the stack; `rfc` has false.
    pub handshake_ack: bool,
    /// The first congestion window if the SYN was lost. Default: by the stack; `rfc` has one-segment (RFC 5681 §3.1).
    pub after_lost_syn: AfterLostSyn,
    /// Whether a FIN closes each direction of a connection once its application has no more data (RFC 9293 §3.6). Default: by the
    /// stack; `rfc` has true.
    pub fin: bool,
    /// Timestamps option (RFC 7323): an RTT sample from every acknowledgement, 12 bytes in every segment. Default: by the stack;
    /// `rfc` has false.
    pub timestamps: bool,
    /// Which acknowledgements give an RTT sample when there are no timestamps. Default: by the stack; `rfc` has every-ack.
    pub rtt_samples: RttSamples,
    /// Limited transmit (RFC 3042): new data on the first two duplicate ACKs. Default: by the stack; `rfc` has true.
    pub limited_transmit: bool,
    /// Duplicate ACKs that trigger a fast retransmit. Default: by the stack; `rfc` has 3 (RFC 5681 §3.2).
    pub duplicate_acks: u32,
    /// The data that a sender without SACK resends after a timeout. Default: by the stack; `rfc` has go-back-n.
    pub after_timeout: AfterTimeout,
    /// The data that Tahoe's fast retransmit resends. Default: by the stack; `rfc` has go-back-n.
    pub tahoe_resends: TahoeResends,
    /// NewReno's window when its recovery ends. Default: by the stack; `rfc` has flight-size (RFC 6582 §3.2 (3), option 1).
    pub after_recovery: AfterRecovery,
    /// Whether duplicate ACKs for data sent before the last recovery may start another one. Duplicates of the ACK that ends
    /// Tahoe's may not: they answer what it sent twice. Default: by the stack; `rfc` has false (RFC 6582 §3.2 (2)).
    pub repeat_fast_retransmit: bool,
    /// Whether duplicate ACKs stretch Reno's and NewReno's window in fast recovery (RFC 5681 §3.2 (3) and (4)). Without, a
    /// sender is silent until half of its window has left the network. Default: by the stack; `rfc` has true.
    pub window_inflation: bool,
    /// Most segments sent in answer to one acknowledgement. Default: no limit.
    pub max_burst: Option<u32>,
    /// Which segments that are shorter than the MSS wait until data is acknowledged or more is offered; the last one before
    /// the end of a transfer never does. Default: by the stack; `rfc` has off, as for applications that set TCP_NODELAY.
    pub nagle: Nagle,
    /// The spacing of segments. A congestion control with a rate of its own paces, whatever this says. Default: by the
    /// stack; `rfc` has off, as Linux unless a program or its queue asks for pacing.
    pub pacing: Pacing,
    /// Whether a segment that leaves later than a pacing rate of the congestion control's own allows shortens the gap after it,
    /// by at most half. Default: by the stack; `rfc` has false.
    pub pacing_credit: bool,
    /// Whether cwnd falls back to the initial window after an idle RTO (RFC 5681 §4.1). Default: by the stack; `rfc` has
    /// true.
    pub restart_after_idle: bool,
    /// How much of what an acknowledgement covers opens the window. `congestion.reno.byte_counting` overrides it for Reno.
    /// Default: by the stack; `rfc` has acks (RFC 5681).
    pub counting: Counting,
    /// When acknowledgements may open the window. Default: by the stack; `rfc` has window-limited.
    pub grow_when: GrowWhen,
    /// The fate of a window that is not used, if `restart_after_idle` is on. Default: by the stack; `rfc` has restart
    /// (RFC 5681 §4.1).
    pub validation: Validation,
    /// The probe that asks a receiver whose window is closed whether it has opened. Default: by the stack; `rfc` has byte (RFC 9293
    /// §3.8.6.1).
    pub window_probe: WindowProbe,
    /// From what ssthresh is computed when the window falls. Default: by the stack; `rfc` has flight-size (RFC 5681 (4)).
    pub halving: Halving,
    /// Whether ssthresh is computed anew at each expiry, and not only at the first one of the same segment: with the window of
    /// one segment that the first one leaves, it is two segments then. Default: by the stack; `rfc` has false (RFC 5681 §3.1
    /// holds it).
    pub halve_at_each_timeout: bool,
    /// The quantities that Reno's arithmetic rounds down to whole segments when the window falls. Default: by the stack; `rfc` has none.
    pub rounding: Rounding,
    /// Whether the window falls at most once per window of data: neither at a fast retransmit after an ECN echo
    /// (RFC 3168 §6.1.2), nor ssthresh again at a timeout in fast recovery. Default: by the stack; `rfc` has false (RFC 5681
    /// §4.3: the loss of a retransmission is a second signal).
    pub reduce_once: bool,
    /// Explicit congestion notification, negotiated if there is a handshake: true for RFC 3168's, or accurate (RFC 9768).
    /// Default: by the stack; `rfc` has false.
    pub ecn: EcnMode,
}

impl TcpConfig {
    /// The most that its receivers can advertise: their buffer, no larger than [`LARGEST_WINDOW`].
    ///
    /// # Panics
    /// If it is given in bandwidth-delay products: only the scenario knows the path.
    pub fn offered_window(&self) -> Bytes {
        in_bytes(self.receive_window, self).min(LARGEST_WINDOW)
    }

    /// The receive window, if it is one that can be advertised.
    fn check_receive_window(&self) -> Checked {
        let window = self.receive_window;
        part::amount("receive_window", window)?;
        let good = match window {
            Amount::Bytes(bytes) => bytes <= LARGEST_WINDOW,
            Amount::Packets(packets) => packets.saturating_mul(self.mss.as_u64()) <= LARGEST_WINDOW.as_u64(),
            // Of these the path decides, and the largest one.
            Amount::Bdp(_) | Amount::Unlimited => true,
        };
        part::require("receive_window", good, window, TcpConfig::largest_window())
    }

    /// The range of a receive window, in words.
    pub fn largest_window() -> String {
        let bytes = LARGEST_WINDOW.as_u64();
        format!("at most {bytes} B, TCP's largest window (RFC 7323 §2.3), which \"unlimited\" stands for")
    }

    /// The ECN that its connections negotiate: what is set, or what the congestion control needs.
    pub fn ecn_in_force(&self) -> EcnMode {
        self.congestion.wants().ecn_mode(self.ecn)
    }
}

impl Default for TcpConfig {
    fn default() -> TcpConfig {
        TcpConfig {
            // These are the standards as written, whichever stack is the default one of a scenario.
            stack: Stack::Rfc,
            recovery: Recovery::Sack,
            congestion: Congestion::default(),
            timer: Timer::default(),
            ack: AckPolicy::default(),
            dsack: false,
            sack_list: SackList::Held,
            mss: Bytes::new(1460),
            header: Bytes::new(40),
            count_options: true,
            initial_window: Amount::Packets(10),
            initial_ssthresh: Amount::Unlimited,
            max_window: Amount::Unlimited,
            receive_window: Amount::Unlimited,
            handshake: true,
            handshake_ack: false,
            after_lost_syn: AfterLostSyn::OneSegment,
            fin: true,
            timestamps: false,
            rtt_samples: RttSamples::EveryAck,
            limited_transmit: true,
            duplicate_acks: 3,
            after_timeout: AfterTimeout::GoBackN,
            tahoe_resends: TahoeResends::GoBackN,
            after_recovery: AfterRecovery::FlightSize,
            repeat_fast_retransmit: false,
            window_inflation: true,
            max_burst: None,
            nagle: Nagle::Off,
            pacing: Pacing::Off,
            pacing_credit: false,
            restart_after_idle: true,
            counting: Counting::Acks,
            grow_when: GrowWhen::WindowLimited,
            validation: Validation::Restart,
            window_probe: WindowProbe::Byte,
            halving: Halving::FlightSize,
            halve_at_each_timeout: false,
            rounding: Rounding::None,
            reduce_once: false,
            ecn: EcnMode::Off,
        }
    }
}

impl TcpConfig {
    /// A full segment on the wire, headers and counted options included [B].
    pub fn packet(&self) -> Bytes {
        self.mss + self.header + Bytes::new(u64::from(self.option_timestamps()))
    }

    /// By how many bits windows are scaled down, if the handshake negotiates that: by no more than the receive window needs, so
    /// that small windows stay exact. Source: RFC 7323 §2.2, §2.3 (at most 14 bits).
    pub fn window_scale(&self) -> Option<u8> {
        let window = match self.receive_window {
            Amount::Bytes(bytes) => bytes.as_u64(),
            Amount::Packets(packets) => packets.saturating_mul(self.mss.as_u64()),
            Amount::Bdp(_) | Amount::Unlimited => u64::MAX,
        };
        let least = (0..14).find(|&scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(14);
        scales_windows(self.timestamps, window).then_some(least)
    }

    /// The size of the options of a SYN on the wire beyond those of other segments, if they count there [B].
    pub(crate) fn options_of_syn(&self) -> u16 {
        let options =
            options_of_syn(self.recovery.is_selective(), self.timestamps, self.window_scale().is_some());
        if self.count_options { options } else { 0 }
    }

    /// The size of the timestamps in a segment on the wire, if they count there [B].
    pub(crate) fn option_timestamps(&self) -> u16 {
        if self.timestamps && self.count_options { OPTION_TIMESTAMPS } else { 0 }
    }
}

impl Part for TcpConfig {
    fn check(&self) -> Checked {
        let (mss, header) = (self.mss, self.header);
        let good = (1..=LARGEST_PACKET).contains(&mss.as_u64());
        part::require("mss", good, mss, format!("1 B to {LARGEST_PACKET} B"))?;
        let most = LARGEST_PACKET - mss.as_u64();
        part::require("header", header.as_u64() <= most, header, format!("at most {most} B beside the MSS"))?;
        part::amount("initial_window", self.initial_window)?;
        part::amount("initial_ssthresh", self.initial_ssthresh)?;
        part::amount("max_window", self.max_window)?;
        self.check_receive_window()?;
        part::at_least_one("duplicate_acks", self.duplicate_acks)?;
        if let Some(burst) = self.max_burst {
            part::at_least_one("max_burst", burst)?;
        }
        let parts: [(&str, &dyn Part); 7] = [
            ("pacing", &self.pacing),
            ("counting", &self.counting),
            ("recovery", &self.recovery),
            ("ack", &self.ack),
            ("congestion", &self.congestion),
            ("timer", &self.timer),
            ("ecn", &self.ecn),
        ];
        parts.into_iter().try_for_each(|(key, part)| part.check().map_err(|fault| fault.within(key)))
    }
}

impl Default for Congestion {
    fn default() -> Congestion {
        Congestion::Reno(RenoConfig::default())
    }
}

/// The first congestion window of a connection whose SYN timed out. What is restarted after idle begins with
/// `initial_window` in any case (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterLostSyn {
    /// One segment. Source: RFC 5681 §3.1.
    #[default]
    OneSegment,
    /// One segment if the SYN timed out twice, unless the answer has the timestamp of the first SYN, which then was not lost;
    /// else `initial_window`: Linux (tcp_init_transfer, tcp_try_undo_spurious_syn).
    Linux,
}

/// Which SACK blocks a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackList {
    /// All that is held next to the segment that arrived, then what was reported before. Source: RFC 2018 §4.
    #[default]
    Held,
    /// The last four blocks, each with what arrived next to it since. What a fifth one has pushed out is forgotten, though it is
    /// held: of that, only segments that arrive from then on are reported, and nothing once the four are in order: Linux
    /// (tcp_sack_new_ofo_skb, TCP_NUM_SACKS).
    Linux,
}

/// The probe that asks a receiver whose window is closed whether it has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowProbe {
    /// A byte of new data. Source: RFC 9293 §3.8.6.1.
    #[default]
    Byte,
    /// A segment without data whose sequence number was acknowledged, which has to be answered: 4.3BSD's keep-alive, Linux.
    OldSequence,
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

/// Which segments that are shorter than the MSS wait. Source: RFC 896; RFC 9293 §3.7.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nagle {
    /// None, as with TCP_NODELAY.
    Off,
    /// Each one while any data is unacknowledged.
    Rfc896,
    /// Each one while another short segment is unacknowledged: Linux.
    Minshall,
}

/// The data that a sender without SACK resends after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterTimeout {
    /// Everything from the first hole on, as slow start allows.
    GoBackN,
    /// The first unacknowledged segment only; then one more for each acknowledgement that uncovers another hole.
    FirstHole,
}

/// The data that Tahoe's fast retransmit resends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TahoeResends {
    /// The same data as after a timeout, by `after_timeout`: ns-2 goes back to the hole.
    GoBackN,
    /// The lost segment alone; what was sent beyond it counts as in flight: 4.3BSD-Tahoe. A second hole then waits for a
    /// timeout, unless three duplicates show it.
    LostSegment,
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
