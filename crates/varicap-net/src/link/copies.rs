//! Frames that come twice, and frames that are damaged, after the server: what netem does besides delay and loss.

use varicap_units::Time;

use super::{Inside, Link};
use crate::frame::{Frame, LossCause, Lost, Watch};

impl<F: Frame> Link<F> {
    /// The frame in service is through at `at`, on a link with copies or damage: as in netem, the copy is decided on before
    /// the loss, which takes one of the two at most, and the copy fares on its own after the frame itself.
    pub(super) fn send_off_copied<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let copy = self.copy(at, watch);
        let came_through = self.send_off_delayed(at, watch);
        let Some(frame) = copy else { return };
        if came_through && self.loss.loses(at, at) {
            return watch.on_lost(Lost { at, cause: LossCause::Channel, frame });
        }
        self.renew_delay(at);
        self.line.insert(self.under_way, Inside { time: at + self.delay, frame });
        self.under_way += 1;
        self.damage(at, watch);
        self.settle();
    }

    /// A copy of the frame in service, if it comes twice.
    fn copy<W: Watch<F>>(&mut self, at: Time, watch: &mut W) -> Option<F> {
        let copies = self.varying.as_mut()?.copies.as_mut()?;
        let through = self.line.get(self.under_way)?;
        if copies.duplicates() { watch.on_copied(at, &through.frame) } else { None }
    }

    /// Damages the frame that set out last, if its number comes up.
    pub(super) fn damage<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Some(copies) = self.varying.as_mut().and_then(|varying| varying.copies.as_mut()) else { return };
        if copies.corrupts()
            && let Some(last) = self.line.get_mut(self.under_way - 1)
        {
            last.frame.damage();
            watch.on_damaged(at, &last.frame);
        }
    }
}
