//! Trains of light opportunities: what a burst meets on a link that had nothing to send. Source: [cellreplay].
//!
//! A saturated cellular link is granted more than one that wakes up for a few packets. [cellreplay] records both at
//! once, a saturated link as a trace of opportunities (heavy), and every so often the arrivals of a short train of
//! packets (light). The format of the latter is that of its repository: a line for each train.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, bounded};
use varicap_units::{JsonSchema, Span};

use super::Files;
use crate::check::{Lines, read_digits, require_room};
use crate::error::NetError;

/// Latest instant of a trace: thirty years [ms].
pub(super) const LATEST_MS: u64 = 1_000_000_000_000;

/// Opportunities of bursts on a link that was idle. Source: [cellreplay].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LightConfig {
    /// The file, relative to the scenario's folder. A line for each train of packets that was recorded, of whole numbers
    /// with spaces between them: when it was sent [ms], the one-way delay [ms], which is not used, and how long after
    /// its first packet each of its packets came, the first one included [ms]. The time of the last line is the period.
    pub file: String,
    /// A frame that finds the link empty begins a train if nothing has left the link for longer than this, counted in
    /// whole milliseconds of the clock. Default: 0 s, as in CellReplay (`--long-to-short-timer-up`, `-down`).
    #[serde(default)]
    pub idle: Span,
}

impl Part for LightConfig {
    fn check(&self) -> Checked {
        bounded("idle", self.idle)
    }
}

impl LightConfig {
    /// Reads the file through `files`.
    pub(super) fn read(&self, files: &mut Files<'_>) -> Result<LightParts, NetError> {
        self.check()?;
        let trains = files.read(&self.file, String::new(), |text| Trains::parse(&self.file, text))?;
        Ok(LightParts { trains, idle: self.idle })
    }
}

/// Trains that were read, and when one begins.
#[derive(Clone, Debug)]
pub struct LightParts {
    /// The trains.
    pub trains: Arc<Trains>,
    /// How long nothing has left the link before a frame begins one.
    pub idle: Span,
}

/// Trains of opportunities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trains {
    /// When each was recorded [ms]; the last one is the period.
    starts: Vec<u64>,
    /// Where each ends among the opportunities.
    ends: Vec<usize>,
    /// Opportunities of all trains, each from the beginning of its own [ms].
    opportunities: Vec<u64>,
}

impl Trains {
    /// Reads a train from each line.
    pub fn parse(file: &str, text: impl BufRead) -> Result<Trains, NetError> {
        let mut trains = Trains { starts: Vec::new(), ends: Vec::new(), opportunities: Vec::new() };
        let mut lines = Lines::new(file, text);
        let mut last = (0, String::new());
        while let Some((number, text)) = lines.next()? {
            let refused = |expected: String| NetError::trace(file, number, text, expected);
            let numbers = text.split(' ').map(|word| read_digits(word).filter(|number| *number <= LATEST_MS));
            let numbers: Option<Vec<u64>> = numbers.collect();
            let expected = || {
                refused(format!(
                    "whole numbers up to {LATEST_MS} with spaces between them: a time, a delay, and the instants of one or \
                     more opportunities, all in ms"
                ))
            };
            let Some([start, _, opportunities @ ..]) = numbers.as_deref() else { return Err(expected()) };
            if opportunities.is_empty() {
                return Err(expected());
            }
            if trains.starts.last().is_some_and(|before| start <= before) {
                return Err(refused("a later time than on the line before".to_owned()));
            }
            if !opportunities.is_sorted() {
                return Err(refused("opportunities none of which is before the last one".to_owned()));
            }
            require_room(file, trains.opportunities.len() + opportunities.len())?;
            trains.starts.push(*start);
            trains.opportunities.extend(opportunities);
            trains.ends.push(trains.opportunities.len());
            last = (number, text.to_owned());
        }
        match trains.starts.len() {
            0 => Err(NetError::file(file, "is empty, expected a train of opportunities a line")),
            1 => Err(NetError::trace(
                file,
                last.0,
                &last.1,
                "at least two trains: the time of the last is the period",
            )),
            _ => Ok(trains),
        }
    }

    /// Opportunities of all trains.
    pub fn len(&self) -> usize {
        self.opportunities.len()
    }

    /// Never true of trains that were read.
    pub fn is_empty(&self) -> bool {
        self.opportunities.is_empty()
    }

    /// Time after which they begin again.
    pub fn period(&self) -> Span {
        Span::from_millis(self.starts.last().copied().unwrap_or_default())
    }

    /// The train that holds at `millis`: the latest that was recorded by then, in a round of them; before the first one,
    /// the first. The last line only ends the round.
    pub(crate) fn at(&self, millis: u64) -> Range<usize> {
        let (Some(period), count) = (self.starts.last(), self.starts.len()) else { return 0..0 };
        let sent = self.starts[..count - 1].partition_point(|start| *start <= millis % period);
        let train = sent.saturating_sub(1);
        let begin = if train == 0 { 0 } else { self.ends[train - 1] };
        begin..self.ends[train]
    }

    /// When an opportunity comes after its train has begun.
    pub(crate) fn opportunity(&self, index: usize) -> Span {
        Span::from_millis(self.opportunities[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Trains, NetError> {
        Trains::parse("t", text.as_bytes())
    }

    #[test]
    fn the_latest_train_holds_round_after_round() {
        let trains = parse("5 20 0 1\n100 21 0 3 3\r\n200 30 0").unwrap();
        assert_eq!([0, 5, 99, 100, 199].map(|at| trains.at(at)), [0..2, 0..2, 0..2, 2..5, 2..5]);
        assert_eq!([200, 299, 300].map(|at| trains.at(at)), [0..2, 0..2, 2..5]);
        assert_eq!((trains.period(), trains.len()), (Span::from_millis(200), 6));
    }

    #[test]
    fn what_is_no_train_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "t: is empty, expected a train of opportunities a line"),
            ("0 20 0\n", "line 1: found `0 20 0`, expected at least two trains"),
            ("0 20 0\n9 20\n", "line 2: found `9 20`, expected whole numbers up to"),
            ("0 20 0\n9 20 0 -1\n", "line 2: found `9 20 0 -1`, expected whole numbers up to"),
            ("0 20 0\n9  20 0\n", "line 2"),
            ("0 20 0\n0 20 0\n", "line 2: found `0 20 0`, expected a later time than on the line before"),
            ("0 20 0\n9 20 4 3\n", "line 2: found `9 20 4 3`, expected opportunities none of which"),
            ("0 20 0\n9 20 1000000000001\n", "line 2"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
