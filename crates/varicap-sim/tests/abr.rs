//! ABR sources: when their buffers have which rate, what that does to TCP, and what the paper found. Source: [abr].

use crate::common;

use common::{assert_within, interval, link, simulate, simulate_with};
use varicap_experiment::results::RunResult;

/// 2 Mb/s, from 5 s on 1 Mb/s; 20 ms there and 30 ms back. Measured from 1 s to 10 s.
fn steps(flow: &str) -> RunResult {
    let toml = format!(
        r#"
        duration = "10 s"
        warmup = "1 s"
        [topology.dumbbell.forward]
        capacity = {{ steps = {{ at = ["0 s", "5 s"], rates = ["2 Mbit/s", "1 Mbit/s"] }} }}
        delay = "20 ms"
        queue = {{ drop-tail = {{ limit = "5 packets" }} }}
        [topology.dumbbell.reverse]
        delay = "30 ms"
        [tcp]
        max_window = "40 packets"
        [flows.a]
        {flow}
        "#
    );
    simulate(&toml, 1).remove(0)
}

/// Mean rate of the buffer of the flow [kb/s].
#[track_caller]
fn rate(flow: &str) -> f64 {
    link(&steps(flow), "a.abr").capacity_bps / 1e3
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} instead of {expected}");
}

#[test]
fn the_buffer_has_the_rate_that_is_told_from_one_delay_after_its_change() {
    // 2 Mb/s until 5.05 s, or 5.2 s, of the 9 s that are measured.
    assert_near(rate("abr = {}"), (4.05 * 2000.0 + 4.95 * 1000.0) / 9.0);
    assert_near(rate("abr = {}\nfeedback = { delay = \"200 ms\" }"), (4.2 * 2000.0 + 4.8 * 1000.0) / 9.0);
}

#[test]
fn bounds_hold_whatever_is_told() {
    assert_near(
        rate("abr = { minimum = \"1.2 Mbit/s\", peak = \"1.5 Mbit/s\" }"),
        (4.05 * 1500.0 + 4.95 * 1200.0) / 9.0,
    );
}

#[test]
fn a_rate_rises_by_its_increase_at_each_update_and_falls_at_once() {
    let flow = r#"
        abr = { initial = "400 kbit/s", increase = "200 kbit/s" }
        feedback = { estimator = { exact = { interval = "500 ms" } }, delay = "0 s" }
    "#;
    // 600 at 0 s, 800 at 0.5 s, …, 2000 at 3.5 s; 1000 from 5 s on.
    let rising = (1000..2000).step_by(200).map(f64::from).sum::<f64>() * 0.5;
    assert_near(rate(flow), (rising + 1.5 * 2000.0 + 5.0 * 1000.0) / 9.0);
}

#[test]
fn what_has_expired_leaves_the_initial_rate() {
    let flow = |more: &str| {
        format!(
            "abr = {{ initial = \"300 kbit/s\" }}\nfeedback = {{ estimator = {{ exact = {{ interval = \"1 s\" }} }}, delay = \"0 s\", {more} }}"
        )
    };
    assert_near(rate(&flow("loss = 1")), 300.0);
    assert_near(rate(&flow("loss = 1, expires = \"2 s\"")), 300.0);
    assert_near(rate(&flow("loss = 0, expires = \"2 s\"")), (4.0 * 2000.0 + 5.0 * 1000.0) / 9.0);
}

#[test]
fn a_constant_source_sends_at_its_rate() {
    let run = steps("abr = { rate = \"600 kbit/s\" }");
    assert_near(link(&run, "a.abr").capacity_bps, 600e3);
    // 40 packets wait in the buffer or are on their way: it never runs dry. A packet of 12,000 bits more or less.
    assert!((run.flows[0].throughput_bps - 600e3).abs() < 12.1e3 / 9.0, "{}", run.flows[0].throughput_bps);
    assert_eq!(link(&run, "forward").dropped_packets, 0);
}

#[test]
fn each_connection_of_a_group_has_its_own_buffer_and_share() {
    let run = steps("count = 2\njitter = \"0 s\"\nabr = {}");
    for name in ["a.0.abr", "a.1.abr"] {
        assert_near(link(&run, name).capacity_bps, (4.05 * 1e6 + 4.95 * 0.5e6) / 9.0);
    }
    let [one, two] = [&run.flows[0], &run.flows[1]].map(|flow| flow.goodput_bps);
    assert!((one / two - 1.0).abs() < 0.02, "{one} and {two}");
}

#[test]
fn a_buffer_at_the_rate_of_the_link_keeps_its_queue_empty_and_the_link_busy() {
    let toml = |abr: &str| {
        format!(
            r#"
            duration = "60 s"
            warmup = "10 s"
            [topology.dumbbell.forward]
            capacity = "2 Mbit/s"
            delay = "50 ms"
            queue = {{ drop-tail = {{ limit = "4 packets" }} }}
            framing = {{ cells = {{}} }}
            [flows.a]
            tcp = {{ max_window = "60 packets" }}
            {abr}
            "#
        )
    };
    let with = simulate(&toml("abr = {}"), 1).remove(0);
    let without = simulate(&toml(""), 1).remove(0);
    let (with, alone) = (link(&with, "forward"), link(&without, "forward"));
    assert_eq!((with.dropped_packets, with.backlog_max_packets), (0, 0));
    // 1500 bytes are 32 cells of 53. A packet more or less is 1.2e-4.
    let full = 1500.0 / (32.0 * 53.0);
    assert!((with.utilisation / full - 1.0).abs() < 1.5e-4, "{}", with.utilisation);
    assert!(alone.dropped_packets > 0 && alone.utilisation < 0.95 * full, "{}", alone.utilisation);
}

