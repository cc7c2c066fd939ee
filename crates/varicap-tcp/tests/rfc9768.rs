//! Accurate ECN. Source: RFC 9768.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{MSS, Script, answer, config, data, held, ms, nth};
use varicap_tcp::congestion::{AckSample, CongestionControl, CongestionEvent, Controller, Wants};
use varicap_tcp::{
    AccurateEcn, AckPolicy, Congestion, DelayedAck, EcnBytes, EcnMode, Flags, RackConfig, Receiver, Recovery,
    Segment, Sender, TcpConfig,
};
use varicap_units::{Amount, Bytes, Span, Streams, Time};

const ACCURATE: EcnMode = EcnMode::Accurate(AccurateEcn { option: true, as_linux: false });
const BARE: EcnMode = EcnMode::Accurate(AccurateEcn { option: false, as_linux: false });
const AS_LINUX: EcnMode = EcnMode::Accurate(AccurateEcn { option: false, as_linux: true });
const CE: Flags = Flags::ECT.with(Flags::CE);

fn with(ecn: EcnMode) -> TcpConfig {
    TcpConfig { ecn, ..config(Recovery::Sack, 16) }
}

fn hand_shaking(ecn: EcnMode) -> TcpConfig {
    TcpConfig { handshake: true, ..with(ecn) }
}

/// AE, CWR and ECE as Table 2 writes them.
fn bits(flags: Flags) -> u32 {
    flags.ace()
}

/// The first data of a sender whose SYN was answered with the bits `ace`.
fn after_answer(ecn: EcnMode, ace: u32) -> Segment {
    let mut sender = Sender::new(&hand_shaking(ecn), Time::ZERO);
    sender.write(Bytes::MAX);
    sender.poll(Time::ZERO).expect("a SYN");
    let flags = Flags::SYN.with(Flags::ACK).with(Flags::of_ace(ace));
    sender.push(ms(20), &Segment { flags, window: u32::MAX, ..Segment::default() });
    sender.poll(ms(20)).expect("data")
}

/// The answers of a receiver to SYNs with these bits.
fn answers(ecn: EcnMode, syns: &[u32]) -> Vec<u32> {
    let mut receiver = Receiver::new(&hand_shaking(ecn), Time::ZERO);
    let mut said = |ace: &u32| {
        let syn = Segment { flags: Flags::SYN.with(Flags::of_ace(*ace)), ..Segment::default() };
        bits(answer(&mut receiver, ms(1), &syn)[0].flags)
    };
    syns.iter().map(&mut said).collect()
}

/// Table 2, first block: a SYN is not ECN-capable here.
#[test]
fn three_flags_ask_and_cwr_agrees() {
    let mut sender = Sender::new(&hand_shaking(ACCURATE), Time::ZERO);
    let mut receiver = Receiver::new(&hand_shaking(ACCURATE), Time::ZERO);
    sender.write(Bytes::MAX);
    let syn = sender.poll(Time::ZERO).expect("a SYN");
    assert_eq!((bits(syn.flags), syn.flags.has(Flags::ECT)), (0b111, false));
    let syn_ack = answer(&mut receiver, ms(10), &syn)[0];
    assert_eq!((bits(syn_ack.flags), syn_ack.flags.has(Flags::ECT)), (0b010, false));
    sender.push(ms(20), &syn_ack);
    let first = sender.poll(ms(20)).expect("data");
    // §3.2.1: the count of the other direction, where nothing flows, begins at five.
    assert_eq!((bits(first.flags), first.flags.has(Flags::ECT)), (5, true));
}

