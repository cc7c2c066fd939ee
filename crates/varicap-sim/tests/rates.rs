//! Rates of datagrams and of applications are what was asked for, however short their packets.

use varicap_experiment::rows::FlowRow;

use crate::common::simulate;

/// The row of `flow` on 1000 Gb/s.
fn run(flow: &str) -> FlowRow {
    let toml = format!(
        r#"
        duration = "2 ms"
        warmup = "500 us"
        [topology.dumbbell.forward]
        capacity = "1000 Gbit/s"
        delay = "10 us"
        queue = {{ drop-tail = {{ limit = "10 MB" }} }}
        {flow}
        "#
    );
    simulate(&toml, 1).remove(0).flows.remove(0)
}

#[test]
fn datagrams_have_the_rate_that_was_asked_for() {
    for (rate, size) in [("70 Gbit/s", 64), ("399 Gbit/s", 1500), ("90 Gbit/s", 1500), ("7 Gbit/s", 41)] {
        let found = run(&format!("[flows.d]\ndatagrams = {{ rate = \"{rate}\", size = \"{size} B\" }}"))
            .throughput_bps;
        let asked = rate.split_once(' ').unwrap().0.parse::<f64>().unwrap() * 1e9;
        assert!((found / asked - 1.0).abs() < 1e-3, "{size} B at {rate}: {found}");
    }
    // In 1.5 ms 205,078 packets come: 5 standard deviations are 1.1 %.
    let found = run("[flows.d.datagrams]\nrate = \"70 Gbit/s\"\nsize = \"64 B\"\nspacing = \"poisson\"");
    let found = found.throughput_bps;
    assert!((found / 70e9 - 1.0).abs() < 0.011, "Poisson: {found}");
}

#[test]
fn applications_write_at_the_rate_that_was_asked_for() {
    // 1460 B at 399 Gb/s are 29.27 ns: rounded up, 389 Gb/s.
    let found = run(
        "[flows.d]\ntcp = { max_window = \"unlimited\", receive_window = \"unlimited\", initial_window = \"10000 packets\", mss = \"1460 B\" }\n\
         app = { on-off = { on = \"1 s\", off = \"1 s\", rate = \"399 Gbit/s\" } }",
    );
    let found = found.goodput_bps;
    assert!((found / 399e9 - 1.0).abs() < 1e-3, "{found}");
}
