//! CUBIC as Linux computes it, and its HyStart.

use crate::common;

use common::{MSS, Script, config, held, ms};
use varicap_tcp::congestion::{
    Alpha, Arithmetic, ByteCounting, Counting, CubicConfig, Halving, Hystart, PlusPlusConfig,
};
use varicap_tcp::{Congestion, Recovery, State, TcpConfig};
use varicap_units::{Amount, Bytes};

fn linux() -> CubicConfig {
    CubicConfig {
        alpha: Alpha::Constant,
        arithmetic: Arithmetic::Linux,
        hystart: Hystart::Linux,
        ..CubicConfig::default()
    }
}

fn greedy(cubic: CubicConfig, window: u64, initial_ssthresh: Amount) -> Script {
    let config = TcpConfig {
        congestion: Congestion::Cubic(cubic),
        counting: Counting::Segments,
        halving: Halving::Window,
        initial_ssthresh,
        ..config(Recovery::Sack, window)
    };
    Script::greedy(&config)
}

/// Ten segments, ACKs of two every 100 ms: a path of 166 kb/s. The windows are those of packetdrill's test of Linux: from
/// 48 on, where slow start ends, a window of unknown plateau opens by a segment for 20, and later by one for two at most.
#[test]
fn windows_on_a_slow_path_are_those_of_linux() {
    let mut script = greedy(CubicConfig { hystart: Hystart::None, ..linux() }, 10, Amount::Packets(48));
    let expected = [(10, 20), (20, 30), (30, 40), (38, 48), (60, 49), (80, 50), (100, 52), (120, 58)];
    let later = (122..=400).step_by(2).map(|acked| (acked, 58 + (acked - 120) / 2));
    let expected: Vec<(u64, u64)> = expected.into_iter().chain(later).collect();
    let mut found = Vec::new();
    for acked in (2..=400).step_by(2) {
        script.at(ms(50 * acked)).ack(acked * MSS);
        if expected.iter().any(|(at, _)| *at == acked) {
            found.push((acked, script.cwnd()));
        }
    }
    assert_eq!(found, expected);
}

/// Linux counts segments, whatever their size: windows of whole ones open although no acknowledgement covers one.
#[test]
fn short_segments_open_slow_start() {
    let grown = |counting, hystart, ssthresh| {
        let cubic = CubicConfig { hystart, ..linux() };
        let base = config(Recovery::Sack, 10);
        let congestion = Congestion::Cubic(cubic);
        let config = TcpConfig { congestion, counting, initial_ssthresh: ssthresh, ..base };
        let mut script = Script::greedy(&config);
        // Acknowledgements of 500 B.
        (1..=4).for_each(|half| {
            script.at(ms(100 + 10 * half)).ack(half * MSS / 2);
        });
        script.sender.cwnd().as_u64()
    };
    let bytes = Counting::Bytes(ByteCounting::default());
    for counting in [Counting::Acks, bytes, Counting::Segments] {
        for hystart in [Hystart::None, Hystart::Linux, Hystart::PlusPlus(PlusPlusConfig::default())] {
            assert_eq!(grown(counting, hystart, Amount::Unlimited), 14 * MSS, "{counting:?}, {hystart:?}");
        }
        // A threshold within a segment is reached by a whole one.
        let given = Amount::Bytes(Bytes::new(10 * MSS + 1));
        assert_eq!(grown(counting, Hystart::None, given), 11 * MSS, "{counting:?}");
    }
}

/// Linux moves the epoch by the time in which nothing was sent.
#[test]
fn time_in_which_nothing_was_sent_does_not_count() {
    let window = |pause: u64| {
        let config = TcpConfig {
            congestion: Congestion::Cubic(CubicConfig { reno_friendly: false, ..linux() }),
            counting: Counting::Segments,
            initial_ssthresh: Amount::Packets(20),
            restart_after_idle: false,
            ..config(Recovery::Sack, 20)
        };
        let mut script = Script::offering(&config, 100 * MSS);
        for acked in 1..=100 {
            script.at(ms(5 * acked)).ack(acked * MSS);
        }
        script.at(ms(500 + pause)).write(1000 * MSS);
        for acked in 101..=200 {
            script.at(ms(500 + pause + 5 * (acked - 100))).ack(acked * MSS);
        }
        script.cwnd()
    };
    assert!(window(0) > 22);
    assert_eq!(window(10_000), window(0));
}

