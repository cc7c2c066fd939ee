//! DCTCP: a window that falls by the share of its data that was marked. Source: RFC 8257.
//!
//! The share of marked bytes is averaged over windows of data, and a window with marks in it leaves the window smaller by half of
//! that average. All else is Reno's. It is meant for queues that mark everything above a threshold (`step`), where some
//! windows of data are marked and others are not at all.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Span, Time};

use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, EcnNeed, Quantity, Reno, RenoConfig,
    Start, Wants,
};

/// DCTCP's average of marked data. Source: RFC 8257 §4.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DctcpConfig {
    /// Weight of the newest window of data in the average (g). Default: 0.0625 (RFC 8257 §4.2).
    pub gain: f64,
    /// The average before anything was marked (alpha). Default: 1.0 (RFC 8257 §3.3: the first mark halves the window).
    pub initial_alpha: f64,
}

impl Default for DctcpConfig {
    fn default() -> DctcpConfig {
        DctcpConfig { gain: 1.0 / 16.0, initial_alpha: 1.0 }
    }
}

impl Part for DctcpConfig {
    fn check(&self) -> Checked {
        let good = self.gain > 0.0 && self.gain <= 1.0;
        part::require("gain", good, self.gain, "above 0, and at most 1")?;
        let good = (0.0..=1.0).contains(&self.initial_alpha);
        part::require("initial_alpha", good, self.initial_alpha, "from 0 to 1")
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("the engine does not prepare Linux's receivers, whose echo of marks it needs")
    }
}

/// How much of the data was marked, averaged over windows of data. Source: RFC 8257 §3.3.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    /// DCTCP.Alpha.
    pub alpha: f64,
    gain: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked [B].
    acked: u64,
    marked: u64,
}

impl MarkedShare {
    pub fn new(alpha: f64, gain: f64) -> MarkedShare {
        MarkedShare { alpha, gain, acked: 0, marked: 0 }
    }

    /// Counts an acknowledgement; gives how much of what it acknowledges was marked [B].
    pub fn count(&mut self, ack: &AckSample) -> u64 {
        let acked = ack.newly_acked.as_u64();
        // An echo says it of all that it acknowledges.
        let is_echo = ack.marked && ack.marked_packets == 0;
        let marked = if is_echo { acked } else { ack.marked_bytes.as_u64() };
        self.acked += acked;
        self.marked += marked;
        marked.min(acked)
    }

    /// A window of data has been counted: alpha = alpha (1 - g) + g M.
    pub fn close(&mut self) {
        if self.acked == 0 {
            return;
        }
        // Of what was lost or came twice, more may have been marked than acknowledged.
        let share = self.marked.min(self.acked) as f64 / self.acked as f64;
        self.alpha = self.alpha * (1.0 - self.gain) + self.gain * share;
        (self.acked, self.marked) = (0, 0);
    }

    /// The rest of a `window` that falls because of marks: (1 - alpha / 2) of it, two segments at least [B].
    pub fn reduced(&self, window: u64, mss: u64) -> u64 {
        ((window as f64 * (1.0 - self.alpha / 2.0)) as u64).max(2 * mss)
    }
}

/// RFC 8257's window.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Grows, and falls at losses (RFC 8257 §3.5).
    reno: Reno,
    mss: u64,
    share: MarkedShare,
    /// The window of data that is being counted.
    round: u64,
    /// The acknowledgement of which `on_ack` comes next was counted before its echo.
    is_counted: bool,
}

impl Dctcp {
    /// A window that starts as `start` says.
    pub fn new(config: &DctcpConfig, start: &Start) -> Dctcp {
        Dctcp {
            reno: Reno::new(&RenoConfig::default(), start),
            mss: start.mss.as_u64(),
            share: MarkedShare::new(config.initial_alpha, config.gain),
            round: 0,
            is_counted: false,
        }
    }

    /// DCTCP.Alpha, the average share of marked data.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }

    /// RFC 8257 §3.3 steps 1 to 7: alpha moves once for each window of data.
    fn count(&mut self, ack: &AckSample) {
        self.share.count(ack);
        if ack.round != self.round {
            self.round = ack.round;
            self.share.close();
        }
    }
}

