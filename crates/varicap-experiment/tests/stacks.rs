//! The habits of a stack, and what comes before them.

use serde_json::{Value, json};
use varicap_experiment::{
    Explained, Format, Mistakes, Scenario, ScenarioError, Written, explain, habits, read_tcp, tcp_json,
};
use varicap_tcp::{AccurateEcn, DEFAULT_STACK, EcnMode, Stack, TcpConfig};

const PATH: &str = "duration = \"1 s\"\n\n\ntopology = { dumbbell = { forward = { capacity = \"1 Mbit/s\", delay = \"10 ms\" } } }\n";

fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

fn read(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(&format!("{PATH}{text}"), "test.toml", &owned(settings))
}

/// All mistakes of a text that cannot be read.
fn mistakes(text: &str, settings: &[(&str, &str)]) -> Mistakes {
    let (text, settings) = (format!("{PATH}{text}"), owned(settings));
    let written = Written {
        text: &text,
        format: Format::Toml,
        file: "test.toml",
        settings: &settings,
        option: "--set",
    };
    written.mistakes(written.read().unwrap_err(), &mut |_| unreachable!())
}

fn resolved(text: &str, settings: &[(&str, &str)]) -> Value {
    read(text, settings).unwrap().to_json()
}

/// The flow `a` of a scenario with this shared table and this one of its own.
fn flow(shared: &str, own: &str) -> Value {
    resolved(&format!("[tcp]\n{shared}\n[flows.a]\ntcp = {{ {own} }}\n"), &[])["flows"]["a"]["tcp"].clone()
}

/// `table` with the values of `over` in place of its own, table by table; a choice is replaced by another one.
fn overlay(table: &mut Value, over: &Value) {
    let is_choice = |value: &Value| value.as_object().is_some_and(|keys| keys.len() == 1);
    match (table, over) {
        (Value::Object(keys), Value::Object(others)) => {
            let is_other = is_choice(over) && keys.len() == 1 && keys.keys().ne(others.keys());
            if is_other {
                *keys = others.clone();
            } else {
                others.iter().for_each(|(key, value)| overlay(keys.entry(key).or_insert(Value::Null), value));
            }
        }
        (table, over) => *table = over.clone(),
    }
}

fn named(stack: Stack) -> Value {
    serde_json::to_value(read_tcp(&json!({ "stack": stack }).to_string()).unwrap()).unwrap()
}

#[test]
fn each_habit_is_a_key_of_the_format_with_a_value_that_makes_sense() {
    for stack in Stack::ALL {
        let table = habits(*stack);
        let keys = table.as_object().unwrap();
        assert!(!keys.contains_key("stack"), "{stack}");
        assert!(keys.is_empty() == (*stack == Stack::Rfc), "{stack} could not be read");
        // Every alternative of a choice by itself, so that none of them is only read and never decoded.
        let choices = ["congestion", "timer", "ack"];
        let plain = keys.iter().filter(|(key, _)| !choices.contains(&key.as_str()));
        let plain: serde_json::Map<String, Value> =
            plain.map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut tables = vec![Value::Object(plain)];
        let as_written = |mut table: Value| {
            table["stack"] = json!(Stack::Rfc);
            table
        };
        for key in choices {
            let alternatives = keys.get(key).and_then(Value::as_object).into_iter().flatten();
            tables.extend(alternatives.map(|(name, parameters)| json!({ key: { name: parameters } })));
        }
        for table in tables.into_iter().map(as_written) {
            let tcp =
                read_tcp(&table.to_string()).unwrap_or_else(|error| panic!("{stack}: {table}: {error}"));
            varicap_units::part::Part::check(&tcp).unwrap_or_else(|fault| panic!("{stack}: {fault:?}"));
            // It says what it seems to say.
            let mut whole = serde_json::to_value(TcpConfig::default()).unwrap();
            overlay(&mut whole, &table);
            assert_eq!(tcp, read_tcp(&whole.to_string()).unwrap(), "{stack}: {table}");
        }
        read(&format!("tcp.stack = \"{stack}\"\n[flows.a]\n"), &[])
            .unwrap_or_else(|error| panic!("{stack}: {error}"));
    }
}

