//! The rates that senders receive, when, and how they react.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{interval, simulate};
use varicap_experiment::Scenario;
use varicap_experiment::results::RunResult;
use varicap_sim::{Options, run_many};
use varicap_tcp::congestion::{AckSample, CongestionControl, CongestionEvent};
use varicap_units::{Bytes, Rate, Time};

/// The rates that were received: milliseconds, kbit/s.
type Heard = Arc<Mutex<Vec<(f64, f64)>>>;

/// A fixed window that records the rates advertised to it.
#[derive(Debug)]
struct Probe(Heard);

impl CongestionControl for Probe {
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        let kbps = if rate.is_unlimited() { f64::INFINITY } else { rate.as_bps() as f64 / 1e3 };
        self.0.lock().unwrap().push((now.as_nanos() as f64 / 1e6, kbps));
    }
    fn on_idle(&mut self, _: Bytes) {}
    fn cwnd(&self) -> Bytes {
        Bytes::new(4000)
    }
}

/// The rates that the flows with the control `probe` received in one run.
pub fn hear(toml: &str) -> Vec<(f64, f64)> {
    let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(&mut |_| Err(String::new())).unwrap_or_else(|error| panic!("{error}"));
    let heard = Heard::default();
    let probes = heard.clone();
    let controls = move |_: &str, _: &str, _: &varicap_tcp::TcpConfig| {
        Some(Box::new(Probe(probes.clone())) as Box<dyn CongestionControl>)
    };
    let options = Options { controls: Some(Arc::new(controls)), ..Options::default() };
    run_many(&networks, 1, 0..1, &options, 1, &|_| true).unwrap();
    std::mem::take(&mut heard.lock().unwrap())
}

pub const PROBE: &str = "[tcp]\nstack = \"rfc\"\n[flows.a]\njitter = \"0 s\"\ntcp = { congestion = { custom = \"probe\" }, mss = \"1000 B\" }\n";

/// 2 Mb/s, from 5 s on 1 Mb/s; 20 ms there and 30 ms back.
pub const PATH: &str = r#"
    duration = "10 s"
    [topology.dumbbell.forward]
    capacity = { steps = { at = ["0 s", "5 s"], rates = ["2 Mbit/s", "1 Mbit/s"] } }
    delay = "20 ms"
    queue = { drop-tail = { limit = "20 packets" } }
    [topology.dumbbell.reverse]
    delay = "30 ms"
"#;

fn hear_on_path(flows: &str) -> Vec<(f64, f64)> {
    hear(&[PATH, PROBE, flows].concat())
}

#[test]
fn a_rate_is_heard_exactly_one_delay_after_its_change() {
    // At no other time: nothing is advertised between changes.
    assert_eq!(hear_on_path("feedback = {}"), [(50.0, 2000.0), (5050.0, 1000.0)]);
    assert_eq!(hear_on_path("feedback = { delay = \"200 ms\" }"), [(200.0, 2000.0), (5200.0, 1000.0)]);
    assert_eq!(hear_on_path("feedback = { delay = \"0 s\" }"), [(0.0, 2000.0), (5000.0, 1000.0)]);
    let far = "access_delay = \"7 ms\"\nfeedback = {}";
    assert_eq!(hear_on_path(far), [(57.0, 2000.0), (5057.0, 1000.0)]);
}

#[test]
fn a_rate_older_than_what_is_left_of_the_run_is_never_heard() {
    assert_eq!(hear_on_path("feedback = { delay = \"6 s\" }"), [(6000.0, 2000.0)]);
}

#[test]
fn flows_of_any_kind_divide_the_link_while_they_are_active() {
    let beside = "feedback = { share = \"fair\" }\n[flows.b]\nstart = \"2 s\"\nstop = \"7 s\"\n";
    let expected = [(50.0, 2000.0), (2050.0, 1000.0), (5050.0, 500.0), (7050.0, 1000.0)];
    assert_eq!(hear_on_path(beside), expected);
    // Silent periods do not count.
    let on_off = "feedback = {}\n[flows.b]\napp = { on-off = { on = \"3 s\", off = \"4 s\" } }\n";
    let expected = [(50.0, 1000.0), (3050.0, 2000.0), (5050.0, 1000.0), (7050.0, 500.0)];
    assert_eq!(hear_on_path(on_off), expected);
}

#[test]
fn a_flow_may_be_told_the_whole_link() {
    let beside = "feedback = { share = \"capacity\" }\n[flows.b]\nstart = \"2 s\"\n";
    assert_eq!(hear_on_path(beside), [(50.0, 2000.0), (5050.0, 1000.0)]);
}

#[test]
fn acknowledgements_of_the_other_direction_do_not_count() {
    assert_eq!(
        hear_on_path("feedback = {}\n[flows.b]\nbackward = true\n"),
        [(50.0, 2000.0), (5050.0, 1000.0)]
    );
}