impl CongestionControl for Dctcp {
    /// RFC 8257 §3.3 steps 1 to 7, before step 8.
    fn in_ack_event(&mut self, ack: &AckSample) {
        self.count(ack);
        self.is_counted = true;
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !std::mem::take(&mut self.is_counted) {
            self.count(ack);
        }
        if ack.may_open {
            self.reno.on_ack(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != CongestionKind::EcnEcho {
            return self.reno.on_congestion(event);
        }
        // RFC 8257 §3.3 step 8; §3.4: once for each window of data, which the sender sees to.
        let before = self.reno.cwnd;
        self.reno.on_congestion(event);
        self.reno.ssthresh = self.share.reduced(before, self.mss);
        self.reno.set(self.reno.ssthresh.min(before));
    }

    fn on_undo(&mut self, now: Time) {
        self.reno.on_undo(now);
    }

    fn cap(&mut self, most: Bytes) {
        self.reno.cap(most);
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.reno.on_kept(in_flight);
    }

    fn on_unused(&mut self, window: Bytes) {
        self.reno.on_unused(window);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.reno.on_idle(restart_window);
    }

    fn on_start(&mut self, now: Time, idle: Span) {
        self.reno.on_start(now, idle);
    }

    fn cwnd(&self) -> Bytes {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.reno.ssthresh()
    }

    fn wants(&self) -> Wants {
        Wants { every_ack: true, ecn: EcnNeed::EachByte, ..Wants::default() }
    }

    fn shown(&self) -> &'static [Quantity] {
        &[Quantity {
            name: "dctcp_alpha",
            unit: "1",
            description: "DCTCP.Alpha: the share of its data that was marked.",
        }]
    }

    fn show(&self, values: &mut Vec<f64>) {
        values.push(self.share.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Counting, Rounding};

    const MSS: u64 = 1000;

    fn control(segments: u64) -> Dctcp {
        let bytes = Bytes::new(segments * MSS);
        Dctcp::new(
            &DctcpConfig::default(),
            &Start {
                mss: Bytes::new(MSS),
                packet: Bytes::new(MSS + 40),
                initial_window: bytes,
                initial_ssthresh: bytes,
                counting: Counting::Acks,
                rounding: Rounding::None,
            },
        )
    }

    /// A window of ten segments, acknowledged one by one, of which the first `marked` were marked.
    fn round(control: &mut Dctcp, number: u64, marked: u64) {
        for acknowledged in 0..10 {
            control.on_ack(&AckSample {
                newly_acked: Bytes::new(MSS),
                marked: acknowledged < marked,
                may_open: false,
                round: number + u64::from(acknowledged == 9),
                ..AckSample::at(Time::ZERO)
            });
        }
    }

    fn echo(control: &mut Dctcp) -> u64 {
        let in_flight = control.cwnd();
        control.on_congestion(&CongestionEvent { now: Time::ZERO, kind: CongestionKind::EcnEcho, in_flight });
        control.cwnd().as_u64()
    }

    #[test]
    fn the_first_mark_halves_and_later_ones_take_half_of_their_share() {
        assert_eq!(echo(&mut control(20)), 10 * MSS);
        let mut control = control(20);
        (0..200).for_each(|number| round(&mut control, number, 2));
        assert!((control.alpha() - 0.2).abs() < 1e-5, "{}", control.alpha());
        assert_eq!(echo(&mut control), 17_999); // 20 (1 - 0.1), less what is left of the first alpha
        assert_eq!(control.ssthresh(), Some(Bytes::new(17_999)));
    }

    #[test]
    fn alpha_moves_by_a_sixteenth_once_in_a_window_of_data() {
        let mut control = control(20);
        round(&mut control, 0, 0);
        assert_eq!(control.alpha(), 15.0 / 16.0);
        round(&mut control, 1, 10);
        assert_eq!(control.alpha(), 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0);
    }

    #[test]
    fn counted_marks_count_by_their_bytes() {
        let mut control = control(20);
        control.on_ack(&AckSample {
            newly_acked: Bytes::new(4 * MSS),
            marked: true,
            marked_packets: 1,
            marked_bytes: Bytes::new(MSS),
            round: 1,
            ..AckSample::at(Time::ZERO)
        });
        assert_eq!(control.alpha(), 15.0 / 16.0 + 0.25 / 16.0);
    }

    #[test]
    fn a_loss_is_answered_as_reno_does() {
        let mut control = control(20);
        (0..200).for_each(|number| round(&mut control, number, 0));
        let in_flight = Bytes::new(20 * MSS);
        let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight };
        control.on_congestion(&lost(CongestionKind::FastRetransmit));
        assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
        control.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
        assert_eq!(control.cwnd(), Bytes::new(MSS));
    }

    #[test]
    fn an_acknowledgement_that_opens_nothing_is_counted_only() {
        let mut control = control(10);
        round(&mut control, 0, 0);
        assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
        let ack = AckSample { newly_acked: Bytes::new(MSS), ..AckSample::at(Time::ZERO) };
        (0..10).for_each(|_| control.on_ack(&ack));
        assert_eq!(control.cwnd(), Bytes::new(11 * MSS));
    }

    #[test]
    fn the_window_keeps_two_segments() {
        let mut control = control(3);
        assert_eq!((echo(&mut control), echo(&mut control)), (2 * MSS, 2 * MSS));
    }

    #[test]
    fn weights_are_shares() {
        let faulty = |config: DctcpConfig| config.check().unwrap_err().key;
        let default = DctcpConfig::default;
        assert_eq!(default().check(), Ok(()));
        assert_eq!(faulty(DctcpConfig { gain: 0.0, ..default() }), "gain");
        assert_eq!(faulty(DctcpConfig { initial_alpha: 1.1, ..default() }), "initial_alpha");
    }
}
