//! Rules of the drafts, one by one, by acknowledgements that say which data was marked.

use super::*;
use crate::congestion::{Counting, Rounding};

const MSS: u64 = 1000;

fn control(segments: u64, ssthresh: u64) -> Prague {
    let bytes = |segments: u64| Bytes::new(segments * MSS);
    let start = Start {
        mss: Bytes::new(MSS),
        packet: Bytes::new(MSS + 40),
        initial_window: bytes(segments),
        initial_ssthresh: bytes(ssthresh),
        counting: Counting::Acks,
        rounding: Rounding::None,
    };
    Prague::new(&PragueConfig::default(), &start)
}

/// A round trip of ten segments at `at` ms, the first `marked` of them marked, for a flow with an RTT of `rtt` ms.
fn round(control: &mut Prague, number: u64, at: u64, marked: u64, rtt: u64) {
    for acknowledged in 0..10 {
        let is_marked = acknowledged < marked;
        control.on_ack(&AckSample {
            newly_acked: Bytes::new(MSS),
            marked: is_marked,
            marked_packets: u32::from(is_marked),
            marked_bytes: Bytes::new(if is_marked { MSS } else { 0 }),
            smoothed_rtt: Some(Span::from_millis(rtt)),
            // A segment each ms.
            delivered: Bytes::new(at * MSS),
            in_flight: Bytes::new(rtt * MSS),
            round: number,
            ..AckSample::at(Time::ZERO + Span::from_millis(at))
        });
    }
}

#[test]
fn unmarked_data_opens_the_window_by_a_segment_whatever_else_is_marked() {
    let mut control = control(10, 10);
    round(&mut control, 1, 50, 0, 50);
    assert!((10_900..11_000).contains(&control.bytes()), "{}", control.bytes());
    // The first mark halves, and the other nine open the window of five all the same.
    let mut control = self::control(10, 10);
    round(&mut control, 1, 50, 1, 50);
    assert!((6_400..6_800).contains(&control.bytes()), "{}", control.bytes());
}

#[test]
fn marks_take_half_of_alpha_once_in_a_round_trip() {
    let mut control = control(100, 100);
    (control.is_marked, control.share.alpha) = (true, 0.2);
    round(&mut control, 5, 50, 1, 50);
    let once = control.bytes();
    assert!((90_000..90_200).contains(&once), "{once}");
    round(&mut control, 5, 60, 1, 50);
    assert!(control.bytes() > once, "twice in a round trip");
    round(&mut control, 7, 150, 1, 50);
    assert!(control.bytes() < once, "again in another");
}

#[test]
fn alpha_is_one_until_the_first_mark() {
    let mut control = control(10, 10);
    (1..50).for_each(|number| round(&mut control, number, 50 * number, 0, 50));
    assert_eq!(control.alpha(), 1.0);
    (50..250).for_each(|number| round(&mut control, number, 50 * number, 1, 50));
    assert!((control.alpha() - 0.1).abs() < 0.01, "{}", control.alpha());
}

#[test]
fn a_short_round_trip_counts_as_a_long_one_after_a_while() {
    let mut control = control(100, 100);
    (1..=500).for_each(|number| round(&mut control, number, 5 * number, 0, 5));
    let before = control.bytes();
    round(&mut control, 501, 2505, 0, 5);
    // Ten segments of a window of `before`, times (5 / 25)^2.
    let opened = control.bytes() - before;
    let usual = 10 * MSS * MSS / before;
    assert!((usual / 25).abs_diff(opened) <= 1, "{opened} of {usual}");
    // Marks count once in 25 ms.
    round(&mut control, 502, 2510, 1, 5);
    let once = control.bytes();
    round(&mut control, 504, 2520, 1, 5);
    assert!(control.bytes() >= once);
    round(&mut control, 510, 2536, 1, 5);
    assert!(control.bytes() < once);
}

#[test]
fn slow_start_doubles_until_the_first_mark() {
    let mut control = control(10, 1000);
    round(&mut control, 1, 50, 0, 50);
    assert_eq!(control.cwnd(), Bytes::new(20 * MSS));
    round(&mut control, 2, 100, 1, 50);
    assert_eq!(control.ssthresh(), Some(Bytes::new(10 * MSS)));
}

