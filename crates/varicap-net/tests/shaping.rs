//! Token buckets as queues: a shaper holds what exceeds its rate, a policer drops it.

use crate::common;

use common::{Log, Packet, Told, capable, constant, drain, link, ms, packet, parts};
use proptest::prelude::*;
use varicap_net::{
    ArqParts, CapacityConfig, CapacityParts, CoDelConfig, DropTailConfig, LinkParts, LossCause,
    PolicerConfig, QueueConfig, ShaperConfig, StepsConfig,
};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Rate, Span, Time};

const MEGABIT: u64 = 1_000_000;

fn unlimited() -> Box<QueueConfig> {
    Box::new(QueueConfig::DropTail(DropTailConfig {
        limit: Amount::Unlimited,
        counts_in_service: true,
        ..Default::default()
    }))
}

fn shaper(bps: u64, burst: u64, queue: Box<QueueConfig>) -> QueueConfig {
    let burst = Amount::Bytes(Bytes::new(burst));
    QueueConfig::Shaper(ShaperConfig { rate: Rate::from_bps(bps), burst, latency: None, queue })
}

fn policer(bps: u64, burst: u64) -> QueueConfig {
    let burst = Amount::Bytes(Bytes::new(burst));
    QueueConfig::Policer(PolicerConfig {
        rate: Rate::from_bps(bps),
        burst,
        queue: unlimited(),
        monitor: None,
    })
}

/// When the frames of a burst of ten at 0 ms leave, in microseconds.
fn leave(link_parts: &LinkParts) -> (Vec<u64>, Log) {
    let (mut link, mut log) = (link(link_parts, 1), Log::default());
    (0..10).for_each(|number| link.push(ms(0), packet(number, 1000), &mut log));
    drain(&mut link, ms(60_000), &mut log);
    (log.departures().into_iter().map(|(at, _)| at / 1000).collect(), log)
}

#[test]
fn a_shaper_lets_a_burst_go_and_then_its_rate() {
    // 80 Mb/s are 100 us a packet; 8 Mb/s bring its tokens in 1 ms, three packets' worth are there at first.
    let queue = shaper(8 * MEGABIT, 3000, unlimited());
    let (left, log) = leave(&LinkParts { queue, ..parts(constant(80 * MEGABIT)) });
    assert_eq!(left, [100, 200, 300, 1100, 2100, 3100, 4100, 5100, 6100, 7100]);
    assert_eq!(log.losses(), []);
}

#[test]
fn a_shaper_faster_than_its_link_changes_nothing() {
    let bare = leave(&parts(constant(8 * MEGABIT)));
    let queue = shaper(9 * MEGABIT, 1000, unlimited());
    assert_eq!(leave(&LinkParts { queue, ..parts(constant(8 * MEGABIT)) }).0, bare.0);
}

#[test]
fn what_a_bucket_can_never_hold_is_dropped() {
    let queue = shaper(8 * MEGABIT, 999, unlimited());
    let (left, log) = leave(&LinkParts { queue, ..parts(constant(80 * MEGABIT)) });
    let lost: Vec<LossCause> = log.losses().iter().map(|(_, cause, _)| *cause).collect();
    assert_eq!((left, lost), (vec![], vec![LossCause::Policed; 10]));
}

