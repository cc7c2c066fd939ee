//! Rules of the draft, one by one, on a path of 100 ms that acknowledges once per round trip.

use super::*;
use crate::congestion::{Congestion, Controller, Counting, Delivered, Progress, RateSample, Rounding};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

/// A control, and the path on which it is tried.
struct Path {
    bbr: Bbr3,
    now: Time,
    delivered: u64,
    lost: u64,
    /// Whether acknowledgements say which packets came (SACK).
    is_selective: bool,
    /// The least round trip that the connection has seen.
    least: Option<Span>,
}

/// One acknowledgement, apart from how much it delivers.
#[derive(Clone, Copy)]
struct Round {
    /// Packets delivered, which is also the rate sample.
    packets: u64,
    /// Packets in flight after it, and when what it acknowledges left.
    in_flight: u64,
    lost: u64,
    app_limited: bool,
    cwnd_limited: bool,
    rtt: Span,
}

impl Round {
    fn of(packets: u64) -> Round {
        Round { packets, in_flight: packets, lost: 0, app_limited: false, cwnd_limited: false, rtt: RTT }
    }
}

impl Path {
    fn new() -> Path {
        Path::with(&Bbr3Config::default())
    }

    fn with(config: &Bbr3Config) -> Path {
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 50),
            initial_window: Bytes::new(10 * MSS),
            initial_ssthresh: Bytes::MAX,
            counting: Counting::Acks,
            rounding: Rounding::None,
        };
        let bbr = Bbr3::new(config, &start);
        Path { bbr, now: Time::ZERO, delivered: 0, lost: 0, is_selective: true, least: None }
    }

    /// A round trip passes, and one acknowledgement answers all that was sent in it.
    fn round(&mut self, round: Round) {
        self.now += round.rtt;
        let prior_delivered = Bytes::new(self.delivered);
        self.delivered += round.packets * MSS;
        let volume = |packets: u64| Bytes::new(packets * MSS);
        let newest = Delivered {
            prior_delivered,
            in_flight: volume(round.in_flight),
            lost: volume(round.lost),
            app_limited: round.app_limited,
            rtt: Some(round.rtt),
        };
        let rate = RateSample {
            delivered: volume(round.packets),
            prior_delivered,
            interval: round.rtt,
            app_limited: round.app_limited,
        };
        self.bbr.on_ack(&AckSample {
            delivered: Bytes::new(self.delivered),
            smoothed_rtt: Some(RTT),
            min_rtt: self.least,
            in_recovery: self.bbr.episode != Episode::None,
            rate: Some(rate),
            progress: Some(Progress {
                in_flight: volume(round.in_flight),
                lost: Bytes::new(self.lost),
                cwnd_limited: round.cwnd_limited,
                held: Span::ZERO,
                is_selective: self.is_selective,
                newest: Some(newest),
            }),
            ..AckSample::at(self.now)
        });
    }

    /// The packet at `place` is lost, of a flight of `in_flight` of which `lost` packets are lost with it.
    fn lose(&mut self, place: u64, in_flight: u64, lost: u64, app_limited: bool) {
        self.lost += MSS;
        let loss = Loss {
            seq: place * MSS,
            size: Bytes::new(MSS),
            in_flight: Bytes::new(in_flight * MSS),
            lost: Bytes::new(lost * MSS),
            delivered: Bytes::new(self.delivered),
            app_limited,
        };
        self.bbr.on_lost(self.now, &loss);
    }

    fn signal(&mut self, kind: CongestionKind) {
        self.bbr.on_congestion(&CongestionEvent { now: self.now, kind, in_flight: self.bbr.cwnd() });
    }

    /// A path in ProbeBW_CRUISE that carries 100 packets per round trip.
    fn cruising() -> Path {
        let mut path = Path::new();
        for packets in [10, 20, 40, 80, 100, 100, 100, 100] {
            path.round(Round { in_flight: packets + 100, ..Round::of(packets) });
        }
        assert_eq!(path.bbr.state, State::Drain);
        path.round(Round { in_flight: 90, ..Round::of(100) });
        path.round(Round { in_flight: 90, ..Round::of(100) });
        assert_eq!(path.bbr.state, State::ProbeBwCruise);
        path
    }

    /// A path in ProbeBW_UP.
    fn probing() -> Path {
        let mut path = Path::cruising();
        let mut rounds = 0;
        while path.bbr.state != State::ProbeBwUp {
            path.round(Round { in_flight: 90, ..Round::of(100) });
            rounds += 1;
            assert!(rounds < 40, "no probe");
        }
        path
    }
}

