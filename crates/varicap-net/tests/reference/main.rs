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

#[path = "../common/mod.rs"]
mod common;
mod plain;

use std::collections::HashMap;

use proptest::prelude::*;
use varicap_net::capacity::Capacity;
use varicap_net::loss::Loss;
use varicap_net::{
    Backlog, CapacityConfig, CapacityParts, CapacityProcess, Codepoint, DropTailConfig, LinkParts, LossCause,
    LossConfig, LossParts, Lost, QueueConfig, Service, Watch,
};
use varicap_units::{Amount, Bytes, Span, Streams, Time};

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
    /// A frame begins when the server is free and a bucket has its tokens, in the very nanosecond.
    Bucketed,
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
        (capacity, Service::AtStart) => Server::AtStart { rates: rates(capacity, seed), surplus: 0, rate: 0 },
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
    let mut loss = Loss::new(&link.loss, "test", &streams);
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

/// The frame that arrived at `arrived`, after one that left at `free`, left at `at`, as the reference says.
fn left_at(at: u128, server: &mut Server, [arrived, free]: [u128; 2], size: u128) -> Transmission {
    let transmission = server.send(arrived, free, size);
    assert_eq!(transmission.end, Some(at), "a frame of {size} B, arrived at {arrived}, after {free}");
    transmission
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
        let transmission = left_at(*at, &mut server, [arrived, free], size);
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
    check_last(link, frames, reported, &server, free);
    sent
}

/// Of the frames that had not left by [`END`], one has been in service since `free`, or since it came, and takes longer.
fn check_last(link: &LinkParts, frames: &[Arriving], reported: &Reported, server: &Server, free: u128) {
    let left: std::collections::HashSet<usize> =
        reported.departures.iter().map(|(_, number)| *number).collect();
    let stays = |number: &usize| !left.contains(number) && !reported.lost.contains_key(number);
    let staying: Vec<&Arriving> = (0..frames.len()).filter(stays).map(|number| &frames[number]).collect();
    let Some(first) = staying.first() else { return };
    // The frames that were there when the server took one: any of them, where the queue chooses.
    let taken = first.at.max(free);
    let is_in_order = matches!(link.queue, QueueConfig::DropTail(_));
    let mut candidates =
        staying.iter().filter(|frame| frame.at <= taken).take(if is_in_order { 1 } else { FLOWS * 80 });
    let stays_until =
        |frame: &&Arriving| server.clone().send(frame.at, free, frame.size).end.is_none_or(|end| end > END);
    assert!(candidates.any(stays_until), "from {taken} on the server idled although frames waited");
}

/// Each departure happens when the reference says, if the frame went into service when the engine says.
fn check_ends(
    link: &LinkParts,
    seed: u64,
    frames: &[Arriving],
    reported: &Reported,
    taken: &HashMap<usize, (u128, bool)>,
) -> Vec<(usize, Transmission)> {
    let (mut server, mut free) = (server(link, seed), 0);
    let mut sent = Vec::new();
    for (at, number) in &reported.departures {
        let Arriving { at: arrived, size, .. } = frames[*number];
        let (begin, was_idle) = taken[number];
        assert!(begin >= arrived.max(free), "frame {number} began at {begin}, before {arrived} or {free}");
        // A server that idled begins anew; one that did not goes on where it was.
        let ready = if was_idle { begin } else { arrived };
        assert!(was_idle || arrived < free, "frame {number} met an idle server at {arrived}");
        sent.push((*number, left_at(*at, &mut server, [ready, free], size)));
        free = *at;
    }
    sent
}

