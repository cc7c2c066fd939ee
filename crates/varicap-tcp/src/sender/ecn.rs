//! Explicit congestion notification: what is negotiated, and what packets say of it. Source: RFC 3168, RFC 9768.

use super::marks::Feedback;
use crate::config::TcpConfig;
use crate::congestion::{CongestionKind, EcnNeed, Wants};
use crate::ecn::EcnMode;
use crate::segment::{ECN_SETUP, FIRST_CE_COUNT, Flags};

/// How often a SYN that asks for accurate ECN is sent before one that asks for nothing. Source: RFC 9768 §3.1.4.1.
const ACCURATE_SYNS: u32 = 2;
/// The value that acknowledges an answer to the SYN that was not ECN-capable. Source: RFC 9768 §3.2.2.1, Table 3.
const SAW_NOT_ECT: u32 = 0b010;

/// The state of a sender's ECN, and when its window fell last.
#[derive(Debug)]
pub(super) struct Ecn {
    /// Whether data is ECN-capable: so it was set, and the peer agreed if there was a handshake.
    pub(super) enabled: bool,
    /// The mode that the SYN asks for.
    asks: EcnMode,
    /// The receiver's counters, if it feeds them back.
    pub(super) accurate: Option<Box<Feedback>>,
    /// Whether acknowledgements have an order beside their numbers.
    timestamps: bool,
    /// The flags of an acknowledgement that takes the fast path.
    pub(super) plain: Flags,
    /// Every packet is ECN-capable, and its own acknowledgement reports its mark to the congestion control.
    marks_each: bool,
    /// Retransmissions are ECN-capable in AccECN mode.
    resent_capable: bool,
    /// The ECN that the congestion control needs.
    need: EcnNeed,
    /// The flags of ECN-capable data: ECT(0), or ECT(1).
    capable: Flags,
    /// The congestion control answers marks itself: they are no congestion events.
    pub(super) is_read: bool,
    /// CWR goes out with the next new segment.
    cwr_due: bool,
    /// The window was reduced; echoes count again beyond this [B].
    pub(super) reduced_at: u64,
    /// It was because of a mark that the control answers by the share of marks.
    reduced_in_part: bool,
    /// FlightSize when it was reduced last [B].
    pub(super) reduced_from: u64,
}

impl Ecn {
    /// As the connection is set; with a handshake it has to negotiate that, unless each packet's mark is read.
    pub(super) fn new(config: &TcpConfig, wants: Wants) -> Ecn {
        let (mode, marks_each) = (wants.ecn_mode(config.ecn), wants.each_mark);
        let is_set = mode != EcnMode::Off && !config.handshake;
        let mut ecn = Ecn {
            enabled: marks_each || is_set,
            asks: if config.handshake { mode } else { EcnMode::Off },
            accurate: None,
            // RFC 6675 and its kind know what arrived of duplicates; elsewhere an acknowledgement must advance to count.
            timestamps: config.timestamps && config.recovery.is_selective(),
            plain: Flags::ACK,
            marks_each,
            resent_capable: wants.ecn != EcnNeed::AsSet,
            need: wants.ecn,
            capable: Flags::ECT,
            is_read: marks_each,
            cwr_due: false,
            reduced_at: 0,
            reduced_in_part: false,
            reduced_from: 0,
        };
        if is_set && mode.accurate().is_some() {
            ecn.begin_accurate(mode);
        }
        ecn
    }

    fn begin_accurate(&mut self, mode: EcnMode) {
        let as_linux = mode.accurate().is_some_and(|config| config.as_linux);
        self.enabled = true;
        self.resent_capable |= as_linux;
        self.accurate = Some(Box::new(Feedback::new(self.timestamps, as_linux)));
        if self.need == EcnNeed::L4s {
            // RFC 9331 §4.1, §4.2: ECT(1) only with feedback that counts.
            (self.capable, self.is_read) = (Flags::ECT.with(Flags::ECT1), true);
        }
        // Every acknowledgement has something to say.
        self.plain = Flags(u16::MAX);
    }