#[test]
fn datagrams_take_their_rate_and_no_more_than_their_share() {
    let beside = |rate: &str, count: u32| {
        let flows = format!(
            "feedback = {{}}\n[flows.b]\ncount = {count}\nstart = \"1 s\"\nstop = \"4 s\"\ndatagrams = {{ rate = \"{rate}\" }}\n"
        );
        hear_on_path(&flows)
    };
    let while_there = |rate| [(50.0, 2000.0), (1050.0, rate), (4050.0, 2000.0), (5050.0, 1000.0)];
    assert_eq!(beside("300 kbit/s", 1), while_there(1700.0));
    assert_eq!(beside("300 kbit/s", 2), while_there(1400.0));
    assert_eq!(beside("1500 kbit/s", 1), while_there(1000.0));
    assert_eq!(beside("1500 kbit/s", 3), while_there(500.0));
}

#[test]
fn transfers_are_counted_from_their_first_packet_to_their_last_acknowledgement() {
    let flows = r#"app = { arrivals = { rate = "2 /s", size = { exponential = "100 kB" } } }
        feedback = { delay = "0 s" }
    "#;
    let heard = hear_on_path(flows);
    assert!(heard.len() > 20, "{heard:?}");
    for (at, rate) in &heard {
        let whole = if *at < 5000.0 { 2000.0 } else { 1000.0 };
        let share: f64 = whole / rate;
        assert!((share - share.round()).abs() < 0.01, "{rate} at {at}: {share}");
    }
    assert!(heard.iter().any(|(_, rate)| *rate < 600.0) && heard.iter().any(|(_, rate)| *rate == 2000.0));
}

#[test]
fn a_latecomer_learns_the_rate_one_delay_after_it_opens() {
    let flows = "start = \"1.5 s\"\nfeedback = { share = \"capacity\" }\n[flows.b]\n";
    assert_eq!(hear_on_path(flows), [(1550.0, 2000.0), (5050.0, 1000.0)]);
    // A rate that was sent before the connection opened is not for it: 1.52 s is too early for what is advertised at 1.5 s.
    let flows = "start = \"4.98 s\"\nfeedback = { share = \"capacity\" }\n[flows.b]\n";
    assert_eq!(hear_on_path(flows), [(5030.0, 2000.0), (5050.0, 1000.0)]);
}

#[test]
fn by_an_interval_the_rate_comes_at_each_of_its_ends() {
    let exact = hear_on_path("feedback = { estimator = { exact = { interval = \"2 s\" } } }");
    let expected = [(50.0, 2000.0), (2050.0, 2000.0), (4050.0, 2000.0), (6050.0, 1000.0), (8050.0, 1000.0)];
    assert_eq!(exact, expected);
    // The mean of [4 s, 6 s] has half of each.
    let mean = hear_on_path("feedback = { estimator = { instantaneous = { interval = \"2 s\" } } }");
    assert_eq!(mean, [(2050.0, 2000.0), (4050.0, 2000.0), (6050.0, 1500.0), (8050.0, 1000.0)]);
}

#[test]
fn the_least_of_sliding_averages_comes_by_the_interval() {
    // Samples of 2000, 2000, 1500 and 1000; averages of two from the second on: 2000, 1750, 1250.
    let least = |at: &str| {
        hear_on_path(&format!(
            "feedback = {{ estimator = {{ effective = {{ interval = \"2 s\", average = \"2 samples\", least = \"2 samples\", at = \"{at}\" }} }} }}"
        ))
    };
    let expected = [(2050.0, 2000.0), (4050.0, 2000.0), (6050.0, 1750.0), (8050.0, 1250.0)];
    assert_eq!(least("link"), expected);
    assert_eq!(least("source"), expected);
}

#[test]
fn a_quantised_rate_is_rounded_down_and_told_when_it_changes() {
    let flows = "feedback = { quantum = \"600 kbit/s\" }\n[flows.b]\nstart = \"2 s\"\n";
    assert_eq!(hear_on_path(flows), [(50.0, 1800.0), (2050.0, 600.0), (5050.0, 0.0)]);
}

#[test]
fn of_several_links_the_least_counts() {
    let toml = r#"
        duration = "10 s"
        [topology.chain]
        forward = [
            { capacity = { steps = { at = ["0 s", "4 s"], rates = ["2 Mbit/s", "0.5 Mbit/s"] } }, delay = "10 ms" },
            { capacity = { steps = { at = ["0 s", "6 s"], rates = ["1 Mbit/s", "3 Mbit/s"] } }, delay = "5 ms" },
        ]
    "#;
    let flows = "feedback = { links = [\"forward.1\", \"forward.2\"] }\n[flows.cross]\nfrom = \"n1\"\nstart = \"2 s\"\n";
    // The delay is that of the farther link: 15 ms there, 15 ms back.
    let expected = [(30.0, 1000.0), (2030.0, 500.0)];
    assert_eq!(
        hear(&[toml, PROBE, flows].concat()),
        expected,
        "at 4 s 0.5 Mb/s is no change, at 6 s neither"
    );
}

