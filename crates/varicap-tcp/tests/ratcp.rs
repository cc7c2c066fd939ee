//! [ratcp, §II]: a window that follows the advertised rate.

use crate::common;

use common::{MSS, Script, config, held, ms, nth, segments};
use varicap_tcp::congestion::{CongestionControl, RatcpConfig, RateRtt, RenoConfig};
use varicap_tcp::{Congestion, RackConfig, Recovery, State, TcpConfig};
use varicap_units::{Amount, Rate, Span, Time};

/// Wire size of a full segment in the dialogues [bit].
const PACKET: u64 = 8 * (MSS + 40);

/// A sender that knows its RTT of 100 ms: a packet more in each RTT is 10 packets/s.
fn ratcp(recovery: Recovery, initial_window: u64, beta: u64) -> TcpConfig {
    let rtt = RateRtt::Known(Span::from_millis(100));
    let control = RatcpConfig { beta: Amount::Packets(beta), rtt, ..RatcpConfig::default() };
    TcpConfig { congestion: Congestion::Ratcp(control), ..config(recovery, initial_window) }
}

/// The rate of `packets` per RTT.
fn rate(packets: u64) -> Rate {
    Rate::from_bps(10 * packets * PACKET)
}

fn advertise(script: &mut Script, now: Time, rate: Rate) {
    script.at(now);
    script.sender.on_rate_feedback(now, rate);
    script.at(now);
}

/// A sender in congestion avoidance with `window` outstanding at 100 ms, and W_rate well above.
fn avoiding(recovery: Recovery, window: u64, beta: u64) -> Script {
    let mut config = ratcp(recovery, window, beta);
    config.initial_ssthresh = Amount::Packets(window);
    let mut script = Script::greedy(&config);
    advertise(&mut script, ms(100), rate(50));
    script.expect(&segments(0, window));
    script
}

/// Acknowledges `count` segments one by one.
fn ack_each(script: &mut Script, from: u64, count: u64) {
    for number in from..from + count {
        script.ack((number + 1) * MSS);
    }
}

#[test]
fn the_rate_window_is_whole_packets_of_the_wire_and_beta_more() {
    // 7.9 packets per RTT are 7; header bytes count.
    for (beta, window) in [(0, 7), (1, 8), (4, 11)] {
        let mut script = Script::greedy(&ratcp(Recovery::NewReno, 20, beta));
        advertise(&mut script, ms(50), Rate::from_bps(79 * PACKET));
        assert_eq!(script.cwnd(), window, "beta {beta}");
    }
}

#[test]
fn the_window_is_a_packet_at_least() {
    let mut script = Script::greedy(&ratcp(Recovery::NewReno, 20, 0));
    advertise(&mut script, ms(50), Rate::ZERO);
    assert_eq!(script.cwnd(), 1);
}

#[test]
fn a_feedback_never_opens_the_window() {
    let mut script = Script::greedy(&ratcp(Recovery::NewReno, 4, 1));
    advertise(&mut script, ms(50), rate(20));
    assert_eq!(script.cwnd(), 4);
}

#[test]
fn slow_start_ends_at_the_rate_window() {
    let mut script = Script::greedy(&ratcp(Recovery::NewReno, 2, 1));
    advertise(&mut script, ms(50), rate(4));
    script.at(ms(100));
    ack_each(&mut script, 0, 2);
    assert_eq!(script.cwnd(), 4);
    script.at(ms(200));
    // One more fits (W_rate = 5); the next is cut, and congestion avoidance has begun: no packet for each ACK.
    ack_each(&mut script, 2, 2);
    assert_eq!(script.cwnd(), 5);
    advertise(&mut script, ms(210), rate(50));
    ack_each(&mut script, 4, 4);
    assert_eq!(script.cwnd(), 5, "congestion avoidance takes a window of acknowledgements");
    ack_each(&mut script, 8, 1);
    assert_eq!(script.cwnd(), 6);
}

#[test]
fn a_drop_of_the_rate_in_slow_start_ends_it() {
    let mut script = Script::greedy(&ratcp(Recovery::NewReno, 8, 1));
    advertise(&mut script, ms(50), rate(3));
    assert_eq!(script.cwnd(), 4);
    // The rate is back at once: without a phase of its own, cwnd < ssthresh would be slow start.
    advertise(&mut script, ms(60), rate(50));
    script.at(ms(100));
    ack_each(&mut script, 0, 4); // 8 were outstanding: these only make up for the reduction
    assert_eq!(script.cwnd(), 4);
    ack_each(&mut script, 4, 3);
    assert_eq!(script.cwnd(), 4);
    ack_each(&mut script, 7, 1);
    assert_eq!(script.cwnd(), 5);
}

