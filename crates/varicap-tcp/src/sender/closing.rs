//! How a sender ends its direction, and answers the end of the other one. Source: RFC 9293 §3.6; Linux `tcp_send_fin`,
//! `tcp_fin`.

use varicap_units::Time;

use super::Sender;
use super::output::{Outgoing, nonzero};
use crate::recovery::SequenceSpace;
use crate::segment::{Flags, Segment};

/// The ends of both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// A FIN ends each direction.
    has_fin: bool,
    /// The application will offer no more.
    pub(super) is_closed: bool,
    /// The other side's FIN has arrived.
    pub(super) peer_closed: bool,
    /// Data that leaves before anything is acknowledged leaves before the application closes, unless it is paced.
    waits: bool,
    /// The FIN left with data.
    rode: bool,
}

impl Closing {
    /// Neither direction has ended. A FIN ends each if the connection `has_fin`.
    pub(super) fn new(has_fin: bool) -> Closing {
        Closing { has_fin, is_closed: false, peer_closed: false, waits: false, rode: false }
    }

    /// The number that a FIN takes if it left with data: it counts in the flight, and not in the window, which holds segments.
    #[inline]
    pub(super) fn riding(&self, space: &SequenceSpace, written: u64) -> u64 {
        u64::from(self.rode && space.nxt > written)
    }

    /// RCV.NXT of the other side's direction, which holds nothing but its FIN.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        u64::from(self.peer_closed)
    }
}

impl Sender {
    /// The application will offer no more. If there is a FIN, it rides on the last segment that has not left yet, or is one of
    /// its own. If nothing has left yet, what the window then allows leaves first, without the FIN. The sender must then be polled.
    pub fn close(&mut self) {
        if self.closing.is_closed || self.handshake.gave_up {
            return;
        }
        self.closing.is_closed = true;
        if self.closing.has_fin {
            self.plain_until = self.written.saturating_sub(1);
            self.closing.waits = self.space.max == 0;
        }
    }

    /// Whether everything was acknowledged, the FIN included, and no more will come.
    pub fn is_done(&self) -> bool {
        let una = self.space.una;
        self.closing.is_closed && if self.closing.has_fin { una > self.written } else { una == self.written }
    }

    /// Whether, as far as this side knows, the connection is over: it [is done](Sender::is_done), and so is the other side,
    /// whose FIN has arrived and is acknowledged (RFC 9293 §3.6: TIME-WAIT).
    #[inline]
    pub fn is_over(&self) -> bool {
        self.closing.is_closed
            && self.is_done()
            && (!self.closing.has_fin || self.closing.peer_closed && self.handshake.is_over())
    }

    /// The next in sequence, whatever windows say: so much data, at most a segment [B], and one if the FIN goes with
    /// it, or nothing.
    #[inline]
    pub(super) fn next_in_line(&self) -> (u64, u64) {
        let len = self.written.saturating_sub(self.space.nxt).min(self.space.mss);
        (len, if self.closing.is_closed { self.fin_in_line(len) } else { 0 })
    }

    /// The FIN that goes with the next `len` bytes, after which there may be others: one or none.
    fn fin_in_line(&self, len: u64) -> u64 {
        let (end, nxt) = (self.written, self.space.nxt);
        let is_last = self.closing.has_fin && nxt <= end && nxt + len == end;
        // A sender that goes back resends the FIN with the data that it left with.
        let waits = self.closing.waits && self.space.una == 0 && (nxt == 0 || !self.window.paces());
        let rides = !waits || self.space.max > end;
        let fits = len == 0 || rides && end < self.offer.edge;
        u64::from(is_last && fits)
    }

    /// Sends what is [next in line](Sender::next_in_line).
    #[inline]
    pub(super) fn emit_in_line(&mut self, now: Time, len: u64, fin: u64) -> Outgoing {
        if fin == 0 { self.emit(now, len) } else { self.emit_last(now, len) }
    }

    /// The last `len` bytes leave with the FIN, or the FIN alone.
    #[cold]
    fn emit_last(&mut self, now: Time, len: u64) -> Outgoing {
        let is_new = self.space.nxt >= self.space.max;
        let mut outgoing = self.emit_with(now, len, 1);
        self.closing.rode = len > 0;
        if len == 0 && is_new {
            outgoing.flags = self.ecn.empty_flags();
        }
        let end = self.space.nxt;
        self.end_with_fin(outgoing, end)
    }

    /// The segment `outgoing` reaches the end of the data, or the FIN behind it, at `end`: if the FIN has left, it goes along.
    #[cold]
    pub(super) fn end_with_fin(&mut self, mut outgoing: Outgoing, end: u64) -> Outgoing {
        // Where segments are on record, the FIN may be a segment of its own.
        let is_apart = end == self.written && self.recovery.tracks();
        if self.space.max > self.written && self.closing.is_closed && !is_apart {
            outgoing.flags = outgoing.flags.with(Flags::FIN);
        }
        if outgoing.len == 0 {
            self.counters.empty_packets += 1;
        }
        outgoing
    }

    /// A segment without data leaves.
    #[cold]
    pub(super) fn count_empty(&mut self) {
        self.counters.sent_packets += 1;
        self.counters.empty_packets += 1;
    }

    /// Whether what is in flight is a single segment: a bare FIN is one, and one that rides on data is none. Two short ones
    /// are two (RFC 8985 §7.2, Linux's `packets_out`).
    #[inline]
    pub(super) fn has_single(&self) -> bool {
        let flight = self.space.flight();
        let is_last = || self.recovery.tail().is_none_or(|(from, _)| from <= self.space.una);
        flight <= self.space.mss + 1 && self.is_single(flight) && is_last()
    }

    fn is_single(&self, flight: u64) -> bool {
        if self.space.max <= self.written {
            return flight <= self.space.mss;
        }
        self.closing.rode || flight <= 1
    }

    /// As [`Sender::push`], once the connection [is over](Sender::is_over): a second caller would keep that from being inlined.
    #[cold]
    #[inline(never)]
    pub fn push_late(&mut self, now: Time, segment: &Segment) {
        self.note_time(now);
        self.on_unusual(now, segment);
    }

    /// The other side's FIN arrived, perhaps again.
    #[cold]
    pub(super) fn on_fin(&mut self) {
        if self.handshake.connected {
            self.closing.peer_closed = true;
            self.handshake.owe_ack();
        }
    }

    /// The acknowledgement of the other side's FIN. As at the end of the handshake, pacing and bursts are matters of data.
    pub(super) fn acknowledge_fin(&mut self) -> Outgoing {
        self.count_empty();
        self.counters.sent_bytes += u64::from(self.overhead);
        Outgoing {
            seq: self.space.nxt,
            len: 0,
            wire_size: nonzero(self.overhead),
            flags: self.ecn.bare_flags(),
        }
    }
}
