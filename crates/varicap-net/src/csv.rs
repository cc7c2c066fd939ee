//! Traces in CSV files whose headers name their columns: a time, and a value that holds until the next row.

use std::io::BufRead;

use varicap_units::Span;

use crate::NetError;
use crate::check::{Lines, require_room};
use crate::timeline::Timeline;

/// Latest time in a trace: thirty years [s].
const LATEST_S: f64 = 1e9;

/// What a column of values may be called, and hold.
pub(crate) struct Column {
    /// Its names, and the factor of each to the unit of the values.
    pub names: &'static [(&'static str, f64)],
    /// The same in words.
    pub header: &'static str,
    /// The largest value, in the unit of the values.
    pub most: f64,
    /// What a field holds, in words.
    pub field: &'static str,
    /// A header, as an example.
    pub example: &'static str,
}

/// The places of the columns of a file, and the factor of its values.
struct Places {
    time: usize,
    value: usize,
    factor: f64,
}

/// Whether a line is neither blank nor a comment.
pub(crate) fn is_row(text: &str) -> bool {
    !(text.trim().is_empty() || text.starts_with('#'))
}

/// Reads a CSV text with a header. Each value holds until the next row's time; the path begins with the first row,
/// whatever its time. Its last value counts for as long as the one before it, and holds indefinitely if the trace does
/// not repeat. Blank lines and lines that begin with `#` are skipped, other columns ignored. A row takes 16 bytes of
/// memory.
pub(crate) fn read_timeline<V: Copy>(
    mut lines: Lines<'_, impl BufRead>,
    repeat: bool,
    column: &Column,
    value_of: impl Fn(f64) -> V,
) -> Result<Timeline<V>, NetError> {
    let file = lines.file();
    let mut places = None;
    let mut first = None;
    let (mut at, mut values) = (Vec::new(), Vec::new());
    while let Some((number, text)) = lines.next()? {
        if !is_row(text) {
            continue;
        }
        let Some(places) = &places else {
            places = Some(read_header(file, number, text, column)?);
            continue;
        };
        let (time, value) = read_row(file, number, text, places, column)?;
        let time = time.saturating_sub(*first.get_or_insert(time));
        if at.last().is_some_and(|before| time <= *before) {
            return Err(NetError::trace(file, number, text, "a time later than on the row before"));
        }
        require_room(file, at.len())?;
        at.push(time);
        values.push(value_of(value));
    }
    let Some(last) = at.last().copied() else {
        let reason =
            format!("has no rows, expected a header such as {} and at least one row", column.example);
        return Err(NetError::file(file, reason));
    };
    // A single row has no length: it is constant.
    let before_last = at.len().checked_sub(2).map(|index| at[index]);
    let length = before_last.map(|before| last + (last - before));
    Ok(Timeline::new(at, values, length, repeat))
}

fn read_header(file: &str, number: usize, text: &str, column: &Column) -> Result<Places, NetError> {
    let names = || text.split(',').map(|name| name.trim());
    let time = names().position(|name| name == "time_s");
    let value = names().enumerate().find_map(|(index, name)| {
        let (_, factor) = column.names.iter().find(|(column, _)| *column == name)?;
        Some((index, *factor))
    });
    let (Some(time), Some((value, factor))) = (time, value) else {
        return Err(NetError::trace(
            file,
            number,
            text,
            format!("a header with `time_s` and {}", column.header),
        ));
    };
    Ok(Places { time, value, factor })
}

fn read_row(
    file: &str,
    number: usize,
    text: &str,
    places: &Places,
    column: &Column,
) -> Result<(Span, f64), NetError> {
    let field = |index: usize, most: f64, expected: &str| {
        let field = text.split(',').nth(index).unwrap_or("").trim();
        let value: Option<f64> = field.parse().ok();
        value
            .filter(|value| (0.0..=most).contains(value))
            .ok_or_else(|| NetError::trace(file, number, field, expected))
    };
    let time = field(places.time, LATEST_S, "a time in seconds, from 0 to 1e9")?;
    let value = field(places.value, column.most / places.factor, column.field)?;
    Ok((Span::from_secs_f64(time), value * places.factor))
}