/// §3.2.2.1, Table 3: it says how the answer to the SYN arrived, which is not ECN-capable; the data after it counts.
#[test]
fn the_bare_acknowledgement_of_the_answer_to_the_syn_reflects_its_ecn_field() {
    for (ecn, answered, third, first) in
        [(ACCURATE, 0b010, 0b010, 5), (ACCURATE, 0b001, 0, 0), (EcnMode::Classic, 0b001, 0, 0)]
    {
        let mut sender = Sender::new(&TcpConfig { handshake_ack: true, ..hand_shaking(ecn) }, Time::ZERO);
        sender.write(Bytes::MAX);
        sender.poll(Time::ZERO).expect("a SYN");
        let flags = Flags::SYN.with(Flags::ACK).with(Flags::of_ace(answered));
        sender.push(ms(20), &Segment { flags, window: u32::MAX, ..Segment::default() });
        let bare = sender.poll(ms(20)).expect("an empty segment");
        assert_eq!((bare.len, bits(bare.flags), bare.flags.has(Flags::ECT)), (0, third, false), "{ecn:?}");
        let data = sender.poll(ms(20)).expect("data");
        assert_eq!((bits(data.flags), data.flags.has(Flags::ECT)), (first, true), "{ecn:?}");
    }
}

/// Table 2, first two blocks and the last; §3.1.3: 101 is reserved, and agrees.
#[test]
fn the_answer_to_the_syn_decides_what_the_sender_does() {
    for (ace, is_capable, count) in [
        (0b000, false, 0),
        (0b001, true, 0),
        (0b010, true, 5),
        (0b011, true, 5),
        (0b100, true, 5),
        (0b101, true, 5),
        (0b110, true, 5),
        (0b111, false, 0),
    ] {
        let first = after_answer(ACCURATE, ace);
        assert_eq!((first.flags.has(Flags::ECT), bits(first.flags)), (is_capable, count), "{ace:03b}");
    }
}

/// Table 2, third block; §3.1.3: combinations without a meaning ask for AccECN.
#[test]
fn a_receiver_gives_what_the_syn_asks_for() {
    for (syn, expected) in [(0b000, 0), (0b011, 0b001), (0b111, 0b010), (0b001, 0b010), (0b100, 0b010)] {
        assert_eq!(answers(ACCURATE, &[syn]), [expected], "{syn:03b}");
    }
    assert_eq!(answers(EcnMode::Classic, &[0b111]), [0b001]);
    assert_eq!(answers(EcnMode::Off, &[0b111]), [0]);
}

/// §3.1.5: nobody switches to another mode.
#[test]
fn the_first_syn_decides_whatever_follows() {
    assert_eq!(answers(ACCURATE, &[0b111, 0b000]), [0b010, 0b010]);
    assert_eq!(answers(ACCURATE, &[0b000, 0b111]), [0, 0]);
}

/// §3.1.4.1: one more try, then without.
#[test]
fn a_syn_that_is_sent_for_the_third_time_asks_for_nothing() {
    let mut sender = Sender::new(&hand_shaking(ACCURATE), Time::ZERO);
    sender.write(Bytes::MAX);
    let syns: Vec<u32> =
        [0, 1000, 3000, 7000].into_iter().map(|at| bits(sender.poll(ms(at)).expect("a SYN").flags)).collect();
    assert_eq!(syns, [0b111, 0b111, 0, 0]);
}

/// Table 2, second block: "it MUST then comply with RFC 3168".
#[test]
fn with_a_peer_of_rfc_3168_an_echo_is_answered_with_cwr() {
    let mut script = Script::greedy(&hand_shaking(ACCURATE));
    let flags = Flags::SYN.with(Flags::ACK).with(Flags::ECE);
    script.at(ms(100)).push(Segment { flags, window: u32::MAX, ..Segment::default() });
    let echo = Flags::ACK.with(Flags::ECE);
    for number in 1..=12 {
        script.push(Segment { ack: number * MSS, flags: echo, window: u32::MAX, ..Segment::default() });
    }
    assert_eq!(script.sender.counters().ecn_reductions, 1);
    assert_eq!(
        script.log().iter().filter(|sent| sent.segment.flags.has(Flags::CWR)).count(),
        2,
        "with the SYN"
    );
}

/// Data segment `number` with the ECN bits `flags`.
fn packet(number: u64, flags: Flags) -> Segment {
    Segment { flags, ..data(number) }
}

/// §3.2.2.2, §3.2.1: the three lowest bits of a count that begins at five.
#[test]
fn an_acknowledgement_counts_marked_packets() {
    let mut receiver = Receiver::new(&with(ACCURATE), Time::ZERO);
    let mut count = |number, flags| bits(answer(&mut receiver, ms(number), &packet(number, flags))[0].flags);
    let counts: Vec<u32> = [Flags::ECT, CE, CE, Flags::ECT, CE, CE]
        .into_iter()
        .zip(0..)
        .map(|(flags, at)| count(at, flags))
        .collect();
    assert_eq!(counts, [5, 6, 7, 7, 0, 1]);
}

