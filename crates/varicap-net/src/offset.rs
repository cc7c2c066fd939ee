//! Where in a trace a run begins.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault};
use varicap_units::{JsonSchema, Span, Stream, choice};

/// Where in a trace a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum TraceOffset {
    /// At an instant of its own for each run, uniform over the trace. All traces of a run are entered after the same
    /// share of their length, so that traces recorded together stay together.
    Random,
    /// So far into the trace; may be written as the time alone: `"12 s"`.
    At(Span),
}
choice!(TraceOffset, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Span>().map(TraceOffset::At))
});

impl Default for TraceOffset {
    fn default() -> TraceOffset {
        TraceOffset::At(Span::ZERO)
    }
}

impl TraceOffset {
    /// A random offset needs a trace that begins again: otherwise most runs would outlast what is left of it.
    pub(crate) fn check(self, repeat: bool) -> Checked {
        if self == TraceOffset::Random && !repeat {
            return Err(Fault::new("offset", "random", "a time, or `repeat = true`"));
        }
        Ok(())
    }

    /// The same for a trace of this length, which must reach beyond the offset; one without a length is constant.
    pub(crate) fn check_within(self, length: Option<Span>) -> Checked {
        match (self, length) {
            (TraceOffset::At(offset), Some(length)) if offset >= length => {
                Err(Fault::new("offset", offset, format!("less than the length of the trace, {length}")))
            }
            _ => Ok(()),
        }
    }

    /// How far into a trace of this length a run begins; `stream` draws the share of the length that a random offset
    /// skips, the same for all traces that draw from streams of one name.
    pub(crate) fn draw(self, length: Option<Span>, mut stream: Stream) -> Span {
        match (self, length) {
            (TraceOffset::At(offset), _) => offset,
            (TraceOffset::Random, Some(length)) => Span::from_nanos(stream.below(length.as_nanos())),
            (TraceOffset::Random, None) => Span::ZERO,
        }
    }
}
