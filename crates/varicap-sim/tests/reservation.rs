//! Flows with a reservation in the simulator. Source: [minrate].

use crate::common;

use common::simulate;
use varicap_experiment::results::RunResult;
use varicap_experiment::rows::FlowRow;

/// A flow on a link of 10 Mb/s whose queue spares marked packets, with greedy ones beside it.
fn scenario(flow: &str, others: u32) -> String {
    format!(
        r#"
duration = "30 s"
warmup = "10 s"
[tcp]
recovery = "newreno"
mss = "960 B"
receive_window = "256 packets"
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "50 ms"
queue = {{ ered = {{ limit = "100 packets", min_threshold = "20 packets", max_threshold = "80 packets", max_probability = 0.02 }} }}
[flows.reserved]
{flow}
[flows.others]
count = {others}
start_spread = "1 s"
"#
    )
}

fn flow<'a>(run: &'a RunResult, name: &str) -> &'a FlowRow {
    run.flows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn a_timer_brings_what_is_reserved_where_cwnd_does_not() {
    let compliant = |timed: &str| {
        let toml =
            scenario(&format!("tcp.recovery = \"sack\"\nreservation = {{ rate = \"4 Mbit/s\"{timed} }}"), 9);
        let runs = simulate(&toml, 10);
        let row = |run| flow(run, "reserved").clone();
        runs.iter().map(row).collect::<Vec<_>>()
    };
    let without = compliant("");
    let mean = |of: fn(&FlowRow) -> f64| without.iter().map(of).sum::<f64>() / without.len() as f64;
    let (conforms, lost) = (mean(|row| row.compliant_bps), mean(|row| row.lost_tokens_bytes));
    assert!(conforms < 0.9 * 4e6 && lost > 0.1 * 4e6 / 8.0 * 20.0, "{conforms} b/s, {lost} B");
    // In no single run it comes near what the timer brings in each.
    assert!(without.iter().all(|row| row.compliant_bps < 0.95 * 4e6), "{without:?}");
    for row in compliant(", timed = { interval = \"20 ms\" }") {
        assert!(row.compliant_bps > 0.98 * 4e6 && row.throughput_bps > row.compliant_bps, "{row:?}");
    }
}

/// SYNs and FINs arrive without data, and count in neither.
#[test]
fn no_more_than_all_packets_with_data_conform() {
    let toml = r#"
        duration = "2 s"
        [topology.dumbbell.forward]
        capacity = "10 Mbit/s"
        delay = "10 ms"
        queue = { drop-tail = { limit = "100 packets" } }
        [flows.f]
        app = { transfer = { size = "20 kB" } }
        reservation = { rate = "4 Mbit/s", bucket = "200 kB" }
        "#;
    let run = &simulate(toml, 1)[0];
    let row = flow(run, "f");
    assert_eq!((row.transfers, row.compliant_bps.to_bits()), (1, row.throughput_bps.to_bits()), "{row:?}");
}

#[test]
fn tokens_come_as_reserved_and_are_taken_or_lost() {
    for reservation in ["rate = \"4 Mbit/s\"", "rate = \"4 Mbit/s\", timed = { timer = \"shared\" }"] {
        let runs = simulate(&scenario(&format!("reservation = {{ {reservation} }}"), 1), 1);
        let row = flow(&runs[0], "reserved");
        let tokens = 4e6 / 8.0 * 20.0;
        let delivered = row.compliant_bps * 20.0 / 8.0;
        let lost_packets = row.marked_lost_packets * 1000.0;
        // Apart from the bucket, 25 kB, and what is under way when measuring begins and ends, at most a window.
        let error = (delivered + lost_packets + row.lost_tokens_bytes - tokens).abs();
        assert!(error <= 25_000.0 + 256_000.0, "{error}: {row:?}");
    }
}

