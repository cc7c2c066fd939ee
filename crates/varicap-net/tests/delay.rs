//! Delays that vary, against plain arithmetic: packet by packet, to the nanosecond.

use crate::common;

use proptest::prelude::*;

use common::{Log, constant, drain, link, ms, ns, packet, parts};
use varicap_net::capacity::ReadFile;
use varicap_net::{DelayConfig, DelayParts, LinkParts, StepsDelayConfig};
use varicap_units::Span;

const MS: u64 = 1_000_000;

fn read(json: &str, files: &mut ReadFile<'_>) -> DelayParts {
    DelayParts::from_config(&serde_json::from_str::<DelayConfig>(json).unwrap(), files).unwrap()
}

fn delayed(json: &str, reorders: bool) -> LinkParts {
    let delay = read(json, &mut |_| Err("no files".to_owned()));
    LinkParts { delay, reorders, ..parts(constant(12_000_000)) }
}

/// When each of `frames` (arrival [ns], size [B]) comes out of `parts`.
fn outcome(parts: &LinkParts, frames: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut link, mut log, mut out) = (link(parts, 1), Log::default(), Vec::new());
    for (number, &(at, size)) in (0..).zip(frames) {
        if at > 0 {
            out.extend(drain(&mut link, ns(at - 1), &mut log));
        }
        link.push(ns(at), packet(number, size), &mut log);
    }
    out.extend(drain(&mut link, ms(1_000_000), &mut log));
    out.into_iter().map(|(at, number)| (at.as_nanos(), number)).collect()
}

/// A packet of 1500 bytes takes 1 ms at 12 Mb/s: departures at 1, 2, 3, … ms.
const EACH_MS: [(u64, u64); 4] = [(0, 1500), (0, 1500), (0, 1500), (0, 1500)];

#[test]
fn a_frame_takes_the_delay_of_the_instant_at_which_it_leaves_the_server() {
    let parts = delayed(
        r#"{"steps": {"at": ["0 s", "2 ms", "2.000001 ms"], "delays": ["5 ms", "7 ms", "9 ms"]}}"#,
        false,
    );
    let out = outcome(&parts, &EACH_MS);
    assert_eq!(out, [(6 * MS, 0), (9 * MS, 1), (12 * MS, 2), (13 * MS, 3)]);
}

#[test]
fn in_order_a_frame_comes_out_with_the_last_of_those_ahead() {
    let steps = r#"{"steps": {"at": ["0 s", "1.5 ms"], "delays": ["5 ms", "1 ms"]}}"#;
    // Departures at 1, 2, 3, 4 ms: due at 6, 3, 4, 5 ms.
    assert_eq!(
        outcome(&delayed(steps, false), &EACH_MS),
        [(6 * MS, 0), (6 * MS, 1), (6 * MS, 2), (6 * MS, 3)]
    );
    assert_eq!(
        outcome(&delayed(steps, true), &EACH_MS),
        [(3 * MS, 1), (4 * MS, 2), (5 * MS, 3), (6 * MS, 0)]
    );
}

#[test]
fn frames_of_one_instant_keep_their_order_where_others_overtake() {
    let steps = r#"{"steps": {"at": ["0 s", "1.5 ms", "2.5 ms"], "delays": ["5 ms", "4 ms", "3 ms"]}}"#;
    assert_eq!(
        outcome(&delayed(steps, true), &EACH_MS),
        [(6 * MS, 0), (6 * MS, 1), (6 * MS, 2), (7 * MS, 3)]
    );
}

