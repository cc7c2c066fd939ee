//! Rows of a log on their way to values that hold until the next one: gaps, duplicates, steps back, missing values.

use varicap_units::Span;

use crate::reading::{Backward, Duplicates, Gaps, Unreadable};
use crate::understood::{Form, Understood};
use crate::{LogError, MOST_ROWS, Quality, Quantity, Reading};

/// Longest log: thirty years [ns].
const LONGEST: i64 = 1_000_000_000_000_000_000;
/// From row to row, beyond this many times the usual time there is a gap, if rows are regular.
const GAP: f64 = 1.5;
/// The same if they are not, or too few to tell.
const LONG_GAP: f64 = 10.0;
/// Times from row to row that are too few to tell whether rows are regular.
const FEW: usize = 4;
/// Far beyond the median of the values.
const ABSURD: f64 = 100.0;

/// Values that hold from their instants on, the first at zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The instants, ascending from zero.
    pub at: Vec<Span>,
    /// The values [b/s, s or 1].
    pub values: Vec<f64>,
    /// How long it is; nothing for a single value.
    pub length: Option<Span>,
    /// The understood form, columns and faults.
    pub understood: Understood,
}

/// Rows as they come.
pub(crate) struct Rows<'a> {
    file: &'a str,
    wanted: Quantity,
    reading: &'a Reading,
    at: Vec<i64>,
    /// Not a number where missing.
    values: Vec<f64>,
    lines: Vec<u32>,
    /// How many rows the last instant has had.
    alike: u32,
    /// An offset added to instants, since a recording begins anew.
    shift: i64,
    is_sorted: bool,
    pub quality: Quality,
}

