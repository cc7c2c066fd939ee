//! How a receiver hears of the end of the sender's direction, and ends its own, which carries no data. Source: RFC 9293 §3.6,
//! §3.10.7.4 (eighth); Linux `tcp_fin`, `tcp_send_fin`.

use varicap_units::{Span, Time};

use super::Receiver;
use crate::segment::{Flags, Segment};

/// RTO of a receiver that has not measured the round trip, and the largest one (RFC 6298 (2.1), (2.5)).
const FIRST_RTO: Span = Span::from_secs(1);
const LARGEST_RTO: Span = Span::from_secs(60);

/// The ends of the two directions, as a receiver sees them.
#[derive(Debug)]
pub(super) struct Closing {
    /// The place of the sender's FIN, behind its data [B]; out of reach before it has arrived.
    fin: u64,
    own: Own,
    /// The instant at which its own FIN is sent again.
    again_at: Time,
    /// The RTO in force, backoff included.
    rto: Span,
}

/// The receiver's own FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// The application has not closed yet.
    Open,
    /// It is to be sent.
    Due,
    /// It was sent, and is not acknowledged.
    Sent,
    /// It is acknowledged.
    Acknowledged,
}

impl Receiver {
    fn closing(&mut self) -> &mut Closing {
        let closed = Closing { fin: u64::MAX, own: Own::Open, again_at: Time::NEVER, rto: FIRST_RTO };
        self.closing.get_or_insert_with(|| Box::new(closed))
    }

    /// The sender's FIN has arrived, behind its data up to `end`, perhaps before some of that, perhaps again.
    #[cold]
    pub(super) fn note_fin(&mut self, end: u64) {
        let closing = self.closing();
        closing.fin = closing.fin.min(end);
    }

    /// All that is in order was taken in: the sender may have no more. An application that reads at once then closes, too, and
    /// its FIN takes the acknowledgement along, which would not wait for more data anyway.
    #[inline]
    pub(super) fn end_if_over(&mut self) {
        if self.closing.as_ref().is_some_and(|closing| self.next > closing.fin) {
            self.end();
        }
    }

    #[cold]
    fn end(&mut self) {
        self.ack_due = true;
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        // Linux tcp_fin: what was to be reported is forgotten.
        self.duplicate = None;
        if self.read.is_none() {
            self.close();
        }
    }

    /// The application closes its direction, in which there was no data: a FIN is sent, and sent again until it is
    /// acknowledged. The receiver must then be polled. One that reads at once does so by itself when the sender has ended.
    pub fn close(&mut self) {
        // By the round trip of the handshake where that is measured, as in Linux (tcp_synack_rtt_meas).
        let rto = self.delay.as_deref().map(super::Delay::rto);
        let closing = self.closing();
        if closing.own != Own::Open {
            return;
        }
        closing.own = Own::Due;
        closing.rto = rto.unwrap_or(FIRST_RTO);
        (self.ack_due, self.has_extras) = (true, true);
        // From now on the acknowledgement number of any segment may be that of the FIN.
        self.plain = Flags(u16::MAX);
    }

    /// As [`Receiver::push`], once the sender [has ended](Receiver::has_ended): a second caller would keep that from being inlined.
    #[cold]
    #[inline(never)]
    pub fn push_late(&mut self, now: Time, segment: &Segment) {
        debug_assert!(self.has_ended, "data may still come");
        self.on_unusual(now, segment);
    }

    /// Whether the sender has no more data, and all of it is in order: its FIN has been taken in.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether it waits for the acknowledgement of its own FIN (RFC 9293 §3.3.2: LAST-ACK).
    pub fn is_closing(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| matches!(closing.own, Own::Due | Own::Sent))
    }

    /// Whether the application has closed its direction.
    pub(super) fn has_closed(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.own != Own::Open)
    }

    /// The sender has acknowledged what can only be the FIN.
    #[cold]
    pub(super) fn on_fin_acknowledged(&mut self) {
        if let Some(closing) = &mut self.closing
            && closing.own == Own::Sent
        {
            closing.own = Own::Acknowledged;
            // It may be waiting for a delayed acknowledgement, too.
            if self.unacknowledged == 0 {
                self.ack_at = Time::NEVER;
            }
        }
    }

    /// When its own FIN is sent again, if it waits for that; the deadline of an acknowledgement, which data sets, is then free.
    pub(super) fn set_fin_aside(&mut self) -> Time {
        let Some(closing) = self.closing.as_deref().filter(|closing| closing.own == Own::Sent) else {
            return Time::NEVER;
        };
        if self.unacknowledged == 0 {
            self.ack_at = Time::NEVER;
        }
        closing.again_at
    }

    /// Adds the FIN to `segment`, which leaves at `now`, if that is due, for the first time or again.
    #[cold]
    pub(super) fn add_fin(&mut self, now: Time, segment: &mut Segment) {
        let Some(closing) = &mut self.closing else { return };
        match closing.own {
            Own::Open => return,
            // RFC 6298 (5.5): back off the timer.
            Own::Sent if now >= closing.again_at => closing.rto = (closing.rto * 2).min(LARGEST_RTO),
            Own::Due => closing.own = Own::Sent,
            Own::Sent | Own::Acknowledged => {
                // Its number was taken when it left.
                segment.seq = 1;
                self.ack_at = if closing.own == Own::Sent { closing.again_at } else { Time::NEVER };
                return;
            }
        }
        segment.flags = segment.flags.with(Flags::FIN);
        closing.again_at = now + closing.rto;
        self.ack_at = closing.again_at;
    }
}