/// §3.2: marked retransmissions count, too, as packets and as bytes.
#[test]
fn what_arrives_twice_is_counted_twice() {
    let mut receiver = Receiver::new(&with(ACCURATE), Time::ZERO);
    answer(&mut receiver, ms(0), &packet(0, CE));
    let ack = answer(&mut receiver, ms(1), &packet(0, CE))[0];
    assert_eq!((bits(ack.flags), ack.ecn_bytes().expect("the option").marked), (7, 2 * MSS as u32));
}

/// §3.2.3, §3.2.1: payload by its codepoint; ECT(0) begins at one. §3.2.3.3: only if a counter has moved.
#[test]
fn the_option_counts_payload() {
    let mut receiver = Receiver::new(&with(ACCURATE), Time::ZERO);
    let mut bytes = |number, flags| answer(&mut receiver, ms(number), &packet(number, flags))[0].ecn_bytes();
    assert_eq!(bytes(0, Flags::ECT), Some(EcnBytes { capable: 1 + MSS as u32, marked: 0, ect1: false }));
    let one = MSS as u32;
    assert_eq!(bytes(1, CE), Some(EcnBytes { capable: 1 + one, marked: one, ect1: false }));
    assert_eq!(bytes(2, Flags::RESENT), None);
    let mut bare = Receiver::new(&with(BARE), Time::ZERO);
    assert_eq!(answer(&mut bare, ms(0), &packet(0, CE))[0].ecn_bytes(), None);
}

/// §3.2.3, §3.2.1: ECT(1) has a counter of its own, which begins at one and goes first once it is what arrives (order 1).
#[test]
fn the_option_counts_ect_1_apart() {
    const ECT1: Flags = Flags::ECT.with(Flags::ECT1);
    let mut receiver = Receiver::new(&with(ACCURATE), Time::ZERO);
    let mut bytes = |number, flags| answer(&mut receiver, ms(number), &packet(number, flags))[0].ecn_bytes();
    let counted = |arrived: u64, marked: u64, ect1| {
        let [capable, marked] = [1 + arrived * MSS, marked * MSS].map(|bytes| bytes as u32);
        Some(EcnBytes { capable, marked, ect1 })
    };
    assert_eq!(bytes(0, ECT1), counted(1, 0, true));
    assert_eq!(bytes(1, ECT1.with(Flags::CE)), counted(1, 1, true));
    assert_eq!(bytes(2, Flags::ECT), counted(1, 1, false));
    assert_eq!(bytes(3, ECT1), counted(2, 1, true));
}

/// §3.2.3.2.1: the answer to the SYN tests whether the path lets the option pass.
#[test]
fn the_answer_to_the_syn_carries_the_option() {
    let mut receiver = Receiver::new(&hand_shaking(ACCURATE), Time::ZERO);
    let syn = Segment { flags: Flags::SYN.with(Flags::of_ace(0b111)), ..Segment::default() };
    let syn_ack = answer(&mut receiver, ms(1), &syn)[0];
    assert_eq!(syn_ack.ecn_bytes(), Some(EcnBytes { capable: 1, marked: 0, ect1: false }));
    assert_eq!(syn_ack.wire_size, 60, "12 B of them are the other options of a SYN");
}

/// §3.2.3.3: two SACK blocks come before the option; both fit, so one block less is what it costs.
#[test]
fn the_option_takes_eight_bytes_and_the_room_of_a_block() {
    for (timestamps, most) in [(false, 3), (true, 2)] {
        let config = TcpConfig { timestamps, ..with(ACCURATE) };
        let mut receiver = Receiver::new(&config, Time::ZERO);
        let mut ack = Segment::default();
        for number in [1, 3, 5, 7, 9] {
            ack = answer(&mut receiver, ms(number), &packet(number, Flags::ECT))[0];
        }
        assert_eq!(ack.sack_count, most);
        let options = if timestamps { 12 } else { 0 } + 4 + 8 * u16::from(most) + 8;
        assert_eq!(ack.wire_size, 40 + options);
        assert!(options <= 40 && ack.ecn_bytes().is_some());
    }
    let uncounted = TcpConfig { count_options: false, ..with(ACCURATE) };
    let mut receiver = Receiver::new(&uncounted, Time::ZERO);
    assert_eq!(answer(&mut receiver, ms(0), &packet(0, Flags::ECT))[0].wire_size, 40);
}

