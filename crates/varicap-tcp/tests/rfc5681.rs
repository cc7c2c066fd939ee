//! RFC 5681: slow start, congestion avoidance, fast retransmit and fast recovery, timeouts, idle restart.

use crate::common;

use common::{MSS, Script, config, held, ms, nth, segments};
use varicap_tcp::congestion::{Increase, RenoConfig};
use varicap_tcp::{AfterRecovery, AfterTimeout, Congestion, RackConfig, Recovery, State, TcpConfig};
use varicap_units::{Amount, Bytes};

/// A Reno sender in congestion avoidance: `window` segments in flight, `ssthresh` as large.
fn avoiding(recovery: Recovery, window: u64) -> (TcpConfig, Script) {
    let config = TcpConfig { initial_ssthresh: Amount::Packets(window), ..config(recovery, window) };
    let mut script = Script::greedy(&config);
    script.expect(&segments(0, window));
    script.at(ms(100));
    (config, script)
}

#[test]
fn slow_start_opens_by_one_segment_per_acknowledgement() {
    let mut script = Script::greedy(&config(Recovery::Reno, 2));
    script.expect(&segments(0, 2));
    script.at(ms(100)).ack(1000);
    script.expect(&segments(2, 2));
    assert_eq!(script.cwnd(), 3);
    script.at(ms(101)).ack(2000);
    script.expect(&segments(4, 2));
    assert_eq!(script.cwnd(), 4);
}

#[test]
fn slow_start_adds_no_more_than_one_segment_for_an_ack_of_two() {
    let mut script = Script::greedy(&config(Recovery::Reno, 2));
    script.at(ms(100)).ack(2000);
    assert_eq!(script.cwnd(), 3);
}

#[test]
fn slow_start_adds_what_an_ack_of_less_than_a_segment_covers() {
    let mut script = Script::greedy(&config(Recovery::Reno, 2));
    script.at(ms(100)).ack(400);
    assert_eq!(script.sender.cwnd(), Bytes::new(2400));
}

#[test]
fn byte_counting_adds_up_to_its_limit() {
    let mut config = config(Recovery::Reno, 4);
    config.congestion = Congestion::Reno(RenoConfig { byte_counting: Some(2), ..RenoConfig::default() });
    let mut script = Script::greedy(&config);
    script.at(ms(100)).ack(2000);
    assert_eq!(script.cwnd(), 6);
    script.at(ms(101)).ack(6000);
    assert_eq!(script.cwnd(), 8);
}

#[test]
fn congestion_avoidance_opens_by_one_segment_per_window_of_acknowledgements() {
    let (_, mut script) = avoiding(Recovery::Reno, 4);
    for number in 1..=3 {
        script.ack(number * MSS);
        assert_eq!(script.cwnd(), 4);
    }
    script.ack(4 * MSS);
    assert_eq!(script.cwnd(), 5);
    for number in 5..=8 {
        script.ack(number * MSS);
        assert_eq!(script.cwnd(), 5);
    }
    script.ack(9 * MSS);
    assert_eq!(script.cwnd(), 6);
}

#[test]
fn half_a_segment_of_window_takes_half_a_window_of_acknowledgements_to_fill() {
    // Seven in flight: cwnd = ssthresh = 3.5 segments after the recovery.
    let mut script = Script::greedy(&config(Recovery::Reno, 7));
    script.at(ms(100)).duplicates(3);
    script.at(ms(200)).ack(7 * MSS);
    assert_eq!(script.sender.cwnd(), Bytes::new(3500));
    // It opens to 4 when 3.5 / 2 segments are acknowledged, and to 5 four later.
    script.at(ms(300)).ack(8 * MSS);
    assert_eq!(script.sender.cwnd(), Bytes::new(3500));
    script.ack(9 * MSS);
    assert_eq!(script.sender.cwnd(), Bytes::new(4000));
    for next in 10..13 {
        script.ack(next * MSS);
        assert_eq!(script.sender.cwnd(), Bytes::new(4000));
    }
    script.ack(13 * MSS);
    assert_eq!(script.sender.cwnd(), Bytes::new(5000));
}

#[test]
fn per_ack_the_window_opens_by_formula_3() {
    let congestion = Congestion::Reno(RenoConfig { increase: Increase::PerAck, ..RenoConfig::default() });
    let config = TcpConfig { congestion, initial_ssthresh: Amount::Packets(2), ..config(Recovery::Reno, 2) };
    let mut script = Script::greedy(&config);
    script.at(ms(100));
    // 2 + 1/2, + 1/2.5, + 1/2.9, all but the parts of a byte: the third segment takes three ACKs, not two.
    for (number, cwnd) in [(1, 2500), (2, 2900), (3, 3244), (4, 3553)] {
        script.ack(number * MSS);
        assert_eq!(script.sender.cwnd(), Bytes::new(cwnd));
    }
}

