//! Every queue, on every capacity, with every loss and service, against a slow reference ([`plain`]).
//!
//! The parts come from the registries: a new one has no row in the tables below, and the test that walks through them
//! says so. What a queue decides (order, drops) is taken from what the link reports, unless the row says that it is
//! known exactly; when each frame begins and ends, and whether the channel loses it, is always computed anew:
//!
//! - a departure happens in the very nanosecond in which the capacity since the busy period began has carried it;
//! - nothing is sent while the rate is zero, and no server idles while frames wait that may be sent;
//! - the loss draws from its own stream, once for each departure, over exactly the time of the transmission;
//! - a flow's frames leave in order, and none is lost track of;
//! - a class that may not borrow never has more than its share of what was offered, and its bucket.

#[path = "../common/mod.rs"]
mod common;
mod plain;

use std::collections::HashMap;

use proptest::prelude::*;
use varicap_net::capacity::Capacity;
use varicap_net::loss::Loss;
use varicap_net::{
    CapacityConfig, CapacityParts, CapacityProcess, LinkParts, LossCause, LossConfig, LossParts, QueueConfig,
    Service,
};
use varicap_units::{Bytes, Span, Streams, Time};

use common::{Log, Packet, Told, drain, link, packet, parts};
use plain::{BYTE, DropTail, Rates, Server, Transmission};

/// What the reference knows of a queue.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Everything: in front of a server with a rate, which frames it turns away as well.
    Exactly,
    /// It never lets a server idle; its order and its drops are its own.
    WorkConserving,
    /// Its classes wait for their shares: bounded by share times the integral of the rate, and the bucket.
    Shaped,
    /// Not here, but where the comment in the table says.
    Elsewhere,
}

