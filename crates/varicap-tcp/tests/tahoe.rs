//! [jacobson88]: fast retransmit, then slow start from the hole on, over data that may be in flight still.

use crate::common::{MSS, Script, config, ms, nth};
use varicap_tcp::{Recovery, State, TcpConfig};

/// A Tahoe that heeds duplicate ACKs at any time, with eight segments in flight, of which it takes the first for lost.
fn repeating() -> Script {
    let config = TcpConfig { repeat_fast_retransmit: true, ..config(Recovery::Tahoe, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).duplicates(3);
    script.expect(&[nth(0)]);
    script
}

/// The first copies of all segments arrive, and then the second ones, which went out in answer to their ACKs.
#[test]
fn duplicates_of_its_own_second_copies_start_no_fast_retransmit() {
    let mut script = repeating();
    for number in 1..=8 {
        script.at(ms(100 + number)).ack(number * MSS);
    }
    assert_eq!(script.sender.state(), State::Open);
    let copies = script.sender.counters().retransmitted_packets;
    assert!(copies > 3, "{copies}");
    script.skip();
    script.at(ms(200)).duplicates(6);
    script.expect_nothing();
    assert_eq!((script.sender.state(), script.cwnd()), (State::Disorder, 5));
    assert_eq!(script.sender.counters().fast_retransmits, 1);
}

#[test]
fn a_second_hole_of_the_window_starts_one_while_it_resends() {
    let mut script = repeating();
    script.at(ms(200)).ack(4 * MSS);
    script.skip();
    script.duplicates(3);
    script.expect(&[nth(4)]);
    assert_eq!(script.sender.counters().fast_retransmits, 2);
    assert_eq!(script.cwnd(), 1);
}

#[test]
fn a_hole_beyond_the_window_starts_one() {
    let mut script = repeating();
    script.at(ms(200)).ack(8 * MSS);
    script.at(ms(300)).ack(9 * MSS);
    script.skip();
    script.duplicates(3);
    script.expect(&[nth(9)]);
    assert_eq!(script.sender.counters().fast_retransmits, 2);
}
