//! The window of two parts, as dialogues. Source: [minrate, §IV-B, Fig. 8], with V = CWND - RWND as the state.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Controller, Counting, Growth,
    RateAdaptiveWindow, RateAdaptiveWindowConfig, Start,
};
use varicap_tcp::{Congestion, Recovery, Reservation, RttBase, TcpConfig};
use varicap_units::{BucketDepth, Bytes, Rate, Span, Time};

const RESERVED: Rate = Rate::from_bps(4_000_000);

fn plain(recovery: Recovery, initial_window: u64) -> TcpConfig {
    TcpConfig {
        header: Bytes::ZERO,
        congestion: Congestion::RateAdaptiveWindow(RateAdaptiveWindowConfig::default()),
        ..config(recovery, initial_window)
    }
}

fn terms() -> Reservation {
    Reservation::new(RESERVED, BucketDepth::Time(Span::from_millis(50)))
}

/// 4 Mb/s over 100 ms are 50 segments.
fn reserved(recovery: Recovery, initial_window: u64) -> Script {
    let mut script = Script::reserved(&plain(recovery, initial_window), &terms(), u64::MAX);
    script.at(ms(100)).ack(MSS);
    script
}

/// RWND and V in segments, of a window that is driven without a sender.
fn parts(window: &RateAdaptiveWindow) -> (f64, f64) {
    (window.reserved().as_u64() as f64 / MSS as f64, window.variable().as_u64() as f64 / MSS as f64)
}

fn window(config: &RateAdaptiveWindowConfig, ssthresh: u64, packet: u64) -> RateAdaptiveWindow {
    let start = Start {
        mss: Bytes::new(MSS),
        packet: Bytes::new(packet),
        initial_window: Bytes::new(10 * MSS),
        initial_ssthresh: Bytes::new(ssthresh),
        counting: Counting::Acks,
        rounding: varicap_tcp::congestion::Rounding::None,
    };
    RateAdaptiveWindow::new(config, &start)
}

fn ack(at_ms: u64, segments: u64, min_rtt: u64, smoothed: u64) -> AckSample {
    AckSample {
        newly_acked: Bytes::new(segments * MSS),
        in_flight: Bytes::new(100 * MSS),
        smoothed_rtt: Some(Span::from_millis(smoothed)),
        min_rtt: Some(Span::from_millis(min_rtt)),
        ..AckSample::at(ms(at_ms))
    }
}

fn event(kind: CongestionKind) -> CongestionEvent {
    CongestionEvent { now: ms(0), kind, in_flight: Bytes::new(1_000_000) }
}

#[test]
fn rwnd_is_the_reserved_rate_times_the_best_rtt_from_the_first_sample_on() {
    let mut script = Script::reserved(&plain(Recovery::Reno, 2), &terms(), u64::MAX);
    assert_eq!(script.cwnd(), 2);
    script.at(ms(100)).ack(MSS);
    // V grew by V/C of a segment: 2/52.
    assert_eq!(script.sender.cwnd().as_u64(), 50 * MSS + 2 * MSS + 2 * MSS / 52);
    assert_eq!(script.in_flight(), 52);
    // 40 bytes of each packet are headers: 4 Mb/s carry less payload.
    let mut headed = window(&RateAdaptiveWindowConfig::default(), u64::MAX, 1040);
    headed.on_reservation(Time::ZERO, Some(RESERVED));
    headed.on_ack(&ack(0, 0, 100, 150));
    assert_eq!(headed.reserved().as_u64(), 50_000 * 1000 / 1040);
}

#[test]
fn rwnd_may_follow_the_smoothed_rtt() {
    let smoothed = RateAdaptiveWindowConfig { rtt: RttBase::Smoothed, ..RateAdaptiveWindowConfig::default() };
    let mut window = window(&smoothed, u64::MAX, MSS);
    window.on_reservation(Time::ZERO, Some(RESERVED));
    window.on_ack(&ack(0, 0, 100, 150));
    assert_eq!(parts(&window), (75.0, 10.0));
}

