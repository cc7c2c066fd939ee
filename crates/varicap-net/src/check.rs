//! Reading and checking what users write: lines of traces, rows of probabilities.

use varicap_units::{Amount, Bytes, Probability, Span};

use crate::{Framing, NetError, QueueConfig, RedConfig};

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

/// Checks that `rows` is a square matrix of `states` rows that sum to 1; gives it as numbers.
pub(crate) fn transition_matrix(
    key: &str,
    states: usize,
    rows: &[Vec<Probability>],
) -> Result<Vec<Vec<f64>>, NetError> {
    if rows.len() != states {
        return Err(NetError::value(key, format!("{} rows", rows.len()), format!("{states}, one per rate")));
    }
    for (index, row) in rows.iter().enumerate() {
        let key = format!("{key}[{index}]");
        if row.len() != states {
            let found = format!("{} probabilities", row.len());
            return Err(NetError::value(key, found, format!("{states}, one per rate")));
        }
        let sum: f64 = row.iter().map(|p| p.get()).sum();
        if (sum - 1.0).abs() > ROW_TOLERANCE {
            return Err(NetError::value(key, format!("a row with sum {sum}"), "probabilities that sum to 1"));
        }
    }
    Ok(rows.iter().map(|row| row.iter().map(|p| p.get()).collect()).collect())
}

/// Checks that a list has as many values as there are rates.
pub(crate) fn same_length(key: &str, found: usize, rates: usize) -> Result<(), NetError> {
    if found == rates {
        return Ok(());
    }
    Err(NetError::value(key, format!("{found} values"), format!("{rates}, one per rate")))
}

impl QueueConfig {
    /// Checks what the types of a queue's parameters leave open.
    pub fn check(&self) -> Result<(), NetError> {
        match self {
            QueueConfig::DropTail(_) => Ok(()),
            QueueConfig::Red(red) => check_red(red),
            QueueConfig::CoDel(codel) if codel.interval == Span::ZERO => {
                Err(NetError::value("queue.codel.interval", codel.interval, "a time above zero"))
            }
            QueueConfig::CoDel(_) => Ok(()),
        }
    }
}

fn check_red(red: &RedConfig) -> Result<(), NetError> {
    if !(red.weight > 0.0 && red.weight <= 1.0) {
        return Err(NetError::value("queue.red.weight", red.weight, "more than 0 and at most 1"));
    }
    if red.mean_packet == Bytes::ZERO {
        return Err(NetError::value("queue.red.mean_packet", red.mean_packet, "at least 1 B"));
    }
    let max = red.max_threshold;
    let (key, unit) = ("queue.red.max_threshold", "the unit of `min_threshold`");
    let larger = match (red.min_threshold, max) {
        (Amount::Packets(min), Amount::Packets(max)) => min < max,
        (Amount::Bytes(min), Amount::Bytes(max)) => min < max,
        (Amount::Bdp(min), Amount::Bdp(max)) => min < max,
        _ => return Err(NetError::value(key, max, format!("a finite amount in {unit}"))),
    };
    if larger {
        return Ok(());
    }
    Err(NetError::value(key, max, format!("more than `min_threshold`, {}", red.min_threshold)))
}

impl Framing {
    /// Checks what the types of the parameters leave open.
    pub fn check(&self) -> Result<(), NetError> {
        match self.cells {
            Some(cells) if cells.payload == Bytes::ZERO => {
                Err(NetError::value("framing.cells.payload", cells.payload, "at least 1 B"))
            }
            Some(cells) if cells.size < cells.payload => {
                let expected = format!("at least the payload of {}", cells.payload);
                Err(NetError::value("framing.cells.size", cells.size, expected))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cells;

    #[test]
    fn defaults_are_sound() {
        for queue in [
            QueueConfig::default(),
            QueueConfig::Red(RedConfig::default()),
            QueueConfig::CoDel(crate::CoDelConfig::default()),
        ] {
            assert_eq!(queue.check(), Ok(()));
        }
        assert_eq!(Framing { cells: Some(Cells::default()), ..Framing::default() }.check(), Ok(()));
    }

    #[test]
    fn refusals_name_the_key() {
        let red = |change: fn(&mut RedConfig)| {
            let mut red = RedConfig::default();
            change(&mut red);
            QueueConfig::Red(red).check().unwrap_err().to_string()
        };
        assert_eq!(red(|r| r.weight = 0.0), "`queue.red.weight` is 0, expected more than 0 and at most 1");
        assert!(red(|r| r.weight = f64::NAN).starts_with("`queue.red.weight` is NaN"));
        assert_eq!(
            red(|r| r.max_threshold = Amount::Packets(5)),
            "`queue.red.max_threshold` is 5 packets, expected more than `min_threshold`, 5 packets"
        );
        assert_eq!(
            red(|r| r.max_threshold = Amount::Bdp(1.0)),
            "`queue.red.max_threshold` is 1 bdp, expected a finite amount in the unit of `min_threshold`"
        );
        let cells = Some(Cells { payload: Bytes::new(60), size: Bytes::new(53) });
        assert_eq!(
            Framing { overhead: Bytes::ZERO, cells }.check().unwrap_err().to_string(),
            "`framing.cells.size` is 53 B, expected at least the payload of 60 B"
        );
    }
}