#[test]
fn only_flows_with_a_reservation_tell_of_it() {
    let runs = simulate(&scenario("reservation = { rate = \"4 Mbit/s\" }", 1), 1);
    let other = flow(&runs[0], "others");
    assert!(
        other.compliant_bps.is_nan()
            && other.lost_tokens_bytes.is_nan()
            && other.marked_lost_packets.is_nan()
    );
}

#[test]
fn a_step_of_the_reservation_is_followed_within_a_round_trip() {
    let steps = r#"
tcp = { recovery = "sack", congestion = "rate-adaptive-window" }
reservation = { rate = { steps = { at = ["0 s", "20 s"], rates = ["500 kbit/s", "6 Mbit/s"] } }, timed = { interval = "20 ms" } }"#;
    let share = |flow_toml: &str| {
        // Measured from half a second after the step on, for three seconds.
        let toml = scenario(flow_toml, 3).replace("30 s", "23500 ms").replace("10 s", "20500 ms");
        flow(&simulate(&toml, 1)[0], "reserved").throughput_bps
    };
    assert!(share(steps) > 0.9 * 6e6, "{}", share(steps));
    let plain = r#"reservation = { rate = { steps = { at = ["0 s", "20 s"], rates = ["500 kbit/s", "6 Mbit/s"] } } }"#;
    assert!(share(plain) < 0.75 * 6e6, "{}", share(plain));
}

#[test]
fn datagrams_are_marked_as_their_tokens_allow() {
    let flow_toml = r#"
datagrams = { rate = "3 Mbit/s", size = "1000 B" }
reservation = { rate = "2 Mbit/s", bucket = "10 kB" }"#;
    let runs = simulate(&scenario(flow_toml, 3), 1);
    let row = flow(&runs[0], "reserved");
    assert!((row.compliant_bps / 2e6 - 1.0).abs() < 0.01, "{row:?}");
    assert!(row.throughput_bps > row.compliant_bps && row.lost_tokens_bytes == 0.0);
}

#[test]
fn the_first_link_marks_what_the_sender_would() {
    // The sender's packets reach the link as they are sent: both find the same tokens (but for a SYN, which only the
    // link counts). Until the first loss, after 3.4 s.
    let row = |marked_at: &str| {
        let flow_toml = format!(
            "tcp.handshake = false\nreservation = {{ rate = \"4 Mbit/s\", marked_at = \"{marked_at}\" }}"
        );
        let toml =
            scenario(&flow_toml, 1).replace("[flows.others]\n", "[flows.others]\nstart = \"2999 ms\"\n");
        let toml = toml.replace("30 s", "3 s").replace("10 s", "500 ms").replace("1 s\"", "0 s\"");
        flow(&simulate(&toml, 1)[0], "reserved").clone()
    };
    let at_source = row("source");
    assert!(at_source.compliant_bps > 1e6 && at_source.lost_tokens_bytes > 0.0, "{at_source:?}");
    let without =
        |row: FlowRow| (row.throughput_bps, row.compliant_bps, row.lost_tokens_bytes, row.rtt_mean_ms);
    assert_eq!(without(row("forward")), without(at_source));
}

#[test]
fn a_link_that_polices_lets_only_the_reserved_rate_of_datagrams_in() {
    let flow_toml = r#"
datagrams = { rate = "3 Mbit/s", size = "1000 B" }
reservation = { rate = "2 Mbit/s", marked_at = "forward", nonconformant = "drop" }"#;
    let runs = simulate(&scenario(flow_toml, 3), 1);
    let row = flow(&runs[0], "reserved");
    assert!(
        (row.throughput_bps / 2e6 - 1.0).abs() < 0.01 && row.compliant_bps == row.throughput_bps,
        "{row:?}"
    );
    // 125 packets a second for 20 s.
    assert!(runs[0].links[0].policed_packets.abs_diff(2500) <= 1);
}

