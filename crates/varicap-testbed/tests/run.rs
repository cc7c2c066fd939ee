//! Runs of Linux's TCP. Needs root; says so and passes where it is not.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering};

use varicap_experiment::{Network, Scenario};
use varicap_testbed::TestbedError;
use varicap_testbed::netns::has_rights;
use varicap_testbed::plan::Mode;
use varicap_testbed::run::{Options, Outcome, run};
use varicap_units::{Span, Time};

fn network(flows: &str) -> Network {
    let toml = format!(
        r#"
        duration = "4 s"
        warmup = "1 s"
        [topology.dumbbell.forward]
        capacity = "2 Mbit/s"
        delay = "10 ms"
        queue = {{ drop-tail = {{ limit = "60 packets" }} }}
        [tcp]
        recovery = "newreno"
        ack = "every"
        {flows}
        "#
    );
    Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!()).unwrap()
}

/// A valid run, or nothing where it is not possible, or the machine is too busy three times.
fn measured(flows: &str, mode: Mode) -> Option<Outcome> {
    if !has_rights() {
        eprintln!("skipped: making namespaces in a process with threads needs root");
        return None;
    }
    let options = Options { mode, series: Some(Span::from_millis(100)), ..Options::default() };
    let mut faults = Vec::new();
    for _ in 0..3 {
        let outcome = run(&network(flows), 1, 0, options, &mut |_| true).unwrap();
        faults = outcome.result.fidelity.as_ref().unwrap().faults();
        if faults.is_empty() {
            return Some(outcome);
        }
    }
    eprintln!("skipped: the machine was too busy for three runs: {faults:?}");
    None
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn every_kind_of_application_gets_through() {
    let flows = r#"
        [flows.greedy]
        tcp = { receive_window = "15 packets" }
        [flows.files]
        app = { arrivals = { rate = "4 /s", size = { fixed = "10 kB" } } }
        [flows.file]
        app = { transfer = { size = "30 kB" } }
        start = "1.2 s"
        [flows.talk]
        app = { on-off = { on = "0.2 s", off = "0.3 s", rate = "100 kbit/s" } }
        [flows.far]
        app = { relay = { of = "near" } }
        backward = true
        [flows.near]
        app = { transfer = { size = "20 kB" } }
        start = "1.1 s"
        [flows.voice]
        datagrams = { rate = "64 kbit/s", size = "200 B" }
    "#;
    let Some(Outcome { result, recorded }) = measured(flows, Mode::Classic) else { return };
    let flow = |name: &str| result.flows.iter().find(|row| row.name == name).unwrap();
    for row in &result.flows {
        println!(
            "{} {:.0} b/s, {} sent, {} transfers, rtt {:.1} ms, cwnd {:.1}",
            row.name,
            row.goodput_bps,
            row.sent_packets,
            row.transfers,
            row.rtt_mean_ms,
            row.cwnd_mean_packets
        );
    }
    assert!(flow("greedy").goodput_bps > 5e5);
    assert!(flow("files").transfers >= 3);
    assert_eq!((flow("file").transfers, flow("file").transferred_bytes), (1, 30_000));
    assert_eq!(flow("far").transfers, 1, "the relay has delivered the whole");
    assert!(flow("far").fct_mean_ms > flow("near").fct_mean_ms);
    assert!((flow("voice").goodput_bps / 64_000.0 - 1.0).abs() < 0.1, "{}", flow("voice").goodput_bps);
    // A quarter of its time at most it talks at 100 kb/s of 1460-byte segments.
    assert!((1e4..8e4).contains(&flow("talk").goodput_bps), "{}", flow("talk").goodput_bps);
    let greedy = recorded.flows.iter().find(|series| series.name == "greedy").unwrap();
    assert_eq!(greedy.points.len(), 40);
    let point = &greedy.points[30];
    assert!(point.cwnd_bytes > 0.0 && point.throughput_bps > 0.0 && point.goodput_bps > 0.0);
    assert!(
        (1.0..=15.0 * 1460.0).contains(&point.in_flight_bytes),
        "the receiver's window limits what is in flight"
    );
    assert_eq!(result.fidelity.unwrap().unintended_drops, 0);
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn a_run_can_be_stopped() {
    if !has_rights() {
        eprintln!("skipped: making namespaces in a process with threads needs root");
        return;
    }
    let mut go_on = |now: Time| now < Time::ZERO + Span::from_millis(300);
    let stopped = run(&network("[flows.a]"), 1, 0, Options::default(), &mut go_on);
    assert!(matches!(stopped, Err(TestbedError::Interrupted)), "{stopped:?}");
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn a_capped_sender_keeps_to_what_is_advertised() {
    let flows = r#"
        [flows.a]
        feedback = { estimator = { policy = { rate = "0.8 Mbit/s" } }, scone = { update = "1 s" }, cap = true }
    "#;
    let Some(outcome) = measured(flows, Mode::Classic) else { return };
    // The level below 0.8 Mb/s is 0.7943 Mb/s.
    let throughput = outcome.result.flows[0].throughput_bps;
    assert!((0.77e6..0.81e6).contains(&throughput), "{throughput}");
}

/// Linux acknowledges every second segment only if a program has read what came before, so that the window opens again.
#[test]
#[ignore = "in real time: make test-real-time"]
fn beside_busy_processes_every_second_segment_is_acknowledged() {
    if !has_rights() {
        eprintln!("skipped: making namespaces in a process with threads needs root");
        return;
    }
    let toml = r#"
        duration = "4 s"
        [topology.dumbbell.forward]
        capacity = "20 Mbit/s"
        delay = "10 ms"
        queue = { drop-tail = { limit = "2 bdp" } }
        [flows.a]
        tcp = { ack = "delayed" }
    "#;
    let network = Scenario::from_toml(toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!()).unwrap();
    let options = Options { mode: Mode::Stock, ..Options::default() };
    let busy = AtomicBool::new(true);
    let outcome = std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..4 * processors {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let outcome = run(&network, 1, 0, options, &mut |_| true);
        busy.store(false, Ordering::Relaxed);
        outcome.unwrap()
    });
    let fidelity = outcome.result.fidelity.as_ref().unwrap();
    if !fidelity.is_prioritised {
        eprintln!("skipped: SCHED_FIFO is not permitted");
        return;
    }
    let delivered = |name: &str| {
        outcome.result.links.iter().find(|row| row.name == name).unwrap().delivered_packets as f64
    };
    let (data, acks) = (delivered("forward"), delivered("reverse"));
    assert!(2.1 * acks > data, "{acks} acknowledgements of {data} segments: {fidelity:?}");
    assert!(20 * fidelity.late_wakes < fidelity.wakes, "{} of {}", fidelity.late_wakes, fidelity.wakes);
}
