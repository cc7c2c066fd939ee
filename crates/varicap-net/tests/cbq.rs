//! Class-based queueing: shares with and without borrowing, priorities, and the queues inside.

use crate::common;

use std::sync::Arc;

use common::{Log, Packet, Told, constant, drain, link, ms, packet, parts};
use proptest::prelude::*;
use varicap_net::{
    CapacityConfig, CapacityParts, CbqClass, CbqConfig, DropTailConfig, EredConfig, LinkParts, LossCause,
    OpportunityParts, OpportunityTrace, QueueConfig, RedConfig, StepsConfig, TraceOffset,
};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Time};

/// A class of the flows a, b, … at these places.
fn class(flows: &[usize], share: f64) -> CbqClass {
    let tail = DropTailConfig { limit: Amount::Packets(50), counts_in_service: false, ..Default::default() };
    CbqClass {
        flows: Some(flows.iter().map(|flow| NAMES[*flow].to_owned()).collect()),
        share: Probability::new(share).unwrap(),
        queue: QueueConfig::DropTail(tail),
        priority: 1,
        borrow: true,
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A link of 1 MB/s with these classes.
fn shared(classes: &[CbqClass]) -> LinkParts {
    let named = classes.iter().enumerate().map(|(number, class)| (format!("class {number}"), class.clone()));
    LinkParts {
        queue: QueueConfig::Cbq(CbqConfig { classes: named.collect() }),
        groups: NAMES.map(Arc::from).into(),
        packet: Bytes::new(1000),
        ..parts(constant(8_000_000))
    }
}

/// The traffic of a source: flow, bytes per second, size of its frames, from and until when [ms].
type Source = (u16, u64, u64, u64, u64);

/// Frames that left the server: when they arrived and left, flow and size.
type Left = Vec<(Time, Time, usize, u64)>;

/// Lets the sources send for a second over a link.
fn run(parts: &LinkParts, sources: &[Source]) -> Left {
    let (mut link, mut log, mut now) = (link(parts, 1), Log::default(), Time::ZERO);
    let (mut frames, mut sent) = (Vec::new(), vec![0u64; sources.len()]);
    while now < ms(1000) {
        drain(&mut link, now, &mut log);
        for (&(flow, rate, size, from, until), sent) in sources.iter().zip(&mut sent) {
            let since = now.min(ms(until)).as_nanos().saturating_sub(ms(from).as_nanos());
            while u128::from(*sent) * 1_000_000_000 < u128::from(rate) * u128::from(since) {
                link.push(now, Packet { flow, ..packet(frames.len() as u64, size) }, &mut log);
                frames.push((usize::from(flow), size));
                *sent += size;
            }
        }
        now += Span::from_micros(100);
    }
    let left = log.0.iter().filter_map(|told| match *told {
        Told::Departure { at, arrived, number, .. } => {
            let (flow, size) = frames[number as usize];
            Some((arrived, at, flow, size))
        }
        _ => None,
    });
    left.collect()
}

/// Bytes of a flow that left between two instants [ms].
fn bytes(left: &Left, flow: usize, from: u64, until: u64) -> u64 {
    let within = |at: &Time| *at > ms(from) && *at <= ms(until);
    left.iter().filter(|(_, at, of, _)| *of == flow && within(at)).map(|(.., size)| size).sum()
}

#[test]
fn classes_divide_the_capacity_by_their_shares_whatever_their_flows_and_sizes() {
    let parts = shared(&[class(&[0, 1], 0.2), class(&[2], 0.8)]);
    let left =
        run(&parts, &[(0, 900_000, 1000, 0, 1000), (1, 900_000, 300, 0, 1000), (2, 1_500_000, 700, 0, 1000)]);
    let (a, b) = (bytes(&left, 0, 100, 1000) + bytes(&left, 1, 100, 1000), bytes(&left, 2, 100, 1000));
    assert!(a.abs_diff(180_000) < 3000 && b.abs_diff(720_000) < 3000, "{a} {b}");
}

#[test]
fn what_a_class_does_not_use_goes_to_the_others_by_their_shares() {
    let parts = shared(&[class(&[0], 0.5), class(&[1], 0.1), class(&[2], 0.3)]);
    let busy = |flow| (flow, 2_000_000, 1000, 0, 1000);
    // c is there for the last half second only.
    let left = run(&parts, &[busy(0), busy(1), (2, 2_000_000, 1000, 500, 1000)]);
    for (from, until, laws) in
        [(100, 500, [0.5 / 0.6, 0.1 / 0.6, 0.0]), (600, 1000, [0.5 / 0.9, 0.1 / 0.9, 0.3 / 0.9])]
    {
        for (flow, law) in laws.into_iter().enumerate() {
            let share = bytes(&left, flow, from, until) as f64 / (1000 * (until - from)) as f64;
            assert!((share - law).abs() < 0.01, "{flow} from {from} ms on: {share} not {law}");
        }
    }
    // Alone it has all of it.
    let alone = run(&parts, &[busy(1)]);
    assert!(bytes(&alone, 1, 0, 1000) >= 995_000);
}

#[test]
fn who_may_not_borrow_has_its_share_of_an_idle_link_too() {
    let regulated = CbqClass { borrow: false, ..class(&[0], 0.2) };
    let parts = shared(&[regulated, class(&[1], 0.8)]);
    let busy = |flow| (flow, 2_000_000, 1000, 0, 1000);
    for (what, sources) in [("alone", vec![busy(0)]), ("beside another", vec![busy(0), busy(1)])] {
        let left = run(&parts, &sources);
        // Four packets were saved up in the beginning.
        let got = bytes(&left, 0, 100, 1000);
        assert!(got.abs_diff(180_000) <= 1000, "{what}: {got}");
    }
    let left = run(&parts, &[busy(0), busy(1)]);
    let total = bytes(&left, 0, 100, 1000) + bytes(&left, 1, 100, 1000);
    assert!(total.abs_diff(900_000) <= 1000, "what it may not have goes to the other: {total}");
}

#[test]
fn a_regulated_class_follows_the_capacity() {
    let steps = CapacityConfig::Steps(StepsConfig {
        at: [0, 300, 600].map(Span::from_millis).into(),
        rates: [8_000_000, 0, 16_000_000].map(Rate::from_bps).into(),
        period: None,
    });
    let capacity = CapacityParts::from_config(&steps, &mut |_| unreachable!()).unwrap();
    let regulated = CbqClass { borrow: false, ..class(&[0], 0.5) };
    // Nothing comes after 250 ms: what waits then goes as the capacity lets it, though nobody pushes.
    let left = run(&LinkParts { capacity, ..shared(&[regulated]) }, &[(0, 3_000_000, 1000, 0, 250)]);
    for (from, until, law) in [(100, 300, 100_000), (301, 600, 0), (600, 1000, 25_000)] {
        let got = bytes(&left, 0, from, until);
        assert!(got.abs_diff(law) <= 2000, "{from} ms: {got} not {law}");
    }
}

/// The capacity goes in turn through these rates [b/s], each for so many milliseconds.
fn in_turn(turns: &[(u64, u64)]) -> CapacityParts {
    let at = turns.iter().scan(0, |end, (_, length)| {
        let begin = *end;
        *end += length;
        Some(Span::from_millis(begin))
    });
    let steps = CapacityConfig::Steps(StepsConfig {
        at: at.collect(),
        rates: turns.iter().map(|(rate, _)| Rate::from_bps(*rate)).collect(),
        period: Some(Span::from_millis(turns.iter().map(|(_, length)| length).sum())),
    });
    CapacityParts::from_config(&steps, &mut |_| unreachable!()).unwrap()
}

#[test]
fn an_outage_brings_a_regulated_class_nothing() {
    let regulated = CbqClass { borrow: false, ..class(&[0], 0.2) };
    let capacity = in_turn(&[(40_000_000, 4), (0, 36)]);
    // 4 ms at 40 Mb/s, a fifth of them: 4 kB in 40 ms, although 6 kB come.
    let left = run(&LinkParts { capacity, ..shared(&[regulated]) }, &[(0, 150_000, 1000, 0, 1000)]);
    let got = bytes(&left, 0, 200, 1000);
    assert!(got.abs_diff(80_000) <= 1000, "{got}");
}

#[test]
fn shares_follow_a_capacity_that_changes_within_a_frame() {
    let urgent = CbqClass { priority: 0, ..class(&[1], 0.8) };
    let capacity = in_turn(&[(19_000_000, 1), (1_000_000, 1)]);
    let unlimited = QueueConfig::DropTail(DropTailConfig {
        limit: Amount::Unlimited,
        counts_in_service: false,
        ..Default::default()
    });
    let classes = [class(&[0], 0.2), urgent].map(|class| CbqClass { queue: unlimited.clone(), ..class });
    // All frames come in the first millisecond: afterwards no arrival says what the rate is.
    let sources = [0, 1].map(|flow| (flow, 2_000_000_000, 1000, 0, 1));
    let left = run(&LinkParts { capacity, ..shared(&classes) }, &sources);
    let (a, b) = (bytes(&left, 0, 100, 1000), bytes(&left, 1, 100, 1000));
    assert!(a.abs_diff(225_000) <= 4000 && b.abs_diff(900_000) <= 4000, "{a} {b}");
}

#[test]
fn a_regulated_class_has_its_share_of_what_opportunities_offer() {
    let instants: String = (1..=20).chain([200]).map(|millis| format!("{millis}\n")).collect();
    let trace = Arc::new(OpportunityTrace::parse("t", instants.as_bytes()).unwrap());
    let opportunities = OpportunityParts {
        trace,
        size: Bytes::new(1500),
        mahimahi: false,
        repeat: true,
        offset: TraceOffset::default(),
        light: None,
        outages: None,
    };
    let regulated = CbqClass { borrow: false, ..class(&[0], 0.5) };
    let parts = LinkParts { capacity: CapacityParts::Opportunities(opportunities), ..shared(&[regulated]) };
    let left = run(&parts, &[(0, 2_000_000, 1000, 0, 1000)]);
    // Half of 21 opportunities in each of four rounds, the last of which are its first 20 ms.
    let got = bytes(&left, 0, 190, 999);
    assert!(got.abs_diff(4 * 21 * 750) <= 1000, "{got}");
}

#[test]
fn a_lower_number_goes_first_as_long_as_it_is_within_its_share() {
    let urgent = |priority| shared(&[CbqClass { priority, ..class(&[0], 0.3) }, class(&[1], 0.7)]);
    // Four frames at once at a busy link, when the last of them is through.
    let through = |priority: u8| {
        let (mut link, mut log) = (link(&urgent(priority), 1), Log::default());
        (0..50).for_each(|number| link.push(ms(0), Packet { flow: 1, ..packet(number, 1000) }, &mut log));
        drain(&mut link, ms(10), &mut log);
        (50..54).for_each(|number| link.push(ms(10), packet(number, 1000), &mut log));
        drain(&mut link, ms(60), &mut log);
        log.departures().into_iter().find(|(_, number)| *number == 53).unwrap().0
    };
    assert_eq!(through(0), ms(15).as_nanos(), "behind the frame in service only");
    // At three frames of ten: the fourth comes after nine others.
    assert!((ms(19).as_nanos()..=ms(24).as_nanos()).contains(&through(1)), "{}", through(1));
    // Beyond its share it takes nothing of what the other, which is busy, is entitled to.
    let left = run(&urgent(0), &[(0, 900_000, 200, 0, 1000), (1, 2_000_000, 1000, 0, 1000)]);
    let got = bytes(&left, 0, 100, 1000);
    assert!(got.abs_diff(270_000) < 8000, "{got}");
}

#[test]
fn each_class_has_a_queue_of_its_own() {
    let ered = EredConfig {
        limit: Amount::Packets(20),
        min_threshold: Amount::Packets(2),
        max_threshold: Amount::Packets(3),
        weight: 1.0,
        ..EredConfig::default()
    };
    let marking = CbqClass { queue: QueueConfig::Ered(ered), ..class(&[0], 0.2) };
    let (mut link, mut log) = (link(&shared(&[marking, class(&[1], 0.8)]), 1), Log::default());
    for number in 0..30 {
        let (flow, reserved) = (u16::from(number % 3 == 2), number % 3 == 0);
        link.push(ms(0), Packet { flow, reserved, ..packet(number, 1000) }, &mut log);
    }
    let early = log.losses().into_iter().all(|(_, cause, number)| cause == LossCause::Aqm && number % 3 == 1);
    assert!(early && !log.losses().is_empty(), "{:?}", log.losses());
}

#[test]
fn a_queue_inside_learns_that_its_class_was_idle() {
    // The average of RED, well above its maximum, decays while its class has nothing waiting.
    let thresholds = (Amount::Packets(1), Amount::Packets(2));
    let red = RedConfig {
        weight: 0.1,
        min_threshold: thresholds.0,
        max_threshold: thresholds.1,
        ..RedConfig::default()
    };
    let early = CbqClass { queue: QueueConfig::Red(red), ..class(&[0], 0.2) };
    let (mut link, mut log) = (link(&shared(&[early, class(&[1], 0.8)]), 1), Log::default());
    (0..50).for_each(|number| link.push(ms(0), packet(number, 1000), &mut log));
    drain(&mut link, ms(500), &mut log);
    let lost = log.losses().len();
    assert!(lost > 20, "{lost}");
    (50..55).for_each(|number| link.push(ms(500), packet(number, 1000), &mut log));
    assert_eq!(log.losses().len(), lost);
}

/// Arrivals: time since the one before [ns], flow, size.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, u16, u64)>> {
    let gap = prop_oneof![Just(0u64), 0u64..3_000_000];
    proptest::collection::vec((gap, 0u16..4, prop_oneof![Just(1000u64), 40u64..1500]), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_flow_stays_in_order_and_all_come_out(
        traffic in any_traffic(), borrow in any::<[bool; 3]>(), priority in any::<[bool; 3]>(), limit in 1u64..30,
    ) {
        let tail = DropTailConfig { limit: Amount::Packets(limit), counts_in_service: false, ..Default::default() };
        let flows: [&[usize]; 3] = [&[0, 1], &[2], &[]];
        let classes = [0, 1, 2].map(|n| CbqClass {
            borrow: borrow[n],
            priority: u8::from(priority[n]),
            flows: (n < 2).then(|| class(flows[n], 0.3).flows.unwrap()),
            queue: QueueConfig::DropTail(tail.clone()),
            ..class(&[], 0.3)
        });
        let (mut link, mut log, mut now) = (link(&shared(&classes), 1), Log::default(), Time::ZERO);
        let mut out = Vec::new();
        for (number, &(gap, flow, size)) in traffic.iter().enumerate() {
            now += Span::from_nanos(gap);
            out.extend(drain(&mut link, now, &mut log));
            link.push(now, Packet { flow, ..packet(number as u64, size) }, &mut log);
        }
        out.extend(drain(&mut link, ms(20_000), &mut log));
        prop_assert_eq!(link.inside(), 0);
        prop_assert_eq!(out.len() + log.losses().len(), traffic.len());
        for flow in 0..4 {
            let own: Vec<u64> = out.iter().map(|(_, number)| *number).filter(|n| traffic[*n as usize].1 == flow).collect();
            prop_assert!(own.is_sorted());
        }
    }
}