/// A SYN takes no time to be served.
#[test]
fn the_first_least_round_trip_is_that_of_the_handshake() {
    let mut path = Path::new();
    path.least = Some(RTT / 2);
    path.round(Round::of(10));
    assert_eq!((path.bbr.min_rtt, path.bbr.min_rtt_stamp < path.now), (RTT / 2, true));
    // Later ones are its own, over its own window.
    path.least = Some(RTT / 4);
    path.round(Round::of(20));
    assert_eq!(path.bbr.min_rtt, RTT / 2);
}

#[test]
fn startup_doubles_at_a_gain_of_2_77_and_paces_at_the_first_round_trip() {
    let mut path = Path::new();
    assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (277, 200));
    let before = path.bbr.pacing_rate;
    path.round(Round::of(10));
    // 10 packets per 100 ms, with the margin of a hundredth or without: the initial rate has none.
    assert!(before > path.bbr.pacing_rate, "a millisecond before there is a round trip");
    assert_eq!(path.bbr.pacing_rate.carries(RTT), 27_700 - 1);
    assert_eq!(path.bbr.cwnd, 20 * MSS);
}

#[test]
fn three_rounds_without_a_quarter_more_fill_the_pipe_and_app_limited_ones_do_not() {
    let mut path = Path::new();
    for packets in [10, 20, 40] {
        path.round(Round::of(packets));
    }
    for _ in 0..5 {
        path.round(Round { app_limited: true, ..Round::of(20) });
    }
    assert_eq!((path.bbr.state, path.bbr.full_bw_count), (State::Startup, 0));
    assert_eq!(path.bbr.max_bw.carries(RTT), 40 * MSS - 1, "lower samples that the application limited");
    for count in 1..=2 {
        path.round(Round { in_flight: 90, ..Round::of(49) });
        assert_eq!((path.bbr.state, path.bbr.full_bw_count), (State::Startup, count));
    }
    path.round(Round { in_flight: 99, ..Round::of(49) });
    assert_eq!((path.bbr.state, path.bbr.pacing_gain), (State::Drain, 50));
    assert!(path.bbr.full_bw_now && path.bbr.full_bw_reached);
}

#[test]
fn drain_ends_when_the_bdp_is_in_flight_or_after_three_rounds() {
    let mut path = Path::new();
    for packets in [10, 20, 40, 40, 40, 40] {
        path.round(Round { in_flight: 80, ..Round::of(packets) });
    }
    for _ in 0..3 {
        path.round(Round { in_flight: 80, ..Round::of(40) });
        assert_eq!(path.bbr.state, State::Drain);
    }
    path.round(Round { in_flight: 80, ..Round::of(40) });
    assert_eq!((path.bbr.state, path.bbr.pacing_gain), (State::ProbeBwDown, 90));
}

#[test]
fn startup_ends_by_six_ranges_lost_in_a_round_of_fast_recovery_and_not_by_five() {
    for (ranges, expected) in [(5, State::Startup), (6, State::Drain)] {
        let mut path = Path::new();
        for packets in [10, 20, 40, 80] {
            path.round(Round { in_flight: 160, ..Round::of(packets) });
        }
        (0..ranges).for_each(|place| path.lose(200 + 2 * place, 160, place + 1, true));
        path.signal(CongestionKind::FastRetransmit);
        path.round(Round { in_flight: 160, lost: ranges, app_limited: true, ..Round::of(80) });
        assert_eq!(path.bbr.state, expected, "{ranges} ranges");
    }
}

#[test]
fn without_selective_acknowledgements_one_loss_in_fast_recovery_ends_startup() {
    for (kind, expected) in [(None, State::Startup), (Some(CongestionKind::FastRetransmit), State::Drain)] {
        let mut path = Path { is_selective: false, ..Path::new() };
        for packets in [10, 20, 40, 80] {
            path.round(Round { in_flight: 160, ..Round::of(packets) });
        }
        path.lose(200, 160, 1, false);
        if let Some(kind) = kind {
            path.signal(kind);
        }
        // The acknowledgement is of the retransmission, which left after the loss.
        path.round(Round { in_flight: 160, lost: 0, ..Round::of(80) });
        assert_eq!(path.bbr.state, expected, "{kind:?}");
    }
}

