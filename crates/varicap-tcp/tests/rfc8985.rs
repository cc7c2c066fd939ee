//! Losses by time and probes of the tail. Source: RFC 8985.

use crate::common;

use common::*;
use varicap_tcp::congestion::{Counting, CubicConfig, RenoConfig, VegasConfig};
use varicap_tcp::{
    Congestion, EchoCheck, EcnMode, Flags, LinuxTimer, MultipleTimer, Order, RackConfig, Recovery,
    Rfc6298Timer, Segment, State, TcpConfig, Timer,
};
use varicap_units::{Span, Time};

/// RACK-TLP as the standard has it: SACK, a probe of the tail, the window halved at once.
fn by_time(initial_window: u64) -> TcpConfig {
    TcpConfig { timer: timer(200, 1), ..config(Recovery::Rack(RackConfig::default()), initial_window) }
}

/// A script in which the round trip of 100 ms is known, ten segments are in flight since 100 ms, and nothing is due.
fn steady() -> Script {
    let mut script = Script::greedy(&by_time(5));
    script.at(ms(100)).ack(5 * MSS);
    script.skip();
    assert_eq!(script.in_flight(), 6);
    script
}

/// A script of so many segments in which the round trip of 100 ms is known, and twenty are in flight since 100 ms.
fn twenty(offered: u64) -> Script {
    let mut script = Script::offering(&by_time(10), offered * MSS);
    for number in 1..=10 {
        script.at(ms(100)).ack(number * MSS);
    }
    assert_eq!(script.in_flight(), 20);
    script
}

/// §6.2 step 4: without reordering ever seen, the third segment above a hole shows it to be lost.
#[test]
fn three_later_segments_show_a_loss_at_once() {
    let mut script = steady();
    script.at(ms(200)).sack(5 * MSS, &[held(6, 8)]);
    assert_eq!(script.sender.state(), State::Disorder);
    // Data that left the pipe lets out as much: limited transmit of any length.
    script.expect(&segments(11, 2));
    script.sack(5 * MSS, &[held(6, 9)]);
    assert_eq!(script.sender.state(), State::Recovery);
    script.expect(&[nth(5)]);
}

/// §6.3: fewer show it when a quarter of the least round trip has passed.
#[test]
fn one_later_segment_shows_a_loss_after_a_quarter_of_a_round_trip() {
    let mut script = steady();
    script.at(ms(200)).sack(5 * MSS, &[held(6, 7)]);
    script.expect(&[nth(11)]);
    assert_eq!(script.sender.counters().fast_retransmits, 0);
    // 25 ms for reordering, and a tick of the clock.
    script.at(ms(230));
    script.expect_at(ms(226), nth(5));
    assert_eq!((script.sender.state(), script.sender.counters().fast_retransmits), (State::Recovery, 1));
}

/// §6.2: the wait comes from a round trip that this very acknowledgement measures, if it is the first.
#[test]
fn the_first_acknowledgement_gives_a_hole_a_quarter_of_the_round_trip_that_it_measures() {
    let mut script = Script::greedy(&by_time(5));
    script.at(ms(100)).sack(0, &[held(1, 2)]);
    assert_eq!((script.sender.state(), script.sender.counters().fast_retransmits), (State::Disorder, 0));
    script.skip();
    script.at(ms(130));
    script.expect_at(ms(126), nth(0));
}

/// §3.2: a retransmission that is lost again is found, too, by what left after it.
#[test]
fn a_lost_retransmission_is_resent_without_a_timeout() {
    let mut script = steady();
    script.at(ms(200)).sack(5 * MSS, &[held(6, 9)]);
    script.skip();
    // New data that left after the retransmission of segment 5 arrives; the retransmission does not.
    script.at(ms(210)).sack(5 * MSS, &[held(6, 11)]);
    script.skip();
    let newest = script.last().data.end / MSS;
    assert!(newest > 11, "something new left after the retransmission");
    script.at(ms(320)).sack(5 * MSS, &[held(6, newest)]);
    let resent: Vec<_> =
        script.log().iter().filter(|sent| sent.data == nth(5) && sent.at > ms(100)).collect();
    assert_eq!(resent.len(), 2, "{resent:?}");
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Recovery, 0));
}

