//! A log as it was understood, in one sentence and in numbers.

use serde::Serialize;

use crate::instant::written;
use crate::quality::{brief, count};
use crate::{Quality, Quantity, Reading};

/// A log as it was understood.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Understood {
    /// The kind of file: `table`, `Pensieve`, `iperf3`, `capture`, …
    pub form: String,
    /// When it begins, if its times are since 1970.
    pub start: Option<String>,
    /// How long it is [s]; nothing for a single row.
    pub duration_s: Option<f64>,
    /// The column from which each quantity was taken.
    pub taken: String,
    /// A caution about all of its numbers, such as a lower bound.
    pub caveat: Option<String>,
    /// Faults of the log.
    pub quality: Quality,
    /// All of it in a sentence.
    pub sentence: String,
}

/// Facts that a form's reader knows before the series is put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub name: String,
    pub taken: String,
    pub caveat: Option<String>,
    /// The word for one row: `row`, `interval`, `packet`.
    pub row: &'static str,
}

impl Understood {
    pub(crate) fn new(
        form: Form,
        first: i64,
        duration_s: Option<f64>,
        wanted: Quantity,
        reading: &Reading,
        mut quality: Quality,
    ) -> Understood {
        quality.describe(wanted, reading);
        // Times from 1973 on are since 1970.
        let start = (first >= 100_000_000_000_000_000).then(|| written(first));
        let mut parts = vec![count(quality.rows, form.row)];
        let from = start.as_ref().map(|start| format!(" from {start}")).unwrap_or_default();
        parts.push(match duration_s {
            Some(duration_s) => format!("{} s{from}", brief(duration_s)),
            None => format!("constant{from}"),
        });
        parts.push(form.taken.clone());
        parts.extend(quality.faults.iter().cloned());
        parts.extend(quality.remarks(wanted, reading));
        parts.extend(form.caveat.clone());
        let sentence = parts.join(", ");
        Understood {
            form: form.name,
            start,
            duration_s,
            taken: form.taken,
            caveat: form.caveat,
            quality,
            sentence,
        }
    }

    /// Whether something was found that a reader of results should know.
    pub fn is_remarkable(&self) -> bool {
        !self.quality.faults.is_empty() || self.caveat.is_some()
    }
}
