//! How a log is to be understood, and what is to be done about its faults.

use serde::{Deserialize, Serialize};
use varicap_units::{JsonSchema, Rate, Span};

use crate::Columns;

/// How a log is to be understood, and what is to be done about its faults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    /// The columns; by their names and contents if not given.
    pub columns: Option<Columns>,
    /// Time from row to row where no column has one.
    pub every: Option<Span>,
    /// Of a file with several directions, series or units: which one. Of a capture: the addresses whose packets count,
    /// `SOURCE > DESTINATION`, or `all`.
    pub only: Option<String>,
    /// The value that holds where rows are missing.
    pub gaps: Gaps,
    /// Which of several rows of the same instant counts.
    pub duplicates: Duplicates,
    /// The treatment of rows that are earlier than the one before.
    pub backward: Backward,
    /// The treatment of rows that cannot be read.
    pub unreadable: Unreadable,
    /// The greatest rate: greater ones become this one.
    pub clip: Option<Rate>,
    /// How long the last row lasts, if not as long as the one before it.
    pub last: Option<Span>,
    /// Time over which values become their means.
    pub resample: Option<Span>,
    /// Whether a log with any fault is refused.
    pub strict: bool,
}

/// The value that holds where rows, or values of rows, are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// The value before.
    #[default]
    Hold,
    /// Nothing: a rate of zero. Delays and losses hold.
    Outage,
    /// The log is refused.
    Refuse,
}

/// Which of several rows of the same instant counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// The last one: those before it hold for no time.
    #[default]
    Last,
    /// The first one.
    First,
    /// Their mean.
    Mean,
    /// The log is refused.
    Refuse,
}

/// The treatment of rows that are earlier than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    /// The log is refused.
    #[default]
    Refuse,
    /// Rows are sorted by their time.
    Sort,
    /// They are left out until the latest instant so far is over.
    Drop,
    /// They begin another recording, which follows the one before.
    Append,
}

/// The treatment of rows that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unreadable {
    /// The log is refused.
    #[default]
    Refuse,
    /// They count as missing.
    Skip,
}
