//! A trace of rates, from a log of any form.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use varicap_logs::Quantity;
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Rate, Stream, stream_name};

use super::{CapacityPart, Files, Steps, Timeline, TraceOffset};
use crate::check::yes;
use crate::error::NetError;
use crate::traced::{Traced, read_values, traced_config};

traced_config! {
    /// A log of rates: a table with a time and a rate in each row, what iperf3 or ping prints, a capture. A rate holds until
    /// the next row.
    TraceConfig {
        /// The greatest rate: greater ones become this one. Default: none.
        clip: Rate,
    }, draws: |trace| trace.offset == TraceOffset::Random
}

impl CapacityPart for TraceConfig {
    type Parts = Traced;
    type Path = Steps;

    fn read(&self, files: &mut Files<'_>) -> Result<Traced, NetError> {
        self.check()?;
        let reading = (Quantity::Rate, &self.reading());
        Traced::read(&self.file, reading, (self.offset, self.repeat), files, whole)
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

    fn said(parts: &Traced) -> Option<String> {
        parts.said.as_deref().map(str::to_owned)
    }
}

/// A rate in whole bits per second.
fn whole(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5) as u64)
}

/// Reads rates from the bytes of a log whose form and columns are plain. A row takes 16 bytes of memory.
pub fn read_rates(file: &str, bytes: impl BufRead, repeat: bool) -> Result<Timeline, NetError> {
    read_values(file, bytes, Quantity::Rate, repeat, whole)
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
        assert!(refusal("a,b\n1,2\n").contains("no column is known for a rate"));
        assert_eq!(
            refusal("time_s,mbps\n0,fast\n"),
            "t.csv, line 2: found `fast`, expected a rate, from 0 to 1e18 b/s; `--unreadable skip` leaves such rows out"
        );
        assert!(
            refusal("time_s,mbps\n5,1\n\n0,2\n")
                .starts_with("t.csv, line 4: found `0,2`, expected a time later than")
        );
        for nonsense in ["-1", "inf", "1e30"] {
            assert!(
                refusal(&format!("time_s,mbps\n0,{nonsense}\n")).contains("expected a rate"),
                "{nonsense}"
            );
        }
        for nonsense in ["x", "inf", "1e30"] {
            let error = refusal(&format!("time_s,mbps\n0,1\n{nonsense},1\n2,1\n"));
            assert!(error.contains("line 3") && error.contains("expected a time"), "{error}");
        }
        assert!(refusal("time_s,mbps\n").contains("has no rows"));
        assert!(refusal("").contains("has no rows"));
        assert!(refusal("time_s,mbps\n0\n").contains("has no row with a rate"));
    }
}
