//! Delivery opportunities in Mahimahi's format: the trace, and what each opportunity carries. The link serves them itself.

use std::io::BufRead;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{Bytes, JsonSchema, Rate, Span, Stream, stream_name};

use super::trains::{LATEST_MS, LightConfig, LightParts};
use super::{CapacityPart, Constant, Files, TraceOffset};
use crate::check::{Lines, read_digits, require_room, yes};
use crate::error::NetError;
use crate::handover::Outages;

/// A trace of delivery opportunities: one non-decreasing integer a line, in ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpportunitiesConfig {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// Bytes that an opportunity carries. Default: 1500 B.
    #[serde(default = "opportunity")]
    pub size: Bytes,
    /// Mahimahi's exact rules: 1504 bytes an opportunity and 4 more in each packet, whole milliseconds. Default: false.
    #[serde(default)]
    pub mahimahi: bool,
    /// Whether the trace begins again after its last opportunity. Default: true.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// Where in the trace a run begins, in whole milliseconds: a time, or `random`. Default: 0 s.
    #[serde(default)]
    pub offset: TraceOffset,
    /// Light opportunities, which a burst has on a link that was idle; `file` then has what a saturated link offers.
    /// Default: `file` whatever the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light: Option<LightConfig>,
}

impl Part for OpportunitiesConfig {
    fn check(&self) -> Checked {
        require("size", self.size > Bytes::ZERO, self.size, "at least 1 B")?;
        if let TraceOffset::At(offset) = self.offset {
            let is_whole = offset.as_nanos() % NANOS_PER_MS == 0;
            require("offset", is_whole, offset, "whole milliseconds, as in the trace")?;
        }
        if let Some(light) = &self.light {
            light.check().map_err(|fault| fault.within("light"))?;
        }
        self.offset.check(self.repeat)
    }

    fn draws(&self) -> bool {
        self.offset == TraceOffset::Random
    }
}

impl CapacityPart for OpportunitiesConfig {
    type Parts = OpportunityParts;
    /// As a path of rates, opportunities count with their mean.
    type Path = Constant;

    fn read(&self, files: &mut Files<'_>) -> Result<OpportunityParts, NetError> {
        self.check()?;
        let trace =
            files.read(&self.file, String::new(), |text| OpportunityTrace::parse(&self.file, text))?;
        self.offset.check_within(Some(trace.period()))?;
        let light = self.light.as_ref().map(|light| light.read(files).map_err(|error| error.within("light")));
        let OpportunitiesConfig { size, mahimahi, repeat, offset, .. } = *self;
        let light = light.transpose()?;
        Ok(OpportunityParts { trace, size, mahimahi, repeat, offset, light, outages: None })
    }

    fn mean_rate(parts: &OpportunityParts) -> Rate {
        parts.mean_rate()
    }

    fn path(parts: &OpportunityParts, _: Stream) -> Constant {
        Constant(parts.mean_rate())
    }

    fn stream_name(_: &OpportunityParts, _: &str) -> String {
        stream_name::traces()
    }

    fn repeats_itself(parts: &OpportunityParts) -> bool {
        parts.offset != TraceOffset::Random
    }

    fn said(parts: &OpportunityParts) -> Option<String> {
        parts.trace.said()
    }
}

fn opportunity() -> Bytes {
    Bytes::new(1500)
}

/// Bytes that an opportunity carries by Mahimahi's exact rules [B].
const MAHIMAHI_SIZE: Bytes = Bytes::new(1504);

/// The overhead that Mahimahi adds to each packet: the header of its TUN device [B].
const MAHIMAHI_OVERHEAD: Bytes = Bytes::new(4);

/// Most blank lines at the end.
const BLANK_LINES: usize = 1000;

/// Nanoseconds in a millisecond.
pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

/// Instants of delivery opportunities, in ms from the start; the last one is the period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpportunityTrace {
    pub(crate) millis: Vec<u64>,
    /// The unit of times since 1970 that the file has instead, counted from the first one.
    pub(crate) epoch: Option<&'static str>,
}

/// Times since 1970, which no trace begins with: they count from the first.
struct Epoch {
    first: u64,
    unit: &'static str,
    /// Milliseconds in a unit, and units in a millisecond.
    factor: (u64, u64),
}

impl Epoch {
    fn of(first: u64) -> Option<Epoch> {
        const UNITS: [(u64, &str, (u64, u64)); 4] = [
            (1_000_000_000, "s", (1000, 1)),
            (1_000_000_000_000, "ms", (1, 1)),
            (1_000_000_000_000_000, "us", (1, 1000)),
            (1_000_000_000_000_000_000, "ns", (1, 1_000_000)),
        ];
        let near = |(least, ..): &&(u64, &str, (u64, u64))| (*least / 2..*least * 5).contains(&first);
        UNITS.iter().find(near).map(|&(_, unit, factor)| Epoch { first, unit, factor })
    }

