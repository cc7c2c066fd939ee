//! Reading a trace of delays: CSV whose header names its columns, or a line for every 10 ms as LeoReplayer has it.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Span, Stream, stream_name};

use super::{DelayPart, ReadFile, mean_of};
use crate::NetError;
use crate::check::{BYTE_ORDER_MARK, Lines, read_digits, require_room, yes};
use crate::csv::{Column, is_row, read_timeline};
use crate::offset::TraceOffset;
use crate::timeline::{Steps, Timeline};
use crate::traced::Traced;

/// A trace of delays. In a CSV file, which may be that of the rates, the header names the columns, `time_s` and
/// `delay_ms` (or `delay_us`, `delay_s`); LeoReplayer's `delay_N.txt` has a line for every 10 ms, with the delay in ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceDelayConfig {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// After its last row, whose delay holds as long as the one before it, the trace begins again; otherwise its last
    /// delay stays. Default: true.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// Where in the trace a run begins: a time, or `random`. Default: 0 s.
    #[serde(default)]
    pub offset: TraceOffset,
}

impl Part for TraceDelayConfig {
    fn check(&self) -> Checked {
        self.offset.check(self.repeat)
    }

    fn draws(&self) -> bool {
        self.offset == TraceOffset::Random
    }
}

impl DelayPart for TraceDelayConfig {
    type Parts = Traced<Span>;
    type Path = Steps<Span>;

    fn read(&self, read_file: &mut ReadFile<'_>) -> Result<Traced<Span>, NetError> {
        self.check()?;
        Traced::read(&self.file, self.offset, read_file, |text| read_delays(&self.file, text, self.repeat))
    }

    fn mean(parts: &Traced<Span>) -> Span {
        mean_of(parts.timeline.held())
    }

    fn least(parts: &Traced<Span>) -> Span {
        parts.timeline.least()
    }

    fn path(parts: &Traced<Span>, stream: Stream) -> Steps<Span> {
        parts.path(stream)
    }

    fn stream_name(_: &Traced<Span>, _: &str) -> String {
        stream_name::traces()
    }

    fn repeats_itself(parts: &Traced<Span>) -> bool {
        parts.repeats_itself()
    }
}

/// Columns of delays [ns].
const DELAYS: Column = Column {
    names: &[("delay_ms", 1e6), ("delay_us", 1e3), ("delay_s", 1e9)],
    header: "one of `delay_ms`, `delay_us`, `delay_s`",
    most: LONGEST_MS as f64 * 1e6,
    field: "a delay in milliseconds, from 0 to 1e6",
    example: "`time_s,delay_ms`",
};

/// Longest delay in a trace [ms].
const LONGEST_MS: u64 = 1_000_000;
/// What each line of LeoReplayer's delays stands for.
const LINE: Span = Span::from_millis(10);

/// Reads delays, as [`TraceDelayConfig`] says. Blank lines and lines that begin with `#` are skipped, other columns
/// ignored. A row takes 16 bytes of memory.
pub fn read_delays(file: &str, text: impl BufRead, repeat: bool) -> Result<Timeline<Span>, NetError> {
    let mut text = text;
    let begin = text.fill_buf().map_err(|error| NetError::file(file, error.to_string()))?;
    let begin = String::from_utf8_lossy(begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begin));
    let first = begin.lines().find(|line| is_row(line)).unwrap_or_default();
    let is_replayers = read_digits(first.trim()).is_some();
    drop(begin);
    let lines = Lines::new(file, text);
    if is_replayers {
        return read_lines(lines, repeat);
    }
    read_timeline(lines, repeat, &DELAYS, |nanos| Span::from_nanos((nanos + 0.5) as u64))
}

fn read_lines(mut lines: Lines<'_, impl BufRead>, repeat: bool) -> Result<Timeline<Span>, NetError> {
    let file = lines.file();
    let (mut at, mut delays) = (Vec::new(), Vec::new());
    let mut length = Span::ZERO;
    while let Some((number, text)) = lines.next()? {
        if !is_row(text) {
            continue;
        }
        let millis = read_digits(text.trim()).filter(|millis| *millis <= LONGEST_MS);
        let wrong =
            || NetError::trace(file, number, text, "a whole number of milliseconds, the delay of 10 ms");
        let delay = Span::from_millis(millis.ok_or_else(wrong)?);
        require_room(file, at.len())?;
        at.push(length);
        delays.push(delay);
        length += LINE;
    }
    Ok(Timeline::new(at, delays, Some(length), repeat))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Timeline<Span>, NetError> {
        read_delays("d.csv", text.as_bytes(), true)
    }

    fn pieces(text: &str) -> Vec<(u64, u64)> {
        read(text).unwrap().pieces().map(|(at, delay)| (at.as_nanos(), delay.as_nanos())).collect()
    }

    #[test]
    fn a_csv_names_its_columns_and_may_have_rates_beside() {
        let text = "# recorded\ntime_s,rate_mbps,delay_ms\n0,8,20.5\n0.5,0,30\n";
        assert_eq!(pieces(text), [(0, 20_500_000), (500_000_000, 30_000_000)]);
        assert_eq!(pieces("delay_us,time_s\n1.5,3\n2,4\n"), [(0, 1_500), (1_000_000_000, 2_000)]);
        assert_eq!(read(text).unwrap().length(), Some(Span::from_secs(1)));
    }

    #[test]
    fn lines_of_numbers_are_delays_of_ten_milliseconds_each() {
        assert_eq!(
            pieces("24\n24\n31\n"),
            [(0, 24_000_000), (10_000_000, 24_000_000), (20_000_000, 31_000_000)]
        );
        assert_eq!(read("24\n24\n31\n").unwrap().length(), Some(Span::from_millis(30)));
        assert_eq!(read("24\n").unwrap().length(), Some(LINE));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(pieces("\u{feff}24\n31\n"), pieces("24\n31\n"));
        assert_eq!(pieces("\u{feff}# seen\n24\n"), pieces("24\n"));
        assert_eq!(pieces("\u{feff}time_s,delay_ms\n0,20\n1,30\n"), pieces("time_s,delay_ms\n0,20\n1,30\n"));
        let found = read("\u{feff}x\n").unwrap_err().to_string();
        assert!(found.contains("found `x`"), "{found}");
        assert!(read("24\n\u{feff}31\n").is_err(), "it stands at the beginning only");
    }

    #[test]
    fn errors_name_the_line_what_was_found_and_what_was_expected() {
        let refusal = |text| read(text).unwrap_err().to_string();
        assert_eq!(
            refusal("time_s,rate_mbps\n0,1\n"),
            "d.csv, line 1: found `time_s,rate_mbps`, expected a header with `time_s` and one of `delay_ms`, \
             `delay_us`, `delay_s`"
        );
        assert_eq!(
            refusal("time_s,delay_ms\n0,-1\n"),
            "d.csv, line 2: found `-1`, expected a delay in milliseconds, from 0 to 1e6"
        );
        assert_eq!(
            refusal("24\n\n25.5\n"),
            "d.csv, line 3: found `25.5`, expected a whole number of milliseconds, the delay of 10 ms"
        );
        assert!(refusal("24\n1000001\n").contains("line 2"));
        assert!(refusal("").contains("has no rows, expected a header such as `time_s,delay_ms`"));
    }
}