/// §6.2 step 2: the receiver, which misses segment 10, echoes what came before. By the timestamp, the delivery of segment 22
/// may be that of the original; by its round trip, as in Linux, it is that of the retransmission, which left after 10's.
#[test]
fn a_retransmission_above_a_hole_is_timed_by_its_round_trip_or_not_at_all() {
    for (check_echo, sent) in [(EchoCheck::Always, 2), (EchoCheck::Cumulative, 3)] {
        let rack = RackConfig { tail_loss_probe: false, check_echo, ..RackConfig::default() };
        let config = TcpConfig { recovery: Recovery::Rack(rack), timestamps: true, ..by_time(10) };
        let mut script = Script::greedy(&config);
        for number in 1..=10 {
            script.at(ms(100)).ack(number * MSS);
        }
        script.at(ms(200)).sack(10 * MSS, &[held(11, 22)]);
        script.at(ms(210)).sack(10 * MSS, &[held(23, 24), held(11, 22)]);
        let times =
            |script: &Script, number| script.log().iter().filter(|sent| sent.data == nth(number)).count();
        assert_eq!((times(&script, 10), times(&script, 22)), (2, 2), "{check_echo:?}");
        // Nothing arrives that was sent for the first time after 10 was resent.
        script.at(ms(310)).sack(10 * MSS, &[held(11, 24)]);
        assert_eq!(times(&script, 10), sent, "{check_echo:?}");
    }
}

/// §6.2 step 5: what left before a retransmission says nothing about it, although the clock of both was the same.
#[test]
fn a_retransmission_left_after_the_new_data_of_the_same_instant() {
    let mut script = steady();
    script.at(ms(200)).sack(5 * MSS, &[held(6, 8)]);
    script.sack(5 * MSS, &[held(6, 9)]);
    script.expect(&[nth(11), nth(12), nth(5)]);
    script.sack(5 * MSS, &[held(6, 11)]);
    script.skip();
    // The first two of them arrive, and it may well arrive next.
    script.at(ms(300)).sack(5 * MSS, &[held(6, 12)]);
    script.sack(5 * MSS, &[held(6, 13)]);
    assert!(!script.log().iter().any(|sent| sent.at == ms(300) && sent.data == nth(5)), "{:?}", script.log());
    // A segment that left after it, at the same instant, too, shows that it is lost.
    script.sack(5 * MSS, &[held(6, 14)]);
    script.at(ms(301)).sack(5 * MSS, &[held(6, 15)]);
    assert!(script.log().iter().any(|sent| sent.at >= ms(300) && sent.data == nth(5)), "{:?}", script.log());
}

/// §6.2 step 4: once segments have come out of order, three later ones are not enough.
#[test]
fn after_reordering_a_hole_is_given_time() {
    let mut script = Script::greedy(&by_time(10));
    for number in 1..=10 {
        script.at(ms(100)).ack(number * MSS);
    }
    assert_eq!(script.in_flight(), 20);
    script.at(ms(200)).sack(10 * MSS, &[held(11, 13)]);
    assert_eq!(script.sender.order(), Some(Order { degree: 3, seen: 0 }));
    // Segment 10 was merely late.
    script.at(ms(205)).ack(13 * MSS);
    assert_eq!(script.sender.order(), Some(Order { degree: 3, seen: 1 }));
    assert_eq!((script.sender.state(), script.sender.counters().retransmitted_packets), (State::Open, 0));
    script.at(ms(210)).sack(13 * MSS, &[held(14, 17)]);
    assert_eq!(script.sender.state(), State::Disorder);
    script.skip();
    // A quarter of the least round trip, and a tick of the clock.
    script.at(ms(240));
    script.expect_at(ms(236), nth(13));
    assert_eq!(script.sender.state(), State::Recovery);
}