/// §3.2.2.5.1: at the first mark of a run, and at every second mark.
#[test]
fn marks_are_acknowledged_at_once_although_acknowledgements_wait() {
    for policy in [
        DelayedAck { segments: 8, ..DelayedAck::default() },
        DelayedAck { quick: 0, segments: 8, autotuning: false, ..DelayedAck::linux() },
    ] {
        let config = TcpConfig { ack: AckPolicy::Delayed(policy), ..with(ACCURATE) };
        let mut receiver = Receiver::new(&config, Time::ZERO);
        let flags = [Flags::ECT, CE, CE, CE, Flags::ECT, CE, Flags::ECT, CE, Flags::ECT];
        let answered: Vec<usize> = flags
            .into_iter()
            .zip(0..)
            .map(|(flags, number)| answer(&mut receiver, ms(number), &packet(number, flags)).len())
            .collect();
        assert_eq!(answered, [0, 1, 0, 1, 0, 1, 0, 1, 0], "{policy:?}");
    }
}

/// A control that notes which marks are reported to it: packets and bytes.
#[derive(Debug)]
struct Listener(Arc<Mutex<Vec<(u32, u64)>>>);

impl CongestionControl for Listener {
    fn on_ack(&mut self, ack: &AckSample) {
        assert_eq!(ack.marked, ack.marked_packets > 0);
        self.0.lock().expect("one thread").push((ack.marked_packets, ack.marked_bytes.as_u64()));
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_idle(&mut self, _: Bytes) {}
    fn cwnd(&self) -> Bytes {
        Bytes::new(100 * MSS)
    }
    fn wants(&self) -> Wants {
        Wants { every_ack: true, ..Wants::default() }
    }
}

/// The marks that acknowledgements of (segments, ACE, marked bytes in the option) report to a control.
fn reported(recovery: Recovery, acks: &[(u64, u32, Option<u32>)]) -> Vec<(u32, u64)> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let config = TcpConfig { recovery, ..with(ACCURATE) };
    let control = Controller::Boxed(Box::new(Listener(Arc::clone(&notes))));
    let mut sender = Sender::with_control(&config, Time::ZERO, control);
    sender.write(Bytes::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    for &(number, ace, marked) in acks {
        let flags = Flags::ACK.with(Flags::of_ace(ace));
        let mut ack = Segment { ack: number * MSS, flags, window: u32::MAX, ..Segment::default() };
        if let Some(marked) = marked {
            ack.count_ecn(EcnBytes { capable: 1, marked, ect1: false });
        }
        sender.push(ms(100), &ack);
    }
    let notes = notes.lock().expect("one thread");
    notes.clone()
}

/// §3.2.2.2; appendix A.3: without the option marked packets are full-sized.
#[test]
fn a_control_learns_how_many_packets_were_marked() {
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::Rack(RackConfig::linux())] {
        let bare = reported(recovery, &[(1, 5, None), (3, 6, None), (5, 0, None), (7, 0, None)]);
        assert_eq!(bare, [(0, 0), (1, MSS), (2, 2 * MSS), (0, 0)], "{recovery:?}");
        let counted = reported(recovery, &[(2, 6, Some(700)), (4, 0, Some(1700)), (6, 0, Some(1700))]);
        assert_eq!(counted, [(1, 700), (2, 1000), (0, 0)], "{recovery:?}");
    }
}

/// §3.2.2.5.2: up to seven packets cannot have made the field go round; more can, and then the most is assumed that the
/// packets allow.
#[test]
fn where_the_count_may_have_gone_round_it_did_so() {
    assert_eq!(reported(Recovery::Sack, &[(7, 5, None)]), [(0, 0)]);
    assert_eq!(reported(Recovery::Sack, &[(8, 5, None)]), [(8, 8 * MSS)]);
    assert_eq!(reported(Recovery::Sack, &[(10, 7, None)]), [(10, 10 * MSS)]);
    assert_eq!(reported(Recovery::Sack, &[(10, 0, None)]), [(3, 3 * MSS)]);
    assert_eq!(reported(Recovery::Sack, &[(40, 7, None)])[0].0, 34);
}

