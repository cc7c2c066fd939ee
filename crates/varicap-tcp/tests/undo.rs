//! A reduction that turns out to be spurious is undone: RFC 4015 and RFC 9438 §4.9.

use varicap_tcp::congestion::{
    AckSample, Congestion, CongestionControl, CongestionEvent, CongestionKind, Controller, Counting,
    CubicConfig, RenoConfig, Start, VegasConfig,
};
use varicap_units::{Bytes, Span, Time};

const MSS: u64 = 1000;
const FIRST_EXPIRY: CongestionKind = CongestionKind::Timeout { backoff: 0 };

fn control(choice: &Congestion, window: u64, ssthresh: u64) -> Controller {
    let bytes = |segments: u64| Bytes::new(segments * MSS);
    let start = Start {
        mss: Bytes::new(MSS),
        packet: Bytes::new(MSS + 40),
        initial_window: bytes(window),
        initial_ssthresh: bytes(ssthresh),
        counting: Counting::Acks,
        rounding: varicap_tcp::congestion::Rounding::None,
    };
    Controller::new(choice, &start)
}

fn all() -> [Congestion; 3] {
    [
        Congestion::Reno(RenoConfig::default()),
        Congestion::Cubic(CubicConfig::default()),
        Congestion::Vegas(VegasConfig::default()),
    ]
}

fn lose(control: &mut Controller, kind: CongestionKind) {
    let event = CongestionEvent { now: Time::ZERO, kind, in_flight: control.cwnd() };
    control.on_congestion(&event);
}

/// cwnd and ssthresh [segments].
fn windows(control: &Controller) -> (u64, u64) {
    (control.cwnd().as_u64() / MSS, control.ssthresh().expect("it has one").as_u64() / MSS)
}

#[test]
fn window_and_threshold_are_what_they_were() {
    for choice in all() {
        for kind in [CongestionKind::FastRetransmit, FIRST_EXPIRY] {
            let mut control = control(&choice, 20, 30);
            lose(&mut control, kind);
            assert!(windows(&control).0 < 20);
            control.on_undo(Time::ZERO);
            assert_eq!(windows(&control), (20, 30), "{choice:?}");
        }
    }
}

#[test]
fn the_threshold_of_congestion_avoidance_is_at_least_three_quarters_of_its_window() {
    let mut control = control(&all()[0], 20, 10);
    lose(&mut control, CongestionKind::FastRetransmit);
    control.on_undo(Time::ZERO);
    assert_eq!(windows(&control), (20, 15));
}

#[test]
fn expiries_in_a_row_are_one_reduction() {
    for choice in all() {
        let mut control = control(&choice, 20, 30);
        lose(&mut control, FIRST_EXPIRY);
        lose(&mut control, CongestionKind::Timeout { backoff: 1 });
        lose(&mut control, CongestionKind::Timeout { backoff: 2 });
        control.on_undo(Time::ZERO);
        assert_eq!(windows(&control), (20, 30), "{choice:?}");
    }
}

#[test]
fn a_reduction_is_undone_once_and_an_echo_never() {
    for choice in all() {
        let mut control = control(&choice, 20, 20);
        lose(&mut control, CongestionKind::FastRetransmit);
        control.on_undo(Time::ZERO);
        lose(&mut control, CongestionKind::EcnEcho);
        let reduced = windows(&control);
        control.on_undo(Time::ZERO);
        assert_eq!(windows(&control), reduced, "{choice:?}");
    }
}

#[test]
fn a_window_that_has_grown_beyond_stays() {
    let mut control = control(&all()[0], 4, 4);
    lose(&mut control, FIRST_EXPIRY);
    for number in 1..100 {
        let now = Time::ZERO + Span::from_millis(number);
        control.on_ack(&AckSample { newly_acked: Bytes::new(MSS), ..AckSample::at(now) });
    }
    let grown = windows(&control).0;
    assert!(grown > 4);
    control.on_undo(Time::ZERO);
    assert_eq!(windows(&control), (grown, 4));
}

/// RFC 9438 §4.9: the stage of congestion avoidance goes on where it was interrupted.
#[test]
fn cubic_goes_on_as_if_nothing_had_happened() {
    let choice = Congestion::Cubic(CubicConfig::default());
    let run = |interrupted: bool| {
        let mut control = control(&choice, 100, 100);
        lose(&mut control, CongestionKind::FastRetransmit);
        for number in 1..4000 {
            let now = Time::ZERO + Span::from_millis(number);
            if interrupted && number == 2000 {
                lose(&mut control, FIRST_EXPIRY);
                control.on_undo(now);
            }
            let smoothed_rtt = Some(Span::from_millis(100));
            control.on_ack(&AckSample { newly_acked: Bytes::new(MSS), smoothed_rtt, ..AckSample::at(now) });
        }
        control.cwnd()
    };
    let window = run(true);
    assert!(window > Bytes::new(80 * MSS), "{window}");
    assert_eq!(window, run(false));
}
