//! RFC 896 and RFC 9293 §3.7.4: short segments that wait, all of them or, as in Linux, after another short one.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::{Nagle, RackConfig, Recovery, TcpConfig};

/// A sender of which a segment of 300 bytes is in flight.
fn talking(nagle: Nagle) -> Script {
    let mut script = Script::offering(&TcpConfig { nagle, ..config(Recovery::Sack, 10) }, 300);
    #[expect(clippy::single_range_in_vec_init, reason = "one segment")]
    script.expect(&[0..300]);
    script
}

#[test]
fn without_a_rule_each_write_is_a_segment() {
    let mut script = talking(Nagle::Off);
    script.at(ms(1)).write(200).write(100);
    script.expect(&[300..500, 500..600]);
}

#[test]
fn what_is_short_waits_until_all_is_acknowledged() {
    let mut script = talking(Nagle::Rfc896);
    script.at(ms(1)).write(200).write(100);
    script.expect_nothing();
    assert!(script.sender.poll_at() > ms(100), "only the retransmission timer runs");
    script.at(ms(100)).ack(300);
    script.expect_at(ms(100), 300..600);
}

#[test]
fn what_has_become_a_full_segment_does_not_wait() {
    for nagle in [Nagle::Rfc896, Nagle::Minshall] {
        let mut script = talking(nagle);
        script.at(ms(1)).write(400);
        script.expect_nothing();
        script.at(ms(2)).write(700);
        script.expect_at(ms(2), 300..300 + MSS);
    }
}

/// The short segment after full ones waits under the one rule, and leaves under the other.
#[test]
fn after_full_segments_alone_minshall_lets_a_short_one_go() {
    let first = |nagle| {
        let config = TcpConfig { nagle, ..config(Recovery::Sack, 10) };
        let script = Script::offering(&config, 2 * MSS + 300);
        script.log().iter().map(|sent| sent.segment.len).collect::<Vec<_>>()
    };
    assert_eq!(first(Nagle::Rfc896), [1000, 1000]);
    assert_eq!(first(Nagle::Minshall), [1000, 1000, 300]);
    let mut script = talking(Nagle::Minshall);
    script.at(ms(1)).write(200);
    script.expect_nothing();
    script.at(ms(100)).ack(300);
    script.expect_at(ms(100), 300..500);
}

#[test]
fn the_end_of_a_transfer_does_not_wait() {
    for nagle in [Nagle::Rfc896, Nagle::Minshall] {
        let mut script = talking(nagle);
        script.at(ms(1)).write(200);
        script.expect_nothing();
        script.sender.close();
        script.at(ms(2));
        script.expect_at(ms(2), 300..500);
    }
}

#[test]
fn a_rule_that_is_lifted_lets_go_what_waited() {
    let mut script = talking(Nagle::Minshall);
    script.at(ms(1)).write(200);
    script.expect_nothing();
    script.sender.set_nagle(Nagle::Off);
    script.at(ms(2));
    script.expect_at(ms(2), 300..500);
}

/// RFC 8985 §7.3: a probe is new data if there is any, even if it waited.
#[test]
fn a_probe_of_the_tail_takes_what_waits() {
    let rack = Recovery::Rack(RackConfig::linux());
    let mut script = Script::offering(&TcpConfig { nagle: Nagle::Minshall, ..config(rack, 10) }, 300);
    script.at(ms(100)).ack(300);
    script.write(300);
    script.write(200);
    script.skip();
    script.at(ms(700));
    assert_eq!((script.last().data.clone(), script.last().segment.flags.0), (600..800, 0));
}

/// A sender that goes back resends a short segment while others are in flight.
#[test]
fn what_was_sent_before_does_not_wait() {
    let config = TcpConfig { nagle: Nagle::Minshall, ..config(Recovery::NewReno, 10) };
    let mut script = Script::offering(&config, 2 * MSS + 300);
    script.skip();
    script.at(ms(1100));
    script.expect_at(ms(1000), 0..MSS);
    script.ack(MSS);
    script.expect(&[MSS..2 * MSS, 2 * MSS..2 * MSS + 300]);
}