#[test]
fn a_proxy_relays_into_a_rate_controlled_connection() {
    // [abr, Fig. 2]: short local connections, one lasting connection over the wide area.
    let toml = r#"
        duration = "30 s"
        warmup = "5 s"
        tcp.stack = "rfc"
        [topology.graph.links]
        local = { from = "server", to = "proxy", capacity = "10 Mbit/s", delay = "1 ms" }
        local-back = { from = "proxy", to = "server", delay = "1 ms" }
        wide = { from = "proxy", to = "client", capacity = "1 Mbit/s", delay = "100 ms", queue = { drop-tail = { limit = "4 packets" } } }
        wide-back = { from = "client", to = "proxy", delay = "100 ms" }
        [flows.near]
        from = "server"
        to = "proxy"
        [flows.far]
        from = "proxy"
        to = "client"
        app = { relay = { of = "near" } }
        tcp = { max_window = "40 packets" }
        abr = {}
    "#;
    let run = simulate(toml, 1).remove(0);
    assert_eq!(link(&run, "wide").dropped_packets, 0);
    let busy = link(&run, "wide").utilisation;
    assert!(busy > 0.99, "{busy}");
}

/// The paper's link [abr, §V]: a packet of 480 B, ten cells, in 5 ms at the high rate and in 10 ms at the low one; mean
/// time `psi` round trips in a state; 200 ms; 10 packets; RTO twice the smoothed RTT; no fast retransmit.
fn paper(psi: f64, duration: u32, flow: &str) -> String {
    let p = 0.03 / (psi * 0.2);
    let q = 1.0 - p;
    format!(
        r#"
        duration = "{duration} s"
        warmup = "20 s"
        [topology.dumbbell.forward]
        capacity = {{ slotted-markov = {{ rates = ["848 kbit/s", "424 kbit/s"], step = "30 ms", transitions = [[{q}, {p}], [{p}, {q}]] }} }}
        service = "at-start"
        queue = {{ drop-tail = {{ limit = "10 packets" }} }}
        framing = {{ cells = {{}} }}
        [topology.dumbbell.reverse]
        delay = "200 ms"
        [tcp]
        stack = "rfc"
        recovery = "old-tahoe"
        timer = {{ multiple = {{ factor = 2.0 }} }}
        mss = "480 B"
        header = "0 B"
        ack = "every"
        handshake = false
        initial_window = "1 packets"
        max_window = "64 packets"
        limited_transmit = false
        [flows.a]
        {flow}
        "#
    )
}

const INSTCAP: &str =
    "abr = {}\nfeedback = { estimator = { instantaneous = { interval = \"30 ms\" } }, delay = \"200 ms\" }";
/// M = 7, N = 49.
const EFFCAP: &str = "abr = {}\nfeedback = { estimator = \"effective\", delay = \"200 ms\" }";

/// Throughput of `flow` by that of `other`, run by run under the same channel.
fn ratio(psi: f64, duration: u32, flow: &str, other: &str) -> common::Interval {
    let runs = |flow: &str| simulate(&paper(psi, duration, flow), 10);
    let ratios: Vec<f64> = (runs(flow).iter().zip(&runs(other)))
        .map(|(one, other)| one.flows[0].throughput_bps / other.flows[0].throughput_bps)
        .collect();
    common::Interval::of(&ratios)
}

#[test]
fn effcap_beats_instcap_where_the_rate_changes_once_a_round_trip() {
    // [abr, Fig. 11]: 10 to 20 %.
    let found = ratio(1.0, 320, EFFCAP, INSTCAP);
    assert!(found.lo > 1.08 && found.hi < 1.28, "{found:?}");
}

#[test]
fn instcap_beats_effcap_a_little_where_the_rate_changes_slowly() {
    // [abr, Fig. 10]: 3 to 4 %.
    let found = ratio(50.0, 1020, EFFCAP, INSTCAP);
    assert!(found.lo > 0.92 && found.hi < 0.995, "{found:?}");
}

#[test]
fn an_explicit_rate_pays_where_the_rate_changes_slowly() {
    // [abr, Fig. 12]: 25 to 30 %, both without the cells' overhead.
    let found = ratio(50.0, 1020, INSTCAP, "");
    assert!(found.lo * 48.0 / 53.0 > 1.05 && found.hi < 1.45, "{found:?}");
}

#[test]
fn instcap_at_a_slow_rate_reaches_what_cells_leave() {
    // [abr, footnote 5]: 48 of 53 bytes for ever longer times between changes, each of which costs a few round trips.
    let runs = simulate(&paper(200.0, 1020, INSTCAP), 10);
    let found = interval(&runs, |run| run.links[0].utilisation);
    assert!(found.lo > 0.87 && found.hi < 48.0 / 53.0, "{found:?}");
}

