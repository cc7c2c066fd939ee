//! Measurements of a flow: what it delivered, how long that took, and how its sender behaved.

use varicap_app::Watched;
use varicap_units::{Bytes, NANOS_PER_SEC, Span, Time, Work};

use crate::results::histogram::Histogram;

varicap_units::totals! {
    /// Counters of a sender since the start of the run; those of a group of transfers are summed.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct SenderTotals {
        /// Data packets sent, retransmissions included.
        pub sent_packets: u64,
        /// Data packets retransmitted.
        pub retransmitted_packets: u64,
        /// Expiries of the retransmission timer.
        pub timeouts: u64,
        /// Fast retransmits: entries into fast recovery.
        pub fast_retransmits: u64,
        /// Connections that gave up.
        pub gave_up: u64,
        /// Marked packets that links lost.
        pub marked_lost_packets: u64,
        /// Tokens of the reservation that were lost, exact.
        pub lost_tokens: Work,
        /// The playback of its application, if there is any: in a box, since few have one, and there may be 100,000 of
        /// these.
        pub watched: Option<Box<Watched>>,
    }
}

impl SenderTotals {
    /// The playback of its application.
    pub fn watched(&self) -> Watched {
        self.watched.as_deref().copied().unwrap_or_default()
    }

    /// Its application has fetched and shown `watched` more.
    pub fn watch(&mut self, watched: &Watched) {
        let sum = self.watched().plus(watched);
        self.watched = (sum != Watched::default()).then(|| Box::new(sum));
    }
}

varicap_units::totals! {
    /// The counts of a flow since the start of the run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FlowTotals {
        /// Packets that reached the receiver, including those that it had already.
        pub delivered_packets: u64,
        /// Bytes on the wire of the packets that reached the receiver [B].
        pub delivered: Bytes,
        /// Bytes on the wire of marked packets, which conform to a reservation [B].
        pub compliant: Bytes,
        /// Application bytes delivered in order [B].
        pub in_order: Bytes,
        /// Integral of cwnd over the time in which it was known [B ns].
        pub cwnd_time: u128,
        /// Time in which cwnd was known.
        pub cwnd_span: Span,
    }
}

/// Measurements of transfers. One counts if it is there in the measured time: it arrives in that time, or is under way as
/// that begins. So each that is offered is refused, completed, or unfinished at the end.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// Transfers that were admitted, whether or not they have completed.
    pub begun: u64,
    /// Those of them that were under way as measuring began.
    pub carried: u64,
    /// Transfers that were turned away.
    pub refused: u64,
    /// Those of the unfinished whose connections gave up.
    pub given_up: u64,
    /// Sum of the sizes of the completed transfers [B].
    pub size: Bytes,
    /// Flow completion times, from the start of a transfer to its last byte in order at the receiver [ns].
    pub completion: Histogram,
    /// Sum over the completed transfers of the throughput that each had, its size over its completion time [b/s].
    pub throughput: u128,
}

impl Transfers {
    /// Those that have begun and not completed.
    pub fn unfinished(&self) -> u64 {
        debug_assert!(self.begun >= self.completion.count(), "more transfers completed than have begun");
        self.begun - self.completion.count()
    }

    /// Those that arrived, or were under way as measuring began.
    pub fn offered(&self) -> u64 {
        self.begun + self.refused
    }
}

/// Measures one flow, or a group of transfers that come and go.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    totals: FlowTotals,
    /// The congestion window since `settled`; zero while it is not known.
    cwnd: Bytes,
    settled: Time,
    cwnd_minimum: Bytes,
    cwnd_maximum: Bytes,
    // Boxed is what not every flow has: there may be 100,000 of them.
    /// Samples of the round-trip time [ns], once there is one.
    rtt: Option<Box<Histogram>>,
    transfers: Option<Box<Transfers>>,
    /// The counts from before measuring began, if there are any.
    base: Option<Box<Base>>,
    /// As [`FlowMeasure::mss`], no more than 64 KiB.
    mss: u32,
    is_reserved: bool,
}

/// When measuring began, and what had been counted by then.
#[derive(Clone, Debug, Default, PartialEq)]
struct Base {
    since: Time,
    totals: FlowTotals,
    sender: SenderTotals,
}

