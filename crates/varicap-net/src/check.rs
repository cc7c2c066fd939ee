//! Reading and checking what users write: lines of traces, rows of probabilities.

use std::io::{BufRead, Read};

use varicap_units::Probability;
use varicap_units::part::{Checked, Fault, require};

use crate::error::NetError;

/// Longest line of a trace [B].
const LONGEST_LINE: usize = 1 << 16;
/// Most entries of a trace, as many as a generated one may have; a rate takes 16 bytes of memory.
const MOST_ENTRIES: usize = 50_000_000;

/// The mark that some programs put before text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The default of a key that is true unless the user says otherwise.
pub(crate) fn yes() -> bool {
    true
}

/// The lines of a text with their numbers from 1, without a byte order mark, refusing what is not UTF-8; only one of them is held at a time.
pub(crate) struct Lines<'a, R> {
    file: &'a str,
    text: R,
    line: Vec<u8>,
    number: usize,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub fn new(file: &'a str, text: R) -> Lines<'a, R> {
        Lines { file, text, line: Vec::new(), number: 0 }
    }

    /// The next line, without its end; nothing after the last one.
    pub fn next(&mut self) -> Result<Option<(usize, &str)>, NetError> {
        self.line.clear();
        let mut text = self.text.by_ref().take(LONGEST_LINE as u64 + 1);
        let read = text.read_until(b'\n', &mut self.line);
        if read.map_err(|error| NetError::file(self.file, error.to_string()))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { b"" };
        let line = line.strip_prefix(mark).unwrap_or(line);
        let refused = |expected: String| {
            let found = String::from_utf8_lossy(&line[..line.len().min(256)]);
            NetError::trace(self.file, self.number, &found, expected)
        };
        if line.len() > LONGEST_LINE {
            return Err(refused(format!("a line of at most {LONGEST_LINE} bytes")));
        }
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some((self.number, text))),
            Err(_) => Err(refused("text in UTF-8".to_owned())),
        }
    }
}

/// A trace of `entries` may have one more.
pub(crate) fn require_room(file: &str, entries: usize) -> Result<(), NetError> {
    if entries < MOST_ENTRIES {
        return Ok(());
    }
    Err(NetError::file(file, format!("has more than {MOST_ENTRIES} entries, more than a trace may have")))
}

/// A number of decimal digits only.
pub(crate) fn read_digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// How far from 1 the sum of a row of probabilities may be: decimals in a file are not exact.
const ROW_TOLERANCE: f64 = 1e-9;

/// Checks that the value of `key` is a square matrix of `states` rows, one per `one`, that sum to 1, and returns it as
/// numbers.
pub(crate) fn transition_matrix(
    key: &str,
    states: usize,
    rows: &[Vec<Probability>],
    one: &str,
) -> Result<Vec<Vec<f64>>, Fault> {
    let expected = format!("{states}, one per {one}");
    require(key, rows.len() == states, format!("{} rows", rows.len()), &expected)?;
    for (index, row) in rows.iter().enumerate() {
        let key = format!("{key}.{index}");
        require(&key, row.len() == states, format!("{} probabilities", row.len()), &expected)?;
        let sum: f64 = row.iter().map(|p| p.get()).sum();
        let is_one = (sum - 1.0).abs() <= ROW_TOLERANCE;
        require(&key, is_one, format!("a row with sum {sum}"), "probabilities that sum to 1")?;
    }
    Ok(rows.iter().map(|row| row.iter().map(|p| p.get()).collect()).collect())
}

/// Checks that the list at `key` has as many values as there are rates or states: one per `one`.
pub(crate) fn same_length(key: &str, found: usize, states: usize, one: &str) -> Checked {
    require(key, found == states, format!("{found} values"), format!("{states}, one per {one}"))
}

/// The name of one value of a list of rates, delays or states.
pub(crate) fn singular(list: &str) -> &'static str {
    match list {
        "rates" => "rate",
        "delays" => "delay",
        _ => "state",
    }
}
