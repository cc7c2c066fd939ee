//! How many of its packets a sender learns to have been marked. Source: RFC 9768.

use varicap_units::Time;

use super::Sender;
use crate::segment::{FIRST_CE_COUNT, Flags, Segment};

/// Values of the ACE field (RFC 9768 §3.2.2), and those of a counter in the option (§3.2.3).
const ACE_VALUES: u32 = 8;
const BYTE_VALUES: u32 = 1 << 24;

/// Packets that an acknowledgement covers on average from which on others have been left out on the way, in 64ths as is the
/// weight of each. Source: Linux 7.0 (`ACK_COMP_THRESH`, `PKTS_ACKED_WEIGHT`, `PKTS_ACKED_PREC`).
const THINNED: u32 = 4 * 64;

/// The marks that an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Whether it reports congestion: newly marked packets, or RFC 3168's echo.
    pub(super) any: bool,
    /// Newly marked packets, and their payload [B]; none where the feedback is RFC 3168's.
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

/// The receiver's counters, as far as a sender in AccECN mode knows them.
#[derive(Debug)]
pub(super) struct Feedback {
    /// Packets that arrived with CE (s.cep).
    packets: u32,
    /// Payload that arrived as CE, as the latest option said it (s.ceb), and what was estimated since [B].
    bytes: u32,
    estimated: u64,
    /// When the latest acknowledgement left that counted; timestamps reveal that.
    latest: Time,
    timestamps: bool,
    /// Packets that an acknowledgement covers, smoothed, if thinned ones are to be taken at their word [1/64 packet].
    covered: Option<u32>,
}

impl Feedback {
    /// In step with the receiver's initial values (RFC 9768 §3.2.1). `timestamps`: acknowledgements have an order even if
    /// nothing new is acknowledged.
    pub(super) fn new(timestamps: bool, as_linux: bool) -> Feedback {
        let covered = as_linux.then_some(0);
        Feedback { packets: FIRST_CE_COUNT, bytes: 0, estimated: 0, latest: Time::ZERO, timestamps, covered }
    }

    /// Whether acknowledgements are thinned, with this one that covers `newly` packets.
    fn is_thinned(&mut self, newly: u32) -> bool {
        let Some(covered) = &mut self.covered else { return false };
        let sample = newly.saturating_mul(64);
        *covered = if *covered == 0 {
            sample
        } else if newly == 0 {
            *covered
        } else {
            u32::try_from((u64::from(*covered) * 63 + u64::from(sample)) / 64).unwrap_or(u32::MAX)
        };
        *covered > THINNED
    }

    /// An acknowledgement shows that `arrived` bytes, sent as segments of `mss`, have arrived that were not known to.
    fn on_ack(&mut self, segment: &Segment, arrived: u64, mss: u64) -> Marks {
        // RFC 9768 §3.2.2.2: one that another has overtaken is ignored. Without progress nobody knows, as in Linux; the
        // counters go on, so nothing is lost.
        let is_later = self.timestamps && segment.sent_at > self.latest;
        if arrived == 0 && !is_later {
            return Marks::default();
        }
        self.latest = self.latest.max(segment.sent_at);
        let least = segment.flags.ace().wrapping_sub(self.packets) % ACE_VALUES;
        let newly = u32::try_from(arrived.div_ceil(mss)).unwrap_or(u32::MAX);
        let counted = segment.ecn_bytes().map(|counted| {
            let moved = counted.marked.wrapping_sub(self.bytes) % BYTE_VALUES;
            self.bytes = counted.marked;
            u64::from(moved).saturating_sub(std::mem::take(&mut self.estimated))
        });
        let is_thinned = self.is_thinned(newly) && counted.is_none();
        let packets = if is_thinned { least } else { likely(least, newly, counted, mss) };
        self.packets = self.packets.wrapping_add(packets);
        let bytes = counted.unwrap_or_else(|| {
            // RFC 9768 appendix A.3: without the option, marked packets are taken as full-sized.
            let estimate = u64::from(packets) * mss;
            self.estimated += estimate;
            estimate
        });
        Marks { any: packets > 0, packets, bytes }
    }
}

/// How many packets were marked, given that the ACE field moved by `least` or by a multiple of eight more while `newly`
/// packets were acknowledged: the most that these allow, or the fewest that hold the `bytes` which the option counted.
/// Source: RFC 9768 §3.2.2.5.2 and appendix A.2.
fn likely(least: u32, newly: u32, bytes: Option<u64>, mss: u64) -> u32 {
    if newly < ACE_VALUES {
        // A field that moved by more than what arrived is right nevertheless.
        return least;
    }
    let safest = newly - (newly - least) % ACE_VALUES;
    let Some(bytes) = bytes else { return safest };
    let held = u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX);
    (least + held.saturating_sub(least).next_multiple_of(ACE_VALUES)).min(safest)
}

impl Sender {
    /// The marks that an acknowledgement reports.
    pub(super) fn read_marks(&mut self, segment: &Segment) -> Marks {
        let Some(feedback) = &mut self.ecn.accurate else {
            return Marks { any: segment.flags.has(Flags::ECE), ..Marks::default() };
        };
        // Of what lies above the acknowledgement, the segment lists the most recent blocks: enough for all but rare holes.
        let skipped = usize::from(segment.duplicate_block().is_some());
        let held: u64 = segment.blocks().skip(skipped).map(|(from, to)| to.saturating_sub(from)).sum();
        let known = self.space.una + self.recovery.sacked();
        let arrived = (segment.ack + held).saturating_sub(known);
        let marks = feedback.on_ack(segment, arrived, self.space.mss);
        self.counters.reported_marks += u64::from(marks.packets);
        marks
    }
}