#[test]
fn slow_start_ends_at_ssthresh() {
    let config = TcpConfig { initial_ssthresh: Amount::Bytes(Bytes::new(2500)), ..config(Recovery::Reno, 1) };
    let mut script = Script::greedy(&config);
    script.at(ms(100)).ack(MSS);
    script.at(ms(200)).ack(2 * MSS);
    assert_eq!(script.sender.cwnd(), Bytes::new(2500));
}

#[test]
fn acknowledgements_of_two_segments_open_the_window_half_as_fast_unless_bytes_count() {
    for (byte_counting, expected) in [(None, 4), (Some(2), 5)] {
        let congestion = Congestion::Reno(RenoConfig { byte_counting, ..RenoConfig::default() });
        let config =
            TcpConfig { congestion, initial_ssthresh: Amount::Packets(4), ..config(Recovery::Reno, 4) };
        let mut script = Script::greedy(&config);
        script.at(ms(100)).ack(2 * MSS);
        script.ack(4 * MSS);
        assert_eq!(script.cwnd(), expected);
    }
}

#[test]
fn third_duplicate_ack_retransmits_and_halves() {
    let (_, mut script) = avoiding(Recovery::Reno, 8);
    script.duplicates(2);
    script.expect_nothing();
    assert_eq!(script.sender.state(), State::Disorder);
    script.duplicates(1);
    script.expect(&[nth(0)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (4, 4));
    assert_eq!(script.sender.state(), State::Recovery);
    assert_eq!(script.sender.counters().fast_retransmits, 1);
}

#[test]
fn duplicate_acks_inflate_the_window_and_new_data_deflates_it() {
    let (_, mut script) = avoiding(Recovery::Reno, 8);
    script.duplicates(3);
    script.skip();
    // cwnd 4 + 3 = 7 of 8 in flight: two more let the next segment out.
    script.duplicates(1);
    script.expect_nothing();
    script.duplicates(3);
    script.expect(&segments(8, 3));
    script.at(ms(200)).ack(8 * MSS);
    assert_eq!(script.cwnd(), 4);
    assert_eq!(script.sender.state(), State::Open);
    script.expect(&segments(11, 1));
}

#[test]
fn without_inflation_a_sender_waits_for_half_its_window() {
    let initial_ssthresh = Amount::Packets(8);
    let config = TcpConfig { initial_ssthresh, window_inflation: false, ..config(Recovery::Reno, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).duplicates(3);
    script.expect(&[nth(0)]);
    script.duplicates(4);
    script.expect_nothing();
    script.at(ms(200)).ack(4 * MSS);
    assert_eq!(script.cwnd(), 4);
    script.expect_nothing();
    script.at(ms(300)).ack(6 * MSS);
    script.expect(&segments(8, 2));
}

#[test]
fn ssthresh_is_at_least_two_segments() {
    let mut script = Script::greedy(&config(Recovery::Reno, 2));
    script.at(ms(1000));
    script.expect(&[nth(0), nth(1), nth(0)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 2));
}

#[test]
fn timeout_falls_to_one_segment_and_goes_back() {
    let (_, mut script) = avoiding(Recovery::Reno, 8);
    script.at(ms(1000));
    script.expect_at(ms(1000), nth(0));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 4));
    assert_eq!(script.sender.state(), State::Loss);
    // Slow start resends from the hole on, although the peer may hold some of it.
    script.at(ms(1100)).ack(1000);
    script.expect(&segments(1, 2));
    script.at(ms(1200)).ack(2000);
    script.expect(&segments(3, 2));
    // The peer had the rest: new data.
    script.at(ms(1201)).ack(8000);
    assert_eq!(script.sender.state(), State::Open);
    assert_eq!(script.last().data, nth(8 + 3));
}

