//! Tables: lines of fields, of which some are times and values.

use std::borrow::Cow;

use crate::columns::Role;
use crate::instant::{Clock, date};
use crate::layout::{Layout, is_row};
use crate::number::Decimals;
use crate::plan::{Plan, Planner, Times};
use crate::series::{Rows, Series};
use crate::source::{Lines, Opened};
use crate::{LogError, Quantity, Reading};

/// Nanoseconds in a day: a time of day begins anew after it.
const DAY: i64 = 86_400_000_000_000;
/// Rows at the end that are no data, at most.
const FOOTER: usize = 20;
/// The size of a delivery opportunity [bit].
const OPPORTUNITY_BITS: f64 = 12_000.0;

/// Reads a table.
pub(crate) fn read(
    file: &str,
    opened: Opened<'_>,
    wanted: Quantity,
    reading: &Reading,
) -> Result<Series, LogError> {
    if opened.is_binary() {
        return Err(LogError::file(file, "is not a text, a capture or gzip"));
    }
    let layout = Layout::of(&opened.look());
    let plan = Planner { file, wanted, reading, layout: &layout }.plan()?;
    let reading = match plan.has_runs {
        true => Cow::Owned(Reading { backward: crate::Backward::Append, ..reading.clone() }),
        false => Cow::Borrowed(reading),
    };
    if plan.role == Role::Packets {
        return packets(file, opened, &layout, &plan, &reading);
    }
    let mut rows = Rows::new(file, wanted, &reading);
    if layout.preamble > 0 {
        rows.quality
            .left_out
            .push(format!("{} before the table, left out", crate::quality::count(layout.preamble, "line")));
    }
    let mut pass = Pass {
        file,
        wanted,
        layout: &layout,
        plan: &plan,
        now: 0,
        days: 0,
        before: None,
        footer: Vec::new(),
    };
    let mut units = Units::of(file, &layout, reading.only.as_deref());
    let mut lines = Lines::new(file, opened.into_bytes());
    while let Some((number, line)) = lines.next()? {
        let is_wanted = |units: &mut Units<'_>| units.takes(number, &line);
        if number > layout.header && is_row(&line) && units.as_mut().map_or(Ok(true), is_wanted)? {
            pass.line(number, &line, &mut rows)?;
        }
    }
    pass.end(&mut rows);
    if let Some(units) = units {
        units.end()?;
    }
    let end = match plan.times {
        Times::Durations { .. } | Times::Ends { .. } | Times::Every(_) => Some(pass.now),
        Times::Column { .. } => None,
    };
    rows.finish(plan.form, plan.role == Role::Bytes && !matches!(plan.times, Times::Ends { .. }), end)
}

/// The measuring units of a table that has several, each with rows of its own: those of the FCC.
struct Units<'a> {
    file: &'a str,
    layout: &'a Layout,
    column: usize,
    /// The one that is asked for.
    only: Option<&'a str>,
    /// The one whose rows are read.
    read: Option<String>,
}

impl<'a> Units<'a> {
    /// None if no column is named as theirs.
    fn of(file: &'a str, layout: &'a Layout, only: Option<&'a str>) -> Option<Units<'a>> {
        let column = layout.names.iter().position(|name| name.trim_matches('"') == "unit_id")?;
        Some(Units { file, layout, column, only, read: None })
    }

    /// Whether a row is one of the unit that is read.
    fn takes(&mut self, number: usize, line: &str) -> Result<bool, LogError> {
        let fields = self.layout.split.fields(line);
        let Some(unit) = fields.get(self.column).map(AsRef::as_ref) else { return Ok(true) };
        match (self.only, &self.read) {
            (Some(only), _) if only != unit => Ok(false),
            (_, Some(read)) if read == unit => Ok(true),
            (_, None) => {
                self.read = Some(unit.to_owned());
                Ok(true)
            }
            (_, Some(read)) => {
                let expected = format!("rows of the unit `{read}` alone; say which, as `--only {read}`");
                Err(LogError::line(self.file, number, line, expected))
            }
        }
    }

    /// All lines have been seen.
    fn end(self) -> Result<(), LogError> {
        match (self.only, self.read) {
            (Some(only), None) => {
                Err(LogError::file(self.file, format!("has no row of the unit `{only}`, in `unit_id`")))
            }
            _ => Ok(()),
        }
    }
}

/// One way through the lines.
struct Pass<'a> {
    file: &'a str,
    wanted: Quantity,
    layout: &'a Layout,
    plan: &'a Plan,
    /// Where the next row begins, if columns do not say [ns].
    now: i64,
    /// An offset of times of day, after midnight [ns].
    days: i64,
    before: Option<i64>,
    /// Lines without a time, which may be the last ones.
    footer: Vec<(usize, String)>,
}

