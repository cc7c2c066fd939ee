//! The receiver and its window: RFC 1122 §4.2.3.2 (delayed ACKs) and §4.2.2.17 (probes), RFC 5681 §4.2, RFC 2018
//! (SACK blocks), RFC 3168 (ECN echo), RFC 7323 (which time is echoed).

use crate::common;

use proptest::prelude::*;

use common::{MSS, Script, answer, config, data, ms, nth, segments};
use varicap_tcp::congestion::CubicConfig;
use varicap_tcp::{
    AckPolicy, Congestion, DelayedAck, EcnMode, Flags, Receiver, Recovery, Segment, Sender, State, TcpConfig,
    WindowProbe,
};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Span, Time};

fn receiver(config: &TcpConfig) -> Receiver {
    Receiver::new(config, Time::ZERO)
}

fn delayed() -> TcpConfig {
    TcpConfig {
        ack: AckPolicy::Delayed(DelayedAck {
            segments: 2,
            timeout: Span::from_millis(200),
            ..DelayedAck::default()
        }),
        ..config(Recovery::Sack, 10)
    }
}

fn blocks(ack: &Segment) -> Vec<(u64, u64)> {
    let absolute =
        |&(from, to): &(u32, u32)| ((ack.ack + u64::from(from)) / MSS, (ack.ack + u64::from(to)) / MSS);
    ack.sack[..usize::from(ack.sack_count)].iter().map(absolute).collect()
}

#[test]
fn every_packet_is_acknowledged() {
    let mut receiver = receiver(&config(Recovery::Sack, 10));
    for number in 0..5 {
        let acks = answer(&mut receiver, ms(number), &data(number));
        assert_eq!(acks.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [(number + 1) * MSS]);
    }
}

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut receiver = receiver(&delayed());
    assert!(answer(&mut receiver, ms(0), &data(0)).is_empty());
    assert_eq!(answer(&mut receiver, ms(1), &data(1))[0].ack, 2000);
    assert_eq!(receiver.poll_at(), Time::NEVER);
}

#[test]
fn a_lone_segment_is_acknowledged_by_the_timer() {
    let mut receiver = receiver(&delayed());
    receiver.push(ms(7), &data(0));
    assert_eq!(receiver.poll_at(), ms(207));
    assert!(receiver.poll(ms(206)).is_none());
    assert_eq!(receiver.poll(ms(207)).map(|ack| ack.ack), Some(1000));
    assert_eq!(receiver.poll_at(), Time::NEVER);
}

#[test]
fn out_of_order_data_is_acknowledged_at_once_and_so_is_what_fills_the_gap() {
    let mut receiver = receiver(&delayed());
    answer(&mut receiver, ms(0), &data(0));
    // The second segment is missing; the ACK that was delayed goes too.
    assert_eq!(answer(&mut receiver, ms(1), &data(2))[0].ack, 1000);
    assert_eq!(answer(&mut receiver, ms(2), &data(4))[0].ack, 1000);
    assert_eq!(answer(&mut receiver, ms(3), &data(1))[0].ack, 3000);
    assert_eq!(answer(&mut receiver, ms(4), &data(3))[0].ack, 5000);
    assert_eq!(receiver.delivered(), 5000);
}

#[test]
fn old_data_is_acknowledged_at_once() {
    let mut receiver = receiver(&delayed());
    answer(&mut receiver, ms(0), &data(0));
    answer(&mut receiver, ms(1), &data(1));
    assert_eq!(receiver.push(ms(2), &data(0)), 0);
    assert_eq!(receiver.poll(ms(2)).map(|ack| ack.ack), Some(2000));
}

#[test]
fn sack_blocks_name_the_latest_segment_first_then_the_most_recent() {
    let mut receiver = receiver(&config(Recovery::Sack, 10));
    assert_eq!(blocks(&answer(&mut receiver, ms(0), &data(1))[0]), [(1, 2)]);
    assert_eq!(blocks(&answer(&mut receiver, ms(1), &data(5))[0]), [(5, 6), (1, 2)]);
    assert_eq!(blocks(&answer(&mut receiver, ms(2), &data(3))[0]), [(3, 4), (5, 6), (1, 2)]);
    // 2 joins two blocks.
    assert_eq!(blocks(&answer(&mut receiver, ms(3), &data(2))[0]), [(1, 4), (5, 6)]);
    for number in [9, 11, 13] {
        answer(&mut receiver, ms(number), &data(number));
    }
    // Four fit; the oldest report is left out.
    let ack = answer(&mut receiver, ms(20), &data(15))[0];
    assert_eq!(blocks(&ack), [(15, 16), (13, 14), (11, 12), (9, 10)]);
    assert_eq!(ack.wire_size, 40 + 36);
    // Data that was delivered is no longer reported.
    let ack = answer(&mut receiver, ms(21), &data(0))[0];
    assert_eq!((ack.ack, blocks(&ack)), (4000, vec![(15, 16), (13, 14), (11, 12), (9, 10)]));
}

