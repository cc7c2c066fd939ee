//! Negotiation of ECN: RFC 3168 §6.1.1. What marks do is in rfc1122.rs and rfc5681.rs.

mod common;

use common::{answer, config, ms};
use varicap_tcp::{EcnMode, Flags, Receiver, Recovery, Segment, Sender, State, TcpConfig};
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
