//! The congestion control of a sender, what it said last, and what is counted on its behalf.

use std::num::NonZeroU64;

use varicap_units::{Bytes, Rate, Span, Time};

use super::delivery::Delivery;
use super::{AckSample, CongestionControl, Controller, EcnNeed, RateSample};

/// The state of a control, as far as its sender reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlState {
    /// Congestion window [B].
    pub(super) cwnd: Bytes,
    /// Slow start threshold, if it has one [B].
    pub(super) ssthresh: Option<Bytes>,
    /// The rate at which to pace, if it has one [b/s].
    pub(super) pacing_rate: Option<Rate>,
    /// Whether it holds back what the path could carry.
    pub(super) is_holding_back: bool,
}

/// The congestion control, and its state after it was last informed of anything: the sender reads that from here.
#[derive(Debug)]
pub(crate) struct Window {
    control: Controller,
    state: ControlState,
    /// The window of a recovery that reduces it proportionally, in place of the control's (RFC 9937) [B].
    prr_cwnd: Option<NonZeroU64>,
    paces: bool,
    /// Segments are spaced out even if the control does not ask for it.
    always_paces: bool,
    /// No segment leaves faster than this; unlimited: there is no such cap [b/s].
    cap: Rate,
    every_ack: bool,
    /// It counts marks before an echo of theirs makes the window smaller.
    counts_marks: bool,
    round: u64,
    /// The round ends when this is acknowledged: the end of what was sent when it began [B].
    round_end: u64,
    delivery: Option<Box<Delivery>>,
}

impl Window {
    /// A window that `control` opens, of which segments are spaced out if it paces, or `always`.
    pub(crate) fn new(control: Controller, always_paces: bool) -> Window {
        let wants = control.wants();
        let mut window = Window {
            state: control.state(),
            control,
            prr_cwnd: None,
            paces: false,
            always_paces,
            cap: Rate::UNLIMITED,
            every_ack: wants.every_ack,
            counts_marks: wants.ecn == EcnNeed::EachByte,
            round: 0,
            round_end: 0,
            delivery: wants.rate_samples.then(Box::default),
        };
        window.refresh();
        window.tell_if_paced();
        window
    }

    /// A control is told that segments are spaced out when that begins, not with each acknowledgement.
    fn tell_if_paced(&mut self) {
        if self.paces {
            self.control.on_paced();
        }
    }

    /// The congestion control itself.
    pub(crate) fn control(&self) -> &Controller {
        &self.control
    }