    fn millis(&self, instant: u64) -> u64 {
        instant.saturating_sub(self.first).saturating_mul(self.factor.0) / self.factor.1
    }
}

/// The numbers that a line should have; a table is another kind of trace.
fn expected(line: &str) -> String {
    let is_table = line.split([',', ';', '\t', ' ']).filter(|field| !field.trim().is_empty()).count() > 1;
    let hint = if is_table { "; a table of rates is a `trace`, not `opportunities`" } else { "" };
    format!("one whole number of milliseconds{hint}")
}

impl OpportunityTrace {
    /// Reads one non-decreasing integer a line. A line takes 8 bytes of memory.
    pub fn parse(file: &str, text: impl BufRead) -> Result<OpportunityTrace, NetError> {
        let mut millis: Vec<u64> = Vec::new();
        let mut last_line = 0;
        let mut blank = None;
        let mut epoch = None;
        let opened = varicap_logs::open(file, text)?;
        let mut lines = Lines::new(file, opened.into_bytes());
        while let Some((number, text)) = lines.next()? {
            if text.trim().is_empty() {
                let first = *blank.get_or_insert(number);
                if number - first < BLANK_LINES {
                    continue;
                }
            }
            // Blank lines may only be the last ones.
            let (number, text) = blank.map_or((number, text), |blank| (blank, ""));
            let instant =
                read_digits(text).ok_or_else(|| NetError::trace(file, number, text, expected(text)))?;
            let epoch =
                if millis.is_empty() { epoch.insert(Epoch::of(instant)) } else { epoch.get_or_insert(None) };
            let instant = match epoch {
                Some(epoch) => epoch.millis(instant),
                None => instant,
            };
            if millis.last().is_some_and(|&before| instant < before) {
                return Err(NetError::trace(file, number, text, "no less than on the line before"));
            }
            if instant > LATEST_MS {
                return Err(NetError::trace(file, number, text, format!("at most {LATEST_MS} ms")));
            }
            require_room(file, millis.len())?;
            millis.push(instant);
            last_line = number;
        }
        match millis.last() {
            None => Err(NetError::file(file, "is empty, expected one whole number of milliseconds a line")),
            Some(0) => Err(NetError::trace(file, last_line, "0", "a last instant above zero")),
            Some(_) => {
                let epoch = epoch.flatten().map(|epoch| epoch.unit);
                Ok(OpportunityTrace { millis, epoch })
            }
        }
    }

    /// Opportunities of one round.
    pub fn len(&self) -> usize {
        self.millis.len()
    }

    /// Never true of a trace that was read.
    pub fn is_empty(&self) -> bool {
        self.millis.is_empty()
    }

    /// The instants [ms].
    pub fn into_millis(self) -> Vec<u64> {
        self.millis
    }

    /// The form in which the file was found, where a reader of results should know.
    pub fn said(&self) -> Option<String> {
        let unit = self.epoch?;
        Some(format!("its times are since 1970, taken for {unit}, and count from the first"))
    }

    /// Time after which the trace begins again.
    pub fn period(&self) -> Span {
        Span::from_millis(self.millis.last().copied().unwrap_or_default())
    }
}

/// A trace of opportunities and what each of them carries.
#[derive(Clone, Debug)]
pub struct OpportunityParts {
    /// Its instants.
    pub trace: Arc<OpportunityTrace>,
    /// Bytes that an opportunity carries; ignored under Mahimahi's exact rules [B].
    pub size: Bytes,
    /// Whether Mahimahi's exact rules apply.
    pub mahimahi: bool,
    /// Whether the trace begins again after its last opportunity.
    pub repeat: bool,
    /// Where in the trace a run begins.
    pub offset: TraceOffset,
    /// The trace that bursts meet on an idle link, if that is another one.
    pub light: Option<LightParts>,
    /// When they pass unused.
    pub outages: Option<Outages>,
}

impl OpportunityParts {
    /// How far into the trace the run begins whose random numbers `stream` draws [ms].
    pub(crate) fn first_ms(&self, stream: Stream) -> u64 {
        self.offset.draw(Some(self.trace.period()), stream).as_nanos() / NANOS_PER_MS
    }

    /// Bytes that an opportunity carries [B].
    pub fn carried(&self) -> Bytes {
        if self.mahimahi { MAHIMAHI_SIZE } else { self.size }
    }

