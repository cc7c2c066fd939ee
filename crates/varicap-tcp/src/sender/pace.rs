//! Segments that are spaced out.

use varicap_units::{Bytes, Rate, Time};

use super::Sender;
use crate::congestion::CongestionControl;
use crate::pacing::Windows;

impl Sender {
    /// An acknowledgement may have changed the pace.
    #[inline]
    pub(super) fn update_pace(&mut self) {
        if self.pace.is_some() {
            self.set_pace();
        }
    }

    #[inline(never)]
    fn set_pace(&mut self) {
        let windows = Windows {
            cwnd: self.window.cwnd().min(self.max_window),
            ssthresh: self.window.control().ssthresh().map(Bytes::as_u64),
            outstanding: self.space.flight(),
            mss: self.space.mss,
        };
        if let Some(pace) = &mut self.pace {
            pace.on_ack(&windows, self.sampling.rtt.smoothed());
        }
    }

    /// `wire_size` bytes have left, after which the next segment has to wait.
    #[inline]
    pub(super) fn pace_next(&mut self, now: Time, wire_size: u16) {
        match self.window.pacing_rate() {
            Some(rate) if self.pacing_credit => {
                let gap = self.release.gap(rate, wire_size.into());
                self.release.space(now, self.sampling.rtt.at_most_rto(gap));
            }
            rate => self.pace_otherwise(now, wire_size, rate),
        }
    }

    /// As `pace_next`, where no control counts time for which segments were late.
    #[inline(never)]
    fn pace_otherwise(&mut self, now: Time, wire_size: u16, rate: Option<Rate>) {
        let rtt = &self.sampling.rtt;
        if let Some(rate) = rate {
            return self.release.pace(rate, rtt);
        }
        let len = wire_size.saturating_sub(self.overhead);
        // A SYN has options of its own and no data: it is none of the first ten segments.
        let is_data = len > 0 && self.counters.sent_packets > self.counters.empty_packets.into();
        let own = self.pace.as_mut().filter(|_| is_data).and_then(|pace| pace.on_sent());
        let own = own.map(|rate| (rate, u64::from(len)));
        let cap = self.window.cap().map(|cap| (cap, u64::from(wire_size)));
        if let Some(gap) = self.release.longest_gap(own.into_iter().chain(cap)) {
            self.release.space(now, rtt.at_most_rto(gap));
        }
    }

    /// The rate at which the control paces, or the cap, may have changed.
    pub(super) fn pace_anew(&mut self) {
        let rate = self.window.pacing_rate().or_else(|| self.window.cap());
        if rate.is_some() || self.pace.is_none() {
            self.release.pace_anew(rate, &self.sampling.rtt);
        }
    }
}
