//! The segments that travel between the two halves of a connection.

use varicap_units::Time;

/// Flags of a segment, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens the connection.
    pub const SYN: Flags = Flags(1);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(2);
    /// Congestion experienced, echoed by the receiver (RFC 3168); a bit of the ACE field with accurate ECN (RFC 9768).
    pub const ECE: Flags = Flags(4);
    /// The sender has reduced its window (RFC 3168); a bit of the ACE field with accurate ECN (RFC 9768).
    pub const CWR: Flags = Flags(8);
    /// This transport is ECN-capable (ECT).
    pub const ECT: Flags = Flags(16);
    /// A queue marked it: congestion experienced (CE).
    pub const CE: Flags = Flags(32);
    /// It conforms to a reservation (a marked packet of [minrate]).
    pub const RESERVED: Flags = Flags(64);
    /// It was sent before; echoed by the acknowledgement that it triggers (Karn's rule without timestamps).
    pub const RESENT: Flags = Flags(128);
    /// Accurate ECN: asked for by a SYN, the highest bit of the ACE field elsewhere (RFC 9768 §3.2.2).
    pub const AE: Flags = Flags(256);
    /// It carries the AccECN option; see [`Segment::ecn_bytes`].
    pub const COUNTED: Flags = Flags(512);
    /// With [`Flags::ECT`]: the codepoint is ECT(1), which asks for low latency (RFC 9331 §4.1), and not ECT(0).
    pub const ECT1: Flags = Flags(1024);
    /// With [`Flags::COUNTED`]: the first counter of the AccECN option is that of ECT(1) (order 1 of RFC 9768 §3.2.3).
    pub const ECT1_FIRST: Flags = Flags(2048);
    /// A write of the application ends in it (PSH of RFC 9293 §3.9.1.2); only where the receiver heeds that.
    pub const PUSH: Flags = Flags(4096);

    /// The sender has no more data (RFC 9293 §3.6). It takes the number behind the payload.
    pub const FIN: Flags = Flags(8192);

    /// Whether all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of these flags and `other`.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// An ACE field that holds the three lowest bits of `count`. Source: RFC 9768 §3.2.2, Figure 3.
    pub const fn of_ace(count: u32) -> Flags {
        let [ae, cwr, ece] = [count >> 2 & 1, count >> 1 & 1, count & 1];
        Flags(ae as u16 * Flags::AE.0 + cwr as u16 * Flags::CWR.0 + ece as u16 * Flags::ECE.0)
    }

    /// The number that AE, CWR and ECE make, 0 to 7.
    pub const fn ace(self) -> u32 {
        (self.has(Flags::AE) as u32) << 2 | (self.has(Flags::CWR) as u32) << 1 | self.has(Flags::ECE) as u32
    }
}

/// The flags of a SYN that asks for ECN. Source: RFC 3168 §6.1.1.
pub(crate) const ECN_SETUP: Flags = Flags::ECE.with(Flags::CWR);

/// Most SACK blocks in a segment (RFC 2018 §3: four fit without timestamps, three with).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Bytes of a timestamps option, padded (RFC 7323 appendix A) [B].
pub(crate) const OPTION_TIMESTAMPS: u16 = 12;

/// Bytes that the options of a SYN, or of its answer, take beyond those of other segments, each padded to whole words: the MSS
/// (4 B, RFC 9293 §3.7.1), SACK-permitted (4 B, RFC 2018 §2), which takes the place of the padding of `timestamps`, and the window
/// scale (4 B, RFC 7323 §2.2). Source: Linux `tcp_syn_options` [B].
pub(crate) const fn options_of_syn(selective: bool, timestamps: bool, scales: bool) -> u16 {
    4 + if selective && !timestamps { 4 } else { 0 } + if scales { 4 } else { 0 }
}

/// Whether a connection whose windows have up to `window` bytes negotiates their scale: where it needs that, and where it has
/// the timestamps of the same standard.
pub(crate) const fn scales_windows(timestamps: bool, window: u64) -> bool {
    timestamps || window > u16::MAX as u64
}

/// Bytes of a SACK option with `blocks` blocks, padded to whole words (RFC 2018 §3) [B].
pub(crate) const fn option_sack(blocks: u8) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u16 }
}

/// Packets that a receiver in AccECN mode counts as marked before any has come. Source: RFC 9768 §3.2.1.
pub(crate) const FIRST_CE_COUNT: u32 = 5;

/// Bytes of an AccECN option with one or two counters, padded to whole words (RFC 9768 §3.2.3) [B].
pub(crate) const OPTION_ACCURATE_ECN: u16 = 8;

