//! Reading and resolving scenarios: defaults, merging, settings, routes.

use varicap_experiment::{
    Estimate, Format, Limits, Network, Plan, Scenario, ScenarioError, Transport, Written, explain,
};
use varicap_units::{Amount, Bytes, Rate, Span};

const FIXED: &str = r#"
duration = "60 s"
[tcp]
mss = "500 B"
timer = { rfc6298 = { minimum = "0.2 s" } }
stack = "rfc"
[topology.dumbbell]
forward = { capacity = "0.8 Mbit/s", delay = "50 ms", queue = { drop-tail = { limit = "10 packets" } } }
[flows.reno]
tcp = { recovery = "newreno", ack = "every" }
"#;

fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "fixed.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn set(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let settings: Vec<_> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Scenario::from_toml(text, "fixed.toml", &settings)
}

fn resolve(scenario: &Scenario) -> Network {
    let network = scenario.resolve(&mut |file| Err(format!("no file {file}")));
    network.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn examples_are_read_and_resolved() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let scenario = read(&text);
            let mut files = |name: &str| {
                let bytes = std::fs::read(folder.join(name)).map_err(|error| error.to_string())?;
                let file: Box<dyn std::io::BufRead> = Box::new(std::io::Cursor::new(bytes));
                Ok(file)
            };
            let networks = scenario.networks(&mut files).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(networks.len(), if scenario.isolate { scenario.flows.len() } else { 1 });
        }
    }
}

#[test]
fn dumbbell_resolves_to_two_links() {
    let network = resolve(&read(FIXED));
    let names: Vec<&str> = network.links.iter().map(|link| &*link.name).collect();
    assert_eq!(names, ["forward", "reverse"]);
    assert_eq!(network.links[0].mean_capacity, Rate::from_bps(800_000));
    assert_eq!(network.links[0].parts.packet, Bytes::new(540));
    assert_eq!(network.links[0].parts.bdp, Bytes::new(10_000));
    assert!(network.links[1].mean_capacity.is_unlimited());
    assert_eq!(network.links[1].parts.delay.mean(), Span::from_millis(50));
    assert_eq!(network.flows[0].forward, [0]);
    assert_eq!(network.flows[0].reverse, [1]);
    assert_eq!(network.flows[0].jitter, Span::ZERO);
}

#[test]
fn shared_tcp_gives_only_what_a_flow_does_not_say() {
    let text = FIXED.to_owned() + "[flows.large]\ntcp = { mss = \"1000 B\" }\n";
    let scenario = read(&text);
    assert_eq!(scenario.flows["reno"].tcp.mss, Bytes::new(500));
    assert_eq!(scenario.flows["large"].tcp.mss, Bytes::new(1000));
    assert_eq!(scenario.flows["large"].tcp.timer, scenario.flows["reno"].tcp.timer);
}

#[test]
fn settings_change_values_and_the_parameters_of_choices() {
    let scenario = set(
        FIXED,
        &[
            ("duration", "5 s"),
            ("flows.reno.count", "2"),
            ("topology.dumbbell.forward.queue.drop-tail.limit", "20 packets"),
            ("topology.dumbbell.reverse.capacity", "1 Mbit/s"),
            ("tcp.congestion", "cubic"),
        ],
    )
    .unwrap();
    assert_eq!(scenario.duration, Span::from_secs(5));
    assert_eq!(scenario.flows["reno"].count, 2);
    let network = resolve(&scenario);
    let json = serde_json::to_value(&network.links[0].parts.queue).unwrap();
    assert_eq!(json["drop-tail"]["limit"], "20 packets");
    assert_eq!(network.links[1].mean_capacity, Rate::from_bps(1_000_000));
    assert_eq!(network.links[1].parts.delay.mean(), Span::from_millis(50));
    // Two flows share the queue: 540 bytes at 0.8 Mb/s.
    assert_eq!(network.flows[0].jitter, Span::from_micros(5400));
}

