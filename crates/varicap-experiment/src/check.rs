//! Checks of the values of a table: what checks of parts say, with the path of the table in front.

use std::fmt::Display;

use varicap_units::part::{self, Fault};
use varicap_units::{Rate, Span};

use crate::error::ScenarioError;

/// The outcome of checking a table of the scenario.
pub(crate) type Checked = Result<(), ScenarioError>;

/// A table of the scenario, whose keys are checked.
pub(crate) struct At(String);

impl At {
    pub fn new(path: impl Into<String>) -> At {
        At(path.into())
    }

    /// The path of one of its keys.
    pub fn key(&self, key: &str) -> String {
        if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) }
    }

    /// The path of the table itself.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// One of the tables in it.
    pub fn inner(&self, key: &str) -> At {
        At(self.key(key))
    }

    /// A mistake at `key` unless `good`.
    pub fn require(
        &self,
        key: &str,
        good: bool,
        found: impl Display,
        expected: impl Into<String>,
    ) -> Checked {
        if good {
            return Ok(());
        }
        Err(ScenarioError::at(self.key(key), expected).found(found))
    }

    /// The check of the part whose table this is.
    pub fn part(&self, checked: part::Checked) -> Checked {
        checked.map_err(|fault| self.fault(fault))
    }

    /// The fault of a part, whose table is this one, as a mistake in the scenario.
    pub fn fault(&self, fault: Fault) -> ScenarioError {
        let path = if fault.key.is_empty() { self.0.clone() } else { self.key(&fault.key) };
        let error = ScenarioError::at(path, fault.expected).found(fault.found);
        match fault.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Neither zero nor endless.
    pub fn positive(&self, key: &str, span: Span) -> Checked {
        self.part(part::positive(key, span))
    }

    /// Not longer than any time in a scenario may be.
    pub fn bounded(&self, key: &str, span: Span) -> Checked {
        self.part(part::bounded(key, span))
    }

    /// A rate not faster than any in a scenario may be, or unlimited.
    pub fn rate(&self, key: &str, rate: Rate) -> Checked {
        self.part(part::rate(key, rate))
    }
}
