//! RFC 6298: the retransmission timer; and its cousins of coarse ticks and fixed multiples.

use crate::common;

use common::{MSS, Script, config, ms, nth, segments, timer};
use varicap_tcp::{
    Flags, MultipleTimer, Receiver, Recovery, RttBase, RttSamples, Segment, Sender, State, TcpConfig,
    TickSamples, TickTimer, Timer,
};
use varicap_units::{Bytes, Span, Time};

fn with_timer(timer: Timer) -> TcpConfig {
    TcpConfig { timer, ..config(Recovery::Reno, 4) }
}

/// Acknowledges the next segment `rtt_ms` after the last one was acknowledged, so that each sample is that long.
fn rto_after(timer: Timer, rtts_ms: &[u64]) -> Span {
    let mut script =
        Script::greedy(&TcpConfig { initial_window: varicap_units::Amount::Packets(1), ..with_timer(timer) });
    let mut now = 0;
    let mut acked = 0;
    for &rtt in rtts_ms {
        now += rtt;
        acked = script.last().data.end.max(acked);
        let outcome = script.at(ms(now)).ack(acked);
        assert_eq!(outcome.rtt, Some(Span::from_millis(rtt)));
    }
    script.sender.rto()
}

#[test]
fn before_the_first_sample_the_rto_is_a_second() {
    assert_eq!(rto_after(Timer::default(), &[]), Span::from_secs(1));
}

#[test]
fn the_first_sample_gives_three_times_the_rtt() {
    // SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
    assert_eq!(rto_after(timer(1, 1), &[100]), Span::from_millis(300));
}

#[test]
fn later_samples_move_srtt_by_an_eighth_and_rttvar_by_a_quarter() {
    // SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; RTO = 110 + 230.
    assert_eq!(rto_after(timer(1, 1), &[100, 180]), Span::from_millis(340));
}

#[test]
fn rto_has_a_minimum_and_a_maximum() {
    assert_eq!(rto_after(timer(200, 1), &[10]), Span::from_millis(200));
    assert_eq!(rto_after(Timer::default(), &[10]), Span::from_secs(1));
    assert_eq!(rto_after(Timer::default(), &[900, 900]).as_millis_f64(), 900.0 + 4.0 * 337.5);
}

#[test]
fn a_coarse_clock_rounds_samples_and_rto_up() {
    // 31 ms is seen as 40: SRTT 40 + max(G, 4 * 20) = 120.
    assert_eq!(rto_after(timer(1, 10), &[31]), Span::from_millis(120));
    // Steady samples: the variance dies out, and max(G, 4 * RTTVAR) is G.
    assert_eq!(rto_after(timer(1, 10), &[31; 60]), Span::from_millis(50));
}

#[test]
fn the_timer_restarts_with_new_data_acknowledged_and_stops_when_all_is() {
    let mut script = Script::offering(&config(Recovery::Reno, 4), 2 * MSS);
    assert_eq!(script.sender.poll_at(), ms(1000));
    script.at(ms(100)).ack(MSS);
    assert_eq!(script.sender.poll_at(), ms(1100));
    script.at(ms(150)).duplicates(1);
    assert_eq!(script.sender.poll_at(), ms(1100));
    script.at(ms(200)).ack(2 * MSS);
    assert_eq!(script.sender.poll_at(), Time::NEVER);
}

#[test]
fn sending_more_does_not_restart_the_timer() {
    let mut script = Script::offering(&config(Recovery::Reno, 4), MSS);
    script.at(ms(300)).write(MSS);
    assert_eq!(script.sender.poll_at(), ms(1000));
}

#[test]
fn each_expiry_doubles_the_rto_up_to_its_maximum() {
    let mut script = Script::greedy(&config(Recovery::Reno, 4));
    script.skip();
    let mut expected = 0;
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        expected += wait;
        script.at(ms(expected * 1000));
        script.expect_at(ms(expected * 1000), nth(0));
    }
}

#[test]
fn karn_takes_no_sample_from_what_was_resent_and_keeps_the_backoff() {
    let mut script = Script::greedy(&config(Recovery::Reno, 1));
    script.at(ms(1100));
    let outcome = script.ack(MSS);
    assert_eq!((outcome.newly_acked, outcome.rtt), (MSS, None));
    assert_eq!(script.sender.rto(), Span::from_secs(2));
    // A sample of new data collapses it.
    let outcome = script.at(ms(1200)).ack(2 * MSS);
    assert_eq!(outcome.rtt, Some(Span::from_millis(100)));
    assert_eq!(script.sender.rto(), Span::from_secs(1));
    // The next expiry is a first one again.
    script.at(ms(2200));
    assert_eq!(script.sender.rto(), Span::from_secs(2));
}

