//! Reading and checking what users write: lines of traces, rows of probabilities.

use varicap_units::Probability;
use varicap_units::part::{Checked, Fault, require};

use crate::NetError;

/// The lines of a text with their numbers from 1, refusing what is not UTF-8.
pub(crate) struct Lines<'a> {
    file: &'a str,
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    pub fn new(file: &'a str, text: &'a [u8]) -> Lines<'a> {
        Lines { file, rest: text, number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<(usize, &'a str), NetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        self.number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(match std::str::from_utf8(line) {
            Ok(text) => Ok((self.number, text)),
            Err(_) => {
                let found = String::from_utf8_lossy(&line[..line.len().min(256)]);
                Err(NetError::trace(self.file, self.number, &found, "text in UTF-8"))
            }
        })
    }
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