#[test]
fn blocks_that_were_delivered_take_no_room_from_the_others() {
    let mut receiver = receiver(&config(Recovery::Sack, 10));
    for (at, number) in [9, 7, 5, 1, 0].into_iter().enumerate() {
        answer(&mut receiver, ms(at as u64), &data(number));
    }
    let ack = answer(&mut receiver, ms(9), &data(11))[0];
    assert_eq!(blocks(&ack), [(11, 12), (5, 6), (7, 8), (9, 10)]);
}

#[test]
fn three_blocks_fit_beside_a_timestamp() {
    let mut receiver = receiver(&TcpConfig { timestamps: true, ..config(Recovery::Sack, 10) });
    for number in [1, 3, 5] {
        answer(&mut receiver, ms(number), &data(number));
    }
    let ack = answer(&mut receiver, ms(9), &data(7))[0];
    assert_eq!((ack.sack_count, ack.wire_size), (3, 40 + 12 + 28));
}

#[test]
fn options_may_be_left_out_of_the_count() {
    let config = TcpConfig { timestamps: true, count_options: false, ..config(Recovery::Sack, 1) };
    let mut receiver = receiver(&config);
    assert_eq!(answer(&mut receiver, ms(1), &data(1))[0].wire_size, 40);
    let script = Script::greedy(&config);
    assert_eq!(script.last().segment.wire_size, 1040);
}

#[test]
fn without_sack_no_blocks_are_sent() {
    let mut receiver = receiver(&config(Recovery::NewReno, 10));
    let ack = answer(&mut receiver, ms(0), &data(1))[0];
    assert_eq!((ack.sack_count, ack.wire_size), (0, 40));
}

#[test]
fn a_delayed_ack_echoes_the_earliest_segment() {
    let mut receiver = receiver(&delayed());
    let sent = |number, at| Segment { sent_at: ms(at), ..data(number) };
    answer(&mut receiver, ms(100), &sent(0, 50));
    assert_eq!(answer(&mut receiver, ms(120), &sent(1, 70))[0].echo, ms(50));
    // RFC 7323 §4.3 (B): a hole: the last segment that advanced the window; (C): the one that fills it.
    assert_eq!(answer(&mut receiver, ms(130), &sent(3, 80))[0].echo, ms(50));
    let filler = Segment { flags: Flags::RESENT, ..sent(2, 110) };
    let ack = answer(&mut receiver, ms(160), &filler)[0];
    assert_eq!((ack.echo, ack.flags.has(Flags::RESENT)), (ms(110), true));
}

#[test]
fn congestion_is_echoed_until_the_sender_says_that_it_has_reduced() {
    let mut receiver = receiver(&TcpConfig { ecn: EcnMode::Classic, ..config(Recovery::Sack, 10) });
    let with = |number, flags| Segment { flags, ..data(number) };
    let echoes =
        |receiver: &mut Receiver, segment| answer(receiver, ms(0), &segment)[0].flags.has(Flags::ECE);
    assert!(!echoes(&mut receiver, with(0, Flags::ECT)));
    assert!(echoes(&mut receiver, with(1, Flags::ECT.with(Flags::CE))));
    assert!(echoes(&mut receiver, with(2, Flags::ECT)));
    assert!(!echoes(&mut receiver, with(3, Flags::ECT.with(Flags::CWR))));
    assert!(echoes(&mut receiver, with(4, Flags::ECT.with(Flags::CWR).with(Flags::CE))));
}

/// RFC 5681 §4.2: within 500 ms of the first segment that is not acknowledged.
#[test]
fn an_acknowledgement_is_delayed_by_half_a_second_at_most() {
    let within = |millis| DelayedAck { timeout: Span::from_millis(millis), ..DelayedAck::default() };
    assert_eq!(within(500).check(), Ok(()));
    assert_eq!(within(501).check().unwrap_err().key, "timeout");
}

