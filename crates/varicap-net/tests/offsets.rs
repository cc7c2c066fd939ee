//! Where in a trace a run begins: fixed, or at random, and then at the same point of all traces of the run.

use varicap_net::capacity::{Capacity, CapacityProcess};
use varicap_net::{CapacityConfig, CapacityParts, NetError, OpportunitiesConfig, TraceConfig, TraceOffset};
use varicap_units::{Bytes, Span, Streams, Time};

fn rates(offset: TraceOffset, repeat: bool) -> CapacityConfig {
    CapacityConfig::Trace(TraceConfig { repeat, offset, ..TraceConfig::named("t.csv") })
}

fn opportunities(offset: TraceOffset) -> CapacityConfig {
    let (file, size) = ("t.down".to_owned(), Bytes::new(1500));
    CapacityConfig::Opportunities(OpportunitiesConfig {
        file,
        size,
        mahimahi: false,
        repeat: true,
        offset,
        light: None,
    })
}

fn read(config: &CapacityConfig, text: &'static str) -> Result<CapacityParts, NetError> {
    CapacityParts::from_config(config, &mut |_| Ok(Box::new(text.as_bytes())))
}

/// A trace of `rows` rates in as many seconds, of which the first is 1 b/s and each next one more.
fn ramp(rows: usize, offset: TraceOffset) -> CapacityParts {
    let lines: String = (0..rows).map(|row| format!("{row},{}\n", row + 1)).collect();
    let text: &'static str = Box::leak(format!("time_s,bps\n{lines}").into_boxed_str());
    read(&rates(offset, true), text).unwrap()
}

/// How far into a ramp the path of `parts` at the link called `link` begins [s].
fn begin(parts: &CapacityParts, link: &str, replication: u64) -> f64 {
    let stream = Streams::new(1, replication).stream(&parts.stream_name(link));
    let first = Capacity::new(parts, stream).segment(Time::ZERO);
    // The first rate says in which second the path begins, and its end how much of that is left.
    first.rate.as_bps() as f64 - first.until.since(Time::ZERO).as_secs_f64()
}

#[test]
fn a_fixed_offset_is_the_same_in_every_run() {
    let parts = ramp(10, TraceOffset::At(Span::from_millis(2500)));
    for replication in 0..3 {
        assert_eq!(begin(&parts, "forward", replication), 2.5);
    }
}

#[test]
fn a_random_offset_is_uniform_over_the_trace() {
    const RUNS: u64 = 4000;
    let parts = ramp(10, TraceOffset::Random);
    let begins: Vec<f64> = (0..RUNS).map(|run| begin(&parts, "forward", run) / 10.0).collect();
    // Kolmogorov's statistic of 4000 samples exceeds 1.95 / sqrt(4000) once in a thousand sets of samples; these are
    // always the same.
    let mut sorted = begins;
    sorted.sort_by(f64::total_cmp);
    let distance = sorted.iter().enumerate().map(|(place, begin)| (begin - place as f64 / RUNS as f64).abs());
    let farthest = distance.fold(0.0, f64::max);
    assert!(farthest < 1.95 / (RUNS as f64).sqrt(), "{farthest}");
}

#[test]
fn traces_of_a_run_are_entered_after_the_same_share_of_their_length() {
    let (short, long) = (ramp(10, TraceOffset::Random), ramp(20, TraceOffset::Random));
    for run in 0..5 {
        let (first, second) = (begin(&short, "forward", run), begin(&long, "reverse", run));
        assert!((2.0 * first - second).abs() < 1e-8, "{first} s of 10, {second} s of 20");
    }
    let (one, next) = (begin(&short, "forward", 0), begin(&short, "forward", 1));
    assert!(one != next, "{one} in both runs");
}

#[test]
fn what_begins_nowhere_is_refused() {
    let refusal = |config: &CapacityConfig, text| read(config, text).unwrap_err().to_string();
    let (rows, instants) = ("time_s,bps\n0,1\n1,2\n", "3\n10\n");
    let at = |ms| TraceOffset::At(Span::from_millis(ms));
    assert_eq!(
        refusal(&rates(at(2000), true), rows),
        "`trace.offset` is 2 s, expected less than the length of the trace, 2 s"
    );
    assert_eq!(
        refusal(&rates(TraceOffset::Random, false), rows),
        "`trace.offset` is random, expected a time, or `repeat = true`"
    );
    assert_eq!(
        refusal(&opportunities(at(10)), instants),
        "`opportunities.offset` is 10 ms, expected less than the length of the trace, 10 ms"
    );
    let half = TraceOffset::At(Span::from_micros(500));
    assert_eq!(
        refusal(&opportunities(half), instants),
        "`opportunities.offset` is 500 us, expected whole milliseconds, as in the trace"
    );
}
