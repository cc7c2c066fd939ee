//! Rules of the draft and of Linux, one by one, on a path of 100 ms that acknowledges once per round trip.

use super::*;
use crate::congestion::{Counting, Delivered, Progress, RateSample, Rounding};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

struct Path {
    bbr: Bbr,
    now: Time,
    delivered: u64,
    /// How long pacing holds the next segment back.
    held: Span,
    /// The least round trip that the connection has seen.
    least: Option<Span>,
}

impl Path {
    fn new() -> Path {
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 50),
            initial_window: Bytes::new(10 * MSS),
            initial_ssthresh: Bytes::MAX,
            counting: Counting::Acks,
            rounding: Rounding::None,
        };
        Path { bbr: Bbr::new(&start), now: Time::ZERO, delivered: 0, held: Span::ZERO, least: None }
    }

    /// A round trip passes in which `packets` are delivered and `lost` are lost, after which `in_flight` are in flight.
    fn round(&mut self, packets: u64, in_flight: u64, lost: u64) {
        self.now += RTT;
        let volume = |packets: u64| Bytes::new(packets * MSS);
        let prior_delivered = Bytes::new(self.delivered);
        self.delivered += packets * MSS;
        self.lose(lost);
        let newest = Delivered {
            prior_delivered,
            in_flight: volume(in_flight),
            lost: volume(lost),
            app_limited: false,
            rtt: Some(RTT + Span::from_nanos(self.delivered)),
        };
        let rate =
            RateSample { delivered: volume(packets), prior_delivered, interval: RTT, app_limited: false };
        self.bbr.on_ack(&AckSample {
            delivered: Bytes::new(self.delivered),
            newly_lost: volume(lost),
            in_flight: volume(in_flight + packets),
            in_recovery: self.bbr.is_recovering,
            smoothed_rtt: Some(RTT),
            min_rtt: self.least,
            rate: Some(rate),
            progress: Some(Progress {
                in_flight: volume(in_flight),
                lost: Bytes::new(self.bbr.lost),
                cwnd_limited: true,
                held: self.held,
                is_selective: true,
                newest: Some(newest),
            }),
            ..AckSample::at(self.now)
        });
    }

    /// `packets` are found to be lost.
    fn lose(&mut self, packets: u64) {
        let loss = Loss {
            seq: 0,
            size: Bytes::new(packets * MSS),
            in_flight: Bytes::ZERO,
            lost: Bytes::ZERO,
            delivered: Bytes::new(self.delivered),
            app_limited: false,
        };
        self.bbr.on_lost(self.now, &loss);
    }

    /// A path in ProbeBW that carries 100 packets per round trip.
    fn cycling() -> Path {
        let mut path = Path::new();
        for packets in [10, 20, 40, 80, 100, 100, 100, 100] {
            path.round(packets, 150, 0);
        }
        assert_eq!((path.bbr.state, path.bbr.pacing_gain), (State::Drain, DRAIN_GAIN));
        path.round(100, 90, 0);
        assert_eq!(path.bbr.state, State::ProbeBw);
        path
    }

    fn signal(&mut self, kind: CongestionKind) {
        self.bbr.on_congestion(&CongestionEvent { now: self.now, kind, in_flight: self.bbr.cwnd() });
    }
}

#[test]
fn a_cycle_has_eight_phases_of_a_round_trip_of_which_one_probes_and_one_drains() {
    let mut path = Path::cycling();
    let mut gains = Vec::new();
    for _ in 0..16 {
        gains.push(path.bbr.pacing_gain);
        path.round(100, 130, 0);
        path.round(100, 130, 0);
    }
    assert_eq!(&gains[..8], CYCLE, "without random numbers the one that probes comes first");
    assert_eq!(gains[..8], gains[8..]);
}

#[test]
fn packets_are_conserved_for_a_round_of_recovery_and_then_the_window_is_what_it_was() {
    let mut path = Path::cycling();
    path.round(100, 90, 0);
    let before = path.bbr.cwnd;
    path.signal(CongestionKind::FastRetransmit);
    path.round(1, 80, 5);
    assert_eq!(path.bbr.cwnd, 81 * MSS);
    path.bbr.on_recovered(path.now, Bytes::MAX);
    path.round(1, 80, 0);
    assert!(path.bbr.cwnd.abs_diff(before) <= 2 * MSS, "{} after {before}", path.bbr.cwnd);
}

