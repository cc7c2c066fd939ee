//! Rate feedback and relays in scenarios, and how they resolve.

use varicap_experiment::scenario::Share;
use varicap_experiment::{Estimate, FlowSpec, Network, Scenario, explain};
use varicap_net::EstimatorConfig;
use varicap_units::{Rate, Span};

/// A row of two links, the second with a capacity that varies, and a flow over both.
fn chain(flow: &str) -> String {
    format!(
        r#"duration = "60 s"
[topology.chain]
forward = [
    {{ name = "slow", capacity = "1 Mbit/s", delay = "10 ms" }},
    {{ name = "varying", capacity = {{ sessions = {{ capacity = "8 Mbit/s", arrivals = "1 /s", mean_size = "200 kB", at_most = 3 }} }}, delay = "20 ms" }},
    {{ name = "wide", delay = "5 ms" }},
]
[flows.a]
access_delay = "3 ms"
{flow}
"#
    )
}

fn resolve(text: &str) -> Result<Network, String> {
    let read = |text: &str| {
        let scenario = Scenario::from_toml(text, "x.toml", &[])?;
        scenario.resolve(&mut |_| Ok(Box::new(b"1\n2\n".as_slice())))
    };
    read(text).map_err(|error| error.to_string())
}

fn flow(text: &str) -> FlowSpec {
    resolve(text).unwrap_or_else(|error| panic!("{error}")).flows[0].clone()
}

#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    match resolve(text) {
        Ok(_) => panic!("not refused: {text}"),
        Err(error) => assert_eq!(error, expected),
    }
}

#[test]
fn ratcp_is_told_by_the_slowest_varying_link_unless_it_says_otherwise() {
    let told = |keys: &str| flow(&chain(keys)).feedback.map(|feedback| feedback.links);
    assert_eq!(told("tcp = { congestion = \"ratcp\" }"), Some(vec![1]));
    assert_eq!(told("feedback = {}"), Some(vec![1]));
    assert_eq!(told("tcp = { congestion = \"ratcp\" }\nfeedback = { link = \"slow\" }"), Some(vec![0]));
    assert_eq!(told("feedback = { links = [\"varying\", \"slow\"] }"), Some(vec![1, 0]));
    assert_eq!(told("tcp = { congestion = \"cubic\" }"), None);
}

#[test]
fn by_default_the_exact_fair_rate_comes_the_way_of_the_packets() {
    let feedback = flow(&chain("tcp = { congestion = \"ratcp\" }")).feedback.unwrap();
    // From the second link on: 20 + 5 ms, back 35 ms, and the private wire.
    assert_eq!(feedback.delay, Span::from_millis(20 + 5 + 35 + 3));
    assert_eq!((feedback.share, feedback.estimator.interval()), (Share::Fair, None));
    assert_eq!((feedback.quantum, feedback.loss.get(), feedback.expires), (None, 0.0, None));
}

#[test]
fn every_key_can_be_given() {
    let text = r#"feedback = { share = "capacity", estimator = { instantaneous = { interval = "30 ms" } }, delay = "100 ms", quantum = "64 kbit/s", loss = "5 %", expires = "1 s" }"#;
    let feedback = flow(&chain(text)).feedback.unwrap();
    assert_eq!(feedback.share, Share::Capacity);
    assert_eq!(feedback.estimator.interval(), Some(Span::from_millis(30)));
    assert_eq!(feedback.delay, Span::from_millis(100));
    assert_eq!(feedback.quantum, Some(Rate::from_bps(64_000)));
    assert_eq!((feedback.loss.get(), feedback.expires), (0.05, Some(Span::from_secs(1))));
}

#[test]
fn a_scenario_with_feedback_survives_writing() {
    for keys in [
        "feedback = { delay = \"path\", estimator = \"exact\" }",
        "feedback = { delay = \"100 ms\", estimator = { exact = { interval = \"1 s\" } }, expires = \"2 s\" }",
        "tcp = { congestion = { ratcp = { beta = \"4 packets\", rtt = { known = \"100 ms\" } } } }",
    ] {
        let scenario = Scenario::from_toml(&chain(keys), "x.toml", &[]).unwrap();
        assert_eq!(Scenario::from_toml(&scenario.to_toml(), "y.toml", &[]).unwrap(), scenario);
    }
}

#[test]
fn explain_shows_who_tells_what_and_when() {
    let text = chain("tcp = { congestion = \"ratcp\" }");
    let scenario = Scenario::from_toml(&text, "x.toml", &[]).unwrap();
    let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
    let lines = explain(&scenario, &[network]);
    let value = |key: &str| lines.iter().find(|line| line.key == key).map(|line| line.value.as_str());
    assert_eq!(value("resolved.flows.a.feedback"), Some("varying"));
    assert_eq!(value("resolved.flows.a.feedback_delay"), Some("63 ms"));
}

