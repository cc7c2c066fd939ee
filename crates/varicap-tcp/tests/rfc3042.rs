//! RFC 3042: limited transmit.

use crate::common;

use common::{Script, config, held, ms, nth, segments};
use varicap_tcp::{Recovery, TcpConfig};
use varicap_units::Amount;

fn limited(recovery: Recovery) -> Script {
    let config =
        TcpConfig { limited_transmit: true, initial_ssthresh: Amount::Packets(6), ..config(recovery, 6) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100));
    script
}

#[test]
fn each_of_the_first_two_duplicate_acks_lets_one_new_segment_out() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        let mut script = limited(recovery);
        script.duplicates(1);
        script.expect(&[nth(6)]);
        script.duplicates(1);
        script.expect(&[nth(7)]);
        script.duplicates(1);
        script.expect(&[nth(0)]);
    }
}

#[test]
fn the_window_itself_does_not_change() {
    let mut script = limited(Recovery::Reno);
    script.duplicates(2);
    assert_eq!(script.cwnd(), 6);
    // The loss was none: one segment per acknowledgement goes on, none for the two that went ahead.
    script.ack(1000);
    script.expect(&[nth(6), nth(7)]);
    script.ack(2000);
    script.expect_nothing();
    script.ack(3000);
    script.expect(&[nth(8)]);
}

#[test]
fn what_it_sent_does_not_count_when_the_window_is_halved() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut script = limited(recovery);
        script.duplicates(3);
        assert_eq!(script.ssthresh(), 3);
    }
    let mut script = limited(Recovery::Sack);
    script.sack(0, &[held(1, 2)]);
    script.sack(0, &[held(1, 3)]);
    script.expect(&segments(6, 2));
    script.sack(0, &[held(1, 4)]);
    assert_eq!(script.ssthresh(), 3);
}

#[test]
fn without_it_nothing_goes_out_before_the_third() {
    let mut script = Script::greedy(&config(Recovery::Reno, 6));
    script.skip();
    script.duplicates(2);
    script.expect_nothing();
}