/// §3.2.2.5.2: the option knows better.
#[test]
fn the_option_says_whether_the_count_has_gone_round() {
    assert_eq!(reported(Recovery::Sack, &[(10, 7, Some(2000))]), [(2, 2000)]);
    assert_eq!(reported(Recovery::Sack, &[(10, 7, Some(10_000))]), [(10, 10_000)]);
    assert_eq!(reported(Recovery::Sack, &[(40, 7, Some(10_000))]), [(10, 10_000)]);
    assert_eq!(reported(Recovery::Sack, &[(8, 5, Some(0))]), [(0, 0)]);
}

/// §3.2.2.5.2: the field is right, and the count of packets is not.
#[test]
fn a_count_of_more_than_what_was_acknowledged_holds() {
    assert_eq!(reported(Recovery::Sack, &[(1, 0, None)]), [(3, 3 * MSS)]);
}

/// §3.2.2.2: an acknowledgement that another has overtaken says nothing new; its count would look like seven marks.
#[test]
fn overtaken_acknowledgements_are_ignored() {
    assert_eq!(
        reported(Recovery::Sack, &[(2, 6, None), (1, 5, None), (2, 5, None), (3, 6, None)]),
        [(1, MSS), (0, 0), (0, 0)]
    );
}

/// §3.2.2.2: what SACK blocks show to have arrived counts as progress, and as packets.
#[test]
fn marks_are_read_from_duplicates_with_new_blocks() {
    let config = TcpConfig { recovery: Recovery::Sack, ..with(BARE) };
    let mut script = Script::greedy(&config);
    script.at(ms(100));
    let duplicate = |block: std::ops::Range<u64>, ace| Segment {
        flags: Flags::ACK.with(Flags::of_ace(ace)),
        window: u32::MAX,
        sack: [(block.start as u32, block.end as u32), (0, 0), (0, 0), (0, 0)],
        sack_count: 1,
        ..Segment::default()
    };
    script.push(duplicate(held(1, 2), 6));
    assert_eq!(script.sender.counters().reported_marks, 1);
    script.push(duplicate(held(1, 2), 5));
    assert_eq!(script.sender.counters().reported_marks, 1, "it was overtaken");
    script.push(duplicate(held(1, 12), 0));
    assert_eq!(script.sender.counters().reported_marks, 11, "of ten packets two or ten");
    // The hole is filled: one packet, not twelve.
    script.push(Segment { ack: 12 * MSS, flags: Flags::ACK, window: u32::MAX, ..Segment::default() });
    assert_eq!(script.sender.counters().reported_marks, 11);
}

/// RFC 3168 §6.1.2 as RFC 9768 §3.1.5 keeps it: the window falls once per window of data, and CWR says nothing of that.
#[test]
fn marks_reduce_the_window_once_per_window_of_data_and_without_cwr() {
    // Recovery by time halves what is in flight after the acknowledgement, as Linux.
    let by_time = Recovery::Rack(RackConfig::linux());
    for (recovery, ssthresh) in [(Recovery::Sack, 8), (Recovery::NewReno, 8), (by_time, 7)] {
        let config = TcpConfig {
            recovery,
            initial_ssthresh: Amount::Packets(16),
            limited_transmit: false,
            ..with(BARE)
        };
        let mut script = Script::greedy(&config);
        script.at(ms(100));
        for number in 1..=16u32 {
            let flags = Flags::ACK.with(Flags::of_ace(5 + number));
            script.push(Segment {
                ack: u64::from(number) * MSS,
                flags,
                window: u32::MAX,
                ..Segment::default()
            });
        }
        assert_eq!(
            (script.sender.counters().ecn_reductions, script.ssthresh()),
            (1, ssthresh),
            "{recovery:?}"
        );
        assert_eq!(script.sender.counters().reported_marks, 16);
        let ece_and_ae = |flags: Flags| bits(flags) == 5;
        assert!(script.log().iter().all(|sent| ece_and_ae(sent.segment.flags)), "{recovery:?}");
        // Data that was sent since counts again.
        script.at(ms(200));
        let flags = Flags::ACK.with(Flags::of_ace(5 + 17));
        let end = script.sender.sent();
        script.push(Segment { ack: end, flags, window: u32::MAX, ..Segment::default() });
        assert_eq!(script.sender.counters().ecn_reductions, 2, "{recovery:?}");
    }
}

