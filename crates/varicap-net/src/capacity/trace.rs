//! Reading a rate trace: CSV whose header names its columns.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Rate, Stream, stream_name};

use super::{CapacityPart, ReadFile, Steps, Timeline, TraceOffset};
use crate::NetError;
use crate::check::{Lines, yes};
use crate::csv::{Column, read_timeline};
use crate::traced::Traced;

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

    fn draws(&self) -> bool {
        self.offset == TraceOffset::Random
    }
}

impl CapacityPart for TraceConfig {
    type Parts = Traced;
    type Path = Steps;

    fn read(&self, read_file: &mut ReadFile<'_>) -> Result<Traced, NetError> {
        self.check()?;
        Traced::read(&self.file, self.offset, read_file, |text| read_rates(&self.file, text, self.repeat))
    }

    fn mean_rate(parts: &Traced) -> Rate {
        parts.timeline.mean_rate()
    }

    fn path(parts: &Traced, stream: Stream) -> Steps {
        parts.path(stream)
    }

    fn stream_name(_: &Traced, _: &str) -> String {
        stream_name::traces()
    }

    fn repeats_itself(parts: &Traced) -> bool {
        parts.repeats_itself()
    }
}

/// Columns of rates [b/s], at most an exabit per second; the short names are those of the traces of Pensieve.
const RATES: Column = Column {
    names: &[
        ("rate_bps", 1.0),
        ("rate_kbps", 1e3),
        ("rate_mbps", 1e6),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("mbps", 1e6),
    ],
    header: "one of `rate_bps`, `rate_kbps`, `rate_mbps`, `bps`, `kbps`, `mbps`",
    most: 1e18,
    field: "a rate, from 0 to 1e18 b/s",
    example: "`time_s,rate_mbps`",
};

/// Reads rates from a CSV text, as [`TraceConfig`] says. Blank lines and lines that begin with `#` are skipped, other
/// columns ignored. A row takes 16 bytes of memory.
pub fn read_rates(file: &str, text: impl BufRead, repeat: bool) -> Result<Timeline, NetError> {
    read_timeline(Lines::new(file, text), repeat, &RATES, |bps| Rate::from_bps((bps + 0.5) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Span;

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
