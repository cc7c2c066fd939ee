//! Marks and the controls that read them: DCTCP at a step, Prague and classic flows at DualPI2.

use crate::common;

use common::{Interval, interval, simulate};
use varicap_experiment::results::RunResult;

/// Flows, each a control with `ecn` or not, over `rate` and a round trip of `rtt` ms.
fn share(queue: &str, rate: &str, rtt: u32, flows: &[(&str, &str)]) -> Vec<RunResult> {
    let delay = rtt / 2;
    let flows: String = flows
        .iter()
        .map(|(name, tcp)| format!("[flows.{name}]\nstart_spread = \"1 s\"\ntcp = {{ {tcp} }}\n"))
        .collect();
    let toml = format!(
        r#"
        duration = "60 s"
        warmup = "20 s"
        [topology.dumbbell]
        forward = {{ capacity = "{rate}", delay = "{delay} ms", queue = {queue} }}
        reverse = {{ delay = "{delay} ms" }}
        {flows}"#
    );
    simulate(&toml, 3)
}

fn goodput(runs: &[RunResult], flow: usize) -> f64 {
    interval(runs, |run| run.flows[flow].goodput_bps).mean / 1e6
}

fn utilisation(runs: &[RunResult]) -> Interval {
    interval(runs, |run| run.links[0].utilisation)
}

fn waited(runs: &[RunResult]) -> Interval {
    interval(runs, |run| run.links[0].sojourn_mean_ms)
}

fn lost(runs: &[RunResult]) -> u64 {
    runs.iter().map(|run| run.links[0].overflowed_packets + run.links[0].aqm_dropped_packets).sum()
}

/// RFC 8257 §1: a queue near K, a busy link, and no loss. A BDP of 83 packets, K at 20.
#[test]
fn dctcp_keeps_its_queue_at_the_threshold() {
    let tcp = [("a", "congestion = \"dctcp\""), ("b", "congestion = \"dctcp\"")];
    let runs = share(r#"{ step = { threshold = "20 packets" } }"#, "50 Mbit/s", 20, &tcp);
    assert!(utilisation(&runs).lo > 0.98, "{:?}", utilisation(&runs));
    // 20 packets of 1500 bytes take 4.8 ms: the queue swings around that, and never far below or above.
    let waited = waited(&runs);
    assert!(waited.lo > 2.4 && waited.hi < 7.2, "{waited:?}");
    assert_eq!(lost(&runs), 0);
}

/// RFC 8257 §3.2: where marks begin or end within a flight, the receiver answers at once, twice if need be. Two packets for
/// each round trip of 20.5 ms are 1.13 Mb/s; a timer of 40 ms in one round of three, for want of the second answer, is 0.86.
#[test]
fn dctcp_with_a_small_window_rarely_waits_for_a_timer() {
    let tcp = [("a", "congestion = \"dctcp\", max_window = \"2 packets\"")];
    let runs = share(r#"{ step = { threshold = "100 B" } }"#, "50 Mbit/s", 20, &tcp);
    assert!(runs.iter().all(|run| run.links[0].marked_packets > 500), "marks");
    assert!(goodput(&runs, 0) > 0.95, "{} Mb/s", goodput(&runs, 0));
}

/// RFC 9332 §1: an L queue of about a millisecond whatever flows there, at a busy link, without losses.
#[test]
fn prague_alone_waits_for_a_millisecond() {
    for flows in [1, 4] {
        let names = ["a", "b", "c", "d"];
        let tcp: Vec<_> = names[..flows].iter().map(|name| (*name, "congestion = \"prague\"")).collect();
        let runs = share("\"dualpi2\"", "50 Mbit/s", 20, &tcp);
        assert!(utilisation(&runs).lo > 0.9, "{:?}", utilisation(&runs));
        // The ramp ends at 1.2 ms; a packet's transmission, 0.24 ms, is part of what the link tells.
        assert!(waited(&runs).hi < 1.2 + 0.24, "{:?}", waited(&runs));
        assert_eq!(lost(&runs), 0);
    }
}

/// RFC 9332 §2.5: the C queue's delay is near the target, with marks or drops.
#[test]
fn classic_flows_wait_for_the_target() {
    for ecn in ["true", "false"] {
        let reno = format!("congestion = \"reno\", ecn = {ecn}");
        let tcp = ["a", "b", "c", "d"].map(|name| (name, reno.as_str()));
        let runs = share("\"dualpi2\"", "20 Mbit/s", 40, &tcp);
        assert!(utilisation(&runs).lo > 0.95, "{:?}", utilisation(&runs));
        let waited = waited(&runs);
        assert!(waited.lo > 10.0 && waited.hi < 20.0, "{waited:?}");
    }
}

/// RFC 9332 §2.1: the coupling gives Prague and a classic flow about the same at equal round trips: the queue is part of them,
/// 15 ms for one and none for the other, which Prague makes up for below 25 ms.
#[test]
fn the_coupling_shares_between_prague_and_classic_flows() {
    for classic in ["congestion = \"reno\", ecn = true", "congestion = \"cubic\", ecn = true"] {
        let tcp = [("classic", classic), ("prague", "congestion = \"prague\"")];
        let runs = share("\"dualpi2\"", "50 Mbit/s", 20, &tcp);
        let [classic, prague] = [0, 1].map(|flow| goodput(&runs, flow));
        assert!(classic + prague > 0.9 * 48.6, "{classic} and {prague} Mb/s");
        assert!((1.0 / 3.0..3.0).contains(&(prague / classic)), "{classic} and {prague} Mb/s");
    }
}

/// A queue for each flow divides equally, whoever marks and whoever does not.
#[test]
fn flow_queueing_divides_equally() {
    let tcp = [("cubic", "congestion = \"cubic\""), ("prague", "congestion = \"prague\"")];
    let runs = share("\"fq_codel\"", "50 Mbit/s", 20, &tcp);
    let [cubic, prague] = [0, 1].map(|flow| goodput(&runs, flow));
    assert!((0.9..1.1).contains(&(prague / cubic)), "{cubic} and {prague} Mb/s");
}
