//! Cameras over datagrams: their encoders follow what arrives, with a reservation and without.

use crate::common;

use common::simulate;
use varicap_experiment::rows::FlowRow;

/// A camera behind ERED at 2 Mbit/s, which spares what is marked, beside as many greedy connections as `others`.
fn beside(others: u32, camera: &str, keys: &str) -> FlowRow {
    in_runs(1, others, camera, keys).remove(0)
}

/// The same in so many runs.
fn in_runs(count: u64, others: u32, camera: &str, keys: &str) -> Vec<FlowRow> {
    let others = if others == 0 {
        String::new()
    } else {
        format!("[flows.others]\ncount = {others}\nstart_spread = \"1 s\"")
    };
    let toml = format!(
        r#"
duration = "80 s"
warmup = "20 s"
[topology.dumbbell.forward]
capacity = "2 Mbit/s"
delay = "20 ms"
queue = {{ ered = {{ limit = "60 packets", min_threshold = "5 packets", max_threshold = "15 packets" }} }}
[flows.call]
datagrams = {{ rate = {{ real-time = {{ {camera} }} }}, size = "1000 B" }}
{keys}
{others}
"#
    );
    let runs = simulate(&toml, count).into_iter();
    runs.map(|run| run.flows.into_iter().find(|row| &*row.name == "call").unwrap()).collect()
}

#[test]
fn alone_an_encoder_fills_a_link_and_most_frames_arrive_in_time() {
    let row = beside(0, "maximum = \"6 Mbit/s\"", "");
    assert!((1.9e6..=2.0e6).contains(&row.throughput_bps), "{row:?}");
    assert!(
        (row.bitrate_bps / row.throughput_bps - 1.0).abs() < 0.1,
        "what is encoded is what arrives: {row:?}"
    );
    // Growing by 8 % a second it finds the limit by what it loses there.
    assert!(row.late < 0.4, "{row:?}");
    // An encoder that does not adapt loses two thirds of it, and hardly a frame arrives whole.
    let fixed = "initial = \"6 Mbit/s\", minimum = \"6 Mbit/s\", maximum = \"6 Mbit/s\"";
    assert!(beside(0, fixed, "").late > 0.95);
}

#[test]
fn what_is_reserved_arrives_and_the_encoder_finds_the_rest() {
    let camera = "initial = \"800 kbit/s\", minimum = \"800 kbit/s\", maximum = \"6 Mbit/s\"";
    let reserved = beside(4, camera, "reservation = { rate = \"800 kbit/s\", bucket = \"100 ms\" }");
    let free = beside(4, camera, "");
    assert!(reserved.compliant_bps > 0.99 * 800e3, "{reserved:?}");
    assert!(reserved.throughput_bps > 1.25 * 800e3, "more than is reserved: {reserved:?}");
    assert!(free.throughput_bps < 0.95 * 800e3 && free.compliant_bps.is_nan(), "{free:?}");
}

#[test]
fn what_is_encoded_within_a_reservation_arrives_whole() {
    let camera = "initial = \"800 kbit/s\", minimum = \"800 kbit/s\", maximum = \"800 kbit/s\"";
    // Frames of four datagrams, and as many tokens.
    let mean = |keys: &str| {
        // The counts of a run are cut at frames, of which a second has thirty: in one it may be a few thousandths off.
        let rows = in_runs(10, 4, camera, keys);
        let of = |value: fn(&FlowRow) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
        (of(|row| row.throughput_bps), of(|row| row.late))
    };
    let (reserved, late) = mean("reservation = { rate = \"810 kbit/s\", bucket = \"100 ms\" }");
    let (free, free_late) = mean("");
    assert!(reserved > 0.999 * 800e3 && free < 0.9 * 800e3, "{reserved} reserved, {free} free");
    assert!(late < 0.5 * free_late, "{late} late with a reservation, {free_late} without");
}

#[test]
fn an_encoder_with_a_lower_minimum_makes_room_for_tcp() {
    let modest = beside(4, "initial = \"800 kbit/s\", maximum = \"6 Mbit/s\"", "");
    let stubborn =
        beside(4, "initial = \"800 kbit/s\", minimum = \"800 kbit/s\", maximum = \"6 Mbit/s\"", "");
    assert!(modest.bitrate_bps < 0.5 * stubborn.bitrate_bps, "{modest:?} {stubborn:?}");
    assert!(modest.late < stubborn.late);
}

#[test]
fn recording_packets_changes_nothing() {
    let plain = beside(2, "maximum = \"3 Mbit/s\"", "");
    let recorded = beside(2, "maximum = \"3 Mbit/s\"", "[record]\npackets = true");
    assert_eq!(format!("{plain:?}"), format!("{recorded:?}"));
}
