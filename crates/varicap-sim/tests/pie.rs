//! PIE in front of a link: the delay that it aims at is the delay that comes about.

use crate::common;

use common::{Interval, assert_within, interval, simulate};
use varicap_experiment::results::RunResult;

/// Four SACK flows over Reno on 10 Mb/s at 100 ms.
fn four_flows(queue: &str) -> Vec<RunResult> {
    let toml = format!(
        r#"
        duration = "120 s"
        warmup = "20 s"
        [topology.dumbbell.forward]
        capacity = "10 Mbit/s"
        delay = "50 ms"
        queue = {queue}
        [flows.a]
        count = 4
        start_spread = "5 s"
        [flows.a.tcp]
        stack = "rfc"
        recovery = "sack"
        congestion = "reno"
        "#
    );
    simulate(&toml, 4)
}

fn waited(runs: &[RunResult]) -> Interval {
    interval(runs, |run| run.links[0].sojourn_mean_ms)
}

#[test]
fn four_flows_wait_for_the_target() {
    // At the default target of 15 ms the controller is at rest where the mean delay is the target. What the link
    // reports adds the transmission of a packet, 1.2 ms.
    let runs = four_flows("\"pie\"");
    assert_within("15 ms", waited(&runs), 15.0 + 1.2, 0.10);
    assert!(interval(&runs, |run| run.links[0].utilisation).lo > 0.9);
    assert!(runs.iter().all(|run| run.links[0].overflowed_packets == 0));
    // Four windows alone do not fill twice that as steadily: after a drop in each the queue stands below the target for
    // longer than it stands above, so that the mean stays behind.
    let longer = waited(&four_flows(r#"{ pie = { target = "30 ms" } }"#));
    assert!(longer.lo > 1.5 * 15.0 && longer.hi < 30.0 + 1.2, "{longer:?}");
}

#[test]
fn without_it_they_wait_for_the_whole_buffer() {
    let runs = four_flows(r#"{ drop-tail = { limit = "100 packets" } }"#);
    assert!(waited(&runs).lo > 60.0);
}
