//! Load-reactive capacity: a controller samples the queue of its link and sets what the link offers. Source: [lrl, §3].
//!
//! ```text
//!   queue ──► what waits, came and was lost ──► controller ──► capacity (delay, limit)
//!                at each sample                                 within [minimum, residual]
//! ```
//!
//! A sample is a change of capacity like any other: links are advanced lazily, and process samples in order of time,
//! each at its own instant, after what the residual does at that instant and before what departs or arrives. A new
//! controller is one file that implements [`ReactivePart`] for its configuration, and one line of the registry in
//! `control.rs`.

mod config;
mod control;
mod custom;
mod hysteresis;
mod moving_average;
mod pi;
mod share;
mod step;
mod target_delay;

use std::sync::Arc;

use varicap_units::{Bytes, Rate, Span, Time};

use crate::capacity::{CapacityParts, CapacitySegment};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};
use crate::queue::{Limit, Managed, QueueDiscipline, Supply, Transmitter, Waiting};

pub use config::{ControlPackets, LoadReactiveConfig, OccupancyConfig, SmoothedConfig};
pub use control::{
    Control, LoadReactiveControl, Occupancy, QueueSample, ReactiveControlConfig, ReactivePart, Setting,
};
pub use custom::{Custom, CustomControl};
pub use hysteresis::{Combine, Hysteresis, HysteresisConfig, Thresholds};
pub use moving_average::{MovingAverage, MovingAverageConfig};
pub use pi::{Pi, PiConfig};
pub use share::{Claim, max_min};
pub use step::{ProportionalStep, Step};
pub use target_delay::{TargetDelay, TargetDelayConfig};

/// The parts of a load-reactive capacity, with the traces of its residual read.
#[derive(Clone, Debug)]
pub struct ReactiveParts {
    /// As the scenario has it.
    pub config: LoadReactiveConfig,
    /// The residual capacity: the most there is for it.
    pub residual: CapacityParts,
}

impl ReactiveParts {
    /// The name of the controller that has to come from outside, if there is to be one.
    pub fn policy(&self) -> Option<&str> {
        self.config.control.policy()
    }
}

/// The controller of one link with what it has seen.
#[derive(Debug)]
pub(crate) struct Reactive {
    parts: Arc<ReactiveParts>,
    control: Control,
    /// The limit that the queue has of its own.
    limit: Limit,
    packet: Bytes,
    /// When the next sample is due; never if samples are taken from outside.
    next: Time,
    residual: CapacitySegment,
    sampled: Option<Time>,
    /// Of what waits, the frames that count.
    waiting: Backlog,
    /// The frame in service, if it counts.
    in_service: Backlog,
    settled: Time,
    /// Integrals of what waited since the last sample [frames ns, B ns].
    frame_time: u128,
    byte_time: u128,
    arrived: Backlog,
    lost: Backlog,
    smoothed: Occupancy,
}

impl Reactive {
    /// The controller of an empty link whose queue has `limit` and whose full packets have `packet` bytes.
    pub fn new(
        parts: &Arc<ReactiveParts>,
        limit: Limit,
        packet: Bytes,
        residual: CapacitySegment,
    ) -> Reactive {
        Reactive {
            control: Control::new(&parts.config.control),
            limit,
            packet,
            // The links of a pool are sampled together, from outside.
            next: if parts.config.pool.is_some() { Time::NEVER } else { Time::ZERO + parts.config.phase },
            residual,
            sampled: None,
            waiting: Backlog::default(),
            in_service: Backlog::default(),
            settled: Time::ZERO,
            frame_time: 0,
            byte_time: 0,
            arrived: Backlog::default(),
            lost: Backlog::default(),
            smoothed: Occupancy::default(),
            parts: parts.clone(),
        }
    }

    /// The controller comes from outside.
    pub fn set_control(&mut self, control: Box<dyn LoadReactiveControl>) {
        self.control = Control::Custom(Custom(Some(control)));
    }

    /// From now on samples are taken from outside.
    pub fn hand_over(&mut self) {
        self.next = Time::NEVER;
    }

