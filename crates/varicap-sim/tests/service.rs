//! How a link's server measures its rate out, as a whole run reports it. The bounds are asserted in the engine as well.

use crate::common;

use common::simulate;
use varicap_experiment::results::RunResult;

/// One flow over a link with at-start service.
fn run(duration: &str, steps: &str, flow: &str) -> RunResult {
    let toml = format!(
        r#"
        {duration}
        [topology.dumbbell.forward]
        capacity = {{ steps = {steps} }}
        service = "at-start"
        delay = "20 ms"
        queue = {{ drop-tail = {{ limit = "30 packets" }} }}
        [flows.a]
        {flow}
        "#
    );
    simulate(&toml, 1).remove(0)
}

#[test]
fn packets_that_keep_their_rate_through_outages_carry_what_the_server_can_and_no_more() {
    let steps = r#"{ at = ["0 s", "5 ms"], rates = ["1 Mb/s", "0 b/s"], period = "10 ms" }"#;
    let run = run(r#"duration = "10 s""#, steps, "");
    let link = &run.links[0];
    // A packet takes 12 ms at the rate that it begins with, and half of the time nothing is offered: what the server can
    // carry, which the engine asserts, is nearly twice what is offered.
    assert!((0.49..0.51).contains(&(link.capacity_bps / 1e6)), "{}", link.capacity_bps);
    assert!((0.85..=1.0).contains(&(link.throughput_bps / 1e6)), "{}", link.throughput_bps);
    assert!((1.7..=2.0).contains(&link.utilisation), "{} of what is offered", link.utilisation);
}

#[test]
fn a_packet_that_keeps_its_rate_over_the_end_of_the_warm_up_counts_by_what_is_left() {
    let steps = r#"{ at = ["0 s", "10 ms"], rates = ["1 Mb/s", "100 Mb/s"], period = "40 ms" }"#;
    let flow = "start = \"5 ms\"\ndatagrams = { rate = \"10 kb/s\", size = \"1250 B\" }";
    let run = run("duration = \"19 ms\"\nwarmup = \"12 ms\"", steps, flow);
    // In service from 5 ms to 15 ms at 1 Mb/s: 375 of the bytes that 7 ms of 100 Mb/s could be are sent after 12 ms.
    assert_eq!(run.links[0].utilisation, 375.0 / 87_500.0);
}