#[test]
fn links_that_tell_nothing_are_refused() {
    let refused = |keys: &str, expected: &str| assert_refused(&chain(keys), expected);
    refused(
        "feedback = { link = \"varing\" }",
        "x.toml:10: flows.a.feedback.link: found `varing`, expected `slow`, `varying` or `wide`; did you mean `varying`?",
    );
    refused(
        "feedback = { links = [\"slow\", \"reverse.1\"] }",
        "x.toml:10: flows.a.feedback.links.1: found `reverse.1`, expected `slow`, `varying` or `wide`; the links from the sender to the receiver",
    );
    refused(
        "feedback = { link = \"wide\" }",
        "x.toml:10: flows.a.feedback.link: found `wide`, expected a link with a finite rate at each instant",
    );
    refused(
        "feedback = { link = \"slow\", links = [\"slow\"] }",
        "x.toml:10: flows.a.feedback.links: found `both`, expected either `link` or `links`",
    );
    refused(
        "feedback = { links = [] }",
        "x.toml:10: flows.a.feedback.links: found `none`, expected at least one link",
    );
    let unlimited = "duration = \"1 s\"\n[topology.dumbbell.forward]\ndelay = \"1 ms\"\n[flows.a]\ntcp = { congestion = \"ratcp\" }";
    assert_refused(
        unlimited,
        "x.toml:5: flows.a.tcp.congestion: found `ratcp`, expected a link with a finite rate on the way to the receiver; a rate needs a link that has one",
    );
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let refused =
        |keys: &str, expected: &str| assert_refused(&chain(keys), &format!("x.toml:10: flows.a.{expected}"));
    refused(
        "feedback = { delay = \"60 s\" }",
        "feedback.delay: found `60 s`, expected less than `duration`, 60 s",
    );
    refused(
        "feedback = { delay = 5 }",
        "feedback.delay: found `5`, expected a length of time with its unit, such as \"50 ms\"",
    );
    refused(
        "feedback = { estimator = { exact = { interval = \"0 s\" } } }",
        "feedback.estimator.exact.interval: found `0 s`, expected more than 0 s",
    );
    refused(
        "feedback = { quantum = \"0 b/s\" }",
        "feedback.quantum: found `0 bit/s`, expected a finite rate above 0",
    );
    refused(
        "feedback = { expires = \"1 s\" }",
        "feedback.expires: found `1 s`, expected nothing: rates that are advertised at their changes only never expire; give the estimator an interval",
    );
    refused(
        "feedback = { expires = \"1 s\", estimator = { exact = { interval = \"2 s\" } } }",
        "feedback.expires: found `1 s`, expected at least `interval`, 2 s",
    );
    refused(
        "tcp = { congestion = { ratcp = { beta = 1 } } }",
        "tcp.congestion.ratcp.beta: found `1`, expected an amount such as \"64 kB\", \"10 packets\", \"1.5 bdp\" or \"unlimited\"",
    );
    refused(
        "tcp = { congestion = { ratcp = { beta = \"500 B\" } } }",
        "tcp.congestion.ratcp.beta: found `500 B`, expected whole packets, such as \"1 packets\"",
    );
    refused(
        "tcp = { congestion = { ratcp = { rtt = { known = \"0 s\" } } } }",
        "tcp.congestion.ratcp.rtt.known: found `0 s`, expected more than 0 s",
    );
    refused(
        "feedback = {}\ndatagrams = { rate = \"1 Mbit/s\" }",
        "feedback: found `a table`, expected nothing: datagrams do not answer to anything",
    );
}

#[test]
fn no_target_backlog_is_sane() {
    assert!(resolve(&chain("tcp = { congestion = { ratcp = { beta = \"0 packets\" } } }")).is_ok());
}

