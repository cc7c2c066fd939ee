//! Delivery rates: who asks for them, and when the application limits them.

use super::Sender;
use crate::congestion::RateSample;

impl Sender {
    /// The same sender, which measures delivery rates whether its control asks for samples or not. It has sent nothing yet.
    pub fn measuring_rates(mut self) -> Sender {
        debug_assert!(self.counters.sent_packets == 0, "what was sent before was not recorded");
        self.window = self.window.measuring_rates();
        self
    }

    /// The delivery rate that was measured last, if rates are measured: the last one that the application did not limit, or
    /// a faster one that it did.
    pub fn delivery_rate(&self) -> Option<RateSample> {
        self.window.delivery_rate()
    }

    /// Data is offered: if the sender had less than a segment left although the window was open and all that was lost had
    /// left again, the application has limited it. Source: Linux, `tcp_rate_check_app_limited`.
    #[cold]
    pub(super) fn note_gap(&mut self) {
        let in_flight = self.recovery.in_flight(&self.space);
        let is_resent = self.recovery.beliefs().is_none_or(|beliefs| beliefs.lost <= beliefs.resent);
        let unsent = self.written - self.space.nxt;
        if unsent < self.space.mss && in_flight < self.window.cwnd().min(self.max_window) && is_resent {
            self.window.on_gap(in_flight);
        }
    }
}
