//! Faults of a log, and how each was treated.

use serde::Serialize;

use crate::reading::{Backward, Duplicates, Gaps};
use crate::{LogError, Quantity, Reading};

/// Faults found in a log; a count of zero means none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Rows that have become values.
    pub rows: usize,
    /// The usual time from row to row, the median [s]; zero for a single row.
    pub step_s: f64,
    /// The shortest and the longest time from row to row, gaps aside [s].
    pub steps_s: [f64; 2],
    /// Whether most rows follow each other after about the same time.
    pub is_regular: bool,
    /// Times from row to row, gaps aside, that differ from the usual one by more than a quarter.
    pub irregular: usize,
    /// Times without rows where a row was due.
    pub gaps: usize,
    /// The longest of them [s].
    pub longest_gap_s: f64,
    /// The line that ends it.
    pub longest_gap_line: usize,
    /// How long they are together [s].
    pub gaps_s: f64,
    /// Rows of the same instant as the one before.
    pub duplicates: usize,
    /// Rows that were earlier than the one before.
    pub backward: usize,
    /// Rows without a value.
    pub missing: usize,
    /// Rows that could not be read, and were skipped because the user said so.
    pub unreadable: usize,
    /// Values far beyond the others.
    pub absurd: usize,
    /// The greatest value, and its line.
    pub greatest: f64,
    /// The line of the greatest value.
    pub greatest_line: usize,
    /// The median of the values above zero.
    pub median: f64,
    /// Values that were cut to `clip`.
    pub clipped: usize,
    /// Share of time in which the value is zero.
    pub zero_share: f64,
    /// How long the last row lasts, whose end no row tells, if that is as long as the gap before it [s].
    pub last_s: Option<f64>,
    /// Rows that are no data, in words.
    pub left_out: Vec<String>,
    /// The treatment of each kind of fault by `reading`, in the order of the table.
    pub faults: Vec<String>,
}

impl Quality {
    /// Puts the faults into words.
    pub(crate) fn describe(&mut self, wanted: Quantity, reading: &Reading) {
        let noun = wanted.noun();
        let held = match reading.gaps {
            Gaps::Outage if wanted == Quantity::Rate => "in which nothing is carried".to_owned(),
            _ => format!("in which the {noun} before holds"),
        };
        let mut faults = Vec::new();
        match self.gaps {
            0 => {}
            1 => faults.push(format!(
                "one gap of {} s (ends on line {}), {held}",
                brief(self.longest_gap_s),
                self.longest_gap_line
            )),
            many => faults.push(format!(
                "{many} gaps, the longest of {} s (ends on line {}), {held}",
                brief(self.longest_gap_s),
                self.longest_gap_line
            )),
        }
        if self.duplicates > 0 {
            let counts = match reading.duplicates {
                Duplicates::First => "the first counts",
                Duplicates::Mean => "their mean counts",
                _ => "the last counts",
            };
            faults.push(format!(
                "{} of the same instant as the one before, of which {counts}",
                rows(self.duplicates)
            ));
        }
        if self.backward > 0 {
            faults.push(match reading.backward {
                Backward::Append => {
                    format!(
                        "{} after the first, each following the one before",
                        count(self.backward, "recording")
                    )
                }
                Backward::Drop => format!("{} earlier than the one before, left out", rows(self.backward)),
                _ => format!("{} earlier than the one before, sorted", rows(self.backward)),
            });
        }
        if self.missing > 0 {
            faults.push(format!("{} without a {noun}, {held}", rows(self.missing)));
        }
        if self.unreadable > 0 {
            faults.push(format!("{} that cannot be read, {held}", rows(self.unreadable)));
        }
        if self.absurd > 0 && wanted == Quantity::Rate {
            let times = brief(self.greatest / self.median);
            let first = if self.absurd == 1 {
                "one rate".to_owned()
            } else {
                format!("{} rates far above the others, the greatest", self.absurd)
            };
            let cut = if reading.clip.is_some() { "" } else { "; `clip` would limit it" };
            faults.push(format!(
                "{first} of {}, {times} times the median (line {}){cut}",
                rate(self.greatest),
                self.greatest_line
            ));
        }
        if let Some(last_s) = self.last_s {
            faults.push(format!(
                "the last row, whose end is not known, lasts {} s as the gap before it (`last` would say otherwise)",
                brief(last_s)
            ));
        }
        self.faults = faults;
    }

    /// Remarks that are no faults.
    pub(crate) fn remarks(&self, wanted: Quantity, reading: &Reading) -> Vec<String> {
        let mut said = self.left_out.clone();
        if let Some(most) = reading.clip.filter(|_| self.clipped > 0) {
            said.push(format!(
                "{} cut to {}",
                count(self.clipped, wanted.noun()),
                rate(most.as_bps() as f64)
            ));
        }
        if self.irregular > 0 && self.rows > 2 {
            said.push(format!("rows every {} to {} s", brief(self.steps_s[0]), brief(self.steps_s[1])));
        }
        said
    }

    /// Refuses a log with any fault.
    pub(crate) fn refuse(&self, file: &str) -> Result<(), LogError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(LogError::file(file, format!("has faults, which `strict` refuses: {}", self.faults.join("; "))))
    }
}

fn rows(number: usize) -> String {
    count(number, "row")
}

/// `one row`, `3 rows`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("one {noun}"),
        many => format!("{many} {noun}s"),
    }
}

/// A number with four significant digits, without trailing zeros.
pub(crate) fn brief(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let whole = value.abs().log10().floor() as i32;
    let digits = (3 - whole).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A rate with its unit.
pub(crate) fn rate(bps: f64) -> String {
    let units = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    match units.iter().find(|(factor, _)| bps >= *factor) {
        Some((factor, unit)) => format!("{} {unit}", brief(bps / factor)),
        None => format!("{} b/s", brief(bps)),
    }
}