/// The measurements of a flow.
#[derive(Clone, Debug)]
pub struct FlowMeasure {
    /// How long the flow was measured.
    pub span: Span,
    /// The counts of the flow in that time.
    pub done: FlowTotals,
    /// The counts of the flow's sender in that time.
    pub sender: SenderTotals,
    /// Least cwnd [B]; zero if it was never known.
    pub cwnd_minimum: Bytes,
    /// Largest cwnd [B]; zero if it was never known.
    pub cwnd_maximum: Bytes,
    /// Payload of a full segment, which converts bytes to packets [B].
    pub mss: Bytes,
    /// Whether the flow has a reservation.
    pub is_reserved: bool,
    /// Samples of the round-trip time [ns].
    pub rtt: Histogram,
    /// Transfers of that time, if there were any.
    pub transfers: Option<Box<Transfers>>,
}

impl FlowMeter {
    /// A meter for a flow whose full segments carry `mss`, starting at time zero.
    pub fn new(mss: Bytes) -> FlowMeter {
        FlowMeter {
            totals: FlowTotals::default(),
            cwnd: Bytes::ZERO,
            settled: Time::ZERO,
            cwnd_minimum: Bytes::MAX,
            cwnd_maximum: Bytes::ZERO,
            rtt: None,
            transfers: None,
            base: None,
            mss: mss.as_u64() as u32,
            is_reserved: false,
        }
    }

    /// Notes that the flow has a reservation, so that conforming packets are counted.
    pub fn reserve(&mut self) {
        self.is_reserved = true;
    }

    /// Whether the flow has a reservation.
    pub fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Notes that a packet of `size` on the wire reached the receiver and brought `in_order` new bytes in order.
    #[inline]
    pub fn on_data(&mut self, size: Bytes, in_order: Bytes) {
        self.totals.delivered_packets += 1;
        self.totals.delivered += size;
        self.totals.in_order += in_order;
    }

    /// Notes that the packet that reached the receiver last, `size` on the wire, does not count: it carries no data.
    #[cold]
    pub fn on_no_data(&mut self, size: Bytes) {
        self.totals.delivered_packets -= 1;
        self.totals.delivered -= size;
    }

    /// Notes that the packet that reached the receiver, `size` on the wire, was marked.
    #[cold]
    pub fn on_marked(&mut self, size: Bytes) {
        self.totals.compliant += size;
    }

    /// Notes that the receiver delivered `bytes` more in order to its application, where that is not observed packet by
    /// packet.
    pub fn on_in_order(&mut self, bytes: Bytes) {
        self.totals.in_order += bytes;
    }

    /// Notes that the sender took a sample of the round-trip time.
    #[inline]
    pub fn on_rtt(&mut self, rtt: Span) {
        self.rtt.get_or_insert_default().record(rtt.as_nanos());
    }

    /// The round trips counted so far, if there are any.
    #[inline]
    pub fn round_trips(&self) -> Option<&Histogram> {
        self.rtt.as_deref()
    }

    /// Notes that the congestion window is `cwnd` from `at` on. Not for a group of transfers, which has many windows.
    #[inline]
    pub fn on_cwnd(&mut self, at: Time, cwnd: Bytes) {
        if cwnd != self.cwnd {
            self.change_cwnd(at, cwnd);
        }
    }

    #[inline]
    fn change_cwnd(&mut self, at: Time, cwnd: Bytes) {
        self.settle(at);
        self.cwnd = cwnd;
        self.cwnd_minimum = self.cwnd_minimum.min(cwnd);
        self.cwnd_maximum = self.cwnd_maximum.max(cwnd);
    }

    /// Notes that the sender is gone, so that its cwnd is no longer known.
    pub fn on_close(&mut self, at: Time) {
        self.settle(at);
        self.cwnd = Bytes::ZERO;
    }

    /// Notes that a transfer begins.
    pub fn on_transfer_begun(&mut self) {
        self.transfers.get_or_insert_default().begun += 1;
    }

    /// Notes that a transfer is turned away.
    pub fn on_transfer_refused(&mut self) {
        self.transfers.get_or_insert_default().refused += 1;
    }

    /// Notes that a transfer, which has begun, ends unfinished, as its connection gives up.
    pub fn on_transfer_given_up(&mut self) {
        self.transfers.get_or_insert_default().given_up += 1;
    }

