//! Fair queueing: shares of flows with frames of unequal sizes, weights, and who loses.

use crate::common;

use std::sync::Arc;

use common::{Log, Packet, constant, drain, link, ms, packet, parts};
use proptest::prelude::*;
use varicap_net::queue::{Drr, QueueDiscipline, Sfq, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{DropFrom, DrrConfig, Framing, LinkParts, QueueConfig, SfqConfig};
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

const RATE: Rate = Rate::from_bps(8_000_000);
const BUSY: Transmitter = Transmitter { state: TransmitterState::Busy(Bytes::new(1000)), rate: RATE };
const SUPPLY: Supply = Supply {
    rate: RATE,
    offered: None,
    framing: Framing { overhead: Bytes::ZERO, cells: None, in_queue: false },
};

const UNLIMITED: Amount = Amount::Unlimited;

/// Flows a, b, c and d over a link.
fn four() -> LinkParts {
    LinkParts { groups: ["a", "b", "c", "d"].map(Arc::from).into(), ..parts(constant(8_000_000)) }
}

fn frame(number: u64, flow: u16, size: u64) -> Packet {
    Packet { flow, ..packet(number, size) }
}

/// Random streams, of which fair queueing draws nothing.
fn streams(part: &str) -> Stream {
    Streams::new(1, 0).stream(part)
}

fn drr(config: &DrrConfig) -> Drr<Packet> {
    Drr::new(config, &Site::of(&four(), &streams))
}

fn sfq(config: &SfqConfig) -> Sfq<Packet> {
    Sfq::new(config, &Site::of(&four(), &streams))
}

/// Bytes that each flow gets served of, frame by frame, while every flow of `sizes` always has frames waiting.
fn served<Q: QueueDiscipline<Packet>>(queue: &mut Q, sizes: &[u64], frames: usize) -> Vec<Vec<u64>> {
    let mut log = Log::default();
    for (flow, &size) in sizes.iter().enumerate() {
        (0..frames).for_each(|_| queue.enqueue(ms(0), frame(0, flow as u16, size), BUSY, &mut log));
    }
    let mut sums = vec![0; sizes.len()];
    let step = |_| {
        let next = queue.dequeue(ms(0), SUPPLY, &mut Log::default()).unwrap().frame;
        sums[usize::from(next.flow)] += next.size.as_u64();
        sums.clone()
    };
    (0..frames).map(step).collect()
}

fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
}

#[test]
fn drr_is_fair_within_a_quantum_and_a_frame_whatever_the_sizes() {
    for quantum in [100, 500, 1500, 4000] {
        let config = DrrConfig {
            limit: UNLIMITED,
            quantum: Amount::Bytes(Bytes::new(quantum)),
            ..DrrConfig::default()
        };
        for sums in served(&mut drr(&config), &[1500, 40, 700, 999], 2000) {
            // [shreedhar96, Lemma 2]: k Q - Max < sent <= k Q + Max after k rounds, of which flows differ by one.
            let spread = spread(sums.iter().map(|sum| *sum as f64));
            assert!(spread <= (quantum + 2 * 1500) as f64, "{spread} at {quantum}");
        }
    }
}

#[test]
fn sfq_is_fair_within_a_frame_of_each_flow() {
    let config = SfqConfig { limit: UNLIMITED, ..SfqConfig::default() };
    let sizes = [1500, 40, 700, 999];
    for sums in served(&mut sfq(&config), &sizes, 2000) {
        for (one, other) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            // [goyal97, Theorem 1].
            assert!(sums[one].abs_diff(sums[other]) <= sizes[one] + sizes[other]);
        }
    }
}

