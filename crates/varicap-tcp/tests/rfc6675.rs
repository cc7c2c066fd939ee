//! RFC 6675: recovery by selective acknowledgements.

use crate::common;

use common::{MSS, Script, config, held, ms, nth, segments};
use varicap_tcp::{Flags, Recovery, State, TcpConfig};
use varicap_units::Amount;

/// `window` segments in flight in congestion avoidance.
fn sack(window: u64) -> Script {
    let config = TcpConfig { initial_ssthresh: Amount::Packets(window), ..config(Recovery::Sack, window) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100));
    script
}

#[test]
fn three_sacked_segments_retransmit_the_hole() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 2)]);
    script.sack(0, &[held(1, 3)]);
    script.expect_nothing();
    assert_eq!(script.sender.state(), State::Disorder);
    script.sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (5, 5));
    assert_eq!(script.sender.state(), State::Recovery);
}

#[test]
fn one_ack_that_reports_three_segments_is_enough() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    let mut script = sack(10);
    script.sack(0, &[held(5, 6), held(3, 4), held(1, 2)]);
    script.expect(&[nth(0)]);
}

#[test]
fn duplicate_acks_that_report_nothing_new_count_for_nothing() {
    let mut script = sack(10);
    for _ in 0..5 {
        script.sack(0, &[held(1, 2)]);
    }
    script.expect_nothing();
    assert_eq!(script.sender.state(), State::Disorder);
}

#[test]
fn the_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_resent() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 3)]);
    assert_eq!(script.in_flight(), 8);
    // 0 is lost and resent; 1..4 arrived.
    script.sack(0, &[held(1, 4)]);
    assert_eq!(script.in_flight(), 7);
}

#[test]
fn new_data_goes_out_as_the_pipe_falls_below_the_window() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    script.sack(0, &[held(1, 5)]);
    script.sack(0, &[held(1, 6)]);
    assert_eq!(script.in_flight(), 5);
    script.expect_nothing();
    script.sack(0, &[held(1, 7)]);
    script.expect(&[nth(10)]);
    script.sack(0, &[held(1, 8)]);
    script.expect(&[nth(11)]);
}

#[test]
fn lost_holes_are_resent_in_order_before_new_data_and_sacked_data_never() {
    let mut script = sack(12);
    // 0, 2 and 4 are lost.
    script.sack(0, &[held(1, 2)]);
    script.sack(0, &[held(3, 4), held(1, 2)]);
    script.sack(0, &[held(5, 6), held(3, 4), held(1, 2)]);
    script.expect(&[nth(0)]);
    for end in 7..=12 {
        script.sack(0, &[held(5, end), held(3, 4), held(1, 2)]);
    }
    // All the rest arrived: the pipe holds 0, then what the window of 6 allows.
    script.expect(&[nth(2), nth(4), nth(12), nth(13), nth(14)]);
    assert_eq!(script.in_flight(), 6);
}

#[test]
fn an_ack_of_all_that_was_sent_ends_recovery_and_keeps_the_window() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 4)]);
    script.skip();
    script.at(ms(200)).ack(10 * MSS);
    assert_eq!(script.sender.state(), State::Open);
    assert_eq!((script.cwnd(), script.ssthresh()), (5, 5));
    script.expect(&segments(10, 5));
}

#[test]
fn a_partial_ack_stays_in_recovery_and_reduces_nothing() {
    let mut script = sack(10);
    script.sack(0, &[held(1, 4)]);
    script.at(ms(200)).sack(4 * MSS, &[held(5, 8)]);
    assert_eq!(script.sender.state(), State::Recovery);
    assert_eq!((script.cwnd(), script.sender.counters().fast_retransmits), (5, 1));
    assert_eq!(script.last().data, nth(11));
    script.expect(&[nth(0), nth(4), nth(10), nth(11)]);
}

#[test]
fn without_new_data_holes_not_yet_lost_are_resent() {
    // NextSeg rule 3. 0 is lost; 4 has only two segments SACKed above it.
    let mut script = Script::offering(&config(Recovery::Sack, 8), 8 * MSS);
    script.skip();
    script.at(ms(100)).sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    script.sack(0, &[held(5, 6), held(1, 4)]);
    script.expect_nothing();
    script.sack(0, &[held(5, 7), held(1, 4)]);
    script.expect(&[nth(4)]);
}

