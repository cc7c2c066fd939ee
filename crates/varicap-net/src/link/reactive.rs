//! A link whose capacity a controller sets.

use varicap_units::Time;

use super::{Inside, Link, Transmission};
use crate::capacity::CapacityProcess;
use crate::frame::{Frame, Watch};
use crate::queue::{Queue, QueueDiscipline, Transmitter, TransmitterState};
use crate::reactive::{LoadReactiveControl, QueueSample, Setting};

impl<F: Frame> Link<F> {
    /// Replaces the controller of a load-reactive link; other links have none.
    pub fn set_control(&mut self, control: Box<dyn LoadReactiveControl>) {
        if let Some(reactive) = &mut self.reactive {
            reactive.set_control(control);
        }
    }

    /// Takes the samples of a load-reactive link away from its own controller: they are taken by [`Link::observe`], and
    /// what follows from them comes through [`Link::allot`].
    pub fn hand_over(&mut self) {
        if let Some(reactive) = &mut self.reactive {
            reactive.hand_over();
        }
    }

    /// The sample that a controller would see at `now`; nothing on a link that is not load-reactive.
    pub fn observe<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<QueueSample> {
        self.advance(now, watch);
        let capacity = self.rate();
        self.reactive.as_mut().map(|reactive| reactive.observe(now, capacity))
    }

    /// The setting that the link's own controller makes of a sample.
    pub fn wish(&mut self, sample: &QueueSample) -> Option<Setting> {
        self.reactive.as_mut().map(|reactive| reactive.wish(sample))
    }

    /// Sets a load-reactive link from `now` on, within its minimum and residual.
    pub fn allot<W: Watch<F>>(&mut self, now: Time, setting: Setting, watch: &mut W) {
        self.advance(now, watch);
        let capacity = self.rate();
        if let Some(reactive) = &self.reactive {
            let setting = reactive.allowed(setting, capacity);
            self.apply(now, setting, watch);
        }
    }

    /// The residual changes, a sample is due, or both: then the residual comes first.
    pub(super) fn pass_reactive_change<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let before = self.rate();
        let (Some(reactive), Transmission::Rate(_, residual)) = (&mut self.reactive, &mut self.transmission)
        else {
            return;
        };
        if at == Time::ZERO {
            watch.on_capacity(at, before);
        }
        let mut setting = Setting::of(before);
        if reactive.residual_until() == at {
            setting = Setting::of(reactive.on_residual(residual.segment(at), before));
        }
        if reactive.next() == at {
            setting = reactive.sample(at, setting.capacity);
        }
        self.apply(at, setting, watch);
        if let Some(reactive) = &self.reactive {
            self.change = reactive.change();
        }
    }

    fn apply<W: Watch<F>>(&mut self, at: Time, setting: Setting, watch: &mut W) {
        if let Some(reactive) = &self.reactive {
            debug_assert!(
                reactive.is_within(setting.capacity, self.rate()),
                "{} lies outside of minimum and residual",
                setting.capacity
            );
        }
        self.change_rate(at, setting.capacity, watch);
        if let Some(delay) = setting.delay {
            self.set_delay(delay);
        }
        if let (Some(limit), Queue::Managed(queue)) = (setting.limit, &mut self.queue) {
            queue.set_limit(limit);
        }
    }

    /// The end of a push where a controller observes the queue.
    pub(super) fn push_reactive<W: Watch<F>>(
        &mut self,
        now: Time,
        frame: F,
        transmitter: Transmitter,
        watch: &mut W,
    ) {
        let (Some(reactive), Queue::Managed(queue)) = (&mut self.reactive, &mut self.queue) else { return };
        if reactive.passes(&frame) {
            return self.pass_by(now, frame, watch);
        }
        reactive.enqueue(queue, now, frame, transmitter, watch);
        if transmitter.state == TransmitterState::Free {
            self.wake(now, watch);
        }
    }

    /// Sends a frame that neither waits nor takes capacity; it overtakes what waits, but not what is under way.
    fn pass_by<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        let backlog = self.backlog();
        watch.on_bypass(now, &frame);
        watch.on_departure(now, now, &frame, backlog);
        self.renew_delay(now);
        self.line.insert(self.under_way, Inside { time: now + self.delay, frame });
        if self.loss.loses(now, now) {
            return self.lose(now, watch);
        }
        self.under_way += 1;
        self.settle();
    }
}