/// Queues by name, with what is known of them and settings that make them act on short runs.
const QUEUES: &[(&str, Known, &str)] = &[
    ("drop-tail", Known::Exactly, r#"{"limit": "6 packets"}"#),
    ("drop-tail", Known::Exactly, r#"{"limit": "7 kB", "counts_in_service": false}"#),
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
    ("markov", r#"{"markov": {"good": "6 ms", "bad": "1 ms", "delivered": 0.9}}"#),
    ("rayleigh", r#"{"rayleigh": {"doppler": "40 Hz", "threshold_db": -8}}"#),
    ("states", r#"{"states": {"delivered": [0, 0.5, 1], "mean_holding": ["1 ms", "2 ms", "9 ms"]}}"#),
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
                 `WorkConserving`, or `Shaped` if it may let the server idle",
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

/// The rates that a run of `seed` meets, from the capacity's own stream.
fn rates(parts: &CapacityParts, seed: u64) -> Rates {
    let mut path = Capacity::new(parts, Streams::new(seed, 0).stream("link.test.capacity"));
    let (mut at, mut found) = (Time::ZERO, Vec::new());
    // Beyond the end, so that what is in service then can be told from what never leaves.
    while u128::from(at.as_nanos()) <= 2 * END {
        let segment = path.segment(at);
        found.push((u128::from(at.as_nanos()), u128::from(segment.rate.as_bps())));
        if segment.until.is_never() {
            break;
        }
        at = segment.until;
    }
    Rates(found)
}

fn server(link: &LinkParts, seed: u64) -> Server {
    match (&link.capacity, link.service) {
        (CapacityParts::Opportunities(parts), _) => {
            let millis = parts.trace.clone();
            let round: Vec<u64> = (*millis).clone().into_millis();
            let period = *round.last().unwrap();
            let instants = (0..).flat_map(|turn| round.iter().map(move |millis| turn * period + millis));
            let instants = instants.map(|millis| u128::from(millis) * 1_000_000);
            Server::Opportunities {
                instants: instants.take_while(|at| *at <= 2 * END).collect(),
                size: u128::from(parts.carried().as_u64()),
                overhead: u128::from(parts.overhead().as_u64()),
                place: 0,
                left: 0,
            }
        }
        (capacity, Service::Fluid) => Server::Fluid { rates: rates(capacity, seed), from: 0, work: 0 },
        (capacity, Service::AtStart) => Server::AtStart { rates: rates(capacity, seed), surplus: 0 },
    }
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

/// Runs the frames through the link of the engine until [`END`].
fn run(parts: &LinkParts, seed: u64, frames: &[Arriving]) -> (Log, usize, usize) {
    let (mut link, mut log) = (link(parts, seed), Log::default());
    let mut out = 0;
    for (number, frame) in frames.iter().enumerate() {
        out += drain(&mut link, time(frame.at), &mut log).len();
        let sized = packet(number as u64, frame.size as u64);
        link.push(time(frame.at), Packet { flow: frame.flow, ecn: number % 2 == 0, ..sized }, &mut log);
    }
    out += drain(&mut link, time(END), &mut log).len();
    link.advance(time(END), &mut log);
    (log, out, link.inside())
}

/// What was reported, by frame: departures in order, and losses.
struct Reported {
    departures: Vec<(u128, usize)>,
    lost: HashMap<usize, (u128, LossCause)>,
}

impl Reported {
    fn of(log: &Log) -> Reported {
        let departures = log.departures().into_iter().map(|(at, number)| (u128::from(at), number as usize));
        let lost =
            log.losses().into_iter().map(|(at, cause, number)| (number as usize, (u128::from(at), cause)));
        Reported { departures: departures.collect(), lost: lost.collect() }
    }
}

/// The channel loses exactly the transmissions that a loss of its own, asked in the same order, would.
fn check_channel(link: &LinkParts, seed: u64, sent: &[(usize, Transmission)], reported: &Reported) {
    let streams = Streams::new(seed, 0);
    let mut loss = Loss::new(&link.loss, |part| streams.stream(&format!("link.test.{part}")));
    for (number, transmission) in sent {
        let Some(end) = transmission.end.filter(|end| *end <= END) else { continue };
        loss.hold_until(time(transmission.begin));
        let is_lost = loss.loses(time(transmission.begin), time(end));
        let channel = reported.lost.get(number).filter(|(_, cause)| *cause == LossCause::Channel);
        assert_eq!(channel.is_some(), is_lost, "frame {number}, sent {transmission:?}");
    }
}

/// Frames of one flow leave in order, and each frame is delivered, lost or inside.
fn check_order(frames: &[Arriving], reported: &Reported, out: usize, inside: usize) {
    assert_eq!(frames.len(), out + reported.lost.len() + inside, "frames were lost track of");
    let mut last = [None; FLOWS];
    for (_, number) in &reported.departures {
        let flow = usize::from(frames[*number].flow);
        assert!(last[flow] < Some(*number), "frame {number} overtook one of its flow");
        last[flow] = Some(*number);
    }
}

/// Each departure, in the order that the queue chose, happens when the reference says.
fn check_times(
    link: &LinkParts,
    seed: u64,
    frames: &[Arriving],
    log: &Log,
    reported: &Reported,
) -> Vec<(usize, Transmission)> {
    let (mut server, mut free) = (server(link, seed), 0);
    let mut sent = Vec::new();
    for (at, number) in &reported.departures {
        let Arriving { at: arrived, size, .. } = frames[*number];
        let transmission = server.send(arrived, free, size);
        assert_eq!(
            transmission.end,
            Some(*at),
            "frame {number} of {size} B, arrived at {arrived}, after {free}"
        );
        // A server that was idle until this frame came left nothing waiting.
        if arrived >= free && !matches!(server, Server::Opportunities { .. }) {
            let waited = log.0.iter().find_map(|told| match told {
                Told::Arrival { number: told, backlog, .. } if *told as usize == *number => Some(*backlog),
                _ => None,
            });
            assert_eq!(waited, Some(0), "the server idled until frame {number} came, although frames waited");
        }
        free = *at;
        sent.push((*number, transmission));
    }
    sent
}

/// A class that may not borrow: never more than its share of what was offered, and its bucket of four packets.
fn check_shares(link: &LinkParts, seed: u64, frames: &[Arriving], reported: &Reported) {
    let offered = |until: u128| match server(link, seed) {
        Server::Fluid { rates, .. } | Server::AtStart { rates, .. } => rates.offered(0, until),
        Server::Opportunities { instants, size, .. } => {
            instants.iter().filter(|at| **at <= until).count() as u128 * size * BYTE
        }
    };
    for (is_first, quarters) in [(true, 1), (false, 2)] {
        let mut work = 0;
        for (at, number) in &reported.departures {
            let frame = &frames[*number];
            if (frame.flow == 0) == is_first {
                work += frame.size * BYTE;
                let most = offered(*at) * quarters / 4 + 4 * 1500 * BYTE;
                assert!(work <= most, "at {at} the class had {work} of at most {most} nanobits");
            }
        }
    }
}

fn limits_of(settings: &str) -> DropTail {
    let in_packets = settings.contains("packets");
    DropTail {
        frames: if in_packets { 6 } else { usize::MAX },
        bytes: if in_packets { u128::MAX } else { 7_000 },
        counts_in_service: !settings.contains("false"),
    }
}

fn check(link: &LinkParts, known: Known, settings: &str, seed: u64, frames: &[Arriving]) {
    let (log, out, inside) = run(link, seed, frames);
    let reported = Reported::of(&log);
    check_order(frames, &reported, out, inside);
    if known == Known::Shaped {
        return check_shares(link, seed, frames, &reported);
    }
    let sent = check_times(link, seed, frames, &log, &reported);
    check_channel(link, seed, &sent, &reported);
    if known == Known::Exactly && !matches!(link.capacity, CapacityParts::Opportunities(_)) {
        let mut server = server(link, seed);
        let offered: Vec<(u128, u128)> = frames.iter().map(|frame| (frame.at, frame.size)).collect();
        let fates = limits_of(settings).run(&mut server, &offered);
        for (number, fate) in fates.iter().enumerate() {
            let overflow = reported.lost.get(&number).is_some_and(|(_, cause)| *cause == LossCause::Overflow);
            assert_eq!(fate.is_none(), overflow, "frame {number} of {:?}", frames[number]);
        }
    }
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
                        let loss = LossParts::new(&serde_json::from_str::<LossConfig>(loss).unwrap()).unwrap();
                        let groups = (0..FLOWS).map(|flow| format!("f{flow}").into()).collect();
                        let (bdp, delay) = (Bytes::new(9_000), Span::from_micros(700));
                        let capacity = capacity(name, rates);
                        let link = LinkParts { queue: config.clone(), service, loss, groups, bdp, delay, ..parts(capacity) };
                        let case = || check(&link, *known, settings, seed, &frames);
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
