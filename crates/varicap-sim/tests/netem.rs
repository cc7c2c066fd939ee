//! Links as `tc` has them, under TCP: copies, damage, delays of each packet.

use crate::common;

use common::simulate;
use varicap_experiment::results::RunResult;

/// A flow over two links in a row, of which the first has `keys`.
fn run(keys: &str) -> RunResult {
    let toml = format!(
        r#"
        duration = "30 s"
        stack = "linux"
        [topology.chain]
        forward = [
            {{ name = "first", capacity = "10 Mbit/s", delay = "10 ms", {keys} }},
            {{ name = "second", capacity = "20 Mbit/s", delay = "5 ms" }},
        ]
        [flows.a]
        "#
    );
    simulate(&toml.replace("stack = \"linux\"", "tcp = { stack = \"linux\" }"), 1).remove(0)
}

#[test]
fn a_copy_goes_its_own_way_and_no_byte_counts_twice() {
    let (plain, twice) = (run(""), run(r#"netem = { duplicate = "20 %" }"#));
    let [first, second] = [&twice.links[0], &twice.links[1]];
    let share = first.duplicated_packets as f64 / first.offered_packets as f64;
    // Some 25,000 packets: the standard deviation is 0.0025.
    assert!((share - 0.2).abs() < 0.01, "{share}");
    let through = first.delivered_packets + first.dropped_packets;
    assert!(
        through.abs_diff(first.offered_packets + first.duplicated_packets) < 100,
        "but for what is inside"
    );
    assert!(second.offered_packets.abs_diff(first.delivered_packets) < 20, "copies pass the next link");
    // Linux's receiver answers a copy with a D-SACK, which resends nothing: the link is full with either.
    assert!(twice.flows[0].goodput_bps > 0.99 * plain.flows[0].goodput_bps);
    assert!(twice.flows[0].goodput_bps < 1.01 * plain.flows[0].goodput_bps);
    assert_eq!(plain.links[0].duplicated_packets, 0);
}

#[test]
fn a_damaged_packet_goes_all_the_way_and_is_lost_at_its_receiver() {
    let (damaged, lost) = (run(r#"netem = { corrupt = "1 %" }"#), run(r#"loss = "1 %""#));
    let [first, second] = [&damaged.links[0], &damaged.links[1]];
    assert!(first.corrupted_packets > 50 && second.corrupted_packets == 0, "{}", first.corrupted_packets);
    assert_eq!((first.dropped_packets, second.dropped_packets), (first.overflowed_packets, 0));
    let resent = damaged.flows[0].retransmitted_packets;
    let missing = first.corrupted_packets + first.overflowed_packets;
    assert!(resent.abs_diff(missing) <= missing / 10, "{resent} were resent, {missing} did not arrive");
    // To TCP it is a loss.
    let ratio = damaged.flows[0].goodput_bps / lost.flows[0].goodput_bps;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    let all = run(r#"netem = { corrupt = 1 }"#);
    assert_eq!(all.flows[0].goodput_bps, 0.0);
}

#[test]
fn what_overtakes_is_resent_by_those_who_count_duplicates() {
    let keys = |reorder: bool| {
        let delay = r#"delay = { netem = { delay = "10 ms", jitter = "8 ms" } }"#;
        format!("{delay}, reorder = {reorder}")
    };
    let chain = |keys: &str| {
        let toml = format!(
            r#"
            duration = "30 s"
            tcp = {{ recovery = "sack", max_window = "30 packets" }}
            [topology.dumbbell.forward]
            capacity = "10 Mbit/s"
            queue = {{ drop-tail = {{ limit = "100 packets" }} }}
            {}
            [topology.dumbbell.reverse]
            delay = "10 ms"
            [flows.a]
            "#,
            keys.replace(", reorder", "\nreorder")
        );
        simulate(&toml, 1).remove(0)
    };
    let (kept, overtaken) = (chain(&keys(false)), chain(&keys(true)));
    assert_eq!(kept.links[0].dropped_packets, 0);
    assert_eq!(kept.flows[0].retransmitted_packets, 0, "in order nothing is ever missing");
    assert!(overtaken.flows[0].retransmitted_packets > 100);
}
