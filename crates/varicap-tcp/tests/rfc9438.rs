//! RFC 9438: CUBIC's window as a function of time.

use varicap_tcp::congestion::{
    AckSample, Arithmetic, CongestionControl, CongestionEvent, CongestionKind, Counting, Cubic, CubicConfig,
    Start,
};
use varicap_units::{Bytes, Span, Time};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

/// A control that is fed with windows of acknowledgements, one window per RTT.
struct Flow {
    cubic: Cubic,
    now: Time,
    app_limited: bool,
}

impl Flow {
    fn new(config: &CubicConfig, window: u64, ssthresh: Bytes) -> Flow {
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 40),
            initial_window: Bytes::new(window * MSS),
            initial_ssthresh: ssthresh,
            counting: Counting::Acks,
            rounding: varicap_tcp::congestion::Rounding::None,
        };
        Flow { cubic: Cubic::new(config, &start), now: Time::ZERO, app_limited: false }
    }

    /// One RTT in which every segment of the window is acknowledged.
    fn round(&mut self) {
        let segments = (self.cubic.cwnd().as_u64() / MSS).max(1);
        for _ in 0..segments {
            self.now += RTT / segments;
            self.cubic.on_ack(&AckSample {
                newly_acked: Bytes::new(MSS),
                in_flight: self.cubic.cwnd(),
                app_limited: self.app_limited,
                smoothed_rtt: Some(RTT),
                min_rtt: Some(RTT),
                rtt: Some(RTT),
                ..AckSample::at(self.now)
            });
        }
    }

    fn congestion(&mut self, kind: CongestionKind) {
        let event = CongestionEvent { now: self.now, kind, in_flight: self.cubic.cwnd() };
        self.cubic.on_congestion(&event);
    }

    fn window(&self) -> f64 {
        self.cubic.cwnd().as_u64() as f64 / MSS as f64
    }

    fn ssthresh(&self) -> f64 {
        self.cubic.ssthresh().expect("CUBIC has one").as_u64() as f64 / MSS as f64
    }
}

/// A flow at `window` segments that just saw a loss there.
fn after_loss(config: &CubicConfig, window: u64) -> Flow {
    let mut flow = Flow::new(config, window, Bytes::new(window * MSS));
    flow.congestion(CongestionKind::FastRetransmit);
    flow
}

/// Without the Reno-friendly region: the cubic function alone.
fn pure() -> CubicConfig {
    CubicConfig { reno_friendly: false, ..CubicConfig::default() }
}

#[test]
fn a_loss_leaves_beta_of_the_window() {
    let flow = after_loss(&pure(), 1000);
    assert_eq!((flow.window(), flow.ssthresh()), (700.0, 700.0));
    let mut flow = Flow::new(&CubicConfig { beta: 0.5, ..pure() }, 1000, Bytes::MAX);
    flow.congestion(CongestionKind::EcnEcho);
    assert_eq!(flow.window(), 500.0);
}

#[test]
fn the_window_follows_the_cubic_function_to_its_plateau_and_beyond() {
    // K = cbrt(0.3 * 1000 / 0.4) = 9.086 s. The window at t is to be W(t) = 0.4 (t - K)^3 + 1000, where the target
    // leads by an RTT and is approached in the course of one: within a segment plus what W moves in two RTTs.
    let mut flow = after_loss(&pure(), 1000);
    let k = (300.0_f64 / 0.4).cbrt_by_newton();
    let wanted = |t: f64| 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
    while flow.now < Time::ZERO + Span::from_secs(14) {
        flow.round();
        let t = flow.now.as_secs_f64();
        let slack = 1.0 + (wanted(t + 0.1) - wanted(t - 0.1)).abs();
        assert!(
            (flow.window() - wanted(t)).abs() <= slack,
            "{t} s: {} instead of {}",
            flow.window(),
            wanted(t)
        );
    }
    assert!(flow.window() > 1040.0, "it probes beyond the plateau");
}

trait Newton {
    fn cbrt_by_newton(self) -> f64;
}

impl Newton for f64 {
    /// An independent cube root for the test.
    fn cbrt_by_newton(self) -> f64 {
        (0..200).fold(self, |x, _| x - (x * x * x - self) / (3.0 * x * x))
    }
}

#[test]
fn the_window_is_concave_before_the_plateau_and_convex_after() {
    let mut flow = after_loss(&pure(), 1000);
    let windows: Vec<f64> = (0..160)
        .map(|_| {
            flow.round();
            flow.window()
        })
        .collect();
    let growth = |from: usize| windows[from + 10] - windows[from];
    assert!(growth(5) > growth(40) && growth(40) > growth(80));
    assert!(growth(140) > growth(100));
}

#[test]
fn the_target_is_at_most_half_a_window_ahead() {
    // A huge C would jump: each RTT adds at most half of the window.
    let mut flow = Flow::new(&CubicConfig { c: 1e6, ..pure() }, 10, Bytes::new(10 * MSS));
    flow.round();
    for _ in 0..5 {
        let before = flow.window();
        flow.round();
        // Each of w acknowledgements adds 0.5: e^0.5 at most, as the window grows meanwhile.
        assert!(flow.window() <= before * 1.5 + 1.0, "{} after {before}", flow.window());
    }
}

