//! DCTCP's echo and its answer as dialogues. Source: RFC 8257.

use crate::common;

use common::{MSS, Script, config as config_of, held, ms};
use varicap_tcp::congestion::{DctcpConfig, Halving, PragueConfig, RenoConfig};
use varicap_tcp::{
    AckPolicy, Congestion, DelayedAck, EcnMode, Flags, RackConfig, Receiver, Recovery, Segment, Sender,
    TcpConfig,
};
use varicap_units::{Amount, Bytes, Time};

fn config(congestion: Congestion) -> TcpConfig {
    TcpConfig {
        congestion,
        mss: Bytes::new(MSS),
        handshake: false,
        ack: AckPolicy::Delayed(DelayedAck { segments: 2, ..DelayedAck::default() }),
        ..TcpConfig::default()
    }
}

fn dctcp() -> TcpConfig {
    config(Congestion::Dctcp(DctcpConfig::default()))
}

fn prague() -> TcpConfig {
    config(Congestion::Prague(PragueConfig::default()))
}

fn data(number: u64, marked: bool) -> Segment {
    let capable = Flags::ECT;
    Segment {
        seq: number * MSS,
        len: MSS as u32,
        sent_at: ms(number),
        flags: if marked { capable.with(Flags::CE) } else { capable },
        ..Segment::default()
    }
}

/// The answers of a receiver to packets, one each ms, marked or not: how many it acknowledges, and whether with an echo.
fn answers(config: &TcpConfig, marks: &[bool]) -> Vec<(u64, bool)> {
    let mut receiver = Receiver::new(config, Time::ZERO);
    let mut all = Vec::new();
    for (number, &marked) in marks.iter().enumerate() {
        let now = ms(number as u64);
        receiver.push(now, &data(number as u64, marked));
        while let Some(ack) = receiver.poll(now) {
            all.push((ack.ack / MSS, ack.flags.has(Flags::ECE)));
        }
    }
    all
}

/// §3.2: while the marks stay as they are, acknowledgements are delayed as usual, and say what they are.
#[test]
fn acknowledgements_are_delayed_while_the_marks_stay() {
    assert_eq!(answers(&dctcp(), &[false; 6]), [(2, false), (4, false), (6, false)]);
    // The first mark is a change.
    assert_eq!(answers(&dctcp(), &[true; 5]), [(1, true), (3, true), (5, true)]);
}

/// §3.2: at a change one at once, after one for what had not been acknowledged yet, with the old state.
#[test]
fn a_change_is_told_at_once_and_what_came_before_apart() {
    assert_eq!(answers(&dctcp(), &[false, true, true, true]), [(1, false), (2, true), (4, true)]);
    assert_eq!(
        answers(&dctcp(), &[true, true, false, false, false]),
        [(1, true), (2, true), (3, false), (5, false)]
    );
    // The echo is the state of the last packet, whatever the sender says of its window (CWR).
    let mut receiver = Receiver::new(&dctcp(), Time::ZERO);
    receiver.push(ms(0), &data(0, true));
    assert!(receiver.poll(ms(0)).unwrap().flags.has(Flags::ECE));
    let mut segment = data(1, true);
    segment.flags = segment.flags.with(Flags::CWR);
    receiver.push(ms(1), &segment);
    receiver.push(ms(2), &data(2, true));
    assert!(receiver.poll(ms(2)).unwrap().flags.has(Flags::ECE));
}

/// With accurate ECN the counters say it all, and acknowledgements are RFC 9768's.
#[test]
fn counters_take_the_place_of_the_echo() {
    let accurate = EcnMode::Accurate(varicap_tcp::AccurateEcn::default());
    let mut receiver = Receiver::new(&TcpConfig { ecn: accurate, ..dctcp() }, Time::ZERO);
    receiver.push(ms(0), &data(0, true));
    let ack = receiver.poll(ms(0)).unwrap();
    assert_eq!((ack.flags.ace(), ack.ecn_bytes().unwrap().marked), (6, MSS as u32));
}