#[test]
fn karn_takes_no_sample_when_the_original_is_acknowledged_after_all() {
    let mut script = Script::greedy(&config(Recovery::Reno, 1));
    script.at(ms(1050));
    // A timeout in vain: the acknowledgement of the first transmission was on its way. A host cannot distinguish the
    // two.
    let late = Segment { ack: MSS, echo: ms(0), window: u32::MAX, flags: Flags::ACK, ..Segment::default() };
    assert_eq!(script.push(late).rtt, None);
}

#[test]
fn timestamps_tell_which_transmission_was_acknowledged() {
    let mut script = Script::greedy(&TcpConfig { timestamps: true, ..config(Recovery::Reno, 1) });
    script.at(ms(1100));
    let outcome = script.ack(MSS);
    assert_eq!(outcome.rtt, Some(Span::from_millis(100)));
    assert_eq!(script.sender.rto(), Span::from_secs(1));
}

#[test]
fn one_timed_segment_per_window_gives_one_sample_per_window() {
    let mut script =
        Script::greedy(&TcpConfig { rtt_samples: RttSamples::OnePerWindow, ..config(Recovery::Reno, 4) });
    let samples: Vec<_> = (1..=8)
        .map(|number| script.at(ms(100 + number)).ack(number * MSS).rtt.map(|rtt| rtt.as_millis_f64()))
        .collect();
    // The first segment is timed, then the first one sent after its acknowledgement: the fifth, sent at 101 ms.
    let expected = [Some(101.0), None, None, None, Some(4.0), None, None, None];
    assert_eq!(samples, expected);
}

#[test]
fn a_retransmission_cancels_the_timed_segment() {
    let mut script =
        Script::greedy(&TcpConfig { rtt_samples: RttSamples::OnePerWindow, ..config(Recovery::Reno, 4) });
    script.at(ms(1100));
    assert_eq!(script.ack(4 * MSS).rtt, None);
}

fn handshaking(timestamps: bool) -> (Sender, Receiver) {
    let config = TcpConfig { handshake: true, timestamps, ..config(Recovery::Reno, 4) };
    let mut sender = Sender::new(&config, Time::ZERO);
    sender.write(Bytes::MAX);
    (sender, Receiver::new(&config, Time::ZERO))
}

fn connect(sender: &mut Sender, receiver: &mut Receiver, now: Time, syn: &Segment) -> Vec<Segment> {
    for ack in common::answer(receiver, now, syn) {
        sender.push(now + Span::from_millis(100), &ack);
    }
    std::iter::from_fn(|| sender.poll(now + Span::from_millis(100))).collect()
}

#[test]
fn the_syn_gives_the_first_sample() {
    let (mut sender, mut receiver) = handshaking(false);
    let syn = sender.poll(Time::ZERO).expect("a SYN");
    assert!(syn.flags.has(Flags::SYN) && syn.wire_size == 48);
    assert_eq!((sender.poll(Time::ZERO), sender.state()), (None, State::Connecting));
    let data = connect(&mut sender, &mut receiver, ms(50), &syn);
    assert_eq!(data.len(), 4);
    assert_eq!(sender.smoothed_rtt(), Some(Span::from_millis(150)));
}

#[test]
fn a_lost_syn_doubles_the_wait_and_then_starts_data_with_three_seconds_and_one_segment() {
    let (mut sender, mut receiver) = handshaking(false);
    sender.poll(Time::ZERO).expect("a SYN");
    assert_eq!(sender.poll_at(), ms(1000));
    sender.poll(ms(1000)).expect("another");
    assert_eq!(sender.poll_at(), ms(3000));
    let syn = sender.poll(ms(3000)).expect("a third");
    let data = connect(&mut sender, &mut receiver, ms(3050), &syn);
    assert_eq!(data.len(), 1);
    assert_eq!((sender.smoothed_rtt(), sender.rto()), (None, Span::from_secs(3)));
    assert_eq!(sender.counters().timeouts, 2);
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let (mut sender, mut receiver) = handshaking(true);
    let syn = sender.poll(Time::ZERO).expect("a SYN");
    assert_eq!(common::answer(&mut receiver, ms(50), &syn).len(), 1);
    let syn = sender.poll(ms(1000)).expect("another");
    assert_eq!(connect(&mut sender, &mut receiver, ms(1050), &syn).len(), 1);
    // With timestamps even this one gives an RTT sample.
    assert_eq!(sender.smoothed_rtt(), Some(Span::from_millis(150)));
}

