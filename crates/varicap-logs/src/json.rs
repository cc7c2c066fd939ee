//! Logs in JSON: iperf3, AlphaRTC's and ntrace's traces, Starlink's history, Genet's traces, flent, and lists of records.

use serde_json::{Map, Value};

use crate::series::{Rows, Series};
use crate::source::Opened;
use crate::understood::Form;
use crate::{LogError, Quantity, Reading};

/// Most bytes of a log in JSON: it is held as a whole.
const MOST: u64 = 64_000_000;

/// Whether a text that begins with a bracket is a list in JSON rather than what a program printed.
pub(crate) fn is_list(text: &str) -> bool {
    let after = text[1..].trim_start();
    after.starts_with(['{', '[', ']', '"'])
        || (after.starts_with(|c: char| c.is_ascii_digit() || c == '-') && {
            let end = after
                .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | 'e' | 'E')))
                .unwrap_or(after.len());
            after[end..].trim_start().starts_with(',')
        })
}

/// A log in JSON, as a whole.
struct Reader<'a> {
    file: &'a str,
    wanted: Quantity,
    reading: &'a Reading,
}

/// A row: when it begins [ns], and its value.
type Row = (i64, Option<f64>);

/// Reads a log in JSON.
pub(crate) fn read(
    file: &str,
    opened: Opened<'_>,
    wanted: Quantity,
    reading: &Reading,
) -> Result<Series, LogError> {
    let text = opened.into_text(file, MOST)?;
    let value = parse(file, &text)?;
    let reader = Reader { file, wanted, reading };
    match value {
        Value::Object(object) => reader.object(&object),
        Value::Array(list) => reader.records(&list),
        _ => Err(LogError::file(file, "is JSON, but neither an object nor a list")),
    }
}