#[test]
fn a_cycle_cruises_refills_for_a_round_probes_until_a_plateau_and_goes_down() {
    let mut path = Path::cruising();
    assert_eq!(path.bbr.pacing_gain, 100);
    let began = path.bbr.cycle_stamp;
    while path.bbr.state == State::ProbeBwCruise {
        path.round(Round { in_flight: 90, ..Round::of(100) });
    }
    // Without random numbers 2.5 s; 63 rounds would be 6.3 s.
    assert_eq!((path.bbr.state, path.now.since(began)), (State::ProbeBwRefill, Span::from_millis(2600)));
    path.round(Round { in_flight: 100, ..Round::of(100) });
    assert_eq!((path.bbr.state, path.bbr.pacing_gain, path.bbr.cwnd_gain), (State::ProbeBwUp, 125, 225));
    for _ in 0..2 {
        path.round(Round { in_flight: 120, ..Round::of(100) });
        assert_eq!(path.bbr.state, State::ProbeBwUp);
    }
    path.round(Round { in_flight: 120, ..Round::of(100) });
    assert_eq!((path.bbr.state, path.bbr.cwnd_gain), (State::ProbeBwDown, 200));
    assert!(!path.bbr.prev_probe_too_high);
}

#[test]
fn small_bdps_are_probed_after_as_many_rounds_as_reno_would_take() {
    let mut path = Path::cruising();
    path.bbr.rounds_since_probe_up = 62;
    path.round(Round { in_flight: 90, ..Round::of(100) });
    assert_eq!(path.bbr.state, State::ProbeBwRefill, "63 of 100 packets");
}

#[test]
fn a_probe_that_loses_more_than_a_fiftieth_sets_the_long_term_bound_where_losses_crossed_it() {
    let mut path = Path::probing();
    path.lose(5000, 120, 1, false);
    path.lose(5001, 120, 2, false);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::ProbeBwUp, INFINITE));
    path.lose(5002, 120, 3, false);
    assert_eq!((path.bbr.state, path.bbr.undo_state), (State::ProbeBwDown, Some(State::ProbeBwUp)));
    // 119 packets before it, of which 2 were lost: 2 % of that is 2.38, and (2.38 - 2) / 0.98 more do it.
    assert_eq!(path.bbr.inflight_longterm, 119 * MSS + (119 * MSS - 100 * MSS) / 49);
    assert!(path.bbr.prev_probe_too_high && !path.bbr.is_bw_probe_sample);
}

#[test]
fn the_long_term_bound_falls_no_further_than_cubics_window_and_not_at_all_if_the_application_limits() {
    let mut path = Path::probing();
    path.lose(5000, 30, 1, false);
    assert_eq!(path.bbr.inflight_longterm, path.bbr.target_inflight() * 70 / 100);
    let mut limited = Path::probing();
    limited.lose(5000, 30, 1, true);
    assert_eq!((limited.bbr.state, limited.bbr.inflight_longterm), (State::ProbeBwDown, INFINITE));
}

#[test]
fn after_a_probe_that_went_too_high_the_next_one_stops_at_the_bound_and_then_begins_again() {
    let mut path = Path::probing();
    path.lose(5000, 60, 2, false);
    let bound = path.bbr.inflight_longterm;
    path.bbr.end_episode();
    let mut rounds = 0;
    while path.bbr.state != State::ProbeBwUp {
        path.round(Round { in_flight: 40, ..Round::of(100) });
        rounds += 1;
        assert!(rounds < 80, "no probe");
    }
    path.round(Round { in_flight: bound / MSS + 1, ..Round::of(100) });
    assert_eq!((path.bbr.state, path.bbr.prev_probe_precautionary), (State::ProbeBwDown, true));
    path.round(Round { in_flight: 60, ..Round::of(100) });
    assert_eq!(path.bbr.state, State::ProbeBwRefill, "without cruising");
}