/// How many ECN-capable and marked bytes a receiver has counted, as the AccECN option says it; the option carries the
/// lowest 24 bits. Of the two codepoints of ECN-capable data, it says the one that arrived last and may leave out the other,
/// which has not moved since (RFC 9768 §3.2.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnBytes {
    /// Payload that arrived as ECT(0) or, if `ect1`, as ECT(1), counted from 1 [B].
    pub capable: u32,
    /// Payload that arrived as CE, counted from 0 [B].
    pub marked: u32,
    /// Whether `capable` counts ECT(1).
    pub ect1: bool,
}

/// A segment of simulated TCP. Sequence numbers are 64-bit offsets into the byte stream and never wrap; data
/// starts at 0 (a SYN takes no sequence number here; [`crate::Sender`] keeps it apart), and a FIN takes the number behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// First payload byte [B].
    pub seq: u64,
    /// Next byte expected from the other side [B].
    pub ack: u64,
    /// The instant at which it was sent; the receiver echoes it (RFC 7323's TSval, exact).
    pub sent_at: Time,
    /// The echoed sending time (TSecr).
    pub echo: Time,
    /// Advertised window [B]; saturates.
    pub window: u32,
    /// Payload [B].
    pub len: u32,
    /// SACK blocks as offsets from `ack` [B], most recent first; the first `sack_count` count. Offsets wrap as sequence
    /// numbers do: a first block below `ack` reports a duplicate (RFC 2883). With [`Flags::COUNTED`] the last one holds
    /// the counters of the AccECN option instead: a header has no room for both.
    pub sack: [(u32, u32); MAX_SACK_BLOCKS],
    /// The number of SACK blocks that it carries.
    pub sack_count: u8,
    /// SYN, FIN, ACK, ECN and reservation bits.
    pub flags: Flags,
    /// Size on the wire, headers and counted options included [B].
    pub wire_size: u16,
}

/// Offsets from here on lie below `ack`; no window is that large (RFC 7323 §2.2).
const BELOW: u32 = 1 << 31;

impl Segment {
    /// The number behind the last one that it takes: that of its FIN, if it has one, or else of its payload [B].
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.has(Flags::FIN))
    }

    /// The data that arrived twice, if the first SACK block reports that: it lies below `ack`, or inside of the second
    /// block. Source: RFC 2883 §4.
    pub fn duplicate_block(&self) -> Option<(u64, u64)> {
        let (from, to) = self.sack[0];
        match self.sack_count {
            0 => None,
            _ if from >= BELOW && (to == 0 || to > from) => Some((self.edge(from), self.edge(to))),
            1 => None,
            _ => {
                let (start, end) = self.sack[1];
                let inside = start <= from && from < to && to <= end;
                inside.then(|| (self.edge(from), self.edge(to)))
            }
        }
    }

    /// The SACK blocks in the order of the option, a duplicate first [B].
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let count = usize::from(self.sack_count).min(MAX_SACK_BLOCKS);
        let is_below = self.duplicate_block().is_some();
        self.sack[..count].iter().enumerate().map(move |(index, &(from, to))| {
            let edge = |offset| {
                if is_below && index == 0 {
                    self.edge(offset)
                } else {
                    self.ack.wrapping_add(u64::from(offset))
                }
            };
            (edge(from), edge(to))
        })
    }

    /// The counters of the AccECN option, if it carries one.
    pub fn ecn_bytes(&self) -> Option<EcnBytes> {
        let (capable, marked) = self.sack[MAX_SACK_BLOCKS - 1];
        let ect1 = self.flags.has(Flags::ECT1_FIRST);
        self.flags.has(Flags::COUNTED).then_some(EcnBytes { capable, marked, ect1 })
    }

    /// Adds the AccECN option with these counters.
    pub fn count_ecn(&mut self, bytes: EcnBytes) {
        debug_assert!(usize::from(self.sack_count) < MAX_SACK_BLOCKS, "no room for an AccECN option");
        self.sack[MAX_SACK_BLOCKS - 1] = (bytes.capable, bytes.marked);
        let order = if bytes.ect1 { Flags::ECT1_FIRST } else { Flags::default() };
        self.flags = self.flags.with(Flags::COUNTED).with(order);
    }

    /// The byte that an offset stands for, above `ack` or below it [B].
    fn edge(&self, offset: u32) -> u64 {
        self.ack.wrapping_add_signed(i64::from(offset as i32))
    }

    /// An edge of a block [B] as an offset from `ack`, above it or below, if it is less than 2 GiB away.
    pub fn offset(&self, edge: u64) -> Option<u32> {
        let distance = i32::try_from(edge.wrapping_sub(self.ack) as i64).ok()?;
        Some(distance as u32)
    }
}