#[test]
fn a_text_that_was_parsed_once_is_read_at_many_points() {
    const DELAY: &str = "topology.dumbbell.forward.delay";
    const QUEUE: &str = "topology.dumbbell.forward.queue.drop-tail.limit";
    let whole = read(FIXED).to_json().to_string();
    let points: [&[(&str, &str)]; 6] = [
        &[],
        &[(DELAY, "20 ms"), (QUEUE, "7 packets")],
        &[("tcp.congestion", "cubic")],
        &[("flows.reno.tcp.stack", "rfc")],
        &[(DELAY, "nonsense")],
        &[],
    ];
    for (text, format) in [(FIXED, Format::Toml), (&whole, Format::Value)] {
        let base = Written { text, format, file: "x", settings: &[], option: "--over" };
        let parsed = base.parse().unwrap();
        for point in points {
            let point: Vec<(String, String)> =
                point.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let written = Written { settings: &point, ..base };
            // No point sees what another has set.
            assert_eq!(written.read_parsed(&parsed), written.read(), "{point:?}");
        }
    }
}

#[test]
fn setting_another_choice_replaces_the_first() {
    let scenario = set(FIXED, &[("topology.dumbbell.forward.queue.red.min_threshold", "3 packets")]).unwrap();
    let json = scenario.to_json();
    let queue = &json["topology"]["dumbbell"]["forward"]["queue"];
    assert_eq!(queue["red"]["min_threshold"], "3 packets");
    assert!(queue.get("drop-tail").is_none());
}

#[test]
fn everything_written_out_reads_back_the_same() {
    let scenario = read(&(FIXED.to_owned() + "[flows.x]\ndatagrams = { rate = \"1 kbit/s\" }\n"));
    let toml = scenario.to_toml();
    assert_eq!(read(&toml), scenario);
    assert_eq!(read(&toml).to_toml(), toml);
    let json = scenario.to_json().to_string();
    assert_eq!(Scenario::from_json(&json, "fixed.json", &[]).unwrap(), scenario);
    assert!(toml.contains("initial_window = \"10 packets\""), "defaults are visible:\n{toml}");
}

#[test]
fn windows_in_bdp_are_resolved_with_the_bdp_of_the_path() {
    let scenario = set(FIXED, &[("tcp.max_window", "2 bdp"), ("flows.reno.access_delay", "50 ms")]).unwrap();
    let network = resolve(&scenario);
    let Transport::Tcp { tcp, .. } = &network.flows[0].transport else { panic!("TCP") };
    // 0.8 Mb/s x (2 x 50 ms + 2 x 50 ms) = 20 kB.
    assert_eq!(tcp.max_window, Amount::Bytes(Bytes::new(40_000)));
}

#[test]
fn chain_with_cross_traffic_routes_over_inner_nodes() {
    let network = resolve(&read(
        r#"
        duration = "10 s"
        [topology.chain]
        forward = [{ capacity = "1 Mbit/s", delay = "10 ms" }, { capacity = "2 Mbit/s", delay = "20 ms" }]
        [flows.long]
        [flows.cross]
        from = "n1"
        to = "n2"
        [flows.back]
        backward = true
        datagrams = { rate = "10 kbit/s", size = "100 B" }
        "#,
    ));
    let names: Vec<&str> = network.links.iter().map(|link| &*link.name).collect();
    assert_eq!(names, ["forward.1", "forward.2", "reverse.1", "reverse.2"]);
    let routes: Vec<_> = network.flows.iter().map(|flow| (&flow.forward[..], &flow.reverse[..])).collect();
    assert_eq!(routes, [(&[0, 1][..], &[3, 2][..]), (&[1], &[3]), (&[3, 2], &[0, 1])]);
    let delays: Vec<Span> = network.links.iter().map(|link| link.parts.delay.mean()).collect();
    assert_eq!(delays, [10, 20, 10, 20].map(Span::from_millis));
}

#[test]
fn graph_takes_the_fewest_links_unless_told_otherwise() {
    let graph = r#"
        duration = "10 s"
        [topology.graph.links]
        ab = { from = "a", to = "b" }
        bc = { from = "b", to = "c" }
        ac = { from = "a", to = "c", capacity = "1 Mbit/s", delay = "20 ms" }
        ca = { from = "c", to = "a" }
        [flows.f]
        from = "a"
        to = "c"
    "#;
    let network = resolve(&read(graph));
    assert_eq!((&network.flows[0].forward[..], &network.flows[0].reverse[..]), (&[2][..], &[3][..]));
    let network = resolve(&read(&(graph.to_owned() + "via = [\"ab\", \"bc\"]\n")));
    assert_eq!(network.flows[0].forward, [0, 1]);
}

