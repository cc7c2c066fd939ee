//! Marks above a threshold: `step`, and CoDel's `ce_threshold`.

use crate::common;

use common::{Log, Packet, Told, capable, ms, packet};
use varicap_net::queue::{CoDel, QueueDiscipline, Site, StepMarking, Supply, Transmitter, TransmitterState};
use varicap_net::{CoDelConfig, Framing, LossCause, StepMarkingConfig};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams};

const RATE: Rate = Rate::from_bps(8_000_000);
const SUPPLY: Supply = Supply {
    rate: RATE,
    offered: None,
    framing: Framing { overhead: Bytes::ZERO, cells: None, in_queue: false },
};
const BUSY: Transmitter = Transmitter { state: TransmitterState::Busy(Bytes::new(1000)), rate: RATE };

fn streams(part: &str) -> Stream {
    Streams::new(1, 0).stream(part)
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

fn marks(log: &Log) -> Vec<u64> {
    let marked = log.0.iter().filter_map(|told| match told {
        Told::Mark { number, .. } => Some(*number),
        _ => None,
    });
    marked.collect()
}

fn arrivals(config: &StepMarkingConfig, count: u64, ecn: bool) -> Log {
    let (mut queue, mut log) = (StepMarking::new(config, &SITE), Log::default());
    for number in 0..count {
        queue.enqueue(ms(0), Packet { codepoint: capable(ecn), ..packet(number, 1000) }, BUSY, &mut log);
    }
    log
}

/// RFC 8257 §3.1: what finds more than K is marked; the packet in service is part of the queue.
#[test]
fn what_arrives_above_the_threshold_is_marked() {
    for threshold in [Amount::Packets(5), Amount::Bytes(Bytes::new(5000)), Amount::Bdp(0.5)] {
        let config = StepMarkingConfig { threshold: Some(threshold), ..StepMarkingConfig::default() };
        // Number 4 finds four waiting and one in service.
        assert_eq!(marks(&arrivals(&config, 8, true)), [5, 6, 7], "{threshold:?}");
        let plain = arrivals(&config, 8, false);
        assert_eq!((marks(&plain), plain.losses()), (vec![], vec![]));
        let dropping = arrivals(&StepMarkingConfig { drop: true, ..config }, 8, false);
        let lost = [5, 6, 7].map(|number| (0, LossCause::Aqm, number));
        assert_eq!(dropping.losses(), lost);
    }
    assert_eq!(marks(&arrivals(&StepMarkingConfig::default(), 70, true)), [65, 66, 67, 68, 69]);
}

#[test]
fn what_has_waited_longer_than_the_delay_is_marked_as_it_leaves() {
    let config = StepMarkingConfig { delay: Some(Span::from_millis(1)), ..StepMarkingConfig::default() };
    let (mut queue, mut log) = (StepMarking::new(&config, &SITE), Log::default());
    for number in 0..3 {
        queue.enqueue(
            ms(number),
            Packet { codepoint: capable(true), ..packet(number, 1000) },
            BUSY,
            &mut log,
        );
    }
    // They have waited for 2, 1 and 0 ms.
    while queue.dequeue(ms(2), SUPPLY, &mut log).is_some() {}
    assert_eq!(marks(&log), [0]);
    let (mut queue, mut log) =
        (StepMarking::new(&StepMarkingConfig { drop: true, ..config }, &SITE), Log::default());
    (0..2).for_each(|number| queue.enqueue(ms(number), packet(number, 1000), BUSY, &mut log));
    assert_eq!(queue.dequeue(ms(2), SUPPLY, &mut log).unwrap().frame.number, 1);
    assert_eq!(log.losses(), [(2_000_000, LossCause::Aqm, 0)]);
}

#[test]
fn a_step_has_one_threshold() {
    let both = StepMarkingConfig {
        threshold: Some(Amount::Packets(5)),
        delay: Some(Span::from_millis(1)),
        ..StepMarkingConfig::default()
    };
    assert_eq!(both.check().unwrap_err().key, "delay");
    assert_eq!(StepMarkingConfig::default().check(), Ok(()));
}

/// RFC 8290 §5.2.7: beside CoDel's own law, which drops here; each packet above the threshold, and each once.
#[test]
fn codel_marks_each_capable_packet_above_its_ce_threshold() {
    let config = CoDelConfig { ce_threshold: Some(Span::from_millis(3)), ..CoDelConfig::default() };
    for (ecn, expected) in [(true, vec![0, 1]), (false, vec![])] {
        let (mut queue, mut log) = (CoDel::new(&config, &SITE), Log::default());
        for number in 0..5 {
            queue.enqueue(
                ms(number),
                Packet { codepoint: capable(ecn), ..packet(number, 1000) },
                BUSY,
                &mut log,
            );
        }
        // They have waited for 5, 4, 3, 2 and 1 ms.
        while queue.dequeue(ms(5), SUPPLY, &mut log).is_some() {}
        assert_eq!((marks(&log), log.losses()), (expected, vec![]));
    }
    let config = CoDelConfig { ecn: true, ..config };
    let (mut queue, mut log) = (CoDel::new(&config, &SITE), Log::default());
    for now in 0..1000 {
        queue.enqueue(ms(now), Packet { codepoint: capable(true), ..packet(now, 1000) }, BUSY, &mut log);
        if now >= 50 {
            queue.dequeue(ms(now), SUPPLY, &mut log);
        }
    }
    assert_eq!(marks(&log), (0..950).collect::<Vec<u64>>());
}
