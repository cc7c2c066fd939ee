//! Laws of Accel-Brake Control: where its queue and its rate settle, what flows share, and what else it meets.
//! Source: [goyal20, §3].

use crate::common;

use common::{interval, simulate, simulate_with};
use varicap_experiment::results::RunResult;

/// `flows` over a link of `rate` with an RTT of 100 ms, in packets of 1000 B.
fn scenario(rate: &str, queue: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "120 s"
        warmup = "40 s"
        [topology.dumbbell.forward]
        capacity = {rate}
        delay = "50 ms"
        queue = {queue}
        [tcp]
        stack = "rfc"
        mss = "960 B"
        congestion = "accel-brake"
        {flows}
        "#
    )
}

/// Where the queueing delay settles [s] when `flows` flows share `rate` packets per second over an RTT of `rtt`: in a
/// round trip the W packets of all flows bring (2f - 1) W + flows, and 2f = eta - (x - d_t) / delta, so that x = d_t +
/// delta (eta - 1 + flows / W) with W = rate (rtt + x).
fn settles_at(flows: f64, rate: f64, rtt: f64) -> f64 {
    let (target, delta, eta) = (0.020, 0.133, 0.98);
    let mut delay = target;
    for _ in 0..100 {
        delay = target + delta * (eta - 1.0 + flows / (rate * (rtt + delay)));
    }
    delay
}

#[test]
fn the_queue_settles_where_the_additive_increase_is_drained() {
    for (rate, packets, flows) in [("\"1.6 Mbit/s\"", 200.0, 1), ("\"8 Mbit/s\"", 1000.0, 5)] {
        let toml = scenario(rate, "\"accel-brake\"", &format!("[flows.a]\ncount = {flows}"));
        let runs = simulate(&toml, 4);
        let expected = settles_at(f64::from(flows), packets, 0.1);
        let found = interval(&runs, |run| run.links[0].sojourn_mean_ms / 1e3);
        // The sojourn counts the packet's own transmission as well. Marks come in whole packets: one more or less.
        let own = 1.0 / packets;
        assert!((found.mean - expected - own).abs() < 1.0 / packets, "{found:?} against {expected} + {own}");
        let used = interval(&runs, |run| run.links[0].utilisation);
        assert!(used.lo > 0.999 && runs[0].links[0].dropped_packets == 0, "{used:?}");
    }
}

#[test]
fn a_window_so_large_that_its_increase_is_small_leaves_no_queue_and_two_percent_less() {
    // f = eta mu / (2 cr) and (2f - 1) W + 1 = 0: cr = eta mu / (1 - 1/W), with W = cr 0.1 s = 497 packets.
    let runs = simulate(&scenario("\"40 Mbit/s\"", "\"accel-brake\"", "[flows.a]"), 4);
    let used = interval(&runs, |run| run.links[0].utilisation);
    let expected = 0.98 / (1.0 - 1.0 / 490.0);
    assert!((used.mean - expected).abs() < 0.005, "{used:?} against {expected}");
    let waited = interval(&runs, |run| run.links[0].sojourn_p95_ms);
    assert!(waited.hi < 20.0, "{waited:?}");
}

#[test]
fn flows_share_alike_whenever_they_come() {
    let flows = "[flows.a]\n[flows.b]\nstart = \"10 s\"\n[flows.c]\nstart = \"20 s\"";
    let toml = scenario("\"8 Mbit/s\"", "\"accel-brake\"", flows).replace("\"120 s\"", "\"1040 s\"");
    let runs = simulate(&toml, 8);
    // Each mark moves a window of about 37 packets by one, and the additive increase brings it back in as many round
    // trips, 4.1 s: its standard deviation is about 37 / sqrt(2), that of its mean over 1000 s 6.4 %, of the difference
    // of two in 8 runs 1.6 % of their sum. Three of these.
    for other in [1, 2] {
        let [one, other] = [0, other].map(|flow| interval(&runs, |run| run.flows[flow].goodput_bps).mean);
        let difference = (one - other) / (one + other);
        assert!(difference.abs() < 0.048, "{one} and {other}");
    }
}

#[test]
fn without_marks_it_is_cubic() {
    let queue = "{ drop-tail = { limit = \"50 packets\" } }";
    let goodput = |flows: &str| simulate(&scenario("\"8 Mbit/s\"", queue, flows), 1)[0].flows[0].goodput_bps;
    let cubic = goodput("[flows.a]\ntcp = { congestion = \"cubic\", ack = \"every\" }");
    let ratio = goodput("[flows.a]") / cubic;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// The share of a link that varies which a flow uses, and the 95th percentile of its queueing delay [ms].
fn on_a_varying_link(queue: &str, congestion: &str) -> (f64, f64) {
    let chain = r#"{ markov = { rates = ["12 Mbit/s", "4 Mbit/s", "1.5 Mbit/s"], mean_holding = ["1 s", "1 s", "1 s"] } }"#;
    let flow = format!("[flows.a]\ntcp = {{ congestion = \"{congestion}\" }}");
    let runs = simulate(&scenario(chain, queue, &flow), 6);
    let used = interval(&runs, |run| run.links[0].utilisation);
    (used.mean, interval(&runs, |run| run.links[0].sojourn_p95_ms).mean)
}

#[test]
fn on_a_varying_link_it_waits_less_than_cubic_and_uses_more_than_cubic_behind_codel() {
    let (used, waited) = on_a_varying_link("\"accel-brake\"", "accel-brake");
    let (_, cubic_waited) = on_a_varying_link("{ drop-tail = { limit = \"250 packets\" } }", "cubic");
    let (codel_used, _) = on_a_varying_link("\"codel\"", "cubic");
    assert!(waited < cubic_waited / 2.0, "{waited} against {cubic_waited} ms");
    assert!(used > codel_used, "{used} against {codel_used}");
}

#[test]
fn delivery_opportunities_are_a_capacity_as_well() {
    // 1500 B each 10 ms: 1.2 Mb/s, 150 packets of 1000 B a second.
    let trace: String = (1..=100).map(|i| format!("{}\n", 10 * i)).collect();
    let toml = scenario("{ opportunities = { file = \"t\" } }", "\"accel-brake\"", "[flows.a]");
    let runs: Vec<RunResult> = simulate_with(&toml, &trace, 4);
    let expected = settles_at(1.0, 150.0, 0.1);
    let found = interval(&runs, |run| run.links[0].sojourn_mean_ms / 1e3);
    // A packet waits for the rest of an opportunity before it and is sent in one or two: up to 10 ms each.
    assert!((found.mean - expected).abs() < 0.015, "{found:?} against {expected}");
    assert!(interval(&runs, |run| run.links[0].utilisation).lo > 0.98);
}