impl<'a> Rows<'a> {
    pub fn new(file: &'a str, wanted: Quantity, reading: &'a Reading) -> Rows<'a> {
        let quality = Quality::default();
        let (at, values, lines) = (Vec::new(), Vec::new(), Vec::new());
        Rows { file, wanted, reading, at, values, lines, alike: 0, shift: 0, is_sorted: true, quality }
    }

    /// A row that cannot be read; `at` is its instant if that much is known.
    pub fn unreadable(&mut self, line: usize, at: Option<i64>, error: LogError) -> Result<(), LogError> {
        if self.reading.unreadable == Unreadable::Refuse {
            return Err(match error {
                LogError::Line { file, line, found, expected } => {
                    let expected = format!("{expected}; `--unreadable skip` leaves such rows out");
                    LogError::Line { file, line, found, expected }
                }
                other => other,
            });
        }
        self.quality.unreadable += 1;
        match at {
            Some(at) => self.take(line, at, f64::NAN, ""),
            None => Ok(()),
        }
    }

    /// A row; one without a value is missing. `text` is what an error quotes.
    pub fn push(&mut self, line: usize, at: i64, value: Option<f64>, text: &str) -> Result<(), LogError> {
        if value.is_none() {
            if self.reading.gaps == Gaps::Refuse {
                let expected = format!("a {}; `--gaps hold` keeps the one before", self.wanted.noun());
                return Err(LogError::line(self.file, line, text, expected));
            }
            self.quality.missing += 1;
        }
        self.take(line, at, value.unwrap_or(f64::NAN), text)
    }

    fn take(&mut self, line: usize, at: i64, value: f64, text: &str) -> Result<(), LogError> {
        let mut at = at.saturating_add(self.shift);
        if let Some(last) = self.at.last().copied() {
            if at == last && self.is_sorted {
                return self.again(line, value, text);
            }
            if at < last {
                self.quality.backward += 1;
                match self.reading.backward {
                    Backward::Refuse => {
                        let expected = "a time later than on the row before; `--backward sort` sorts such rows, `drop` \
                                        leaves them out, `append` begins another recording";
                        return Err(LogError::line(self.file, line, text, expected));
                    }
                    Backward::Drop => return Ok(()),
                    Backward::Sort => self.is_sorted = false,
                    Backward::Append => {
                        let step = self.at.len().checked_sub(2).map_or(0, |before| last - self.at[before]);
                        self.shift += last + step.max(1) - at;
                        at = last + step.max(1);
                    }
                }
            }
        }
        if self.at.len() >= MOST_ROWS {
            let reason = format!("has more than {MOST_ROWS} entries, more than a trace may have");
            return Err(LogError::file(self.file, reason));
        }
        self.alike = 1;
        self.at.push(at);
        self.values.push(value);
        self.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Another row of the last instant.
    fn again(&mut self, line: usize, value: f64, text: &str) -> Result<(), LogError> {
        self.quality.duplicates += 1;
        if self.reading.duplicates == Duplicates::Refuse {
            let expected = "a time later than on the row before; `--duplicates last` keeps the last row of an instant, \
                            `first` the first, `mean` their mean";
            return Err(LogError::line(self.file, line, text, expected));
        }
        let Some(kept) = self.values.last_mut() else { return Ok(()) };
        merge(kept, value, self.alike, self.reading.duplicates);
        self.alike += 1;
        Ok(())
    }

    /// Puts the rows in order, where they may be out of it.
    fn sort(&mut self) {
        if self.is_sorted {
            return;
        }
        let mut order: Vec<u32> = (0..self.at.len() as u32).collect();
        order.sort_by_key(|&row| self.at[row as usize]);
        let (at, values, lines) = (&self.at, &self.values, &self.lines);
        let (mut new_at, mut new_values, mut new_lines) = (Vec::new(), Vec::<f64>::new(), Vec::new());
        let mut alike = 1;
        for row in order.into_iter().map(|row| row as usize) {
            if new_at.last() == Some(&at[row]) {
                self.quality.duplicates += 1;
                if let Some(kept) = new_values.last_mut() {
                    merge(kept, values[row], alike, self.reading.duplicates);
                }
                alike += 1;
                continue;
            }
            alike = 1;
            new_at.push(at[row]);
            new_values.push(values[row]);
            new_lines.push(lines[row]);
        }
        (self.at, self.values, self.lines, self.is_sorted) = (new_at, new_values, new_lines, true);
    }

    /// Fills in what is missing; rows before the first value go.
    fn fill(&mut self) -> Result<(), LogError> {
        let Some(first) = self.values.iter().position(|value| !value.is_nan()) else {
            let noun = self.wanted.noun();
            return Err(match self.at.len() {
                0 => LogError::file(
                    self.file,
                    format!("has no rows, expected at least one with a time and a {noun}"),
                ),
                _ => LogError::absent(self.file, format!("has no row with a {noun}")),
            });
        };
        self.at.drain(..first);
        self.values.drain(..first);
        self.lines.drain(..first);
        let is_outage = self.reading.gaps == Gaps::Outage && self.wanted == Quantity::Rate;
        let mut before = 0.0;
        for value in &mut self.values {
            if value.is_nan() {
                *value = if is_outage { 0.0 } else { before };
            } else {
                before = *value;
            }
        }
        Ok(())
    }

    /// The usual time from row to row, and beyond which there is a gap.
    fn steps(&mut self) -> (i64, f64) {
        let mut steps: Vec<i64> = self.at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if steps.is_empty() {
            return (0, f64::INFINITY);
        }
        let middle = (steps.len() - 1) / 2;
        let usual = *steps.select_nth_unstable(middle).1;
        let near = steps.iter().filter(|step| is_usual(**step, usual)).count();
        let needed = if steps.len() < FEW { steps.len().div_ceil(2) } else { steps.len() * 3 / 4 };
        self.quality.is_regular = near >= needed;
        let gap = if steps.len() < 2 {
            f64::INFINITY
        } else if self.quality.is_regular && steps.len() < FEW {
            LONG_GAP * usual as f64
        } else if self.quality.is_regular {
            GAP * usual as f64
        } else {
            let high = (steps.len() * 19 / 20).min(steps.len() - 1);
            let common = *steps.select_nth_unstable(high).1;
            (LONG_GAP * usual as f64).max(3.0 * common as f64)
        };
        let within = || steps.iter().filter(|step| **step as f64 <= gap);
        self.quality.step_s = usual as f64 / 1e9;
        let seconds = |step: Option<&i64>| step.map_or(0.0, |step| *step as f64 / 1e9);
        self.quality.steps_s = [seconds(within().min()), seconds(within().max())];
        self.quality.irregular = within().filter(|step| !is_usual(**step, usual)).count();
        (usual, gap)
    }

    /// Counts gaps, and makes outages of them if that is what they are to be.
    fn gaps(&mut self, usual: i64, gap: f64) -> Result<(), LogError> {
        let quality = &mut self.quality;
        let mut ends = Vec::new();
        for row in 1..self.at.len() {
            let step = self.at[row] - self.at[row - 1];
            if step as f64 <= gap {
                continue;
            }
            let line = self.lines[row] as usize;
            if self.reading.gaps == Gaps::Refuse {
                let (step, usual) =
                    (crate::quality::brief(step as f64 / 1e9), crate::quality::brief(usual as f64 / 1e9));
                let expected = format!(
                    "a row after about {usual} s; `--gaps hold` keeps the {} before, `--gaps outage` \
                                        makes it an outage",
                    self.wanted.noun()
                );
                return Err(LogError::line(self.file, line, &format!("a gap of {step} s"), expected));
            }
            quality.gaps += 1;
            let seconds = step as f64 / 1e9;
            quality.gaps_s += seconds;
            if seconds > quality.longest_gap_s {
                (quality.longest_gap_s, quality.longest_gap_line) = (seconds, line);
            }
            ends.push(row);
        }
        if self.reading.gaps != Gaps::Outage || self.wanted != Quantity::Rate || ends.is_empty() {
            return Ok(());
        }
        let (mut at, mut values, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        let mut ends = ends.into_iter().peekable();
        for row in 0..self.at.len() {
            if ends.next_if_eq(&row).is_some() {
                at.push(self.at[row - 1] + usual);
                values.push(0.0);
                lines.push(self.lines[row]);
            }
            at.push(self.at[row]);
            values.push(self.values[row]);
            lines.push(self.lines[row]);
        }
        (self.at, self.values, self.lines) = (at, values, lines);
        Ok(())
    }

    /// Where the last row ends.
    fn end(&mut self, usual: i64, gap: f64) -> Option<i64> {
        let [.., before, last] = self.at[..] else {
            let (length, last) = (self.reading.last?, *self.at.last()?);
            return Some(last + i64::try_from(length.as_nanos()).unwrap_or(LONGEST));
        };
        let [.., value_before, value] = self.values[..] else { return None };
        if let Some(length) = self.reading.last {
            return Some(last + i64::try_from(length.as_nanos()).unwrap_or(LONGEST));
        }
        let step = last - before;
        // A last row that repeats the one before it marks an end: as the writer of our own files does.
        let is_long = step as f64 > gap.max(LONG_GAP * usual as f64);
        if is_long && value != value_before {
            self.quality.last_s = Some(step as f64 / 1e9);
        }
        Some(last + step)
    }

    /// Amounts of data [bit] as rates over the times of their rows.
    fn spread(&mut self, usual: i64, gap: f64, end: Option<i64>) {
        for row in 0..self.at.len() {
            let until = self.at.get(row + 1).copied().or(end);
            let step = until.map_or(1_000_000_000, |until| until - self.at[row]);
            let step = if step as f64 > gap { usual } else { step };
            self.values[row] *= 1e9 / step as f64;
        }
    }

    /// Counts values far beyond the others, and cuts them where `clip` says so.
    fn clip(&mut self) {
        let greatest = self.values.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
        if let Some((row, greatest)) = greatest {
            self.quality.greatest = *greatest;
            self.quality.greatest_line = self.lines[row] as usize;
        }
        let mut some: Vec<f64> = self.values.iter().copied().filter(|value| *value > 0.0).collect();
        if !some.is_empty() {
            let middle = some.len() / 2;
            self.quality.median = *some.select_nth_unstable_by(middle, f64::total_cmp).1;
            let absurd = some.iter().filter(|value| **value > ABSURD * self.quality.median).count();
            if absurd * 50 <= some.len() {
                self.quality.absurd = absurd;
            }
        }
        let Some(most) = self.reading.clip.filter(|_| self.wanted == Quantity::Rate) else { return };
        let most = most.as_bps() as f64;
        for value in &mut self.values {
            if *value > most {
                *value = most;
                self.quality.clipped += 1;
            }
        }
    }

    /// The values that hold, if `amounts` as rates over their rows; `end` is where the last row ends if that is known.
    pub fn finish(mut self, form: Form, amounts: bool, end: Option<i64>) -> Result<Series, LogError> {
        self.sort();
        self.quality.rows = self.at.len();
        self.fill()?;
        let (usual, gap) = self.steps();
        let end = end.filter(|end| self.at.last().is_some_and(|last| last < end));
        let end = end.map(|end| end + self.shift).or_else(|| self.end(usual, gap));
        if amounts {
            self.spread(usual, gap, end);
        }
        self.gaps(usual, gap)?;
        self.clip();
        let first = self.at.first().copied().unwrap_or_default();
        let last = end.or(self.at.last().copied()).unwrap_or_default();
        if last.saturating_sub(first) > LONGEST {
            let reason = format!("lasts {:.3e} s, expected at most 1e9 s", (last - first) as f64 / 1e9);
            return Err(LogError::file(self.file, reason));
        }
        let span = |at: i64| Span::from_nanos((at - first) as u64);
        let mut at: Vec<Span> = self.at.iter().map(|at| span(*at)).collect();
        let length = end.map(span);
        let mut values = self.values;
        if let (Some(step), Some(length)) = (self.reading.resample, length) {
            (at, values) = means(self.file, &at, &values, length, step)?;
        }
        self.quality.zero_share = zero_share(&at, &values, length);
        let duration_s = length.map(|length| length.as_secs_f64());
        let understood = Understood::new(form, first, duration_s, self.wanted, self.reading, self.quality);
        Ok(Series { at, values, length, understood })
    }
}

/// Whether a time from row to row is about the usual one.
fn is_usual(step: i64, usual: i64) -> bool {
    (step - usual).abs() * 4 <= usual
}

/// Puts another value of an instant beside the one that is kept, of `alike` rows so far.
fn merge(kept: &mut f64, value: f64, alike: u32, rule: Duplicates) {
    match rule {
        _ if value.is_nan() => {}
        _ if kept.is_nan() => *kept = value,
        Duplicates::First => {}
        Duplicates::Mean => *kept += (value - *kept) / f64::from(alike + 1),
        Duplicates::Last | Duplicates::Refuse => *kept = value,
    }
}

/// Share of time in which a value is zero.
fn zero_share(at: &[Span], values: &[f64], length: Option<Span>) -> f64 {
    let Some(length) = length else { return f64::from(u8::from(values == [0.0])) };
    let ends = at.iter().skip(1).copied().chain([length]);
    let zero: u64 = at
        .iter()
        .zip(values)
        .zip(ends)
        .filter(|((_, value), _)| **value == 0.0)
        .map(|((at, _), end)| (end - *at).as_nanos())
        .sum();
    zero as f64 / length.as_nanos().max(1) as f64
}

/// The means of values over steps; the last may be shorter.
fn means(
    file: &str,
    at: &[Span],
    values: &[f64],
    length: Span,
    step: Span,
) -> Result<(Vec<Span>, Vec<f64>), LogError> {
    let many = length.as_nanos().div_ceil(step.as_nanos().max(1));
    if many > MOST_ROWS as u64 {
        return Err(LogError::file(
            file,
            format!("has more than {MOST_ROWS} steps of {step}: resample to longer ones"),
        ));
    }
    let (mut new_at, mut new_values) = (Vec::new(), Vec::new());
    let mut row = 0;
    for index in 0..many {
        let from = index * step.as_nanos();
        let until = (from + step.as_nanos()).min(length.as_nanos());
        let (mut sum, mut now) = (0.0, from);
        while now < until {
            while row + 1 < at.len() && at[row + 1].as_nanos() <= now {
                row += 1;
            }
            let end = at.get(row + 1).map_or(until, |at| at.as_nanos().min(until));
            sum += values[row] * (end - now) as f64;
            now = end;
        }
        new_at.push(Span::from_nanos(from));
        new_values.push(sum / (until - from) as f64);
    }
    Ok((new_at, new_values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rows: &[(f64, Option<f64>)], reading: &Reading) -> Result<Series, LogError> {
        let mut made = Rows::new("t", Quantity::Rate, reading);
        for (line, (at, value)) in rows.iter().enumerate() {
            made.push(line + 1, (at * 1e9) as i64, *value, "x")?;
        }
        let form = Form { name: "table".into(), taken: "x".into(), caveat: None, row: "row" };
        made.finish(form, false, None)
    }

    fn held(found: &Series) -> Vec<(f64, f64)> {
        found.at.iter().zip(&found.values).map(|(at, value)| (at.as_secs_f64(), *value)).collect()
    }

    fn length(found: &Series) -> f64 {
        found.length.unwrap().as_secs_f64()
    }

    #[test]
    fn a_gap_is_held_or_an_outage_or_refused() {
        let rows: Vec<_> =
            [0.0, 1.0, 2.0, 3.0, 7.0, 8.0, 9.0].iter().map(|at| (*at, Some(*at + 1.0))).collect();
        let found = series(&rows, &Reading::default()).unwrap();
        assert_eq!(held(&found)[4], (7.0, 8.0));
        assert_eq!((found.understood.quality.gaps, found.understood.quality.longest_gap_s), (1, 4.0));
        assert!(
            found.understood.sentence.contains("one gap of 4 s (ends on line 5)"),
            "{}",
            found.understood.sentence
        );
        let outage = series(&rows, &Reading { gaps: Gaps::Outage, ..Reading::default() }).unwrap();
        assert_eq!(held(&outage)[3..6], [(3.0, 4.0), (4.0, 0.0), (7.0, 8.0)]);
        let refused = series(&rows, &Reading { gaps: Gaps::Refuse, ..Reading::default() }).unwrap_err();
        assert!(refused.to_string().starts_with("t, line 5: found `a gap of 4 s`"), "{refused}");
    }

    #[test]
    fn rows_of_any_length_have_no_gaps() {
        let rows: Vec<_> = [0.0, 0.4, 1.5, 1.9, 4.0, 4.1, 9.0].iter().map(|at| (*at, Some(1.0))).collect();
        let found = series(&rows, &Reading::default()).unwrap().understood.quality;
        assert_eq!((found.gaps, found.is_regular), (0, false));
    }

    #[test]
    fn of_one_instant_the_last_row_counts_or_what_is_said() {
        let rows = [(0.0, Some(1.0)), (0.0, Some(2.0)), (0.0, Some(6.0)), (1.0, Some(4.0))];
        let first = |duplicates| {
            let found = series(&rows, &Reading { duplicates, ..Reading::default() }).unwrap();
            assert_eq!(found.understood.quality.duplicates, 2);
            held(&found)[0].1
        };
        assert_eq!(
            [first(Duplicates::Last), first(Duplicates::First), first(Duplicates::Mean)],
            [6.0, 1.0, 3.0]
        );
        let refused = series(&rows, &Reading { duplicates: Duplicates::Refuse, ..Reading::default() });
        assert!(refused.unwrap_err().to_string().contains("`--duplicates last`"));
    }

    #[test]
    fn steps_back_are_refused_sorted_dropped_or_another_recording() {
        let rows = [(0.0, Some(1.0)), (2.0, Some(2.0)), (1.0, Some(3.0)), (3.0, Some(4.0))];
        let values = |backward| {
            let found = series(&rows, &Reading { backward, ..Reading::default() }).unwrap();
            held(&found)
        };
        assert_eq!(values(Backward::Sort), [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 4.0)]);
        assert_eq!(values(Backward::Drop), [(0.0, 1.0), (2.0, 2.0), (3.0, 4.0)]);
        assert_eq!(values(Backward::Append), [(0.0, 1.0), (2.0, 2.0), (4.0, 3.0), (6.0, 4.0)]);
        assert!(series(&rows, &Reading::default()).unwrap_err().to_string().contains("`--backward sort`"));
    }

    #[test]
    fn a_missing_value_holds_the_one_before_or_is_an_outage() {
        let rows = [(0.0, None), (1.0, Some(1.0)), (2.0, None), (3.0, Some(3.0))];
        let found = series(&rows, &Reading::default()).unwrap();
        assert_eq!(held(&found), [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0)]);
        assert_eq!(length(&found), 3.0);
        let outage = series(&rows, &Reading { gaps: Gaps::Outage, ..Reading::default() }).unwrap();
        assert_eq!(held(&outage)[1], (1.0, 0.0));
        assert!(series(&[(0.0, None)], &Reading::default()).is_err());
    }

    #[test]
    fn the_last_row_lasts_as_the_one_before_which_is_said_of_a_gap() {
        let rows = [(0.0, Some(1.0)), (1.0, Some(1.0)), (60.0, Some(5.0))];
        let found = series(&rows, &Reading::default()).unwrap();
        assert_eq!(length(&found), 119.0);
        assert!(
            found.understood.sentence.contains("lasts 59 s as the gap before it"),
            "{}",
            found.understood.sentence
        );
        let said = Reading { last: Some(Span::from_secs(1)), ..Reading::default() };
        assert_eq!(length(&series(&rows, &said).unwrap()), 61.0);
        assert_eq!(length(&series(&rows[..1], &said).unwrap()), 1.0);
        // The end of a file of ours: a row that repeats the one before it.
        let ended = [(0.0, Some(1.0)), (1.0, Some(2.0)), (20.5, Some(2.0))];
        let found = series(&ended, &Reading::default()).unwrap();
        assert_eq!((length(&found), found.understood.quality.last_s), (40.0, None));
        assert_eq!(series(&rows[..1], &Reading::default()).unwrap().length, None);
    }

    #[test]
    fn what_is_absurd_is_said_and_cut_if_the_user_says_so() {
        let mut rows: Vec<_> = (0..100).map(|at| (f64::from(at), Some(2e6))).collect();
        rows[40].1 = Some(8e9);
        let found = series(&rows, &Reading::default()).unwrap();
        assert!(found.understood.sentence.contains("one rate of 8 Gb/s, 4000 times the median (line 41)"));
        let clip = Some("10 Mbit/s".parse().unwrap());
        let cut = series(&rows, &Reading { clip, ..Reading::default() }).unwrap();
        assert_eq!((cut.values[40], cut.understood.quality.clipped), (1e7, 1));
    }

    #[test]
    fn resampled_values_are_means() {
        let rows = [(0.0, Some(1.0)), (0.5, Some(3.0)), (1.5, Some(5.0)), (2.0, Some(5.0))];
        let reading = Reading { resample: Some(Span::from_secs(1)), ..Reading::default() };
        assert_eq!(held(&series(&rows, &reading).unwrap()), [(0.0, 2.0), (1.0, 4.0), (2.0, 5.0)]);
    }
}
