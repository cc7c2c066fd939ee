//! Every queue of the registry, on every capacity, with every loss, fluid and at-start, against a slow reference
//! ([`plain`]). Links with ARQ (tests/arq.rs), policing (tests/policing.rs) and framing (tests/opportunities.rs) are
//! covered there and not here.
//!
//! The parts come from the registries: a new one has no row in the tables below, and the test that walks through them
//! says so. What a queue decides (order, drops) is taken from what the link reports, unless the row says that it is
//! known exactly; when each frame begins and ends, and whether the channel loses it, is computed anew:
//!
//! - a departure happens in the very nanosecond in which the capacity since the busy period began has carried it, or the
//!   rate at its beginning with at-start service;
//! - nothing is sent while the rate is zero, and no server idles while frames wait that may be sent, to the very end;
//! - the loss draws from its own stream, once for each departure, over exactly the time of the transmission;
//! - a flow's frames leave in order, and none is lost track of;
//! - a class that may not borrow never has more than its share of what was offered, and its bucket; while it has frames
//!   waiting it gets that share, but for its bucket and what is in service. When a frame begins is then for the queue to
//!   decide, and taken from the report;
//! - a frame of a shaper begins in the very nanosecond in which the server is free and the bucket has its tokens.

mod checks;
#[path = "../common/mod.rs"]
mod common;
mod plain;

use std::collections::HashMap;

use proptest::prelude::*;
use varicap_net::{
    Backlog, CapacityConfig, CapacityParts, Codepoint, LinkParts, LossConfig, LossParts, Lost, QueueConfig,
    Service, Watch,
};
use varicap_units::{Bytes, Span, Time};

use checks::{Reported, check};
use common::{Log, Packet, drain, link, packet, parts};

/// The reference's knowledge of a queue.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Everything: in front of a server with a rate, which frames it turns away as well.
    Exactly,
    /// It never lets a server idle; its order and its drops are its own.
    WorkConserving,
    /// Its classes wait for their shares: bounded by share times the integral of the rate, and the bucket.
    Shaped,
    /// A frame begins when the server is free and a bucket has its tokens, in the very nanosecond.
    Bucketed,
    /// Not here, but where the comment in the table says.
    Elsewhere,
}

