//! Files from strangers: any bytes, and valid files with something changed, give a scenario or an error, never a panic.

use proptest::prelude::*;
use varicap_experiment::{Estimate, Scenario, explain};

const FILES: [&str; 6] = [
    include_str!("../../../examples/fixed.toml"),
    include_str!("../../../examples/lte.toml"),
    r#"
    duration = "10 s"
    [topology.graph.links]
    ab = { from = "a", to = "b", capacity = { steps = { at = ["0 s"], rates = ["1 Mb/s"] } }, delay = "20 ms" }
    bc = { from = "b", to = "c", capacity = { sessions = { capacity = "1 Mb/s", arrivals = "1 /s", mean_size = "1 kB", at_most = 5 } }, queue = { red = { gentle = true } } }
    ca = { from = "c", to = "a", capacity = { slotted-markov = { rates = ["1 Mb/s", "2 Mb/s"], step = "1 s", transitions = [[0.5, 0.5], [0.5, 0.5]] } }, delay = "1 s", loss = { gilbert-elliott = { to_bad = 0.1, to_good = "50 %" } } }
    [flows.a]
    from = "a"
    to = "b"
    app = { arrivals = { rate = "2 /s", size = { pareto = { mean = "1 MB", shape = 1.5 } } } }
    [flows.b]
    from = "b"
    to = "a"
    count = 3
    datagrams = { rate = "1 kbit/s", spacing = "poisson" }
    [record]
    series = true
    "#,
    r#"
    duration = "10 s"
    [topology.dumbbell.forward]
    delay = "20 ms"
    queue = "red"
    [topology.dumbbell.forward.capacity.load-reactive]
    minimum = "20 kb/s"
    residual = { steps = { at = ["0 s", "1 s"], rates = ["1 Mb/s", "2 Mb/s"] } }
    occupancy = { smoothed = { weight = 0.2 } }
    buffer = "1 s"
    [topology.dumbbell.forward.capacity.load-reactive.control.hysteresis]
    low = "2 packets"
    high = "6 packets"
    also = { low = "1 kB", high = "2 kB" }
    increment = { proportional = { share = 0.5, least = "1 kb/s" } }
    [topology.dumbbell.reverse]
    capacity = { load-reactive = { minimum = "0 b/s", control = { pi = { target = "2 packets" } } } }
    queue = { drop-tail = { limit = "20 packets" } }
    [flows.a]
    "#,
    r#"
    duration = "10 s"
    [topology.dumbbell.forward]
    capacity = "1 Mb/s"
    framing = { cells = { payload = "48 B", size = "53 B" } }
    queue = { drop-tail = { limit = "4608 B", counts_in_service = false } }
    loss = { rayleigh = { doppler = "10 Hz", threshold_db = -10, delivered = 0.99, oscillators = 8 } }
    arq = { slot = "0.5 ms", aligned = false, window = 4, ack_delay = "1 ms", max_retransmissions = 3 }
    [topology.dumbbell.reverse]
    loss = { states = { delivered = [0, 0.5, 1], mean_holding = ["1 ms", "2 ms", "9 ms"], jumps = [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]], start = 1 } }
    [flows.a]
    tcp = { mss = "536 B" }
    "#,
    r#"
    duration = "10 s"
    [topology.chain]
    forward = [{ name = "x", capacity = "1 Mb/s", delay = "10 ms" }, { name = "y", capacity = "2 Mb/s", delay = "10 ms" }]
    [flows.a]
    to = "n1"
    tcp = { congestion = { ratcp = { beta = "4 packets", rtt = { known = "40 ms" }, pacing = true } } }
    feedback = { links = ["x"], estimator = { instantaneous = { interval = "30 ms" } }, delay = "1 s", quantum = "1 kb/s", loss = "1 %", expires = "1 s" }
    [flows.c]
    to = "n1"
    feedback = { cap = true, estimator = { policy = { rate = "1 Mb/s" } }, scone = { update = "1 s", spread = "1 s", period = "4 s", lowest = "50 kb/s", steps = 40 } }
    [flows.b]
    from = "n1"
    app = { relay = { of = "a" } }
    "#,
];