#[test]
fn a_small_window_grows_as_renos_would() {
    // RFC 9438 §4.3: alpha = 3 * 0.3 / 1.7 segments per RTT up to the old window, then one per RTT.
    let mut flow = after_loss(&CubicConfig::default(), 10);
    assert_eq!(flow.window(), 7.0);
    for _ in 0..4 {
        flow.round();
    }
    let alpha = 3.0 * 0.3 / 1.7;
    // The window is acknowledged in whole segments: up to one of them is missing in each round.
    assert!((flow.window() - (7.0 + 4.0 * alpha)).abs() < 0.3, "{}", flow.window());
    let mut slow = after_loss(&pure(), 10);
    for _ in 0..4 {
        slow.round();
    }
    let slower = slow.window() < flow.window() || slow.window() > 8.0;
    assert!(slower, "{} and {}", slow.window(), flow.window());
}

#[test]
fn back_at_the_old_window_the_estimate_grows_by_one_segment_per_rtt() {
    let mut flow = after_loss(&CubicConfig { c: 1e-9, ..CubicConfig::default() }, 10);
    while flow.window() < 10.5 {
        flow.round();
    }
    let before = flow.window();
    for _ in 0..10 {
        flow.round();
    }
    // As above: less than a segment of each window is not acknowledged within its round.
    assert!((8.5..=10.0).contains(&(flow.window() - before)), "{}", flow.window() - before);
}

#[test]
fn fast_convergence_lowers_the_plateau_of_a_flow_that_lost_ground() {
    for (fast_convergence, plateau) in [(true, 700.0 * 1.7 / 2.0), (false, 700.0)] {
        let mut flow = after_loss(&CubicConfig { fast_convergence, ..pure() }, 1000);
        flow.congestion(CongestionKind::FastRetransmit);
        assert_eq!(flow.window(), 490.0);
        // At K the window is at the plateau, whichever it is: growth is slowest there.
        let windows: Vec<f64> = (0..120)
            .map(|_| {
                flow.round();
                flow.window()
            })
            .collect();
        let flattest = (10..119).min_by(|&a, &b| {
            let growth = |at: usize| windows[at + 1] - windows[at];
            growth(a).total_cmp(&growth(b))
        });
        let reached = windows[flattest.expect("there are some")];
        // Around K the function is flat: within 1 s of it, it moves by 0.4 segments.
        assert!((reached - plateau).abs() < 1.5, "{reached} instead of {plateau}");
    }
}

#[test]
fn after_a_timeout_the_window_starts_from_one_and_its_plateau_is_ssthresh() {
    let mut flow = after_loss(&pure(), 1000);
    flow.congestion(CongestionKind::Timeout { backoff: 0 });
    assert_eq!((flow.window(), flow.ssthresh()), (1.0, 490.0));
    while flow.window() < 490.0 {
        flow.round();
    }
    let start = flow.now;
    flow.round();
    // K = 0: convex from the beginning, 0.4 t^3 above where congestion avoidance began.
    for _ in 0..50 {
        flow.round();
    }
    let t = (flow.now - start).as_secs_f64();
    let wanted = 490.0 + 0.4 * t * t * t;
    assert!(
        (flow.window() - wanted).abs() < 0.4 * 3.0 * t * t * 0.25 + 1.0,
        "{} instead of {wanted}",
        flow.window()
    );
}

#[test]
fn timeout_while_backed_off_holds_ssthresh() {
    let mut flow = after_loss(&pure(), 1000);
    flow.congestion(CongestionKind::Timeout { backoff: 0 });
    flow.congestion(CongestionKind::Timeout { backoff: 1 });
    assert_eq!((flow.window(), flow.ssthresh()), (1.0, 490.0));
}

#[test]
fn time_in_which_the_application_limits_does_not_count() {
    let mut steady = after_loss(&pure(), 1000);
    let mut paused = after_loss(&pure(), 1000);
    for _ in 0..20 {
        steady.round();
        paused.round();
    }
    paused.app_limited = true;
    for _ in 0..50 {
        paused.round();
    }
    assert_eq!(paused.window(), steady.window());
    paused.app_limited = false;
    for _ in 0..20 {
        steady.round();
        paused.round();
    }
    // The epoch moves with the acknowledgements, whose spacing is what can be missing.
    assert!((paused.window() - steady.window()).abs() < 0.5, "{} and {}", paused.window(), steady.window());
}

#[test]
fn slow_start_is_that_of_rfc_5681() {
    let mut flow = Flow::new(&CubicConfig::default(), 10, Bytes::MAX);
    flow.round();
    assert_eq!(flow.window(), 20.0);
}

/// RFC 9438 §4.6: a loss lowers the window, however much data is SACKed and waits for a hole to be filled.
#[test]
fn a_loss_never_opens_the_window() {
    let (mss, window) = (Bytes::new(MSS), Bytes::new(100 * MSS));
    let start = Start {
        mss,
        packet: mss,
        initial_window: window,
        initial_ssthresh: window,
        counting: Counting::Acks,
        rounding: varicap_tcp::congestion::Rounding::None,
    };
    for arithmetic in [Arithmetic::Rfc9438, Arithmetic::Linux] {
        let mut cubic = Cubic::new(&CubicConfig { arithmetic, ..CubicConfig::default() }, &start);
        let kind = CongestionKind::FastRetransmit;
        cubic.on_congestion(&CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(200 * MSS) });
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (Bytes::new(70 * MSS), Some(Bytes::new(70 * MSS))));
        // Less is in flight than the window allows: RFC 5681's reason for FlightSize.
        cubic.on_congestion(&CongestionEvent {
            now: Time::ZERO + RTT,
            kind,
            in_flight: Bytes::new(10 * MSS),
        });
        assert_eq!(cubic.cwnd(), Bytes::new(7 * MSS));
    }
}
