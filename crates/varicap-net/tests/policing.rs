//! Policing at a link: what conforms to a reservation is marked, and the rest passes or is dropped.

use crate::common;

use std::sync::Arc;

use common::{Log, Packet, constant, link, ms, ns, packet, parts};
use proptest::prelude::*;
use varicap_net::capacity::Timeline;
use varicap_net::{CapacityParts, LinkParts, LossCause, Nonconformant, PolicingParts, StepsConfig};
use varicap_units::{BucketDepth, Bytes, Rate, Span, Time, Work};

const PACKET: Bytes = Bytes::new(1000);

/// Flow 1 has 4 Mb/s and 25 kB.
fn reservation() -> PolicingParts {
    PolicingParts {
        group: 1,
        rate: constant(4_000_000),
        bucket: BucketDepth::Time(Span::from_millis(50)),
        peak: Rate::UNLIMITED,
        packet: PACKET,
        nonconformant: Nonconformant::Pass,
    }
}

fn policed(reservation: PolicingParts) -> LinkParts {
    LinkParts { policing: vec![reservation], ..parts(constant(1_000_000_000)) }
}

fn of_flow(flow: u16, number: u64) -> Packet {
    Packet { flow, ..packet(number, 1000) }
}

/// Pushes frames at these instants; which of them came out marked.
fn marked(parts: &LinkParts, frames: &[(Time, Packet)]) -> Vec<u64> {
    let (mut link, mut log, mut marked) = (link(parts, 1), Log::default(), Vec::new());
    let mut poll = |link: &mut varicap_net::Link<Packet>, until: Time| {
        while link.poll_at() <= until {
            let now = link.poll_at();
            while let Some(frame) = link.poll(now, &mut Log::default()) {
                marked.extend(frame.reserved.then_some(frame.number));
            }
        }
    };
    for (at, frame) in frames {
        poll(&mut link, *at);
        link.push(*at, frame.clone(), &mut log);
    }
    poll(&mut link, ms(100_000));
    marked
}

#[test]
fn a_burst_is_marked_up_to_the_depth_of_the_bucket() {
    let burst: Vec<(Time, Packet)> = (0..30).map(|number| (ms(0), of_flow(1, number))).collect();
    assert_eq!(marked(&policed(reservation()), &burst), (0..25).collect::<Vec<_>>());
    // A packet's tokens come in 2 ms.
    let later = [(ns(1_999_999), of_flow(1, 30)), (ms(2), of_flow(1, 31))];
    assert_eq!(marked(&policed(reservation()), &[burst, later.into()].concat()).last(), Some(&31));
}

#[test]
fn only_the_reserved_flow_is_marked_and_marks_of_others_do_not_count() {
    let frames =
        [(ms(0), of_flow(0, 0)), (ms(0), of_flow(1, 1)), (ms(0), Packet { reserved: true, ..of_flow(2, 2) })];
    assert_eq!(marked(&policed(reservation()), &frames), [1, 2], "flow 2 is not policed here");
    let cheat: Vec<_> =
        (0..30).map(|number| (ms(0), Packet { reserved: true, ..of_flow(1, number) })).collect();
    assert_eq!(marked(&policed(reservation()), &cheat).len(), 25);
}

#[test]
fn what_does_not_conform_may_be_dropped() {
    let strict = PolicingParts { nonconformant: Nonconformant::Drop, ..reservation() };
    let (mut link, mut log) = (link(&policed(strict), 1), Log::default());
    (0..30).for_each(|number| link.push(ms(0), of_flow(1, number), &mut log));
    (30..40).for_each(|number| link.push(ms(0), of_flow(0, number), &mut log));
    let lost: Vec<(LossCause, u64)> =
        log.losses().into_iter().map(|(_, cause, number)| (cause, number)).collect();
    assert_eq!(lost, (25..30).map(|number| (LossCause::Policed, number)).collect::<Vec<_>>());
}

#[test]
fn a_reservation_that_changes_counts_from_its_instant_on() {
    let steps = StepsConfig {
        at: [0, 100].map(Span::from_millis).into(),
        rates: [4_000_000, 8_000_000].map(Rate::from_bps).into(),
        period: None,
    };
    let rate = CapacityParts::Steps(Arc::new(Timeline::from_config(&steps).unwrap()));
    let parts = policed(PolicingParts { rate, bucket: BucketDepth::Bytes(PACKET), ..reservation() });
    // Emptied at 99 ms: half of a packet's tokens have come by 100 ms, and the rest in another half millisecond.
    let frames = |nanos: u64| [(ms(99), of_flow(1, 0)), (ns(nanos), of_flow(1, 1))];
    assert_eq!(marked(&parts, &frames(100_499_999)), [0]);
    assert_eq!(marked(&parts, &frames(100_500_000)), [0, 1]);
}

#[test]
fn tokens_that_overflow_are_counted() {
    let (mut link, mut log) = (link(&policed(reservation()), 1), Log::default());
    assert_eq!(link.policed(ms(50)).count(), 0, "nobody has a bucket yet");
    link.push(ms(100), of_flow(1, 0), &mut log);
    // The one packet's tokens are there again after 2 ms; then 500 bytes come each ms and none fits.
    let policed: Vec<_> = link.policed(ms(110)).map(|policed| (policed.flow, policed.lost_tokens)).collect();
    assert_eq!(policed, [(1, Work::of(Bytes::new(4000)))]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn marked_packets_never_exceed_what_is_reserved(gaps in proptest::collection::vec(0u64..4_000_000, 1..200)) {
        let instants: Vec<Time> = gaps.iter().scan(Time::ZERO, |now, gap| {
            *now += Span::from_nanos(*gap);
            Some(*now)
        }).collect();
        let frames: Vec<_> = instants.iter().enumerate().map(|(n, at)| (*at, of_flow(1, n as u64))).collect();
        let marked = marked(&policed(reservation()), &frames);
        for (first, one) in marked.iter().enumerate() {
            for (last, other) in marked.iter().enumerate().skip(first) {
                let span = instants[*other as usize].since(instants[*one as usize]);
                let most = Rate::from_bps(4_000_000) * span + Work::of(Bytes::new(25_000));
                prop_assert!(Work::of(PACKET * (last - first + 1) as u64) <= most);
            }
        }
    }
}
