//! All mistakes of a file are reported at once, and none that only follows from another.

use varicap_experiment::{Format, Mistakes, Written};

/// The mistakes of a text under settings.
fn mistakes(text: &str, format: Format, settings: &[(&str, &str)]) -> Mistakes {
    let settings: Vec<_> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let written = Written { text, format, file: "x.toml", settings: &settings, option: "--set" };
    let mut none = |_: &str| Err("No such file or directory".to_owned());
    let first = match written.read() {
        Err(error) => error,
        Ok(scenario) => scenario.networks(&mut none).expect_err("something is wrong"),
    };
    written.mistakes(first, &mut none)
}

/// Line, key and wrong part of each mistake.
fn places(found: &Mistakes) -> Vec<(u32, String, String)> {
    let place = |error: &varicap_experiment::ScenarioError| {
        let wrong = error.excerpt.as_ref().map_or_else(String::new, |excerpt| {
            excerpt.text.chars().skip(excerpt.start).take(excerpt.length).collect()
        });
        (error.line.map_or(0, u32::from), error.key.clone(), wrong)
    };
    found.errors.iter().map(place).collect()
}

fn check(text: &str, expected: &[(u32, &str, &str)]) {
    let found = places(&mistakes(text, Format::Toml, &[]));
    let found: Vec<_> =
        found.iter().map(|(line, key, wrong)| (*line, key.as_str(), wrong.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn unknown_keys_wrong_types_and_values_out_of_range_are_all_found() {
    check(
        r#"duration = 60
seeds = 0
[topology.dumbbell.forward]
capacty = "0.8 Mbit/s"
delay = "50"
queue = { red = { min_threshold = "20 packets", nonsense = 1 } }
[flows.a]
application = { arrivals = { rate = "2 /s", size = "100" } }
count = -1
[flows.b.tcp]
mss = "0 B"
recovery = "sacks"
"#,
        &[
            (1, "duration", "60"),
            (2, "seeds", "0"),
            (4, "topology.dumbbell.forward.capacty", "capacty"),
            (5, "topology.dumbbell.forward.delay", "\"50\""),
            (6, "topology.dumbbell.forward.queue.red.min_threshold", "\"20 packets\""),
            (6, "topology.dumbbell.forward.queue.red.nonsense", "nonsense"),
            (8, "flows.a.application", "application"),
            (8, "flows.a.app.arrivals.size", "\"100\""),
            (9, "flows.a.count", "-1"),
            (11, "flows.b.tcp.mss", "\"0 B\""),
            (12, "flows.b.tcp.recovery", "\"sacks\""),
        ],
    );
}

#[test]
fn what_follows_from_a_mistake_is_not_reported() {
    // Neither a missing key whose misspelt name is there, nor what compares itself with a value that is wrong.
    check(
        "duraton = \"5 s\"\n[topology.dumbbell.forward]\ndelay = \"1 ms\"\n[flows.a]\nstart = \"6 s\"\n",
        &[(1, "duraton", "duraton"), (5, "flows.a.start", "\"6 s\"")],
    );
    check(
        "duration = \"0 s\"\nwarmup = \"2 s\"\n[topology.dumbbell.forward]\ndelay = \"1 ms\"\n[flows.a]\nstart = \"6 s\"\n",
        &[(1, "duration", "\"0 s\"")],
    );
    check(
        "duration = \"5 s\"\n[topology]\nring = {}\n[flows.a]\nvia = [\"ab\"]\n",
        &[(3, "topology", "ring")],
    );
    // A default that all flows inherit is wrong once.
    check(
        "duration = \"5 s\"\n[tcp]\nmss = 5\n[topology.dumbbell.forward]\ndelay = \"1 ms\"\n[flows.a]\n[flows.b]\n",
        &[(3, "tcp.mss", "5")],
    );
    check(
        "duration = \"5 s\"\n[topology.graph.links]\nab = { from = \"a\", to = 5 }\nba = { from = \"b\", to = \"a\" }\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n",
        &[(3, "topology.graph.links.ab.to", "5")],
    );
}

#[test]
fn what_a_link_lacks_because_of_its_mistake_is_none_of_its_users() {
    for (capacity, delay, wrong) in [
        ("{ trace = { file = \"none.csv\" } }", "\"20 ms\"", "capacity.trace.file"),
        ("\"10 Mbti/s\"", "\"20 ms\"", "capacity"),
        (
            "{ steps = { at = [\"0 s\"], rates = [\"1 Mb/s\", \"2 Mb/s\"] } }",
            "\"20 ms\"",
            "capacity.steps.at",
        ),
        ("\"1 Mb/s\"", "{ trace = { file = \"none.csv\" } }", "delay.trace.file"),
        ("\"1 Mb/s\"", "\"20 Mb/s\"", "delay"),
    ] {
        let text = format!(
            "duration = \"60 s\"\n\
             [topology.dumbbell.forward]\n\
             capacity = {capacity}\n\
             delay = {delay}\n\
             queue = {{ drop-tail = {{ limit = \"1 bdp\" }} }}\n\
             [flows.a]\n\
             app = {{ video = {{ heed = true }} }}\n\
             feedback = {{ scone = {{}}, cap = true }}\n"
        );
        let found = mistakes(&text, Format::Toml, &[]);
        let keys: Vec<_> = found.errors.iter().map(|error| error.key.as_str()).collect();
        assert_eq!(keys, [format!("topology.dumbbell.forward.{wrong}")], "{found}");
    }
}

#[test]
fn a_wrong_capacity_hides_no_amount_of_another_link() {
    let text = "duration = \"60 s\"\n\
                [topology.dumbbell.forward]\n\
                capacity = \"10 Mbti/s\"\n\
                delay = \"20 ms\"\n\
                [topology.dumbbell.reverse]\n\
                queue = { drop-tail = { limit = \"1 bdp\" } }\n\
                [flows.a]\n";
    let found = mistakes(text, Format::Toml, &[]);
    let keys: Vec<_> = found.errors.iter().map(|error| error.key.as_str()).collect();
    let reverse = "topology.dumbbell.reverse.queue.drop-tail.limit";
    assert_eq!(keys, ["topology.dumbbell.forward.capacity", reverse], "{found}");
}

#[test]
fn a_key_that_a_sentence_happens_to_contain_hides_no_mistake() {
    // Neither a flow called `the`, nor one called like the key that is compared, is what `warmup` is compared with.
    for name in ["the", "duration", "less"] {
        check(
            &format!(
                "duration = \"5 s\"\nwarmup = \"9 s\"\n[topology.dumbbell.forward]\n[flows]\n{name} = 5\n[flows.b]\n"
            ),
            &[(2, "warmup", "\"9 s\""), (5, &format!("flows.{name}"), "5")],
        );
    }
    // The other value of a comparison is named in quotes, so that it is recognised.
    check(
        "duration = \"5 s\"\n[topology.dumbbell.forward]\n[flows.a]\nstart = 3\nstop = \"0 s\"\n",
        &[(4, "flows.a.start", "3")],
    );
}

#[test]
fn keys_that_are_missing_are_all_named() {
    let found = mistakes("[flows.a]\ncount = 0\n", Format::Toml, &[]);
    let keys: Vec<_> = found.errors.iter().map(|error| error.key.as_str()).collect();
    // Whether a flow fits is asked once there is a topology.
    assert_eq!(keys, ["duration", "topology"]);
}

#[test]
fn every_trace_that_is_missing_is_named() {
    let link = |name: &str| format!("{{ capacity = {{ opportunities = {{ file = \"{name}\" }} }} }}");
    let text = format!(
        "duration = \"5 s\"\n[topology.chain]\nforward = [\n{},\n{}\n]\n[flows.a]\n",
        link("one.down"),
        link("two.down")
    );
    let found = places(&mistakes(&text, Format::Toml, &[]));
    let wrong: Vec<_> = found.iter().map(|(_, _, wrong)| wrong.as_str()).collect();
    assert_eq!(wrong, ["\"one.down\"", "\"two.down\""]);
}

#[test]
fn traces_are_read_whatever_else_is_wrong() {
    check(
        "duration = \"5 s\"\nseeds = 0\n[topology.dumbbell.forward]\ndelay = 5\n\
         capacity = { trace = { file = \"none.csv\" } }\n\
         [topology.dumbbell.reverse]\ncapacity = { opportunities = { file = \"nor.down\" } }\n\
         [flows.a]\n",
        &[
            (2, "seeds", "0"),
            (4, "topology.dumbbell.forward.delay", "5"),
            (5, "topology.dumbbell.forward.capacity.trace.file", "\"none.csv\""),
            (7, "topology.dumbbell.reverse.capacity.opportunities.file", "\"nor.down\""),
        ],
    );
}

#[test]
fn traces_that_were_not_read_any_more_are_not_counted_as_good() {
    let links: String =
        (0..30).map(|i| format!("{{ capacity = {{ trace = {{ file = \"{i}\" }} }} }},\n")).collect();
    let text = format!("duration = \"5 s\"\nseeds = 0\n[topology.chain]\nforward = [\n{links}]\n[flows.a]\n");
    let found = mistakes(&text, Format::Toml, &[]);
    assert_eq!((found.errors.len(), found.more, found.is_cut), (20, 2, true));
    // All that there are have been read.
    let text = text.replace("seeds = 0", "seeds = 1");
    let found = mistakes(&text, Format::Toml, &[]);
    assert_eq!((found.errors.len(), found.more, found.is_cut), (20, 10, false));
}

#[test]
fn several_errors_of_syntax_are_reported() {
    let found = mistakes("duration = 5 s\n[flows.a\ncount = 1\nseeds = = 2\n", Format::Toml, &[]);
    // The parser's trouble with the rest of a line is no mistake of its own.
    let lines: Vec<_> = found.errors.iter().map(|error| error.line.map_or(0, u32::from)).collect();
    assert_eq!((lines, found.more, found.is_cut), (vec![1, 2, 4], 0, false));
    assert!(
        found.errors.iter().all(|error| error.expected.starts_with("valid TOML") && error.file == "x.toml")
    );
}

#[test]
fn errors_of_syntax_are_counted_beyond_the_limit() {
    let found = mistakes(&"x = = 1\n".repeat(51), Format::Toml, &[]);
    assert_eq!((found.errors.len(), found.more), (20, 31));
    assert_eq!(found.errors[19].line.map(u32::from), Some(20));
}

#[test]
fn a_long_line_full_of_errors_takes_no_time_for_each() {
    // To say where each of them is would take minutes: the line before it is counted each time.
    let found = mistakes(&format!("x = [{}]\n", "1.2.3, ".repeat(100_000)), Format::Toml, &[]);
    assert_eq!((found.errors.len(), found.more), (1, 0));
}

#[test]
fn a_guessed_name_makes_no_mistakes_of_its_own() {
    check(
        "duration = \"5 s\"\n[topology.dumbbell.forward]\n[flows.a]\nstar = \"blue\"\n",
        &[(4, "flows.a.star", "star")],
    );
    // But a word that means a key is this key.
    check(
        "duration = \"5 s\"\n[topology.dumbbell.forward]\nbandwidth = 5\n[flows.a]\n",
        &[
            (3, "topology.dumbbell.forward.bandwidth", "bandwidth"),
            (3, "topology.dumbbell.forward.capacity", "5"),
        ],
    );
}

#[test]
fn what_cannot_be_mended_is_all_that_was_found() {
    let found = mistakes("[1, 2]", Format::Json, &[]);
    assert_eq!((found.errors.len(), found.more, found.is_cut), (1, 0, false));
    assert!(!found.to_string().contains("perhaps"), "{found}");
}

#[test]
fn there_is_a_limit() {
    let keys: String = (0..51).map(|i| format!("nonsense_{i} = 1\n")).collect();
    let text = format!("duration = \"5 s\"\n[topology.dumbbell.forward]\n[flows.a]\n{keys}");
    let found = mistakes(&text, Format::Toml, &[]);
    assert_eq!((found.errors.len(), found.more), (20, 31));
    assert_eq!(found.errors[19].line.map(u32::from), Some(23));
}

#[test]
fn settings_are_quoted_with_the_wrong_part_marked() {
    let text = "duration = \"5 s\"\n[topology.dumbbell.forward]\n[flows.a]\n";
    let settings = [
        ("flows.a.cont", "2"),
        ("flows.a.tcp.timer.rfc6289.minimum", "1 s"),
        ("duration", "5"),
        ("topology.dumbbell.forward.queue", "{ red = { min_threshold = \"20 packets\" } }"),
    ];
    let found = places(&mistakes(text, Format::Toml, &settings));
    let expected = [
        (0, "flows.a.cont", "flows.a.cont"),
        // The absence of the other half of a setting is nobody's mistake.
        (0, "flows.a.tcp.timer.rfc6289", "flows.a.tcp.timer.rfc6289.minimum"),
        (0, "duration", "5"),
        (0, "topology.dumbbell.forward.queue.red.min_threshold", "\"20 packets\""),
    ];
    assert_eq!(found, expected.map(|(line, key, wrong)| (line, key.to_owned(), wrong.to_owned())));
}

#[test]
fn a_json_file_has_lines_and_columns_too() {
    let text = "{\n  \"duration\": \"5 s\",\n  \"topology\": {\"dumbbell\": {\"forward\": {\"delay\": 5}}},\n  \"flows\": {\"a\": {\"cont\": 1, \"count\": 0}}\n}";
    let found = places(&mistakes(text, Format::Json, &[]));
    let expected = [
        (3, "topology.dumbbell.forward.delay", "5"),
        (4, "flows.a.cont", "\"cont\""),
        (4, "flows.a.count", "0"),
    ];
    assert_eq!(found, expected.map(|(line, key, wrong)| (line, key.to_owned(), wrong.to_owned())));
    let syntax = mistakes("{\n  \"duration\": 5 s\n}", Format::Json, &[]);
    assert_eq!(syntax.errors[0].to_string(), "x.toml:2: expected valid JSON: expected `,` or `}`");
    assert_eq!(places(&syntax)[0].2, "s");
}

#[test]
fn hints_say_what_to_write() {
    let head = "duration = \"5 s\"\n[topology.dumbbell.forward]\n[flows.a]\n";
    for (line, hint) in [
        ("application = \"greedy\"", "did you mean `app`?"),
        ("extra_delay = \"5 ms\"", "did you mean `access_delay`?"),
        ("cc = \"cubic\"", "did you mean `tcp.congestion`?"),
        ("mss = \"500 B\"", "did you mean `tcp.mss`?"),
        ("count = -2", "it is negative"),
        ("access_delay = \"-5 ms\"", "it is negative"),
        ("tcp = { congestion = \"htcp\" }", "`htcp` is in the kernel engine only"),
        ("app = { arrivals = { rate = \"1 /s\", size = 5 } }", "such as { fixed = \"64 kB\" }"),
        ("app = { arrivals = { rate = \"1 /s\", size = \"100 kB\" } }", "such as { fixed = \"100 kB\" }"),
        ("datagrams = \"1 Mb/s\"", "such as { rate = \"0.8 Mbit/s\" }"),
    ] {
        let found = mistakes(&format!("{head}{line}\n"), Format::Toml, &[]);
        let said = found.errors[0].hint.as_deref().unwrap_or("nothing");
        assert!(said.starts_with(hint), "{line}: {said}");
    }
}
