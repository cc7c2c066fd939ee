//! When the first handover begins, and what a run draws of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::{JsonSchema, Span, Streams, choice, stream_name};

use crate::capacity::{CapacityParts, OpportunityParts};
use crate::delay::DelayParts;
use crate::handover::Clock;
use crate::link::LinkParts;
use crate::loss::LossParts;
use crate::reactive::ReactiveParts;

/// When the first handover begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum HandoverPhase {
    /// At a time of its own for each run, uniform over a period. All links of a run draw the same share of theirs.
    Random,
    /// So long after the beginning of the run; may be written as the time alone: `"4 s"`.
    FirstAt(Span),
}
choice!(HandoverPhase, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Span>().map(HandoverPhase::FirstAt))
});

impl LinkParts {
    /// The same with the phase of its handovers drawn for one run, if that is random.
    pub(crate) fn drawn(&self, streams: &Streams) -> Option<LinkParts> {
        let drawn = |clock: &Clock| clock.drawn(streams.stream(&stream_name::handover_phase()));
        let capacity = drawn_capacity(&self.capacity, &drawn);
        let delay = match &self.delay {
            DelayParts::HandedOver(parts) => {
                drawn(&parts.clock).map(|clock| DelayParts::HandedOver(Arc::new(parts.with(clock))))
            }
            _ => None,
        };
        let loss = match &self.loss {
            LossParts::Bursts(parts) => {
                drawn(&parts.clock).map(|clock| LossParts::Bursts(Arc::new(parts.with(clock))))
            }
            _ => None,
        };
        if capacity.is_none() && delay.is_none() && loss.is_none() {
            return None;
        }
        let mut parts = self.clone();
        parts.capacity = capacity.unwrap_or(parts.capacity);
        parts.delay = delay.unwrap_or(parts.delay);
        parts.loss = loss.unwrap_or(parts.loss);
        Some(parts)
    }
}

fn drawn_capacity(
    capacity: &CapacityParts,
    drawn: &dyn Fn(&Clock) -> Option<Clock>,
) -> Option<CapacityParts> {
    match capacity {
        CapacityParts::Interrupted(parts) => {
            let clock = drawn(&parts.outages.clock)?;
            let mut parts = parts.clone();
            parts.outages.clock = clock;
            Some(CapacityParts::Interrupted(parts))
        }
        CapacityParts::Opportunities(parts) => {
            let mut outages = parts.outages?;
            outages.clock = drawn(&outages.clock)?;
            let outages = Some(outages);
            Some(CapacityParts::Opportunities(OpportunityParts { outages, ..parts.clone() }))
        }
        CapacityParts::LoadReactive(parts) => {
            let residual = drawn_capacity(&parts.residual, drawn)?;
            let config = parts.config.clone();
            Some(CapacityParts::LoadReactive(Arc::new(ReactiveParts { config, residual })))
        }
        _ => None,
    }
}
