//! Frames that wait in a device are beyond the reach of the queue above it.

use crate::common;

use common::{Log, Packet, Told, capable, constant, drain, link, ms, packet, parts};
use varicap_net::{CoDelConfig, DeviceConfig, LinkParts, QueueConfig};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Span};

fn codel() -> QueueConfig {
    let ce_threshold = Some(Span::from_micros(2500));
    QueueConfig::CoDel(CoDelConfig { ce_threshold, ..CoDelConfig::default() })
}

fn device(ring: Amount) -> DeviceConfig {
    DeviceConfig { ring, hold: Span::ZERO, queue: Box::new(codel()) }
}

/// Which frames of a burst of ten at 0 ms are marked; each takes 1 ms, and all leave.
fn marked(queue: QueueConfig) -> Vec<u64> {
    let parts = LinkParts { queue, ..parts(constant(8_000_000)) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    for number in 0..10 {
        link.push(ms(0), Packet { codepoint: capable(true), ..packet(number, 1000) }, &mut log);
    }
    drain(&mut link, ms(60_000), &mut log);
    let left: Vec<u64> = log.departures().into_iter().map(|(at, _)| at / 1_000_000).collect();
    assert_eq!(left, (1..=10).collect::<Vec<u64>>(), "a device holds nothing up");
    let marks = log.0.iter().filter_map(|told| match told {
        Told::Mark { number, .. } => Some(*number),
        _ => None,
    });
    marks.collect()
}

/// More than 2.5 ms is marked. The third frame waits for 3 ms, of which it spends as much in the ring as that is long.
#[test]
fn a_delay_ends_where_a_packet_enters_the_ring() {
    assert_eq!(marked(codel()), (3..10).collect::<Vec<u64>>());
    for ring in [1, 3] {
        let queue = QueueConfig::Device(device(Amount::Packets(ring)));
        assert_eq!(marked(queue), (3 + ring..10).collect::<Vec<u64>>());
    }
    assert_eq!(
        marked(QueueConfig::Device(device(Amount::Bytes(Bytes::new(3500))))),
        (6..10).collect::<Vec<u64>>()
    );
}

/// Byte queue limits let the ring have no more than two of the frames, or three, although it has room for all.
#[test]
fn byte_queue_limits_keep_the_ring_short() {
    let long = DeviceConfig { hold: Span::from_millis(1), ..device(Amount::Packets(256)) };
    let first = marked(QueueConfig::Device(long))[0];
    assert!((4..=6).contains(&first), "{first}");
    assert_eq!(marked(QueueConfig::Device(device(Amount::Packets(256)))), Vec::<u64>::new());
}

#[test]
fn what_cannot_be_a_device_is_refused() {
    let faulty = |config: DeviceConfig| config.check().unwrap_err().key;
    assert_eq!(device(Amount::Packets(3)).check(), Ok(()));
    assert_eq!(faulty(device(Amount::Packets(0))), "ring");
    let queue = Box::new(QueueConfig::CoDel(CoDelConfig { target: Span::ZERO, ..CoDelConfig::default() }));
    assert_eq!(faulty(DeviceConfig { queue, ..device(Amount::Packets(3)) }), "queue.codel.target");
}
