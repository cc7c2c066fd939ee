//! ABR sources and effective capacities in scenarios, and how they resolve.

use varicap_experiment::{Estimate, Network, Scenario, explain};
use varicap_net::CapacityParts;
use varicap_units::{Rate, Span};

/// A flow over a link that tells its rate.
fn scenario(flow: &str) -> String {
    format!(
        r#"duration = "60 s"
[topology.dumbbell.forward]
capacity = "1 Mbit/s"
delay = "10 ms"
[flows.a]
{flow}
"#
    )
}

fn resolve(flow: &str) -> Result<Network, String> {
    let read = |text: &str| {
        let scenario = Scenario::from_toml(text, "x.toml", &[])?;
        scenario.resolve(&mut |_| Err(String::new()))
    };
    read(&scenario(flow)).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused(flow: &str, expected: &str) {
    match resolve(flow) {
        Ok(_) => panic!("not refused: {flow}"),
        Err(error) => assert_eq!(error, format!("x.toml:6: flows.a.{expected}")),
    }
}

#[test]
fn a_source_is_a_link_for_each_connection_after_all_others() {
    let network = resolve("count = 3\nabr = { initial = \"500 kbit/s\" }").unwrap();
    let names: Vec<&str> = network.links.iter().map(|link| &*link.name).collect();
    assert_eq!(names, ["forward", "reverse", "a.0.abr", "a.1.abr", "a.2.abr"]);
    let abr = network.flows[0].abr.as_ref().unwrap();
    assert_eq!((abr.link(0), abr.link(2)), (2, 4));
    assert_eq!(network.flows[0].forward, [0], "the way through the topology is what it was");
    for link in &network.links[2..] {
        assert!(matches!(link.parts.capacity, CapacityParts::Held(rate) if rate == Rate::from_bps(500_000)));
        assert_eq!(link.parts.delay.mean(), Span::ZERO);
    }
    assert_eq!(&*resolve("abr = {}").unwrap().links[2].name, "a.abr");
}

#[test]
fn it_is_told_its_fair_rate_unless_it_has_one_of_its_own() {
    let feedback = |flow: &str| resolve(flow).unwrap().flows[0].feedback.clone();
    assert_eq!(feedback("abr = {}").unwrap().links, [0]);
    assert!(feedback("abr = { rate = \"1 Mbit/s\" }").is_none());
}

#[test]
fn explain_shows_the_buffer_on_the_way() {
    let text = scenario("abr = {}");
    let scenario = Scenario::from_toml(&text, "x.toml", &[]).unwrap();
    let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
    let lines = explain(&scenario, &[network]);
    let value = |key: &str| lines.iter().find(|line| line.key == key).map(|line| line.value.as_str());
    assert_eq!(value("resolved.flows.a.route"), Some("a.abr, forward"));
}

#[test]
fn a_scenario_with_a_source_survives_writing() {
    for keys in [
        "abr = {}",
        "abr = { rate = \"600 kbit/s\", service = \"fluid\" }",
        "abr = { minimum = \"1 kbit/s\", initial = \"2 kbit/s\", peak = \"3 kbit/s\" }\nfeedback = { estimator = \"effective\" }",
        "abr = {}\nfeedback = { estimator = { effective = { average = \"7 samples\", least = \"1.5 s\", delta = 0.5, at = \"source\" } } }",
        "abr = {}\nfeedback = { estimator = { effective = { at = { source = { rtt = \"smoothed\" } } } } }",
    ] {
        let one = Scenario::from_toml(&scenario(keys), "x.toml", &[]).unwrap();
        assert_eq!(Scenario::from_toml(&one.to_toml(), "y.toml", &[]).unwrap(), one);
    }
}

#[test]
fn sources_that_make_no_sense_are_refused() {
    for (flow, expected) in [
        ("abr = { rate = \"0 bit/s\" }", "abr.rate: found `0 bit/s`, expected a finite rate above 0"),
        ("abr = { rate = \"unlimited\" }", "abr.rate: found `unlimited`, expected a finite rate above 0"),
        (
            "abr = { rate = \"1 Mbit/s\", peak = \"2 Mbit/s\" }",
            "abr.rate: found `1 Mbit/s`, expected a constant rate, or bounds of the rate that is advertised",
        ),
        ("abr = { peak = \"0 bit/s\" }", "abr.peak: found `0 bit/s`, expected above 0"),
        (
            "abr = { minimum = \"2 Mbit/s\", peak = \"1 Mbit/s\" }",
            "abr.minimum: found `2 Mbit/s`, expected at most `peak`, 1 Mbit/s",
        ),
        (
            "abr = { initial = \"2 Mbit/s\", peak = \"1 Mbit/s\" }",
            "abr.initial: found `2 Mbit/s`, expected from 0 bit/s (`minimum`) to 1 Mbit/s (`peak`)",
        ),
        (
            "abr = { increase = \"10 kbit/s\" }",
            "abr.increase: found `10 kbit/s`, expected nothing: rates that are advertised at their changes only leave no time to rise in steps; give the estimator of `feedback` an interval",
        ),
        ("abr = { increase = \"0 bit/s\" }", "abr.increase: found `0 bit/s`, expected above 0"),
        ("abr = {}\ncount = 2000", "abr: found `2000`, expected at most 1000 flows with it"),
        (
            "abr = {}\napp = { arrivals = { rate = \"1 /s\", size = { fixed = \"1 kB\" } } }",
            "abr: found `a table`, expected nothing: transfers that come and go have no lasting source; let one greedy flow stand for what a proxy sends",
        ),
        (
            "abr = {}\ndatagrams = { rate = \"1 Mbit/s\" }",
            "abr: found `a table`, expected nothing: datagrams do not answer to anything",
        ),
    ] {
        assert_refused(flow, expected);
    }
    let both = "abr = { rate = \"1 Mbit/s\" }\nfeedback = {}";
    assert_refused(
        both,
        "abr.rate: found `1 Mbit/s`, expected a constant rate, or `feedback` that advertises one",
    );
}

#[test]
fn effective_capacities_that_make_no_sense_are_refused() {
    for (keys, expected) in [
        ("average = \"0 samples\"", "average: found `0 samples`, expected 1 to 100000 samples"),
        ("least = \"0 samples\"", "least: found `0 samples`, expected 1 to 100000 samples"),
        ("least = \"0 rtt\"", "least: found `0 rtt`, expected above 0 rtt, and at most 10000 rtt"),
        ("average = \"0 s\"", "average: found `0 s`, expected more than 0 s, and at most 3000 s"),
        ("average = \"2 h\"", "average: found `7200 s`, expected more than 0 s, and at most 3000 s"),
        (
            "average = 7",
            "average: found `7`, expected a number of samples, a time or round trips, such as \"7 samples\", \"210 ms\" or \"1 rtt\"",
        ),
        ("delta = -1.0", "delta: found `-1`, expected a finite number, 0 or above"),
        ("interval = \"0 s\"", "interval: found `0 s`, expected more than 0 s"),
        ("interval = \"60 s\"", "interval: found `60 s`, expected less than `duration`, 60 s"),
    ] {
        let flow = format!("feedback = {{ estimator = {{ effective = {{ {keys} }} }} }}");
        assert_refused(&flow, &format!("feedback.estimator.effective.{expected}"));
    }
    assert_refused(
        "feedback = { estimator = { instantaneous = { interval = \"2 min\" } } }",
        "feedback.estimator.instantaneous.interval: found `120 s`, expected less than `duration`, 60 s",
    );
}

#[test]
fn no_link_has_the_name_of_a_buffer() {
    let text = scenario("abr = {}").replace("delay =", "name = \"a.abr\"\ndelay =");
    let error = Scenario::from_toml(&text, "x.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.toml:4: topology.dumbbell.forward.name: found `a.abr`, expected a name that does not end in `.abr`, as those of ABR sources do"
    );
}

#[test]
fn a_buffer_is_one_event_more_for_each_packet() {
    let events = |flow: &str| {
        let scenario = Scenario::from_toml(&scenario(flow), "x.toml", &[]).unwrap();
        let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
        Estimate::of(&scenario, &[network]).events
    };
    // 60 s of 1 Mb/s in packets of 1500 B.
    assert!((events("abr = {}") - events("") - 5000.0).abs() < 1.0);
}

#[test]
fn a_finite_delta_over_many_averages_is_known_to_take_long() {
    let events = |delta: &str| {
        let keys = format!("interval = \"1 ms\", least = \"100000 samples\"{delta}");
        let flow = format!("feedback = {{ estimator = {{ effective = {{ {keys} }} }} }}");
        let scenario = Scenario::from_toml(&scenario(&flow), "x.toml", &[]).unwrap();
        let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
        Estimate::of(&scenario, &[network]).events
    };
    // 60,000 samples of 100,000 averages.
    assert!(events(", delta = 1.0") - events("") > 1e9);
}