/// [minrate, Fig. 14]: agency A is entitled to 20 % of 10 Mb/s and B to 80 %; reserved flows start one after the other.
#[test]
fn agencies_divide_a_link_and_their_reserved_flows_what_each_has() {
    // A flow that has not started by then does so just before the end.
    let flow_toml = |name: &str, start: u32, duration: u32, rate: &str| {
        let start = (1000 * start).min(1000 * duration - 1);
        format!(
            "[flows.{name}]\nstart = \"{start} ms\"\nreservation = {{ rate = \"{rate}\", timed = {{ interval = \"20 ms\" }} }}\n"
        )
    };
    let toml = |warmup: u32, duration: u32| {
        format!(
            r#"
duration = "{duration} s"
warmup = "{warmup} s"
[tcp]
congestion = "rate-adaptive-window"
recovery = "sack"
mss = "960 B"
receive_window = "256 packets"
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "20 ms"
[topology.dumbbell.forward.queue.cbq.classes]
a = {{ flows = ["a1", "a2"], share = 0.2, queue = "ered" }}
b = {{ flows = ["b1", "b2"], share = 0.8, queue = "ered" }}
{}{}{}{}"#,
            flow_toml("a1", 0, duration, "500 kbit/s"),
            flow_toml("a2", 50, duration, "1 Mbit/s"),
            flow_toml("b1", 100, duration, "1 Mbit/s"),
            flow_toml("b2", 150, duration, "2 Mbit/s"),
        )
    };
    let rates = |from: u32| {
        let run = simulate(&toml(from + 10, from + 50), 1).remove(0);
        ["a1", "a2", "b1", "b2"].map(|name| flow(&run, name).throughput_bps / 1e6)
    };
    let [a1, ..] = rates(0);
    assert!(a1 > 9.5, "alone: {a1}");
    let [a1, a2, ..] = rates(50);
    assert!(a1 + a2 > 9.5 && a2 > a1 && a2 - a1 < 1.5, "{a1} {a2}");
    let [a1, a2, b1, _] = rates(100);
    assert!((b1 - 8.0).abs() < 0.3 && (a1 + a2 - 2.0).abs() < 0.2 && a2 > a1, "{a1} {a2} {b1}");
    let [a1, a2, b1, b2] = rates(150);
    assert!((b1 + b2 - 8.0).abs() < 0.3 && (a1 + a2 - 2.0).abs() < 0.2, "{a1} {a2} {b1} {b2}");
    assert!((0.3..2.0).contains(&(b2 - b1)), "{b1} {b2}");
}

#[test]
fn marked_packets_that_links_lose_are_counted() {
    let drop_tail = scenario("reservation = { rate = \"4 Mbit/s\" }", 4)
        .replace("queue = { ered = { limit = \"100 packets\", min_threshold = \"20 packets\", max_threshold = \"80 packets\", max_probability = 0.02 } }", "queue = { drop-tail = { limit = \"20 packets\" } }");
    let runs = simulate(&drop_tail, 1);
    let row = flow(&runs[0], "reserved");
    assert!(row.marked_lost_packets > 0.0);
    let of_link = runs[0].links[0].dropped_reserved_packets;
    assert_eq!(row.marked_lost_packets, of_link as f64);
}

#[test]
fn reservations_compose_with_every_recovery_and_with_cubic() {
    for recovery in ["old-tahoe", "tahoe", "reno", "newreno", "sack"] {
        for congestion in [
            "\"reno\"",
            "\"cubic\"",
            "\"rate-adaptive-window\"",
            "{ rate-adaptive-window = { grow = \"cubic\" } }",
        ] {
            let toml = scenario(
                &format!(
                    "tcp = {{ recovery = \"{recovery}\", congestion = {congestion} }}\nreservation = {{ rate = \"2 Mbit/s\", timed = {{}}, delayed = {{}} }}"
                ),
                3,
            );
            let row = flow(&simulate(&toml, 1)[0], "reserved").clone();
            assert!(row.compliant_bps > 0.5 * 2e6, "{recovery} {congestion}: {row:?}");
        }
    }
}
