//! A window that falls with what is delivered. Source: RFC 9937.

use crate::common;

use common::*;
use varicap_tcp::congestion::Halving;
use varicap_tcp::{RackConfig, Recovery, Reduction, State, TcpConfig};

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

/// What turns out to be late in recovery is resent, and moves no window: nothing was delivered.
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