#[test]
fn the_long_term_bound_grows_by_one_two_four_packets_per_round_while_the_window_is_used_up() {
    let mut path = Path::probing();
    path.bbr.inflight_longterm = path.bbr.cwnd;
    let mut grown = Vec::new();
    for _ in 0..3 {
        let before = path.bbr.inflight_longterm;
        path.bbr.cwnd = before;
        path.round(Round { in_flight: 100, cwnd_limited: true, ..Round::of(before / MSS) });
        grown.push((path.bbr.inflight_longterm - before) / MSS);
    }
    assert_eq!(grown, [1, 2, 4]);
}

#[test]
fn losses_while_cruising_reduce_the_short_term_model_to_what_is_delivered_or_by_three_tenths() {
    for (delivered, kept) in [(80, 80), (50, 70)] {
        let mut path = Path::cruising();
        let window = path.bbr.cwnd;
        path.lose(5000, 90, 1, false);
        path.signal(CongestionKind::FastRetransmit);
        // The round of the loss ends with what was sent before it; what is latest is that of the round.
        path.bbr.bw_latest = Bandwidth::ZERO;
        path.bbr.inflight_latest = 0;
        path.round(Round { in_flight: 60, ..Round::of(delivered) });
        let rate = path.bbr.bw_shortterm.carries(RTT);
        assert!(rate.abs_diff(kept * MSS) <= 2, "{rate}");
        assert_eq!(path.bbr.inflight_shortterm, (delivered * MSS).max(window * 70 / 100));
        assert_eq!(path.bbr.bw, path.bbr.bw_shortterm);
        assert!(path.bbr.cwnd <= path.bbr.inflight_shortterm);
    }
}

#[test]
fn probe_rtt_halves_the_bdp_for_200_ms_and_a_round_once_in_five_seconds() {
    let mut path = Path::cruising();
    let rtt = Span::from_millis(110);
    while path.bbr.state != State::ProbeRtt {
        path.round(Round { in_flight: 90, rtt, ..Round::of(100) });
        assert!(path.now < Time::ZERO + Span::from_secs(7), "no ProbeRTT");
    }
    assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (100, 50));
    assert_eq!(path.bbr.cwnd / MSS, 49, "half of 100 packets, rounded down");
    assert!(path.bbr.is_holding_back());
    path.round(Round { in_flight: 49, ..Round::of(50) });
    let began = path.now;
    while path.bbr.state == State::ProbeRtt {
        path.round(Round { in_flight: 49, app_limited: true, ..Round::of(49) });
    }
    assert_eq!(path.now.since(began), Span::from_millis(300), "more than 200 ms");
    assert_eq!(path.bbr.state, State::ProbeBwCruise);
    assert!(path.bbr.cwnd > 49 * MSS, "the window is what it was before");
}

#[test]
fn probe_rtt_before_the_pipe_is_full_leads_back_to_startup() {
    let mut path = Path::new();
    while path.bbr.state != State::ProbeRtt {
        path.round(Round { app_limited: true, rtt: RTT + Span::from_nanos(path.delivered), ..Round::of(4) });
    }
    for _ in 0..5 {
        path.round(Round { in_flight: 2, app_limited: true, ..Round::of(4) });
    }
    assert_eq!((path.bbr.state, path.bbr.pacing_gain), (State::Startup, 277));
}

#[test]
fn after_idleness_probe_rtt_is_skipped_and_the_pace_is_that_of_the_path() {
    let mut path = Path::cruising();
    path.now += Span::from_secs(6);
    path.bbr.on_restart(path.now);
    assert!(path.bbr.idle_restart);
    assert_eq!(path.bbr.pacing_rate, path.bbr.bw.times(100).times(99));
    path.round(Round { in_flight: 10, app_limited: true, ..Round::of(10) });
    assert!(path.bbr.state != State::ProbeRtt && !path.bbr.idle_restart);
}

#[test]
fn the_window_is_never_below_four_packets_nor_below_the_budget_for_offload() {
    for (offload_quanta, least) in [(0, 4), (3, 6)] {
        let mut path = Path::with(&Bbr3Config { offload_quanta });
        for _ in 0..12 {
            path.round(Round::of(1));
        }
        while path.bbr.state == State::ProbeBwUp {
            path.round(Round::of(1));
        }
        assert_eq!(path.bbr.cwnd / MSS, least, "{offload_quanta} quanta");
    }
}

