//! The light opportunities of a link: those of a train that a burst begins. Source: [cellreplay].

use std::ops::Range;

use varicap_units::{Span, Stream, Time};

use crate::capacity::{LightParts, NANOS_PER_MS, TraceOffset};

/// Which train a burst meets, and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Light {
    parts: LightParts,
    /// How far into its trains the run began.
    offset: Span,
    /// When the present train began.
    began: Time,
    /// The opportunities of it that are still to come.
    rest: Range<usize>,
    /// When a frame last left the link.
    departed: Option<Time>,
}

impl Light {
    /// Trains that are entered after the same share of their length as the trace beside them, if that is random.
    pub fn new(parts: &LightParts, offset: TraceOffset, stream: Stream) -> Light {
        let offset = offset.draw(Some(parts.trains.period()), stream);
        Light { parts: parts.clone(), offset, began: Time::ZERO, rest: 0..0, departed: None }
    }

    /// Whether a train is under way: the other opportunities then pass unused.
    pub fn is_under_way(&self) -> bool {
        !self.rest.is_empty()
    }

    /// The next opportunity of the train; never if it is over.
    pub fn next(&self) -> Time {
        if self.rest.is_empty() {
            Time::NEVER
        } else {
            self.began + self.parts.trains.opportunity(self.rest.start)
        }
    }

    /// An opportunity of the train passes.
    pub fn pass(&mut self) {
        self.rest.start += 1;
    }

    /// A frame finds the link empty: a train begins with it, unless another frame left just before. CellReplay's clock
    /// counts whole milliseconds: a finer one would begin a train for each frame of a paced sender.
    pub fn begin(&mut self, now: Time) {
        let millis = |at: Time| at.as_nanos() / NANOS_PER_MS;
        if self.departed.is_none_or(|departed| millis(now) > millis(departed + self.parts.idle)) {
            (self.began, self.rest) = (now, self.parts.trains.at(millis(now + self.offset)));
        }
    }

    /// A frame leaves.
    pub fn on_departure(&mut self, at: Time) {
        self.departed = Some(at);
    }
}