#[test]
fn probe_rtt_leaves_four_packets_for_200_ms_once_in_ten_seconds() {
    let mut path = Path::cycling();
    let start = path.bbr.min_rtt_stamp;
    while path.bbr.state != State::ProbeRtt {
        path.round(100, 90, 0);
    }
    assert_eq!(path.now.since(start), Span::from_millis(10_100));
    assert_eq!(path.bbr.cwnd, 4 * MSS);
    let mut rounds = 0;
    while path.bbr.state == State::ProbeRtt {
        path.round(4, 4, 0);
        rounds += 1;
    }
    assert_eq!(rounds, 4, "one to see four packets in flight, and more than 200 ms");
    assert!(path.bbr.cwnd > 100 * MSS);
}

#[test]
fn many_losses_at_the_same_rate_are_a_policer_for_48_rounds() {
    let mut path = Path::cycling();
    for _ in 0..12 {
        path.round(60, 60, 20);
    }
    assert_eq!(path.bbr.long_term.in_use().map(|rate| (rate.carries(RTT) + MSS / 2) / MSS), Some(60));
    assert_eq!(path.bbr.pacing_gain, UNIT);
    for _ in 0..60 {
        path.round(60, 60, 0);
    }
    assert_eq!(path.bbr.long_term.in_use(), None);
}

#[test]
fn windows_are_even_and_have_room_for_three_quanta() {
    let mut path = Path::cycling();
    path.round(100, 90, 0);
    // 100 packets per 100 ms are 8.4 Mb/s on the wire, where a quantum is two packets.
    assert_eq!(path.bbr.quantum, 2 * MSS);
    assert_eq!(path.bbr.with_budget(99 * MSS), if path.bbr.cycle_index == 0 { 108 } else { 106 } * MSS);
}

#[test]
fn a_phase_ends_by_what_will_be_in_flight_when_pacing_lets_more_leave() {
    let ends = |held: Span| {
        let mut path = Path::cycling();
        path.held = held;
        path.round(100, 32, 0);
        path.round(100, 32, 0);
        path.bbr.pacing_gain < UNIT
    };
    // A gain of 1.25 is to reach 126 packets, with room 134: 132, and a quantum of two. A packet takes 1 ms.
    assert!(!ends(Span::from_millis(5)));
    assert!(ends(Span::ZERO));
}

/// A SYN takes no time to be served.
#[test]
fn the_first_least_round_trip_is_that_of_the_handshake() {
    let mut path = Path::new();
    path.least = Some(RTT / 2);
    path.round(10, 10, 0);
    assert_eq!((path.bbr.min_rtt, path.bbr.min_rtt_stamp < path.now), (RTT / 2, true));
    // Later ones are its own, over its own window.
    path.least = Some(RTT / 4);
    path.round(20, 20, 0);
    assert_eq!(path.bbr.min_rtt, RTT / 2);
}

#[test]
fn the_answer_to_a_lone_short_segment_is_no_least_round_trip() {
    let least = |volume: u64| {
        let mut path = Path::cycling();
        path.now += MIN_RTT_WINDOW;
        let at = path.bbr.min_rtt_stamp;
        let prior_delivered = path.delivered;
        path.delivered += volume;
        let rs = Sample {
            now: path.now,
            bw: Bandwidth::ZERO,
            is_sound: true,
            prior_delivered,
            newly_acked: volume,
            newly_lost: 0,
            rtt: Some(RTT * 2),
            is_app_limited: true,
            prior_in_flight: volume,
            in_flight: 0,
            held: Span::ZERO,
        };
        path.bbr.delivered = path.delivered;
        path.bbr.update_min_rtt(&rs);
        path.bbr.min_rtt_stamp > at
    };
    assert!(least(MSS));
    assert!(!least(MSS - 1));
}

/// Of two intervals that agree, the second ends with a timeout, which is a loss and ends a round.
#[test]
fn a_timeout_ends_an_interval_of_a_policer() {
    let mut path = Path::cycling();
    path.round(60, 60, 20);
    (0..4).for_each(|_| path.round(60, 60, 20));
    (0..3).for_each(|_| path.round(60, 60, 0));
    path.lose(60);
    assert_eq!(path.bbr.long_term.in_use(), None);
    path.signal(CongestionKind::Timeout { backoff: 0 });
    assert!(path.bbr.long_term.in_use().is_some());
}