    /// Notes that a transfer, which has begun, of `size` took `took` from its start to its last byte in order at the receiver.
    pub fn on_transfer(&mut self, size: Bytes, took: Span) {
        let transfers = self.transfers.get_or_insert_default();
        transfers.size += size;
        transfers.completion.record(took.as_nanos());
        let bits_ns = u128::from(size.as_u64()) * u128::from(8 * NANOS_PER_SEC);
        transfers.throughput += bits_ns / u128::from(took.as_nanos().max(1));
    }

    /// Adds the window since the last change to the integral.
    #[inline]
    fn settle(&mut self, at: Time) {
        let span = at.since(self.settled);
        self.settled = at;
        if self.cwnd > Bytes::ZERO {
            self.totals.cwnd_time += u128::from(self.cwnd.as_u64()) * u128::from(span.as_nanos());
            self.totals.cwnd_span += span;
        }
    }

    /// The totals up to `now`, which must not be earlier than the last event.
    pub fn totals(&mut self, now: Time) -> FlowTotals {
        self.settle(now);
        self.totals
    }

    /// Ends the warm-up: measuring begins at `now`, when the sender's counters are `sender`.
    pub fn reset(&mut self, now: Time, sender: SenderTotals) {
        let base = Base { since: now, totals: self.totals(now), sender };
        self.base = (base != Base::default()).then(|| Box::new(base));
        let under_way = self.transfers.take().map_or(0, |all| all.unfinished() - all.given_up);
        if under_way > 0 {
            let carried = Transfers { begun: under_way, carried: under_way, ..Transfers::default() };
            self.transfers = Some(Box::new(carried));
        }
        self.rtt = None;
        (self.cwnd_minimum, self.cwnd_maximum) = (Bytes::MAX, Bytes::ZERO);
        if self.cwnd > Bytes::ZERO {
            (self.cwnd_minimum, self.cwnd_maximum) = (self.cwnd, self.cwnd);
        }
    }

    /// The measurements from the last reset (or the start) to `now`, when the sender's counters are `sender`.
    pub fn finish(mut self, now: Time, sender: SenderTotals) -> FlowMeasure {
        let is_known = self.cwnd_maximum > Bytes::ZERO;
        let base = self.base.take().map_or_else(Base::default, |base| *base);
        FlowMeasure {
            span: now.since(base.since),
            done: self.totals(now).since(&base.totals),
            sender: sender.since(&base.sender),
            cwnd_minimum: if is_known { self.cwnd_minimum } else { Bytes::ZERO },
            cwnd_maximum: self.cwnd_maximum,
            mss: Bytes::new(self.mss.into()),
            is_reserved: self.is_reserved,
            rtt: self.rtt.map_or_else(Histogram::new, |rtt| *rtt),
            transfers: self.transfers,
        }
    }
}