#[test]
fn a_reduced_window_stays_until_what_is_outstanding_matches_it() {
    let mut script = avoiding(Recovery::NewReno, 10, 1);
    advertise(&mut script, ms(100), rate(4));
    assert_eq!(script.cwnd(), 5);
    // h = 10 - 5 acknowledgements are inactive: nothing is sent and nothing counts.
    ack_each(&mut script, 0, 5);
    script.expect_nothing();
    assert_eq!((script.cwnd(), script.in_flight()), (5, 5));
    advertise(&mut script, ms(110), rate(50));
    // From then on each lets one out, and five open the window.
    ack_each(&mut script, 5, 4);
    assert_eq!(script.cwnd(), 5);
    script.expect(&segments(10, 4));
    ack_each(&mut script, 9, 1);
    assert_eq!(script.cwnd(), 6);
}

#[test]
fn slow_start_is_not_entered_again_below_ssthresh() {
    // ssthresh is 10; the rate puts cwnd at 3 and then allows everything.
    let mut script = avoiding(Recovery::NewReno, 10, 1);
    advertise(&mut script, ms(100), rate(2));
    advertise(&mut script, ms(100), rate(50));
    ack_each(&mut script, 0, 7);
    assert_eq!((script.cwnd(), script.in_flight(), script.ssthresh()), (3, 3, 10));
    ack_each(&mut script, 7, 3);
    assert_eq!(script.cwnd(), 4, "a segment for each window, not for each acknowledgement");
}

#[test]
fn congestion_avoidance_stops_at_the_rate_window() {
    let mut script = avoiding(Recovery::NewReno, 4, 1);
    advertise(&mut script, ms(100), rate(4));
    for round in 0..20 {
        let acked = script.sender.counters().acked_bytes / MSS;
        script.at(ms(200 + 100 * round));
        let outstanding = script.in_flight();
        ack_each(&mut script, acked, outstanding);
        assert!(script.cwnd() <= 5 && script.in_flight() <= 5);
    }
    assert_eq!(script.cwnd(), 5);
}

#[test]
fn a_timeout_sets_ssthresh_to_the_rate_window_of_that_moment() {
    let mut script = avoiding(Recovery::OldTahoe, 10, 1);
    advertise(&mut script, ms(500), rate(6));
    script.at(ms(1100));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 7));
    script.expect(&[nth(0)]);
    // The next expiry takes what the rate is then, not what it was.
    advertise(&mut script, ms(2000), rate(12));
    script.at(ms(3100));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 13));
}

#[test]
fn after_a_timeout_slow_start_runs_up_to_ssthresh() {
    let mut script = avoiding(Recovery::OldTahoe, 10, 1);
    advertise(&mut script, ms(100), rate(3));
    script.at(ms(1100)); // the timer: cwnd 1, ssthresh 4
    advertise(&mut script, ms(1150), rate(50));
    script.ack(MSS);
    ack_each(&mut script, 1, 2);
    assert_eq!(script.cwnd(), 4);
    ack_each(&mut script, 3, 3);
    assert_eq!(script.cwnd(), 4);
    ack_each(&mut script, 6, 1);
    assert_eq!(script.cwnd(), 5);
}

#[test]
fn a_fast_retransmit_keeps_the_window_that_the_rate_allows() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = avoiding(recovery, 10, 1);
        advertise(&mut script, ms(100), rate(20));
        script.sack(0, &[common::held(1, 2)]);
        script.sack(0, &[common::held(1, 3)]);
        script.sack(0, &[common::held(1, 4)]);
        assert_eq!(script.sender.state(), State::Recovery);
        assert_eq!((script.cwnd(), script.ssthresh()), (10, 10), "{recovery:?}: no halving");
        // With less of a rate, cwnd falls to it.
        let mut script = avoiding(recovery, 10, 1);
        advertise(&mut script, ms(100), rate(7));
        script.sack(0, &[common::held(1, 2)]);
        script.sack(0, &[common::held(1, 3)]);
        script.sack(0, &[common::held(1, 4)]);
        assert_eq!((script.cwnd(), script.ssthresh()), (8, 10), "{recovery:?}");
    }
}

#[test]
fn congestion_avoidance_resumes_with_the_whole_window_after_recovery() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        // In slow start, and with nothing in flight when recovery ends.
        let mut script = Script::greedy(&ratcp(recovery, 10, 1));
        advertise(&mut script, ms(100), rate(50));
        script.duplicates(3);
        let sent = script.sender.sent();
        script.ack(sent);
        assert_eq!((script.sender.state(), script.cwnd()), (State::Open, 10), "{recovery:?}");
        ack_each(&mut script, sent / MSS, 9);
        assert_eq!(script.cwnd(), 10, "{recovery:?}: no slow start");
        ack_each(&mut script, sent / MSS + 9, 1);
        assert_eq!(script.cwnd(), 11, "{recovery:?}");
    }
}

#[test]
fn tahoe_restarts_towards_the_rate_window() {
    let mut script = avoiding(Recovery::Tahoe, 10, 1);
    advertise(&mut script, ms(100), rate(20));
    script.duplicates(3);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 21));
}

