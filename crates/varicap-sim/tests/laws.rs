//! Laws: what theory says of whole runs, each with a stated bound.

use crate::common;

use common::{assert_within, interval, simulate};
use varicap_experiment::results::RunResult;

const SEEDS: u64 = 10;

/// One flow over a link that never fills, so that only random loss limits it: RTT 100 ms, 1000 + 40 byte packets.
fn lossy(loss: f64, ack: &str, duration: &str) -> Vec<RunResult> {
    let toml = format!(
        r#"
        duration = "{duration}"
        warmup = "20 s"
        [topology.dumbbell.forward]
        capacity = "10 Gbit/s"
        delay = "50 ms"
        loss = "{loss}"
        queue = {{ drop-tail = {{ limit = "unlimited" }} }}
        [flows.a.tcp]
        stack = "rfc"
        recovery = "newreno"
        mss = "1000 B"
        ack = {ack}
        timer = {{ rfc6298 = {{ minimum = "0.2 s" }} }}
        "#
    );
    simulate(&toml, SEEDS)
}

fn packets_per_rtt(runs: &[RunResult]) -> common::Interval {
    interval(runs, |run| run.flows[0].throughput_bps / (1040.0 * 8.0) * 0.1)
}

/// The square root law [pftk, eq. (20)]: packets per RTT.
fn square_root(loss: f64, packets_per_ack: f64) -> f64 {
    (3.0 / (2.0 * packets_per_ack * loss)).sqrt()
}

/// The full model with timeouts [pftk, eq. (32) with the timeout term of eq. (29)]: packets per RTT; `rto` in RTTs.
fn pftk(p: f64, b: f64, rto: f64) -> f64 {
    let window =
        (2.0 + b) / (3.0 * b) + (8.0 * (1.0 - p) / (3.0 * b * p) + ((2.0 + b) / (3.0 * b)).powi(2)).sqrt();
    let q = (((1.0 - (1.0 - p).powi(3))
        * (1.0 + (1.0 - p).powi(3) * (1.0 - libm::pow(1.0 - p, window - 3.0))))
        / (1.0 - libm::pow(1.0 - p, window)))
    .min(1.0);
    let backoff =
        1.0 + p + 2.0 * p.powi(2) + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    ((1.0 - p) / p + window + q / (1.0 - p)) / (b / 2.0 * window + 1.0 + q * rto * backoff / (1.0 - p))
}

