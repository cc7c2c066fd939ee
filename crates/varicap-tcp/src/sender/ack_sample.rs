//! An acknowledgement as the congestion control hears of it. Each sample is made here, and nowhere else.

use varicap_units::{Bytes, Span, Time};

use super::Sender;
use crate::congestion::{AckSample, Progress};
use crate::segment::Segment;

/// The content of an acknowledgement, and the state before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Acked {
    /// Data that it newly showed to have arrived [B].
    pub(super) newly_acked: u64,
    /// Data that it showed to be lost [B].
    pub(super) newly_lost: u64,
    /// Data in flight before it [B].
    pub(super) in_flight: u64,
    /// All data delivered with it [B].
    pub(super) delivered: u64,
    /// Its RTT sample, if it gave one.
    pub(super) rtt: Option<Span>,
    /// Whether it carries an echo of marks, or counts them.
    pub(super) marked: bool,
    /// Packets that it newly reports as marked, and their payload [B].
    pub(super) marked_packets: u32,
    pub(super) marked_bytes: u64,
    /// Whether recovery was under way before or after it.
    pub(super) in_recovery: bool,
    /// Whether it may open the window of an ordinary control.
    pub(super) may_open: bool,
}

impl Acked {
    /// The sample as far as the acknowledgement alone makes it.
    #[inline(always)]
    pub(super) fn sample(&self, now: Time, round: u64) -> AckSample {
        AckSample {
            now,
            newly_acked: Bytes::new(self.newly_acked),
            newly_lost: Bytes::new(self.newly_lost),
            in_flight: Bytes::new(self.in_flight),
            app_limited: false,
            marked: self.marked,
            marked_packets: self.marked_packets,
            marked_bytes: Bytes::new(self.marked_bytes),
            in_recovery: self.in_recovery,
            may_open: self.may_open,
            rtt: self.rtt,
            smoothed_rtt: None,
            min_rtt: None,
            delivered: Bytes::new(self.delivered),
            round,
            rate: None,
            progress: None,
        }
    }
}

impl Sender {
    /// New data was acknowledged by `segment`, which had nothing else to say.
    #[inline(always)]
    pub(super) fn inform_of_new_data(&mut self, now: Time, segment: &Segment, acked: impl Fn() -> Acked) {
        if self.window.measures_rates() {
            return self.inform_control(segment, &mut acked().sample(now, self.window.round()));
        }
        let (app_limited, round, rtt) = (self.grows_in_vain(), self.window.round(), &self.sampling.rtt);
        self.window.on_new_data(|| AckSample {
            app_limited,
            smoothed_rtt: rtt.smoothed(),
            min_rtt: rtt.least(),
            ..acked().sample(now, round)
        });
    }

    /// Completes the sample of `segment` by the sender's state, and informs the control. The sample stays where it is made: to
    /// move it took 27 instructions.
    #[inline(always)]
    pub(super) fn inform_control(&mut self, segment: &Segment, ack: &mut AckSample) {
        ack.app_limited = self.grows_in_vain();
        (ack.smoothed_rtt, ack.min_rtt) = (self.sampling.rtt.smoothed(), self.sampling.rtt.least());
        if self.window.measures_rates() {
            self.add_delivery(segment, ack);
        }
        self.window.on_ack(ack);
    }

    /// Adds how the flight fares, and the delivery rate.
    #[inline(never)]
    fn add_delivery(&mut self, segment: &Segment, ack: &mut AckSample) {
        let flight = Progress {
            in_flight: Bytes::new(self.recovery.in_flight(&self.space)),
            cwnd_limited: self.is_cwnd_limited(),
            held: self.release.held(ack.now),
            is_selective: self.recovery.is_selective(),
            ..Progress::default()
        };
        if let Some(delivery) = self.window.delivery_mut() {
            let (progress, rate) = delivery.on_ack(ack.now, segment, flight, ack.delivered, ack.min_rtt);
            (ack.progress, ack.rate) = (Some(progress), rate);
        }
    }
}