    /// The overhead of each frame beyond its size, as it waits and as it is sent [B].
    pub fn overhead(&self) -> Bytes {
        if self.mahimahi { MAHIMAHI_OVERHEAD } else { Bytes::ZERO }
    }

    /// Long-run mean rate of a link that is never idle [b/s]. A trace that does not begin again counts over its own length.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.trace.len() as u128 * u128::from(self.carried().as_u64()) * 8;
        let millis = u128::from(self.trace.period().as_nanos() / NANOS_PER_MS).max(1);
        let mean = Rate::from_bps(u64::try_from((bits * 1000 + millis / 2) / millis).unwrap_or(u64::MAX));
        self.outages.map_or(mean, |outages| outages.thin(mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OpportunityTrace, NetError> {
        OpportunityTrace::parse("t.down", text.as_bytes())
    }

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        assert_eq!(
            refusal("1\n\n3\n"),
            "t.down, line 2: found ``, expected one whole number of milliseconds"
        );
        assert_eq!(
            refusal("1\n5\n3\n"),
            "t.down, line 3: found `3`, expected no less than on the line before"
        );
        assert_eq!(refusal("0\n0\n"), "t.down, line 2: found `0`, expected a last instant above zero");
        assert_eq!(
            refusal("7 8\n"),
            "t.down, line 1: found `7 8`, expected one whole number of milliseconds; a table of rates is a `trace`, \
             not `opportunities`"
        );
        assert_eq!(refusal("-3\n"), "t.down, line 1: found `-3`, expected one whole number of milliseconds");
        assert_eq!(refusal(""), "t.down: is empty, expected one whole number of milliseconds a line");
        assert_eq!(
            refusal("99999999999999999999999\n"),
            "t.down, line 1: found `99999999999999999999…`, expected one whole number of milliseconds"
        );
        assert!(refusal("9999999999999999\n").ends_with("at most 1000000000000 ms"));
        assert_eq!(
            refusal("\u{feff}x\n"),
            "t.down, line 1: found `x`, expected one whole number of milliseconds"
        );
        assert_eq!(parse("\u{feff}1\n2\n"), parse("1\n2\n"));
        let not_text = OpportunityTrace::parse("t", &[b'1', b'\n', 0xff, b'\n'][..]).unwrap_err();
        assert_eq!(not_text.to_string(), "t, line 2: found `\u{fffd}`, expected text in UTF-8");
    }

    #[test]
    fn an_error_quotes_a_few_characters_spelled_out() {
        let error = refusal(&format!("\u{1b}[2J\u{202e}{}\n", "secret ".repeat(1000)));
        let quoted = "found `\\u{1b}[2J\\u{202e}secret secret s…`";
        assert!(error.contains(quoted), "{error}");
    }

    #[test]
    fn what_never_ends_is_refused_before_it_fills_the_memory() {
        let lines = std::io::BufReader::new(std::io::repeat(b'\n'));
        let ones = std::io::Read::chain(&b"1"[..], lines);
        assert!(OpportunityTrace::parse("t", std::io::BufReader::new(ones)).is_err());
        let error = OpportunityTrace::parse("t", std::io::BufReader::new(std::io::repeat(b'1'))).unwrap_err();
        assert!(error.to_string().contains("expected a line of at most 65536 bytes"), "{error}");
        let error = OpportunityTrace::parse("t", std::io::BufReader::new(Ones(b'\n'))).unwrap_err();
        assert_eq!(error.to_string(), "t: has more than 50000000 entries, more than a trace may have");
    }

    /// `1` on a line, without an end.
    struct Ones(u8);

    impl std::io::Read for Ones {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            for byte in &mut *buffer {
                self.0 = if self.0 == b'1' { b'\n' } else { b'1' };
                *byte = self.0;
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_last_line_without_an_end_and_ends_of_dos_are_read() {
        assert_eq!(parse("1\r\n4\r\n9").unwrap(), OpportunityTrace { millis: vec![1, 4, 9], epoch: None });
    }

    #[test]
    fn the_mean_counts_a_round_over_its_period() {
        let trace = Arc::new(parse("1\n1\n2\n4\n").unwrap());
        let offset = TraceOffset::default();
        let parts = OpportunityParts {
            trace,
            size: Bytes::new(1500),
            mahimahi: false,
            repeat: true,
            offset,
            light: None,
            outages: None,
        };
        assert_eq!(parts.mean_rate(), Rate::from_bps(12_000_000));
        let exact = OpportunityParts { mahimahi: true, ..parts };
        assert_eq!(exact.mean_rate(), Rate::from_bps(12_032_000));
    }
}