#[test]
fn isolated_flows_have_the_same_links_each() {
    let text =
        FIXED.replace("duration = \"60 s\"", "duration = \"60 s\"\nisolate = true") + "[flows.second]\n";
    let networks = read(&text).networks(&mut |_| Err("no files".to_owned())).unwrap();
    let flows: Vec<&str> = networks.iter().map(|network| &*network.flows[0].name).collect();
    assert_eq!(flows, ["reno", "second"]);
    assert!(networks.iter().all(|network| &*network.links[0].name == "forward"));
}

#[test]
fn every_value_is_explained_with_its_place() {
    let scenario = set(FIXED, &[("duration", "5 s"), ("tcp.max_window", "2 bdp")]).unwrap();
    let lines = explain(&scenario, &[resolve(&scenario)]);
    let find =
        |key: &str| lines.iter().find(|line| line.key == key).unwrap_or_else(|| panic!("no line {key}"));
    assert_eq!(find("duration").place.as_deref(), Some("--set duration=5 s"));
    // Given in the shared table, on its line.
    let mss = find("flows.reno.tcp.mss");
    assert_eq!((mss.value.as_str(), mss.given, mss.place.as_deref()), ("500 B", true, Some("fixed.toml:4")));
    let minimum = find("flows.reno.tcp.timer.rfc6298.minimum");
    assert_eq!((minimum.value.as_str(), minimum.given), ("200 ms", true));
    let window = find("flows.reno.tcp.initial_window");
    assert_eq!((window.value.as_str(), window.given), ("10 packets", false));
    assert_eq!(find("topology.dumbbell.forward.queue").value, "drop-tail");
    assert_eq!(find("topology.dumbbell.forward.capacity").value, "constant 800 kbit/s");
    assert!(!find("topology.dumbbell.forward.queue.drop-tail.counts_in_service").given);
    assert_eq!(find("flows.reno.stop").value, "never");
    assert_eq!(find("resolved.links.forward.bdp").value, "10 kB");
    assert_eq!(find("resolved.links.forward.queue").value, "drop-tail, 10 packets");
    assert_eq!(find("resolved.links.reverse.queue").value, "drop-tail, unlimited");
    assert_eq!(find("resolved.flows.reno.max_window").value, "20 kB");
    assert!(lines.iter().all(|line| !line.text.is_empty() || line.key.starts_with("topology")));
}