#[test]
fn reno_follows_the_square_root_law_at_small_loss() {
    // The law's derivation spaces losses evenly. Independent losses make windows vary, which raises the constant from
    // 1.225 to 1.31 (+7 %); counting what is delivered instead of sent and recovery itself take some back: 10 %.
    for (loss, duration) in [(0.0001, "1000 s"), (0.001, "400 s")] {
        let runs = lossy(loss, r#""every""#, duration);
        assert_within(&format!("p = {loss}"), packets_per_rtt(&runs), square_root(loss, 1.0), 0.10);
    }
}

#[test]
fn delayed_acknowledgements_cost_a_factor_of_the_square_root_of_two() {
    let every = packets_per_rtt(&lossy(0.001, r#""every""#, "400 s"));
    let second = packets_per_rtt(&lossy(0.001, r#""delayed""#, "400 s"));
    assert_within("b = 2 against b = 1", second, every.mean / 2f64.sqrt(), 0.06);
}

#[test]
fn the_square_root_law_breaks_down_where_timeouts_rule() {
    // From some per cent of loss on the window is often too small for three duplicate ACKs. The square root law is off
    // by more and more; the full model stays within 20 % (its own validation against traces shows errors of that size).
    for (loss, of_square_root) in [(0.05, 0.87), (0.1, 0.75), (0.2, 0.6)] {
        let found = packets_per_rtt(&lossy(loss, r#""every""#, "400 s"));
        assert!(found.hi < of_square_root * square_root(loss, 1.0), "p = {loss}: {found:?}");
        if loss > 0.1 {
            continue; // the model ends a backoff with the first delivery, Karn's rule only with one that was sent once
        }
        // The model counts what is sent; 1 - p of it is delivered.
        assert_within(&format!("PFTK at p = {loss}"), found, pftk(loss, 1.0, 2.0) * (1.0 - loss), 0.20);
    }
}

/// A greedy flow alone on a fixed link: 10 Mb/s, 1040-byte packets (0.832 ms), 100 ms.
fn sawtooth(buffer: u32) -> RunResult {
    let toml = format!(
        r#"
        duration = "400 s"
        warmup = "100 s"
        [topology.dumbbell.forward]
        capacity = "10 Mbit/s"
        delay = "50 ms"
        queue = {{ drop-tail = {{ limit = "{buffer} packets", counts_in_service = false }} }}
        [flows.a.tcp]
        stack = "rfc"
        mss = "1000 B"
        ack = "every"
        "#
    );
    simulate(&toml, 1).remove(0)
}

/// BDP in packets, the packet's own transmission included: the window that just fills the link.
const PIPE: f64 = (0.1 + 0.000_832) / 0.000_832;

#[test]
fn the_sawtooth_peaks_at_pipe_plus_buffer() {
    for buffer in [30, 120, 200] {
        let run = sawtooth(buffer);
        let peak = PIPE + f64::from(buffer);
        let found = run.flows[0].cwnd_max_packets;
        assert!(
            (found - peak).abs() <= 2.0,
            "buffer {buffer}: cwnd reached {found}, pipe + buffer is {peak:.1}"
        );
    }
}

#[test]
fn the_sawtooth_has_its_period() {
    // A cycle from W/2 to W grows by one packet a round: 3/8 W^2 packets, at full rate if the buffer holds a pipe.
    let run = sawtooth(200);
    let peak = PIPE + 200.0;
    let period_s = 3.0 / 8.0 * peak * peak * 0.000_832;
    let cycles = 300.0 / period_s;
    let found = run.flows[0].fast_retransmits as f64;
    assert!((found - cycles).abs() <= 1.0, "{found} cycles in 300 s instead of {cycles:.2}");
    assert_eq!(run.flows[0].timeouts, 0);
}

#[test]
fn a_small_buffer_costs_what_lakshman_and_madhow_say() {
    // [lakshman97, §III]: below the pipe the window grows a packet per round at W packets a round; above it the link is
    // full. Their fluid cycle leaves out the round of recovery, which is one of some 80: 2 %.
    for buffer in [10.0, 30.0, 60.0] {
        let peak = PIPE + buffer;
        let rtt = 0.100_832;
        let starved = ((PIPE - peak / 2.0) * rtt, (PIPE * PIPE - peak * peak / 4.0) / 2.0);
        let full_packets = (peak * peak - PIPE * PIPE) / 2.0;
        let expected = (starved.1 + full_packets) / (starved.0 / 0.000_832 + full_packets);
        let found = sawtooth(buffer as u32).links[0].utilisation;
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "buffer {buffer}: {found:.4} instead of {expected:.4}"
        );
    }
}

#[test]
fn poisson_packets_wait_as_in_an_m_d_1_queue() {
    // Sojourn = service (1 + rho / (2 (1 - rho))); the bound is the 95 % interval plus 1 % for 20 runs of 1000 s.
    for rho in [0.5, 0.8] {
        let toml = format!(
            r#"
            duration = "1000 s"
            warmup = "50 s"
            [topology.dumbbell.forward]
            capacity = "1 Mbit/s"
            queue = {{ drop-tail = {{ limit = "unlimited" }} }}
            [flows.a.datagrams]
            rate = "{} kbit/s"
            size = "1000 B"
            spacing = "poisson"
            "#,
            1000.0 * rho
        );
        let found = interval(&simulate(&toml, 20), |run| run.links[0].sojourn_mean_ms);
        let expected = 8.0 * (1.0 + rho / (2.0 * (1.0 - rho)));
        assert!(
            found.lo * 0.99 <= expected && expected <= found.hi * 1.01,
            "rho = {rho}: {found:?} instead of {expected} ms"
        );
    }
}

#[test]
fn each_capacity_process_offers_its_mean() {
    // Long-run means of the capacity that the link offered; the interval of 20 runs must hold them (widened by 1 %).
    let cases = [
        (r#"{ steps = { at = ["0 s", "3 s"], rates = ["1 Mbit/s", "3 Mbit/s"], period = "4 s" } }"#, 1.5e6),
        (r#"{ markov = { rates = ["1 Mbit/s", "0 bit/s"], mean_holding = ["3 s", "1 s"] } }"#, 0.75e6),
        (
            r#"{ slotted-markov = { rates = ["2 Mbit/s", "1 Mbit/s"], step = "30 ms",
                 transitions = [[0.9, 0.1], [0.2, 0.8]] } }"#,
            (2.0 * 2.0 + 1.0) / 3.0 * 1e6,
        ),
        (
            // m of at most 1 session: up at 1/s, down at (C/2) / 100 kB = 2.5/s, so m = 1 for 1/3.5 of the time.
            r#"{ sessions = { capacity = "4 Mbit/s", arrivals = "1 /s", mean_size = "100 kB", at_most = 1 } }"#,
            4e6 * (2.5 / 3.5) + 2e6 * (1.0 / 3.5),
        ),
    ];
    for (capacity, mean) in cases {
        let toml = format!(
            r#"
            duration = "2000 s"
            [topology.dumbbell.forward]
            capacity = {capacity}
            queue = {{ drop-tail = {{ limit = "10 packets" }} }}
            [flows.a.datagrams]
            rate = "1 kbit/s"
            "#
        );
        let found = interval(&simulate(&toml, 20), |run| run.links[0].capacity_bps);
        assert!(
            found.lo * 0.99 <= mean && mean <= found.hi * 1.01,
            "{capacity}: {found:?} instead of {mean}"
        );
    }
}

#[test]
fn waiting_does_not_depend_on_the_propagation_delay() {
    // M/D/1: what happens behind the server, constant or not, in order or not, moves no wait by a bit.
    let waits = |delay: &str| {
        let toml = format!(
            r#"
            duration = "300 s"
            [topology.dumbbell.forward]
            capacity = "1 Mbit/s"
            queue = {{ drop-tail = {{ limit = "unlimited" }} }}
            {delay}
            [flows.a.datagrams]
            rate = "700 kbit/s"
            size = "1000 B"
            spacing = "poisson"
            "#
        );
        let row = simulate(&toml, 1).remove(0).links.remove(0);
        [row.sojourn_mean_ms, row.sojourn_p50_ms, row.sojourn_p99_ms, row.backlog_mean_packets]
            .map(f64::to_bits)
    };
    let still = waits("");
    let steps = r#"delay = { steps = { at = ["0 s", "1 s"], delays = ["5 ms", "90 ms"], period = "2 s" } }"#;
    for delay in ["delay = \"200 ms\"", steps, &format!("{steps}\nreorder = true")] {
        assert_eq!(waits(delay), still, "{delay}");
    }
}

#[test]
fn the_mean_delay_of_a_path_is_that_of_its_processes() {
    // Single segments at random instants see time averages, so that their RTTs have the mean of both ways and what the
    // transmissions take. The interval of 20 runs must hold it (widened by 1 %).
    let trace = "time_s,delay_ms\n0,10\n0.5,30\n0.8,70\n0.9,10\n";
    let toml = r#"
        duration = "500 s"
        tcp = { handshake = false, mss = "1460 B", header = "40 B" }
        [topology.dumbbell.forward]
        capacity = "12 Mbit/s"
        delay = { markov = { delays = ["20 ms", "60 ms", "5 ms"], mean_holding = ["2 s", "1 s", "1 s"] } }
        reorder = true
        [topology.dumbbell.reverse]
        delay = { trace = { file = "d.csv" } }
        [flows.a]
        app = { arrivals = { rate = "4 /s", size = { fixed = "1460 B" } } }
        "#;
    let found = interval(&common::simulate_with(toml, trace, 20), |run| run.flows[0].rtt_mean_ms);
    let (forward, reverse) =
        ((20.0 * 2.0 + 60.0 + 5.0) / 4.0, (10.0 * 5.0 + 30.0 * 3.0 + 70.0 + 10.0) / 10.0);
    let expected = forward + reverse + 1.0;
    assert!(found.lo * 0.99 <= expected && expected <= found.hi * 1.01, "{found:?} instead of {expected} ms");
    assert!(found.hi - found.lo < 0.05 * expected, "{found:?} says little");
}

#[test]
fn linux_reno_without_sack_is_reproduced() {
    // The kernel testbed's numbers for this path: 686 kb/s steady goodput, cwnd 14 to 29, period 2.18 s. Bound: 3 %.
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/fixed.toml"))
        .unwrap();
    let with_sack = "tcp = { congestion = \"reno\" }";
    assert!(text.contains(with_sack), "the example has become another one");
    let text = text.replace(with_sack, "tcp = { recovery = \"newreno\", congestion = \"reno\" }");
    let runs = simulate(&text, SEEDS);
    assert_within("goodput", interval(&runs, |run| run.flows[0].goodput_bps), 686e3, 0.03);
    assert_within("period", interval(&runs, |run| 50.0 / run.flows[0].fast_retransmits as f64), 2.18, 0.03);
    for run in &runs {
        let (least, most) = (run.flows[0].cwnd_min_packets, run.flows[0].cwnd_max_packets);
        assert!((13.0..=15.0).contains(&least) && (28.0..=30.0).contains(&most), "cwnd {least} to {most}");
    }
}
