//! Reading a rate trace: CSV whose header names its columns.

use std::io::BufRead;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{Rate, Span, Stream, stream_name};

use super::{CapacityPart, ReadFile, Steps, Timeline, TraceOffset, read_named, yes};
use crate::NetError;
use crate::check::{Lines, require_room};

/// A CSV file of rates; its header names the columns, `time_s` and `rate_bps`, `rate_kbps` or `rate_mbps`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// After its last row, whose rate holds as long as the one before it, the trace begins again; otherwise its last
    /// rate stays. Default: true.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// Where in the trace a run begins: a time, or `random`. Default: 0 s.
    #[serde(default)]
    pub offset: TraceOffset,
}

impl Part for TraceConfig {
    fn check(&self) -> Checked {
        self.offset.check(self.repeat)
    }
}

/// A trace of rates, and where in it a run begins.
#[derive(Clone, Debug)]
pub struct TraceParts {
    /// Its rates.
    pub timeline: Arc<Timeline>,
    /// Where a run begins.
    pub offset: TraceOffset,
}

impl CapacityPart for TraceConfig {
    type Parts = TraceParts;
    type Path = Steps;

    fn read(&self, read_file: &mut ReadFile<'_>) -> Result<TraceParts, NetError> {
        self.check()?;
        let timeline = read_named(&self.file, read_file, |text| read_rates(&self.file, text, self.repeat))?;
        self.offset.check_within(timeline.length())?;
        Ok(TraceParts { timeline: Arc::new(timeline), offset: self.offset })
    }

    fn mean_rate(parts: &TraceParts) -> Rate {
        parts.timeline.mean_rate()
    }

    fn path(parts: &TraceParts, stream: Stream) -> Steps {
        Steps::begun(parts.timeline.clone(), parts.offset.draw(parts.timeline.length(), stream))
    }

    fn stream_name(_: &TraceParts, _: &str) -> String {
        stream_name::traces()
    }

    fn repeats_itself(parts: &TraceParts) -> bool {
        parts.offset != TraceOffset::Random && parts.timeline.length().is_some()
    }
}

/// Columns of rates and their factor [b/s]; the short names are those of the traces of Pensieve.
const RATE_COLUMNS: [(&str, f64); 6] =
    [("rate_bps", 1.0), ("rate_kbps", 1e3), ("rate_mbps", 1e6), ("bps", 1.0), ("kbps", 1e3), ("mbps", 1e6)];

/// Latest time in a trace: thirty years [s].
const LATEST_S: f64 = 1e9;
/// Largest rate in a trace: an exabit per second [b/s].
const FASTEST_BPS: f64 = 1e18;

/// The columns of time and rate, as the header names them.
struct Columns {
    time: usize,
    rate: usize,
    factor: f64,
}

/// Reads a CSV text with a header. Each rate holds until the next row's time; the path begins with the first row,
/// whatever its time. Its last rate counts for as long as the one before it, and holds indefinitely if the trace does
/// not repeat. Blank lines and lines that begin with `#` are skipped, other columns ignored. A row takes 16 bytes of
/// memory.
pub fn read_rates(file: &str, text: impl BufRead, repeat: bool) -> Result<Timeline, NetError> {
    let mut columns = None;
    let mut first = None;
    let (mut at, mut rates) = (Vec::new(), Vec::new());
    let mut lines = Lines::new(file, text);
    while let Some((number, text)) = lines.next()? {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let Some(columns) = &columns else {
            columns = Some(read_header(file, number, text)?);
            continue;
        };
        let (time, rate) = read_row(file, number, text, columns)?;
        let time = time.saturating_sub(*first.get_or_insert(time));
        if at.last().is_some_and(|before| time <= *before) {
            return Err(NetError::trace(file, number, text, "a time later than on the row before"));
        }
        require_room(file, at.len())?;
        at.push(time);
        rates.push(rate);
    }
    let Some(last) = at.last().copied() else {
        let reason = "has no rows, expected a header such as `time_s,rate_mbps` and at least one row";
        return Err(NetError::file(file, reason));
    };
    // A single row has no length: it is a constant rate.
    let before_last = at.len().checked_sub(2).map(|index| at[index]);
    let length = before_last.map(|before| last + (last - before));
    Ok(Timeline::new(at, rates, length, repeat))
}