#[test]
fn after_a_timeout_first_hole_resends_only_what_acknowledgements_uncover() {
    let config = TcpConfig { after_timeout: AfterTimeout::FirstHole, ..config(Recovery::Reno, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(1000));
    script.expect_at(ms(1000), nth(0));
    script.at(ms(1100)).ack(3000);
    script.expect(&[nth(3)]);
    script.at(ms(1200)).ack(8000);
    assert_eq!(script.sender.state(), State::Open);
    script.expect(&segments(8, 3));
}

#[test]
fn timeout_while_backed_off_holds_ssthresh() {
    let (_, mut script) = avoiding(Recovery::Reno, 8);
    script.at(ms(1000));
    assert_eq!(script.ssthresh(), 4);
    script.at(ms(3000));
    assert_eq!(script.sender.counters().timeouts, 2);
    assert_eq!(script.ssthresh(), 4);
}

#[test]
fn timeout_of_the_next_segment_lowers_ssthresh_again() {
    let (_, mut script) = avoiding(Recovery::Reno, 16);
    script.at(ms(1000));
    assert_eq!(script.ssthresh(), 8);
    script.at(ms(1100)).ack(1000);
    script.at(ms(4000));
    assert_eq!(script.sender.counters().timeouts, 2);
    assert_eq!(script.ssthresh(), 2);
}

#[test]
fn timeout_after_a_recovery_that_ended_early_halves_the_window_not_what_inflation_let_out() {
    // Segments 0 and 5 of 20 are lost. 18 duplicates let out 8 new segments; the first new ACK ends Reno's recovery.
    let (_, mut script) = avoiding(Recovery::Reno, 20);
    script.duplicates(18);
    script.at(ms(200)).ack(5 * MSS);
    assert_eq!((script.sender.state(), script.cwnd(), script.in_flight()), (State::Open, 10, 23));
    script.at(ms(1200));
    assert_eq!(script.sender.counters().timeouts, 1);
    assert_eq!(script.ssthresh(), 5);
}

#[test]
fn timeout_in_recovery_halves_what_was_in_flight_when_it_began() {
    let (_, mut script) = avoiding(Recovery::NewReno, 20);
    script.duplicates(18);
    script.at(ms(200)).ack(5 * MSS);
    assert_eq!((script.sender.state(), script.cwnd()), (State::Recovery, 10));
    script.at(ms(1200));
    assert_eq!(script.sender.counters().timeouts, 1);
    assert_eq!(script.ssthresh(), 10);
}

#[test]
fn the_ack_that_ends_recovery_opens_no_window() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let after_recovery = AfterRecovery::Ssthresh;
        // All that an ACK acknowledges counts: this one would open the window by a segment.
        let congestion = Congestion::Reno(RenoConfig { byte_counting: Some(2), ..RenoConfig::default() });
        let initial_ssthresh = Amount::Packets(8);
        let config = TcpConfig { initial_ssthresh, congestion, after_recovery, ..config(recovery, 8) };
        let mut script = Script::greedy(&config);
        script.at(ms(100));
        for end in 2..=8 {
            script.sack(0, &[held(1, end)]);
        }
        assert_eq!((script.sender.state(), script.cwnd()), (State::Recovery, 4), "{recovery:?}");
        let sent = script.last().data.end.max(8 * MSS);
        script.at(ms(200)).ack(sent);
        assert_eq!(
            (script.sender.state(), script.sender.cwnd()),
            (State::Open, script.sender.ssthresh().unwrap())
        );
    }
}

/// Slow start follows a timeout, and the ACK that ends it is one of slow start.
#[test]
fn the_ack_that_ends_the_recovery_from_a_timeout_opens_the_window() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let (_, mut script) = avoiding(recovery, 8);
        script.at(ms(1000));
        assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 1), "{recovery:?}");
        script.at(ms(1100)).ack(8 * MSS);
        assert_eq!((script.sender.state(), script.cwnd()), (State::Open, 2), "{recovery:?}");
    }
}