#[test]
fn at_the_source_effcap_is_what_it_is_at_the_link_unless_samples_are_lost() {
    let flow = |more: &str| {
        let toml = format!(
            "abr = {{}}\nfeedback = {{ estimator = {{ effective = {{ {more} }} }}, delay = \"200 ms\" }}"
        );
        simulate(&paper(2.0, 120, &toml), 2)
    };
    let show = |runs: &[RunResult]| format!("{:?}", runs.iter().map(|run| &run.flows).collect::<Vec<_>>());
    let at_link = show(&flow("at = \"link\""));
    // The least RTT that is measured, 205 ms with the transmission, begins as many samples as the propagation delay.
    assert_eq!(at_link, show(&flow("at = \"source\"")));
    // The smoothed one has the waiting in the buffer as well: longer averages.
    assert_ne!(at_link, show(&flow("at = { source = { rtt = \"smoothed\" } }")));
}

#[test]
fn a_long_memory_of_fast_changes_tells_the_least_rate_and_a_short_one_of_slow_changes_the_rate_itself() {
    let advertised = |psi: f64, estimator: &str| {
        let flow = format!(
            "abr = {{}}\nfeedback = {{ estimator = {{ effective = {{ {estimator} }} }}, delay = \"200 ms\" }}"
        );
        let runs = simulate(&paper(psi, 320, &flow), 4);
        interval(&runs, |run| link(run, "a.abr").capacity_bps)
    };
    // Without cells the low rate is 384 kb/s, the mean 576.
    let least = advertised(1.0, "average = \"1 samples\", least = \"400 samples\"");
    assert_within("the least", least, 384e3, 0.001);
    // Averages of 100 samples, each of which sees about 30 changes.
    let mean = advertised(0.5, "average = \"100 samples\", least = \"1 samples\"");
    assert_within("the mean", mean, 576e3, 0.02);
    let delta = advertised(1.0, "average = \"1 samples\", least = \"400 samples\", delta = 0.0");
    assert_within("delta = 0", delta, 576e3, 0.03);
}

#[test]
fn feedback_slower_than_the_chain_tells_its_mean() {
    let flow = "abr = {}\nfeedback = { estimator = { instantaneous = { interval = \"20 s\" } }, delay = \"200 ms\" }";
    let toml = paper(0.3, 320, flow).replace("warmup = \"20 s\"", "warmup = \"30 s\""); // the first comes at 20.2 s
    let runs = simulate(&toml, 4);
    let found = interval(&runs, |run| link(run, "a.abr").capacity_bps);
    // A chain that stays 60 ms in a state: twenty seconds of it differ from the mean by 4 % at most.
    assert_within("rate", found, 576e3, 0.04);
}

#[test]
fn delivery_opportunities_tell_their_mean() {
    // One opportunity of 1500 B every 6 ms in the first half second of each second, every 12 ms in the second half.
    let fast = (0..84).map(|i| 6 * i);
    let trace: String = fast.chain((504..=1000).step_by(12)).map(|ms: u32| format!("{ms}\n")).collect();
    let toml = r#"
        duration = "20 s"
        warmup = "5 s"
        [topology.dumbbell.forward]
        capacity = { opportunities = { file = "t" } }
        delay = "20 ms"
        queue = { drop-tail = { limit = "30 packets" } }
        [flows.a]
        tcp = { max_window = "40 packets" }
        abr = {}
        feedback = { estimator = { instantaneous = { interval = "100 ms" } } }
    "#;
    let run = simulate_with(toml, &trace, 1).remove(0);
    let (buffer, forward) = (link(&run, "a.abr"), link(&run, "forward"));
    assert!((buffer.capacity_bps / forward.capacity_bps - 1.0).abs() < 0.01, "{}", buffer.capacity_bps);
    assert!(forward.utilisation > 0.9 && forward.dropped_packets == 0, "{}", forward.utilisation);
}

#[test]
fn three_rates_and_outages_are_followed_alike() {
    let chain = |flow: &str| {
        paper(50.0, 620, flow).replace(
            r#"rates = ["848 kbit/s", "424 kbit/s"], step = "30 ms""#,
            r#"rates = ["848 kbit/s", "0 bit/s", "424 kbit/s"], step = "30 ms""#,
        )
    };
    let transitions = "transitions = [[0.99, 0.0, 0.01], [0.0, 0.9, 0.1], [0.005, 0.005, 0.99]]";
    let with_transitions = |toml: String| {
        let start = toml.find("transitions").unwrap();
        let end = start + toml[start..].find("]]").unwrap() + 2;
        format!("{}{transitions}{}", &toml[..start], &toml[end..])
    };
    let used = |flow: &str| {
        let runs = simulate(&with_transitions(chain(flow)), 4);
        interval(&runs, |run| run.links[0].utilisation)
    };
    let (with, alone) = (used(INSTCAP), used(""));
    assert!(with.lo > alone.hi, "{with:?} {alone:?}");
}