    /// When the residual changes, or the next sample is due.
    pub fn change(&self) -> Time {
        self.residual.until.min(self.next)
    }

    /// When the residual changes.
    pub fn residual_until(&self) -> Time {
        self.residual.until
    }

    /// When the next sample is due.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The residual changes; the capacity that follows from `capacity`.
    pub fn on_residual(&mut self, segment: CapacitySegment, capacity: Rate) -> Rate {
        self.residual = segment;
        self.bounded(capacity, capacity)
    }

    /// `wanted` within what the link may have, which has `now`.
    fn bounded(&self, wanted: Rate, now: Rate) -> Rate {
        let (minimum, residual) = (self.parts.config.minimum, self.residual.rate);
        if self.parts.config.pre_emption {
            wanted.max(minimum).min(residual)
        } else {
            wanted.min(residual.max(now)).max(minimum)
        }
    }

    /// Whether the link may have `capacity` after `before`: neither below the minimum nor above the residual, unless the
    /// residual lies below what the link need not give up.
    pub fn is_within(&self, capacity: Rate, before: Rate) -> bool {
        let (minimum, residual) = (self.parts.config.minimum, self.residual.rate);
        let kept = if self.parts.config.pre_emption { residual } else { residual.max(before).max(minimum) };
        capacity >= minimum.min(kept) && capacity <= kept
    }

    /// The sample that is due at `at` on a link that offers `capacity`: what the link is to offer from then on.
    pub fn sample(&mut self, at: Time, capacity: Rate) -> Setting {
        let sample = self.observe(at, capacity);
        self.next = at + self.parts.config.interval;
        let setting = self.control.on_sample(&sample);
        self.allowed(setting, capacity)
    }

    /// The capacity before the first sample.
    pub fn initial(&self) -> Rate {
        let initial = self.parts.config.initial.unwrap_or(self.parts.config.minimum);
        self.bounded(initial, initial)
    }

    /// The setting that the controller makes of a sample.
    pub fn wish(&mut self, sample: &QueueSample) -> Setting {
        self.control.on_sample(sample)
    }

    /// `setting` within what a link may have that offers `capacity` now.
    pub fn allowed(&self, setting: Setting, capacity: Rate) -> Setting {
        let capacity = self.bounded(setting.capacity, capacity);
        let follows = self.parts.config.buffer.map(|time| self.limit_of(capacity, time));
        Setting { capacity, limit: setting.limit.or(follows), ..setting }
    }

