//! Logs of capacity, delay and loss as people have them: tables of any separator, iperf3's output, packet captures.
//!
//! ```text
//! bytes ──open──► text (unpacked, UTF-8) ──form──► rows (instant, value) ──series──► values that hold, and what was found
//! ```
//!
//! The form of a file is found by its content. What was understood, and what was done about gaps, duplicates and
//! missing values, is always said ([`Understood`]); where there is more than one way to understand a file, it is
//! refused with an option that chooses ([`Reading`]).

mod capture;
mod columns;
mod error;
mod instant;
mod json;
mod kind;
mod layout;
mod names;
mod number;
mod plan;
mod printed;
mod quality;
mod reading;
mod series;
mod source;
mod table;
mod understood;

pub use columns::Columns;
pub use error::LogError;
pub use quality::Quality;
pub use reading::{Backward, Duplicates, Gaps, Reading, Unreadable};
pub use series::Series;
pub use source::{Bytes, MOST_BYTES, Opened, open};
pub use understood::Understood;

use std::io::BufRead;

/// Most rows of a log; each takes 20 bytes of memory while it is read.
pub const MOST_ROWS: usize = 50_000_000;

/// The quantity that is wanted from a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The rate of a link [b/s].
    Rate,
    /// One-way delays [s].
    Delay,
    /// Probabilities of loss, from 0 to 1.
    Loss,
}

impl Quantity {
    /// Its name in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Delay => "delay",
            Quantity::Loss => "loss",
        }
    }

    /// The contents of a field, in words.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Quantity::Rate => "a rate, from 0 to 1e18 b/s",
            Quantity::Delay => "a delay, from 0 to 1000 s",
            Quantity::Loss => "a probability of loss, from 0 to 1 (`loss`) or to 100 (`loss_percent`)",
        }
    }

    /// The largest value that makes sense, in its unit.
    pub(crate) fn most(self) -> f64 {
        match self {
            Quantity::Rate => 1e18,
            Quantity::Delay => 1e3,
            Quantity::Loss => 1.0,
        }
    }
}

/// Whether a log is a list of times of packets, whole numbers on lines of their own: Mahimahi's delivery opportunities.
pub fn is_opportunities(file: &str, bytes: impl BufRead) -> Result<bool, LogError> {
    let opened = open(file, bytes)?;
    let text = opened.look();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    Ok(!first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads what is `wanted` from a log; `file` is its name in messages.
pub fn read(
    file: &str,
    bytes: impl BufRead,
    wanted: Quantity,
    reading: &Reading,
) -> Result<Series, LogError> {
    let opened = open(file, bytes)?;
    let series = match opened.kind() {
        kind::Kind::Capture => capture::read(file, opened, wanted, reading)?,
        kind::Kind::Json => json::read(file, opened, wanted, reading)?,
        kind::Kind::Printed => printed::read(file, opened, wanted, reading)?,
        kind::Kind::Markup => return Err(LogError::file(file, source::MARKUP)),
        kind::Kind::Text => table::read(file, opened, wanted, reading)?,
    };
    if reading.strict {
        series.understood.quality.refuse(file)?;
    }
    Ok(series)
}
