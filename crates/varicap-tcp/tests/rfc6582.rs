//! RFC 6582: NewReno.

use crate::common;

use common::{MSS, Script, config, ms, nth, segments};
use varicap_tcp::{AfterRecovery, Recovery, State, TcpConfig};
use varicap_units::Amount;

/// Ten segments in flight, the first of them lost: fast recovery has just begun, nine duplicates inflated it.
fn recovering(initial: TcpConfig) -> Script {
    let config = TcpConfig { initial_ssthresh: Amount::Packets(10), ..initial };
    let mut script = Script::greedy(&config);
    script.at(ms(100)).duplicates(3);
    script.skip();
    script
}

fn newreno() -> TcpConfig {
    config(Recovery::NewReno, 10)
}

#[test]
fn a_partial_ack_retransmits_the_next_hole_and_stays_in_recovery() {
    let mut script = recovering(newreno());
    script.at(ms(200)).ack(4 * MSS);
    script.expect(&[nth(4)]);
    assert_eq!(script.sender.state(), State::Recovery);
    assert_eq!(script.sender.counters().fast_retransmits, 1);
}

#[test]
fn a_partial_ack_deflates_by_what_it_acknowledged_less_one_segment() {
    let mut script = recovering(newreno());
    // cwnd 5 + 3, six more duplicates: 14 of 10 in flight, so four new ones go out.
    script.duplicates(6);
    script.expect(&segments(10, 4));
    // 14 - 4 + 1 = 11 of 10 in flight: the hole, and one new segment.
    script.at(ms(200)).ack(4 * MSS);
    script.expect(&[nth(4), nth(14)]);
}

#[test]
fn a_full_ack_ends_recovery_with_at_most_ssthresh() {
    let mut script = recovering(newreno());
    script.duplicates(6);
    script.skip();
    script.at(ms(200)).ack(10 * MSS);
    assert_eq!(script.sender.state(), State::Open);
    // Four in flight: cwnd = min(5, 4 + 1).
    assert_eq!((script.cwnd(), script.ssthresh()), (5, 5));
    script.expect(&[nth(14)]);
}

#[test]
fn a_full_ack_with_little_in_flight_lets_out_no_burst() {
    let mut script = recovering(newreno());
    script.at(ms(200)).ack(10 * MSS);
    // Nothing in flight: cwnd = min(ssthresh, max(0, SMSS) + SMSS).
    assert_eq!((script.cwnd(), script.ssthresh()), (2, 5));
    script.expect(&segments(10, 2));
}

#[test]
fn a_full_ack_ends_recovery_with_ssthresh_if_bursts_may_be() {
    let mut script = recovering(TcpConfig { after_recovery: AfterRecovery::Ssthresh, ..newreno() });
    script.at(ms(200)).ack(10 * MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (5, 5));
    script.expect(&segments(10, 5));
}

#[test]
fn only_the_first_partial_ack_resets_the_timer() {
    let mut script = recovering(newreno());
    script.at(ms(600)).ack(2 * MSS);
    assert_eq!(script.sender.poll_at(), ms(1600));
    script.at(ms(700)).ack(4 * MSS);
    assert_eq!(script.sender.poll_at(), ms(1600));
}

#[test]
fn duplicates_of_what_was_sent_before_recovery_start_no_other_one() {
    for (repeat_fast_retransmit, episodes) in [(false, 1), (true, 2)] {
        let mut script = recovering(TcpConfig { repeat_fast_retransmit, ..newreno() });
        script.duplicates(6);
        script.at(ms(200)).ack(10 * MSS);
        script.duplicates(3);
        assert_eq!(script.sender.counters().fast_retransmits, episodes);
    }
}

#[test]
fn duplicates_after_a_timeout_start_no_recovery_until_all_that_was_sent_is_acknowledged() {
    let mut script = recovering(newreno());
    script.at(ms(1100));
    assert_eq!(script.sender.counters().timeouts, 1);
    script.at(ms(1200)).ack(5 * MSS);
    script.duplicates(4);
    assert_eq!(script.sender.counters().fast_retransmits, 1);
    assert_eq!(script.sender.state(), State::Loss);
    // All of it is acknowledged, but no more: the duplicates may answer what was resent in vain.
    script.at(ms(1300)).ack(10 * MSS);
    assert_eq!(script.sender.state(), State::Open);
    script.duplicates(4);
    assert_eq!(script.sender.counters().fast_retransmits, 1);
    script.at(ms(1400)).ack(11 * MSS);
    script.duplicates(3);
    assert_eq!(script.sender.state(), State::Recovery);
}

#[test]
fn a_timeout_ends_recovery() {
    let mut script = recovering(newreno());
    script.at(ms(1100));
    assert_eq!(script.sender.state(), State::Loss);
    assert_eq!(script.cwnd(), 1);
    script.expect_at(ms(1100), nth(0));
}

#[test]
fn a_timeout_in_recovery_does_not_count_what_inflation_let_out() {
    let mut script = recovering(newreno());
    // 5 + 3 + 30 of 10 in flight: 28 new ones go out, each for one that has left the network.
    script.duplicates(30);
    script.expect(&segments(10, 28));
    script.at(ms(1100));
    assert_eq!(script.sender.state(), State::Loss);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 5));
}
