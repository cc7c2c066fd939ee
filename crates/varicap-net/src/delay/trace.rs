//! A trace of delays, from a log of any form.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use varicap_logs::Quantity;
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Span, Stream, stream_name};

use super::{DelayPart, Files, mean_of};
use crate::check::yes;
use crate::error::NetError;
use crate::offset::TraceOffset;
use crate::timeline::{Steps, Timeline};
use crate::traced::{Traced, read_values, traced_config};

traced_config! {
    /// A log of delays, which may be that of the rates. It is a table with a time and a delay (or a round trip, of which
    /// half counts) in each row; LeoReplayer's `delay_N.txt`, a line for every 10 ms with the delay in ms; what ping
    /// prints; or a capture, whose round trips count.
    TraceDelayConfig {}, draws: |trace| trace.offset == TraceOffset::Random
}

impl DelayPart for TraceDelayConfig {
    type Parts = Traced<Span>;
    type Path = Steps<Span>;

    fn read(&self, files: &mut Files<'_>) -> Result<Traced<Span>, NetError> {
        self.check()?;
        let reading = (Quantity::Delay, &self.reading());
        Traced::read(&self.file, reading, (self.offset, self.repeat), files, Span::from_secs_f64)
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

    fn said(parts: &Traced<Span>) -> Option<String> {
        parts.said.as_deref().map(str::to_owned)
    }
}

/// Reads delays from the bytes of a log whose form and columns are plain. A row takes 16 bytes of memory.
pub fn read_delays(file: &str, bytes: impl BufRead, repeat: bool) -> Result<Timeline<Span>, NetError> {
    read_values(file, bytes, Quantity::Delay, repeat, Span::from_secs_f64)
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
        assert_eq!(read("24\n").unwrap().length(), Some(Span::from_millis(10)));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(pieces("\u{feff}24\n31\n"), pieces("24\n31\n"));
        assert_eq!(pieces("\u{feff}# seen\n24\n"), pieces("24\n"));
        assert_eq!(pieces("\u{feff}time_s,delay_ms\n0,20\n1,30\n"), pieces("time_s,delay_ms\n0,20\n1,30\n"));
        assert!(read("24\n\u{feff}31\n").is_err(), "it stands at the beginning only");
    }

    #[test]
    fn errors_name_the_line_what_was_found_and_what_was_expected() {
        let refusal = |text| read(text).unwrap_err().to_string();
        assert!(refusal("time_s,rate_mbps\n0,1\n").contains("no column is known for a delay"));
        assert!(
            refusal("time_s,delay_ms\n0,-1\n")
                .starts_with("d.csv, line 2: found `-1`, expected a delay, from 0 to 1000 s")
        );
        assert!(refusal("24\n1000001\n").contains("line 2"));
        assert!(refusal("").contains("has no rows, expected a header such as `time_s,delay_ms`"));
    }
}