#[test]
fn weights_divide_the_capacity() {
    let weights = [("a".to_owned(), 3.0), ("b".to_owned(), 0.5)];
    let config = SfqConfig { limit: UNLIMITED, weights: weights.clone().into(), ..SfqConfig::default() };
    let (sizes, of) = ([1500, 500, 900], [3.0, 0.5, 1.0]);
    for sums in served(&mut sfq(&config), &sizes, 2000) {
        let normal: Vec<f64> = (0..3).map(|flow| sums[flow] as f64 / of[flow]).collect();
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let bound = sizes[one] as f64 / of[one] + sizes[other] as f64 / of[other];
            assert!((normal[one] - normal[other]).abs() <= bound, "{sums:?}");
        }
    }
    let config = DrrConfig { limit: UNLIMITED, weights: weights.into(), ..DrrConfig::default() };
    let sums = served(&mut drr(&config), &sizes, 2000).pop().unwrap();
    let normal = (0..3).map(|flow| sums[flow] as f64 / of[flow]);
    assert!(spread(normal.clone()) < 2.0 * (1500.0 + 1500.0 / 0.5), "{sums:?}");
}

/// The shares that flows get [B] of a link of 1 MB/s in a second, of which each offers the given bytes in frames of a size of its own.
fn shares(queue: QueueConfig, offered: &[(u64, u64)]) -> Vec<u64> {
    let mut link = link(&LinkParts { queue, ..four() }, 1);
    let (mut log, mut now, mut sizes) = (Log::default(), Time::ZERO, Vec::new());
    let mut sent = vec![0; offered.len()];
    let mut got = vec![0; offered.len()];
    while now < ms(1000) {
        for (out, number) in drain(&mut link, now, &mut log) {
            let (flow, size): (usize, u64) = sizes[number as usize];
            got[flow] += size * u64::from(out >= ms(200));
        }
        for (flow, &(total, size)) in offered.iter().enumerate() {
            while u128::from(sent[flow]) * 1_000_000_000 < u128::from(total) * u128::from(now.as_nanos()) {
                link.push(now, frame(sizes.len() as u64, flow as u16, size), &mut log);
                sizes.push((flow, size));
                sent[flow] += size;
            }
        }
        now += Span::from_micros(100);
    }
    got
}

#[test]
fn what_a_modest_flow_leaves_is_shared_by_the_others() {
    // 1 MB/s: a takes its 100 kB/s, b its 200 kB/s, c and d have 350 kB/s each; 0.8 s of it are counted.
    let offered = [(100_000, 100), (200_000, 1500), (900_000, 1500), (700_000, 300)];
    let limit = Amount::Packets(40);
    for (name, queue) in [
        ("drr", QueueConfig::Drr(DrrConfig { limit, ..DrrConfig::default() })),
        ("sfq", QueueConfig::Sfq(SfqConfig { limit, ..SfqConfig::default() })),
    ] {
        let got = shares(queue, &offered);
        for (flow, law) in [80_000, 160_000, 280_000, 280_000].into_iter().enumerate() {
            assert!(got[flow].abs_diff(law) <= 10_000, "{name}: {got:?}");
        }
    }
}

#[test]
fn the_longest_queue_loses_and_the_others_do_not() {
    let config = SfqConfig { limit: Amount::Packets(10), ..SfqConfig::default() };
    let (mut queue, mut log) = (sfq(&config), Log::default());
    (0..10).for_each(|number| queue.enqueue(ms(0), frame(number, 0, 1000), BUSY, &mut log));
    queue.enqueue(ms(0), frame(10, 1, 1000), BUSY, &mut log);
    assert_eq!(log.losses().iter().map(|lost| lost.2).collect::<Vec<_>>(), [9], "its last one");
    queue.enqueue(ms(0), frame(11, 0, 1000), BUSY, &mut log);
    assert_eq!(log.losses().last().unwrap().2, 11);
    let config = SfqConfig { drop: DropFrom::Arriving, ..config };
    let (mut queue, mut log) = (sfq(&config), Log::default());
    (0..10).for_each(|number| queue.enqueue(ms(0), frame(number, 0, 1000), BUSY, &mut log));
    queue.enqueue(ms(0), frame(10, 1, 1000), BUSY, &mut log);
    assert_eq!(log.losses().last().unwrap().2, 10);
}