/// The queue inside sees the shaper as its transmitter: CoDel drops because packets wait for tokens, not for the link.
#[test]
fn the_queue_of_a_shaper_manages_what_waits_for_tokens() {
    let codel = CoDelConfig { ecn: true, ..CoDelConfig::default() };
    let queue = shaper(8 * MEGABIT, 1000, Box::new(QueueConfig::CoDel(codel)));
    let parts = LinkParts { queue, ..parts(constant(800 * MEGABIT)) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    for number in 0..1000 {
        drain(&mut link, ms(number), &mut log);
        let frames = if number == 0 { 50 } else { 1 };
        for _ in 0..frames {
            link.push(ms(number), Packet { codepoint: capable(true), ..packet(number, 1000) }, &mut log);
        }
    }
    let marks = log.0.iter().filter(|told| matches!(told, Told::Mark { .. })).count();
    assert!((10..100).contains(&marks), "{marks}");
}

#[test]
fn a_policer_drops_what_exceeds_the_burst_and_then_the_rate() {
    let parts = LinkParts { queue: policer(8 * MEGABIT, 3000), ..parts(constant(80 * MEGABIT)) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    (0..5).for_each(|number| link.push(ms(0), packet(number, 1000), &mut log));
    // A packet's tokens take a millisecond.
    link.push(ns(999_999), packet(5, 1000), &mut log);
    link.push(ms(1), packet(6, 1000), &mut log);
    let lost: Vec<u64> = log.losses().iter().map(|(.., number)| *number).collect();
    assert_eq!(lost, [3, 4, 5]);
    assert!(log.losses().iter().all(|(_, cause, _)| *cause == LossCause::Policed));
}

fn ns(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn a_bucket_needs_a_rate_and_room_for_a_packet() {
    for queue in [shaper(0, 3000, unlimited()), policer(0, 3000)] {
        assert!(queue.check().unwrap_err().key.ends_with(".rate"));
    }
    for queue in [shaper(1, 1499, unlimited()), policer(1, 1499)] {
        let fault = queue.fits(Bytes::new(1500), Bytes::new(15_000)).unwrap_err();
        assert!(fault.key.ends_with(".burst"), "{fault:?}");
    }
    let nothing = Box::new(QueueConfig::CoDel(CoDelConfig { target: Span::ZERO, ..CoDelConfig::default() }));
    let fault = shaper(1, 3000, nothing).check().unwrap_err();
    assert_eq!(fault.key, "shaper.queue.codel.target");
}

/// A slotted link asks a queue that makes its frames wait again when it gives one.
#[test]
fn a_shaper_holds_on_a_link_with_arq() {
    let arq = ArqParts {
        slot: Span::from_micros(100),
        aligned: true,
        window: 1,
        ack_delay: Span::ZERO,
        max_retransmissions: None,
    };
    let queue = shaper(8 * MEGABIT, 3000, unlimited());
    let (left, _) = leave(&LinkParts { queue, arq: Some(arq), ..parts(constant(80 * MEGABIT)) });
    assert_eq!(left, [100, 200, 300, 1100, 2100, 3100, 4100, 5100, 6100, 7100]);
}

fn steps(config: &str) -> CapacityParts {
    let config: StepsConfig = serde_json::from_str(config).unwrap();
    let mut none = |file: &str| -> Result<Box<dyn std::io::BufRead>, String> { Err(file.to_owned()) };
    CapacityParts::from_config(&CapacityConfig::Steps(config), &mut none).unwrap()
}

proptest! {
    /// The traffic that has left a shaper by any time is at most the burst and what the rate has brought; nothing is lost, and with time
    /// all leaves, though the link stands still for a while.
    #[test]
    fn no_more_leaves_a_shaper_than_its_bucket_allows(
        gaps in proptest::collection::vec((0u64..3_000_000, 40u64..1500), 1..60),
        burst in 1500u64..5000,
    ) {
        let capacity = steps(r#"{"at": ["0 s", "5 ms", "20 ms"], "rates": ["50 Mb/s", "0 b/s", "3 Mb/s"], "period": "30 ms"}"#);
        let parts = LinkParts { queue: shaper(2 * MEGABIT, burst, unlimited()), ..parts(capacity) };
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        let mut now = Time::ZERO;
        for (number, (gap, size)) in gaps.iter().enumerate() {
            now += Span::from_nanos(*gap);
            drain(&mut link, now, &mut log);
            link.push(now, packet(number as u64, *size), &mut log);
        }
        let out = drain(&mut link, now + Span::from_secs(60), &mut log);
        let mut sent = 0;
        for told in &log.0 {
            if let Told::Departure { at, size, .. } = told {
                sent += size.as_u64();
                let allowed = u128::from(burst) * 8_000_000_000 + 2_000_000 * u128::from(at.as_nanos());
                prop_assert!(u128::from(sent) * 8_000_000_000 <= allowed, "{sent} B by {at:?}");
            }
        }
        let left = log.departures().len();
        prop_assert_eq!((log.losses().len(), left), (0, gaps.len()));
        prop_assert!(out.len() <= left);
    }
}
