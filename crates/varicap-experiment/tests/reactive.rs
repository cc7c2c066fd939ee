//! Mistakes in load-reactive capacities, and what is sane although it looks odd.

use varicap_experiment::Scenario;

fn message(capacity: &str) -> Option<String> {
    let text = format!(
        "duration = \"60 s\"\n[topology.dumbbell.forward]\nqueue = \"red\"\ncapacity = {{ load-reactive = {{ {capacity} }} }}\n[flows.a]\n"
    );
    let scenario = Scenario::from_toml(&text, "x.toml", &[]).map_err(|error| error.to_string());
    let resolved = scenario.and_then(|scenario| {
        let networks = scenario.networks(&mut |_| Err("No such file".to_owned()));
        networks.map_err(|error| error.to_string())
    });
    resolved.err()
}

#[test]
fn mistakes_name_the_key_and_what_was_expected() {
    let mut wrong = String::new();
    for (capacity, expected) in [
        (
            "",
            "capacity.load-reactive.minimum: expected a rate with its unit, such as \"0.8 Mbit/s\"; it is missing",
        ),
        ("minimum = \"200 Mb/s\"", "minimum: found `200 Mbit/s`, expected at most `residual`, 100 Mbit/s"),
        ("minimum = \"unlimited\"", "minimum: found `unlimited`, expected a rate"),
        (
            "minimum = \"1 kb/s\", initial = \"0 b/s\"",
            "initial: found `0 bit/s`, expected at least `minimum`, 1 kbit/s",
        ),
        (
            "minimum = \"1 kb/s\", initial = \"1 Gb/s\"",
            "initial: found `1 Gbit/s`, expected at most `residual`, 100 Mbit/s",
        ),
        ("minimum = \"0 b/s\", interval = \"0 s\"", "interval: found `0 s`, expected at least 1 us"),
        ("minimum = \"0 b/s\", buffer = \"0 s\"", "buffer: found `0 s`, expected more than 0 s"),
        (
            "minimum = \"0 b/s\", residual = { load-reactive = { minimum = \"0 b/s\" } }",
            "residual: found `load-reactive`, expected `constant`, `steps`, `trace`, `markov`",
        ),
        (
            "minimum = \"0 b/s\", residual = { markov = { rates = [\"1 Mb/s\"], mean_holding = [] } }",
            "residual.markov",
        ),
        (
            "minimum = \"0 b/s\", residual = { trace = { file = \"gone.csv\" } }",
            "residual.trace.file: found `gone.csv`, expected a file that can be read",
        ),
        (
            "minimum = \"0 b/s\", occupancy = { smoothed = { weight = 0 } }",
            "occupancy.smoothed.weight: found `0`, expected above 0",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { low = \"6 kB\", high = \"2 kB\" } }",
            "hysteresis.low: found `6 kB`, expected at most `high`, 2 kB",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { low = \"2 packets\", high = \"6 kB\" } }",
            "hysteresis.low: found `2 packets`, expected in the unit of `high`, 6 kB",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { low = \"1 bdp\", high = \"2 bdp\" } }",
            "hysteresis.low: found `1 bdp`, expected an amount in bytes or packets",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { also = { low = \"9 packets\", high = \"1 packets\" } } }",
            "hysteresis.also.low: found `9 packets`, expected at most `high`, 1 packets",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { increment = \"0 kb/s\" } }",
            "hysteresis.increment: found `0 bit/s`, expected a rate above 0: without a step the capacity never moves",
        ),
        (
            "minimum = \"0 b/s\", control = { hysteresis = { decrement = { proportional = { share = 0, least = \"0 b/s\" } } } }",
            "hysteresis.decrement.proportional.share: found `0`, expected above 0 where `least` is 0",
        ),
        (
            "minimum = \"0 b/s\", control = { moving-average = { weight = 0 } }",
            "moving-average.weight: found `0`, expected above 0",
        ),
        (
            "minimum = \"0 b/s\", control = { pi = { proportional = -1 } }",
            "pi.proportional: found `-1`, expected 0 to 1e9",
        ),
        (
            "minimum = \"0 b/s\", control = { pi = { proportional = 0, integral = 0 } }",
            "pi.integral: found `0`, expected above 0 where `proportional` is 0",
        ),
        (
            "minimum = \"0 b/s\", control = { target-delay = { target = \"0 s\" } }",
            "target-delay.target: found `0 s`, expected more than 0 s",
        ),
        (
            "minimum = \"0 b/s\", control = \"fuzzy\"",
            "control: found `\"fuzzy\"`, expected `hysteresis`, `moving-average`, `pi`, `target-delay` or `custom`",
        ),
    ] {
        let found = message(capacity).unwrap_or_else(|| panic!("no mistake in {capacity}"));
        if !found.starts_with("x.toml:4: topology.dumbbell.forward.capacity") || !found.contains(expected) {
            wrong.push_str(&format!("\n{capacity}\n   gives    {found}\n   expected {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_looks_odd_is_sane() {
    for capacity in [
        // Nothing until there is load; both thresholds the same, or none; exactly what there is.
        "minimum = \"0 b/s\"",
        "minimum = \"0 b/s\", control = { hysteresis = { low = \"1 kB\", high = \"1 kB\" } }",
        "minimum = \"0 b/s\", control = { hysteresis = { low = \"0 B\", high = \"0 B\" } }",
        "minimum = \"100 Mb/s\"",
        // A residual that falls below the minimum is what pre-emption is for.
        "minimum = \"1 Mb/s\", residual = { steps = { at = [\"0 s\", \"1 s\"], rates = [\"2 Mb/s\", \"0 b/s\"] } }",
        "minimum = \"1 Mb/s\", residual = \"unlimited\", control = \"pi\"",
    ] {
        assert_eq!(message(capacity), None, "{capacity}");
    }
}

#[test]
fn the_links_of_a_pool_share_one_capacity() {
    let message = |one: &str, two: &str| {
        let link = |capacity: &str, from: &str, to: &str| {
            format!(
                "{{ from = \"{from}\", to = \"{to}\", queue = \"red\", capacity = {{ load-reactive = {{ pool = \"p\", {capacity} }} }} }}"
            )
        };
        let (one, two) = (link(one, "a", "b"), link(two, "b", "c"));
        let text = format!(
            "duration = \"60 s\"\n[topology.graph.links]\none = {one}\ntwo = {two}\nback = {{ from = \"c\", to = \"a\" }}\n[flows.a]\nfrom = \"a\"\nto = \"c\"\n"
        );
        Scenario::from_toml(&text, "x.toml", &[]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let good = "minimum = \"1 Mb/s\", residual = \"3 Mb/s\"";
    assert_eq!(message(good, good), "");
    for (other, expected) in [
        ("minimum = \"1 Mb/s\", residual = \"4 Mb/s\"", "two.capacity.load-reactive.residual"),
        (
            "minimum = \"1 Mb/s\", residual = \"3 Mb/s\", interval = \"1 s\"",
            "two.capacity.load-reactive.interval",
        ),
        ("minimum = \"2.5 Mb/s\", residual = \"3 Mb/s\"", "at most 3 Mbit/s together"),
        (
            "minimum = \"0 b/s\", residual = { markov = { rates = [\"1 Mb/s\"], mean_holding = [\"1 s\"] } }",
            "a rate, steps or a trace",
        ),
    ] {
        let found = message(good, other);
        assert!(found.contains(expected), "{other} gives {found}");
    }
}

#[test]
fn outages_of_handovers_need_pre_emption_and_the_same_table_throughout_a_pool() {
    let message = |capacity: &str, one: &str, two: &str| {
        let capacity =
            format!("{{ load-reactive = {{ minimum = \"1 Mb/s\", residual = \"3 Mb/s\", {capacity} }} }}");
        let link = |handover: &str| format!("{handover}capacity = {capacity}, queue = \"red\" }}");
        let text = format!(
            "duration = \"60 s\"\n[topology.graph.links]\none = {{ from = \"a\", to = \"b\", {}\ntwo = {{ from = \"b\", to = \"c\", {}\nback = {{ from = \"c\", to = \"a\" }}\n[flows.a]\nfrom = \"a\"\nto = \"c\"\n",
            link(one),
            link(two)
        );
        Scenario::from_toml(&text, "x.toml", &[]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let outage = "handover = { period = \"1 s\", outage = \"50 ms\" }, ";
    let shift = "handover = { period = \"1 s\", delay_spread = \"5 ms\" }, ";
    assert_eq!(message("pool = \"p\"", outage, outage), "");
    assert_eq!(message("pre_emption = false", shift, shift), "");
    let found = message("pre_emption = false", outage, outage);
    assert!(found.contains("one.handover.outage") && found.contains("`pre_emption`"), "{found}");
    let found = message("pool = \"p\"", outage, shift);
    assert!(
        found.contains("two.handover") && found.contains("as on the first link of the pool `p`"),
        "{found}"
    );
}
