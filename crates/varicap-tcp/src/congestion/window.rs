//! The congestion control of a sender, what it said last, and what is counted on its behalf.

use std::num::NonZeroU64;

use varicap_units::{Bytes, Rate, Span, Time};

use super::delivery::Delivery;
use super::{AckSample, CongestionControl, Controller, EcnNeed, RateSample};
use crate::segment::Segment;

/// What counting rounds and delivery rates needs of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    /// The acknowledgement.
    pub(crate) segment: &'a Segment,
    /// End of what was ever sent [B].
    pub(crate) sent: u64,
    /// Data in flight after it [B].
    pub(crate) in_flight: u64,
    /// Whether cwnd was used up at some time in the last round trip.
    pub(crate) cwnd_limited: bool,
    /// How long pacing holds the next segment back.
    pub(crate) held: Span,
    /// Whether the receiver says what it holds out of order.
    pub(crate) is_selective: bool,
}

/// What a control says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Says {
    pub(super) cwnd: Bytes,
    pub(super) ssthresh: Option<Bytes>,
    pub(super) pacing_rate: Option<Rate>,
    pub(super) is_holding_back: bool,
}

/// The congestion control, and what it said last: the fast path reads it from here.
#[derive(Debug)]
pub(crate) struct Window {
    control: Controller,
    /// It learns of new data in line, and says its threshold itself.
    is_in_line: bool,
    is_holding_back: bool,
    /// Whether it has a rate at which to pace, and that [b/s].
    has_rate: bool,
    rate: Rate,
    /// Its threshold, or 0 [B].
    ssthresh: u64,
    cwnd: u64,
    /// The window while it falls, whatever the control says [B].
    falling: Option<NonZeroU64>,
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
            is_in_line: control.is_in_line(),
            control,
            is_holding_back: false,
            has_rate: false,
            rate: Rate::UNLIMITED,
            ssthresh: 0,
            cwnd: 0,
            falling: None,
            paces: false,
            always_paces,
            cap: Rate::UNLIMITED,
            every_ack: wants.every_ack,
            counts_marks: wants.ecn == EcnNeed::EachByte,
            round: 0,
            round_end: 0,
            delivery: wants.rate_samples.then(Box::default),
        };
        window.update();
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
        self.cwnd
    }

    /// Whether the control is below its slow start threshold, if it has one.
    #[inline]
    pub(crate) fn is_in_slow_start(&self) -> bool {
        let in_line = || self.control.ssthresh().map_or(0, Bytes::as_u64);
        self.cwnd < if self.is_in_line { in_line() } else { self.ssthresh }
    }

    /// Whether segments are spaced out, at a rate of the control or otherwise.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.paces
    }

    /// The control's own rate at which to pace, if it has one, no more than the cap [b/s].
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        if self.has_rate { Some(self.rate.min(self.cap)) } else { None }
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
        self.update();
        if !was_paced {
            self.tell_if_paced();
        }
    }

    /// New data was acknowledged in the fast path.
    #[inline]
    pub(crate) fn on_new_data<'a>(&mut self, news: impl FnOnce() -> (AckSample, Arrived<'a>)) {
        match self.control.in_line() {
            Some(control) => {
                control.on_ack(&news().0);
                debug_assert!(self.falling.is_none(), "the fast path while the window falls");
                self.cwnd = control.cwnd().as_u64();
            }
            None => {
                let (ack, arrived) = news();
                self.count_round(arrived.segment.ack, arrived.sent);
                self.on_ack(ack, arrived, true);
            }
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
    pub(crate) fn hears(&self, counts: bool) -> bool {
        counts || self.every_ack || self.delivery.is_some()
    }

    /// An acknowledgement arrived, and what it calls for has not been done yet: [`Window::on_ack`] follows.
    #[inline]
    pub(crate) fn in_ack_event(&mut self, ack: AckSample) {
        if self.counts_marks {
            self.control.in_ack_event(&AckSample { round: self.round, ..ack });
        }
    }

    /// An acknowledgement arrived. It `counts` if it may open the window of an ordinary control.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, mut ack: AckSample, arrived: Arrived<'_>, counts: bool) {
        ack.round = self.round;
        ack.may_open = counts;
        if let Some(delivery) = &mut self.delivery {
            delivery.complete(&mut ack, &arrived);
        }
        if counts || self.every_ack {
            let said = self.control.hear(&ack);
            self.follow(&said);
        }
        if let Some(delivery) = &mut self.delivery
            && self.is_holding_back
        {
            delivery.on_gap(arrived.in_flight);
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
        self.update();
    }

    /// The bytes of `data` were found to be lost.
    #[cold]
    pub(crate) fn on_lost(&mut self, now: Time, data: (u64, u64)) {
        if let Some(delivery) = &mut self.delivery {
            let control = &mut self.control;
            delivery.on_lost(data, |loss| control.on_lost(now, loss));
            self.update();
        }
    }

    /// The same window, of which delivery rates are measured whether its control asks for samples or not.
    pub(crate) fn measuring_rates(self) -> Window {
        if self.delivery.is_some() {
            return self;
        }
        // In a box it learns of new data as others do, with the whole sample.
        let control = Controller::Boxed(Box::new(self.control));
        Window { control, is_in_line: false, delivery: Some(Box::default()), ..self }
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
        self.update();
    }

    /// Sets the window while it falls; none: it is the control's again [B].
    pub(crate) fn fall_to(&mut self, window: Option<u64>) {
        self.falling = window.and_then(NonZeroU64::new);
        self.cwnd = window.unwrap_or_else(|| self.control.cwnd().as_u64());
    }

    fn update(&mut self) {
        let said = self.control.says();
        self.follow(&said);
    }

    /// Follows what the control has just said.
    #[inline]
    fn follow(&mut self, said: &Says) {
        debug_assert!(said.cwnd > Bytes::ZERO, "a window of nothing never opens again");
        self.cwnd = self.falling.map_or(said.cwnd.as_u64(), NonZeroU64::get);
        self.ssthresh = said.ssthresh.map_or(0, Bytes::as_u64);
        self.is_holding_back = said.is_holding_back;
        self.has_rate = said.pacing_rate.is_some();
        self.rate = said.pacing_rate.unwrap_or(Rate::UNLIMITED);
        self.paces = self.always_paces || !self.cap.is_unlimited() || self.has_rate;
    }
}
