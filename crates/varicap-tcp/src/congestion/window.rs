//! The congestion control of a sender, and what it said last.

use varicap_units::Rate;

use super::{AckSample, CongestionControl, Controller};

/// The congestion control of a sender, and what it last said: the way of every segment reads it from here.
#[derive(Debug)]
pub(crate) struct Window {
    control: Controller,
    cwnd: u64,
    paces: bool,
}

impl Window {
    pub(crate) fn new(control: Controller) -> Window {
        let mut window = Window { control, cwnd: 0, paces: false };
        window.update();
        window
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

    /// The rate at which to pace, if it paces [b/s].
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        if self.paces { self.control.pacing_rate() } else { None }
    }

    /// New data was acknowledged, as `sample` tells.
    #[inline]
    pub(crate) fn on_ack(&mut self, sample: impl FnOnce() -> AckSample) {
        // Reno's few instructions stand in line, and it asks for little of the sample.
        match &mut self.control {
            Controller::Reno(reno) => {
                reno.on_ack(&sample());
                self.cwnd = reno.cwnd().as_u64();
            }
            _ => self.change(|control| control.on_ack(&sample())),
        }
    }

    /// Tells the control of something that may change what it says.
    #[inline(never)]
    pub(crate) fn change(&mut self, tell: impl FnOnce(&mut Controller)) {
        tell(&mut self.control);
        self.update();
    }

    fn update(&mut self) {
        self.cwnd = self.control.cwnd().as_u64();
        self.paces = self.control.pacing_rate().is_some();
    }
}