/// A document, or lines that are a document each.
fn parse(file: &str, text: &str) -> Result<Value, LogError> {
    let whole = serde_json::from_str(text);
    let error = match whole {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let lines: Result<Vec<Value>, _> =
        text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    match lines {
        Ok(lines) if lines.len() > 1 => Ok(Value::Array(lines)),
        _ => {
            let found = text.lines().nth(error.line().saturating_sub(1)).unwrap_or("").trim();
            Err(LogError::line(file, error.line(), found, format!("JSON: {error}")))
        }
    }
}

/// Nanoseconds of a number of seconds.
fn seconds(value: &Value) -> Option<i64> {
    value.as_f64().filter(|value| value.abs() < 9e9).map(|value| (value * 1e9).round() as i64)
}

impl Reader<'_> {
    fn object(&self, object: &Map<String, Value>) -> Result<Series, LogError> {
        let has = |key: &str| object.contains_key(key);
        if let Some(Value::Array(intervals)) = object.get("intervals") {
            return self.iperf(intervals, object.get("start"));
        }
        if has("x_values") && has("results") {
            return self.flent(object);
        }
        if has("uplink") || has("downlink") {
            return self.lanes(object);
        }
        if let Some(Value::Array(entries)) = object.get("entries").filter(|_| has("version")) {
            return self.ntrace(entries);
        }
        if has("timestamps") && has("bandwidths") {
            return self.genet(object);
        }
        if let Some(history) = history(object) {
            return self.starlink(history);
        }
        let lists: Vec<&Vec<Value>> = object.values().filter_map(Value::as_array).collect();
        if lists.len() >= 2 && lists.iter().all(|list| list.len() == lists[0].len()) {
            return self.columns(object);
        }
        if let [Value::Array(list)] = object.values().filter(|value| value.is_array()).collect::<Vec<_>>()[..]
        {
            return self.records(list);
        }
        let keys: Vec<&str> = object.keys().take(8).map(String::as_str).collect();
        let reason = format!(
            "is JSON of no form that is known (its keys are {}), expected iperf3's, flent's, AlphaRTC's, Starlink's, ntrace, \
             or records of a time and a {}",
            keys.join(", "),
            self.wanted.noun()
        );
        Err(LogError::file(self.file, reason))
    }

    fn series(&self, rows: Vec<Row>, end: Option<i64>, form: Form) -> Result<Series, LogError> {
        let mut made = Rows::new(self.file, self.wanted, self.reading);
        for (index, (at, value)) in rows.into_iter().enumerate() {
            let value = value.map(|value| {
                let is_fine = (0.0..=self.wanted.most()).contains(&value);
                is_fine.then_some(value).ok_or_else(|| {
                    let reason = format!("entry {index} has {value}, expected {}", self.wanted.field());
                    LogError::file(self.file, reason)
                })
            });
            made.push(index + 1, at, value.transpose()?, "")?;
        }
        made.finish(form, false, end)
    }

    fn lacks(&self, what: &str) -> LogError {
        LogError::absent(self.file, format!("{what}, which has no {}", self.wanted.noun()))
    }

    /// iperf3's intervals.  Source: iperf3's `--json`, `--json-stream`
    fn iperf(&self, intervals: &[Value], start: Option<&Value>) -> Result<Series, LogError> {
        let since =
            start.and_then(|start| start.pointer("/timestamp/timesecs")).and_then(seconds).unwrap_or(0);
        let sum = match self.reading.only.as_deref() {
            Some("reverse") => "sum_bidir_reverse",
            _ => "sum",
        };
        let (mut rows, mut end, mut omitted) = (Vec::new(), None, 0);
        for interval in intervals {
            let streams = interval.get("streams").and_then(Value::as_array);
            let only = streams.and_then(|streams| streams.first());
            let Some(sums) = interval.get(sum).or(only) else { continue };
            if sums.get("omitted").and_then(Value::as_bool) == Some(true) {
                omitted += 1;
                continue;
            }
            let Some(at) = sums.get("start").and_then(seconds) else { continue };
            let number = |value: Option<&Value>| value.and_then(Value::as_f64);
            let value = match self.wanted {
                Quantity::Rate => number(sums.get("bits_per_second")),
                Quantity::Loss => number(sums.get("lost_percent")).map(|percent| percent / 100.0),
                // Round trips are of streams [µs].
                Quantity::Delay => number(only.and_then(|stream| stream.get("rtt"))).map(|rtt| rtt / 2e6),
            };
            rows.push((since + at, value));
            end = sums.get("end").and_then(seconds).map(|end| since + end);
        }
        if rows.iter().all(|(_, value)| value.is_none()) {
            return Err(self.lacks("is iperf3's output"));
        }
        let bidirectional = intervals.iter().any(|interval| interval.get("sum_bidir_reverse").is_some());
        let beside = match sum {
            "sum" if bidirectional => " (`only = \"reverse\"` takes the other direction)",
            _ => "",
        };
        let left = if omitted > 0 { format!(", {omitted} omitted ones left out") } else { String::new() };
        let taken = match self.wanted {
            Quantity::Rate => format!("`bits_per_second` of `{sum}`{beside}{left}"),
            Quantity::Loss => format!("`lost_percent` of `{sum}`{left}"),
            Quantity::Delay => format!("half of the `rtt` of the first stream{left}"),
        };
        let caveat = (self.wanted == Quantity::Rate)
            .then(|| "what a transfer got is a lower bound of the capacity".to_owned());
        self.series(rows, end, Form { name: "iperf3".into(), taken, caveat, row: "interval" })
    }

    /// Directions of patterns: durations [ms], capacities [kb/s], round trips [ms], losses [1].  Source: AlphaRTC's gym
    fn lanes(&self, object: &Map<String, Value>) -> Result<Series, LogError> {
        let pattern = |lane: &str| {
            let list = object.get(lane)?.get("trace_pattern")?.as_array()?;
            (!list.is_empty()).then_some(list)
        };
        let lane = match (
            self.reading.only.as_deref(),
            pattern("downlink").is_some(),
            pattern("uplink").is_some(),
        ) {
            (Some(lane @ ("uplink" | "downlink")), ..) => lane,
            (None, true, false) => "downlink",
            (None, false, true) => "uplink",
            (None, true, true) => {
                let reason = "has two directions: say which, as `--only downlink` or `--only uplink`";
                return Err(LogError::file(self.file, reason));
            }
            _ => return Err(LogError::file(self.file, "has no `trace_pattern` in `uplink` or `downlink`")),
        };
        let list = pattern(lane)
            .ok_or_else(|| LogError::file(self.file, format!("has no `trace_pattern` in `{lane}`")))?;
        let (key, factor) = match self.wanted {
            Quantity::Rate => ("capacity", 1e3),
            Quantity::Delay => ("rtt", 0.5e-3),
            Quantity::Loss => ("loss", 1.0),
        };
        if list.iter().all(|row| row.get(key).is_none()) {
            return Err(self.lacks("is AlphaRTC's trace"));
        }
        let (mut rows, mut now) = (Vec::new(), 0_i64);
        for (index, row) in list.iter().enumerate() {
            let length =
                row.get("duration").and_then(Value::as_f64).filter(|length| (0.0..1e12).contains(length));
            let length = length.ok_or_else(|| {
                LogError::file(self.file, format!("entry {index} of `{lane}` has no `duration` in ms"))
            })?;
            if length > 0.0 {
                rows.push((now, row.get(key).and_then(Value::as_f64).map(|value| value * factor)));
            }
            now = now.saturating_add((length * 1e6) as i64);
        }
        let taken = format!("`{key}` of `{lane}`");
        self.series(rows, Some(now), Form { name: "AlphaRTC".into(), taken, caveat: None, row: "row" })
    }

    /// Entries with a date and bandwidths down and up [kb/s].  Source: LPP network trace format, version 1
    fn ntrace(&self, entries: &[Value]) -> Result<Series, LogError> {
        if self.wanted != Quantity::Rate {
            return Err(self.lacks("is an ntrace"));
        }
        let has = |key: &str| entries.iter().any(|entry| entry.get(key).is_some());
        let key = match (self.reading.only.as_deref(), has("dlBw"), has("ulBw")) {
            (Some("downlink"), true, _) | (None, true, false) => "dlBw",
            (Some("uplink"), _, true) | (None, false, true) => "ulBw",
            (None, true, true) => {
                let reason = "has two directions: say which, as `--only downlink` or `--only uplink`";
                return Err(LogError::file(self.file, reason));
            }
            _ => return Err(self.lacks("is an ntrace without that direction")),
        };
        let mut rows = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let written = entry.get("dateTime").and_then(Value::as_str).unwrap_or("");
            let at = crate::instant::date(written).filter(|date| date.has_day).ok_or_else(|| {
                let reason =
                    format!("entry {index} has the `dateTime` {written:?}, expected one of ISO 8601");
                LogError::file(self.file, reason)
            })?;
            rows.push((at.nanos, entry.get(key).and_then(Value::as_f64).map(|kilobits| kilobits * 1e3)));
        }
        let taken = format!("`{key}` (kb/s)");
        self.series(rows, None, Form { name: "ntrace".into(), taken, caveat: None, row: "entry" })
    }

    /// Lists of times [s], bandwidths [Mb/s] and delays [ms].  Source: Genet
    fn genet(&self, object: &Map<String, Value>) -> Result<Series, LogError> {
        let (key, factor) = match self.wanted {
            Quantity::Rate => ("bandwidths", 1e6),
            Quantity::Delay => ("delays", 1e-3),
            Quantity::Loss => ("loss", 1.0),
        };
        let times = object.get("timestamps").and_then(Value::as_array);
        let values = object.get(key);
        let (Some(times), Some(values)) = (times, values) else { return Err(self.lacks("is Genet's trace")) };
        let value = |index: usize| match values {
            Value::Array(list) => list.get(index).and_then(Value::as_f64),
            one => one.as_f64(),
        };
        let rows = times
            .iter()
            .enumerate()
            .filter_map(|(index, time)| Some((seconds(time)?, value(index).map(|value| value * factor))));
        let taken = format!("`{key}`");
        self.series(rows.collect(), None, Form { name: "Genet".into(), taken, caveat: None, row: "row" })
    }

    /// A ring of seconds.  Source: starlink-grpc's `get_history`
    fn starlink(&self, history: &Map<String, Value>) -> Result<Series, LogError> {
        let (names, factor): (&[&str], f64) = match (self.wanted, self.reading.only.as_deref()) {
            (Quantity::Rate, Some("uplink")) => (&["uplinkThroughputBps", "uplink_throughput_bps"], 1.0),
            (Quantity::Rate, _) => (&["downlinkThroughputBps", "downlink_throughput_bps"], 1.0),
            (Quantity::Delay, _) => (&["popPingLatencyMs", "pop_ping_latency_ms"], 0.5e-3),
            (Quantity::Loss, _) => (&["popPingDropRate", "pop_ping_drop_rate"], 1.0),
        };
        let found = names.iter().find_map(|name| Some((*name, history.get(*name)?.as_array()?)));
        let Some((name, ring)) = found.filter(|(_, ring)| !ring.is_empty()) else {
            return Err(self.lacks("is Starlink's history"));
        };
        let current = match history.get("current") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_u64(),
            None => None,
        };
        let many = ring.len() as u64;
        let current = current.unwrap_or(many);
        // The oldest of a full ring is the next to be written.
        let (first, count) = if current >= many { (current % many, many) } else { (0, current) };
        let rows = (0..count).map(|second| {
            let value = &ring[((first + second) % many) as usize];
            (second as i64 * 1_000_000_000, value.as_f64().map(|value| value * factor))
        });
        let beside = match self.wanted {
            Quantity::Rate if self.reading.only.is_none() => {
                " (`only = \"uplink\"` takes the other direction)"
            }
            Quantity::Delay => " (round trips, of which half is a delay)",
            _ => "",
        };
        let end = Some(count as i64 * 1_000_000_000);
        let caveat = (self.wanted == Quantity::Rate)
            .then(|| "what was used is a lower bound of the capacity".to_owned());
        let taken = format!("`{name}`{beside}");
        self.series(rows.collect(), end, Form { name: "Starlink".into(), taken, caveat, row: "second" })
    }

    /// Series over common times [s]: rates in Mb/s, pings in ms.  Source: flent's data format
    fn flent(&self, object: &Map<String, Value>) -> Result<Series, LogError> {
        let times = object.get("x_values").and_then(Value::as_array);
        let series = object.get("results").and_then(Value::as_object);
        let (Some(times), Some(series)) = (times, series) else {
            return Err(self.lacks("is flent's output"));
        };
        // Of many series few are rates: not latencies, loads, windows or those of single streams (`::`).
        let is_rate = |name: &str| {
            let has = |word: &str| name.contains(word);
            (has("upload") || has("download") || has("totals")) && !has("::") && !has("fairness")
        };
        let mut names: Vec<&str> = series.keys().map(String::as_str).collect();
        names.retain(|name| match self.wanted {
            Quantity::Rate => is_rate(name) && series[*name].is_array(),
            Quantity::Delay => name.to_lowercase().contains("ping") && !name.contains("::"),
            Quantity::Loss => false,
        });
        let one = |test: &dyn Fn(&str) -> bool| {
            let found: Vec<&str> = names.iter().copied().filter(|name| test(name)).collect();
            if let [one] = found[..] { Some(one) } else { None }
        };
        let name = match self.reading.only.as_deref() {
            Some(name) => names.iter().copied().find(|each| *each == name),
            None => one(&|_| true)
                .or_else(|| one(&|name| name.contains("download sum")))
                .or_else(|| one(&|name| name.contains("upload sum")))
                .or_else(|| one(&|name| name.contains("totals")))
                .or_else(|| one(&|name| name.contains("avg") && self.wanted == Quantity::Delay)),
        };
        let Some(name) = name else {
            if names.is_empty() {
                return Err(self.lacks("is flent's output"));
            }
            let list: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
            let reason =
                format!("has several series, {}: say which, as `--only '{}'`", list.join(", "), names[0]);
            return Err(LogError::absent(self.file, reason));
        };
        let factor = if self.wanted == Quantity::Rate { 1e6 } else { 0.5e-3 };
        let values = series[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows = times
            .iter()
            .zip(values)
            .filter_map(|(time, value)| Some((seconds(time)?, value.as_f64().map(|value| value * factor))));
        let unit = if self.wanted == Quantity::Rate { "Mb/s" } else { "half of its ms" };
        let caveat = (self.wanted == Quantity::Rate)
            .then(|| "what a transfer got is a lower bound of the capacity".to_owned());
        let form = Form { name: "flent".into(), taken: format!("`{name}` ({unit})"), caveat, row: "row" };
        self.series(rows.collect(), None, form)
    }

    /// Lists of the same length as a table.
    fn columns(&self, object: &Map<String, Value>) -> Result<Series, LogError> {
        let lists: Vec<(&String, &Vec<Value>)> =
            object.iter().filter_map(|(name, value)| Some((name, value.as_array()?))).collect();
        let rows = (0..lists[0].1.len()).map(|row| lists.iter().map(|(_, list)| Some(&list[row])).collect());
        self.table(lists.iter().map(|(name, _)| name.as_str()).collect(), rows)
    }

    /// Records as a table, whose columns are those of the first; iperf3's stream of events.
    fn records(&self, list: &[Value]) -> Result<Series, LogError> {
        let events = |name: &'static str| {
            list.iter()
                .filter(move |each| each.get("event").and_then(Value::as_str) == Some(name))
                .filter_map(|each| each.get("data"))
        };
        if events("interval").next().is_some() {
            let intervals: Vec<Value> = events("interval").cloned().collect();
            return self.iperf(&intervals, events("start").next());
        }
        let Some(Value::Object(first)) = list.first() else {
            let reason = format!("is a list, expected records of a time and a {}", self.wanted.noun());
            return Err(LogError::file(self.file, reason));
        };
        let names: Vec<&str> = first.keys().map(String::as_str).collect();
        let rows = list.iter().map(|each| names.iter().map(|name| each.get(*name)).collect());
        self.table(names.clone(), rows)
    }

    fn table<'v>(
        &self,
        names: Vec<&str>,
        rows: impl Iterator<Item = Vec<Option<&'v Value>>>,
    ) -> Result<Series, LogError> {
        let field = |text: &str| format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " "));
        let mut text = names.iter().map(|name| field(name)).collect::<Vec<_>>().join("\t");
        for row in rows {
            text.push('\n');
            let fields = row.into_iter().map(|value| match value {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => field(text),
                Some(Value::Number(number)) => number.to_string(),
                Some(_) => "…".to_owned(),
            });
            text.push_str(&fields.collect::<Vec<_>>().join("\t"));
        }
        text.push('\n');
        crate::table::read(self.file, Opened::of(text), self.wanted, self.reading)
    }
}

/// Starlink's history, wherever it is.
fn history(object: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let is_history = |object: &Map<String, Value>| {
        object.contains_key("popPingDropRate") || object.contains_key("pop_ping_drop_rate")
    };
    if is_history(object) {
        return Some(object);
    }
    object.values().filter_map(Value::as_object).find_map(history)
}