/// RFC 3168 §6.1.2: what falls at an echo is the window, be it a single segment.
#[test]
fn an_echo_does_not_open_a_window_of_one_segment() {
    for congestion in [Congestion::default(), Congestion::Cubic(CubicConfig::default())] {
        let config = TcpConfig { ecn: EcnMode::Classic, congestion, ..config(Recovery::Sack, 1) };
        let mut script = Script::greedy(&config);
        script.at(ms(100)).push(Segment {
            ack: MSS,
            window: u32::MAX,
            flags: Flags::ACK.with(Flags::ECE),
            ..Segment::default()
        });
        assert_eq!((script.cwnd(), script.ssthresh()), (1, 2));
    }
}

#[test]
fn an_echo_reduces_the_window_once_per_window_of_data() {
    let config = TcpConfig {
        ecn: EcnMode::Classic,
        initial_ssthresh: Amount::Packets(8),
        ..config(Recovery::Sack, 8)
    };
    let mut script = Script::greedy(&config);
    assert!(script.last().segment.flags.has(Flags::ECT));
    script.at(ms(100));
    let echo = |number: u64| Segment {
        ack: number * MSS,
        window: u32::MAX,
        flags: Flags::ACK.with(Flags::ECE),
        ..Segment::default()
    };
    for number in 1..=8 {
        script.push(echo(number));
        assert_eq!((script.cwnd(), script.ssthresh()), (4, 4));
    }
    assert_eq!(script.sender.counters().ecn_reductions, 1);
    // The first new segment said that the window was reduced, and only that one.
    let reduced = script.log().iter().filter(|sent| sent.segment.flags.has(Flags::CWR));
    assert_eq!(reduced.map(|sent| sent.data.clone()).collect::<Vec<_>>(), [nth(8)]);
    // An echo of what was sent since counts again.
    script.push(echo(9));
    assert_eq!(script.sender.counters().ecn_reductions, 2);
    assert_eq!(script.cwnd(), 2);
}

#[test]
fn a_retransmission_is_not_ecn_capable() {
    let mut script = Script::greedy(&TcpConfig { ecn: EcnMode::Classic, ..config(Recovery::Sack, 8) });
    script.at(ms(1000));
    assert_eq!((script.last().data.clone(), script.last().segment.flags), (nth(0), Flags::RESENT));
}

#[test]
fn the_receive_window_bounds_what_is_in_flight_and_holes_do_not_shrink_it() {
    let config = TcpConfig { receive_window: Amount::Packets(4), ..config(Recovery::Sack, 10) };
    let mut script = Script::greedy(&config);
    script.expect(&segments(0, 4));
    let mut receiver = receiver(&config);
    let ack = answer(&mut receiver, ms(0), &data(1))[0];
    assert_eq!(ack.window, 4 * MSS as u32);
    // Beyond the window: dropped.
    answer(&mut receiver, ms(1), &data(4));
    assert_eq!(receiver.out_of_order(), Bytes::new(MSS));
}

/// A window of four segments that the application has not read.
fn full() -> (TcpConfig, Receiver) {
    let config = TcpConfig { receive_window: Amount::Packets(4), ..config(Recovery::Sack, 10) };
    let mut receiver = receiver(&config);
    receiver.read_on_demand();
    for number in 0..4 {
        let ack = answer(&mut receiver, ms(number), &data(number))[0];
        assert_eq!(u64::from(ack.window), (3 - number) * MSS);
    }
    (config, receiver)
}

#[test]
fn a_window_update_waits_for_a_whole_segment() {
    let (_, mut receiver) = full();
    receiver.read(Bytes::new(MSS - 1));
    assert!(receiver.poll(ms(10)).is_none());
    receiver.read(Bytes::new(1));
    assert_eq!(receiver.poll(ms(10)).map(|ack| (ack.ack, ack.window)), Some((4 * MSS, MSS as u32)));
}

