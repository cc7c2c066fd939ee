//! Marks above a threshold: what a switch does for DCTCP. Source: RFC 8257 §3.1.
//!
//! A frame that finds more than the threshold is marked as it arrives; with a threshold in time, one that has waited longer is
//! marked as it leaves. There is no average and no memory. Frames that cannot be marked pass up to the limit, or are dropped
//! in their stead, as a switch does that has RED with both thresholds at the same place.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, JsonSchema, Span, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting, held};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Marks of all that exceeds a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StepMarkingConfig {
    /// Hard limit of the queue. Default: 1000 packets.
    pub limit: Amount,
    /// Queue above which an arriving packet is marked, the packet in service included (K of RFC 8257 §3.1). Default: 65 packets,
    /// unless there is a `delay` ([alizadeh10, §4]: at 10 Gb/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Amount>,
    /// Sojourn time above which a packet is marked as it leaves. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Drop what would be marked and is not ECN-capable. Default: false.
    pub drop: bool,
}

impl Default for StepMarkingConfig {
    fn default() -> StepMarkingConfig {
        StepMarkingConfig { limit: Amount::Packets(1000), threshold: None, delay: None, drop: false }
    }
}

impl StepMarkingConfig {
    /// The queue above which arrivals are marked, if that is what counts.
    fn threshold(&self) -> Option<Amount> {
        self.threshold.or(self.delay.is_none().then_some(Amount::Packets(65)))
    }
}

impl Part for StepMarkingConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        self.threshold.map_or(Ok(()), |threshold| part::amount("threshold", threshold))?;
        let one = self.threshold.is_none() || self.delay.is_none();
        part::require("delay", one, self.delay.unwrap_or_default(), "no `delay` beside a `threshold`")?;
        self.delay.map_or(Ok(()), |delay| part::bounded("delay", delay))
    }
}

impl QueuePart for StepMarkingConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        self.threshold.map(|threshold| ("threshold", threshold)).into_iter().collect()
    }
}

/// A queue that marks above a threshold.
#[derive(Debug)]
pub struct StepMarking<F> {
    fifo: Fifo<F>,
    limit: Limit,
    /// The backlog that an arrival may find without being marked.
    threshold: Limit,
    /// How long a frame may wait without being marked.
    delay: Span,
    drop: bool,
}

impl<F: Frame> StepMarking<F> {
    /// An empty queue.
    pub fn new(config: &StepMarkingConfig, site: &Site<'_>) -> StepMarking<F> {
        StepMarking {
            fifo: Fifo::new(),
            limit: site.limit(config.limit),
            threshold: config.threshold().map_or(Limit::NONE, |threshold| site.limit(threshold)),
            delay: config.delay.unwrap_or(Span::MAX),
            drop: config.drop,
        }
    }

    /// Whether an arrival that finds this much is to be marked. RFC 8257 §3.1: above the threshold.
    fn is_above(&self, found: Backlog) -> bool {
        let Limit { frames, bytes, overhead } = self.threshold;
        let counted = found.bytes.saturating_add(overhead * u64::from(found.frames));
        u64::from(found.frames) > frames || counted > bytes
    }

    /// Marks a frame; none if it is lost instead.
    fn mark<W: Watch<F>>(&self, now: Time, mut frame: F, watch: &mut W) -> Option<F> {
        if frame.mark_ce() {
            watch.on_mark(now, &frame);
        } else if self.drop {
            watch.on_lost(Lost { at: now, cause: LossCause::Aqm, frame });
            return None;
        }
        Some(frame)
    }
}

impl<F: Frame> QueueDiscipline<F> for StepMarking<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let waiting = self.fifo.backlog();
        if !self.limit.admits(waiting, frame.wire_size()) {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        let is_above = self.is_above(held(waiting, transmitter.state, true));
        let kept = if is_above { self.mark(now, frame, watch) } else { Some(frame) };
        if let Some(frame) = kept {
            self.fifo.push(now, frame);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        loop {
            let Waiting { frame, arrived } = self.fifo.pop()?;
            let is_above = now.since(arrived) > self.delay;
            let kept = if is_above { self.mark(now, frame, watch) } else { Some(frame) };
            if let Some(frame) = kept {
                return Some(Waiting { frame, arrived });
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