#[test]
fn a_loss_halves_and_does_not_add_to_marks_of_the_same_round_trip() {
    let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(20 * MSS) };
    let mut control = control(20, 20);
    control.on_congestion(&lost(CongestionKind::FastRetransmit));
    assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
    let mut control = self::control(20, 20);
    round(&mut control, 1, 50, 1, 50);
    control.on_congestion(&lost(CongestionKind::FastRetransmit));
    assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
    control.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
    assert_eq!(control.cwnd(), Bytes::new(MSS));
}

#[test]
fn segments_are_paced_at_a_window_per_round_trip() {
    let mut control = control(10, 10);
    assert_eq!(control.pacing_rate(), None);
    control.on_ack(&AckSample { smoothed_rtt: Some(Span::from_millis(50)), ..AckSample::at(Time::ZERO) });
    // 10 segments of 1040 bytes in 50 ms.
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(1_664_000)));
    control.ssthresh = 100 * MSS;
    control.set_pace();
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(3_328_000)));
}

/// An acknowledgement of one segment `at` ms, marked or not, of a flow with an RTT of 50 ms and one segment in flight.
fn one(control: &mut Prague, number: u64, at: u64, marked: bool) {
    control.on_ack(&AckSample {
        newly_acked: Bytes::new(MSS),
        marked,
        marked_packets: u32::from(marked),
        marked_bytes: Bytes::new(if marked { MSS } else { 0 }),
        app_limited: true,
        smoothed_rtt: Some(Span::from_millis(50)),
        delivered: Bytes::new(number * 10 * MSS),
        in_flight: Bytes::new(MSS),
        round: number,
        ..AckSample::at(Time::ZERO + Span::from_millis(at))
    });
}

#[test]
fn marks_bring_the_pace_below_a_segment_per_round_trip_and_never_below_two_in_flight() {
    let mut control = control(2, 2);
    (1..=3).for_each(|number| one(&mut control, number, 50 * number, true));
    // 2, 1, 1/2 and 1/4 segments: alpha is 1.
    assert_eq!((control.bytes(), control.cwnd()), (MSS / 4, Bytes::new(2 * MSS)));
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(1040 / 4 * 8 * 20)));
    assert_eq!(control.ssthresh(), Some(Bytes::new(2 * MSS)), "no slow start");
    // An unmarked segment opens it by as much as it acknowledges, although two are never in flight.
    one(&mut control, 4, 250, false);
    assert_eq!((control.bytes(), control.cwnd()), (MSS + MSS / 4, Bytes::new(2 * MSS)));
}

#[test]
fn a_loss_halves_a_fraction_and_a_timeout_leaves_a_segment() {
    let mut control = control(2, 2);
    one(&mut control, 1, 50, true);
    control.reduced_until = None;
    let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(MSS) };
    control.on_congestion(&lost(CongestionKind::FastRetransmit));
    assert_eq!((control.bytes(), control.cwnd()), (MSS / 2, Bytes::new(2 * MSS)));
    control.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
    assert_eq!((control.bytes(), control.cwnd()), (MSS, Bytes::new(MSS)));
}

#[test]
fn marks_of_a_classic_queue_take_a_third_where_the_scenario_says_so() {
    let reduced = |classic_fallback: bool| {
        let mut control = control(100, 100);
        control.config.classic_fallback = classic_fallback;
        (control.is_marked, control.share.alpha) = (true, 0.1);
        for rtt in [30, 50].repeat(20) {
            control.classic.on_fall(2);
            control.classic.on_rtt(Span::from_millis(rtt), Span::from_millis(10));
            control.classic.close();
        }
        round(&mut control, 5, 50, 1, 50);
        control.bytes()
    };
    assert!((95_000..95_200).contains(&reduced(false)), "{}", reduced(false));
    assert!((68_700..69_000).contains(&reduced(true)), "{}", reduced(true));
}