#[test]
fn runs_that_would_take_too_much_are_refused() {
    let cost = |settings: &[(&str, &str)]| {
        let scenario = set(FIXED, settings).unwrap();
        Estimate::of(&scenario, &[resolve(&scenario)])
    };
    let limits = Limits { memory: Some(Bytes::new(1_000_000_000)), time: Some(Span::from_secs(60)) };
    let memory = Limits { time: None, ..limits };
    let minute = Limits { memory: None, ..limits };
    // 0.8 Mb/s for 60 s are 11111 packets of 540 bytes, with two events each, and as many acknowledgements.
    let small = cost(&[]);
    assert!((small.events - 44444.0).abs() < 100.0, "{small:?}");
    assert_eq!(small.check_limits(&Plan::new(10, 2), &limits), Ok(()));
    let long = cost(&[("topology.dumbbell.forward.capacity", "100 Gbit/s"), ("duration", "1 h")]);
    let error = long.check_limits(&Plan::new(1, 2), &limits).unwrap_err().to_string();
    assert!(error.contains("expected at most 60 s (--max-time)"), "{error}");
    for busy in [
        "{ capacity = '5000 Gbit/s', arq = { slot = '1 ns' } }",
        "{ capacity = '0.8 Mbit/s', loss = { markov = { good = '1 ns', bad = '1 ns' } } }",
    ] {
        let link = busy.replacen('{', "{ delay = '50 ms',", 1);
        let error = cost(&[("topology.dumbbell.forward", &link)]).check_limits(&Plan::new(1, 2), &minute);
        assert!(error.unwrap_err().to_string().contains("--max-time"), "{busy}");
    }
    // Nothing limits a greedy flow without capacity, loss and window.
    let endless = cost(&[("topology.dumbbell.forward", "{ delay = '1 ms' }")]);
    let error = endless.check_limits(&Plan::new(1, 2), &minute).unwrap_err().to_string();
    assert!(error.contains("endless work: nothing limits what the flow `reno` sends"), "{error}");
    assert!(error.contains("`tcp.max_window`"), "{error}");
    // A receiver's largest window bounds the flight: a gigabyte of data, and more than a quarter of one of memory.
    let quarter = Limits { memory: Some(Bytes::new(250_000_000)), ..memory };
    assert!(endless.check_limits(&Plan::new(1, 2), &quarter).is_err());
    let lossy = cost(&[("topology.dumbbell.forward", "{ delay = '1 ms', loss = 0.01 }")]);
    assert_eq!(lossy.check_limits(&Plan::new(1, 2), &limits), Ok(()));
    // A capacity that changes every nanosecond.
    let busy = "{ markov = { rates = ['0 b/s', '1 Mb/s'], mean_holding = ['1 ns', '1 ns'] } }";
    let busy = cost(&[("topology.dumbbell.forward.capacity", busy)]);
    assert!(busy.check_limits(&Plan::new(1, 2), &limits).is_err());
    let many = cost(&[("flows.reno.count", "1000000")]);
    assert!(many.check_limits(&Plan::new(1, 2), &limits).is_err());
    let hundred_thousand = cost(&[("flows.reno.count", "100000")]);
    assert_eq!(hundred_thousand.check_limits(&Plan::new(1, 1), &limits), Ok(()));
    // A packet that never gets through costs its source all the same.
    let flood = "{ arrivals = { rate = '1e9 /s', size = { fixed = '1 B' } } }";
    assert!(cost(&[("flows.reno.app", flood)]).check_limits(&Plan::new(1, 2), &limits).is_err());
    let restless = [
        "{ on-off = { on = '1 ns', off = '1 ns' } }",
        "{ on-off = { on = '1 ns', off = '0 s', exponential = true } }",
        "{ on-off = { on = '1 s', off = '1 s', rate = '1000 Gbit/s' } }",
    ];
    for app in restless {
        assert!(cost(&[("flows.reno.app", app)]).check_limits(&Plan::new(1, 2), &minute).is_err(), "{app}");
    }
    let calm = cost(&[("flows.reno.app", "{ on-off = { on = '1 s', off = '1 s' } }")]);
    assert!((calm.events - small.events - 60.0).abs() < 1.0, "{calm:?}");
    let deluge = "{ datagrams = { rate = '1000 Gbit/s', size = '100 B' } }";
    assert!(cost(&[("flows.reno", deluge)]).check_limits(&Plan::new(1, 2), &limits).is_err());
}

#[test]
fn memory_is_what_runs_add_and_traces_count_once() {
    let fits = |estimate: &Estimate, runs: u32, megabytes: u64| {
        let limits = Limits { memory: Some(Bytes::new(megabytes * 1_000_000)), time: None };
        estimate.check_limits(&Plan::new(runs, 4), &limits).is_ok()
    };
    let small = set(FIXED, &[]).unwrap();
    assert!(fits(&Estimate::of(&small, &[resolve(&small)]), 4, 10), "the process itself does not count");
    // A line takes 8 bytes in memory.
    let lines: String = (1..=1_000_000).map(|millis| format!("{millis}\n")).collect();
    let trace = [("topology.dumbbell.forward.capacity", "{ opportunities = { file = 'down' } }")];
    let scenario = set(FIXED, &trace).unwrap();
    let networks = scenario.networks(&mut |_| Ok(Box::new(std::io::Cursor::new(lines.clone())))).unwrap();
    let traced = Estimate::of(&scenario, &networks);
    assert_eq!(traced.traces_bytes, 8e6);
    assert!(!fits(&traced, 1, 8) && fits(&traced, 4, 16), "{traced:?}");
}

