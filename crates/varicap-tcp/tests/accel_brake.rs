//! Marks of Accel-Brake Control from the receiver to the sender. Source: [goyal20, §5.1.2].

use varicap_tcp::{AckPolicy, Congestion, DelayedAck, Flags, Receiver, Segment, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Time};

const MSS: u64 = 1000;

fn config() -> TcpConfig {
    TcpConfig {
        congestion: Congestion::AccelBrake,
        mss: Bytes::new(MSS),
        handshake: false,
        ack: AckPolicy::Delayed(DelayedAck::default()),
        ..TcpConfig::default()
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn every_packet_is_ecn_capable_and_acknowledged_with_its_own_mark() {
    let (mut sender, mut receiver) = (Sender::new(&config(), at(0)), Receiver::new(&config(), at(0)));
    sender.write(Bytes::MAX);
    let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll(at(0))).collect();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().all(|segment| segment.flags.has(Flags::ECT)));
    let mut echoed = Vec::new();
    for (number, segment) in sent.iter().enumerate() {
        let mut segment = *segment;
        if number % 3 == 0 {
            segment.flags = segment.flags.with(Flags::CE);
        }
        receiver.push(at(50), &segment);
        let ack = receiver.poll(at(50)).unwrap();
        assert!(receiver.poll(at(50)).is_none());
        assert_eq!(ack.ack, (number as u64 + 1) * MSS);
        echoed.push(ack.flags.has(Flags::ECE));
        sender.push(at(100), &ack);
        while sender.poll(at(100)).is_some() {}
    }
    assert_eq!(echoed, [true, false, false, true, false, false, true, false, false, true]);
    // Four brakes and six accelerates; a window's worth of data, for a segment more, is not yet acknowledged.
    assert_eq!(sender.cwnd(), Bytes::new((10 - 4 + 6) * MSS));
    assert_eq!(sender.counters().ecn_reductions, 0);
}

#[test]
fn what_is_sent_again_is_ecn_capable_too() {
    let mut sender = Sender::new(&config(), at(0));
    sender.write(Bytes::MAX);
    while sender.poll(at(0)).is_some() {}
    let resent = sender.poll(sender.poll_at()).unwrap();
    assert!(resent.flags.has(Flags::RESENT) && resent.flags.has(Flags::ECT));
    assert_eq!(sender.cwnd(), Bytes::new(MSS));
}