#[test]
fn a_timeout_leaves_room_for_a_packet_and_the_next_acknowledgement_for_four() {
    let mut path = Path::cruising();
    path.signal(CongestionKind::Timeout { backoff: 0 });
    assert_eq!(path.bbr.cwnd, MSS);
    path.bbr.on_kept(Bytes::new(2 * MSS));
    assert_eq!(path.bbr.cwnd, 3 * MSS);
    let before = path.bbr.prior_cwnd;
    path.round(Round { in_flight: 0, ..Round::of(1) });
    assert_eq!(path.bbr.cwnd, 4 * MSS);
    path.bbr.on_recovered(path.now, Bytes::MAX);
    assert_eq!(path.bbr.cwnd, before);
}

#[test]
fn a_spurious_loss_leads_back_to_the_state_and_the_bounds_of_before() {
    let mut path = Path::probing();
    path.lose(5000, 60, 2, false);
    path.signal(CongestionKind::FastRetransmit);
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    path.bbr.on_undo(path.now);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::ProbeBwRefill, INFINITE));

    let mut path = Path::new();
    for packets in [10, 20, 40, 80] {
        path.round(Round { in_flight: 160, ..Round::of(packets) });
    }
    (0..6).for_each(|place| path.lose(200 + 2 * place, 160, place + 1, false));
    path.signal(CongestionKind::FastRetransmit);
    path.round(Round { in_flight: 160, lost: 6, ..Round::of(80) });
    assert_eq!(path.bbr.state, State::Drain);
    path.bbr.on_undo(path.now);
    assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (State::Startup, false));
    assert_eq!(path.bbr.inflight_longterm, INFINITE);
}

#[test]
fn what_is_acknowledged_in_bursts_widens_the_window_by_as_much() {
    let mut path = Path::cruising();
    let window = path.bbr.cwnd;
    // Two round trips of silence, then everything at once, twice.
    for _ in 0..2 {
        let rtt = Span::from_millis(200);
        path.round(Round { in_flight: 90, rtt, ..Round::of(200) });
    }
    assert!(path.bbr.extra_acked >= 100 * MSS, "{}", path.bbr.extra_acked);
    assert!(path.bbr.cwnd > window);
}

#[test]
fn a_mark_is_congestion() {
    let mut path = Path::probing();
    path.signal(CongestionKind::EcnEcho);
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(path.bbr.inflight_longterm != INFINITE);
    let mut path = Path::new();
    path.round(Round::of(10));
    path.signal(CongestionKind::EcnEcho);
    path.round(Round { in_flight: 30, ..Round::of(20) });
    assert_eq!(path.bbr.state, State::Drain);
}

#[test]
fn any_first_window_is_one_that_it_can_compute_with() {
    for initial_window in [Bytes::new(1), Bytes::MAX] {
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 52),
            initial_window,
            initial_ssthresh: Bytes::MAX,
            counting: Counting::Acks,
            rounding: Rounding::None,
        };
        for config in
            [Congestion::Bbr3(Bbr3Config::default()), Congestion::Bbr, Congestion::Prague(Default::default())]
        {
            let mut control = Controller::new(&config, &start);
            for round in 1..20_u64 {
                control.on_ack(&AckSample {
                    newly_acked: Bytes::new(MSS),
                    delivered: Bytes::new(round * MSS),
                    round,
                    rtt: Some(Span::from_millis(20)),
                    smoothed_rtt: Some(Span::from_millis(20)),
                    ..AckSample::at(Time::ZERO + Span::from_millis(20 * round))
                });
                assert!(control.cwnd() >= Bytes::new(MSS), "{config:?} has {:?}", control.cwnd());
            }
        }
    }
}

#[test]
fn a_connection_that_opens_late_does_not_probe_for_an_rtt_that_it_has_not_measured() {
    let mut path = Path::new();
    path.now += Span::from_secs(20);
    // The first acknowledgement is of a segment that was sent twice, and has no RTT.
    path.bbr.on_ack(&AckSample { newly_acked: Bytes::new(MSS), ..AckSample::at(path.now) });
    path.round(Round::of(10));
    assert_eq!(path.bbr.state, State::Startup);
}
