//! Throughput advice: what connections hear, when it is forgotten, and what comes of following it.

use crate::common::simulate;
use crate::feedback::{PATH, PROBE, hear};

/// 3 Mb/s; from 100 s on 1.3 Mb/s, from 200 s on 20 Mb/s; 20 ms there and 30 ms back.
const LONG: &str = r#"
    duration = "400 s"
    [topology.dumbbell.forward]
    capacity = { steps = { at = ["0 s", "100 s", "200 s"], rates = ["3 Mbit/s", "1.3 Mbit/s", "20 Mbit/s"] } }
    delay = "20 ms"
    [topology.dumbbell.reverse]
    delay = "30 ms"
"#;

fn hear_on(path: &str, flows: &str) -> Vec<(f64, f64)> {
    hear(&[path, PROBE, flows].concat())
}

/// The level below `kbps`, by multiplying up from 100 kb/s.
fn level(kbps: f64) -> f64 {
    let ratio = 1.122_018_454_301_963_3; // 10^(1/20)
    let mut level = 100.0;
    while level * ratio <= kbps {
        level *= ratio;
    }
    level
}

#[test]
fn advice_comes_at_its_times_in_its_levels_and_the_lowest_of_a_period_holds() {
    // Asked for every 20 s from the beginning: heard 50 ms later.
    let heard = hear_on(LONG, "feedback = { scone = { spread = \"0 s\" } }");
    let expected = |at: f64| match at {
        ..100e3 => level(3000.0),
        // The last low advice is asked for at 180 s, and holds for 67 s.
        ..247.05e3 => level(1300.0),
        _ => level(20_000.0),
    };
    for (at, kbps) in &heard {
        assert!((kbps / expected(*at) - 1.0).abs() < 1e-5, "{at} ms: {kbps}");
    }
    let times: Vec<f64> = heard.iter().map(|(at, _)| *at).collect();
    let mut asked: Vec<f64> = (0..20).map(|n| 20e3 * f64::from(n) + 50.0).collect();
    // The lowest advice expires between two updates.
    asked.push(247_050.0);
    asked.sort_by(f64::total_cmp);
    assert_eq!(times, asked);
}

#[test]
fn advice_that_is_not_renewed_expires() {
    // Of all updates, 7 of 10 are lost: some gaps are longer than the period.
    let lossy = |loss: &str| {
        let keys = format!("feedback = {{ loss = \"{loss}\", scone = {{ spread = \"0 s\" }} }}");
        hear_on(LONG, &keys)
    };
    assert!(lossy("100 %").is_empty());
    let heard = lossy("70 %");
    let mut latest: Option<f64> = None;
    let mut expiries = 0;
    for (at, kbps) in heard {
        if kbps.is_infinite() {
            expiries += 1;
            assert_eq!(latest.map(|latest| latest + 67e3), Some(at), "a period after the last advice");
        } else if (at - 50.0) % 20e3 == 0.0 {
            latest = Some(at);
        }
    }
    assert!(expiries > 0, "no advice expired");
}

#[test]
fn an_element_says_nothing_before_it_knows_and_then_at_once() {
    let scone = "scone = { update = \"9 s\" }";
    let estimator = "estimator = { instantaneous = { interval = \"3 s\" } }";
    let heard = hear_on(PATH, &format!("feedback = {{ {estimator}, {scone} }}"));
    let first = heard[0];
    assert_eq!(first.0, 3050.0);
    assert!((first.1 / level(2000.0) - 1.0).abs() < 1e-5, "{first:?}");
    assert_eq!(heard.len(), 1);
}

#[test]
fn a_run_shorter_than_an_update_hears_the_advice_of_its_beginning() {
    let heard = hear_on(&LONG.replace("400 s", "2 s").replace("100 s", "1 s"), "feedback = { scone = {} }");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].0, 50.0);
    assert!((heard[0].1 / level(3000.0) - 1.0).abs() < 1e-5, "{heard:?}");
}