/// Words that files are likely to contain in the wrong place.
const WORDS: [&str; 24] = [
    "\"50 ms\"",
    "0",
    "-1",
    "1e308",
    "nan",
    "[]",
    "{}",
    "\"\"",
    "\"unlimited\"",
    "\"1 bdp\"",
    "\"0 b/s\"",
    "[[",
    "]]",
    "=",
    "\n",
    "99999999999999999999",
    "\"18446744073709551615 B\"",
    "\"1e18 s\"",
    "1979-05-27",
    "true",
    "\"a.b\"",
    "{ red = {} }",
    "\"drop-tail\"",
    "\u{fffd}",
];

/// Everything that is done with a scenario before it runs.
fn use_it(text: &str, settings: &[(String, String)]) {
    let Ok(scenario) = Scenario::from_toml(text, "any.toml", settings) else { return };
    let again =
        Scenario::from_toml(&scenario.to_toml(), "again.toml", &[]).expect("what was read can be written");
    assert_eq!(again, scenario);
    let mut no_files = |_: &str| Err("no files".to_owned());
    if let Ok(networks) = scenario.networks(&mut no_files) {
        let lines = explain(&scenario, &networks);
        assert!(lines.len() > 20);
        let estimate = Estimate::of(&scenario, &networks);
        assert!(estimate.events >= 0.0 && estimate.memory_bytes > 0.0, "{estimate:?}");
    }
}

/// Where a file may be cut: at the ends of words.
fn cuts(text: &str) -> Vec<usize> {
    let ends = text.char_indices().filter(|(_, c)| !c.is_alphanumeric() && *c != '_').map(|(at, _)| at);
    ends.chain([text.len()]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let text = String::from_utf8_lossy(&bytes);
        use_it(&text, &[]);
        let _ = Scenario::from_json(&text, "any.json", &[]);
    }

    #[test]
    fn changed_files_are_read_or_refused(
        file in 0..FILES.len(),
        from in any::<prop::sample::Index>(),
        length in 0usize..3,
        word in 0..WORDS.len(),
    ) {
        let text = FILES[file];
        let cuts = cuts(text);
        let first = from.index(cuts.len());
        let last = (first + length).min(cuts.len() - 1);
        let changed = format!("{}{}{}", &text[..cuts[first]], WORDS[word], &text[cuts[last]..]);
        use_it(&changed, &[]);
    }

    #[test]
    fn changed_values_are_read_or_refused(
        file in 0..FILES.len(),
        key in any::<prop::sample::Index>(),
        word in 0..WORDS.len(),
    ) {
        let scenario = Scenario::from_toml(FILES[file], "good.toml", &[]).expect("the files are good");
        let keys: Vec<String> = explain(&scenario, &[]).into_iter().map(|line| line.key).collect();
        let key = keys[key.index(keys.len())].clone();
        use_it(FILES[file], &[(key, WORDS[word].to_owned())]);
    }

    #[test]
    fn any_setting_is_taken_or_refused(path in "[a-z._\"0-9]{0,40}", value in "\\PC{0,20}") {
        use_it(FILES[0], &[(path, value)]);
    }
}

#[test]
fn deep_nesting_and_long_files_are_refused() {
    let refused = |text: &str| Scenario::from_toml(text, "deep.toml", &[]).unwrap_err().to_string();
    assert!(refused(&format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000))).contains("deep.toml:1"));
    assert!(refused(&format!("{}a = 1", "a.".repeat(100_000))).contains("deep.toml:1"));
    assert!(
        refused(&format!("a = {}1{}", "[".repeat(50), "]".repeat(50))).contains("nested at most 32 deep")
    );
    assert!(
        refused(&" ".repeat(10_000_001)).contains("found `10000001 bytes`, expected at most 10000000 bytes")
    );
    let json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Scenario::from_json(&json, "deep.json", &[]).is_err());
}
