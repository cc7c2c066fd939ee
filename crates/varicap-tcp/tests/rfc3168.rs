//! Negotiation of ECN: RFC 3168 §6.1.1. What marks do is in rfc1122.rs and rfc5681.rs.

use crate::common;

use common::{MSS, Script, answer, config, ms, nth};
use varicap_tcp::{EcnMode, Flags, RackConfig, Receiver, Recovery, Segment, Sender, State, TcpConfig};
use varicap_units::{Bytes, Time};

const SETUP: Flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);

fn with(ecn: bool, handshake: bool) -> TcpConfig {
    TcpConfig { ecn: EcnMode::from(ecn), handshake, ..config(Recovery::Sack, 4) }
}

/// The SYN, its answer, and the first data.
fn opening(sender: bool, receiver: bool) -> (Segment, Segment, Segment) {
    let mut active = Sender::new(&with(sender, true), Time::ZERO);
    let mut passive = Receiver::new(&with(receiver, true), Time::ZERO);
    active.write(Bytes::MAX);
    let syn = active.poll(Time::ZERO).expect("a SYN");
    let answers = answer(&mut passive, ms(10), &syn);
    active.push(ms(20), &answers[0]);
    let data = active.poll(ms(20)).expect("data");
    assert!(data.len > 0 && active.state() == State::Open);
    (syn, answers[0], data)
}

#[test]
fn ece_and_cwr_ask_and_ece_agrees() {
    let (syn, answer, data) = opening(true, true);
    assert_eq!(syn.flags, SETUP);
    assert_eq!(answer.flags, Flags::SYN.with(Flags::ACK).with(Flags::ECE));
    assert!(data.flags.has(Flags::ECT));
}

#[test]
fn neither_syn_is_ecn_capable() {
    let (syn, answer, _) = opening(true, true);
    assert!(!syn.flags.has(Flags::ECT) && !answer.flags.has(Flags::ECT));
}

#[test]
fn data_is_ecn_capable_only_if_both_want_it() {
    let (syn, answer, data) = opening(true, false);
    assert_eq!((syn.flags, answer.flags), (SETUP, Flags::SYN.with(Flags::ACK)));
    assert!(!data.flags.has(Flags::ECT));
    let (syn, answer, data) = opening(false, true);
    assert_eq!((syn.flags, answer.flags), (Flags::SYN, Flags::SYN.with(Flags::ACK)));
    assert!(!data.flags.has(Flags::ECT));
}

#[test]
fn an_answer_that_reflects_both_flags_does_not_agree() {
    // §6.1.1: some hosts reflect the reserved bits of a SYN.
    let mut sender = Sender::new(&with(true, true), Time::ZERO);
    sender.write(Bytes::MAX);
    sender.poll(Time::ZERO).expect("a SYN");
    let flags = SETUP.with(Flags::ACK);
    sender.push(ms(20), &Segment { flags, window: u32::MAX, ..Segment::default() });
    assert!(!sender.poll(ms(20)).expect("data").flags.has(Flags::ECT));
}

#[test]
fn the_echo_of_a_mark_is_not_the_agreement() {
    let mut receiver = Receiver::new(&with(true, true), Time::ZERO);
    let acks = answer(&mut receiver, ms(0), &Segment { flags: SETUP, ..Segment::default() });
    assert_eq!(acks.len(), 1);
    let ack = answer(&mut receiver, ms(1), &common::data(0))[0];
    assert_eq!(ack.flags, Flags::ACK);
}

#[test]
fn a_syn_that_is_sent_again_asks_again() {
    let mut sender = Sender::new(&with(true, true), Time::ZERO);
    sender.write(Bytes::MAX);
    sender.poll(Time::ZERO).expect("a SYN");
    assert_eq!(sender.poll(ms(1000)).expect("another").flags, SETUP.with(Flags::RESENT));
}

#[test]
fn without_a_handshake_it_holds_from_the_beginning() {
    let mut sender = Sender::new(&with(true, false), Time::ZERO);
    sender.write(Bytes::MAX);
    assert!(sender.poll(Time::ZERO).expect("data").flags.has(Flags::ECT));
}

/// §6.1.2: "the sending TCP will then be able to send a new packet only when the retransmit timer expires".
#[test]
fn an_echo_at_a_window_of_one_segment_puts_off_the_next_one_until_the_timer_expires() {
    let config = TcpConfig { ecn: EcnMode::Classic, ..config(Recovery::Sack, 1) };
    let mut script = Script::greedy(&config);
    script.skip();
    let ack =
        |number: u64, flags| Segment { ack: number * MSS, window: u32::MAX, flags, ..Segment::default() };
    script.at(ms(100)).push(ack(1, Flags::ACK.with(Flags::ECE)));
    // An update of the window changes nothing about that.
    script.at(ms(600)).push(Segment { window: 1 << 20, ..ack(1, Flags::ACK) });
    script.expect_nothing();
    assert_eq!(script.cwnd(), 1);
    script.at(ms(2000));
    // The least RTO is 1 s. It is no timeout: nothing is in flight.
    script.expect_at(ms(1100), nth(1));
    assert!(script.last().segment.flags.has(Flags::CWR));
    assert_eq!(script.sender.counters().timeouts, 0);
    script.at(ms(2100));
    assert_eq!(script.sender.counters().timeouts, 1, "the timer of that segment");
}

#[test]
fn an_echo_at_a_larger_window_puts_off_nothing() {
    let config = TcpConfig { ecn: EcnMode::Classic, ..config(Recovery::Sack, 2) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).push(Segment {
        ack: 2 * MSS,
        window: u32::MAX,
        flags: Flags::ACK.with(Flags::ECE),
        ..Segment::default()
    });
    // ssthresh is no less than two segments (RFC 5681 (4)).
    script.expect(&[nth(2), nth(3)]);
}

/// Linux does not wait.
#[test]
fn with_recovery_by_time_the_next_segment_leaves_at_once() {
    let recovery = Recovery::Rack(RackConfig::linux());
    let mut script = Script::greedy(&TcpConfig { ecn: EcnMode::Classic, ..config(recovery, 1) });
    script.skip();
    let flags = Flags::ACK.with(Flags::ECE);
    script.at(ms(100)).push(Segment { ack: MSS, window: u32::MAX, flags, ..Segment::default() });
    script.expect(&[nth(1)]);
}