/// All data is ECN-capable, what is sent again included, whatever `ecn` says; Prague's is ECT(1).
#[test]
fn data_is_ecn_capable_the_first_time_and_again() {
    for (config, is_l4s) in [(dctcp(), false), (prague(), true)] {
        let mut sender = Sender::new(&config, Time::ZERO);
        sender.write(Bytes::new(3 * MSS));
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll(ms(0))).collect();
        assert_eq!(sent.len(), 3);
        let again = sender.poll(sender.poll_at()).expect("a retransmission");
        assert!(again.flags.has(Flags::RESENT));
        for segment in sent.iter().chain([&again]) {
            assert!(segment.flags.has(Flags::ECT));
            assert_eq!(segment.flags.has(Flags::ECT1), is_l4s);
        }
    }
}

/// RFC 9331 §4.2: Prague's data is counted by codepoint, and every mark reaches the control.
#[test]
fn marks_reach_prague_by_counters() {
    let mut sender = Sender::new(&prague(), Time::ZERO);
    let mut receiver = Receiver::new(&prague(), Time::ZERO);
    sender.write(Bytes::MAX);
    let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll(ms(0))).collect();
    for (number, segment) in sent.iter().enumerate() {
        let mut segment = *segment;
        if number == 4 {
            segment.flags = segment.flags.with(Flags::CE);
        }
        receiver.push(ms(50), &segment);
        while let Some(ack) = receiver.poll(ms(50)) {
            sender.push(ms(100), &ack);
            assert!(ack.ecn_bytes().is_none_or(|bytes| bytes.ect1));
        }
    }
    assert_eq!(sender.counters().reported_marks, 1);
    // Ten segments, doubled by those before the mark, halved by it, and a bit more.
    let window = sender.cwnd().as_u64() / MSS;
    assert!((6..=8).contains(&window), "{window}");
    assert_eq!(sender.counters().ecn_reductions, 0);
}

/// RFC 9331 §4.3: with a peer that has RFC 3168's ECN alone, Prague sends ECT(0) and takes an echo for a loss.
#[test]
fn a_classic_peer_gets_a_classic_prague() {
    let config = TcpConfig { handshake: true, ..prague() };
    let mut sender = Sender::new(&config, Time::ZERO);
    sender.write(Bytes::MAX);
    let syn = sender.poll(ms(0)).expect("a SYN");
    assert_eq!(syn.flags.ace(), 0b111);
    let window = Segment { window: 1 << 20, ..Segment::default() };
    let flags = Flags::SYN.with(Flags::ACK).with(Flags::ECE);
    sender.push(ms(10), &Segment { flags, ..window });
    let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll(ms(10))).collect();
    assert!(sent.iter().all(|segment| segment.flags.has(Flags::ECT) && !segment.flags.has(Flags::ECT1)));
    let before = sender.cwnd();
    let flags = Flags::ACK.with(Flags::ECE);
    sender.push(ms(20), &Segment { ack: MSS, flags, sent_at: ms(15), ..window });
    assert!(sender.cwnd() * 2 <= before, "{:?}", sender.cwnd());
    assert_eq!(sender.counters().ecn_reductions, 1);
}

/// §3.5: a loss is answered as by conventional TCP, also after a mark in the same window of data, which was answered in part:
/// by a fast retransmit, and by a timeout. Reno has halved at the mark, and a fast retransmit leaves it at that.
#[test]
fn a_loss_after_a_mark_is_an_event_of_its_own() {
    let slight = Congestion::Dctcp(DctcpConfig { initial_alpha: 0.1, ..DctcpConfig::default() });
    let reno = Congestion::Reno(RenoConfig::default());
    let recoveries =
        [Recovery::Rack(RackConfig { tail_loss_probe: false, ..RackConfig::default() }), Recovery::Sack];
    // The mark itself counts in alpha: 20 (1 - (0.1 x 15/16 + 1/16) / 2).
    for (congestion, marked, lost) in [(slight, 18, 9..=10), (reno, 10, 10..=10)] {
        for recovery in recoveries {
            for is_timeout in if marked == 18 { vec![false, true] } else { vec![false] } {
                let config = TcpConfig {
                    congestion: congestion.clone(),
                    ecn: EcnMode::Classic,
                    reduce_once: true,
                    halving: Halving::Window,
                    ..config_of(recovery, 20)
                };
                let mut script = Script::greedy(&config);
                let flags = Flags::ACK.with(Flags::ECE);
                script.at(ms(100)).push(Segment { ack: MSS, flags, window: u32::MAX, ..Segment::default() });
                assert_eq!(script.ssthresh(), marked, "{congestion:?}, {recovery:?}");
                if is_timeout {
                    script.at(ms(10_000));
                } else {
                    script.at(ms(110)).sack(MSS, &[held(2, 12)]);
                }
                let found = script.ssthresh();
                assert!(lost.contains(&found), "{congestion:?}, {recovery:?}, timeout {is_timeout}: {found}");
            }
        }
    }
}