/// RFC 3168 §6.1.5.
#[test]
fn what_is_sent_again_is_not_ecn_capable_but_counts() {
    let mut script = Script::greedy(&with(ACCURATE));
    script.at(ms(1000));
    assert_eq!(script.last().data, nth(0));
    assert_eq!(script.last().segment.flags, Flags::RESENT.with(Flags::of_ace(5)));
}

/// RFC 8311 §4.3 lets experiments do it; Linux does in AccECN mode, and only there.
#[test]
fn what_linux_sends_again_is_ecn_capable_with_counts() {
    let resent = |ecn| {
        let mut script = Script::greedy(&with(ecn));
        script.at(ms(1000));
        assert_eq!(script.last().data, nth(0));
        script.last().segment.flags
    };
    assert_eq!(resent(AS_LINUX), Flags::RESENT.with(Flags::of_ace(5)).with(Flags::ECT));
    assert_eq!(resent(EcnMode::Classic), Flags::RESENT);
}

/// §3.2.2.5.2 and appendix A.2: a field that may have wrapped moved by the most that it can have. Linux 7.0 believes the
/// least if acknowledgements cover more than four packets on average.
#[test]
fn where_acknowledgements_are_thinned_linux_takes_the_least() {
    let marks = |ecn, acks: &[(u64, u32)]| {
        let mut script = Script::greedy(&with(ecn));
        script.at(ms(100));
        for &(number, ace) in acks {
            let flags = Flags::ACK.with(Flags::of_ace(ace));
            script.push(Segment { ack: number * MSS, flags, window: u32::MAX, ..Segment::default() });
        }
        script.sender.counters().reported_marks
    };
    // Ten packets at once, and nothing moved: none were marked, or eight.
    assert_eq!(marks(BARE, &[(10, 5)]), 8);
    assert_eq!(marks(AS_LINUX, &[(10, 5)]), 0);
    assert_eq!(marks(AS_LINUX, &[(10, 6)]), 1);
    // After one that covers a single packet, nine at once are an exception.
    assert_eq!(marks(AS_LINUX, &[(1, 5), (10, 5)]), 8);
    // More than four on average, in which the latest counts for a 64th: (3 * 63 + 12) / 64, and (4 * 63 + 10) / 64.
    assert_eq!(marks(AS_LINUX, &[(3, 5), (15, 5)]), 8);
    assert_eq!(marks(AS_LINUX, &[(4, 5), (14, 5)]), 0);
}

/// A receiver tells what it has counted, ECT(0), CE and ECT(1), whether or not an option says it.
#[test]
fn counters_can_be_read() {
    let mut receiver = Receiver::new(&with(BARE), Time::ZERO);
    let ect1 = Flags::ECT.with(Flags::ECT1);
    for (number, flags) in [(0, Flags::ECT), (1, CE), (2, ect1), (3, ect1)] {
        answer(&mut receiver, ms(number), &packet(number, flags));
    }
    let size = MSS as u32;
    assert_eq!(receiver.ecn_counts(), Some((6, [1 + size, size, 1 + 2 * size])));
    assert_eq!(Receiver::new(&with(EcnMode::Classic), Time::ZERO).ecn_counts(), None);
}

/// A control that reads each mark keeps RFC 3168's echo, packet by packet.
#[test]
fn accel_brake_has_its_own_feedback() {
    let config = TcpConfig { congestion: Congestion::AccelBrake, ..hand_shaking(ACCURATE) };
    let mut sender = Sender::new(&config, Time::ZERO);
    sender.write(Bytes::MAX);
    assert_eq!(bits(sender.poll(Time::ZERO).expect("a SYN").flags), 0b011);
    let mut receiver = Receiver::new(&TcpConfig { handshake: false, ..config }, Time::ZERO);
    let echoes = [CE, Flags::ECT, CE].into_iter().zip(0..);
    let echoes: Vec<u32> =
        echoes.map(|(flags, at)| bits(answer(&mut receiver, ms(at), &packet(at, flags))[0].flags)).collect();
    assert_eq!(echoes, [1, 0, 1]);
}