#[test]
fn one_rescue_retransmission_per_recovery() {
    // NextSeg rule 4: 0 and the last two are lost; nothing above them can be SACKed.
    let mut script = Script::offering(&config(Recovery::Sack, 8), 8 * MSS);
    script.skip();
    script.at(ms(100)).sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    script.sack(0, &[held(1, 6)]);
    script.expect_nothing();
    script.at(ms(200)).ack(6 * MSS);
    script.expect(&[nth(7)]);
    script.sack(6 * MSS, &[held(7, 8)]);
    script.expect(&[nth(6)]);
}

#[test]
fn retransmission_of_the_head_in_recovery_restarts_the_timer() {
    let mut script = sack(12);
    script.sack(0, &[held(1, 4)]);
    script.at(ms(600)).sack(4 * MSS, &[held(5, 6)]);
    assert_eq!(script.sender.poll_at(), ms(1600));
    // 4 is not lost until more than two segments above it are SACKed.
    script.at(ms(900)).sack(4 * MSS, &[held(5, 8)]);
    script.expect(&[nth(0), nth(4), nth(12)]);
    assert_eq!(script.sender.poll_at(), ms(1900));
}

#[test]
fn retransmissions_beyond_the_head_do_not_put_off_its_timeout() {
    let mut script = sack(12);
    script.sack(0, &[held(1, 4)]);
    script.expect(&[nth(0)]);
    assert_eq!(script.sender.poll_at(), ms(1100));
    script.at(ms(900)).sack(0, &[held(5, 12), held(1, 4)]);
    assert!(script.in_flight() > 1, "4 is resent");
    assert_eq!(script.sender.poll_at(), ms(1100));
}

#[test]
fn a_timeout_keeps_the_scoreboard_and_resends_the_holes_only() {
    let mut script = sack(8);
    script.sack(0, &[held(1, 3)]);
    script.sack(0, &[held(4, 5), held(1, 3)]);
    script.skip();
    // That was enough for fast recovery; its retransmission is lost too.
    script.at(ms(1100));
    script.expect_at(ms(1100), nth(0));
    assert_eq!((script.cwnd(), script.in_flight()), (1, 1));
    assert_eq!(script.sender.state(), State::Loss);
    script.at(ms(1200)).sack(3 * MSS, &[held(4, 5)]);
    script.expect(&[nth(3), nth(5)]);
    script.at(ms(1300)).ack(6 * MSS);
    let resent = script.log().iter().filter(|sent| sent.segment.flags.has(Flags::RESENT));
    let resent: Vec<_> = resent.map(|sent| sent.data.clone()).collect();
    assert_eq!(resent, [nth(0), nth(0), nth(3), nth(5), nth(6), nth(7)]);
}

#[test]
fn a_timeout_forgets_a_scoreboard_that_the_receiver_disowns() {
    let mut script = sack(6);
    script.sack(0, &[held(1, 3)]);
    // It asks for the byte that it said to hold.
    script.at(ms(150)).ack(MSS);
    script.skip();
    script.at(ms(1150));
    script.expect_at(ms(1150), nth(1));
    script.at(ms(1200)).ack(2 * MSS);
    script.expect(&[nth(2), nth(3)]);
}

#[test]
fn after_a_timeout_no_recovery_begins_until_all_that_was_sent_is_acknowledged() {
    let mut script = sack(8);
    script.at(ms(1000));
    script.at(ms(1100)).sack(1000, &[held(2, 6)]);
    assert_eq!(script.sender.state(), State::Loss);
    assert_eq!(script.sender.counters().fast_retransmits, 0);
}

#[test]
fn blocks_about_data_never_sent_are_ignored() {
    let mut script = sack(4);
    script.sack(0, &[held(1, 40)]);
    assert_eq!((script.in_flight(), script.sender.state()), (4, State::Open));
}