#[test]
fn the_delays_of_a_trace_are_those_of_its_rows() {
    for (text, expected) in [
        ("time_s,delay_ms\n0,5\n0.0015,7.25\n0.0035,6\n", [6_000_000, 9_250_000, 10_250_000, 10_250_000]),
        ("5\n7\n", [6_000_000, 7_000_000, 8_000_000, 9_000_000]),
    ] {
        let delay = read(r#"{"trace": {"file": "d"}}"#, &mut |_| Ok(Box::new(text.as_bytes())));
        let out = outcome(&LinkParts { delay, ..parts(constant(12_000_000)) }, &EACH_MS);
        assert_eq!(out.iter().map(|(at, _)| *at).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn rates_and_delays_of_one_file_are_entered_at_one_instant() {
    use varicap_net::capacity::{Capacity, CapacityProcess};
    use varicap_net::delay::{Delay, DelayProcess};
    use varicap_net::{CapacityConfig, CapacityParts};
    use varicap_units::Streams;
    let rows: String = (0..100).map(|row| format!("{row},{},{}\n", row + 1, row + 1)).collect();
    let text: &'static str = Box::leak(format!("time_s,bps,delay_ms\n{rows}").into_boxed_str());
    let json = r#"{"trace": {"file": "d", "offset": "random"}}"#;
    let delays = read(json, &mut |_| Ok(Box::new(text.as_bytes())));
    let config: CapacityConfig = serde_json::from_str(json).unwrap();
    let rates = CapacityParts::from_config(&config, &mut |_| Ok(Box::new(text.as_bytes()))).unwrap();
    let mut begins = Vec::new();
    for run in 0..5 {
        let streams = Streams::new(1, run);
        let mut delay = Delay::new(&delays, "a", &streams);
        let mut rate = Capacity::new(&rates, streams.stream(&rates.stream_name("b")));
        for second in 0..200 {
            let now = ms(second * 1000);
            let (delay, rate) = (delay.segment(now), rate.segment(now));
            assert_eq!((delay.delay, delay.until), (Span::from_millis(rate.rate.as_bps()), rate.until));
        }
        begins.push(delay.segment(ms(200_000)).delay);
    }
    assert!(
        begins.windows(2).any(|pair| pair[0] != pair[1]),
        "{begins:?}: every run begins at the same place"
    );
}

#[test]
fn refusals_name_the_key() {
    let refusal = |json: &str, text: &'static str| {
        let config: DelayConfig = serde_json::from_str(json).unwrap();
        DelayParts::from_config(&config, &mut |_| Ok(Box::new(text.as_bytes()))).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(r#"{"trace": {"file": "d", "offset": "2 s"}}"#, "time_s,delay_ms\n0,1\n1,2\n"),
        "`trace.offset` is 2 s, expected less than the length of the trace, 2 s"
    );
    assert_eq!(
        refusal(r#"{"steps": {"at": ["0 s"], "delays": ["1 s", "1 s"]}}"#, ""),
        "`steps.at` is 1 values, expected 2, one per delay"
    );
    assert!(refusal(r#""1000000000 s""#, "").starts_with("`constant` is "));
}

/// Capacity in steps of a millisecond [b/s], delays in steps of as much [ns], both from the beginning on, the last of each
/// for good.
type Courses = (Vec<u64>, Vec<u64>);

/// When frames come out of a link with an endless queue, slowly: work is counted nanosecond by nanosecond within a
/// millisecond's step, in nanobits, and each frame has the delay in force at the nanosecond of its departure.
fn slowly((rates, delays): &Courses, reorders: bool, frames: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let held = |values: &[u64], at: u64| values[usize::min((at / MS) as usize, values.len() - 1)];
    let mut out: Vec<(u64, u64)> = Vec::new();
    // The instant up to which the server has worked, and what it could do beyond the last frame [nanobits].
    let (mut busy, mut surplus) = (0u64, 0u128);
    for (number, &(at, size)) in (0..).zip(frames) {
        if at >= busy {
            (busy, surplus) = (at, 0);
        }
        let whole = u128::from(size) * 8 * 1_000_000_000;
        let mut done = surplus;
        while done < whole {
            let rate = u128::from(held(rates, busy));
            let is_last = busy / MS >= rates.len() as u64 - 1;
            let end = if is_last { u64::MAX } else { (busy / MS + 1) * MS };
            let needs = (whole - done).div_ceil(rate);
            let takes = u128::from(end - busy).min(needs);
            done += takes * rate;
            busy += takes as u64;
        }
        surplus = done - whole;
        out.push((busy + held(delays, busy), number));
    }
    if reorders {
        out.sort_by_key(|(at, _)| *at);
    } else {
        let mut last = 0;
        for (at, _) in &mut out {
            last = last.max(*at);
            *at = last;
        }
    }
    out
}

fn in_steps(values: &[u64]) -> Vec<Span> {
    (0..values.len() as u64).map(Span::from_millis).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_frame_comes_out_at_the_nanosecond_of_plain_arithmetic(
        rates in proptest::collection::vec(1_000u64..300_000_000, 1..30),
        delays in proptest::collection::vec(prop_oneof![0u64..20_000_000, Just(0), Just(3_000_000)], 1..30),
        frames in proptest::collection::vec((prop_oneof![Just(0u64), 0u64..2_000_000], 40u64..3000), 1..80),
        reorders in any::<bool>(),
    ) {
        use varicap_net::{CapacityConfig, CapacityParts, StepsConfig};
        use varicap_units::Rate;
        let mut no_files = |_: &str| Err("no files".to_owned());
        let capacity = CapacityConfig::Steps(StepsConfig {
            at: in_steps(&rates),
            rates: rates.iter().map(|bps| Rate::from_bps(*bps)).collect(),
            period: None,
        });
        let delay = DelayConfig::Steps(StepsDelayConfig {
            at: in_steps(&delays),
            delays: delays.iter().map(|nanos| Span::from_nanos(*nanos)).collect(),
            period: None,
        });
        let parts = LinkParts {
            delay: DelayParts::from_config(&delay, &mut no_files).unwrap(),
            reorders,
            ..parts(CapacityParts::from_config(&capacity, &mut no_files).unwrap())
        };
        let arrivals: Vec<(u64, u64)> = frames
            .iter()
            .scan(0, |at, (gap, size)| {
                *at += gap;
                Some((*at, *size))
            })
            .collect();
        prop_assert_eq!(outcome(&parts, &arrivals), slowly(&(rates, delays), reorders, &arrivals));
    }
}