#[test]
fn of_several_elements_the_lowest_counts() {
    let two = r#"
        duration = "100 s"
        [topology.chain]
        forward = [{ name = "x", capacity = "8 Mbit/s" }, { name = "y", capacity = "2 Mbit/s", delay = "10 ms" }]
    "#;
    for order in ["\"x\", \"y\"", "\"y\", \"x\""] {
        let heard = hear_on(two, &format!("feedback = {{ links = [{order}], scone = {{}} }}"));
        assert!(!heard.is_empty());
        assert!(heard.iter().all(|(_, kbps)| (kbps / level(2000.0) - 1.0).abs() < 1e-5), "{heard:?}");
    }
}

#[test]
fn updates_come_at_random_times_of_their_range() {
    let heard =
        hear_on(LONG, "feedback = { scone = { update = \"2 s\", spread = \"3 s\", period = \"5 s\" } }");
    let gaps: Vec<f64> = heard.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!(gaps.iter().all(|gap| *gap <= 5000.0), "{gaps:?}");
    assert!((3000.0..3600.0).contains(&mean), "{mean}");
}

/// One flow of a control over 10 Mb/s with a policer of 4 Mb/s, which tells its rate.
fn beside_a_policer(control: &str, monitor: &str, feedback: &str) -> (f64, u64) {
    let toml = format!(
        r#"
        duration = "300 s"
        warmup = "100 s"
        [topology.dumbbell.forward]
        capacity = "10 Mbit/s"
        delay = "25 ms"
        queue = {{ policer = {{ rate = "4 Mbit/s", burst = "20 kB", queue = {{ drop-tail = {{ limit = "1 MB" }} }}{monitor} }} }}
        [flows.a]
        tcp.congestion = "{control}"
        feedback = {{ estimator = "policy", scone = {{}}, {feedback} }}
        "#
    );
    let run = &simulate(&toml, 1)[0];
    (run.flows[0].throughput_bps, run.links[0].policed_packets)
}

#[test]
fn a_lenient_policer_drops_nothing_of_who_follows_its_advice() {
    let lenient = ", monitor = \"67 s\"";
    for control in ["cubic", "bbr", "reno"] {
        let (throughput, dropped) = beside_a_policer(control, lenient, "cap = true");
        assert_eq!(dropped, 0, "{control}");
        // The level below 4 Mb/s is 3.981 Mb/s.
        assert!((3.8e6..=3.982e6).contains(&throughput), "{control}: {throughput}");
        let (throughput, dropped) = beside_a_policer(control, lenient, "cap = false");
        // In a period it brings as much as the rate allows before it is bound, and no more than that from there on.
        assert!(dropped > 0 && throughput < 8e6, "{control}: {dropped} dropped, {throughput}");
    }
}

#[test]
fn a_cap_limits_any_control_at_each_instant() {
    let toml = r#"
        duration = "60 s"
        warmup = "1 s"
        [topology.dumbbell.forward]
        capacity = { steps = { at = ["0 s", "30 s"], rates = ["10 Mbit/s", "5 Mbit/s"] } }
        delay = "20 ms"
        queue = { drop-tail = { limit = "100 packets" } }
        [flows.a]
        tcp = { stack = "linux", congestion = "CONTROL" }
        feedback = { share = "capacity", cap = true }
    "#;
    for control in ["cubic", "bbr", "prague", "reno"] {
        let run = &simulate(&toml.replace("CONTROL", control), 1)[0];
        let flow = &run.flows[0];
        // At the step, 5 Mb/s come too much for the 40 ms of the delay, which take 40 ms, and then nothing is left to drain them.
        let link = &run.links[0];
        assert!(
            link.sojourn_p99_ms < 50.0 && link.dropped_packets == 0,
            "{control}: {}",
            link.sojourn_p99_ms
        );
        assert!(flow.throughput_bps > 0.9 * 7.5e6, "{control}: {}", flow.throughput_bps);
    }
}
