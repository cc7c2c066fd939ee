//! Flow queueing with CoDel, driven by itself, against the rules of RFC 8290.

use crate::common;

use common::{Log, Packet, Told, capable, ms, packet};
use varicap_net::queue::{FqCoDel, QueueDiscipline, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{FqCoDelConfig, Framing, LossCause};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

const RATE: Rate = Rate::from_bps(8_000_000);
const BUSY: Transmitter = Transmitter { state: TransmitterState::Busy(Bytes::new(1000)), rate: RATE };
const SUPPLY: Supply = Supply {
    rate: RATE,
    offered: None,
    framing: Framing { overhead: Bytes::ZERO, cells: None, in_queue: false },
};

fn streams(part: &str) -> Stream {
    Streams::new(1, 0).stream(&format!("link.a.{part}"))
}

const SITE: Site<'_> = Site {
    packet: Bytes::new(1000),
    bdp: Bytes::new(10_000),
    overhead: Bytes::ZERO,
    framed: Bytes::ZERO,
    groups: &[],
    name: "queue",
    streams: &streams,
};

/// Quanta of a packet of 1000 bytes.
fn config() -> FqCoDelConfig {
    FqCoDelConfig { quantum: Bytes::new(1000), ..FqCoDelConfig::default() }
}

fn queue(config: &FqCoDelConfig) -> FqCoDel<Packet> {
    FqCoDel::new(config, &SITE)
}

fn push(queue: &mut FqCoDel<Packet>, at: Time, flow: u16, number: u64, log: &mut Log) {
    queue.enqueue(at, Packet { flow, ..packet(number, 1000) }, BUSY, log);
}

fn flows(queue: &mut FqCoDel<Packet>, at: Time, count: usize, log: &mut Log) -> Vec<u16> {
    std::iter::from_fn(|| queue.dequeue(at, SUPPLY, log)).take(count).map(|next| next.frame.flow).collect()
}