/// §7.2 and §7.3: two round trips of silence, and the last segment goes out again.
#[test]
fn a_silent_tail_is_probed_with_the_last_segment() {
    let mut script = Script::offering(&by_time(5), 8 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.expect(&segments(0, 8));
    script.at(ms(310));
    script.expect_at(ms(301), nth(7));
    assert_eq!((script.sender.counters().timeouts, script.cwnd()), (0, 6));
    // §7.3: one probe at a time; the RTO runs from the probe.
    script.at(ms(480));
    script.expect_nothing();
}

/// A probe of what is not lost puts nothing into the pipe, so that the timeout after it finds room for the head.
#[test]
fn the_timeout_of_a_probe_that_was_lost_too_resends() {
    let mut script = Script::offering(&by_time(5), 6 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.skip();
    script.at(ms(410));
    script.expect_at(ms(400), nth(5));
    assert_eq!(script.in_flight(), 1);
    script.at(ms(710));
    script.expect_at(ms(700), nth(5));
    assert_eq!((script.sender.counters().timeouts, script.in_flight()), (1, 1));
}

/// A tail that was probed is found to be lost by what left after the probe.
#[test]
fn a_lost_probe_is_found_to_be_lost_without_a_timeout() {
    let config = TcpConfig { timer: timer(1000, 1), ..by_time(5) };
    let mut script = Script::offering(&config, 8 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(310));
    script.skip();
    script.write(3 * MSS);
    script.expect(&segments(8, 3));
    script.at(ms(410)).sack(5 * MSS, &[held(8, 11)]);
    script.expect(&segments(5, 3));
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Recovery, 0));
}

/// §7.3: new data is a better probe, even beyond the window.
#[test]
fn a_silent_tail_is_probed_with_new_data_if_there_is_any() {
    let mut script = steady();
    script.at(ms(305));
    script.expect_at(ms(301), nth(11));
}

/// §7.2: a receiver may delay the acknowledgement of a single segment.
#[test]
fn a_single_segment_is_probed_later() {
    let config = TcpConfig { timer: timer(1000, 1), ..by_time(5) };
    let mut script = Script::offering(&config, 6 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.skip();
    // Two round trips, and 200 ms for the receiver's delay.
    script.at(ms(600));
    script.expect_at(ms(500), nth(5));
    assert_eq!(script.sender.counters().timeouts, 0);
    // The RTO bounds the wait: 300 ms after the segment left.
    let mut script = Script::offering(&by_time(5), 6 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.skip();
    script.at(ms(410));
    script.expect_at(ms(400), nth(5));
}

/// §7.2: no probe in recovery. The retransmission starts the retransmission timer, whatever was waited for.
#[test]
fn recovery_that_begins_at_once_ends_in_a_timeout_and_not_in_a_probe() {
    let mut script = steady();
    script.at(ms(200)).sack(5 * MSS, &[held(6, 9)]);
    script.expect(&[nth(5)]);
    let rto = script.sender.rto();
    script.at(ms(200) + rto);
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Loss, 1));
    script.expect_at(ms(200) + rto, nth(5));
}

/// §7.3: a second silence while a probe is on its way does not put off the timeout.
#[test]
fn a_probe_on_its_way_puts_no_timeout_off() {
    let config = TcpConfig { timer: timer(1000, 1), ..by_time(5) };
    let mut script = Script::offering(&config, 8 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(301));
    assert_eq!(script.last().data, nth(7));
    // Part of it is acknowledged, which sets a new probe's time; the head left at 100 ms.
    script.at(ms(350)).ack(6 * MSS);
    script.at(ms(1000));
    assert_eq!(script.sender.counters().timeouts, 0);
    script.at(ms(1500));
    let first = script.log().iter().find(|sent| sent.data == nth(6) && sent.at > ms(100)).expect("a timeout");
    assert!(first.at <= ms(1250), "the timeout came at {:?}", first.at);
}

/// The peer acknowledges everything below `ack` and reports a duplicate.
fn report(script: &mut Script, ack: u64, duplicate: std::ops::Range<u64>) {
    let mut segment = Segment { ack, window: u32::MAX, flags: Flags::ACK, ..Segment::default() };
    let edge = |at| segment.offset(at).expect("near");
    segment.sack[0] = (edge(duplicate.start), edge(duplicate.end));
    segment.sack_count = 1;
    script.push(segment);
}

/// §7.4.2: only the report of the probe itself says that nothing was lost.
#[test]
fn the_report_of_another_duplicate_does_not_excuse_the_loss_that_a_probe_repaired() {
    let mut script = Script::offering(&by_time(20), 28 * MSS);
    script.at(ms(100)).ack(20 * MSS);
    script.at(ms(310));
    assert_eq!(script.last().data, nth(27));
    script.at(ms(401)).ack(28 * MSS);
    script.write(2 * MSS);
    script.at(ms(501));
    report(&mut script, 30 * MSS, nth(3));
    assert_eq!((script.ssthresh(), script.sender.state()), (4, State::Open));
}