#[test]
fn in_slow_start_an_acknowledgement_opens_the_variable_share_of_a_segment() {
    let mut window = window(&RateAdaptiveWindowConfig::default(), u64::MAX, MSS);
    window.on_reservation(Time::ZERO, Some(RESERVED));
    window.on_ack(&ack(0, 0, 100, 100));
    assert_eq!(parts(&window), (50.0, 10.0));
    // A window of acknowledgements doubles V, as each adds V/C.
    for _ in 0..60 {
        window.on_ack(&ack(1, 1, 100, 100));
    }
    let expected = (0..60).fold(10.0, |v: f64, _| v + v / (50.0 + v));
    assert!((parts(&window).1 - expected).abs() < 0.05, "{} {expected}", parts(&window).1);
    // RFC 5681 (2): an acknowledgement of two segments counts as one.
    let before = parts(&window).1;
    window.on_ack(&ack(2, 2, 100, 100));
    assert!((parts(&window).1 - before - before / (50.0 + before)).abs() < 0.01);
}

#[test]
fn in_congestion_avoidance_a_window_of_acknowledgements_opens_one_segment() {
    let mut window = window(&RateAdaptiveWindowConfig::default(), 10 * MSS, MSS);
    window.on_reservation(Time::ZERO, Some(RESERVED));
    window.on_ack(&ack(0, 0, 100, 100));
    // 1/C each: 60 acknowledgements of C = 60, then 61 of 61.
    for count in [60, 61, 62] {
        let before = parts(&window).1;
        for _ in 0..count {
            assert_eq!(parts(&window).1, before);
            window.on_ack(&ack(1, 1, 100, 100));
        }
        // The share is rounded to whole bytes: the step comes at the last acknowledgement, or with the next one.
        if parts(&window).1 == before {
            window.on_ack(&ack(1, 1, 100, 100));
        }
        assert_eq!(parts(&window).1, before + 1.0);
    }
}

#[test]
fn a_loss_halves_the_variable_part_alone() {
    let mut script = reserved(Recovery::Reno, 20);
    let before = script.sender.cwnd().as_u64();
    script.duplicates(3);
    let after = script.sender.cwnd().as_u64();
    assert_eq!(after - 50 * MSS, (before - 50 * MSS) / 2);
    assert_eq!(script.sender.ssthresh(), Some(script.sender.cwnd()));
}

#[test]
fn a_timeout_leaves_the_reserved_part_and_one_segment() {
    let mut script = reserved(Recovery::Reno, 20);
    script.at(ms(1200));
    assert_eq!(script.sender.counters().timeouts, 1);
    assert_eq!(script.sender.cwnd().as_u64(), 51 * MSS);
    assert_eq!(script.ssthresh(), 50 + 10);
    // Go-back-N: RWND + 1 from the hole on, at once.
    let resent = script.log().iter().filter(|sent| sent.at == script.last().at).count();
    assert_eq!((resent, script.last().data.end), (51, MSS + 51 * MSS));
}

#[test]
fn a_changed_reservation_moves_the_window_at_once() {
    let mut script = reserved(Recovery::Sack, 2);
    let variable = script.sender.cwnd().as_u64() - 50 * MSS;
    script.skip();
    script.sender.set_reserved_rate(ms(100), Rate::from_bps(6_000_000));
    script.at(ms(100));
    assert_eq!(script.sender.cwnd().as_u64() - 75 * MSS, variable);
    script.expect(&common::segments(53, 25));
    script.sender.set_reserved_rate(ms(101), Rate::from_bps(500_000));
    assert_eq!(script.sender.cwnd().as_u64() - 6250, variable);
    script.at(ms(101)).ack(60 * MSS);
    script.expect_nothing();
}