#[test]
fn what_is_sent_at_once_and_what_is_recorded_counts() {
    let cost = |settings: &[(&str, &str)]| {
        let scenario = set(FIXED, settings).unwrap();
        Estimate::of(&scenario, &[resolve(&scenario)])
    };
    let limits = Limits { memory: Some(Bytes::new(200_000_000)), time: Some(Span::from_secs(5)) };
    let run = Plan::new(1, 1);
    // A window of 1 GiB leaves at once, into a queue without a limit, or is lost at one with a limit.
    let flood = [("flows.reno.tcp.initial_window", "unlimited"), ("flows.reno.tcp.mss", "1460 B")];
    assert!(cost(&flood).check_limits(&run, &Limits { memory: None, ..limits }).is_ok());
    let queue = ("topology.dumbbell.forward.queue", "{ drop-tail = { limit = 'unlimited' } }");
    let small = Limits { memory: Some(Bytes::new(50_000_000)), ..limits };
    let error = cost(&[flood[0], flood[1], queue]).check_limits(&run, &small).unwrap_err().to_string();
    assert!(error.contains("--max-memory"), "{error}");
    let tiny = [flood[0], ("flows.reno.tcp.mss", "1 B")];
    let second = Limits { time: Some(Span::from_secs(1)), ..limits };
    let error = cost(&tiny).check_limits(&run, &second).unwrap_err().to_string();
    assert!(error.contains("--max-time"), "{error}");
    let file = ("flows.reno.app", "{ transfer = { size = '100 kB' } }");
    assert_eq!(cost(&[flood[0], flood[1], queue, file]).check_limits(&run, &limits), Ok(()));
    // 10 Mb/s for 60 s are some 140,000 packets, each of which gives several events at each link.
    let fast = cost(&[("topology.dumbbell.forward.capacity", "100 Mbit/s"), ("duration", "50 s")]);
    assert_eq!(fast.check_limits(&run, &limits), Ok(()));
    let packets = Plan { packets: 1, ..run };
    let error = fast.check_limits(&packets, &limits).unwrap_err().to_string();
    assert!(error.contains("--max-memory"), "{error}");
    let series = Plan { series: 1000, ..run };
    assert_eq!(cost(&[]).check_limits(&Plan { series: 1, ..run }, &limits), Ok(()));
    assert!(cost(&[]).check_limits(&series, &limits).is_err());
    // A minute in real time takes a minute.
    let real_time = Plan { is_real_time: true, ..run };
    assert_eq!(cost(&[]).check_limits(&run, &limits), Ok(()));
    assert!(cost(&[]).check_limits(&real_time, &limits).unwrap_err().to_string().contains("real time"));
}

#[test]
fn a_scenario_without_a_name_has_its_files() {
    let name = |file: &str| Scenario::from_toml(FIXED, file, &[]).unwrap().name;
    assert_eq!(name("some/lte.toml"), "lte");
    assert_eq!(name("<notebook>"), "notebook");
    assert_eq!(name(".."), "scenario");
    assert_eq!(name(&"ä".repeat(300)), "ä".repeat(25));
}

#[test]
fn a_link_that_has_the_outages_of_its_forward_link_and_cannot_is_told_where_they_come_from() {
    let text = |reverse: &str| {
        format!(
            "duration = \"9 s\"\n[topology.dumbbell.forward]\ncapacity = \"9 Mb/s\"\n\
             handover = {{ period = \"1 s\", outage = \"50 ms\" }}\n\
             [topology.dumbbell.reverse]\ncapacity = \"1 Mb/s\"\n{reverse}\n[flows.a]\n"
        )
    };
    let refused = |reverse: &str| Scenario::from_toml(&text(reverse), "x.toml", &[]).unwrap_err().to_string();
    let found = refused("arq = {}");
    assert!(found.contains("topology.dumbbell.reverse.handover.outage: found `50 ms`"), "{found}");
    assert!(found.contains("expected 0 s: with `arq` slots follow one another"), "{found}");
    assert!(
        found.contains("it is that of the forward link: give this link a `handover` of its own"),
        "{found}"
    );
    let own = "handover = { period = \"1 s\", outage = \"20 ms\" }";
    assert!(!refused(&format!("arq = {{}}\n{own}")).contains("forward"));
    let own = "arq = {}\nhandover = { period = \"1 s\" }";
    assert!(Scenario::from_toml(&text(own), "x.toml", &[]).is_ok());
}