#[test]
fn link_framing_is_taken_off_the_rate() {
    // 1040 B are 22 cells of 53 B.
    let toml =
        PATH.replace("[topology.dumbbell.reverse]", "framing = { cells = {} }\n[topology.dumbbell.reverse]");
    let heard = hear(&[toml.as_str(), PROBE, "feedback = {}"].concat());
    let advertised = 2000.0 * 1040.0 / (22.0 * 53.0);
    assert!((heard[0].1 - advertised).abs() < 0.001 + 1e-3, "{heard:?} against {advertised}");
}

#[test]
fn a_lost_update_is_not_heard_and_each_flow_loses_its_own() {
    let flows = |more: &str| {
        format!("count = 2\nfeedback = {{ estimator = {{ exact = {{ interval = \"10 ms\" }} }}, {more} }}")
    };
    let all = hear_on_path(&flows("loss = 0"));
    let some = hear_on_path(&flows("loss = 0.3"));
    assert_eq!(all.len(), 2 * 996); // each 10 ms from 50 ms to 10 s
    // 1992 trials: five standard deviations are 0.051.
    let share = some.len() as f64 / all.len() as f64;
    assert!((share - 0.7).abs() < 0.051, "{share}");
    assert!(some.iter().all(|update| all.contains(update)));
    let times = |count: usize| {
        let together = some.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        together as f64 / count as f64
    };
    // Both hear 0.49 of 996 updates: five standard deviations are 0.079.
    assert!((times(996) - 0.49).abs() < 0.079, "losses of the two flows are not independent: {}", times(996));
    assert_eq!(hear_on_path(&flows("loss = 1")), []);
}

#[test]
fn a_rate_that_is_not_renewed_is_forgotten() {
    let flows = r#"feedback = { estimator = { exact = { interval = "1 s" } }, loss = 1, expires = "2.5 s", delay = "0 s" }"#;
    let heard = hear_on_path(flows);
    let times: Vec<f64> = heard.iter().map(|(at, _)| *at).collect();
    assert!(heard.iter().all(|(_, rate)| rate.is_infinite()), "{heard:?}");
    assert_eq!(times, [3000.0, 4000.0, 5000.0, 6000.0, 7000.0, 8000.0, 9000.0, 10000.0]);
}

/// Equality in which a value that was not measured (NaN) equals itself.
#[track_caller]
fn assert_same<T: std::fmt::Debug>(one: &T, other: &T) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn who_does_not_listen_is_not_disturbed() {
    let run = |feedback: &str| {
        let toml = format!(
            r#"
            duration = "30 s"
            [topology.dumbbell.forward]
            capacity = {{ markov = {{ rates = ["2 Mbit/s", "1 Mbit/s"], mean_holding = ["200 ms", "1 s"] }} }}
            delay = "20 ms"
            loss = "1 %"
            queue = "red"
            [flows.a]
            {feedback}
            [flows.web]
            app = {{ arrivals = {{ rate = "2 /s", size = {{ exponential = "20 kB" }} }} }}
            {feedback}
            "#
        );
        simulate(&toml, 2)
    };
    let (without, with) = (run(""), run("feedback = { loss = 0.5 }"));
    for (without, with) in without.iter().zip(&with) {
        assert_same(&without.flows, &with.flows);
        assert_same(&without.links, &with.links);
    }
}

/// Two RATCP-NewReno flows whose RTTs are 40 and 80 ms.
fn two(beta: u32, more: &str) -> Vec<RunResult> {
    let toml = format!(
        r#"
        duration = "100 s"
        warmup = "10 s"
        [topology.dumbbell.forward]
        capacity = "8 Mbit/s"
        delay = "20 ms"
        queue = {{ drop-tail = {{ limit = "10 packets" }} }}
        [tcp]
        stack = "rfc"
        mss = "960 B"
        recovery = "newreno"
        ack = "every"
        congestion = {{ ratcp = {{ beta = "{beta} packets" }} }}
        [flows.short]
        start_spread = "1 s"
        [flows.long]
        start_spread = "1 s"
        access_delay = "20 ms"
        {more}
        "#
    );
    simulate(&toml, 4)
}

#[test]
fn ratcp_flows_of_different_rtts_share_alike_and_lose_nothing() {
    let runs = two(2, "");
    let ratio = interval(&runs, |run| run.flows[0].goodput_bps / run.flows[1].goodput_bps);
    assert!(ratio.lo > 0.95 && ratio.hi < 1.05, "{ratio:?}");
    assert!(runs.iter().all(|run| run.links[0].dropped_packets == 0 && run.flows[0].goodput_bps > 3.7e6));
}

#[test]
fn without_rates_the_same_flows_are_not_fair() {
    let runs = two(2, "feedback = { loss = 1 }\n[flows.short.feedback]\nloss = 1");
    let ratio = interval(&runs, |run| run.flows[0].goodput_bps / run.flows[1].goodput_bps);
    assert!(ratio.lo > 1.2, "{ratio:?}");
    assert!(runs.iter().all(|run| run.links[0].dropped_packets > 0));
}

#[test]
fn a_target_backlog_of_nothing_leaves_the_link_idle_at_times_only() {
    let run = two(0, "").remove(0);
    let goodput = run.flows[0].goodput_bps + run.flows[1].goodput_bps;
    assert!((7.0e6..7.68e6).contains(&goodput), "{goodput}");
}