    /// The flags of a SYN after `expiries` in vain. RFC 3168 §6.1.1: ECE and CWR ask for ECN; RFC 9768 §3.1.1: AE, too.
    pub(super) fn syn_flags(&self, expiries: u32) -> Flags {
        match self.asks {
            EcnMode::Classic => Flags::SYN.with(ECN_SETUP),
            EcnMode::Accurate(_) if expiries < ACCURATE_SYNS => Flags::SYN.with(ECN_SETUP).with(Flags::AE),
            EcnMode::Accurate(_) | EcnMode::Off => Flags::SYN,
        }
    }

    /// The SYN was answered with `flags`. RFC 3168 §6.1.1: ECE without CWR agrees.
    pub(super) fn on_answer(&mut self, flags: Flags) {
        match self.asks {
            EcnMode::Off => {}
            EcnMode::Classic => self.enabled |= flags.has(Flags::ECE) && !flags.has(Flags::CWR),
            // RFC 9768 Table 2. The last one merely reflects the SYN; §3.1.3: the one that is reserved agrees.
            EcnMode::Accurate(_) => match flags.ace() {
                0b000 | 0b111 => {}
                0b001 => self.enabled = true,
                _ => self.begin_accurate(self.asks),
            },
        }
    }

    /// The flags of new data. RFC 3168 §6.1: it is ECN-capable, if both sides are; CWR answers the echo once.
    #[cold]
    pub(super) fn flags(&mut self) -> Flags {
        if !self.enabled {
            return Flags::default();
        }
        let cwr = if std::mem::take(&mut self.cwr_due) { Flags::CWR } else { Flags::default() };
        self.capable.with(cwr).with(self.bare_flags())
    }

    /// The flags of data that is sent again. RFC 3168 §6.1.5: it is not ECN-capable, unless the control needs all data to be: where
    /// a queue marks early it would be what is lost, and elsewhere out of order (RFC 8311 §4.3 allows it).
    pub(super) fn resent_flags(&self) -> Flags {
        let bare = Flags::RESENT.with(self.bare_flags());
        let is_capable = self.marks_each || self.resent_capable && self.enabled;
        if is_capable { bare.with(self.capable) } else { bare }
    }

    /// The flags of the bare acknowledgement that ends the handshake. RFC 9768 §3.2.2.1: it says that the answer to the
    /// SYN came as it left here, not ECN-capable.
    pub(super) fn third_flags(&self) -> Flags {
        if self.accurate.is_some() { Flags::of_ace(SAW_NOT_ECT) } else { Flags::default() }
    }

    /// The flags of any other segment but a SYN. RFC 9768 §3.2.2: each holds the count of marks that arrived from the other
    /// side. Deviation: without that bare acknowledgement the first data does, too, as links here leave ECN fields alone.
    pub(super) fn bare_flags(&self) -> Flags {
        if self.accurate.is_some() { Flags::of_ace(FIRST_CE_COUNT) } else { Flags::default() }
    }

    /// The flags of a segment that carries no data and has not left before, such as a FIN: ECN-capable only if the control
    /// needs all segments to be, as Linux's `tcp_ecn_send` has it.
    pub(super) fn empty_flags(&self) -> Flags {
        Flags(self.resent_flags().0 & !Flags::RESENT.0)
    }

    /// Whether an echo at SND.UNA `una` says something new. RFC 3168 §6.1.2: at most once per window of data.
    pub(super) fn is_news(&self, una: u64) -> bool {
        self.enabled && una >= self.reduced_at
    }

    /// Whether the window fell as for a loss for the data at SND.UNA `una` already.
    pub(super) fn has_fallen(&self, una: u64) -> bool {
        una < self.reduced_at && !self.reduced_in_part
    }

    /// The window fell because of `kind`, with `in_flight` bytes in flight and data sent up to `sent`.
    pub(super) fn on_reduced(&mut self, kind: CongestionKind, sent: u64, in_flight: u64) {
        self.reduced_at = sent;
        self.reduced_in_part = kind == CongestionKind::EcnEcho && self.need == EcnNeed::EachByte;
        self.reduced_from = in_flight;
        // RFC 9768 §3.1.5: no CWR where its bit is one of a counter.
        self.cwr_due = self.enabled && !self.marks_each && self.accurate.is_none();
    }
}