/// §6.2 step 4: duplicates widen the wait by a quarter of the least round trip, once a round trip, where order was seen to
/// be disturbed.
#[test]
fn reported_duplicates_widen_the_wait_once_a_round_trip() {
    let waited = |reports: usize| {
        let mut script = twenty(30);
        // Segment 10 was merely late.
        script.at(ms(200)).sack(10 * MSS, &[held(11, 13)]);
        script.at(ms(205)).ack(13 * MSS);
        // So were 13 and 15, but they were resent.
        script.at(ms(210)).sack(13 * MSS, &[held(14, 15), held(16, 24)]);
        script.at(ms(240)).ack(25 * MSS);
        assert_eq!(script.sender.counters().retransmitted_packets, 2);
        [13, 15].iter().take(reports).for_each(|&number| report(&mut script, 25 * MSS, nth(number)));
        script.at(ms(250)).sack(25 * MSS, &[held(26, 30)]);
        script.at(ms(400));
        script.log().iter().find(|sent| sent.data == nth(25) && sent.at > ms(250)).map(|sent| sent.at)
    };
    let (none, one, two) = (waited(0), waited(1), waited(2));
    assert_eq!((none, one, two), (Some(ms(276)), Some(ms(301)), Some(ms(301))));
}

/// §7.3: the timeout after a probe that was lost, too, resends the segment.
#[test]
fn a_timeout_after_a_lost_probe_resends_at_once() {
    let mut script = Script::offering(&by_time(5), 6 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(450));
    assert_eq!((script.last().data.clone(), script.sender.counters().timeouts), (nth(5), 0));
    script.skip();
    script.at(ms(750));
    script.expect_at(ms(700), nth(5));
    assert_eq!(script.sender.counters().timeouts, 1);
}

/// §7.4.2: the probe repaired the loss of the tail, which costs what any loss costs.
#[test]
fn a_probe_that_repairs_a_loss_halves_the_window() {
    let mut script = Script::offering(&by_time(20), 28 * MSS);
    script.at(ms(100)).ack(20 * MSS);
    script.at(ms(310));
    assert_eq!(script.last().data, nth(27));
    // 20 to 26 had arrived, the probe filled the hole at the end, and more is written and acknowledged.
    script.at(ms(401)).ack(28 * MSS);
    script.write(2 * MSS);
    script.at(ms(501)).ack(30 * MSS);
    // Half of the eight segments in flight when the probe left; the acknowledgement opens the window by one.
    assert_eq!((script.ssthresh(), script.sender.state()), (4, State::Open));
    assert_eq!((script.sender.counters().timeouts, script.sender.counters().fast_retransmits), (0, 0));
}

/// §7.4.2: nothing was lost if both the original and the probe arrived.
#[test]
fn a_probe_that_was_a_duplicate_costs_nothing() {
    let mut script = Script::offering(&by_time(10), 12 * MSS);
    script.at(ms(100)).ack(8 * MSS);
    script.at(ms(310));
    let before = script.cwnd();
    script.at(ms(320)).ack(12 * MSS);
    script.at(ms(401)).ack(12 * MSS);
    script.write(2 * MSS);
    script.at(ms(501)).ack(14 * MSS);
    assert!(script.cwnd() >= before, "{} after {before}", script.cwnd());
}

/// §6.3 and RFC 6298 §5: after a timeout only what left a round trip ago is lost.
#[test]
fn a_timeout_spares_what_left_a_moment_before() {
    let quiet = RackConfig { tail_loss_probe: false, ..RackConfig::default() };
    let config = TcpConfig { recovery: Recovery::Rack(quiet), ..by_time(5) };
    let mut script = Script::offering(&config, 8 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(395)).write(MSS);
    script.skip();
    script.at(ms(401));
    script.expect(&[nth(5)]);
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Loss, 1));
    let beliefs = script.sender.beliefs().expect("a record");
    assert_eq!((beliefs.lost, beliefs.resent), (3 * MSS, MSS));
}