/// A sender of DCTCP with gain 1 and no alpha yet, in congestion avoidance, hears of one mark after `quiet` round trips
/// without any: by which share of it the window falls, and ssthresh with it.
fn falls(recovery: Recovery, halving: Halving, ecn: EcnMode, quiet: u64) -> f64 {
    let congestion = Congestion::Dctcp(DctcpConfig { gain: 1.0, initial_alpha: 0.0 });
    let initial_ssthresh = Amount::Packets(10);
    let mut script =
        Script::greedy(&TcpConfig { congestion, halving, ecn, initial_ssthresh, ..config_of(recovery, 10) });
    let answer = |ack: u64, marked: bool| {
        let accurate = ecn != EcnMode::Off;
        let (now, flags) =
            (ms(100 * (quiet + 1)), if marked && !accurate { Flags::ECE } else { Flags::default() });
        let count = if accurate { 5 + u32::from(marked) } else { 0 };
        let flags = Flags::ACK.with(flags).with(Flags::of_ace(count));
        Segment { ack, sent_at: now, echo: now, window: u32::MAX, flags, wire_size: 40, ..Segment::default() }
    };
    for round in 1..=quiet {
        let (base, sent) = (script.sender.counters().acked_bytes, script.sender.sent());
        script.at(ms(100 * round));
        for ack in (base / MSS + 1)..=(sent / MSS) {
            script.push(Segment { echo: ms(100 * (round - 1)), ..answer(ack * MSS, false) });
        }
    }
    let (acked, before) = (script.sender.counters().acked_bytes, script.sender.cwnd().as_u64());
    script.at(ms(100 * (quiet + 1))).push(answer(acked + MSS, true));
    assert_eq!(script.sender.ssthresh(), Some(script.sender.cwnd()), "{ecn:?}");
    1.0 - script.sender.cwnd().as_u64() as f64 / before as f64
}

/// §3.3: alpha moves by the acknowledgement that ends a window of data (steps 4 to 7), and then the window falls by it (step
/// 8), whichever recovery and feedback there is and whatever the window falls from. With the order turned round the first
/// mark would move nothing.
#[test]
fn alpha_is_up_to_date_when_the_window_falls() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack(RackConfig::default())] {
        for (halving, ecn) in variants() {
            let by = |quiet| falls(recovery, halving, ecn, quiet);
            // The very first acknowledgement ends a window: all of what it acknowledges was marked.
            assert_eq!(by(0), 0.5, "{recovery:?}, {halving:?}, {ecn:?}");
            // Of the next window a tenth or so.
            assert!((0.04..0.06).contains(&by(1)), "{} {recovery:?}, {halving:?}, {ecn:?}", by(1));
            assert!((0.04..0.06).contains(&by(3)), "{} {recovery:?}, {halving:?}, {ecn:?}", by(3));
        }
    }
}

fn variants() -> impl Iterator<Item = (Halving, EcnMode)> {
    let accurate = EcnMode::Accurate(varicap_tcp::AccurateEcn::default());
    let feedback = [EcnMode::Off, accurate];
    feedback.into_iter().flat_map(|ecn| [Halving::FlightSize, Halving::Window].map(|halving| (halving, ecn)))
}
