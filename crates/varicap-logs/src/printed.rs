//! Output of programs for people: intervals of iperf, answers to ping.

use std::collections::BTreeMap;

use crate::number::rate_unit;
use crate::series::{Rows, Series};
use crate::source::{Lines, Opened};
use crate::understood::Form;
use crate::{LogError, Quantity, Reading};

/// Lines that are looked at.
const LOOK: usize = 100;

/// Whether a text is what ping or iperf prints.
pub(crate) fn is_printed(text: &str) -> bool {
    text.lines().take(LOOK).any(|line| interval(line).is_some() || answer(line).is_some())
}

/// Reads what ping or iperf printed.
pub(crate) fn read(
    file: &str,
    opened: Opened<'_>,
    wanted: Quantity,
    reading: &Reading,
) -> Result<Series, LogError> {
    let is_ping = opened.look().lines().take(LOOK).any(|line| answer(line).is_some());
    match (is_ping, wanted) {
        (true, Quantity::Delay) => ping(file, opened, reading),
        (false, Quantity::Rate) => iperf(file, opened, reading),
        (true, _) => Err(LogError::absent(
            file,
            format!("is ping's output, which has delays but no {}", wanted.noun()),
        )),
        (false, _) => Err(LogError::absent(
            file,
            format!("is iperf's output, which has rates but no {}", wanted.noun()),
        )),
    }
}

/// An interval: its sender, begin and end [s], and rate [b/s].
struct Interval<'t> {
    who: &'t str,
    from: f64,
    until: f64,
    bps: f64,
}

fn interval(line: &str) -> Option<Interval<'_>> {
    if line.starts_with(|first: char| first.is_ascii_digit()) { separated(line) } else { aligned(line) }
}

/// `20260101120000,10.0.0.1,5001,10.0.0.2,50000,3,0.0-1.0,1178599,9428792`, of iperf 2's `-y C`: the time at which it was printed,
/// two addresses with ports, the stream (-1: their sum), the interval, its bytes, and b/s.
fn separated(line: &str) -> Option<Interval<'_>> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let is_time = fields[0].len() >= 14 && fields[0].bytes().take(14).all(|byte| byte.is_ascii_digit());
    if !is_time || fields.len() < 9 {
        return None;
    }
    let (from, until) = fields[6].split_once('-')?;
    let who = if fields[5] == "-1" { "SUM" } else { fields[5] };
    let (from, until, bps) = (from.parse().ok()?, until.trim().parse().ok()?, fields[8].parse().ok()?);
    Some(Interval { who, from, until, bps })
}

/// `[  5]   1.00-2.00   sec  1.12 MBytes  9.42 Mbits/sec`
fn aligned(line: &str) -> Option<Interval<'_>> {
    let (who, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    // `[  5][TX-C]`, of both directions.
    let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((role, rest)) => (Some(role), rest),
        None => (None, rest),
    };
    let mut words = rest.split_whitespace();
    let range = words.next()?;
    // `0.0- 1.0`, of iperf 2.
    let range = if range.ends_with('-') { format!("{range}{}", words.next()?) } else { range.to_owned() };
    let (from, until) = range.split_once('-')?;
    let (from, until) = (from.parse().ok()?, until.parse().ok()?);
    if words.next()? != "sec" {
        return None;
    }
    let mut before = "";
    for word in words {
        if word.contains("/sec") {
            let bps = before.parse::<f64>().ok()? * rate_unit(word)?;
            return Some(Interval { who: role.unwrap_or(who.trim()), from, until, bps });
        }
        before = word;
    }
    None
}

/// iperf's intervals; those of several streams are added up, unless they have a sum.
fn iperf(file: &str, opened: Opened<'_>, reading: &Reading) -> Result<Series, LogError> {
    let mut streams: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let mut lines = Lines::new(file, opened.into_bytes());
    while let Some((_, line)) = lines.next()? {
        let Some(found) = interval(&line) else { continue };
        // At the end iperf repeats the whole as one interval.
        if line.contains("omitted") || line.contains("sender") || line.contains("receiver") {
            continue;
        }
        let is_sum = found.who.starts_with("SUM");
        let rows = if is_sum { &mut sums } else { &mut streams };
        let key = ((found.from.max(0.0)) * 1e9).round() as u64;
        let row = rows.entry(key).or_insert((0.0, found.until));
        // iperf 2 says the whole without a word: it begins again at zero and is longer.
        if found.from == 0.0 && found.until > row.1 * 1.5 {
            continue;
        }
        row.0 += found.bps;
    }
    let (rows, whose) = if sums.is_empty() { (streams, "all streams together") } else { (sums, "`SUM`") };
    let mut made = Rows::new(file, Quantity::Rate, reading);
    let mut end = None;
    for (index, (at, (bps, until))) in rows.into_iter().enumerate() {
        made.push(index + 1, at as i64, Some(bps), "")?;
        end = Some((until * 1e9) as i64);
    }
    let caveat = Some("what a transfer got is a lower bound of the capacity".to_owned());
    made.finish(Form { name: "iperf".into(), taken: whose.into(), caveat, row: "interval" }, false, end)
}

/// When an answer came [ns], if the line has it, its number, and the round trip [s].
fn answer(line: &str) -> Option<(Option<i64>, u64, f64)> {
    let at = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let at = at.and_then(|(at, _)| crate::instant::Clock::Number(1e9).read(at, false));
    let after = |key: &str| line.split_once(key).map(|(_, rest)| rest);
    let number = after("icmp_seq=").or_else(|| after("seq="))?;
    let number = number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let (time, unit) = after("time=").or_else(|| after("time<"))?.trim().split_once([' ', 'm'])?;
    let factor = if unit.trim_start().starts_with("us") { 1e-6 } else { 1e-3 };
    Some((at, number, time.parse::<f64>().ok()? * factor))
}

/// ping's answers: half of a round trip is a delay.
fn ping(file: &str, opened: Opened<'_>, reading: &Reading) -> Result<Series, LogError> {
    let mut lines = Lines::new(file, opened.into_bytes());
    let mut rows = Rows::new(file, Quantity::Delay, reading);
    let every = reading.every.map_or(1_000_000_000, |every| every.as_nanos() as i64);
    let mut has_times = true;
    while let Some((number, line)) = lines.next()? {
        let Some((at, sequence, round_trip)) = answer(&line) else { continue };
        has_times &= at.is_some();
        let at = at.unwrap_or((sequence as i64).saturating_mul(every));
        let delay = Some(round_trip / 2.0).filter(|delay| *delay <= Quantity::Delay.most());
        let delay = delay.ok_or_else(|| LogError::line(file, number, &line, Quantity::Delay.field()))?;
        rows.push(number, at, Some(delay), &line)?;
    }
    let by = if has_times {
        "at the times in brackets"
    } else {
        "by `icmp_seq`, `every` 1 s if nothing else is said"
    };
    let taken = format!("half of the round trips, {by}");
    rows.finish(Form { name: "ping".into(), taken, caveat: None, row: "answer" }, false, None)
}