/// Linux's states of RFC 3168: an echo lowers the window once, and keeps no window from opening after a timeout.
#[test]
fn an_echo_that_goes_on_after_a_timeout_does_not_stall_slow_start() {
    let quiet = RackConfig { tail_loss_probe: false, ..RackConfig::default() };
    let config = TcpConfig { recovery: Recovery::Rack(quiet), ecn: EcnMode::Classic, ..by_time(5) };
    let mut script = Script::offering(&config, 10 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(450));
    assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 1));
    let flags = Flags::ACK.with(Flags::ECE);
    let echo = Segment { ack: 6 * MSS, echo: ms(450), window: u32::MAX, flags, ..Segment::default() };
    script.at(ms(550)).push(echo);
    assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 2));
    assert_eq!(script.sender.counters().ecn_reductions, 0);
}

/// An acknowledgement that was overtaken still says what the receiver holds, as in Linux.
#[test]
fn blocks_of_an_old_acknowledgement_count() {
    let mut script = steady();
    script.at(ms(200)).sack(6 * MSS, &[held(7, 8)]);
    script.skip();
    let (pipe, window) = (script.in_flight(), script.cwnd());
    script.at(ms(210)).sack(5 * MSS, &[held(8, 9)]);
    assert_eq!(script.sender.beliefs().map(|beliefs| beliefs.sacked), Some(2 * MSS));
    // One left the pipe, and one goes out in its place; nothing else changes.
    assert_eq!((script.in_flight(), script.cwnd()), (pipe, window));
    script.expect(&[nth(14)]);
    // A block below what is acknowledged says nothing.
    script.sack(4 * MSS, &[held(5, 6)]);
    assert_eq!(script.sender.beliefs().map(|beliefs| beliefs.sacked), Some(2 * MSS));
    script.expect_nothing();
}

/// A segment left too recently to be lost: with Linux's habit, the window has room for a segment beyond it.
#[test]
fn a_timeout_leaves_what_is_in_flight_its_place_in_the_window() {
    for (keep_in_flight, room) in [(true, 3), (false, 1)] {
        let rack = RackConfig { tail_loss_probe: false, keep_in_flight, ..RackConfig::default() };
        for control in [
            Congestion::Reno(RenoConfig::default()),
            Congestion::Cubic(CubicConfig::default()),
            Congestion::Vegas(VegasConfig::default()),
        ] {
            let settings = TcpConfig { recovery: Recovery::Rack(rack), congestion: control, ..by_time(5) };
            let mut script = Script::offering(&settings, 6 * MSS);
            script.at(ms(100)).ack(5 * MSS);
            script.at(ms(350)).write(2 * MSS);
            script.skip();
            script.at(ms(401));
            script.expect_at(ms(400), nth(5));
            assert_eq!((script.cwnd(), script.in_flight(), script.sender.counters().timeouts), (room, 3, 1));
        }
    }
}

/// Duplicates reported before order was ever seen to be disturbed do not widen the wait.
#[test]
fn duplicates_without_reordering_widen_nothing() {
    let mut script = twenty(30);
    script.at(ms(200)).sack(10 * MSS, &[held(11, 14)]);
    script.at(ms(210)).ack(30 * MSS);
    report(&mut script, 30 * MSS, nth(10));
    script.at(ms(220)).write(10 * MSS);
    script.at(ms(320)).sack(30 * MSS, &[held(31, 33)]);
    script.at(ms(325)).ack(33 * MSS);
    script.at(ms(330)).sack(33 * MSS, &[held(34, 37)]);
    script.skip();
    script.at(ms(380));
    script.expect_at(ms(356), nth(33));
}

/// A duplicate that the receiver reports beyond what was resent, the path has made: it says nothing of the reordering window.
#[test]
fn duplicates_of_what_was_never_resent_are_the_path_s() {
    let mut script = twenty(30);
    script.at(ms(200)).sack(10 * MSS, &[held(11, 13)]);
    script.at(ms(205)).ack(13 * MSS);
    report(&mut script, 13 * MSS, nth(3));
    script.at(ms(210)).sack(13 * MSS, &[held(14, 17)]);
    script.skip();
    script.at(ms(270));
    script.expect_at(ms(236), nth(13));
}

