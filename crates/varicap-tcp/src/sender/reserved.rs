//! What a sender with a reservation does besides: it marks what conforms, and sends at its timer. Source: [minrate, §IV].

use varicap_units::{Bytes, Rate, Stream, Time, Work};

use super::Sender;
use super::output::Outgoing;
use crate::congestion::{CongestionControl, CongestionKind};
use crate::reservation::{Reservation, Reserved};
use crate::segment::Flags;

impl Sender {
    /// From `now` on segments that conform to `terms` are marked. Delays are drawn from `stream`. The sender must then
    /// be polled.
    pub fn reserve(&mut self, now: Time, terms: &Reservation, stream: Stream) {
        let packet = Bytes::new(self.space.mss + u64::from(self.overhead));
        let mut reserved = Reserved::new(now, terms, packet, stream);
        self.wake_at = self.wake_at.min(reserved.poll_at(now, false));
        self.reserved = Some(Box::new(reserved));
        self.is_plain = false;
        self.set_reserved_rate(now, terms.rate);
    }

    /// The reservation is `rate` from `now` on, whoever marks what conforms. The sender must then be polled.
    pub fn set_reserved_rate(&mut self, now: Time, rate: Rate) {
        if let Some(reserved) = &mut self.reserved {
            reserved.set_rate(now, rate);
            self.wake_at = self.wake_at.min(reserved.poll_at(now, false));
        }
        self.window.change(|control| control.on_reservation(now, Some(rate)));
    }

    /// Tokens of the reservation that were lost up to `now`, if it marks by one.
    pub fn lost_tokens(&self, now: Time) -> Option<Work> {
        self.reserved.as_ref().map(|reserved| reserved.lost_tokens(now))
    }

    /// The rate by which it marks, if it does.
    pub fn reserved_rate(&self) -> Option<Rate> {
        self.reserved.as_ref().map(|reserved| reserved.rate())
    }

    /// Packets that were marked, retransmissions included.
    pub fn marked_packets(&self) -> u64 {
        self.reserved.as_ref().map_or(0, |reserved| reserved.marked_packets())
    }

    /// [minrate, Fig. 5]: after a timer's expiry what conforms, after an acknowledgement what the window allows.
    #[cold]
    pub(super) fn poll_reserved(&mut self, now: Time) -> Option<Outgoing> {
        self.wake_at = Time::NEVER; // what wanted to be polled is polled
        let outgoing = self.poll_timed(now).or_else(|| self.next(now));
        let is_over = self.is_done();
        let reserved = self.reserved.as_mut()?;
        match outgoing {
            None => {
                self.wake_at = self.wake_at.min(reserved.poll_at(now, is_over));
                None
            }
            Some(mut outgoing) => {
                let data = (outgoing.seq, outgoing.seq + u64::from(outgoing.len));
                if reserved.mark(now, self.space.una, data, outgoing.wire_size.get()) {
                    outgoing.flags = outgoing.flags.with(Flags::RESERVED);
                }
                Some(outgoing)
            }
        }
    }

    /// While there are tokens and room under the advertised window: the next segment, whatever cwnd says.
    fn poll_timed(&mut self, now: Time) -> Option<Outgoing> {
        let reserved = self.reserved.as_mut()?;
        if !reserved.is_expired(now) {
            return None;
        }
        if self.connected && reserved.conforms(now) {
            let burst_left = std::mem::replace(&mut self.burst_left, u32::MAX);
            let outgoing = self.next_within(now, Some(self.max_window));
            self.burst_left = burst_left;
            if outgoing.is_some() {
                return outgoing;
            }
        }
        if let Some(reserved) = &mut self.reserved {
            reserved.end_expiry();
        }
        None
    }

    /// Whether the next segment that the window allows is held back.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        self.reserved.as_mut().is_some_and(|reserved| reserved.holds(now))
    }

    /// Whether a timer's transmissions are under way.
    #[inline]
    pub(super) fn sends_by_timer(&mut self, now: Time) -> bool {
        self.reserved.as_mut().is_some_and(|reserved| reserved.is_expired(now))
    }

    /// The window falls because of `kind`. The data in flight that counts for it: what a timer sent beyond cwnd does not.
    /// Without a timer nothing but the marks tells the sender from one without a reservation.
    #[cold]
    pub(super) fn on_reserved_loss(&mut self, now: Time, kind: CongestionKind, in_flight: u64) -> u64 {
        if kind != CongestionKind::EcnEcho {
            self.note_lost(now, self.space.una);
        }
        // [minrate, §IV-A]: CWND is cut in half, where RFC 5681 (4) halves the data in flight, which may be more here.
        let is_timed = self.reserved.as_ref().is_some_and(|reserved| reserved.is_timed());
        if is_timed { in_flight.min(self.window.cwnd()) } else { in_flight }
    }

    /// The segment at `seq` was lost: if it was marked, a sender with a safeguard trusts its reservation no more.
    pub(super) fn note_lost(&mut self, now: Time, seq: u64) {
        if self.reserved.as_mut().is_some_and(|reserved| reserved.on_lost(seq)) {
            self.counters.reservations_given_up += 1;
            self.window.change(|control| control.on_reservation(now, None));
        }
    }
}