/// A path of 20 ms that marks and loses: what a run comes to, and how many marked packets arrived.
fn run(config: &TcpConfig, marking: f64, loss: f64, segments: u64) -> (Vec<(Time, u64)>, Sender, u64) {
    let (mut marks, mut losses) = (Streams::new(7, 0).stream("marks"), Streams::new(7, 0).stream("losses"));
    let (mut sender, mut receiver) = (Sender::new(config, Time::ZERO), Receiver::new(config, Time::ZERO));
    sender.write(Bytes::new(segments * MSS));
    sender.close();
    let (mut flying, mut log, mut marked, mut now): (Vec<(Time, bool, Segment)>, _, _, _) =
        (Vec::new(), Vec::new(), 0, Time::ZERO);
    for step in 0.. {
        assert!(step < 100_000, "no end in sight");
        while let Some(mut segment) = sender.poll(now) {
            if segment.flags.has(Flags::ECT) && marks.chance(marking) {
                segment.flags = segment.flags.with(Flags::CE);
            }
            log.push((now, segment.seq));
            if !losses.chance(loss) {
                flying.push((now + Span::from_millis(10), true, segment));
            }
        }
        while let Some(ack) = receiver.poll(now) {
            flying.push((now + Span::from_millis(10), false, ack));
        }
        if sender.is_done() {
            break;
        }
        let next = flying.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
        now = next.min(sender.poll_at()).min(receiver.poll_at());
        if let Some(index) = flying.iter().position(|(at, ..)| *at == now) {
            let (_, forward, segment) = flying.remove(index);
            if forward {
                marked += u64::from(segment.flags.has(Flags::CE));
                receiver.push(now, &segment);
            } else {
                sender.push(now, &segment);
            }
        }
    }
    (log, sender, marked)
}

fn policies() -> [AckPolicy; 3] {
    [AckPolicy::Every, AckPolicy::default(), AckPolicy::Delayed(DelayedAck::linux())]
}

/// No mark is lost, invented or counted twice.
#[test]
fn as_many_marks_are_reported_as_arrived() {
    for recovery in [Recovery::Sack, Recovery::Rack(RackConfig::linux())] {
        for (ack, ecn) in policies().into_iter().flat_map(|ack| [(ack, ACCURATE), (ack, BARE)]) {
            for (marking, loss) in [(0.05, 0.0), (0.3, 0.0), (1.0, 0.0), (0.1, 0.02)] {
                let config = TcpConfig {
                    recovery,
                    ack,
                    handshake: true,
                    initial_window: Amount::Packets(10),
                    ..with(ecn)
                };
                let (_, sender, marked) = run(&config, marking, loss, 400);
                let reported = sender.counters().reported_marks;
                assert_eq!(reported, marked, "{recovery:?} {ack:?} {ecn:?} {marking} {loss}");
                assert!(marked > 0 && sender.counters().ecn_reductions > 0);
            }
        }
    }
}

/// Where no mark comes, it sends the same at the same times as without ECN, losses or not. (After losses Linux's receiver
/// hurries where RFC 3168's CWR or a packet that is not ECN-capable comes.)
#[test]
fn without_marks_it_changes_nothing() {
    let [every, delayed, linux] = policies();
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack(RackConfig::linux())] {
        for (ack, loss) in [(every, 0.0), (every, 0.02), (delayed, 0.0), (delayed, 0.02), (linux, 0.0)] {
            let plain = TcpConfig { recovery, ack, ..with(EcnMode::Off) };
            let counts = TcpConfig { ecn: BARE, ..plain.clone() };
            let same = run(&plain, 0.0, loss, 400).0 == run(&counts, 0.0, loss, 400).0;
            assert!(same, "{recovery:?} {ack:?} {loss}");
        }
    }
}
