//! Reservations in scenarios, and how they resolve.

use varicap_experiment::{Estimate, Network, Scenario, explain};
use varicap_units::{BucketDepth, Rate, Span, Time};

/// Two links, of 10 and 45 Mb/s, and a flow over both.
fn resolve(flows: &str) -> Result<Network, String> {
    let text = format!(
        r#"duration = "60 s"
[topology.chain]
forward = [{{ capacity = "45 Mbit/s", delay = "10 ms" }}, {{ capacity = "10 Mbit/s", delay = "10 ms" }}]
[flows.a]
{flows}
"#
    );
    let scenario = Scenario::from_toml(&text, "x.toml", &[]).map_err(|error| error.to_string())?;
    scenario.resolve(&mut |_| Err(String::new())).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused(flows: &str, expected: &str) {
    match resolve(flows) {
        Ok(_) => panic!("not refused: {flows}"),
        Err(error) => assert_eq!(error, format!("x.toml:{expected}")),
    }
}

#[test]
fn a_rate_is_enough() {
    let network = resolve(r#"reservation = { rate = "4 Mbit/s" }"#).unwrap();
    let reservation = network.flows[0].reservation.as_ref().unwrap();
    assert_eq!(reservation.terms.rate, Rate::from_bps(4_000_000));
    assert_eq!(reservation.terms.bucket, BucketDepth::Time(Span::from_millis(50)));
    assert!(reservation.terms.peak.is_unlimited() && reservation.marked_at.is_none());
    assert!(reservation.terms.timed.is_none() && reservation.terms.delayed.is_none());
}

#[test]
fn a_link_that_marks_polices_the_flow() {
    let toml = r#"reservation = { rate = "4 Mbit/s", bucket = "20 kB", marked_at = "forward.2", nonconformant = "drop" }"#;
    let network = resolve(toml).unwrap();
    assert!(network.links[0].parts.policing.is_empty());
    let [policing] = &network.links[1].parts.policing[..] else { panic!("one flow") };
    assert_eq!((policing.group, policing.packet.as_u64()), (0, 1500));
    assert_eq!(policing.nonconformant, varicap_net::Nonconformant::Drop);
    assert_refused(
        r#"reservation = { rate = "4 Mbit/s", nonconformant = "drop" }"#,
        "5: flows.a.reservation.nonconformant: found `drop`, expected pass: only a link drops what does not conform (`marked_at`)",
    );
}

#[test]
fn a_reservation_may_change_in_steps() {
    let steps = r#"reservation = { rate = { steps = { at = ["0 s", "20 s"], rates = ["6 Mbit/s", "500 kbit/s"], period = "40 s" } }, timed = { interval = "20 ms" } }"#;
    let network = resolve(steps).unwrap();
    let reservation = network.flows[0].reservation.as_ref().unwrap();
    let rate_at = |seconds| reservation.rate_at(Time::ZERO + Span::from_secs(seconds)).as_bps();
    assert_eq!(
        [rate_at(0), rate_at(19), rate_at(20), rate_at(40)],
        [6_000_000, 6_000_000, 500_000, 6_000_000]
    );
    assert_eq!(reservation.terms.timed.as_ref().unwrap().interval, Some(Span::from_millis(20)));
}

#[test]
fn a_link_of_the_path_may_mark() {
    let network = resolve(r#"reservation = { rate = "4 Mbit/s", marked_at = "forward.2" }"#).unwrap();
    assert_eq!(network.flows[0].reservation.as_ref().unwrap().marked_at, Some(1));
    assert_refused(
        r#"reservation = { rate = "4 Mbit/s", marked_at = "forward.3" }"#,
        "5: flows.a.reservation.marked_at: found `forward.3`, expected `source`, `forward.1` or `forward.2`; did you mean `forward.1`?",
    );
    assert_refused(
        r#"reservation = { rate = "4 Mbit/s", marked_at = "reverse.1" }"#,
        "5: flows.a.reservation.marked_at: found `reverse.1`, expected `source`, `forward.1` or `forward.2`; the links from the sender to the receiver",
    );
    assert_refused(
        r#"reservation = { rate = "4 Mbit/s", marked_at = "forward.1", timed = {} }"#,
        "5: flows.a.reservation.timed: found `a value`, expected nothing where a link marks: the sender does not see the tokens",
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (flows, expected) in [
        (
            r#"reservation = { bucket = "50 ms" }"#,
            "5: flows.a.reservation.rate: expected `constant` or `steps`, with parameters in a table; it is missing and has no default",
        ),
        (
            r#"reservation = { rate = "0 b/s" }"#,
            "5: flows.a.reservation.rate: found `0 bit/s`, expected above 0: without a rate there is no reservation",
        ),
        (
            r#"reservation = { rate = "unlimited" }"#,
            "5: flows.a.reservation.rate: found `\"unlimited\"`, expected `constant` or `steps`",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", bucket = "2 ms" }"#,
            "5: flows.a.reservation.bucket: found `2 ms at 4 Mbit/s = 1 kB`, expected room for at least one packet of 1500 B",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", bucket = "1499 B" }"#,
            "5: flows.a.reservation.bucket: found `1499 B`, expected room for at least one packet of 1500 B",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", bucket = "25" }"#,
            "5: flows.a.reservation.bucket: found `\"25\"`, expected a depth in time or bytes, such as \"50 ms\" or \"25 kB\"",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", peak = "3 Mbit/s" }"#,
            "5: flows.a.reservation.peak: found `3 Mbit/s`, expected at least the reserved `rate`, 4 Mbit/s",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", timed = { interval = "0 s" } }"#,
            "5: flows.a.reservation.timed.interval: found `0 s`, expected more than 0 s",
        ),
        (
            r#"reservation = { rate = "4 Mbit/s", delayed = { longest = "0 s" } }"#,
            "5: flows.a.reservation.delayed.longest: found `0 s`, expected more than 0 s",
        ),
        (
            r#"reservation = { rate = { steps = { at = ["1 s"], rates = ["4 Mbit/s"] } } }"#,
            "5: flows.a.reservation.rate.steps.at.0: found `1 s`, expected 0 s",
        ),
        (
            "reservation = { rate = \"4 Mbit/s\" }\napp = { arrivals = { rate = \"1 /s\", size = { fixed = \"1 kB\" } } }",
            "5: flows.a.reservation: found `a table`, expected nothing: transfers that come and go have no lasting reservation; reserve for a greedy flow, or one with an on-off application",
        ),
        (
            "reservation = { rate = \"1 Mbit/s\", timed = {} }\ndatagrams = { rate = \"1 Mbit/s\" }",
            "5: flows.a.reservation.timed: found `a value`, expected nothing: datagrams have no window to go beyond, and see no loss",
        ),
    ] {
        assert_refused(flows, expected);
    }
}

#[test]
fn relays_of_transfers_have_no_reservation() {
    let relay = r#"to = "n1"
app = { arrivals = { rate = "1 /s", size = { fixed = "1 kB" } } }
[flows.b]
from = "n1"
app = { relay = { of = "a" } }
reservation = { rate = "4 Mbit/s" }"#;
    assert!(
        resolve(relay)
            .unwrap_err()
            .contains("flows.b.reservation: found `a table`, expected nothing: transfers")
    );
}

#[test]
fn what_follows_from_a_reservation_is_explained() {
    let text = r#"duration = "60 s"
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "10 ms"
[flows.a]
tcp = { stack = "rfc", mss = "960 B" }
reservation = { rate = "4 Mbit/s", timed = {} }
"#;
    let scenario = Scenario::from_toml(text, "x.toml", &[]).unwrap();
    let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
    let lines = explain(&scenario, &[network]);
    let value = |key: &str| lines.iter().find(|line| line.key == key).map(|line| line.value.clone());
    assert_eq!(value("resolved.flows.a.reservation").as_deref(), Some("4 Mbit/s, 25 kB"));
    assert_eq!(value("resolved.flows.a.timer").as_deref(), Some("48.002 ms"));
    // A timer of a nanosecond is refused where time is limited.
    let quick = text.replace("timed = {}", r#"timed = { interval = "1 ns" }"#);
    let scenario = Scenario::from_toml(&quick, "x.toml", &[]).unwrap();
    let network = scenario.resolve(&mut |_| Err(String::new())).unwrap();
    assert!(Estimate::of(&scenario, &[network]).events > 6e10);
}

#[test]
fn no_link_carries_more_reservations_than_it_can() {
    assert_refused(
        r#"reservation = { rate = "11 Mbit/s" }"#,
        "5: flows.a.reservation.rate: found `11 Mbit/s`, expected at most 10 Mbit/s on the link `forward.2`, all reservations together",
    );
    let two = |rate: &str| format!("count = 2\nreservation = {{ rate = \"{rate}\" }}");
    assert!(resolve(&two("5 Mbit/s")).is_ok());
    assert!(resolve(&two("6 Mbit/s")).unwrap_err().contains("found `12 Mbit/s`"));
    let both = "reservation = { rate = \"6 Mbit/s\" }\n[flows.b]\nreservation = { rate = \"5 Mbit/s\" }";
    assert_refused(
        both,
        "7: flows.b.reservation.rate: found `11 Mbit/s with this one`, expected at most 10 Mbit/s on the link `forward.2`, all reservations together",
    );
    // On the way where there is room for both.
    let apart = "to = \"n1\"\nreservation = { rate = \"6 Mbit/s\" }\n[flows.b]\nreservation = { rate = \"5 Mbit/s\" }";
    assert!(resolve(apart).is_ok());
    // Steps count one by one, since they may take turns.
    let steps = |rate: &str| {
        format!("reservation = {{ rate = {{ steps = {{ at = [\"0 s\"], rates = [\"{rate}\"] }} }} }}")
    };
    assert!(resolve(&steps("11 Mbit/s")).unwrap_err().contains("at most 10 Mbit/s"));
}

#[test]
fn peak_rates_that_an_ered_queue_does_not_admit_are_told() {
    // [minrate, §II-B]: 10 Mb/s, 100 packets and a threshold of 80 admit less than 12.5 Mb/s.
    let told = |count: u32, peak: &str| {
        let text = format!(
            "duration = \"9 s\"\n[topology.dumbbell.forward]\ncapacity = \"10 Mbit/s\"\ndelay = \"9 ms\"\nqueue = \"ered\"\n\
             [flows.a]\ncount = {count}\nreservation = {{ rate = \"1 Mbit/s\"{peak} }}\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml", &[]).unwrap();
        let networks = scenario.networks(&mut |_| Err(String::new())).unwrap();
        let lines = varicap_experiment::explain(&scenario, &networks);
        let line = lines.into_iter().find(|line| line.key == "resolved.links.forward.admission");
        line.map(|line| line.value)
    };
    let peak = ", peak = \"4 Mbit/s\"";
    assert_eq!(
        told(3, peak).unwrap(),
        "peak rates of 12 Mbit/s, below 12.5 Mbit/s: no marked packet is lost"
    );
    assert!(told(4, peak).unwrap().starts_with("warning: peak rates of 16 Mbit/s, not below 12.5 Mbit/s"));
    assert_eq!(told(4, ""), None, "a peak that nobody names is that of the sender's link");
}
