//! The counters of ECN's marks in a receiver, and how it reports them. Source: RFC 9768.

use super::Receiver;
use crate::ecn::{AccurateEcn, EcnMode};
use crate::segment::{ECN_SETUP, EcnBytes, FIRST_CE_COUNT, Flags, Segment};

/// CE marks after which an acknowledgement is due at once. Source: RFC 9768 §3.2.2.5.1 (increment-triggered ACKs; data is
/// all that arrives here, so there is something to acknowledge).
const MARKS_PER_ACK: u32 = 2;

/// The counters of a receiver in AccECN mode.
#[derive(Debug)]
pub(super) struct Accurate {
    /// Packets that arrived with CE (r.cep).
    packets: u32,
    /// Payload that arrived as ECT(0), as ECT(1) and as CE (r.e0b, r.e1b and r.ceb) [B].
    capable: [u32; 2],
    marked_bytes: u32,
    sends_option: bool,
    /// A byte counter has moved since the last acknowledgement: one of those of ECT, by its place, or that of CE.
    moved: [bool; 2],
    has_news: bool,
    /// The place of the counter of ECT that moved last: 1 is ECT(1).
    latest: usize,
    /// Marks since the last acknowledgement.
    marks: u32,
    /// Whether the previous packet was marked.
    was_marked: bool,
}

impl Accurate {
    /// RFC 9768 §3.2.1: initial values that no middlebox which clears fields would leave.
    pub(super) fn new(config: AccurateEcn) -> Accurate {
        Accurate {
            packets: FIRST_CE_COUNT,
            capable: [1; 2],
            marked_bytes: 0,
            sends_option: config.option,
            // RFC 9768 §3.2.3.2.1: the answer to a SYN carries the option, as a test of the path.
            moved: [false; 2],
            has_news: true,
            latest: 0,
            marks: 0,
            was_marked: false,
        }
    }

    /// Whether its acknowledgements have less room for SACK blocks.
    pub(super) fn takes_room(&self) -> bool {
        self.sends_option
    }

    /// A segment arrived. Returns whether it must be acknowledged at once (RFC 9768 §3.2.2.5.1).
    pub(super) fn on_segment(&mut self, segment: &Segment) -> bool {
        let is_marked = segment.flags.has(Flags::CE);
        let is_change = is_marked && !self.was_marked && segment.len > 0;
        self.was_marked = is_marked;
        if is_marked {
            self.packets = self.packets.wrapping_add(1);
            self.marked_bytes = self.marked_bytes.wrapping_add(segment.len);
            self.marks += 1;
        } else if segment.flags.has(Flags::ECT) {
            self.latest = usize::from(segment.flags.has(Flags::ECT1));
            self.capable[self.latest] = self.capable[self.latest].wrapping_add(segment.len);
            self.moved[self.latest] |= segment.len > 0;
        }
        self.has_news |= segment.len > 0 && (is_marked || segment.flags.has(Flags::ECT));
        is_change || self.marks >= MARKS_PER_ACK
    }

    /// Adds the counters to an acknowledgement. Returns whether it carries the option.
    pub(super) fn report(&mut self, segment: &mut Segment) -> bool {
        let handshake = segment.flags.has(Flags::SYN);
        // RFC 9768 Table 2: a SYN is never ECN-capable here, and the answer says so.
        let ace = if handshake { Flags::CWR } else { Flags::of_ace(self.packets) };
        segment.flags = segment.flags.with(ace);
        self.marks = 0;
        // RFC 9768 §3.2.3.3: on every acknowledgement if a counter of bytes has moved.
        let carries = self.sends_option && self.has_news;
        if carries {
            // Deviation: where both counters of ECT have moved, which no sender here brings about, the one that moved first
            // goes with the next acknowledgement, as this one has no room for three.
            let place = self.latest;
            let bytes =
                EcnBytes { capable: self.capable[place], marked: self.marked_bytes, ect1: place == 1 };
            segment.count_ecn(bytes);
            self.moved[place] = false;
            self.has_news = self.moved[1 - place];
            self.latest = if self.has_news { 1 - place } else { place };
        }
        carries
    }
}

impl Receiver {
    /// The counters in AccECN mode: packets that arrived with CE (r.cep), and the payload that arrived as ECT(0), as
    /// CE and as ECT(1) (r.e0b, r.ceb and r.e1b) [B].
    pub fn ecn_counts(&self) -> Option<(u32, [u32; 3])> {
        self.accurate
            .as_ref()
            .map(|counts| (counts.packets, [counts.capable[0], counts.marked_bytes, counts.capable[1]]))
    }

    /// A SYN arrived with these flags.
    pub(super) fn negotiate(&mut self, flags: Flags) {
        match self.takes_ecn {
            EcnMode::Off => {}
            EcnMode::Classic => self.agrees_to_ecn = flags.has(ECN_SETUP),
            // RFC 9768 §3.1.5: whatever later ones ask for, the first SYN decides.
            EcnMode::Accurate(_) if std::mem::replace(&mut self.has_settled, true) => {}
            // RFC 9768 Table 2; §3.1.3: those that it does not list ask for AccECN, too.
            EcnMode::Accurate(config) => match flags.ace() {
                0b000 => {}
                0b011 => self.agrees_to_ecn = true,
                _ => self.begin_accurate(config),
            },
        }
    }

    /// From now on marks are counted.
    pub(super) fn begin_accurate(&mut self, config: AccurateEcn) {
        let accurate = Accurate::new(config);
        self.max_blocks -= u8::from(accurate.takes_room());
        self.accurate = Some(Box::new(accurate));
        (self.has_extras, self.plain) = (true, Flags(u16::MAX));
    }
}