#[test]
fn feedback_from_steps_that_are_ever_unlimited_is_refused() {
    for (rates, period) in [
        (r#"["8 Mbit/s", "unlimited"]"#, ""),
        (r#"["unlimited", "8 Mbit/s"]"#, ""),
        (r#"["unlimited", "8 Mbit/s"]"#, r#", period = "20 s""#),
    ] {
        let text = format!(
            r#"duration = "60 s"
[topology.dumbbell.forward]
capacity = {{ steps = {{ at = ["0 s", "10 s"], rates = {rates}{period} }} }}
queue = {{ drop-tail = {{ limit = "10 packets" }} }}
[flows.a]
feedback = {{ link = "forward" }}
"#
        );
        assert_refused(
            &text,
            "x.toml:6: flows.a.feedback.link: found `forward`, expected a link with a finite rate at each instant",
        );
    }
}

#[test]
fn feedback_from_a_trace_of_opportunities_is_refused() {
    let text = r#"duration = "60 s"
[topology.dumbbell.forward]
capacity = { opportunities = { file = "x" } }
queue = { drop-tail = { limit = "10 packets" } }
[flows.a]
feedback = { link = "forward" }
"#;
    assert_refused(
        text,
        "x.toml:6: flows.a.feedback.link: found `forward`, expected a link with a finite rate at each instant; delivery opportunities have a mean: estimator = \"instantaneous\"",
    );
    let default = text.replace("feedback = { link = \"forward\" }", "tcp = { congestion = \"ratcp\" }");
    assert_refused(
        &default,
        "x.toml:6: flows.a.tcp.congestion: found `ratcp`, expected a link with a finite rate on the way to the receiver; delivery opportunities have no rate at each instant, only a mean: write `feedback = { estimator = \"instantaneous\" }` for the flow",
    );
    let mean = text.replace("link = \"forward\"", "estimator = \"instantaneous\"");
    assert_eq!(resolve(&mean).unwrap().flows[0].feedback.as_ref().unwrap().links, [0]);
}

/// `server` to `proxy` to `client`, and the flows.
fn proxy(flows: &str) -> String {
    format!(
        r#"duration = "60 s"
[topology.graph.links]
down = {{ from = "server", to = "proxy", capacity = "10 Mbit/s", delay = "20 ms" }}
down-back = {{ from = "proxy", to = "server" }}
last = {{ from = "proxy", to = "client", capacity = "1 Mbit/s", delay = "100 ms" }}
last-back = {{ from = "client", to = "proxy" }}
{flows}
"#
    )
}

const DOWNLOAD: &str = "[flows.download]\nfrom = \"server\"\nto = \"proxy\"\n";
const PAGES: &str = "app = { arrivals = { rate = \"1 /s\", size = { fixed = \"10 kB\" } } }\n";
const CLIENT: &str =
    "[flows.client]\nfrom = \"proxy\"\nto = \"client\"\napp = { relay = { of = \"download\" } }\n";

#[test]
fn a_relay_knows_whom_it_relays() {
    let network = resolve(&proxy(&[CLIENT, DOWNLOAD, PAGES].concat())).unwrap();
    let relay = network.flows[0].relay.unwrap();
    assert_eq!((relay.of, relay.transfers), (1, true));
    assert!(network.flows.iter().all(FlowSpec::carries_arrivals));
    let network = resolve(&proxy(&[DOWNLOAD, CLIENT].concat())).unwrap();
    let relay = network.flows[1].relay.unwrap();
    assert_eq!((relay.of, relay.transfers), (0, false));
}

#[test]
fn relays_that_do_not_fit_are_refused() {
    let refused = |flows: &[&str], expected: &str| assert_refused(&proxy(&flows.concat()), expected);
    let other = CLIENT.replace("\"download\"", "\"downlod\"");
    refused(
        &[DOWNLOAD, &other],
        "x.toml:13: flows.client.app.relay.of: found `downlod`, expected `download`; did you mean `download`?",
    );
    refused(
        &[DOWNLOAD, &CLIENT.replace("\"download\"", "\"client\"")],
        "x.toml:13: flows.client.app.relay.of: found `client`, expected `download`",
    );
    refused(
        &[
            DOWNLOAD,
            &CLIENT.replace("from = \"proxy\"\nto = \"client\"", "from = \"client\"\nto = \"proxy\""),
        ],
        "x.toml:11: flows.client.from: found `client`, expected `proxy`, where `download` ends",
    );
    refused(
        &[DOWNLOAD, "datagrams = { rate = \"1 Mbit/s\" }\n", CLIENT],
        "x.toml:14: flows.client.app.relay.of: found `download`, expected a TCP flow: datagrams are not relayed",
    );
    refused(
        &[DOWNLOAD, "count = 2\n", CLIENT],
        "x.toml:11: flows.client.count: found `1`, expected 2, one for each of `download`",
    );
    refused(
        &[DOWNLOAD, CLIENT, "start = \"1 s\"\n"],
        "x.toml:14: flows.client.start: found `1 s`, expected no `start`, `start_spread` or `stop`: a relay begins and ends with its data",
    );
    refused(
        &[DOWNLOAD, CLIENT, &CLIENT.replace("flows.client", "flows.second")],
        "x.toml:13: flows.client.app.relay.of: found `download`, expected a flow that no other one relays",
    );
    let circle = "[flows.back]\nfrom = \"client\"\nto = \"proxy\"\napp = { relay = { of = \"client\" } }\n";
    refused(
        &[circle, &CLIENT.replace("\"download\"", "\"back\"")],
        "x.toml:10: flows.back.app.relay.of: found `client`, expected a flow that does not come from this one",
    );
    let text = format!("isolate = true\n{}", proxy(&[DOWNLOAD, CLIENT].concat()));
    assert_refused(
        &text,
        "x.toml:14: flows.client.app.relay.of: found `download`, expected no relay where flows are isolated from each other",
    );
}

#[test]
fn a_run_with_very_frequent_updates_is_known_to_take_long() {
    let events = |interval: &str| {
        let keys =
            format!("feedback = {{ estimator = {{ instantaneous = {{ interval = \"{interval}\" }} }} }}");
        let scenario = Scenario::from_toml(&chain(&keys), "x.toml", &[]).unwrap();
        let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
        Estimate::of(&scenario, &[network]).events
    };
    // 60 s of nanoseconds, a wake and a listener.
    assert!(events("1 ns") - events("1 s") > 1.1e11);
}

#[test]
fn what_heeds_a_rate_needs_one_to_be_advertised() {
    for (name, app) in [("video", "video = { heed = true }"), ("real-time", "real-time = { heed = true }")] {
        let keys = format!("app = {{ {app} }}");
        let key = format!("flows.a.app.{name}.heed");
        let expected = "false, or `feedback` for the flow, which advertises the rate that is heeded";
        assert_refused(&chain(&keys), &format!("x.toml:10: {key}: found `true`, expected {expected}"));
        assert!(resolve(&chain(&format!("{keys}\nfeedback = {{}}"))).is_ok());
        assert!(resolve(&chain(&format!("{keys}\ntcp = {{ congestion = \"ratcp\" }}"))).is_ok());
        assert!(resolve(&chain(&keys.replace("true", "false"))).is_ok());
    }
}

#[test]
fn advice_that_makes_no_sense_is_refused_at_its_key() {
    let with = |keys: &str| chain(&format!("feedback = {{ {keys} }}"));
    let told = flow(&with("scone = {}, cap = true")).feedback.unwrap();
    assert_eq!(told.scone.map(|scone| scone.highest()), Some(126));
    assert!(told.cap);
    for (keys, expected) in [
        (
            "scone = { period = \"20 s\" }",
            "x.toml:10: flows.a.feedback.scone.period: found `20 s`, expected at least 30 s, the longest time to the next update: else advice expires before it",
        ),
        (
            "scone = { update = \"999 us\", period = \"1 s\", spread = \"0 s\" }",
            "x.toml:10: flows.a.feedback.scone.update: found `999 us`, expected at least 1 ms",
        ),
        ("scone = { steps = 0 }", "x.toml:10: flows.a.feedback.scone.steps: found `0`, expected 1 to 1000"),
        (
            "scone = {}, quantum = \"1 kb/s\"",
            "x.toml:10: flows.a.feedback.quantum: found `a value`, expected nothing: advice has levels and a period of its own, `scone`",
        ),
        (
            "estimator = \"policy\"",
            "x.toml:10: flows.a.feedback.estimator.policy: found `policy`, expected a rate, or a link with a policer or shaper as its queue",
        ),
    ] {
        assert_refused(&with(keys), expected);
    }
}

#[test]
fn a_policy_is_that_of_the_queue_unless_it_says_otherwise() {
    let queue =
        "queue = { policer = { rate = \"2 Mbit/s\", queue = { drop-tail = { limit = \"9 packets\" } } } }";
    let path = format!(
        "duration = \"60 s\"\n[topology.dumbbell.forward]\ncapacity = \"5 Mbit/s\"\n{queue}\n[flows.a]\n"
    );
    let rate = |estimator: &str| {
        let told = flow(&format!("{path}feedback = {{ estimator = {estimator} }}")).feedback.unwrap();
        match told.estimator {
            EstimatorConfig::Policy(policy) => policy.rate.map(Rate::as_bps),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rate("\"policy\""), Some(2_000_000));
    assert_eq!(rate("{ policy = { rate = \"3 Mbit/s\" } }"), Some(3_000_000));
}

#[test]
fn an_encoder_of_datagrams_hears_nothing_but_what_arrives() {
    let with = |keys: &str, more: &str| {
        chain(&format!("datagrams = {{ rate = {{ real-time = {{ {keys} }} }}{more} }}"))
    };
    assert!(resolve(&with("maximum = \"2 Mbit/s\"", "")).is_ok());
    let key = "x.toml:10: flows.a.datagrams";
    assert_refused(
        &with("heed = true", ""),
        &format!(
            "{key}.rate.real-time.heed: found `true`, expected false: no rate is advertised to datagrams"
        ),
    );
    assert_refused(
        &with("", ", spacing = \"poisson\""),
        &format!(
            "{key}.spacing: found `poisson`, expected constant: the datagrams of a frame are spaced evenly"
        ),
    );
    assert_refused(
        &with("initial = \"4 Mbit/s\"", ""),
        &format!(
            "{key}.rate.real-time.initial: found `4 Mbit/s`, expected from 100 kbit/s (`minimum`) to 3 Mbit/s \
             (`maximum`)"
        ),
    );
}