#[test]
fn without_a_rate_all_is_as_in_reno() {
    let reno =
        TcpConfig { congestion: Congestion::Reno(RenoConfig::default()), ..ratcp(Recovery::NewReno, 4, 1) };
    let play = |config: &TcpConfig, forget: bool| {
        let mut script = Script::greedy(config);
        if forget {
            advertise(&mut script, ms(0), rate(50));
            advertise(&mut script, ms(0), Rate::UNLIMITED);
        }
        let mut seen = Vec::new();
        let mut look = |script: &Script| seen.push((script.cwnd(), script.ssthresh(), script.in_flight()));
        script.at(ms(100));
        ack_each(&mut script, 0, 4);
        look(&script);
        script.at(ms(200));
        script.duplicates(5);
        look(&script);
        script.ack(12 * MSS);
        look(&script);
        script.at(ms(300));
        ack_each(&mut script, 12, 4);
        look(&script);
        script.at(ms(5000)); // timeouts
        look(&script);
        seen
    };
    let expected = play(&reno, false);
    assert_eq!(play(&ratcp(Recovery::NewReno, 4, 1), false), expected);
    assert_eq!(play(&ratcp(Recovery::NewReno, 4, 1), true), expected, "a rate that was taken back");
}

#[test]
fn the_base_rtt_is_the_least_and_the_smoothed_one_is_not() {
    let play = |rtt: RateRtt| {
        let mut config = ratcp(Recovery::NewReno, 30, 0);
        config.congestion = Congestion::Ratcp(RatcpConfig { rtt, beta: Amount::Packets(0), pacing: false });
        let mut script = Script::greedy(&config);
        script.at(ms(50));
        script.sender.on_rate_feedback(ms(50), rate(10));
        script.at(ms(100));
        script.ack(MSS); // 100 ms
        script.at(ms(200));
        script.ack(2 * MSS); // 200 ms, SRTT = 112.5 ms
        script.cwnd()
    };
    assert_eq!(play(RateRtt::Base), 10, "known with the first sample, kept with the second");
    assert_eq!(play(RateRtt::Known(Span::from_millis(50))), 5);
    // The first sample cut it to 10; a larger RTT opens no window by itself.
    assert_eq!(play(RateRtt::Smoothed), 10);
}

#[test]
fn an_rtt_that_turns_out_shorter_cuts_the_window_at_its_acknowledgement() {
    let mut config = ratcp(Recovery::NewReno, 30, 0);
    config.congestion =
        Congestion::Ratcp(RatcpConfig { rtt: RateRtt::Base, beta: Amount::Packets(0), pacing: false });
    let mut script = Script::greedy(&config);
    advertise(&mut script, ms(150), rate(10));
    script.at(ms(200));
    ack_each(&mut script, 0, 30); // all took 200 ms; from 20 on each let another one out
    assert_eq!((script.cwnd(), script.in_flight()), (20, 20));
    script.at(ms(300));
    script.ack(31 * MSS); // 100 ms
    assert_eq!(script.cwnd(), 10);
}

#[test]
fn an_idle_sender_starts_again_towards_the_rate_window() {
    let mut config = ratcp(Recovery::NewReno, 4, 1);
    config.initial_ssthresh = Amount::Packets(4);
    let mut script = Script::offering(&config, 8 * MSS);
    advertise(&mut script, ms(100), rate(50));
    ack_each(&mut script, 0, 4);
    ack_each(&mut script, 4, 4);
    assert_eq!(script.cwnd(), 5);
    script.at(ms(5000));
    script.write(MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (4, 51));
}

#[test]
fn pacing_spaces_packets_at_the_advertised_rate() {
    let mut config = ratcp(Recovery::NewReno, 10, 1);
    let control = RatcpConfig { pacing: true, ..RatcpConfig::default() };
    config.congestion = Congestion::Ratcp(control);
    let mut script = Script::greedy(&config);
    assert_eq!(script.sender.control().pacing_rate(), None);
    script.skip();
    advertise(&mut script, ms(100), rate(10)); // a packet each 10 ms
    script.ack(MSS);
    script.ack(3 * MSS);
    script.at(ms(115));
    let sent: Vec<_> = script.log()[10..].iter().map(|sent| sent.at).collect();
    assert_eq!(sent, [ms(100), ms(110)]);
}

/// The window stays at what the rate allows, through losses that others answer by RFC 9937: nothing falls in proportion.
#[test]
fn a_loss_leaves_the_window_where_linux_reduces_in_proportion() {
    let mut script = avoiding(Recovery::Rack(RackConfig::linux()), 20, 1);
    // Numbers 0 and 10 to 14 are lost.
    for end in (2..=10).chain(16..=20) {
        let held: Vec<_> = if end <= 10 { vec![held(1, end)] } else { vec![held(15, end), held(1, 10)] };
        script.at(ms(200)).sack(0, &held);
        assert_eq!(script.cwnd(), 20, "after segment {end}");
    }
    assert_eq!(script.sender.state(), State::Recovery);
    assert_eq!(script.in_flight(), 20);
}