/// A probe is a retransmission, too: its duplicate alone does not show a timeout to have been spurious.
#[test]
fn the_duplicate_of_a_probe_does_not_undo_the_timeout_after_it() {
    let rack = RackConfig { undo: true, ..RackConfig::default() };
    let mut script = Script::offering(&TcpConfig { recovery: Recovery::Rack(rack), ..by_time(5) }, 8 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.at(ms(650));
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Loss, 1));
    let (window, ssthresh) = (script.cwnd(), script.ssthresh());
    // The receiver had the last segment before the probe repeated it; the first one and the second are resent.
    let mut segment = Segment { ack: 6 * MSS, window: u32::MAX, flags: Flags::ACK, ..Segment::default() };
    segment.sack[0] = (MSS as u32, 2 * MSS as u32);
    segment.sack[1] = segment.sack[0];
    segment.sack_count = 2;
    script.at(ms(660)).push(segment);
    assert_eq!((script.sender.state(), script.ssthresh()), (State::Loss, ssthresh));
    assert!(script.cwnd() <= window + 1, "cwnd {} after {window}", script.cwnd());
}

/// Linux's tcp_may_raise_cwnd: where order is seldom kept, what is SACKed opens a window that counts what arrives.
#[test]
fn where_order_is_seldom_kept_what_is_sacked_opens_the_window() {
    for (lowest, grown) in [(7, 18), (3, 19)] {
        let settings = TcpConfig { counting: Counting::Segments, ..by_time(10) };
        let mut script = Script::greedy(&settings);
        script.at(ms(100)).sack(0, &[held(9, 10)]);
        script.sack(0, &[held(lowest, lowest + 1), held(9, 10)]);
        script.ack(10 * MSS);
        assert_eq!((script.cwnd(), script.sender.state()), (grown, State::Open), "down to {lowest}");
    }
}

/// When a tail of `sizes` is probed, with an RTT of 100 ms and this timer.
fn probed_at(timer: Timer, sizes: &[u64]) -> Time {
    let mut script = Script::offering(&TcpConfig { timer, ..by_time(10) }, MSS);
    script.at(ms(100)).ack(MSS);
    for &size in sizes {
        script.write(size);
    }
    script.skip();
    let due = script.sender.poll_at();
    script.at(due);
    assert_eq!(script.sender.counters().retransmitted_packets, 1, "{timer:?}");
    script.last().at
}

/// §7.2: the probe of a single segment waits for a delayed acknowledgement, too: TLP.max_ack_delay, or in Linux the least RTO
/// of the flow (`tcp_schedule_loss_probe`), and never longer than the RTO. That of several segments does not.
#[test]
fn the_probe_of_a_single_segment_waits_for_the_least_rto_or_for_200_ms() {
    let linux = |minimum: u64| {
        let minimum = Span::from_millis(minimum);
        Timer::Linux(LinuxTimer { minimum, wheel: false, ..LinuxTimer::default() })
    };
    // The RTO: 100 ms + max(200 ms, minimum).
    for (minimum, at) in [(4, 304), (40, 340), (60, 360), (200, 400), (400, 600), (1000, 1200), (3000, 3200)]
    {
        assert_eq!(probed_at(linux(minimum), &[MSS]), ms(at), "{minimum} ms");
        assert_eq!(probed_at(linux(minimum), &[MSS, MSS]), ms(302), "{minimum} ms, two segments");
        assert_eq!(probed_at(linux(minimum), &[100, 200]), ms(302), "{minimum} ms, two short ones");
    }
    for minimum in [300, 350, 450, 1000, 4000] {
        let at = 100 + minimum.clamp(300, 400);
        assert_eq!(probed_at(timer(minimum, 1), &[MSS]), ms(at), "{minimum} ms");
    }
    let multiple = |factor| Timer::Multiple(MultipleTimer { factor, ..MultipleTimer::default() });
    assert_eq!(probed_at(multiple(3.5), &[MSS]), ms(450));
    assert_eq!(probed_at(multiple(9.0), &[MSS]), ms(500));
}

/// §7.2: without a sample a tail is probed after a second, or at the RTO if that is shorter.
#[test]
fn a_first_tail_is_probed_after_a_second() {
    for (initial, at) in [(400, 400), (1000, 1000), (3000, 1000), (6000, 1000)] {
        let timer =
            Timer::Rfc6298(Rfc6298Timer { initial: Span::from_millis(initial), ..Rfc6298Timer::default() });
        let mut script = Script::offering(&TcpConfig { timer, ..by_time(10) }, 2 * MSS);
        script.at(ms(at));
        assert_eq!(
            (script.last().at, script.sender.counters().retransmitted_packets),
            (ms(at), 1),
            "{initial} ms"
        );
    }
}
