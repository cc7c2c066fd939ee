//! ERED: what is marked is lost only when the queue is full, and the rest as RED would lose it.

use crate::common;

use common::{Log, Packet, ms, packet};
use proptest::prelude::*;
use varicap_net::queue::{Ered, QueueDiscipline, Red, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{EredConfig, Framing, LossCause};
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

const PACKET: Bytes = Bytes::new(1000);
const BDP: Bytes = Bytes::new(10_000);
const RATE: Rate = Rate::from_bps(8_000_000);
const BUSY: Transmitter = Transmitter { state: TransmitterState::Busy(PACKET), rate: RATE };
const SUPPLY: Supply = Supply {
    rate: RATE,
    offered: None,
    framing: Framing { overhead: Bytes::ZERO, cells: None, in_queue: false },
};

/// Random streams of link a.
fn streams(part: &str) -> Stream {
    Streams::new(1, 0).stream(&format!("link.a.{part}"))
}

const SITE: Site<'_> = Site {
    packet: PACKET,
    bdp: BDP,
    overhead: Bytes::ZERO,
    framed: Bytes::ZERO,
    groups: &[],
    name: "queue",
    streams: &streams,
};

fn ered(config: &EredConfig) -> Ered<Packet> {
    Ered::new(config, &SITE)
}

fn red(config: &EredConfig) -> Red<Packet> {
    Red::new(&config.red(), &SITE)
}

fn marked(number: u64) -> Packet {
    Packet { reserved: true, ..packet(number, 1000) }
}

/// An ERED whose average is the queue itself, between thresholds of 5 and 15 of 20 packets.
fn immediate() -> EredConfig {
    EredConfig {
        limit: Amount::Packets(20),
        min_threshold: Amount::Packets(5),
        max_threshold: Amount::Packets(15),
        weight: 1.0,
        ..EredConfig::default()
    }
}

/// Fills the queue with marked packets to `level`.
fn filled(config: &EredConfig, level: u32) -> Ered<Packet> {
    let mut queue = ered(config);
    while queue.backlog().frames < level {
        queue.enqueue(ms(0), marked(0), BUSY, &mut Log::default());
    }
    queue
}

#[test]
fn unmarked_packets_meet_the_thresholds_and_marked_ones_the_limit() {
    let (mut queue, mut log) = (filled(&immediate(), 15), Log::default());
    queue.enqueue(ms(0), packet(1, 1000), BUSY, &mut log);
    for number in 2..9 {
        queue.enqueue(ms(0), marked(number), BUSY, &mut log);
    }
    let (aqm, overflow) = (LossCause::Aqm, LossCause::Overflow);
    assert_eq!(log.losses(), [(0, aqm, 1), (0, overflow, 7), (0, overflow, 8)]);
    assert_eq!(queue.backlog().frames, 20);
}

#[test]
fn the_average_is_that_of_the_whole_queue() {
    let mut queue = filled(&immediate(), 10);
    queue.enqueue(ms(0), packet(0, 1000), BUSY, &mut Log::default());
    assert_eq!(queue.average(), 10.0, "of marked packets alone");
}

#[test]
fn the_reserve_keeps_out_what_is_not_marked() {
    let thresholds =
        EredConfig { min_threshold: Amount::Packets(18), max_threshold: Amount::Packets(19), ..immediate() };
    for (reserve, room) in [
        (Amount::Packets(8), 12),
        (Amount::Bytes(Bytes::new(7_500)), 12), // begun packets count
        (Amount::Packets(0), 19),
    ] {
        let (mut queue, mut log) = (ered(&EredConfig { reserve, ..thresholds.clone() }), Log::default());
        for number in 0..30 {
            queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
        }
        assert_eq!(queue.backlog().frames, room, "{reserve:?}");
        (30..60).for_each(|number| queue.enqueue(ms(0), marked(number), BUSY, &mut log));
        assert_eq!(queue.backlog().frames, 20, "{reserve:?}");
    }
}

#[test]
fn a_reserve_of_a_limit_in_bytes_counts_bytes() {
    let limit = Amount::Bytes(Bytes::new(10_000));
    let reserve = Amount::Packets(4);
    let (mut queue, mut log) =
        (ered(&EredConfig { limit, reserve, ..EredConfig::default() }), Log::default());
    (0..200).for_each(|number| queue.enqueue(ms(0), packet(number, 100), BUSY, &mut log));
    assert_eq!(queue.backlog().bytes, Bytes::new(6_000));
}

/// Arrivals: time since the one before [ms], whether it is marked, packets that leave before it.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, bool, u32)>> {
    proptest::collection::vec((0u64..5, any::<bool>(), 0u32..3), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn no_marked_packet_is_lost_while_there_is_room(traffic in any_traffic(), reserve in 0u64..10) {
        let config = EredConfig { reserve: Amount::Packets(reserve), weight: 0.3, ..immediate() };
        let (mut queue, mut log) = (ered(&config), Log::default());
        let mut now = Time::ZERO;
        for (number, (gap, reserved, leaving)) in traffic.into_iter().enumerate() {
            now += Span::from_millis(gap);
            for _ in 0..leaving {
                queue.dequeue(now, SUPPLY, &mut log);
            }
            let (before, lost) = (queue.backlog().frames, log.losses().len());
            queue.enqueue(now, Packet { reserved, ..packet(number as u64, 1000) }, BUSY, &mut log);
            let is_lost = log.losses().len() > lost;
            if reserved {
                prop_assert_eq!(is_lost, before == 20);
            } else if before >= 20 - reserve as u32 {
                prop_assert!(is_lost);
            }
        }
    }

    #[test]
    fn without_marked_packets_it_is_red(traffic in any_traffic()) {
        let config = EredConfig { weight: 0.3, ..immediate() };
        let (mut enhanced, mut plain) = (ered(&config), red(&config));
        let (mut enhanced_log, mut plain_log) = (Log::default(), Log::default());
        let mut now = Time::ZERO;
        for (number, (gap, _, leaving)) in traffic.into_iter().enumerate() {
            now += Span::from_millis(gap);
            for _ in 0..leaving {
                enhanced.dequeue(now, SUPPLY, &mut enhanced_log);
                plain.dequeue(now, SUPPLY, &mut plain_log);
            }
            enhanced.enqueue(now, packet(number as u64, 1000), BUSY, &mut enhanced_log);
            plain.enqueue(now, packet(number as u64, 1000), BUSY, &mut plain_log);
        }
        prop_assert_eq!(enhanced_log.losses(), plain_log.losses());
        prop_assert_eq!(enhanced.average(), plain.average());
    }
}