/// Ten ACKs of two segments, a millisecond apart, 40 ms late on a path of 200 ms.
fn late_round(script: &mut Script, rtt: u64) -> Vec<u64> {
    script.at(ms(200)).ack(10 * MSS);
    (0..10)
        .map(|number| {
            script.at(ms(200 + rtt + number)).ack((12 + 2 * number) * MSS);
            script.cwnd()
        })
        .collect()
}

#[test]
fn the_ninth_late_sample_of_a_round_ends_slow_start() {
    let mut script = greedy(linux(), 10, Amount::Unlimited);
    assert_eq!(late_round(&mut script, 240), [22, 24, 26, 28, 30, 32, 34, 36, 36, 36]);
    assert_eq!(script.ssthresh(), 36);
    // 200 ms + 1/8 of it, at most 16 ms: no more than that is no increase.
    let mut script = greedy(linux(), 10, Amount::Unlimited);
    assert_eq!(late_round(&mut script, 207)[9], 40);
}

#[test]
fn an_ack_train_of_half_the_least_rtt_ends_slow_start() {
    let mut script = greedy(linux(), 100, Amount::Unlimited);
    // The first ACK begins the round; those that are 2 ms apart are of one train.
    script.at(ms(100)).ack(MSS);
    for number in 1..=25 {
        script.at(ms(100 + 2 * number)).ack((1 + number) * MSS);
    }
    assert_eq!(script.cwnd(), 126);
    // 52 ms are more than (100 ms + 1 ms) / 2.
    script.at(ms(152)).ack(27 * MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (126, 126));
    // A gap of 3 ms breaks a train.
    let mut script = greedy(linux(), 100, Amount::Unlimited);
    for number in 0..=17 {
        script.at(ms(100 + 3 * number)).ack((1 + number) * MSS);
    }
    assert_eq!(script.cwnd(), 118);
}

#[test]
fn a_loss_leaves_717_of_1024_in_whole_segments() {
    for (window, ssthresh) in [(100, 70), (10, 7), (9, 6), (3, 2)] {
        let mut script = greedy(linux(), window, Amount::Packets(window));
        script.at(ms(1000));
        assert_eq!((script.sender.state(), script.ssthresh()), (State::Loss, ssthresh));
    }
}

#[test]
fn constants_have_limits() {
    use varicap_units::part::Part;
    for (beta, ssthresh) in [(0.99999, 9), (1e-9, 2)] {
        let cubic = CubicConfig { beta, ..linux() };
        assert_eq!(cubic.check(), Ok(()));
        let (mut script, mut acked) = after_loss(cubic, 10);
        assert_eq!(script.ssthresh(), ssthresh);
        run(&mut script, 200, &mut acked, &[1000]);
    }
    assert_eq!(CubicConfig { c: 1e6, ..linux() }.check(), Ok(()));
    for c in [1.1e6, f64::INFINITY, f64::NAN] {
        assert_eq!(CubicConfig { c, ..linux() }.check().unwrap_err().key, "c");
    }
}

/// Acknowledges all in flight, in order, in the course of each round trip of 100 ms; the windows when so much time
/// has passed [ms].
fn run(script: &mut Script, start: u64, acked: &mut u64, times: &[u64]) -> Vec<u64> {
    let mut now = start;
    let mut windows = Vec::new();
    for &time in times {
        while now < start + time {
            let flight = script.in_flight();
            for number in 0..flight {
                *acked += 1;
                script.at(ms(now + 100 * (number + 1) / flight)).ack(*acked * MSS);
            }
            now += 100;
        }
        windows.push(script.cwnd());
    }
    windows
}