#[test]
fn the_standards_are_the_defaults_of_the_types() {
    assert_eq!(read_tcp(r#"{ "stack": "rfc" }"#).unwrap(), TcpConfig::default());
}

#[test]
fn without_a_name_a_connection_has_the_default_stack_everywhere() {
    let expected = named(DEFAULT_STACK);
    let scenario = resolved("[flows.a]\n[flows.b]\ntcp = { mss = \"500 B\" }\n", &[]);
    let mut plain = serde_json::to_value(read_tcp("{}").unwrap()).unwrap();
    assert_eq!(plain, expected);
    plain.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(scenario["tcp"]["stack"], json!(DEFAULT_STACK));
    assert_eq!(scenario["flows"]["a"]["tcp"], scenario["tcp"]);
    let mut of_b = scenario["flows"]["b"]["tcp"].clone();
    assert_eq!(of_b["mss"].take(), json!("500 B"));
    of_b["mss"] = scenario["tcp"]["mss"].clone();
    assert_eq!(of_b, scenario["tcp"]);
}

/// `min(snd_wnd, snd_cwnd) / 2 / t_maxseg` in 4.3BSD, `int(window() / 2)` in ns-2, at each expiry. What they do with it is
/// in tests/test_old_stacks.py.
#[test]
fn historic_stacks_halve_the_window_whether_or_not_it_was_used() {
    for stack in [Stack::BsdTahoe, Stack::BsdReno, Stack::Ns1, Stack::Ns2, Stack::Ns235] {
        assert_eq!(named(stack)["halving"], json!("offered-window"), "{stack}");
        assert_eq!(named(stack)["halve_at_each_timeout"], json!(true), "{stack}");
        assert_ne!(named(stack)["rounding"], json!("none"), "{stack}");
        assert_eq!(named(stack)["grow_when"], json!("always"), "{stack}");
    }
    assert_eq!(named(Stack::Linux)["halving"], json!("window"));
    for stack in [Stack::Linux, Stack::Rfc] {
        assert_eq!(named(stack)["halve_at_each_timeout"], json!(false), "{stack}");
        assert_eq!(named(stack)["rounding"], json!("none"), "{stack}");
    }
}

#[test]
fn what_is_written_comes_before_the_stack_wherever_it_is_written() {
    let of = |tcp: Value| (tcp["stack"].clone(), tcp["recovery"].clone(), tcp["timestamps"].clone());
    let expected = (json!("bsd-reno"), json!("newreno"), json!(false));
    assert_eq!(of(flow("stack = \"bsd-reno\"\nrecovery = \"newreno\"", "")), expected);
    assert_eq!(of(flow("stack = \"bsd-reno\"", "recovery = \"newreno\"")), expected);
    assert_eq!(of(flow("recovery = \"newreno\"", "stack = \"bsd-reno\"")), expected);
    assert_eq!(of(flow("recovery = \"sack\"", "stack = \"bsd-reno\", recovery = \"newreno\"")), expected);
    let set = [("tcp.stack", "bsd-reno"), ("flows.a.tcp.recovery", "newreno")];
    assert_eq!(of(resolved("[flows.a]", &set)["flows"]["a"]["tcp"].clone()), expected);
    let text = "[tcp]\nrecovery = \"newreno\"\n[flows.a]";
    assert_eq!(
        of(resolved(text, &[("flows.a.tcp.stack", "bsd-reno")])["flows"]["a"]["tcp"].clone()),
        expected
    );
}

#[test]
fn a_flow_of_another_stack_has_what_the_scenario_says_but_not_what_its_stack_says() {
    let tcp = flow("stack = \"linux\"\nmss = \"500 B\"\nduplicate_acks = 5", "stack = \"ns-2\"");
    let mut expected = named(Stack::Ns2);
    overlay(&mut expected, &json!({ "mss": "500 B", "duplicate_acks": 5 }));
    expected.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(tcp["timestamps"], json!(false));
    assert_eq!(tcp["timer"], expected["timer"]);
    assert_eq!(tcp["mss"], json!("500 B"));
    assert_eq!(tcp["duplicate_acks"], json!(5));
    assert_eq!(tcp["recovery"], json!("tahoe"));
}

#[test]
fn parameters_of_a_choice_hold_for_the_alternative_that_was_chosen() {
    // The stack's own choice, and another one for which it has parameters, too.
    assert_eq!(flow("stack = \"ns-2\"", "")["ack"], json!("every"));
    assert_eq!(flow("stack = \"ns-2\"", "ack = \"delayed\"")["ack"]["delayed"]["timeout"], json!("100 ms"));
    let given = flow("stack = \"ns-2\"", "ack = { delayed = { segments = 3 } }")["ack"]["delayed"].clone();
    assert_eq!((&given["segments"], &given["timeout"]), (&json!(3), &json!("100 ms")));
    // One that it knows nothing of has the defaults of its type.
    let timer = flow("stack = \"ns-2\"", "timer = \"rfc6298\"")["timer"].clone();
    assert_eq!(timer, serde_json::to_value(TcpConfig::default().timer).unwrap());
    // No stack chooses the congestion control.
    assert_eq!(flow("stack = \"ns-2\"", "")["congestion"]["reno"]["increase"], json!("per-ack"));
    assert_eq!(
        flow("stack = \"ns-2\"", "congestion = \"reno\"")["congestion"]["reno"]["increase"],
        json!("per-ack")
    );
    let own = "congestion = { reno = { increase = \"per-window\" } }";
    assert_eq!(flow("stack = \"ns-2\"", own)["congestion"]["reno"]["increase"], json!("per-window"));
    let cubic = flow("stack = \"ns-2\"", "congestion = \"cubic\"")["congestion"].clone();
    assert!(cubic.get("cubic").is_some() && cubic.get("reno").is_none(), "{cubic}");
    // A setting of the command line chooses and sets at once.
    let set = [("tcp.stack", "bsd-reno"), ("tcp.timer.ticks.minimum_ticks", "1")];
    let timer = resolved("[flows.a]", &set)["flows"]["a"]["tcp"]["timer"]["ticks"].clone();
    assert_eq!((timer["minimum_ticks"].clone(), timer["tick"].clone()), (json!(1), json!("500 ms")));
}

#[test]
fn a_stack_with_one_key_overridden_differs_in_that_key_alone() {
    let other = [
        ("recovery", json!("newreno")),
        ("recovery", json!({ "rack": { "undo": false } })),
        ("congestion", json!({ "cubic": { "beta": 0.5 } })),
        ("congestion", json!({ "cubic": { "hystart": { "plus-plus": { "limit": 4 } } } })),
        ("congestion", json!({ "reno": { "byte_counting": 7 } })),
        ("timer", json!({ "multiple": { "factor": 3.0 } })),
        ("timer", json!({ "rfc6298": { "minimum": "300 ms" } })),
        ("timer", json!({ "ticks": { "tick": "200 ms" } })),
        ("timer", json!({ "linux": { "hertz": 100 } })),
        ("ack", json!("every")),
        ("ack", json!({ "delayed": { "timeout": "77 ms" } })),
        ("ack", json!({ "delayed": { "quick": 3 } })),
        ("ack", json!({ "delayed": { "buffer_growth": "space-adjust" } })),
        ("dsack", json!(true)),
        ("dsack", json!(false)),
        ("sack_list", json!("held")),
        ("sack_list", json!("linux")),
        ("mss", json!("700 B")),
        ("header", json!("60 B")),
        ("count_options", json!(true)),
        ("count_options", json!(false)),
        ("initial_window", json!("7 packets")),
        ("initial_ssthresh", json!("9 packets")),
        ("max_window", json!("20 packets")),
        ("receive_window", json!("30 packets")),
        ("handshake", json!(true)),
        ("handshake", json!(false)),
        ("handshake_ack", json!(true)),
        ("handshake_ack", json!(false)),
        ("after_lost_syn", json!("one-segment")),
        ("after_lost_syn", json!("linux")),
        ("fin", json!(true)),
        ("fin", json!(false)),
        ("timestamps", json!(true)),
        ("timestamps", json!(false)),
        ("rtt_samples", json!("one-per-window")),
        ("rtt_samples", json!("every-ack")),
        ("limited_transmit", json!(true)),
        ("limited_transmit", json!(false)),
        ("duplicate_acks", json!(9)),
        ("after_timeout", json!("first-hole")),
        ("after_recovery", json!("ssthresh")),
        ("after_recovery", json!("flight-size")),
        ("repeat_fast_retransmit", json!(true)),
        ("repeat_fast_retransmit", json!(false)),
        ("window_inflation", json!(false)),
        ("max_burst", json!(4)),
        ("restart_after_idle", json!(true)),
        ("restart_after_idle", json!(false)),
        ("counting", json!("acks")),
        ("counting", json!({ "bytes": { "limit": 8 } })),
        ("counting", json!("segments")),
        ("grow_when", json!("window-limited")),
        ("grow_when", json!("window-used")),
        ("validation", json!("restart")),
        ("validation", json!("decay")),
        ("halving", json!("flight-size")),
        ("halving", json!("window")),
        ("halving", json!("offered-window")),
        ("halve_at_each_timeout", json!(true)),
        ("halve_at_each_timeout", json!(false)),
        ("rounding", json!("none")),
        ("rounding", json!("ssthresh")),
        ("rounding", json!("window")),
        ("tahoe_resends", json!("go-back-n")),
        ("tahoe_resends", json!("lost-segment")),
        ("grow_when", json!("always")),
        ("reduce_once", json!(true)),
        ("reduce_once", json!(false)),
        ("window_probe", json!("byte")),
        ("window_probe", json!("old-sequence")),
        ("pacing", json!({ "linux": { "avoidance": 1.1 } })),
        ("pacing_credit", json!(true)),
        ("pacing_credit", json!(false)),
        ("nagle", json!("rfc896")),
        ("ecn", json!(true)),
        ("ecn", json!(false)),
        ("ecn", json!({ "accurate": { "option": false } })),
    ];
    let keys = serde_json::to_value(TcpConfig::default()).unwrap();
    for key in keys.as_object().unwrap().keys().filter(|key| *key != "stack") {
        assert!(other.iter().any(|(tried, _)| tried == key), "another value of {key}");
    }
    for stack in Stack::ALL {
        let plain = named(*stack);
        for (key, value) in &other {
            let tcp = read_tcp(&json!({ "stack": stack, *key: value }).to_string()).unwrap();
            let tcp = serde_json::to_value(tcp).unwrap();
            let without = |table: &Value| {
                let mut table = table.clone();
                table.as_object_mut().unwrap().remove(*key);
                table
            };
            assert_eq!(without(&tcp), without(&plain), "{stack}: {key}");
            let mut expected = tcp[*key].clone();
            overlay(&mut expected, value);
            assert_eq!(tcp[*key], expected, "{stack}: {key}");
        }
    }
}

#[test]
fn a_resolved_scenario_means_the_same_again() {
    for stack in Stack::ALL {
        let text = format!(
            "tcp = {{ stack = \"{stack}\", mss = \"900 B\" }}\n[flows.a]\n[flows.b.tcp]\nstack = \"linux\"\ncongestion = \"cubic\"\n[flows.c.datagrams]\nrate = \"1 kbit/s\"\n"
        );
        let once = read(&text, &[]).unwrap();
        let again = Scenario::from_json(&once.to_json().to_string(), "again", &[]).unwrap();
        assert_eq!(once.to_json()["flows"], again.to_json()["flows"]);
        assert_eq!(once.to_json()["tcp"], again.to_json()["tcp"]);
        assert_eq!(Scenario::from_toml(&once.to_toml(), "again", &[]).unwrap().to_json(), once.to_json());
        assert!(once.to_json()["flows"]["c"].get("tcp").is_none());
    }
}

#[test]
fn a_resolved_table_stays_as_it_is_but_for_a_bare_name_that_was_put_there_since() {
    let growth = |congestion: Value| {
        let mut table = tcp_json(&read_tcp(r#"{ "stack": "ns-2" }"#).unwrap());
        table["congestion"] = congestion;
        tcp_json(&read_tcp(&table.to_string()).unwrap())["congestion"]["reno"]["increase"].clone()
    };
    // As a later version of the stack would find a parameter that had no value.
    assert_eq!(growth(json!({ "reno": {} })), json!("per-window"));
    assert_eq!(growth(json!("reno")), json!("per-ack"));
}

fn line(lines: &[Explained], key: &str) -> (String, bool, Option<String>) {
    let line = lines.iter().find(|line| line.key == key).unwrap_or_else(|| panic!("{key}"));
    (line.value.clone(), line.given, line.place.clone())
}

#[test]
fn an_explanation_names_the_stack() {
    let text = "[flows.a.tcp]\nstack = \"ns-2\"\nack = \"delayed\"\n[flows.b]\n";
    let lines = explain(&read(text, &[]).unwrap(), &[]);
    let habit = |value: &str| (value.to_owned(), false, Some("stack ns-2".to_owned()));
    let default = |value: &str| (value.to_owned(), false, None);
    assert_eq!(line(&lines, "flows.a.tcp.stack"), ("ns-2".to_owned(), true, Some("test.toml:6".to_owned())));
    assert_eq!(line(&lines, "flows.a.tcp.recovery"), habit("tahoe"));
    assert_eq!(line(&lines, "flows.a.tcp.ack"), ("delayed".to_owned(), true, Some("test.toml:7".to_owned())));
    assert_eq!(line(&lines, "flows.a.tcp.ack.delayed.timeout"), habit("100 ms"));
    assert_eq!(line(&lines, "flows.a.tcp.congestion"), default("reno"));
    assert_eq!(line(&lines, "flows.a.tcp.congestion.reno.increase"), habit("per-ack"));
    assert_eq!(line(&lines, "flows.a.tcp.mss"), default("1460 B"));
    assert_eq!(line(&lines, "flows.b.tcp.stack"), default(DEFAULT_STACK.name()));
}

#[test]
fn an_unknown_stack_is_an_error_that_knows_what_was_meant() {
    let error = read("[flows.a]\ntcp = { stack = \"linx\" }\n", &[]).unwrap_err();
    assert_eq!((error.key.as_str(), error.line.map(u32::from)), ("flows.a.tcp.stack", Some(6)));
    assert!(error.expected.contains("`bsd-tahoe`") && error.expected.contains("`ns-2`"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("did you mean `linux`?"));
    let error = read("[flows.a]", &[("tcp.stack", "ns2")]).unwrap_err();
    assert!(error.file.starts_with("--set tcp.stack=ns2") && error.hint.unwrap().contains("ns-2"));
}

#[test]
fn a_habit_that_does_not_go_with_what_is_written_is_said_to_come_from_the_stack() {
    let text = "[tcp]\nstack = \"linux\"\ntimer = { rfc6298 = { initial = \"0.1 s\", maximum = \"0.1 s\" } }\n[flows.a]\n[flows.b]\n";
    let error = read(text, &[]).unwrap_err();
    assert_eq!((error.key.as_str(), error.line.map(u32::from)), ("tcp.timer.rfc6298.minimum", Some(7)));
    let hint = error.hint.clone().unwrap();
    assert!(hint.contains("comes from stack linux") && error.found.as_deref() == Some("200 ms"), "{error}");
    // Once, however many flows have it.
    let found = mistakes(text, &[]);
    assert_eq!(found.errors.len(), 1, "{found}");
}

#[test]
fn a_wrong_stack_is_one_mistake_among_others() {
    let text = "[tcp]\nstack = \"linx\"\nmss = \"big\"\n[flows.a]\ncount = 0\n[flows.b]\n";
    let found = mistakes(text, &[]);
    let keys: Vec<&str> = found.errors.iter().map(|error| error.key.rsplit('.').next().unwrap()).collect();
    assert_eq!(keys, ["stack", "mss", "count"], "{found}");
}

#[test]
fn a_setting_that_all_flows_inherit_is_one_mistake() {
    let found = mistakes("[flows.a]\n[flows.b]\n", &[("tcp.stack", "linx"), ("tcp.mss", "big")]);
    let keys: Vec<&str> = found.errors.iter().map(|error| error.key.rsplit('.').next().unwrap()).collect();
    assert_eq!(keys, ["stack", "mss"], "{found}");
}

#[test]
fn flows_of_datagrams_have_no_stack() {
    let scenario = resolved("tcp.stack = \"linux\"\n[flows.a.datagrams]\nrate = \"1 kbit/s\"\n", &[]);
    assert!(scenario["flows"]["a"].get("tcp").is_none());
}

#[test]
fn the_schema_names_the_default_stack_and_no_default_that_a_stack_may_change() {
    let keys = &varicap_experiment::schema()["$defs"]["TcpConfig"]["properties"];
    let text = keys["stack"]["description"].as_str().unwrap();
    assert!(text.ends_with(&format!("Default: {DEFAULT_STACK}.")), "{text}");
    assert!(keys.as_object().unwrap().values().all(|key| key.get("default").is_none()));
}

#[test]
fn ecn_is_a_truth_value_a_name_or_a_table() {
    let ecn = |value: Value| match read_tcp(&json!({ "ecn": value }).to_string()) {
        Ok(tcp) => Ok((tcp.ecn, serde_json::to_value(tcp.ecn).unwrap())),
        Err(error) => Err(error.to_string()),
    };
    let accurate = |option| EcnMode::Accurate(AccurateEcn { option, as_linux: false });
    assert_eq!(ecn(json!(false)), Ok((EcnMode::Off, json!(false))));
    assert_eq!(ecn(json!("none")), Ok((EcnMode::Off, json!(false))));
    assert_eq!(ecn(json!(true)), Ok((EcnMode::Classic, json!(true))));
    assert_eq!(ecn(json!("classic")), Ok((EcnMode::Classic, json!(true))));
    let written = |option| json!({ "accurate": { "option": option, "as_linux": false } });
    assert_eq!(ecn(json!("accurate")), Ok((accurate(true), written(true))));
    assert_eq!(ecn(json!({ "accurate": { "option": false } })), Ok((accurate(false), written(false))));
    let as_linux = EcnMode::Accurate(AccurateEcn { option: true, as_linux: true });
    assert_eq!(ecn(json!({ "accurate": { "as_linux": true } })).map(|(mode, _)| mode), Ok(as_linux));
    for (wrong, expected) in [
        (json!("precise"), "accurate"),
        (json!(3), "accurate"),
        (json!({ "accurate": { "options": true } }), "option"),
        (json!({ "accurate": { "option": 3 } }), "option"),
    ] {
        let error = ecn(wrong.clone()).unwrap_err();
        eprintln!("{error}");
        assert!(error.contains("tcp.ecn") && error.contains(expected), "{wrong}: {error}");
    }
}