    /// The limit that holds what `capacity` carries in `time`.
    fn limit_of(&self, capacity: Rate, time: Span) -> Limit {
        let bits = (capacity * time).as_nanobits() / u128::from(varicap_units::NANOS_PER_SEC);
        let bytes = Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX)).max(self.packet);
        Limit { bytes: bytes.min(self.limit.bytes), ..self.limit }
    }

    /// The sample at `at`; the next one sees what comes after.
    pub fn observe(&mut self, at: Time, capacity: Rate) -> QueueSample {
        self.settle(at);
        let config = &self.parts.config;
        let waiting = self.counted();
        let now = Occupancy::from(waiting);
        let span = at.since(self.sampled.unwrap_or(at));
        let nanos = span.as_nanos() as f64;
        let mean = if nanos > 0.0 {
            Occupancy { frames: self.frame_time as f64 / nanos, bytes: self.byte_time as f64 / nanos }
        } else {
            now
        };
        let weight = match config.occupancy {
            OccupancyConfig::Smoothed(smoothed) => smoothed.weight,
            _ => SmoothedConfig::default().weight,
        };
        self.smoothed.drift(now, weight.get());
        let sample = QueueSample {
            at,
            span,
            capacity,
            minimum: config.minimum,
            residual: self.residual.rate,
            occupancy: match config.occupancy {
                OccupancyConfig::Instantaneous => now,
                OccupancyConfig::Mean => mean,
                OccupancyConfig::Smoothed(_) => self.smoothed,
            },
            waiting,
            mean,
            smoothed: self.smoothed,
            arrived: std::mem::take(&mut self.arrived),
            lost: std::mem::take(&mut self.lost),
            packet: self.packet,
        };
        self.sampled = Some(at);
        (self.frame_time, self.byte_time) = (0, 0);
        sample
    }

    /// The frames that wait, and the one in service if that counts.
    fn counted(&self) -> Backlog {
        if !self.parts.config.counts_in_service {
            return self.waiting;
        }
        let bytes = self.waiting.bytes + self.in_service.bytes;
        Backlog { frames: self.waiting.frames + self.in_service.frames, bytes }
    }

    /// Adds what waited since the last event to the integrals.
    fn settle(&mut self, at: Time) {
        debug_assert!(at >= self.settled, "time runs backwards: {at:?} after {:?}", self.settled);
        let nanos = u128::from(at.since(self.settled).as_nanos());
        self.settled = at;
        let counted = self.counted();
        self.frame_time += nanos * u128::from(counted.frames);
        self.byte_time += nanos * u128::from(counted.bytes.as_u64());
    }

    fn counts<F: Frame>(&self, frame: &F) -> bool {
        self.parts.config.control_packets == ControlPackets::Inside || !frame.is_control()
    }

    /// Whether the frame passes beside queue and server.
    pub fn passes<F: Frame>(&self, frame: &F) -> bool {
        self.parts.config.control_packets == ControlPackets::Outside && frame.is_control()
    }

    /// Offers a frame to the queue.
    pub fn enqueue<F: Frame, W: Watch<F>>(
        &mut self,
        queue: &mut Managed<F>,
        now: Time,
        frame: F,
        transmitter: Transmitter,
        watch: &mut W,
    ) {
        self.settle(now);
        if self.counts(&frame) {
            let size = frame.wire_size();
            add(&mut self.arrived, size);
            add(&mut self.waiting, size);
        }
        queue.enqueue(now, frame, transmitter, &mut Losses { watch, reactive: self });
        debug_assert!(
            self.agrees_with(queue.backlog()),
            "{:?} waits, not {:?}",
            queue.backlog(),
            self.waiting
        );
    }

    /// Takes the next frame into service.
    pub fn dequeue<F: Frame, W: Watch<F>>(
        &mut self,
        queue: &mut Managed<F>,
        now: Time,
        supply: Supply,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        self.settle(now);
        self.in_service = Backlog::default();
        let next = queue.dequeue(now, supply, &mut Losses { watch, reactive: self });
        if let Some(Waiting { frame, .. }) = &next
            && self.counts(frame)
        {
            let size = frame.wire_size();
            take(&mut self.waiting, size);
            add(&mut self.in_service, size);
        }
        debug_assert!(
            self.agrees_with(queue.backlog()),
            "{:?} waits, not {:?}",
            queue.backlog(),
            self.waiting
        );
        next
    }

    /// Whether the frames that count are those that wait in the queue: all of them, unless some are not counted.
    fn agrees_with(&self, backlog: Backlog) -> bool {
        let all = self.parts.config.control_packets == ControlPackets::Inside;
        if all { self.waiting == backlog } else { self.waiting.frames <= backlog.frames }
    }
}

fn add(backlog: &mut Backlog, size: Bytes) {
    backlog.frames += 1;
    backlog.bytes += size;
}

fn take(backlog: &mut Backlog, size: Bytes) {
    backlog.frames -= 1;
    backlog.bytes -= size;
}

/// Reports to the controller what its queue loses.
struct Losses<'a, W> {
    watch: &'a mut W,
    reactive: &'a mut Reactive,
}

impl<F: Frame, W: Watch<F>> Watch<F> for Losses<'_, W> {
    fn on_lost(&mut self, lost: Lost<F>) {
        if lost.cause != LossCause::Channel && self.reactive.counts(&lost.frame) {
            let size = lost.frame.wire_size();
            take(&mut self.reactive.waiting, size);
            add(&mut self.reactive.lost, size);
        }
        self.watch.on_lost(lost);
    }

    fn on_mark(&mut self, at: Time, frame: &F) {
        self.watch.on_mark(at, frame);
    }
}
