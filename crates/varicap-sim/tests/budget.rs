//! Runs that take more memory or time than they may end with an error, wherever they spend it.

use std::sync::{Arc, Mutex, PoisonError};

use varicap_experiment::{Limits, Scenario};
use varicap_sim::{
    Budget, Exceeded, Options, PacketRecording, Recording, RunError, SeriesRecording, run_many,
};
use varicap_units::{Bytes, Span, Time};

const MEMORY: u64 = 100_000_000;
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a scenario within [`MEMORY`] and `time`; the first runs record series or packets.
fn run_within(time: Span, toml: &str, series_below: u64, packets_below: u64) -> Result<usize, RunError> {
    let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap();
    // Memory is that of the process, in which the tests are threads.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = Limits { memory: Some(Bytes::new(MEMORY)), time: Some(time) };
    let interval = scenario.record.sample;
    let options = Options {
        budget: Some(Arc::new(Budget::new(limits))),
        record: Some(Recording {
            series: SeriesRecording { interval, below: series_below },
            packets: PacketRecording { limit: usize::MAX, below: packets_below },
            take: Arc::new(|_| ()),
        }),
        ..Options::default()
    };
    let before = forget_peak();
    let runs = run_many(&networks, 1, 0..1, &options, 1, &|_| true);
    if let (Some(before), Some(peak)) = (before, memory("VmHWM:")) {
        let most = MEMORY * 6 / 5;
        assert!(peak < before + most, "{peak} B at the peak, {before} B before, {most} B at most");
    }
    runs.map(|runs| runs.len())
}

/// The memory of this process according to the system [B].
fn memory(which: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(which))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Lets the peak of the memory begin anew; what is in use.
fn forget_peak() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    memory("VmRSS:")
}

fn link(text: &str) -> String {
    format!("duration = '2 s'\n[topology.dumbbell.forward]\ndelay = '50 ms'\n{text}\n[flows.a]\n")
}

/// Runs a scenario within half a second.
fn run(toml: &str, series_below: u64, packets_below: u64) -> Result<usize, RunError> {
    run_within(Span::from_millis(500), toml, series_below, packets_below)
}

#[test]
fn what_fits_runs_to_its_end() {
    assert_eq!(run_within(Span::from_secs(60), &link("capacity = '1 Mbit/s'"), 1, 1), Ok(1));
}

#[test]
fn a_window_that_leaves_at_once_ends_at_the_limit() {
    let flood = "count = 8\nabr = {}\ntcp = { initial_window = 'unlimited' }";
    let minute = Span::from_secs(60);
    let ended = run_within(minute, &format!("{}{flood}", link("capacity = '1 Mbit/s'")), 0, 0);
    let Err(RunError::OverBudget { exceeded: Exceeded::Memory { most, reached }, at }) = ended else {
        panic!("{ended:?}")
    };
    assert!(most == Bytes::new(MEMORY) && at < Time::ZERO + Span::from_millis(200), "{at:?}");
    // Or would have been reached by growth that was asked for.
    assert!(reached.as_u64() < 3 * MEMORY, "{reached}");
}

#[test]
fn what_doubles_asks_before_it_grows() {
    let minute = Span::from_secs(60);
    let all = "queue = { drop-tail = { limit = 'unlimited' } }";
    for capacity in ["1 Mbit/s", "100 Gbit/s"] {
        for flows in [1, 3] {
            let flood = format!("count = {flows}\ntcp = {{ initial_window = 'unlimited', mss = '1 B' }}");
            let text = format!("{}{flood}", link(&format!("capacity = '{capacity}'\n{all}")));
            let ended = run_within(minute, &text, 0, 0);
            assert!(
                matches!(ended, Err(RunError::OverBudget { exceeded: Exceeded::Memory { .. }, .. })),
                "{ended:?}"
            );
        }
    }
}

#[test]
fn packets_that_are_lost_at_once_take_time() {
    let flood = "tcp = { initial_window = 'unlimited', mss = '1 B' }";
    let small = "capacity = '64 kbit/s'\nqueue = { drop-tail = { limit = '10 packets' } }";
    let ended = run(&format!("{}{flood}", link(small)), 0, 0);
    let Err(RunError::OverBudget { at, .. }) = ended else { panic!("{ended:?}") };
    assert!(at < Time::ZERO + Span::from_millis(200), "{at:?}");
}

#[test]
fn a_long_run_ends_at_the_limit_and_says_where() {
    // A bounded window, so that time is all that can run out.
    let long = link("capacity = '100 Gbit/s'").replace("2 s", "100000000 s");
    let long = format!("{long}tcp = {{ max_window = '1000 packets' }}\n");
    for series in [0, 1] {
        let ended = run(&long, series, 0);
        let Err(error @ RunError::OverBudget { exceeded: Exceeded::Time { .. }, at }) = ended else {
            panic!("{ended:?}")
        };
        assert!(at > Time::ZERO);
        let text = error.to_string();
        assert!(text.contains("of simulated time: expected at most 500 ms (--max-time)"), "{text}");
    }
}

#[test]
fn idle_time_passes_within_the_limit() {
    // One packet, then nothing but samples, or changes of capacity, for years.
    let short = "app = { transfer = { size = '100 B' } }";
    let samples = format!("{}{short}", link("capacity = '1 Mbit/s'").replace("2 s", "300000000 s"));
    let ended = run(&samples, 1, 0);
    assert!(matches!(ended, Err(RunError::OverBudget { .. })), "{ended:?}");
    let changing =
        "capacity = { markov = { rates = ['1 Mb/s', '2 Mb/s'], mean_holding = ['1 us', '1 us'] } }";
    let ended = run(&format!("{}{short}", link(changing).replace("2 s", "1000000 s")), 0, 0);
    assert!(matches!(ended, Err(RunError::OverBudget { exceeded: Exceeded::Time { .. }, .. })), "{ended:?}");
}

#[test]
fn recorded_packets_count() {
    let busy = link("capacity = '300 Mbit/s'").replace("50 ms", "1 ms").replace("2 s", "20 s");
    let ended = run_within(Span::from_secs(60), &busy, 0, 1);
    assert!(
        matches!(ended, Err(RunError::OverBudget { exceeded: Exceeded::Memory { .. }, .. })),
        "{ended:?}"
    );
}