    /// Congestion window [B].
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.prr_cwnd.map_or(self.state.cwnd.as_u64(), NonZeroU64::get)
    }

    /// Whether the control is below its slow start threshold, if it has one.
    #[inline]
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.state.ssthresh.is_some_and(|ssthresh| self.cwnd() < ssthresh.as_u64())
    }

    /// Whether segments are spaced out, at a rate of the control or otherwise.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.paces
    }

    /// The control's own rate at which to pace, if it has one, no more than the cap [b/s].
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.state.pacing_rate.map(|rate| rate.min(self.cap))
    }

    /// The rate that no pace exceeds, if there is one [b/s].
    #[inline]
    pub(crate) fn cap(&self) -> Option<Rate> {
        if self.cap.is_unlimited() { None } else { Some(self.cap) }
    }

    /// From now on segments leave no faster than at `rate`.
    pub(crate) fn cap_at(&mut self, rate: Rate) {
        let was_paced = self.paces;
        self.cap = rate;
        self.refresh();
        if !was_paced {
            self.tell_if_paced();
        }
    }

    /// Data below `acked` was acknowledged of what was `sent`: a round trip may have ended.
    #[inline]
    pub(crate) fn count_round(&mut self, acked: u64, sent: u64) {
        if acked > self.round_end {
            self.round += 1;
            self.round_end = sent;
        }
    }

    /// Whether anything learns of an acknowledgement that `counts`, or does not.
    #[inline]
    pub(crate) fn takes_sample(&self, counts: bool) -> bool {
        counts || self.every_ack || self.delivery.is_some()
    }

    /// Number of the round trip.
    #[inline]
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// The delivery rates, if they are measured.
    #[inline]
    pub(crate) fn delivery_mut(&mut self) -> Option<&mut Delivery> {
        self.delivery.as_deref_mut()
    }

    /// An acknowledgement arrived, and what it calls for has not been done yet: [`Window::on_ack`] follows.
    #[inline]
    pub(crate) fn in_ack_event(&mut self, ack: &AckSample) {
        if self.counts_marks {
            self.control.in_ack_event(ack);
        }
    }

    /// An acknowledgement of new data arrived, and delivery rates are not measured. The sample is made where a control reads it.
    #[inline(always)]
    pub(crate) fn on_new_data(&mut self, sample: impl FnOnce() -> AckSample) {
        debug_assert!(self.delivery.is_none(), "the sample has no delivery rate");
        self.control.on_ack_then_state(sample, &mut self.state);
        self.note_state();
    }

    /// An acknowledgement arrived.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, ack: &AckSample) {
        if ack.may_open || self.every_ack {
            self.control.on_ack_then_state(|| ack, &mut self.state);
            self.note_state();
        }
        if let Some(delivery) = &mut self.delivery
            && self.state.is_holding_back
        {
            delivery.on_gap(ack.progress.map_or(0, |progress| progress.in_flight.as_u64()));
        }
    }

    /// The bytes of `data` leave now, after which `in_flight` bytes are; other data `is_outstanding` or not.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, data: (u64, u64), is_outstanding: bool, in_flight: u64) {
        if let Some(delivery) = &mut self.delivery {
            delivery.on_sent(now, data, is_outstanding, in_flight);
        }
    }

    /// Data is about to leave, `idle` after the last segment left, and none is in flight.
    #[inline(never)]
    pub(crate) fn on_start(&mut self, now: Time, idle: Span) {
        self.control.on_start(now, idle);
        if self.delivery.as_ref().is_some_and(|delivery| delivery.is_limited()) {
            self.control.on_restart(now);
        }
        self.refresh();
    }

    /// The bytes of `data` were found to be lost.
    #[cold]
    pub(crate) fn on_lost(&mut self, now: Time, data: (u64, u64)) {
        if let Some(delivery) = &mut self.delivery {
            let control = &mut self.control;
            delivery.on_lost(data, |loss| control.on_lost(now, loss));
            self.refresh();
        }
    }

    /// The same window, of which delivery rates are measured whether its control asks for samples or not.
    pub(crate) fn measuring_rates(self) -> Window {
        if self.delivery.is_some() {
            return self;
        }
        Window { delivery: Some(Box::default()), ..self }
    }

    /// Whether delivery rates are measured.
    #[inline]
    pub(crate) fn measures_rates(&self) -> bool {
        self.delivery.is_some()
    }

    /// The application left a gap, with `in_flight` bytes in flight.
    pub(crate) fn on_gap(&mut self, in_flight: u64) {
        if let Some(delivery) = &mut self.delivery {
            delivery.on_gap(in_flight);
        }
    }

    /// The delivery rate that was measured last.
    pub(crate) fn delivery_rate(&self) -> Option<RateSample> {
        self.delivery.as_ref().and_then(|delivery| delivery.measured())
    }

    /// Informs the control of something that may change what it says.
    #[inline(never)]
    pub(crate) fn change(&mut self, inform: impl FnOnce(&mut Controller)) {
        inform(&mut self.control);
        self.refresh();
    }

    /// Sets the window of a recovery that reduces it proportionally; none: it is the control's again [B].
    pub(crate) fn set_prr_cwnd(&mut self, window: Option<u64>) {
        self.prr_cwnd = window.and_then(NonZeroU64::new);
        self.refresh();
    }

    /// The control was informed of something.
    fn refresh(&mut self) {
        self.state = self.control.state();
        self.note_state();
    }

    #[inline]
    fn note_state(&mut self) {
        debug_assert!(self.state.cwnd > Bytes::ZERO, "a window of nothing never opens again");
        self.paces = self.always_paces || !self.cap.is_unlimited() || self.state.pacing_rate.is_some();
    }
}
