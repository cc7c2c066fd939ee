//! A window that falls with what is delivered. Source: RFC 9937.

use crate::common;

use common::*;
use varicap_tcp::congestion::Halving;
use varicap_tcp::{RackConfig, Recovery, Reduction, State, TcpConfig};
use varicap_units::Amount;

fn proportional() -> TcpConfig {
    let rack = RackConfig { reduction: Reduction::Prr, tail_loss_probe: false, ..RackConfig::default() };
    // Half of the window: limited transmit has more than that in flight.
    TcpConfig { timer: timer(1000, 1), halving: Halving::Window, ..config(Recovery::Rack(rack), 10) }
}

/// Twenty segments are in flight since 100 ms, number 10 is lost.
fn full(config: &TcpConfig) -> Script {
    let mut script = Script::greedy(config);
    for number in 1..=10 {
        script.at(ms(100)).ack(number * MSS);
    }
    assert_eq!((script.cwnd(), script.in_flight()), (20, 20));
    script
}

/// §6.2: of a window of twenty that falls to ten, every second delivery lets out a segment.
#[test]
fn the_window_falls_by_half_of_what_is_delivered() {
    let mut script = full(&proportional());
    for end in 12..=13 {
        script.at(ms(200)).sack(10 * MSS, &[held(11, end)]);
    }
    script.skip();
    script.at(ms(200)).sack(10 * MSS, &[held(11, 14)]);
    script.expect(&[nth(10)]);
    assert_eq!((script.sender.state(), script.ssthresh()), (State::Recovery, 10));
    let mut largest = 0;
    for end in 15..=30 {
        let before = script.log().len();
        script.at(ms(200)).sack(10 * MSS, &[held(11, end)]);
        largest = largest.max(script.log().len() - before);
    }
    let new = script.log().iter().filter(|sent| sent.at == ms(200) && sent.data.start >= 30 * MSS).count();
    assert_eq!(
        (largest, script.in_flight()),
        (1, 10),
        "no burst, and the pipe is as large as the window will be"
    );
    assert!((9..=11).contains(&new), "{new} new segments");
    let all = script.sender.sent();
    script.at(ms(300)).ack(all);
    assert_eq!(script.sender.state(), State::Open);
    assert!((10..=11).contains(&script.cwnd()), "cwnd {}", script.cwnd());
}

/// RFC 6675 §5: reduced at once, nothing new leaves until the pipe is as small as the window.
#[test]
fn at_once_the_sender_waits_for_half_of_the_window() {
    let at_once = TcpConfig {
        recovery: Recovery::Rack(RackConfig { tail_loss_probe: false, ..RackConfig::default() }),
        ..proportional()
    };
    let mut script = full(&at_once);
    script.at(ms(200)).sack(10 * MSS, &[held(11, 14)]);
    script.skip();
    script.at(ms(200)).sack(10 * MSS, &[held(11, 18)]);
    script.expect_nothing();
}

/// A segment that turns out to be late in recovery is resent, and moves no window: nothing was delivered.
#[test]
fn time_alone_moves_no_window_in_recovery() {
    let mut script = full(&proportional());
    script.at(ms(200)).sack(10 * MSS, &[held(11, 13)]);
    // Late, not lost: from now on a hole is given a quarter of the round trip.
    script.at(ms(205)).ack(13 * MSS);
    script.at(ms(210)).sack(13 * MSS, &[held(14, 17)]);
    script.at(ms(240)).sack(13 * MSS, &[held(14, 20), held(21, 24)]);
    assert_eq!(script.sender.state(), State::Recovery);
    let (window, resent) = (script.cwnd(), script.sender.counters().retransmitted_packets);
    script.at(ms(264));
    assert_eq!((script.cwnd(), script.sender.counters().retransmitted_packets), (window, resent));
    script.at(ms(270));
    assert_eq!(script.sender.beliefs().map(|beliefs| beliefs.lost), Some(2 * MSS), "20 is lost, too");
    assert_eq!(script.cwnd(), window);
}

/// A window of `cwnd` segments, of which `sent` are in flight; the first is lost, and three others are SACKed by three
/// acknowledgements, after `early` that were by the first of these. Then the application has more.
fn partly_used(halving: Halving, cwnd: u64, sent: u64, early: u64) -> Script {
    let config = TcpConfig { halving, initial_window: Amount::Packets(cwnd), ..proportional() };
    let mut script = Script::offering(&config, sent * MSS);
    for end in [2 + early, 3 + early, 4 + early] {
        script.at(ms(100)).sack(0, &[held(1, end)]);
    }
    assert_eq!(script.sender.state(), State::Recovery);
    script.write(40 * MSS);
    script.skip();
    script
}

/// §6.1: RecoverFS is what was in flight, less what was SACKed before recovery: 10 - (3 - 1). Each of those that are
/// delivered then lets out 5/8 of a segment, rounded up, whatever cwnd was. By Linux it is cwnd.
#[test]
fn the_window_falls_in_proportion_to_what_was_in_flight() {
    for (halving, cwnd, new) in [
        (Halving::FlightSize, 20, [1, 0]),
        (Halving::FlightSize, 40, [1, 0]),
        (Halving::FlightSize, 10, [1, 0]),
        (Halving::Window, 10, [0, 0]),
    ] {
        let mut script = partly_used(halving, cwnd, 10, 0);
        assert_eq!(script.ssthresh(), 5, "{halving:?}, {cwnd}");
        let leaves = [5, 6].map(|end| {
            let before = script.log().len();
            script.at(ms(101)).sack(0, &[held(1, end)]);
            script.log().len() - before
        });
        // (2 x 5 / 8) - 1 and (3 x 5 / 8) - 1 - 1; (2 x 5 / 10) - 1, and then the pipe is as large as ssthresh.
        assert_eq!(leaves, new, "{halving:?}, {cwnd}");
    }
}

/// By the end of recovery ssthresh is what is in flight, however much of the window was used and SACKed early.
#[test]
fn the_pipe_ends_at_ssthresh_whatever_was_used() {
    for (cwnd, sent, early) in [(20, 20, 0), (30, 20, 0), (100, 20, 0), (100, 21, 4), (64, 40, 10)] {
        let mut script = partly_used(Halving::FlightSize, cwnd, sent, early);
        let mut most = 0;
        for end in 5 + early..=sent {
            let before = script.log().len();
            script.at(ms(101)).sack(0, &[held(1, end)]);
            most = most.max(script.log().len() - before);
        }
        assert_eq!(script.in_flight(), script.ssthresh(), "{sent} of {cwnd}, {early} early");
        assert!(most <= 2, "a burst of {most}: {sent} of {cwnd}, {early} early");
    }
}
