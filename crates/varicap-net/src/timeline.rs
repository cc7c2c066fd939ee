//! Values that hold from given instants on, and paths along them: what steps and traces have in common.

use std::sync::Arc;

use varicap_units::part::{Checked, Fault, require};
use varicap_units::{Rate, Span, Time};

use crate::check::{same_length, singular};

/// Values and the instants from which they hold, the first at zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline<V = Rate> {
    at: Vec<Span>,
    values: Vec<V>,
    /// How long it is, later than all its instants; without a length its last value holds indefinitely.
    length: Option<Span>,
    /// Whether it begins again after its length.
    repeats: bool,
}

/// Checks instants that increase from zero on, as many as `list` has values, and a period that is later than all.
pub(crate) fn check_instants(at: &[Span], list: (&str, usize), period: Option<Span>) -> Checked {
    let (key, count) = list;
    same_length("at", at.len(), count, singular(key))?;
    let Some((first, last)) = at.first().zip(at.last()) else {
        return Err(Fault::new(key, "empty", format!("at least one {}", singular(key))));
    };
    require("at.0", *first == Span::ZERO, first, "0 s")?;
    if let Some(index) = (1..at.len()).find(|&index| at[index] <= at[index - 1]) {
        let expected = format!("later than {}", at[index - 1]);
        return Err(Fault::new(format!("at.{index}"), at[index], expected));
    }
    match period.filter(|period| period <= last) {
        Some(period) => Err(Fault::new("period", period, format!("longer than the last step at {last}"))),
        None => Ok(()),
    }
}

impl<V: Copy> Timeline<V> {
    /// Values at instants that increase from zero on; `length` is later than all of them.
    pub(crate) fn new(at: Vec<Span>, values: Vec<V>, length: Option<Span>, repeats: bool) -> Timeline<V> {
        debug_assert!(
            at.first() == Some(&Span::ZERO) && at.is_sorted_by(|a, b| a < b),
            "instants increase from zero"
        );
        debug_assert_eq!(at.len(), values.len(), "a value for each instant");
        debug_assert!(
            length > at.last().copied() || length.is_none(),
            "the length is later than all instants"
        );
        Timeline { at, values, length, repeats }
    }

    /// Each value and the instant from which it holds.
    pub fn pieces(&self) -> impl Iterator<Item = (Span, V)> {
        self.at.iter().copied().zip(self.values.iter().copied())
    }

    /// How long it is; without a length its last value holds indefinitely.
    pub fn length(&self) -> Option<Span> {
        self.length
    }

    /// Each value and how long it holds in the course of the length; without a length, the last value alone.
    pub(crate) fn held(&self) -> impl Iterator<Item = (V, Span)> {
        let last = self.at.len() - 1;
        let skipped = if self.length.is_some() { 0 } else { last };
        let ends = self.at.iter().skip(1).copied().chain([self.length.unwrap_or(Span::MAX)]);
        self.pieces().zip(ends).map(|((at, value), until)| (value, until - at)).skip(skipped)
    }
}

impl Timeline<Span> {
    /// The least of its values.
    pub(crate) fn least(&self) -> Span {
        self.values.iter().min().copied().unwrap_or_default()
    }
}

/// A path along a timeline.
#[derive(Clone, Debug)]
pub struct Steps<V = Rate> {
    timeline: Arc<Timeline<V>>,
    /// How far into the timeline the path begins.
    offset: Span,
    /// Start of the present round, on the clock of the timeline, which is `offset` ahead.
    base: Time,
    index: usize,
}

impl<V: Copy> Steps<V> {
    /// The path from the timeline's beginning.
    pub fn new(timeline: Arc<Timeline<V>>) -> Steps<V> {
        Steps::begun(timeline, Span::ZERO)
    }

    /// The path that begins when `offset` of the timeline is over.
    pub fn begun(timeline: Arc<Timeline<V>>, offset: Span) -> Steps<V> {
        Steps { timeline, offset, base: Time::ZERO, index: 0 }
    }

    fn until(&self) -> Time {
        match (self.timeline.at.get(self.index + 1), self.timeline.length) {
            (Some(next), _) => self.base + *next,
            (None, Some(length)) if self.timeline.repeats => self.base + length,
            (None, _) => Time::NEVER,
        }
    }

    /// The value at `now`, which never decreases from call to call, and the instant until which it holds.
    pub(crate) fn piece(&mut self, now: Time) -> (V, Time) {
        let now = now + self.offset;
        debug_assert!(now >= self.base, "time runs backwards: {now:?}, before {:?}", self.base);
        while self.until() <= now {
            self.index += 1;
            if self.index == self.timeline.at.len() {
                self.index = 0;
                self.base += self.timeline.length.unwrap_or(Span::MAX);
            }
        }
        let until = self.until();
        let until = if until.is_never() { until } else { Time::ZERO + until.since(Time::ZERO + self.offset) };
        (self.timeline.values[self.index], until)
    }
}