fn ticks(tick_ms: u64) -> Timer {
    Timer::Ticks(TickTimer { tick: Span::from_millis(tick_ms), ..TickTimer::default() })
}

#[test]
fn a_tick_timer_fires_on_the_clocks_ticks() {
    let mut script = Script::greedy(&with_timer(ticks(500)));
    script.skip();
    // The initial RTO is 12 ticks.
    script.at(ms(6000));
    script.expect_at(ms(6000), nth(0));
    let mut script = Script::greedy(&with_timer(ticks(500)));
    script.at(ms(130)).ack(MSS);
    script.skip();
    // No tick passed, but `t_rtt` begins with one: SRTT 1, RTTVAR 0.5, RTO 3; the tick under way counts.
    assert_eq!(script.sender.poll_at(), ms(1500));
    script.at(ms(1500));
    script.expect_at(ms(1500), nth(1));
}

#[test]
fn a_tick_timer_counts_the_ticks_that_passed() {
    // 350 ms from 0 crosses three ticks of 100 ms, and a first sample counts one more: SRTT 4, RTTVAR 2, RTO 4 + 8.
    assert_eq!(rto_after(ticks(100), &[350]), Span::from_millis(1200));
    assert_eq!(rto_after(ticks(100), &[50]), Span::from_millis(300));
}

/// 4.3BSD-Tahoe adds two deviations; ns rounds samples in its own way, and counts a tick at least.
#[test]
fn a_tick_timer_has_the_deviations_and_samples_that_it_is_given() {
    let with = |samples, deviations| {
        let tick = Span::from_millis(100);
        Timer::Ticks(TickTimer { tick, samples, deviations, ..TickTimer::default() })
    };
    let rto = |samples, deviations, rtt| rto_after(with(samples, deviations), &[rtt]).as_nanos() / 1_000_000;
    assert_eq!(rto(TickSamples::Crossed, 4, 350), 1200);
    assert_eq!(rto(TickSamples::Crossed, 2, 350), 800);
    assert_eq!(rto(TickSamples::AtLeastOne, 4, 350), 900);
    assert_eq!(rto(TickSamples::AtLeastOne, 4, 30), 300);
    assert_eq!(rto(TickSamples::Nearest, 4, 350), 1200);
    assert_eq!(rto(TickSamples::Nearest, 4, 349), 900);
    assert_eq!(rto(TickSamples::Nearest, 4, 30), 300);
}

#[test]
fn a_tick_timer_that_is_not_on_ticks_is_over_when_its_time_is() {
    for (on_tick, due) in [(true, 1500), (false, 1630)] {
        let timer = Timer::Ticks(TickTimer { on_tick, ..TickTimer::default() });
        let mut script = Script::greedy(&with_timer(timer));
        script.at(ms(130)).ack(MSS);
        assert_eq!(script.sender.poll_at(), ms(due));
    }
}

#[test]
fn a_tick_timer_backs_off_no_further_than_it_may() {
    let maximum = Span::from_secs(1_000_000);
    let timer = Timer::Ticks(TickTimer { maximum, on_tick: false, ..TickTimer::default() });
    let mut script = Script::greedy(&with_timer(timer));
    for expected in [12, 24, 48, 96, 192, 384, 384, 384] {
        let due = script.sender.poll_at();
        script.at(due);
        assert_eq!(script.sender.rto(), Span::from_secs(expected));
    }
}

#[test]
fn a_multiple_of_the_rtt() {
    let multiple = |factor, of| Timer::Multiple(MultipleTimer { factor, of, ..MultipleTimer::default() });
    assert_eq!(rto_after(multiple(2.0, RttBase::Smoothed), &[100, 180]), Span::from_millis(220));
    assert_eq!(rto_after(multiple(1.5, RttBase::Base), &[100, 140]), Span::from_millis(150));
}

#[test]
fn a_multiple_may_refrain_from_backing_off() {
    let timer = Timer::Multiple(MultipleTimer { backoff: false, ..MultipleTimer::default() });
    let mut script = Script::greedy(&with_timer(timer));
    script.expect(&segments(0, 4));
    for expiry in 1..5 {
        script.at(ms(expiry * 1000));
        script.expect_at(ms(expiry * 1000), nth(0));
    }
}