#[test]
fn the_end_of_newrenos_recovery_leaves_the_reserved_part() {
    let mut window = window(&RateAdaptiveWindowConfig::default(), u64::MAX, MSS);
    window.on_reservation(Time::ZERO, Some(RESERVED));
    window.on_ack(&ack(0, 0, 100, 100));
    window.on_recovered(ms(1), Bytes::new(55 * MSS));
    assert_eq!(parts(&window), (50.0, 5.0));
    window.on_recovered(ms(1), Bytes::new(2 * MSS));
    assert_eq!(parts(&window), (50.0, 1.0));
}

#[test]
fn a_sender_that_gives_its_reservation_up_has_an_ordinary_window() {
    let careful = Reservation { safeguard: true, ..terms() };
    let mut script = Script::reserved(&plain(Recovery::Reno, 20), &careful, u64::MAX);
    script.at(ms(100)).ack(MSS);
    let before = script.sender.cwnd().as_u64();
    assert_eq!(before / MSS, 70);
    script.duplicates(3); // segment 1 was marked
    assert_eq!(script.sender.counters().reservations_given_up, 1);
    assert_eq!(script.sender.cwnd().as_u64(), before / 2);
}

#[test]
fn the_variable_part_may_be_cubic() {
    let cubic = RateAdaptiveWindowConfig { grow: Growth::Cubic, ..RateAdaptiveWindowConfig::default() };
    let mut window = window(&cubic, 10 * MSS, MSS);
    window.on_reservation(Time::ZERO, Some(RESERVED));
    window.on_ack(&ack(0, 0, 100, 100));
    window.on_congestion(&event(CongestionKind::FastRetransmit));
    assert_eq!(parts(&window), (50.0, 7.0)); // RFC 9438: 0.7 of V
    let rtts = 100;
    for round in 0..rtts {
        for _ in 0..57 {
            window.on_ack(&ack(100 * round, 1, 100, 100));
        }
    }
    assert!(parts(&window).1 > 30.0, "{}", parts(&window).1);
    window.on_congestion(&event(CongestionKind::Timeout { backoff: 0 }));
    assert_eq!(parts(&window), (50.0, 1.0));
    window.on_reservation(ms(1), None);
    assert_eq!(parts(&window), (0.0, 51.0));
}

#[test]
fn without_a_reservation_it_is_reno() {
    let windows = |congestion: Congestion| {
        let mut script = Script::greedy(&TcpConfig { congestion, ..plain(Recovery::Reno, 2) });
        (0..200u64)
            .map(|round| {
                script.at(ms(10 * round + 10));
                if round == 50 {
                    script.duplicates(3)
                } else {
                    script.ack((round + 1) * MSS);
                }
                script.sender.cwnd().as_u64()
            })
            .collect::<Vec<_>>()
    };
    let adaptive = Congestion::RateAdaptiveWindow(RateAdaptiveWindowConfig::default());
    assert_eq!(windows(adaptive), windows(Congestion::default()));
    let sender = Script::greedy(&plain(Recovery::Reno, 2)).sender;
    assert!(matches!(sender.control(), Controller::RateAdaptiveWindow(_)));
}

#[test]
fn an_unused_window_falls_in_its_variable_part_alone() {
    for grow in [Growth::Reno, Growth::Cubic] {
        let config = RateAdaptiveWindowConfig { grow, ..RateAdaptiveWindowConfig::default() };
        let mut window = window(&config, 4 * MSS, MSS);
        window.on_reservation(Time::ZERO, Some(RESERVED));
        window.on_ack(&ack(0, 0, 100, 100));
        assert_eq!(parts(&window), (50.0, 10.0));
        window.on_unused(Bytes::new(56 * MSS));
        assert_eq!(parts(&window), (50.0, 6.0), "{grow:?}");
        assert_eq!(window.ssthresh(), Some(Bytes::new(57_500)), "{grow:?}");
        // Less than what is reserved: a segment remains of the other part.
        window.on_unused(Bytes::new(30 * MSS));
        assert_eq!(parts(&window), (50.0, 1.0), "{grow:?}");
    }
}