fn read_header(file: &str, number: usize, text: &str) -> Result<Columns, NetError> {
    let names = || text.trim_start_matches('\u{feff}').split(',').map(|name| name.trim());
    let time = names().position(|name| name == "time_s");
    let rate = names().enumerate().find_map(|(index, name)| {
        let (_, factor) = RATE_COLUMNS.iter().find(|(column, _)| *column == name)?;
        Some((index, *factor))
    });
    let (Some(time), Some((rate, factor))) = (time, rate) else {
        let expected =
            "a header with `time_s` and one of `rate_bps`, `rate_kbps`, `rate_mbps`, `bps`, `kbps`, `mbps`";
        return Err(NetError::trace(file, number, text, expected));
    };
    Ok(Columns { time, rate, factor })
}

fn read_row(file: &str, number: usize, text: &str, columns: &Columns) -> Result<(Span, Rate), NetError> {
    let field = |index: usize, most: f64, expected: &str| {
        let field = text.split(',').nth(index).unwrap_or("").trim();
        let value: Option<f64> = field.parse().ok();
        value
            .filter(|value| (0.0..=most).contains(value))
            .ok_or_else(|| NetError::trace(file, number, field, expected))
    };
    let time = field(columns.time, LATEST_S, "a time in seconds, from 0 to 1e9")?;
    let rate = field(columns.rate, FASTEST_BPS / columns.factor, "a rate, from 0 to 1e18 b/s")?;
    Ok((Span::from_secs_f64(time), Rate::from_bps((rate * columns.factor + 0.5) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Timeline, NetError> {
        read_rates("t.csv", text.as_bytes(), true)
    }

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn the_header_names_the_columns_in_any_order() {
        let expected = Timeline::new(
            vec![Span::ZERO, Span::from_millis(500)],
            vec![Rate::from_bps(1_500_000), Rate::ZERO],
            Some(Span::from_secs(1)),
            true,
        );
        assert_eq!(read("time_s,rate_mbps\n0,1.5\n0.5,0\n").unwrap(), expected);
        assert_eq!(read("# x\n rate_kbps , cell, time_s\r\n\n1500,a,0\r\n0,b,0.5").unwrap(), expected);
        assert_eq!(read("time_s,mbps\n10,1.5\n10.5,0\n").unwrap(), expected);
    }

    #[test]
    fn the_last_rate_holds_as_long_as_the_one_before() {
        let timeline = read("time_s,bps\n0,30\n1,60\n3,90\n").unwrap();
        assert_eq!(timeline.mean_rate(), Rate::from_bps((30 + 2 * 60 + 2 * 90) / 5));
    }

    #[test]
    fn errors_name_the_line_what_was_found_and_what_was_expected() {
        assert!(refusal("a,b\n").starts_with("t.csv, line 1: found `a,b`, expected a header with `time_s`"));
        assert_eq!(
            refusal("time_s,mbps\n0,fast\n"),
            "t.csv, line 2: found `fast`, expected a rate, from 0 to 1e18 b/s"
        );
        assert_eq!(
            refusal("time_s,mbps\n0,1\n\n0,2\n"),
            "t.csv, line 4: found `0,2`, expected a time later than on the row before"
        );
        assert_eq!(
            refusal("time_s,mbps\n0\n"),
            "t.csv, line 2: found ``, expected a rate, from 0 to 1e18 b/s"
        );
        for nonsense in ["-1", "NaN", "inf", "1e30"] {
            assert!(
                refusal(&format!("time_s,mbps\n{nonsense},1\n")).contains("expected a time"),
                "{nonsense}"
            );
            assert!(
                refusal(&format!("time_s,mbps\n0,{nonsense}\n")).contains("expected a rate"),
                "{nonsense}"
            );
        }
        assert!(refusal("time_s,mbps\n").contains("has no rows"));
        assert!(refusal("").contains("has no rows"));
    }
}