/// §4.2.3.3, RFC 9293 §3.8.6.2.2 (MUST-39): nor is less told by any other acknowledgement, such as the answer to a probe.
#[test]
fn the_answer_to_a_probe_tells_of_no_small_opening() {
    let (_, mut receiver) = full();
    receiver.read(Bytes::new(100));
    let probe = Segment { seq: 4 * MSS, len: 1, wire_size: 41, ..Segment::default() };
    let told = |receiver: &mut Receiver, at: u64| {
        let acks = answer(receiver, ms(at), &probe);
        acks.iter().map(|ack| (ack.ack / MSS, ack.window)).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut receiver, 10), [(4, 0)]);
    receiver.read(Bytes::new(MSS - 101));
    assert_eq!(told(&mut receiver, 11), [(4, 0)]);
    // Now it is a segment, and the probe's byte has room.
    receiver.read(Bytes::new(1));
    assert_eq!(receiver.poll(ms(12)).map(|ack| ack.window), Some(MSS as u32));
    assert_eq!(told(&mut receiver, 13), [(4, MSS as u32 - 1)]);
}

/// A buffer without a limit is never full, and no read is news.
#[test]
fn a_buffer_without_a_limit_offers_the_largest_window_whatever_waits() {
    let mut receiver = receiver(&config(Recovery::Sack, 10));
    receiver.read_on_demand();
    for number in 0..8 {
        assert_eq!(answer(&mut receiver, ms(number), &data(number))[0].window, 1 << 30);
    }
    receiver.read(Bytes::MAX);
    assert!(receiver.poll(ms(9)).is_none());
}

/// The same where the buffer is smaller than two segments: half of it is enough.
#[test]
fn of_a_small_buffer_half_is_worth_telling() {
    let config = TcpConfig { receive_window: Amount::Bytes(Bytes::new(1500)), ..config(Recovery::Sack, 10) };
    let mut receiver = receiver(&config);
    receiver.read_on_demand();
    for seq in [0, 500, 1000] {
        answer(&mut receiver, ms(0), &Segment { seq, len: 500, wire_size: 540, ..Segment::default() });
    }
    receiver.read(Bytes::new(749));
    assert!(receiver.poll(ms(1)).is_none());
    assert_eq!(receiver.acknowledge(ms(1)).window, 0, "not with data of this host either");
    receiver.read(Bytes::new(1));
    assert_eq!(receiver.poll(ms(1)).map(|ack| ack.window), Some(750));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// RFC 9293 §3.8.6.2.2: whatever arrives and is read, in whatever order, the right edge that is told never moves left, and
    /// once it has stuck never by less than a segment or half of the buffer.
    #[test]
    fn an_edge_that_has_stuck_moves_by_a_segment_or_half_of_the_buffer(
        buffer in 1u64..9000,
        events in prop::collection::vec((0u8..6, 1u64..2500), 1..200),
        ack in prop_oneof![Just(AckPolicy::Every), Just(AckPolicy::default()), Just(AckPolicy::Delayed(DelayedAck::linux()))],
    ) {
        let receive_window = Amount::Bytes(Bytes::new(buffer));
        let config = TcpConfig { receive_window, ack, ..config(Recovery::Sack, 10) };
        let mut receiver = Receiver::new(&config, Time::ZERO);
        receiver.read_on_demand();
        let least = MSS.min(buffer / 2).max(1);
        let (mut edge, mut told, mut now) = (buffer, 0, Time::ZERO);
        for (kind, size) in events {
            now += Span::from_millis(7);
            let segment = |seq: u64| Segment { seq, len: size.min(MSS) as u32, wire_size: 1040, ..Segment::default() };
            let next = receiver.delivered();
            match kind {
                0 | 1 => _ = receiver.push(now, &segment(next)),
                2 => _ = receiver.push(now, &segment(next + size)),
                3 => _ = receiver.push(now, &Segment { seq: edge, len: 1, ..Segment::default() }),
                4 => receiver.read(Bytes::new(size)),
                _ => receiver.read(Bytes::MAX),
            }
            while let Some(ack) = receiver.poll(now) {
                let right = ack.ack + u64::from(ack.window);
                let was_stuck = edge - told < buffer;
                prop_assert!(right == edge || right > edge && (!was_stuck || right - edge >= least), "{edge} to {right}");
                prop_assert!(u64::from(ack.window) <= buffer);
                (edge, told) = (right, ack.ack);
            }
        }
        // All that waits is read: the window is told to be whole again.
        receiver.read(Bytes::MAX);
        let whole = receiver.acknowledge(now).window;
        prop_assert!(u64::from(whole) + least > buffer, "{whole} of {buffer}");
    }
}

