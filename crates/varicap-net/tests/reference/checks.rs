//! Checks of each frame that the link reports.

use std::collections::HashMap;

use varicap_net::capacity::Capacity;
use varicap_net::loss::Loss;
use varicap_net::{
    CapacityParts, CapacityProcess, DropTailConfig, LinkParts, LossCause, QueueConfig, Service, Ties,
};
use varicap_units::{Amount, Streams, Time};

use crate::common::{Log, Told};
use crate::plain::{BYTE, DropTail, Rates, Server, Transmission};
use crate::{Arriving, END, FLOWS, Known, Witness, run, time};

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

/// The reports, by frame: departures in order, and losses.
pub struct Reported {
    pub departures: Vec<(u128, usize)>,
    lost: HashMap<usize, (u128, LossCause)>,
}

impl Reported {
    pub fn of(log: &Log) -> Reported {
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
    let QueueConfig::DropTail(DropTailConfig { limit, counts_in_service, ties }) = link.queue else {
        panic!("{:?} is not known exactly", link.queue)
    };
    let (frames, bytes) = match limit {
        Amount::Packets(packets) => (packets as usize, u128::MAX),
        Amount::Bytes(bytes) => (usize::MAX, u128::from(bytes.as_u64())),
        other => panic!("{other:?} is not a limit of the table"),
    };
    DropTail { frames, bytes, counts_in_service, arrivals_first: ties == Ties::ArrivalsFirst }
}

/// All of it, for the frames that a link of `known` behaviour was given.
pub fn check(link: &LinkParts, known: Known, seed: u64, frames: &[Arriving]) {
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
