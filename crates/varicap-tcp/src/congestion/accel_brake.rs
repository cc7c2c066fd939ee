//! A window that each acknowledgement accelerates or brakes, as the bottleneck marked the packet.
//! Source: [goyal20, §3].
//!
//! An accelerate lets two packets go for one that has left, a brake none. In addition, the window opens by a segment
//! per round trip, which makes flows fair. Where the bottleneck marks nothing, losses rule: cwnd is the lesser of this
//! window and CUBIC's, and neither grows beyond twice what is in flight.
//!
//! Deviation: [goyal20] distinguishes brakes from CE by the two ECN codepoints; here a brake is CE, so that an ECN mark
//! of any other queue is a brake as well.

use varicap_units::part::{OnKernel, Part};
use varicap_units::{Bytes, Span, Time};

use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Cubic, CubicConfig, Start, Wants,
};

/// It has no settings.
pub struct AccelBrakeConfig;

impl Part for AccelBrakeConfig {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("the kernel has no control that reads such marks")
    }
}

/// [goyal20]'s pair of windows.
#[derive(Clone, Debug)]
pub struct AccelBrake {
    /// The window that marks allow [B].
    window: u64,
    /// The window before the last timeout [B]; zero: nothing to restore.
    prior: u64,
    /// Acknowledged data that has not yet opened the window by a segment [B].
    credit: u64,
    mss: u64,
    /// The window that losses allow: CUBIC's.
    cubic: Cubic,
}

impl AccelBrake {
    /// Windows that start as `start` says.
    pub fn new(start: &Start) -> AccelBrake {
        AccelBrake {
            window: start.initial_window.as_u64().max(start.mss.as_u64()),
            prior: 0,
            credit: 0,
            mss: start.mss.as_u64(),
            cubic: Cubic::new(&CubicConfig::default(), start),
        }
    }

    /// [goyal20, §3.1.3]: a segment per window of acknowledged data.
    fn additive_increase(&mut self, acked: u64) -> u64 {
        self.credit += acked;
        if self.credit < self.window {
            return 0;
        }
        self.credit = 0;
        self.mss
    }
}

impl CongestionControl for AccelBrake {
    fn on_ack(&mut self, ack: &AckSample) {
        let acked = ack.newly_acked.as_u64();
        let increase = self.additive_increase(acked);
        let window = if ack.marked { self.window.saturating_sub(acked) } else { self.window + acked };
        // [goyal20, §3.2]: a window that does not limit must not grow without end.
        let most = ack.in_flight.as_u64().saturating_mul(2).max(2 * self.mss);
        self.window = (window + increase).clamp(self.mss, most);
        let unused = ack.app_limited || self.cubic.cwnd().as_u64() >= most;
        self.cubic.on_ack(&AckSample { app_limited: unused, ..*ack });
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.cubic.on_congestion(event);
        match event.kind {
            CongestionKind::Timeout { backoff } => {
                self.prior = if backoff == 0 { self.window } else { self.prior };
                self.window = self.mss;
                self.credit = 0;
            }
            CongestionKind::FastRetransmit | CongestionKind::EcnEcho => self.prior = 0,
        }
    }

    fn on_recovered(&mut self, now: Time, limit: Bytes) {
        self.cubic.on_recovered(now, limit);
    }

    fn on_undo(&mut self, now: Time) {
        self.cubic.on_undo(now);
        self.window = self.window.max(std::mem::take(&mut self.prior));
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.window = self.mss + in_flight.as_u64();
        self.cubic.on_kept(in_flight);
    }

    fn on_unused(&mut self, window: Bytes) {
        self.window = self.window.min(window.as_u64()).max(self.mss);
        self.cubic.on_unused(window);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.window = self.window.min(restart_window.as_u64()).max(self.mss);
        self.cubic.on_idle(restart_window);
    }

    fn on_start(&mut self, now: Time, idle: Span) {
        self.cubic.on_start(now, idle);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window).min(self.cubic.cwnd())
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.cubic.ssthresh()
    }

    fn wants(&self) -> Wants {
        Wants { each_mark: true, ..Wants::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Amount;

    const MSS: u64 = 1000;

    fn window(segments: u64) -> AccelBrake {
        let bytes = Bytes::new(segments * MSS);
        let unlimited = Amount::Unlimited.bytes(Bytes::new(MSS), Bytes::ZERO);
        AccelBrake::new(&Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 40),
            initial_window: bytes,
            initial_ssthresh: unlimited,
            counting: crate::congestion::Counting::Acks,
            rounding: crate::congestion::Rounding::None,
        })
    }

    fn ack(control: &mut AccelBrake, marked: bool, in_flight: u64) {
        control.on_ack(&AckSample {
            newly_acked: Bytes::new(MSS),
            in_flight: Bytes::new(in_flight * MSS),
            smoothed_rtt: Some(Span::from_millis(100)),
            min_rtt: Some(Span::from_millis(100)),
            marked,
            ..AckSample::at(Time::ZERO + Span::from_secs(1))
        });
    }

    #[test]
    fn a_window_of_accelerates_doubles_and_a_window_of_brakes_empties_but_for_a_segment() {
        let mut control = window(10);
        (0..10).for_each(|_| ack(&mut control, false, 10));
        assert_eq!(control.window, 20 * MSS);
        let mut control = window(10);
        (0..20).for_each(|_| ack(&mut control, true, 10));
        assert_eq!(control.cwnd(), Bytes::new(MSS));
    }

    #[test]
    fn as_many_brakes_as_accelerates_leave_a_segment_more_per_window() {
        let mut control = window(10);
        for _ in 0..20 {
            ack(&mut control, false, 10);
            ack(&mut control, true, 10);
        }
        // 40 segments acknowledged, while the window is 10, 11, 12 and 13.
        assert_eq!(control.window, 13 * MSS);
    }

    #[test]
    fn no_window_exceeds_twice_what_is_in_flight() {
        let mut control = window(10);
        (0..100).for_each(|_| ack(&mut control, false, 6));
        assert_eq!((control.window, control.cwnd()), (12 * MSS, Bytes::new(12 * MSS)));
    }

    #[test]
    fn losses_reduce_the_window_that_counts_them() {
        let mut control = window(10);
        let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(10 * MSS) };
        control.on_congestion(&lost(CongestionKind::FastRetransmit));
        assert_eq!((control.window, control.cwnd()), (10 * MSS, Bytes::new(7 * MSS)));
        control.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
        assert_eq!((control.window, control.cwnd()), (MSS, Bytes::new(MSS)));
    }
}