#[test]
fn queues_are_served_in_turn() {
    let (mut queue, mut log) = (queue(&config()), Log::default());
    for flow in [1, 1, 1, 2, 2, 2, 3, 3, 3] {
        push(&mut queue, ms(0), flow, 0, &mut log);
    }
    assert_eq!(flows(&mut queue, ms(0), 9, &mut log), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

/// §4.2: a queue sends as long as its credits are above zero, and owes what it has sent too much.
#[test]
fn bytes_are_shared_however_large_the_packets() {
    let config = FqCoDelConfig { quantum: Bytes::new(1500), ..config() };
    let (mut queue, mut log) = (queue(&config), Log::default());
    for number in 0..300 {
        queue.enqueue(ms(0), Packet { flow: 1, ..packet(number, 1500) }, BUSY, &mut log);
        (0..5).for_each(|_| {
            queue.enqueue(ms(0), Packet { flow: 2, ..packet(number, 300) }, BUSY, &mut log);
        });
    }
    let mut bytes = [0u64; 2];
    for _ in 0..600 {
        let next = queue.dequeue(ms(0), SUPPLY, &mut log).unwrap().frame;
        bytes[usize::from(next.flow) - 1] += next.size.as_u64();
        assert!(bytes[0].abs_diff(bytes[1]) <= 3000, "{bytes:?}");
    }
}

/// §4.1.2: a queue that was not active is a new one, and new ones come first.
#[test]
fn a_new_flow_comes_before_those_that_have_had_their_quantum() {
    let (mut queue, mut log) = (queue(&config()), Log::default());
    for flow in [1, 1, 1, 2, 2, 2] {
        push(&mut queue, ms(0), flow, 0, &mut log);
    }
    assert_eq!(flows(&mut queue, ms(0), 3, &mut log), [1, 2, 1]);
    push(&mut queue, ms(0), 3, 0, &mut log);
    assert_eq!(flows(&mut queue, ms(0), 3, &mut log), [3, 2, 1]);
}

/// §4.2: a new queue that runs empty becomes an old one. Its next packet, if it comes before its turn, is not new again.
#[test]
fn a_sparse_flow_is_new_only_once_in_a_round() {
    let (mut queue, mut log) = (queue(&config()), Log::default());
    for flow in [1, 1, 1, 1, 2, 2, 2, 2] {
        push(&mut queue, ms(0), flow, 0, &mut log);
    }
    assert_eq!(flows(&mut queue, ms(0), 2, &mut log), [1, 2]);
    push(&mut queue, ms(0), 3, 0, &mut log);
    // Flow 3 at once; then it is found empty, and stands behind flows 1 and 2.
    assert_eq!(flows(&mut queue, ms(0), 2, &mut log), [3, 1]);
    push(&mut queue, ms(0), 3, 0, &mut log);
    assert_eq!(flows(&mut queue, ms(0), 3, &mut log), [2, 3, 1]);
}

/// §4.1: half the packets of the longest queue go, from its head.
#[test]
fn a_full_queue_drops_from_the_head_of_the_longest() {
    let config = FqCoDelConfig { limit: Amount::Packets(10), ..config() };
    let (mut queue, mut log) = (queue(&config), Log::default());
    (0..8).for_each(|number| push(&mut queue, ms(0), 1, number, &mut log));
    (8..11).for_each(|number| push(&mut queue, ms(1), 2, number, &mut log));
    let lost: Vec<(LossCause, u64)> =
        log.losses().into_iter().map(|(_, cause, number)| (cause, number)).collect();
    assert_eq!(lost, (0..4).map(|number| (LossCause::Overflow, number)).collect::<Vec<_>>());
    // 64 at most.
    let config = FqCoDelConfig { limit: Amount::Packets(1000), ..config };
    let (mut queue, mut log) = (self::queue(&config), Log::default());
    (0..1001).for_each(|number| push(&mut queue, ms(0), 1, number, &mut log));
    assert_eq!(log.losses().len(), 64);
}

/// A limit in bytes holds, even where the half of the longest queue is less than what came.
#[test]
fn a_limit_in_bytes_holds() {
    let config = FqCoDelConfig { limit: Amount::Bytes(Bytes::new(2000)), ..config() };
    let (mut queue, mut log) = (queue(&config), Log::default());
    for number in 0..20 {
        queue.enqueue(ms(0), packet(number, 100), BUSY, &mut log);
    }
    queue.enqueue(ms(0), Packet { flow: 1, ..packet(20, 1500) }, BUSY, &mut log);
    assert!(queue.backlog().bytes <= Bytes::new(2000), "{:?}", queue.backlog());
    queue.enqueue(ms(0), packet(21, 2001), BUSY, &mut log);
    assert_eq!(log.losses().last().unwrap().2, 21);
}

/// §4.2: CoDel decides in each queue: the one that stands is marked or loses, the other does not.
#[test]
fn only_the_flow_that_keeps_a_queue_is_marked() {
    for ecn in [true, false] {
        let (mut queue, mut log) = (queue(&config()), Log::default());
        for now in 0..1000 {
            // Flow 1 keeps 30 packets there; flow 2 comes once in 4 ms.
            let codepoint = capable(ecn);
            while queue.backlog().frames < 30 {
                queue.enqueue(ms(now), Packet { flow: 1, codepoint, ..packet(now, 1000) }, BUSY, &mut log);
            }
            if now % 4 == 0 {
                queue.enqueue(
                    ms(now),
                    Packet { flow: 2, codepoint, ..packet(5000 + now, 1000) },
                    BUSY,
                    &mut log,
                );
            }
            queue.dequeue(ms(now), SUPPLY, &mut log);
        }
        let marked = |told: &&Told| matches!(told, Told::Mark { number, .. } if *number < 5000);
        let (marks, losses) = (log.0.iter().filter(marked).count(), log.losses());
        assert!(losses.iter().all(|(_, cause, number)| (*cause, *number < 5000) == (LossCause::Aqm, true)));
        let all = log.0.iter().filter(|told| matches!(told, Told::Mark { .. })).count();
        assert_eq!(
            (marks == all, marks > 5, losses.len() > 5),
            (true, ecn, !ecn),
            "{marks} {}",
            losses.len()
        );
    }
}

#[test]
fn one_queue_is_codel_for_all() {
    let config = FqCoDelConfig { queues: 1, ..config() };
    let (mut queue, mut log) = (queue(&config), Log::default());
    for flow in [1, 1, 1, 2, 2, 3] {
        push(&mut queue, ms(0), flow, 0, &mut log);
    }
    assert_eq!(flows(&mut queue, ms(0), 6, &mut log), [1, 1, 1, 2, 2, 3]);
}

/// Many flows fall into as many queues as a random hash would fill: of 1024, 1000 flows fill 1024 (1 - e^(-1000/1024)) = 638
/// or so, with a standard deviation below 10.
#[test]
fn flows_are_spread_over_the_queues() {
    let (mut queue, mut log) = (queue(&config()), Log::default());
    for flow in 0..1000 {
        (0..2).for_each(|_| push(&mut queue, ms(0), flow, u64::from(flow), &mut log));
    }
    // In the first round each queue sends one packet; then the first one comes again.
    let first = queue.dequeue(ms(0), SUPPLY, &mut log).unwrap().frame.flow;
    let again = std::iter::from_fn(|| queue.dequeue(ms(0), SUPPLY, &mut log));
    let filled = 1 + again.take_while(|next| next.frame.flow != first).count();
    assert!((600..=676).contains(&filled), "{filled}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let faulty = |config: FqCoDelConfig| config.check().unwrap_err().key;
    assert_eq!(FqCoDelConfig::default().check(), Ok(()));
    assert_eq!(faulty(FqCoDelConfig { queues: 0, ..config() }), "queues");
    assert_eq!(faulty(FqCoDelConfig { quantum: Bytes::new(99), ..config() }), "quantum");
    assert_eq!(faulty(FqCoDelConfig { target: Span::from_secs(1), ..config() }), "target");
}
