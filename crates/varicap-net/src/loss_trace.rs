//! Loss from a trace: a probability that holds from row to row, whatever is sent.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use varicap_logs::Quantity;
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Probability, Stream, Time};

use crate::check::yes;
use crate::error::NetError;
use crate::file::Files;
use crate::loss::{LosesInTime, TimedLoss};
use crate::offset::TraceOffset;
use crate::timeline::{Steps, Timeline};
use crate::traced::{Traced, read_values, traced_config};

traced_config! {
    /// A log of loss probabilities, which may be that of the rates. It is a table with a time and a loss in each row, `loss`
    /// (a share, from 0 to 1) or `loss_percent`; or iperf3's, of datagrams.
    TraceLossConfig {}, draws: |_| true
}

impl TimedLoss for TraceLossConfig {
    type Parts = Traced<Probability>;
    type State = TracedLoss;

    fn read(&self, files: &mut Files<'_>) -> Result<Traced<Probability>, NetError> {
        self.check()?;
        let reading = (Quantity::Loss, &self.reading());
        Traced::read(&self.file, reading, (self.offset, self.repeat), files, probability)
    }

    fn mean(parts: &Traced<Probability>) -> f64 {
        let (mut sum, mut seconds) = (0.0, 0.0);
        for (loss, length) in parts.timeline.held() {
            sum += loss.get() * length.as_secs_f64();
            seconds += length.as_secs_f64();
        }
        sum / seconds
    }

    fn work(parts: &Traced<Probability>) -> f64 {
        let rows = parts.timeline.pieces().count() as f64;
        parts.timeline.length().map_or(0.0, |length| rows / length.as_secs_f64())
    }

    fn repeats_itself(parts: &Traced<Probability>) -> bool {
        parts.repeats_itself()
    }

    fn said(parts: &Traced<Probability>) -> Option<String> {
        parts.said.as_deref().map(str::to_owned)
    }

    fn start(parts: &Traced<Probability>, traces: Stream, luck: Stream) -> TracedLoss {
        TracedLoss { path: parts.path(traces), luck }
    }
}

/// The losses of one run along a trace.
#[derive(Clone, Debug)]
pub struct TracedLoss {
    path: Steps<Probability>,
    luck: Stream,
}

impl LosesInTime for TracedLoss {
    fn loses(&mut self, end: Time) -> bool {
        let (loss, _) = self.path.piece(end);
        self.luck.chance(loss.get())
    }
}

/// A share as a probability; what a field may hold is checked before.
fn probability(share: f64) -> Probability {
    Probability::new(share).unwrap_or_default()
}

/// Reads loss probabilities from the bytes of a log whose form and columns are plain. A row takes 16 bytes of memory.
pub fn read_losses(file: &str, bytes: impl BufRead, repeat: bool) -> Result<Timeline<Probability>, NetError> {
    read_values(file, bytes, Quantity::Loss, repeat, probability)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn read(text: &str) -> Result<Timeline<Probability>, NetError> {
        read_losses("l.csv", text.as_bytes(), true)
    }

    fn pieces(text: &str) -> Vec<(u64, f64)> {
        read(text).unwrap().pieces().map(|(at, loss)| (at.as_nanos(), loss.get())).collect()
    }

    #[test]
    fn a_csv_names_its_columns_and_may_have_rates_beside() {
        let text = "# recorded\ntime_s,rate_mbps,loss\n0,8,0\n0.5,0,1\n0.75,8,0.25\n";
        assert_eq!(pieces(text), [(0, 0.0), (500_000_000, 1.0), (750_000_000, 0.25)]);
        assert_eq!(pieces("loss_percent,time_s\n100,3\n0.5,4\n"), [(0, 1.0), (1_000_000_000, 0.005)]);
    }

    #[test]
    fn the_mean_counts_each_probability_for_as_long_as_it_holds() {
        let timeline = Arc::new(read("time_s,loss\n0,0\n1,0.5\n3,1\n").unwrap());
        let parts = Traced { timeline, offset: TraceOffset::default(), said: None };
        // 1 s without loss, 2 s of a half, and the last row for as long as the one before it.
        assert_eq!(TraceLossConfig::mean(&parts), (2.0 * 0.5 + 2.0) / 5.0);
    }

    #[test]
    fn errors_name_the_line_what_was_found_and_what_was_expected() {
        let refusal = |text: &str| read(text).unwrap_err().to_string();
        assert!(refusal("time_s,rate_mbps\n0,1\n").contains("no column is known for a loss"));
        for nonsense in ["1.01", "-0.1", "101 %"] {
            let expected = format!(
                "l.csv, line 3: found `{nonsense}`, expected a probability of loss, from 0 to 1 (`loss`) or to 100 \
                 (`loss_percent`)"
            );
            assert!(
                refusal(&format!("time_s,loss\n0,0\n1,{nonsense}\n")).starts_with(&expected),
                "{nonsense}"
            );
        }
        assert!(refusal("time_s,loss_percent\n0,101\n").contains("line 2: found `101`"));
        assert!(refusal("time_s,loss\n").contains("has no rows, expected a header such as `time_s,loss`"));
    }
}