#[test]
fn a_flow_has_a_limit_of_its_own() {
    let flow_limit = Some(Amount::Packets(3));
    let config = DrrConfig { limit: Amount::Packets(100), flow_limit, ..DrrConfig::default() };
    let (mut queue, mut log) = (drr(&config), Log::default());
    (0..10).for_each(|number| queue.enqueue(ms(0), frame(number, number as u16 % 2, 1000), BUSY, &mut log));
    assert_eq!((queue.backlog().frames, log.losses().len()), (6, 4));
}

#[test]
fn a_flow_that_comes_back_has_saved_nothing_up() {
    let config = SfqConfig { limit: UNLIMITED, ..SfqConfig::default() };
    let (mut queue, mut log) = (sfq(&config), Log::default());
    (0..100).for_each(|number| queue.enqueue(ms(0), frame(number, 0, 1000), BUSY, &mut log));
    for _ in 0..50 {
        queue.dequeue(ms(1), SUPPLY, &mut log);
    }
    (100..120).for_each(|number| queue.enqueue(ms(2), frame(number, 1, 1000), BUSY, &mut log));
    let next: Vec<u16> = (0..6).map(|_| queue.dequeue(ms(3), SUPPLY, &mut log).unwrap().frame.flow).collect();
    assert_eq!(next.iter().filter(|flow| **flow == 1).count(), 3, "{next:?}");
}

/// A queue of either kind.
fn any_fair() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1u64..20).prop_map(Amount::Packets),
        (3_000u64..20_000).prop_map(|bytes| Amount::Bytes(Bytes::new(bytes))),
        Just(UNLIMITED),
    ];
    let drop = prop_oneof![Just(DropFrom::Longest), Just(DropFrom::Arriving)];
    let flow_limit = proptest::option::of((1u64..6).prop_map(Amount::Packets));
    (limit, drop, flow_limit, any::<bool>(), 0.1f64..10.0).prop_map(
        |(limit, drop, flow_limit, virtual_time, weight)| {
            let weights = [("b".to_owned(), weight)].into();
            if virtual_time {
                QueueConfig::Sfq(SfqConfig { limit, drop, flow_limit, weights, ..SfqConfig::default() })
            } else {
                QueueConfig::Drr(DrrConfig { limit, drop, flow_limit, weights, ..DrrConfig::default() })
            }
        },
    )
}

/// Arrivals: time since the one before [ns], flow, size.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, u16, u64)>> {
    let gap = prop_oneof![Just(0u64), 0u64..3_000_000];
    proptest::collection::vec((gap, 0u16..6, prop_oneof![Just(1500u64), 40u64..3000]), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_flow_stays_in_order_and_nothing_is_lost_from_sight(queue in any_fair(), traffic in any_traffic()) {
        let parts = LinkParts { queue, ..four() };
        let (mut link, mut log, mut now) = (link(&parts, 1), Log::default(), Time::ZERO);
        let mut out = Vec::new();
        for (number, &(gap, flow, size)) in traffic.iter().enumerate() {
            now += Span::from_nanos(gap);
            out.extend(drain(&mut link, now, &mut log));
            link.push(now, frame(number as u64, flow, size), &mut log);
        }
        out.extend(drain(&mut link, ms(5_000), &mut log));
        prop_assert_eq!(link.inside(), 0);
        let told = log.departures();
        prop_assert_eq!(out.len() + log.losses().len(), traffic.len());
        for flow in 0..6 {
            let own: Vec<u64> = out.iter().map(|(_, number)| *number).filter(|n| traffic[*n as usize].1 == flow).collect();
            prop_assert!(own.is_sorted());
        }
        if log.losses().is_empty() {
            // Never idle while something waits: the last leaves when it would leave any queue.
            let mut plain = common::link(&LinkParts { queue: common::parts(constant(1)).queue, ..parts }, 1);
            let (mut log, mut now) = (Log::default(), Time::ZERO);
            for (number, &(gap, flow, size)) in traffic.iter().enumerate() {
                now += Span::from_nanos(gap);
                drain(&mut plain, now, &mut log);
                plain.push(now, frame(number as u64, flow, size), &mut log);
            }
            drain(&mut plain, ms(5_000), &mut log);
            prop_assert_eq!(log.departures().last().map(|last| last.0), told.last().map(|last| last.0));
        }
    }
}
