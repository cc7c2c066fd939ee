//! Invariants of a link whenever it is asked anything, checked in debug builds: each frame that arrived was delivered, was
//! lost, or is still inside.

use varicap_units::{Bytes, Rate, Span, Time};

use super::Link;
use crate::frame::{Ahead, Backlog, Frame, Lost, Watch};

/// An observer that counts losses and copies, and passes everything on.
pub(super) struct Tally<'a, W> {
    watch: &'a mut W,
    pub lost: usize,
    pub copied: usize,
}

impl<'a, W> Tally<'a, W> {
    /// Nothing has been lost or copied so far.
    pub fn of(watch: &'a mut W) -> Tally<'a, W> {
        Tally { watch, lost: 0, copied: 0 }
    }
}

impl<F, W: Watch<F>> Watch<F> for Tally<'_, W> {
    fn on_arrival(&mut self, at: Time, frame: &F, backlog: Backlog) {
        self.watch.on_arrival(at, frame, backlog);
    }

    fn on_lost(&mut self, lost: Lost<F>) {
        self.lost += 1;
        self.watch.on_lost(lost);
    }

    fn on_copied(&mut self, at: Time, frame: &F) -> Option<F> {
        let copy = self.watch.on_copied(at, frame);
        self.copied += usize::from(copy.is_some());
        copy
    }

    fn on_damaged(&mut self, at: Time, frame: &F) {
        self.watch.on_damaged(at, frame);
    }

    fn on_mark(&mut self, at: Time, frame: &F) {
        self.watch.on_mark(at, frame);
    }

    fn on_departure(&mut self, at: Time, arrived: Time, frame: &F, backlog: Backlog) {
        self.watch.on_departure(at, arrived, frame, backlog);
    }

    fn on_bypass(&mut self, at: Time, frame: &F) {
        self.watch.on_bypass(at, frame);
    }

    fn on_backlog(&mut self, at: Time, backlog: Backlog) {
        self.watch.on_backlog(at, backlog);
    }

    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.watch.on_capacity(at, rate);
    }

    fn on_rate_kept(&mut self, at: Time, rate: Rate, until: Time) {
        self.watch.on_rate_kept(at, rate, until);
    }

    fn on_transmission(&mut self, at: Time, is_again: bool) {
        self.watch.on_transmission(at, is_again);
    }

    fn on_opportunity(&mut self, at: Time, offered: Bytes, used: Bytes) {
        self.watch.on_opportunity(at, offered, used);
    }

    fn on_offered(&mut self) {
        self.watch.on_offered();
    }

    fn on_planned(&mut self, wait: Span, size: Bytes) {
        self.watch.on_planned(wait, size);
    }

    fn on_waiting(&mut self, backlog: Backlog) -> Backlog {
        self.watch.on_waiting(backlog)
    }

    fn on_passed(&mut self, at: Time, arrived: Time, frame: &F) {
        self.watch.on_passed(at, arrived, frame);
    }

    fn on_reported(&mut self, ahead: Ahead) {
        self.watch.on_reported(ahead);
    }
}

impl<F: Frame> Link<F> {
    /// Of `held` frames, those that were inside and those that came, `gone` were delivered or lost, and the others are
    /// inside.
    pub(super) fn audit(&self, held: usize, gone: usize) {
        assert_eq!(held, gone + self.inside(), "frames that arrived are delivered, lost or inside");
        if self.pipe.is_some() {
            return;
        }
        let served = usize::from(self.in_service.is_some());
        let in_line = self.under_way + served + self.waiting.frames as usize;
        assert_eq!(self.line.len(), in_line, "the line holds what is under way, in service and waits in it");
    }
}
