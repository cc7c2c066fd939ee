//! The exact text of every kind of mistake: file, line, key, what was found, what was expected.

use varicap_experiment::Scenario;

const GOOD: &str = r#"duration = "60 s"
[topology.dumbbell.forward]
capacity = "0.8 Mbit/s"
delay = "50 ms"
queue = { drop-tail = { limit = "10 packets" } }
[flows.reno]
count = 1
[flows.reno.tcp]
recovery = "sack"
"#;

/// The message for `GOOD` with `line` (of each pair) in place of the line that begins with the same word.
fn message(text: &str, settings: &[(&str, &str)]) -> String {
    let settings: Vec<_> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let scenario = match Scenario::from_toml(text, "x.toml", &settings) {
        Ok(scenario) => scenario,
        Err(error) => return error.to_string(),
    };
    match scenario.networks(&mut |_| Err("No such file or directory".to_owned())) {
        Ok(_) => panic!("no mistake in {text}\n{settings:?}"),
        Err(error) => error.to_string(),
    }
}

fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = String::new();
    for (old, new, expected) in cases {
        assert!(GOOD.contains(old), "{old} is not in the good file");
        let found = message(&GOOD.replace(old, new), &[]);
        if found != *expected {
            wrong.push_str(&format!("\n{new}\n   gives    {found}\n   expected {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn wrong_values_say_what_was_expected() {
    check(&[
        (
            "delay = \"50 ms\"",
            "delay = 50",
            "x.toml:4: topology.dumbbell.forward.delay: found `50`, expected a length of time with its unit, such as \"50 ms\"",
        ),
        (
            "delay = \"50 ms\"",
            "delay = \"50\"",
            "x.toml:4: topology.dumbbell.forward.delay: found `\"50\"`, expected a length of time with its unit, such as \"50 ms\"",
        ),
        (
            "delay = \"50 ms\"",
            "delay = [\"50 ms\"]",
            "x.toml:4: topology.dumbbell.forward.delay: found `[…]`, expected `constant`, `steps`, `trace`, `markov`, `netem` or `wifi`, with parameters in a table; such as { constant = \"50 ms\" }",
        ),
        (
            "delay = \"50 ms\"",
            "delay = 2024-01-01",
            "x.toml:4: topology.dumbbell.forward.delay: found `2024-01-01`, expected `constant`, `steps`, `trace`, `markov`, `netem` or `wifi`, with parameters in a table; such as { constant = \"50 ms\" }",
        ),
        (
            "\"0.8 Mbit/s\"",
            "10",
            "x.toml:3: topology.dumbbell.forward.capacity: found `10`, expected a rate with its unit, such as \"0.8 Mbit/s\"",
        ),
        (
            "\"0.8 Mbit/s\"",
            "\"10 Mbits\"",
            "x.toml:3: topology.dumbbell.forward.capacity: found `\"10 Mbits\"`, expected a rate with its unit, such as \"0.8 Mbit/s\"; its unit is bit/s, kbit/s, Mbit/s or Gbit/s (bits; also b/s and bps)",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ constant = \"fast\" }",
            "x.toml:3: topology.dumbbell.forward.capacity.constant: found `\"fast\"`, expected a rate with its unit, such as \"0.8 Mbit/s\"",
        ),
        (
            "\"0.8 Mbit/s\"",
            "[]",
            "x.toml:3: topology.dumbbell.forward.capacity: found `[…]`, expected `constant`, `steps`, `trace`, `opportunities`, `markov`, `slotted-markov`, `sessions` or `load-reactive`, with parameters in a table; such as { constant = \"0.8 Mbit/s\" }",
        ),
        (
            "\"0.8 Mbit/s\"",
            "\"markov\"",
            "x.toml:3: topology.dumbbell.forward.capacity.markov.rates: expected a list in brackets; it is missing and has no default",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ markov = { rates = [] } }",
            "x.toml:3: topology.dumbbell.forward.capacity.markov.mean_holding: expected a list in brackets; it is missing and has no default",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ markov = { rates = [\"1 Mb/s\", 2], mean_holding = [] } }",
            "x.toml:3: topology.dumbbell.forward.capacity.markov.rates.1: found `2`, expected a rate with its unit, such as \"0.8 Mbit/s\"",
        ),
        (
            "count = 1",
            "count = \"many\"",
            "x.toml:7: flows.reno.count: found `\"many\"`, expected a whole number from 0 to 4294967295",
        ),
        (
            "count = 1",
            "count = -1",
            "x.toml:7: flows.reno.count: found `-1`, expected a whole number from 0 to 4294967295; it is negative",
        ),
        (
            "count = 1",
            "count = 1.5",
            "x.toml:7: flows.reno.count: found `1.5`, expected a whole number from 0 to 4294967295",
        ),
        (
            "count = 1",
            "backward = \"yes\"",
            "x.toml:7: flows.reno.backward: found `\"yes\"`, expected true or false",
        ),
        (
            "count = 1",
            "count = 99999999999999999999",
            "x.toml:7: flows.reno.count: found `99999999999999999999`, expected a whole number from 0 to 4294967295",
        ),
        (
            "\"10 packets\"",
            "\"10.5 packets\"",
            "x.toml:5: topology.dumbbell.forward.queue.drop-tail.limit: found `\"10.5 packets\"`, expected an amount such as \"64 kB\", \"10 packets\", \"1.5 bdp\" or \"unlimited\"",
        ),
        (
            "delay = \"50 ms\"",
            "loss = \"200 %\"",
            "x.toml:4: topology.dumbbell.forward.loss: found `\"200 %\"`, expected a probability between 0 and 1, such as 0.01 or \"1 %\"",
        ),
        (
            "delay = \"50 ms\"",
            "loss = 2",
            "x.toml:4: topology.dumbbell.forward.loss: found `2`, expected a probability between 0 and 1, such as 0.01 or \"1 %\"",
        ),
        (
            "recovery = \"sack\"",
            "congestion = { cubic = { beta = nan } }",
            "x.toml:9: flows.reno.tcp.congestion.cubic.beta: found `NaN`, expected a finite number",
        ),
        (
            "recovery = \"sack\"",
            "timer = { rfc6298 = [\"1 s\"] }",
            "x.toml:9: flows.reno.tcp.timer.rfc6298: found `[…]`, expected a table",
        ),
    ]);
}

#[test]
fn links_with_arq_say_what_they_need() {
    check(&[
        (
            "capacity = \"0.8 Mbit/s\"\n",
            "capacity = { markov = { rates = [\"1 Mbit/s\"], mean_holding = [\"1 s\"] } }\narq = {}\n",
            "x.toml:3: topology.dumbbell.forward.capacity: found `one that varies`, expected a constant one, such as \"1 Mbit/s\": with `arq` all slots are of one length",
        ),
        (
            "capacity = \"0.8 Mbit/s\"\n",
            "capacity = \"0.8 Mbit/s\"\narq = { window = 0 }\n",
            "x.toml:4: topology.dumbbell.forward.arq.window: found `0`, expected 1 (stop-and-wait) to 4096",
        ),
        (
            "capacity = \"0.8 Mbit/s\"\n",
            "capacity = \"0.8 Mbit/s\"\nloss = { rayleigh = { doppler = \"0 Hz\" } }\narq = {}\n",
            "x.toml:4: topology.dumbbell.forward.loss.rayleigh.doppler: found `0 /s`, expected above 0 Hz, and at most 100000 Hz",
        ),
    ]);
}

#[test]
fn unknown_names_say_which_there_are() {
    check(&[
        (
            "delay = ",
            "dealy = ",
            "x.toml:4: topology.dumbbell.forward.dealy: found `dealy`, expected the key `name`, `from`, `to`, `capacity`, `service`, `delay`, `reorder`, `handover`, `queue`, `loss`, `netem`, `framing` or `arq`; did you mean `delay`?",
        ),
        (
            "delay = ",
            "bandwidth = ",
            "x.toml:4: topology.dumbbell.forward.bandwidth: found `bandwidth`, expected the key `name`, `from`, `to`, `capacity`, `service`, `delay`, `reorder`, `handover`, `queue`, `loss`, `netem`, `framing` or `arq`; did you mean `capacity`?",
        ),
        (
            "recovery = \"sack\"",
            "recovery = \"sacks\"",
            "x.toml:9: flows.reno.tcp.recovery: found `\"sacks\"`, expected `old-tahoe`, `tahoe`, `reno`, `newreno`, `sack` or `rack`; did you mean `sack`?",
        ),
        (
            "recovery = \"sack\"",
            "recovery = 5",
            "x.toml:9: flows.reno.tcp.recovery: found `5`, expected `old-tahoe`, `tahoe`, `reno`, `newreno`, `sack` or `rack`",
        ),
        (
            "recovery = \"sack\"",
            "congestion = \"cubik\"",
            "x.toml:9: flows.reno.tcp.congestion: found `\"cubik\"`, expected `reno`, `cubic`, `ratcp`, `rate-adaptive-window`, `vegas`, `dctcp`, `prague`, `copa`, `bbr`, `bbr3`, `accel-brake`, `policy`, `custom` or `module`; did you mean `cubic`?",
        ),
        (
            "recovery = \"sack\"",
            "congestion = { cubic = {}, reno = {} }",
            "x.toml:9: flows.reno.tcp.congestion: found `reno`, expected one choice only: `cubic` is given already",
        ),
        (
            "recovery = \"sack\"",
            "congestion = {}",
            "x.toml:9: flows.reno.tcp.congestion: found `{}`, expected `reno`, `cubic`, `ratcp`, `rate-adaptive-window`, `vegas`, `dctcp`, `prague`, `copa`, `bbr3`, `policy`, `custom` or `module`, with parameters in a table",
        ),
        (
            "drop-tail = { limit",
            "droptail = { limit",
            "x.toml:5: topology.dumbbell.forward.queue: found `droptail`, expected `drop-tail`, `red`, `ered`, `codel`, `pie`, `drr`, `sfq`, `cbq`, `fq_codel`, `dualpi2`, `step`, `shaper`, `policer`, `device`, `accel-brake` or `custom`; did you mean `drop-tail`?",
        ),
        (
            "drop-tail = { limit",
            "drop-tail = { limits",
            "x.toml:5: topology.dumbbell.forward.queue.drop-tail.limits: found `limits`, expected the key `limit`, `counts_in_service` or `ties`; did you mean `limit`?",
        ),
        (
            "[topology.dumbbell.forward]",
            "[topology.dumbell.forward]",
            "x.toml:2: topology: found `dumbell`, expected `dumbbell`, `chain` or `graph`; did you mean `dumbbell`?",
        ),
        (
            "[flows.reno]",
            "[flow.reno]",
            "x.toml:6: flow: found `flow`, expected the key `schema_version`, `name`, `description`, `duration`, `warmup`, `seeds`, `seed`, `isolate`, `tcp`, `topology`, `flows` or `record`; did you mean `flows`?",
        ),
        (
            "count = 1",
            "app = \"arrivals\"",
            "x.toml:7: flows.reno.app.arrivals.rate: expected a frequency with its unit, such as \"2 /s\"; it is missing and has no default",
        ),
        (
            "count = 1",
            "app = { arrivals = { rate = \"2 /s\", size = \"1 MB\" } }",
            "x.toml:7: flows.reno.app.arrivals.size: found `\"1 MB\"`, expected `fixed`, `exponential`, `lognormal` or `pareto`; such as { fixed = \"1 MB\" }",
        ),
        (
            "count = 1",
            "app = { arrivals = { rate = \"2 /s\", size = { pareto = { mean = \"1 MB\" } } } }",
            "x.toml:7: flows.reno.app.arrivals.size.pareto.shape: expected a number; it is missing and has no default",
        ),
    ]);
}

#[test]
fn missing_keys_are_named() {
    check(&[
        (
            "duration = \"60 s\"",
            "",
            "x.toml:1: duration: expected a length of time with its unit, such as \"50 ms\"; it is missing and has no default",
        ),
        (
            "[topology.dumbbell.forward]",
            "[topology.dumbbell]",
            "x.toml:3: topology.dumbbell.capacity: found `capacity`, expected the key `forward` or `reverse`; did you mean `forward.capacity`?",
        ),
        (
            "[topology.dumbbell.forward]",
            "[topology.graph.links.a]",
            "x.toml:2: topology.graph.links.a.from: expected the name of a node; it is missing",
        ),
        (
            "[topology.dumbbell.forward]",
            "[other]",
            "x.toml:2: other: found `other`, expected the key `schema_version`, `name`, `description`, `duration`, `warmup`, `seeds`, `seed`, `isolate`, `tcp`, `topology`, `flows` or `record`",
        ),
    ]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    check(&[
        (
            "duration = \"60 s\"",
            "duration = \"60 s\"\nwarmup = \"60 s\"",
            "x.toml:2: warmup: found `60 s`, expected less than `duration`, 60 s",
        ),
        (
            "duration = \"60 s\"",
            "duration = \"0 s\"",
            "x.toml:1: duration: found `0 s`, expected more than 0 s",
        ),
        (
            "duration = \"60 s\"",
            "duration = \"60 s\"\nname = \"../../etc\"",
            "x.toml:2: name: found `../../etc`, expected at most 100 letters, digits, blanks and `-_.+=,`, not beginning with a dot or blank",
        ),
        (
            "duration = \"60 s\"",
            "duration = \"60 s\"\nschema_version = 2",
            "x.toml:2: schema_version: found `2`, expected 1",
        ),
        (
            "duration = \"60 s\"",
            "duration = \"60 s\"\nseeds = 0",
            "x.toml:2: seeds: found `0`, expected 1 to 1000000",
        ),
        (
            "\"10 packets\"",
            "\"0 packets\"",
            "x.toml:5: topology.dumbbell.forward.queue.drop-tail.limit: found `0 packets`, expected an amount above zero, and below 1 EB",
        ),
        (
            "\"10 packets\"",
            "\"0.01 bdp\"",
            "x.toml:5: topology.dumbbell.forward.queue.drop-tail.limit: found `0.01 bdp = 100 B`, expected room for at least one packet of 1500 B",
        ),
        (
            "\"10 packets\"",
            "\"100 B\"",
            "x.toml:5: topology.dumbbell.forward.queue.drop-tail.limit: found `100 B`, expected room for at least one packet of 1500 B",
        ),
        (
            "capacity = \"0.8 Mbit/s\"\n",
            "capacity = \"unlimited\"\nservice = \"fast\"\n",
            "x.toml:4: topology.dumbbell.forward.service: found `\"fast\"`, expected `fluid` or `at-start`",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { ered = { reserve = \"100 packets\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.ered.reserve: found `100 packets = 150 kB`, expected less than `limit`, 100 packets = 150 kB, by a packet of 1500 B or more",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { ered = { limit = \"70 packets\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.ered.max_threshold: found `80 packets = 120 kB`, expected at most `limit`, 70 packets = 105 kB",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { ered = { min_threshold = \"80 packets\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.ered.min_threshold: found `80 packets`, expected less than `max_threshold`, 80 packets",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { drr = { weights = { renoo = 2 } } }",
            "x.toml:5: topology.dumbbell.forward.queue.drr.weights.renoo: found `renoo`, expected a flow: `reno`; did you mean `reno`?",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { sfq = { weights = { reno = 0 } } }",
            "x.toml:5: topology.dumbbell.forward.queue.sfq.weights.reno: found `0`, expected a weight from 0.01 to 1000",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { drr = { quantum = \"10 B\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.drr.quantum: found `10 B`, expected a finite amount of at least 100 B",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { sfq = { flow_limit = \"100 B\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.sfq.flow_limit: found `100 B`, expected room for at least one packet of 1500 B",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = \"cbq\"",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes: expected a table; it is missing and has no default",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = {} } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes: found `0`, expected 1 to 100 classes",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { flows = [\"rno\"], share = 0.2 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.a.flows.0: found `rno`, expected a flow: `reno`; did you mean `reno`?",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0.6 }, b = { flows = [], share = 0.5 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes: found `shares of 1.1`, expected shares that sum to at most 1",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0.2 }, b = { share = 0.5 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.b.flows: found `none`, expected a list: `a` has all flows that no class names",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { flows = [\"reno\"], share = 0.2 }, b = { flows = [\"reno\"], share = 0.5 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.b.flows.0: found `reno of `a``, expected a flow of one class",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { flows = [], share = 0.2 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes: found `none`, expected a class for the flow `reno`, whose packets pass here, or one without `flows`",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0 } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.a.share: found `0`, expected above 0",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0.5, queue = \"accel-brake\" } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.a.queue: found `accel-brake`, expected any queue but `cbq`, `shaper` and `accel-brake`",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0.5, queue = { red = { min_threshold = \"20 packets\" } } } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.a.queue.red.min_threshold: found `20 packets`, expected less than `max_threshold`, 15 packets",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { cbq = { classes = { a = { share = 0.5, queue = { drop-tail = { limit = \"10 B\" } } } } } }",
            "x.toml:5: topology.dumbbell.forward.queue.cbq.classes.a.queue.drop-tail.limit: found `10 B`, expected room for at least one packet of 1500 B",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { ered = { reserve = \"unlimited\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.ered.reserve: found `unlimited`, expected an amount below `limit`",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { red = { min_threshold = \"20 packets\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.red.min_threshold: found `20 packets`, expected less than `max_threshold`, 15 packets",
        ),
        (
            "queue = { drop-tail = { limit = \"10 packets\" } }",
            "queue = { codel = { target = \"1 s\" } }",
            "x.toml:5: topology.dumbbell.forward.queue.codel.target: found `1 s`, expected at most `interval`, 100 ms",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ opportunities = { file = \"none.down\" } }",
            "x.toml:3: topology.dumbbell.forward.capacity.opportunities.file: found `none.down`, expected a file that can be read; No such file or directory",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ opportunities = { file = \"none.down\", light = { file = \"none.trains\", idle = \"4000000000 s\" } } }",
            "x.toml:3: topology.dumbbell.forward.capacity.opportunities.light.idle: found `4000000000 s`, expected at most 315360000 s",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ markov = { rates = [\"1 Mb/s\", \"2 Mb/s\"], mean_holding = [\"1 s\"] } }",
            "x.toml:3: topology.dumbbell.forward.capacity.markov.mean_holding: found `1 values`, expected 2, one per rate",
        ),
        (
            "\"0.8 Mbit/s\"",
            "{ slotted-markov = { rates = [\"1 Mb/s\", \"2 Mb/s\"], step = \"1 s\", transitions = [[0.5, 0.5], [0.5, 0.4]] } }",
            "x.toml:3: topology.dumbbell.forward.capacity.slotted-markov.transitions.1: found `a row with sum 0.9`, expected probabilities that sum to 1",
        ),
        (
            "delay = \"50 ms\"",
            "delay = \"50 ms\"\nfrom = \"a\"",
            "x.toml:5: topology.dumbbell.forward.from: found `a`, expected nothing: only in a graph do links name their ends",
        ),
        (
            "delay = \"50 ms\"",
            "delay = \"50 ms\"\nname = \"reverse\"",
            "x.toml:2: topology.dumbbell.reverse.name: found `reverse`, expected a name that no other link has",
        ),
        ("count = 1", "count = 0", "x.toml:7: flows.reno.count: found `0`, expected at least 1"),
        ("count = 1", "count = 1000001", "x.toml:6: flows: found `1000001`, expected at most 1000000 flows"),
        (
            "count = 1",
            "from = \"n0\"",
            "x.toml:7: flows.reno.from: expected nothing: a dumbbell has no nodes; say `backward = true` for a flow from right to left",
        ),
        (
            "count = 1",
            "via = [\"forward\"]",
            "x.toml:7: flows.reno.via: expected nothing: only a graph leaves a choice of routes",
        ),
        (
            "count = 1",
            "start = \"60 s\"",
            "x.toml:7: flows.reno.start: found `60 s`, expected less than `duration`, 60 s",
        ),
        (
            "count = 1",
            "start = \"5 s\"\nstop = \"5 s\"",
            "x.toml:8: flows.reno.stop: found `5 s`, expected later than `start`, 5 s",
        ),
        (
            "count = 1",
            "app = { transfer = { size = \"0 B\" } }",
            "x.toml:7: flows.reno.app.transfer.size: found `0 B`, expected more than 0 B",
        ),
        (
            "count = 1",
            "app = { arrivals = { rate = \"2 /s\", size = { pareto = { mean = \"1 MB\", shape = 1 } } } }",
            "x.toml:7: flows.reno.app.arrivals.size.pareto.shape: found `1`, expected above 1: otherwise there is no mean",
        ),
        (
            "count = 1",
            "datagrams = { rate = \"1 Mb/s\" }",
            "x.toml:8: flows.reno.tcp: found `both`, expected either `datagrams` or TCP with its `app`",
        ),
        (
            "recovery = \"sack\"",
            "mss = \"0 B\"",
            "x.toml:9: flows.reno.tcp.mss: found `0 B`, expected 1 B to 65535 B",
        ),
        (
            "recovery = \"sack\"",
            "stack = \"rfc\"\ntimer = { rfc6298 = { minimum = \"2 min\" } }",
            "x.toml:10: flows.reno.tcp.timer.rfc6298.minimum: found `120 s`, expected at most `maximum`, 60 s",
        ),
        (
            "recovery = \"sack\"",
            "congestion = { cubic = { beta = 1.0 } }",
            "x.toml:9: flows.reno.tcp.congestion.cubic.beta: found `1`, expected between 0 and 1",
        ),
        (
            "recovery = \"sack\"",
            "congestion = { cubic = { hertz = 0 } }",
            "x.toml:9: flows.reno.tcp.congestion.cubic.hertz: found `0`, expected 1 to 1000",
        ),
        (
            "recovery = \"sack\"",
            "ack = { delayed = { hertz = 3 } }",
            "x.toml:9: flows.reno.tcp.ack.delayed.hertz: found `3`, expected 4 to 10000",
        ),
        (
            "recovery = \"sack\"",
            "max_window = \"0 packets\"",
            "x.toml:9: flows.reno.tcp.max_window: found `0 packets`, expected an amount above zero, and below 1 EB",
        ),
    ]);
}

#[test]
fn syntax_errors_have_a_line() {
    check(&[
        (
            "delay = \"50 ms\"",
            "delay = 50 ms",
            "x.toml:4: expected valid TOML: string values must be quoted, expected literal string",
        ),
        (
            "delay = \"50 ms\"",
            "delay = \"50 ms\"\ndelay = \"50 ms\"",
            "x.toml:5: expected valid TOML: duplicate key",
        ),
        (
            "delay = \"50 ms\"",
            "delay = \"50 ms",
            "x.toml:4: expected valid TOML: invalid basic string, expected `\"`",
        ),
    ]);
}

#[test]
fn routes_that_do_not_exist_are_refused() {
    let graph = "duration = \"1 s\"\n[topology.graph.links]\nab = { from = \"a\", to = \"b\" }\nbc = { from = \"b\", to = \"c\" }\n[flows.f]\n";
    for (flow, expected) in [
        ("from = \"a\"\nto = \"c\"\n", "x.toml:5: flows.f: found `none`, expected a way from `c` to `a`"),
        ("from = \"a\"\nto = \"d\"\n", "x.toml:7: flows.f.to: found `d`, expected `a`, `b` or `c`"),
        ("from = \"a\"\n", "x.toml:5: flows.f.to: expected the name of a node; it is missing"),
        ("from = \"a\"\nto = \"a\"\n", "x.toml:7: flows.f.to: found `a`, expected another node than `from`"),
        (
            "from = \"a\"\nto = \"c\"\nvia = [\"ab\", \"ab\"]\n",
            "x.toml:8: flows.f.via.1: found `ab`, expected a link that begins at `b`",
        ),
        (
            "from = \"a\"\nto = \"c\"\nvia = [\"ab\"]\n",
            "x.toml:8: flows.f.via: found `an end at b`, expected links that end at `c`",
        ),
        (
            "from = \"a\"\nto = \"c\"\nvia = [\"ax\"]\n",
            "x.toml:8: flows.f.via.0: found `ax`, expected `ab` or `bc`",
        ),
        (
            "from = \"a\"\nto = \"c\"\nbackward = true\n",
            "x.toml:8: flows.f.backward: found `true`, expected false in a graph; say `from` and `to`",
        ),
    ] {
        assert_eq!(message(&(graph.to_owned() + flow), &[]), expected);
    }
}

#[test]
fn settings_are_named_as_they_were_typed() {
    for (key, value, expected) in [
        (
            "duration",
            "5",
            "--set duration=5: duration: found `5`, expected a length of time with its unit, such as \"50 ms\"",
        ),
        (
            "flows.reno.tcp.recovery",
            "sacks",
            "--set flows.reno.tcp.recovery=sacks: flows.reno.tcp.recovery: found `\"sacks\"`, expected `old-tahoe`, `tahoe`, `reno`, `newreno`, `sack` or `rack`; did you mean `sack`?",
        ),
        (
            "flow.reno.count",
            "2",
            "--set flow.reno.count=2: flow: found `flow`, expected the key `schema_version`, `name`, `description`, `duration`, `warmup`, `seeds`, `seed`, `isolate`, `tcp`, `topology`, `flows` or `record`; did you mean `flows`?",
        ),
        (
            "flows.remo.count",
            "2",
            "--set flows.remo.count=2: flows.remo: found `remo`, expected the key `reno`; did you mean `reno`?",
        ),
        (
            "flows.reno.cont",
            "2",
            "--set flows.reno.cont=2: flows.reno.cont: found `cont`, expected the key `count`, `from`, `to`, `backward`, `via`, `via_back`, `access_delay`, `start`, `start_spread`, `stop`, `jitter`, `app`, `tcp`, `feedback`, `abr`, `reservation`, `datagrams`, `quic` or `endpoint`; did you mean `count`?",
        ),
        (
            "flows.reno.tcp.timer.rfc6289.minimum",
            "1 s",
            "--set flows.reno.tcp.timer.rfc6289.minimum=1 s: flows.reno.tcp.timer.rfc6289: found `rfc6289`, expected the key `rfc6298`, `linux`, `ticks` or `multiple`; did you mean `rfc6298`?",
        ),
        (
            "duration.seconds",
            "1",
            "--set duration.seconds=1: duration: found `duration.seconds`, expected a value, which has no keys",
        ),
        (
            "topology.dumbbell.forward.delays",
            "1 s",
            "--set topology.dumbbell.forward.delays=1 s: topology.dumbbell.forward.delays: found `delays`, expected the key `name`, `from`, `to`, `capacity`, `service`, `delay`, `reorder`, `handover`, `queue`, `loss`, `netem`, `framing` or `arq`; did you mean `delay`?",
        ),
        (
            "topology.chain.forward.0.delay",
            "1 s",
            "--set topology.chain.forward.0.delay=1 s: topology.chain.forward.0: found `0`, expected the number of an item, of which there are 0",
        ),
        ("", "1 s", "--set =1 s: expected a key such as `flows.a.tcp.mss`"),
        ("warmup", "2 min", "--set warmup=2 min: warmup: found `120 s`, expected less than `duration`, 60 s"),
    ] {
        assert_eq!(message(GOOD, &[(key, value)]), expected, "--set {key}={value}");
    }
}

/// A packet counts the links ahead of it in a byte.
#[test]
fn a_route_has_at_most_250_links() {
    let of = |links: usize| {
        let forward = vec![r#"{ delay = "1 ms" }"#; links].join(", ");
        format!("duration = \"1 s\"\n[topology.chain]\nforward = [{forward}]\n[flows.a]\n")
    };
    let found = message(&of(251), &[]);
    assert_eq!(found, "x.toml:4: flows.a: found `251 links`, expected a way of at most 250 links");
    let fits = Scenario::from_toml(&of(250), "x.toml", &[]).expect("a scenario");
    assert!(fits.networks(&mut |_| Err(String::new())).is_ok());
}