/// A window of `window` segments whose first segment was lost; recovery ends after a round trip.
fn after_loss(cubic: CubicConfig, window: u64) -> (Script, u64) {
    let mut script = greedy(cubic, window, Amount::Packets(window));
    script.at(ms(100));
    for end in 2..=window {
        script.sack(0, &[held(1, end)]);
    }
    assert_eq!(script.sender.state(), State::Recovery);
    let acked = script.sender.sent() / MSS;
    script.at(ms(200)).ack(acked * MSS);
    assert_eq!(script.sender.state(), State::Open);
    (script, acked)
}

/// W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(0.3 W_max / 0.4), evaluated an RTT ahead; the window follows it within
/// what it moves in two round trips and two segments, one for each of the two roundings.
#[test]
fn beyond_the_reach_of_reno_it_follows_the_cubic_function() {
    let (mut script, mut acked) = after_loss(CubicConfig { reno_friendly: false, ..linux() }, 200);
    let times: Vec<u64> = (1..=12).map(|second| 1000 * second).collect();
    let windows = run(&mut script, 200, &mut acked, &times);
    let k = (0..200).fold(5.0_f64, |k, _| k - (k * k * k - 0.3 * 200.0 / 0.4) / (3.0 * k * k));
    let wanted = |t: f64| 0.4 * (t - k).powi(3) + 200.0;
    for (&time, &window) in times.iter().zip(&windows) {
        let t = time as f64 / 1000.0;
        let slack = 2.0 + (wanted(t + 0.1) - wanted(t - 0.1)).abs();
        assert!((window as f64 - wanted(t)).abs() <= slack, "{t} s: {window} instead of {}", wanted(t));
    }
    assert!(windows[11] > 250, "{windows:?}");
}

/// Where Reno is faster, the window follows its estimate: 8/15 of a segment per round trip, indefinitely, or a whole one
/// beyond the window before the loss (RFC 9438 §4.3).
#[test]
fn small_windows_follow_the_estimate_of_reno() {
    let small = |alpha| {
        let (mut script, mut acked) = after_loss(CubicConfig { alpha, c: 0.001, ..linux() }, 10);
        assert_eq!(script.cwnd(), 7);
        run(&mut script, 200, &mut acked, &[3000, 6000, 12_000])
    };
    let constant = small(Alpha::Constant);
    // A step of the estimate takes 15/8 of a window, rounded down, and one more segment.
    let grown: Vec<f64> = constant.iter().map(|&window| window as f64 - 7.0).collect();
    for (&rounds, grown) in [30.0, 60.0, 120.0].iter().zip(&grown) {
        let wanted = rounds * 8.0 / 15.0;
        assert!((grown - wanted).abs() <= 2.0 + 0.1 * wanted, "{grown} instead of {wanted}");
    }
    let rising = small(Alpha::Rfc9438);
    assert!(rising[2] > constant[2] + 35, "{rising:?} and {constant:?}");
}

/// After a timeout the plateau is unknown: a step of a segment for twenty at most.
#[test]
fn after_a_timeout_a_step_takes_twenty_segments() {
    let cubic = CubicConfig { reno_friendly: false, c: 1e-9, ..linux() };
    let mut script = greedy(cubic, 10, Amount::Packets(10));
    script.at(ms(1000));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 7));
    script.at(ms(1100)).ack(10 * MSS);
    // Slow start takes six of the ten; four count already.
    assert_eq!((script.sender.state(), script.cwnd()), (State::Open, 7));
    let windows: Vec<u64> = (11..=46)
        .map(|number| {
            script.at(ms(1200 + number)).ack(number * MSS);
            script.cwnd()
        })
        .collect();
    let opened: Vec<usize> = (1..windows.len()).filter(|&at| windows[at] > windows[at - 1]).collect();
    assert_eq!(opened, [15, 35], "{windows:?}");
}