#[test]
fn a_smaller_window_is_no_duplicate_ack_either() {
    let config = TcpConfig { receive_window: Amount::Packets(8), ..config(Recovery::Reno, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    for window in [7, 6, 5, 4] {
        script.window(window * MSS as u32).duplicates(1);
    }
    script.expect_nothing();
    assert_eq!(script.sender.state(), State::Open);
}

/// RFC 9293 §3.8.6: no new data beyond a window that the receiver has taken back.
#[test]
fn a_sender_respects_a_window_that_shrinks() {
    let mut script = Script::greedy(&config(Recovery::Reno, 8));
    script.skip();
    script.at(ms(100)).window(20 * MSS as u32).ack(MSS);
    script.expect(&segments(8, 2));
    script.window(2 * MSS as u32).ack(2 * MSS);
    script.expect_nothing();
    script.ack(10 * MSS);
    script.expect(&segments(10, 2));
}

/// RFC 9293 §3.8.6.1: whoever takes back the whole window is asked for another one.
#[test]
fn a_window_taken_back_altogether_is_probed() {
    let mut script = Script::greedy(&config(Recovery::NewReno, 4));
    script.skip();
    script.at(ms(100)).window(0).ack(MSS);
    script.expect_nothing();
    script.at(ms(4000));
    script.expect_at(ms(3100), MSS..MSS + 1);
    script.window(8 * MSS as u32).ack(MSS + 1);
    assert_eq!(script.sender.state(), State::Loss);
    assert!(script.last().data.start > MSS, "it goes on");
}

/// RFC 9293 §3.8.6 for every recovery: nothing new beyond a window that shrank, whatever moves its edge is no duplicate ACK
/// (RFC 5681 §2), and what was sent beyond it is sent again only by the timer, or once it is inside again.
#[test]
fn a_window_that_shrinks_and_opens_again_stalls_and_resends_nothing() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack(RackConfig::linux())] {
        let mut script = Script::greedy(&config(recovery, 8));
        script.skip();
        script.at(ms(100)).window(4 * MSS as u32).ack(2 * MSS);
        for window in [3, 2, 1, 2, 3, 4] {
            script.window(window * MSS as u32).duplicates(1);
        }
        script.expect_nothing();
        assert_eq!(script.sender.state(), State::Open, "{recovery:?}");
        assert_eq!(script.sender.counters().retransmitted_packets, 0, "{recovery:?}");
        // Of the window of nine or ten segments, six are in flight; the receiver asks for seven.
        script.window(7 * MSS as u32).duplicates(1);
        script.expect(&segments(8, 1));
        script.at(ms(120)).window(2 * MSS as u32).ack(9 * MSS);
        script.expect(&segments(9, 2));
    }
}

#[test]
fn a_window_update_is_no_duplicate_ack() {
    let config = TcpConfig { receive_window: Amount::Packets(8), ..config(Recovery::Reno, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    for window in [9, 10, 11, 12] {
        script.window(window * MSS as u32).duplicates(1);
    }
    script.expect_nothing();
    assert_eq!(script.sender.state(), State::Open);
}

#[test]
fn acknowledgements_with_nothing_in_flight_are_no_duplicates() {
    let mut script = Script::offering(&config(Recovery::Reno, 4), 2000);
    script.at(ms(100)).ack(2000);
    script.duplicates(5);
    assert_eq!(script.sender.state(), State::Open);
}

#[test]
fn tahoe_fast_retransmits_and_starts_slowly() {
    let (_, mut script) = avoiding(Recovery::Tahoe, 8);
    script.duplicates(3);
    script.expect(&[nth(0)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 4));
    script.duplicates(4);
    script.expect_nothing();
    script.at(ms(200)).ack(8000);
    assert_eq!(script.cwnd(), 2);
    script.expect(&segments(8, 2));
}

#[test]
fn old_tahoe_waits_for_its_timer() {
    let (_, mut script) = avoiding(Recovery::OldTahoe, 8);
    script.duplicates(7);
    script.expect_nothing();
    assert_eq!(script.cwnd(), 8);
    script.at(ms(1000));
    script.expect_at(ms(1000), nth(0));
}

#[test]
fn an_idle_rto_restarts_from_the_initial_window() {
    for (restart_after_idle, expected) in [(true, 2), (false, 6)] {
        let config = TcpConfig { restart_after_idle, ..config(Recovery::Reno, 2) };
        let mut script = Script::offering(&config, 6 * MSS);
        for number in 1..=6 {
            script.at(ms(100 + number)).ack(number * MSS);
        }
        let grown = script.cwnd();
        assert!(grown > 2);
        script.at(ms(2000)).write(20 * MSS);
        assert_eq!(script.cwnd(), if restart_after_idle { 2 } else { grown });
        assert!(script.in_flight() >= expected.min(grown));
    }
}

#[test]
fn a_window_that_the_application_does_not_fill_does_not_grow() {
    let mut script = Script::offering(&config(Recovery::Reno, 10), 2000);
    script.at(ms(100)).ack(2000);
    assert_eq!(script.cwnd(), 10);
}

#[test]
fn the_maximum_window_bounds_what_is_in_flight() {
    let config = TcpConfig { max_window: Amount::Packets(4), ..config(Recovery::Reno, 2) };
    let mut script = Script::greedy(&config);
    for number in 1..=20 {
        script.at(ms(100 + number)).ack(number * MSS);
        assert!(script.in_flight() <= 4 && script.cwnd() <= 4);
    }
    assert_eq!(script.in_flight(), 4);
}

#[test]
fn a_burst_limit_bounds_the_answer_to_one_acknowledgement() {
    let config = TcpConfig { max_burst: Some(4), ..config(Recovery::Reno, 10) };
    let mut script = Script::greedy(&config);
    script.expect(&segments(0, 4));
    script.at(ms(100)).ack(4000);
    script.expect(&segments(4, 4));
}