impl FlowMeasure {
    /// Adds the measurements of `other` over the same time, as if both were one flow.
    pub fn merge(&mut self, other: &FlowMeasure) {
        self.done = self.done.plus(&other.done);
        self.sender = self.sender.plus(&other.sender);
        self.is_reserved |= other.is_reserved;
        if other.cwnd_maximum > Bytes::ZERO {
            let is_known = self.cwnd_maximum > Bytes::ZERO;
            self.cwnd_minimum =
                if is_known { self.cwnd_minimum.min(other.cwnd_minimum) } else { other.cwnd_minimum };
            self.cwnd_maximum = self.cwnd_maximum.max(other.cwnd_maximum);
        }
        self.rtt.merge(&other.rtt);
        if let Some(transfers) = &other.transfers {
            let mine = self.transfers.get_or_insert_default();
            mine.begun += transfers.begun;
            mine.carried += transfers.carried;
            mine.refused += transfers.refused;
            mine.given_up += transfers.given_up;
            mine.size += transfers.size;
            mine.completion.merge(&transfers.completion);
            mine.throughput += transfers.throughput;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn sent(packets: u64) -> SenderTotals {
        SenderTotals { sent_packets: packets, ..SenderTotals::default() }
    }

    #[test]
    fn cwnd_is_averaged_over_the_time_in_which_it_is_known() {
        let mut meter = FlowMeter::new(MSS);
        meter.on_cwnd(at(10), MSS * 2);
        meter.on_cwnd(at(20), MSS * 4);
        meter.on_cwnd(at(25), MSS * 4); // no change
        meter.on_close(at(40));
        let measure = meter.finish(at(100), sent(0));
        assert_eq!(measure.done.cwnd_span, Span::from_millis(30));
        assert_eq!(measure.done.cwnd_time, (2 * 10 + 4 * 20) * 1000 * 1_000_000);
        assert_eq!((measure.cwnd_minimum, measure.cwnd_maximum), (MSS * 2, MSS * 4));
    }

    #[test]
    fn reset_cuts_the_warm_up_and_keeps_cwnd() {
        let mut meter = FlowMeter::new(MSS);
        meter.on_cwnd(at(0), MSS * 10);
        meter.on_cwnd(at(5), MSS * 3);
        meter.on_rtt(Span::from_millis(100));
        meter.on_data(Bytes::new(1040), MSS);
        meter.on_transfer_begun();
        meter.on_transfer(MSS, Span::from_millis(7));
        meter.reset(at(10), sent(12));
        meter.on_data(Bytes::new(1040), Bytes::ZERO);
        meter.on_rtt(Span::from_millis(200));
        let measure = meter.finish(at(30), sent(20));
        assert_eq!(measure.span, Span::from_millis(20));
        assert_eq!((measure.done.delivered_packets, measure.done.in_order), (1, Bytes::ZERO));
        assert_eq!(measure.sender.sent_packets, 8);
        assert_eq!((measure.cwnd_minimum, measure.cwnd_maximum), (MSS * 3, MSS * 3));
        assert_eq!(measure.done.cwnd_time, 3 * 20 * 1000 * 1_000_000);
        assert_eq!(measure.rtt.mean(), Some(200e6));
        assert!(measure.transfers.is_none());
    }

    #[test]
    fn a_flow_whose_cwnd_is_unknown_has_none() {
        let measure = FlowMeter::new(MSS).finish(at(1), sent(0));
        assert_eq!((measure.cwnd_minimum, measure.cwnd_maximum), (Bytes::ZERO, Bytes::ZERO));
    }

    #[test]
    fn merging_ignores_windows_that_are_not_known() {
        let mut known = FlowMeter::new(MSS);
        known.on_cwnd(at(0), MSS * 5);
        let mut merged = FlowMeter::new(MSS).finish(at(1), sent(1));
        merged.merge(&known.finish(at(1), sent(2)));
        merged.merge(&FlowMeter::new(MSS).finish(at(1), sent(4)));
        assert_eq!((merged.cwnd_minimum, merged.cwnd_maximum), (MSS * 5, MSS * 5));
        assert_eq!(merged.sender.sent_packets, 7);
    }

    #[test]
    fn completed_transfers_are_counted_with_their_times() {
        let mut meter = FlowMeter::new(MSS);
        (0..2).for_each(|_| meter.on_transfer_begun());
        meter.on_transfer(MSS, Span::from_millis(10));
        meter.on_transfer(MSS * 3, Span::from_millis(60));
        let transfers = meter.finish(at(100), sent(0)).transfers.unwrap();
        assert_eq!((transfers.size, transfers.completion.count()), (MSS * 4, 2));
        assert_eq!(transfers.completion.mean(), Some(35e6));
        assert_eq!(transfers.throughput, 800_000 + 400_000); // of each by itself, not 32 kb in 70 ms
    }

    #[test]
    fn transfers_under_way_as_measuring_begins_are_offered() {
        let mut meter = FlowMeter::new(MSS);
        (0..3).for_each(|_| meter.on_transfer_begun());
        meter.on_transfer_refused();
        meter.on_transfer(MSS, Span::from_millis(7));
        meter.reset(at(10), sent(0));
        meter.on_transfer(MSS, Span::from_millis(12));
        meter.on_transfer_begun();
        (0..2).for_each(|_| meter.on_transfer_refused());
        let mut measure = meter.finish(at(30), sent(0));
        let transfers = measure.transfers.as_deref().unwrap();
        let count = transfers.completion.count();
        assert_eq!((transfers.offered(), count, transfers.refused, transfers.unfinished()), (5, 1, 2, 2));
        measure.merge(&measure.clone());
        let transfers = measure.transfers.unwrap();
        assert_eq!((transfers.offered(), transfers.refused, transfers.unfinished()), (10, 4, 4));
        assert_eq!(transfers.carried, 4);
    }
}