impl Pass<'_> {
    fn line(&mut self, number: usize, line: &str, rows: &mut Rows<'_>) -> Result<(), LogError> {
        let fields = self.layout.split.fields(line);
        let field = |index: usize| fields.get(index).map_or("", |field| field.as_ref());
        let value = self.value(number, field(self.plan.value));
        let Some(at) = self.time(&fields) else {
            let first = self.time_field(&fields);
            if fields.iter().zip(&self.layout.names).all(|(field, name)| field == name)
                && !self.layout.names.is_empty()
            {
                rows.quality.left_out.push(format!("the header again on line {number}, left out"));
            } else if self.before.is_none() && rows.quality.left_out.is_empty() && value.is_err() {
                rows.quality.left_out.push(format!("a row of units (line {number}), left out"));
            } else {
                self.footer.push((number, first));
                if self.footer.len() > FOOTER {
                    self.refuse_footer(rows)?;
                }
            }
            return Ok(());
        };
        self.refuse_footer(rows)?;
        self.before = Some(at);
        // Data of a row that says how long it took.
        let value = match self.plan.times {
            Times::Ends { .. } => {
                value.map(|bits| bits.map(|bits| bits * 1e9 / (self.now - at).max(1) as f64))
            }
            _ => value,
        };
        match value {
            Ok(value) => rows.push(number, at, value, line),
            Err(error) => rows.unreadable(number, Some(at), error),
        }
    }

    /// The field that should have a time.
    fn time_field(&self, fields: &[Cow<'_, str>]) -> String {
        let index = match self.plan.times {
            Times::Column { index, .. } | Times::Durations { index, .. } => index,
            Times::Every(_) => 0,
            Times::Ends { .. } => 1,
        };
        fields.get(index).map_or(String::new(), |field| field.to_string())
    }

    /// Rows without a time that are followed by one with it cannot be read.
    fn refuse_footer(&mut self, rows: &mut Rows<'_>) -> Result<(), LogError> {
        for (number, found) in std::mem::take(&mut self.footer) {
            let expected = match self.plan.times {
                Times::Column { index, clock: Clock::Number(_) } => {
                    format!("a time, a number in column {index}")
                }
                Times::Column { index, clock: Clock::Date } => {
                    format!("a time such as 2020-02-14 09:38:22 in column {index}")
                }
                _ => "a duration".to_owned(),
            };
            rows.unreadable(number, None, LogError::line(self.file, number, &found, expected))?;
        }
        Ok(())
    }

    /// The rows after the last one with a time are no data.
    fn end(&mut self, rows: &mut Rows<'_>) {
        for (number, found) in std::mem::take(&mut self.footer) {
            rows.quality
                .left_out
                .push(format!("`{}` on line {number}, left out", crate::error::quoted(&found)));
        }
    }

    fn time(&mut self, fields: &[Cow<'_, str>]) -> Option<i64> {
        let comma = self.layout.decimals.comma;
        let field = |index: usize| fields.get(index).map(|field| field.as_ref());
        match self.plan.times {
            Times::Column { index, clock } => {
                let mut at = clock.read(field(index)?, comma)?;
                if clock == Clock::Date && !date(field(index)?)?.has_day {
                    // Midnight lies between a late time of day and an early one.
                    at += self.days;
                    if self.before.is_some_and(|before| before - at > DAY / 2) {
                        self.days += DAY;
                        at += DAY;
                    }
                }
                Some(at)
            }
            Times::Every(step) => {
                let at = self.now;
                self.now += step;
                Some(at)
            }
            Times::Durations { index, unit } => {
                let length = Clock::Number(unit).read(field(index)?, comma).filter(|length| *length >= 0)?;
                let at = self.now;
                self.now = self.now.saturating_add(length);
                Some(at)
            }
            Times::Ends { origin } => {
                let end = Clock::Number(1e6).read(field(1)?, false)?;
                let length = Clock::Number(1e6).read(field(5)?, false)?;
                self.now = origin.saturating_add(end);
                Some(self.now - length)
            }
        }
    }

    /// The value of a field [b/s, bit, s or 1]; nothing if it is missing.
    fn value(&self, number: usize, field: &str) -> Result<Option<f64>, LogError> {
        if Decimals::is_missing(field) {
            return Ok(None);
        }
        let role = self.plan.role;
        let value = self.layout.decimals.split(field).and_then(|(value, rest)| {
            let unit = if rest.is_empty() { Some(self.plan.unit) } else { role.unit(rest) };
            Some(value * unit?)
        });
        let value = value.map(|value| match role {
            Role::Delay => value / 1e9,
            Role::Rtt => value / 2e9,
            _ => value,
        });
        // Decimals of a factor may leave the range by their last digit.
        let most = self.wanted.most() * (1.0 + 1e-12);
        let value = value.filter(|value| (0.0..=most).contains(value));
        let value = value.map(|value| value.min(self.wanted.most()));
        let wrong = || LogError::line(self.file, number, field, self.wanted.field());
        value.map(Some).ok_or_else(wrong)
    }
}

/// Instants of packets as rates.
fn packets(
    file: &str,
    opened: Opened<'_>,
    layout: &Layout,
    plan: &Plan,
    reading: &Reading,
) -> Result<Series, LogError> {
    let Times::Column { index, clock } = plan.times else {
        return Err(LogError::file(file, "`packets` is the column of their times"));
    };
    let mut counted = crate::capture::Bins::new(file, reading)?;
    let mut lines = Lines::new(file, opened.into_bytes());
    let mut first = None;
    while let Some((number, line)) = lines.next()? {
        if number <= layout.header || !is_row(&line) {
            continue;
        }
        let fields = layout.split.fields(&line);
        let field = fields.get(index).map_or("", |field| field.as_ref());
        let at = clock.read(field, layout.decimals.comma);
        let at = at.ok_or_else(|| LogError::line(file, number, field, "the time of a packet, a number"))?;
        // Times since 1970 begin with the first, others at zero.
        let origin = *first.get_or_insert(if at >= 100_000_000_000_000_000 { at } else { 0 });
        counted.add(at - origin, OPPORTUNITY_BITS)?;
    }
    counted.series(Quantity::Rate, reading, plan.form.clone(), first.unwrap_or_default())
}