/// Queues by name, with what is known of them and settings that make them act on short runs.
const QUEUES: &[(&str, Known, &str)] = &[
    ("drop-tail", Known::Exactly, r#"{"limit": "6 packets"}"#),
    ("drop-tail", Known::Exactly, r#"{"limit": "7 kB", "counts_in_service": false}"#),
    ("drop-tail", Known::Exactly, r#"{"limit": "4 packets", "ties": "arrivals-first"}"#),
    (
        "drop-tail",
        Known::Exactly,
        r#"{"limit": "5 kB", "ties": "arrivals-first", "counts_in_service": false}"#,
    ),
    (
        "red",
        Known::WorkConserving,
        r#"{"limit": "12 packets", "weight": 0.2, "min_threshold": "2 packets", "max_threshold": "8 packets"}"#,
    ),
    (
        "ered",
        Known::WorkConserving,
        r#"{"limit": "16 packets", "reserve": "3 packets", "weight": 0.2, "min_threshold": "2 packets", "max_threshold": "8 packets"}"#,
    ),
    ("codel", Known::WorkConserving, r#"{"limit": "20 packets", "target": "1 ms", "interval": "4 ms"}"#),
    (
        "pie",
        Known::WorkConserving,
        r#"{"limit": "20 packets", "target": "1 ms", "update": "2 ms", "max_burst": "0 s"}"#,
    ),
    ("drr", Known::WorkConserving, r#"{"limit": "12 packets"}"#),
    ("sfq", Known::WorkConserving, r#"{"limit": "12 packets"}"#),
    ("accel-brake", Known::WorkConserving, "{}"),
    (
        "cbq",
        Known::WorkConserving,
        r#"{"classes": {"a": {"flows": ["f0"], "share": 0.25}, "b": {"share": 0.75, "priority": 2}}}"#,
    ),
    (
        "cbq",
        Known::Shaped,
        r#"{"classes": {"a": {"flows": ["f0"], "share": 0.25, "borrow": false}, "b": {"share": 0.5, "borrow": false}}}"#,
    ),
    (
        "codel",
        Known::WorkConserving,
        r#"{"target": "1 ms", "interval": "4 ms", "ecn": true, "ce_threshold": "2 ms"}"#,
    ),
    (
        "fq_codel",
        Known::WorkConserving,
        r#"{"limit": "12 packets", "target": "1 ms", "interval": "4 ms", "queues": 2}"#,
    ),
    ("dualpi2", Known::WorkConserving, r#"{"limit": "20 packets", "target": "1 ms", "max_rtt": "9 ms"}"#),
    (
        "dualpi2",
        Known::WorkConserving,
        r#"{"limit": "20 packets", "target": "2 ms", "max_rtt": "4 ms", "scheduler": "time-shifted-fifo", "ramp": "0 s"}"#,
    ),
    ("step", Known::WorkConserving, r#"{"limit": "6 packets", "threshold": "3 packets"}"#),
    ("step", Known::WorkConserving, r#"{"limit": "12 packets", "delay": "1 ms", "drop": true}"#),
    (
        "policer",
        Known::WorkConserving,
        r#"{"rate": "2 Mb/s", "burst": "4 kB", "queue": {"pie": {"target": "1 ms", "max_burst": "0 s"}}}"#,
    ),
    (
        "shaper",
        Known::Bucketed,
        r#"{"rate": "2 Mb/s", "burst": "4 kB", "queue": {"fq_codel": {"target": "1 ms", "interval": "4 ms"}}}"#,
    ),
    (
        "device",
        Known::WorkConserving,
        r#"{"ring": "3 packets", "hold": "1 ms", "queue": {"codel": {"target": "1 ms", "interval": "4 ms"}}}"#,
    ),
    (
        "custom",
        Known::Elsewhere,
        "tests/custom.rs and tests/test_custom_queues.py: what it does comes from outside",
    ),
];

/// Capacities by name, and settings; none where the row says in which test it is covered.
const CAPACITIES: &[(&str, Result<&str, &str>)] = &[
    ("constant", Ok(r#""3 Mbit/s""#)),
    ("constant", Ok(r#""999999937 b/s""#)),
    (
        "steps",
        Ok(
            r#"{"at": ["0 s", "3 ms", "3.000001 ms", "11 ms"], "rates": ["5 Mb/s", "0 b/s", "777777 b/s", "40 Mb/s"], "period": "17 ms"}"#,
        ),
    ),
    (
        "steps",
        Ok(r#"{"at": ["0 s", "1 ns", "5 ms"], "rates": ["100 Gb/s", "1 Mb/s", "0 b/s"], "period": "9 ms"}"#),
    ),
    ("trace", Ok(r#"{"file": "rates.csv"}"#)),
    ("opportunities", Ok(r#"{"file": "instants"}"#)),
    ("opportunities", Ok(r#"{"file": "instants", "size": "400 B"}"#)),
    ("markov", Ok(r#"{"rates": ["0 b/s", "12 Mb/s"], "mean_holding": ["2 ms", "7 ms"]}"#)),
    (
        "slotted-markov",
        Ok(r#"{"rates": ["1 Mb/s", "7 Mb/s"], "step": "3 ms", "transitions": [[0.7, 0.3], [0.4, 0.6]]}"#),
    ),
    ("sessions", Ok(r#"{"capacity": "9 Mb/s", "arrivals": "200 /s", "mean_size": "5 kB", "at_most": 9}"#)),
    ("load-reactive", Err("tests/reactive.rs: its controller acts on the queue itself")),
];

const LOSSES: &[(&str, &str)] = &[
    ("none", r#""none""#),
    ("bernoulli", r#""10 %""#),
    ("gilbert-elliott", r#"{"gilbert-elliott": {"to_bad": 0.2, "to_good": 0.4, "loss_bad": 0.8}}"#),
    ("correlated", r#"{"correlated": {"probability": 0.3, "correlation": 0.25}}"#),
    ("gemodel", r#"{"gemodel": {"p": 0.2, "r": 0.4, "one_minus_h": 0.8, "one_minus_k": 0.05}}"#),
    ("4state", r#"{"4state": {"p13": 0.2, "p31": 0.4, "p32": 0.3, "p23": 0.5, "p14": 0.1}}"#),
    ("markov", r#"{"markov": {"good": "6 ms", "bad": "1 ms", "delivered": 0.9}}"#),
    ("rayleigh", r#"{"rayleigh": {"doppler": "40 Hz", "threshold_db": -8}}"#),
    ("states", r#"{"states": {"delivered": [0, 0.5, 1], "mean_holding": ["1 ms", "2 ms", "9 ms"]}}"#),
    ("trace", r#"{"trace": {"file": "losses.csv", "offset": "random"}}"#),
];

const END: u128 = 200_000_000;
const FLOWS: usize = 3;

#[test]
fn every_part_has_a_reference() {
    let queues = QUEUES.iter().map(|(name, ..)| *name);
    let capacities = CAPACITIES.iter().map(|(name, _)| *name);
    let losses = LOSSES.iter().map(|(name, _)| *name);
    for (table, registered, has) in [
        ("QUEUES", QueueConfig::NAMES, queues.collect::<Vec<_>>()),
        ("CAPACITIES", CapacityConfig::NAMES, capacities.collect()),
        ("LOSSES", LossConfig::NAMES, losses.collect()),
    ] {
        for name in registered {
            assert!(
                has.contains(name),
                "`{name}` has no reference: add a row to {table} in tests/reference/main.rs, with settings that make it \
                 act within {} ms; a queue is `Exactly` if plain.rs says which frames it turns away, else \
                 `WorkConserving`, or `Shaped` or `Bucketed` if it may let the server idle",
                END / 1_000_000
            );
        }
        assert!(
            has.iter().all(|name| registered.contains(name)),
            "{table} names a part that there is no more"
        );
    }
}

fn capacity(name: &str, settings: &str) -> CapacityParts {
    let config: CapacityConfig = serde_json::from_str(&format!("{{\"{name}\": {settings}}}")).unwrap();
    let mut files = |file: &str| -> Result<Box<dyn std::io::BufRead>, String> {
        Ok(Box::new(match file {
            "rates.csv" => &b"time_s,rate_mbps\n0,8\n0.004,0\n0.0071,0.3\n0.02,25\n"[..],
            _ => &b"1\n1\n2\n5\n5\n5\n9\n14\n"[..],
        }))
    };
    CapacityParts::from_config(&config, &mut files).unwrap()
}

fn loss_of(settings: &str) -> LossParts {
    let config: LossConfig = serde_json::from_str(settings).unwrap();
    let rows = b"time_s,loss\n0,0\n0.004,1\n0.0071,0.3\n0.02,0\n";
    LossParts::from_config(&config, &mut |_| Ok(Box::new(&rows[..]))).unwrap()
}

/// A frame as it arrives.
#[derive(Clone, Debug)]
struct Arriving {
    at: u128,
    size: u128,
    flow: u16,
}

fn traffic() -> impl Strategy<Value = Vec<Arriving>> {
    let gap =
        prop_oneof![3 => Just(0u128), 2 => Just(1_000_000), 4 => 0u128..4_000_000, 1 => 0u128..20_000_000];
    let size = prop_oneof![Just(1500u128), 40u128..1500];
    proptest::collection::vec((gap, size, 0..FLOWS as u16), 1..80).prop_map(|frames| {
        let mut at = 0;
        let frames = frames.into_iter().map(|(gap, size, flow)| {
            at += gap;
            Arriving { at, size, flow }
        });
        frames.take_while(|frame| frame.at < END).collect()
    })
}

fn time(nanos: u128) -> Time {
    Time::from_nanos(nanos as u64)
}

/// Writes everything down, and when each frame went into service.
#[derive(Default)]
struct Witness {
    log: Log,
    /// When the server last took a frame, or asked in vain, and whether it was idle until then.
    asked: (u128, bool),
    /// The same when it took each frame that has left, by number.
    taken: HashMap<usize, (u128, bool)>,
}

impl Watch<Packet> for Witness {
    fn on_arrival(&mut self, at: Time, frame: &Packet, backlog: Backlog) {
        self.log.on_arrival(at, frame, backlog);
    }
    fn on_lost(&mut self, lost: Lost<Packet>) {
        self.log.on_lost(lost);
    }
    fn on_departure(&mut self, at: Time, arrived: Time, frame: &Packet, backlog: Backlog) {
        self.log.on_departure(at, arrived, frame, backlog);
        self.taken.insert(frame.number as usize, self.asked);
        self.asked = (u128::from(at.as_nanos()), false);
    }
    fn on_backlog(&mut self, at: Time, _: Backlog) {
        self.asked = (u128::from(at.as_nanos()), true);
    }
}

/// Runs the frames through the link of the engine until [`END`].
fn run(parts: &LinkParts, seed: u64, frames: &[Arriving]) -> (Witness, usize, usize) {
    let (mut link, mut log) = (link(parts, seed), Witness::default());
    let mut out = 0;
    for (number, frame) in frames.iter().enumerate() {
        out += drain(&mut link, time(frame.at), &mut log).len();
        let sized = packet(number as u64, frame.size as u64);
        let codepoint = [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1][usize::from(frame.flow)];
        link.push(time(frame.at), Packet { flow: frame.flow, codepoint, ..sized }, &mut log);
    }
    out += drain(&mut link, time(END), &mut log).len();
    link.advance(time(END), &mut log);
    (log, out, link.inside())
}

#[test]
fn at_start_service_leaves_the_surplus_of_a_rate_to_frames_of_that_rate() {
    // 1501 bytes at 100 Gb/s take 120.08 ns: 0.92 ns are left, 92 bits, which would take 92 us at 1 Mb/s.
    let ends = |at: &str, rates: &str| -> Vec<u128> {
        let steps = capacity("steps", &format!(r#"{{"at": [{at}], "rates": [{rates}], "period": "1 s"}}"#));
        let link = LinkParts { service: Service::AtStart, ..parts(steps) };
        let frames: Vec<Arriving> = (0..2).map(|_| Arriving { at: 0, size: 1501, flow: 0 }).collect();
        Reported::of(&run(&link, 1, &frames).0.log).departures.iter().map(|(at, _)| *at).collect()
    };
    let (fast, slow) = (r#""100 Gb/s""#, r#""1 Mb/s""#);
    for change in ["50 ns", "121 ns"] {
        let slower = ends(&format!(r#""0 s", "{change}""#), &format!("{fast}, {slow}"));
        assert_eq!(slower, [121, 121 + 12_008_000], "{change}");
    }
    let and_back = ends(r#""0 s", "50 ns", "60 ns""#, &format!("{fast}, {slow}, {fast}"));
    assert_eq!(and_back, [121, 241], "120.08 ns each");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn every_queue_on_every_capacity_with_every_loss_does_what_the_reference_does(
        frames in traffic(), seed in 0u64..1000,
    ) {
        for (queue, known, settings) in QUEUES.iter().filter(|(_, known, _)| *known != Known::Elsewhere) {
            let config: QueueConfig = serde_json::from_str(&format!("{{\"{queue}\": {settings}}}")).unwrap();
            for (name, rates) in CAPACITIES {
                let Ok(rates) = rates else { continue };
                for (_, loss) in LOSSES {
                    for service in [Service::Fluid, Service::AtStart] {
                        let loss = loss_of(loss);
                        let groups = (0..FLOWS).map(|flow| format!("f{flow}").into()).collect();
                        let (bdp, delay) = (Bytes::new(9_000), Span::from_micros(700).into());
                        let capacity = capacity(name, rates);
                        let link = LinkParts { queue: config.clone(), service, loss, groups, bdp, delay, ..parts(capacity) };
                        let case = || check(&link, *known, seed, &frames);
                        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
                        prop_assert!(
                            outcome.is_ok(),
                            "queue {} {}, capacity {} {}, {:?}, service {:?}",
                            queue, settings, name, rates, link.loss, service
                        );
                    }
                }
            }
        }
    }
}