/// A class that may not borrow and has frames waiting gets its share of what is offered. It may lack a packet for which
/// its bucket has not enough, and wait for the bucket of the other class and the frame in service.
fn check_progress(link: &LinkParts, seed: u64, frames: &[Arriving], reported: &Reported) {
    let Server::Fluid { rates, .. } = server(link, seed) else { panic!("fluid service is asked for") };
    const LACKS: u128 = (1 + 4 + 1) * 1500 * BYTE;
    for (is_first, quarters) in [(true, 1), (false, 2)] {
        let mine = |number: usize| (frames[number].flow == 0) == is_first;
        let came =
            (0..frames.len()).filter(|number| mine(*number)).map(|number| (frames[number].at, true, 0));
        let went = reported.departures.iter().filter(|(_, number)| mine(*number));
        let went = went.map(|(at, number)| (*at, false, frames[*number].size));
        let lost = reported
            .lost
            .iter()
            .filter(|(number, (_, cause))| mine(**number) && *cause != LossCause::Channel);
        let lost = lost.map(|(_, (at, _))| (*at, false, 0));
        let mut events: Vec<(u128, bool, u128)> = came.chain(went).chain(lost).collect();
        events.sort_unstable();
        let (mut inside, mut since, mut work) = (0, 0, 0);
        for (at, comes, size) in events.into_iter().chain([(END, true, 0)]) {
            if inside > 0 {
                let due = rates.offered(since, at) * quarters / 4;
                assert!(work + LACKS >= due, "from {since} to {at} the class had {work} of {due} nanobits");
            } else {
                (since, work) = (at, 0);
            }
            work += size * BYTE;
            inside = if comes { inside + 1 } else { inside - 1 };
        }
    }
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

/// A shaper: each frame begins as soon as it is there, the server is free and the bucket has its tokens; at opportunities, where
/// the server asks at its own times, not before that.
fn check_bucket(
    link: &LinkParts,
    frames: &[Arriving],
    reported: &Reported,
    taken: &HashMap<usize, (u128, bool)>,
) {
    let QueueConfig::Shaper(config) = &link.queue else { panic!("{:?} is no shaper", link.queue) };
    let rate = u128::from(config.rate.as_bps());
    let depth = u128::from(config.burst.bytes(link.packet, link.bdp).as_u64()) * BYTE;
    let asks_at_will = !matches!(link.capacity, CapacityParts::Opportunities(_));
    let (mut tokens, mut settled, mut free) = (depth, 0, 0);
    for (at, number) in &reported.departures {
        let (frame, (begin, _)) = (&frames[*number], taken[number]);
        let work = frame.size * BYTE;
        let ready = frame.at.max(free).max(settled + work.saturating_sub(tokens).div_ceil(rate));
        if asks_at_will {
            assert_eq!(begin, ready, "frame {number} of {} B, after {free}", frame.size);
        }
        assert!(begin >= ready, "frame {number} began at {begin}, before {ready}");
        tokens = (tokens + rate * (begin - settled)).min(depth) - work;
        (settled, free) = (begin, *at);
    }
}

fn limits_of(link: &LinkParts) -> DropTail {
    let QueueConfig::DropTail(DropTailConfig { limit, counts_in_service }) = link.queue else {
        panic!("{:?} is not known exactly", link.queue)
    };
    let (frames, bytes) = match limit {
        Amount::Packets(packets) => (packets as usize, u128::MAX),
        Amount::Bytes(bytes) => (usize::MAX, u128::from(bytes.as_u64())),
        other => panic!("{other:?} is not a limit of the table"),
    };
    DropTail { frames, bytes, counts_in_service }
}

fn check(link: &LinkParts, known: Known, seed: u64, frames: &[Arriving]) {
    let (Witness { log, taken, .. }, out, inside) = run(link, seed, frames);
    let reported = Reported::of(&log);
    check_order(frames, &reported, out, inside);
    if known == Known::Shaped {
        check_shares(link, seed, frames, &reported);
        if let CapacityParts::Opportunities(_) = link.capacity {
            return;
        }
        if link.service == Service::Fluid {
            check_progress(link, seed, frames, &reported);
        }
        let sent = check_ends(link, seed, frames, &reported, &taken);
        return check_channel(link, seed, &sent, &reported);
    }
    if known == Known::Bucketed {
        check_bucket(link, frames, &reported, &taken);
        if let CapacityParts::Opportunities(_) = link.capacity {
            return;
        }
        let sent = check_ends(link, seed, frames, &reported, &taken);
        return check_channel(link, seed, &sent, &reported);
    }
    let sent = check_times(link, seed, frames, &log, &reported);
    check_channel(link, seed, &sent, &reported);
    if known == Known::Exactly && !matches!(link.capacity, CapacityParts::Opportunities(_)) {
        let mut server = server(link, seed);
        let offered: Vec<(u128, u128)> = frames.iter().map(|frame| (frame.at, frame.size)).collect();
        let mut end = |arrived: u128, free: u128, size: u128| server.send(arrived, free, size).end;
        let admitted = limits_of(link).run(&mut end, &offered);
        for (number, is_admitted) in admitted.into_iter().enumerate() {
            let overflow = reported.lost.get(&number).is_some_and(|(_, cause)| *cause == LossCause::Overflow);
            assert_eq!(!is_admitted, overflow, "frame {number} of {:?}", frames[number]);
        }
    }
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
