//! Explicit congestion notification. Source: RFC 3168.

use crate::segment::{ECN_SETUP, Flags};

/// What a sender knows of ECN, and when its window fell last.
#[derive(Debug)]
pub(super) struct Ecn {
    /// Whether data is ECN-capable: so it was set, and the peer agreed if there was a handshake.
    pub(super) enabled: bool,
    /// Whether the SYN asks for it.
    asks: bool,
    /// Every packet is ECN-capable, and its own acknowledgement reports its mark to the congestion control.
    pub(super) marks_each: bool,
    /// CWR goes out with the next new segment.
    cwr_due: bool,
    /// The window was reduced; echoes count again beyond this [B].
    pub(super) reduced_at: u64,
    /// FlightSize when it was reduced last [B].
    pub(super) reduced_from: u64,
}

impl Ecn {
    /// As it is set; a connection with a handshake has to negotiate it, unless each packet's mark is read.
    pub(super) fn new(is_set: bool, marks_each: bool, handshake: bool) -> Ecn {
        Ecn {
            enabled: marks_each || is_set && !handshake,
            asks: is_set && handshake,
            marks_each,
            cwr_due: false,
            reduced_at: 0,
            reduced_from: 0,
        }
    }

    /// The flags of a SYN. RFC 3168 §6.1.1: ECE and CWR ask for ECN.
    pub(super) fn syn_flags(&self) -> Flags {
        if self.asks { Flags::SYN.with(ECN_SETUP) } else { Flags::SYN }
    }

    /// The SYN was answered with `flags`. RFC 3168 §6.1.1: ECE without CWR agrees.
    pub(super) fn on_answer(&mut self, flags: Flags) {
        self.enabled |= self.asks && flags.has(Flags::ECE) && !flags.has(Flags::CWR);
    }

    /// The flags of new data. RFC 3168 §6.1: it is ECN-capable; CWR answers the echo once.
    #[cold]
    pub(super) fn flags(&mut self) -> Flags {
        if std::mem::take(&mut self.cwr_due) { Flags::ECT.with(Flags::CWR) } else { Flags::ECT }
    }

    /// The flags of data that is sent again.
    pub(super) fn resent_flags(&self) -> Flags {
        if self.marks_each { Flags::RESENT.with(Flags::ECT) } else { Flags::RESENT }
    }

    /// Whether an echo at SND.UNA `una` says something new. RFC 3168 §6.1.2: at most once per window of data.
    pub(super) fn is_news(&self, una: u64) -> bool {
        self.enabled && una >= self.reduced_at
    }

    /// The window fell, with `in_flight` bytes in flight and data sent up to `sent`.
    pub(super) fn on_reduced(&mut self, sent: u64, in_flight: u64) {
        self.reduced_at = sent;
        self.reduced_from = in_flight;
        self.cwr_due = self.enabled && !self.marks_each;
    }
}