#[test]
fn a_closed_window_is_probed_with_backoff_until_it_opens() {
    let config = TcpConfig { receive_window: Amount::Packets(4), ..config(Recovery::Sack, 10) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).window(0).ack(4 * MSS);
    script.expect_nothing();
    let probe = 4 * MSS..4 * MSS + 1;
    script.at(ms(1100));
    script.expect_at(ms(1100), probe.clone());
    // The answer takes nothing.
    script.at(ms(1200)).duplicates(1);
    script.at(ms(3100));
    script.expect_at(ms(3100), probe.clone());
    script.at(ms(7100));
    script.expect_at(ms(7100), probe);
    assert_eq!((script.sender.counters().timeouts, script.cwnd()), (0, 10));
    // The window opens: what was a probe is an ordinary segment.
    script.at(ms(7200)).window(2 * MSS as u32).duplicates(1);
    script.expect(&segments(4, 2));
    assert_eq!(script.sender.state(), State::Open);
    // The backoff was the probes'.
    assert_eq!(script.sender.rto(), Span::from_secs(1));
}

#[test]
fn a_small_rest_of_the_window_is_not_filled_with_a_small_segment() {
    let config = TcpConfig { receive_window: Amount::Packets(4), ..config(Recovery::Sack, 10) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).window(300).ack(4 * MSS);
    script.expect_nothing();
    // The timer overrides.
    script.at(ms(1100));
    script.expect_at(ms(1100), 4 * MSS..4 * MSS + 300);
}

#[test]
fn a_pause_of_the_reader_ends_in_all_data_delivered() {
    let config = TcpConfig { receive_window: Amount::Packets(4), ..config(Recovery::Sack, 10) };
    let (mut sender, mut receiver) = (Sender::new(&config, Time::ZERO), receiver(&config));
    receiver.read_on_demand();
    sender.write(Bytes::new(20 * MSS));
    let mut now = Time::ZERO;
    loop {
        while let Some(segment) = sender.poll(now) {
            for ack in answer(&mut receiver, now, &segment) {
                sender.push(now, &ack);
            }
        }
        if receiver.delivered() == 20 * MSS {
            return;
        }
        now = sender.poll_at();
        assert!(now < ms(200_000), "the window stays closed");
        // The reader wakes up each 5 s; its window update is lost, the probe finds the window open.
        if now.as_nanos() / 5_000_000_000 > receiver.delivered() / (4 * MSS) {
            receiver.read(Bytes::MAX);
            receiver.poll(now);
        }
    }
}

/// §4.2.2.17: a closed window is probed at growing intervals. Linux repeats a sequence number that was acknowledged, which
/// the receiver has to answer (RFC 9293 §3.10.7.4).
#[test]
fn a_closed_window_is_probed_by_a_byte_or_by_an_old_sequence_number() {
    for (window_probe, probe) in [(WindowProbe::Byte, 3000..3001), (WindowProbe::OldSequence, 2999..2999)] {
        let config = TcpConfig { window_probe, ..delayed() };
        let mut script = Script::offering(&config, 3 * MSS);
        script.window(0);
        script.at(ms(200)).ack(3 * MSS);
        script.write(2 * MSS);
        script.at(ms(20_000));
        let probes: Vec<_> = script.log().iter().filter(|sent| sent.at > ms(200)).collect();
        assert!(probes.len() >= 3 && probes.iter().all(|sent| sent.data == probe), "{probes:?}");
        assert!(
            probes.windows(3).all(|sent| sent[2].at - sent[1].at >= sent[1].at - sent[0].at),
            "{probes:?}"
        );
        // The window opens.
        script.window(8 * MSS as u32);
        script.at(ms(20_100)).ack(3 * MSS);
        assert_eq!(script.last().data, nth(4));
    }
}

/// RFC 9293 §3.10.7.4: a segment without data is answered if it lies outside of the window.
#[test]
fn an_old_sequence_number_is_answered() {
    let mut receiver = receiver(&delayed());
    (0..4).for_each(|number| drop(answer(&mut receiver, ms(0), &data(number))));
    for (seq, answers) in [(4 * MSS, 0), (4 * MSS - 1, 1)] {
        let asked = Segment { seq, ..Segment::default() };
        let acks = answer(&mut receiver, ms(500), &asked);
        assert_eq!(acks.iter().map(|ack| ack.ack).collect::<Vec<_>>(), vec![4 * MSS; answers], "from {seq}");
    }
}
