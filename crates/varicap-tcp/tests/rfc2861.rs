//! RFC 2861 as Linux has it: what becomes of a window that is not used. The windows are those of packetdrill's tests.

use crate::common;

use common::{MSS, Script, config, ms, timer};
use varicap_tcp::congestion::{
    CongestionControl, Controller, Counting, CubicConfig, GrowWhen, Growth, RatcpConfig,
    RateAdaptiveWindowConfig, RenoConfig, Start, Validation, VegasConfig,
};
use varicap_tcp::{Congestion, Recovery, TcpConfig};
use varicap_units::{Amount, Bytes};

fn linux() -> TcpConfig {
    TcpConfig {
        counting: Counting::Segments,
        grow_when: GrowWhen::WindowUsed,
        validation: Validation::Decay,
        timer: timer(200, 1),
        ..config(Recovery::Sack, 10)
    }
}

/// The windows after ACKs of two segments of `count` that were sent at once, at a window of ten.
fn after(config: &TcpConfig, count: u64) -> Vec<u64> {
    let mut script = Script::offering(config, count * MSS);
    let mut windows = Vec::new();
    for number in 1..=count.div_ceil(2) {
        script.at(ms(100 + 5 * number)).ack((2 * number).min(count) * MSS);
        windows.push(script.cwnd());
    }
    windows
}

#[test]
fn slow_start_reaches_twice_what_was_outstanding() {
    assert_eq!(after(&linux(), 10), [12, 14, 16, 18, 20]);
    assert_eq!(after(&linux(), 9), [12, 14, 16, 18, 18]);
    assert_eq!(after(&linux(), 5), [10, 10, 10]);
    // Nine did not fill the window, and ten filled it.
    let limited = TcpConfig { grow_when: GrowWhen::WindowLimited, ..linux() };
    assert_eq!(after(&limited, 9), [10; 5]);
}

#[test]
fn congestion_avoidance_grows_if_the_window_was_full() {
    let avoiding = TcpConfig { initial_ssthresh: Amount::Packets(10), ..linux() };
    assert_eq!(after(&avoiding, 10), [10, 10, 10, 10, 11]);
    assert_eq!(after(&avoiding, 9), [10; 5]);
}

/// A window of 36 with nothing in flight, 200 ms after the beginning.
fn grown(config: &TcpConfig) -> Script {
    let mut script = Script::offering(config, 26 * MSS);
    script.at(ms(100)).ack(10 * MSS);
    assert_eq!(script.cwnd(), 20);
    script.at(ms(200)).ack(26 * MSS);
    assert_eq!(script.cwnd(), 36);
    script
}

#[test]
fn each_idle_rto_halves_the_window_down_to_the_initial_one() {
    // The RTO is between 250 and 300 ms, and the last segment left at 100 ms.
    for (pause, expected) in [(300, 36), (440, 18), (2200, 10)] {
        let mut script = grown(&linux());
        script.at(ms(pause)).write(MSS);
        assert_eq!(script.cwnd(), expected, "after {pause} ms");
        if expected < 36 {
            // An ssthresh that is higher than three quarters of what the window was remains.
            assert!(script.sender.ssthresh().unwrap().as_u64() > 1 << 40);
        }
    }
    let restart = TcpConfig { validation: Validation::Restart, ..linux() };
    let mut script = grown(&restart);
    script.at(ms(440)).write(MSS);
    assert_eq!(script.cwnd(), 10);
    let never = TcpConfig { restart_after_idle: false, ..linux() };
    let mut script = grown(&never);
    script.at(ms(2200)).write(MSS);
    assert_eq!(script.cwnd(), 36);
}

/// A window of 21 in congestion avoidance with nothing in flight, 250 ms after the beginning.
fn avoiding() -> Script {
    let config = TcpConfig { initial_ssthresh: Amount::Packets(20), ..linux() };
    let mut script = Script::offering(&config, 40 * MSS);
    script.at(ms(100)).ack(10 * MSS);
    script.at(ms(200)).ack(30 * MSS);
    script.at(ms(250)).ack(40 * MSS);
    assert_eq!(script.cwnd(), 21);
    script
}

/// Linux `tcp_cwnd_application_limited`.
#[test]
fn a_window_that_is_not_used_up_for_an_rto_falls_half_the_way() {
    // Nothing is acknowledged after 250 ms. An RTO of about 300 ms later thirteen of 21 segments are outstanding.
    for (second, expected) in [(500, 21), (600, 17)] {
        let mut script = avoiding();
        script.at(ms(400)).write(12 * MSS);
        script.at(ms(second)).write(MSS);
        assert_eq!(script.cwnd(), expected, "after {second} ms");
        assert_eq!(script.ssthresh(), 20);
    }
}

/// Linux `tcp_cong_avoid` sets `snd_cwnd_stamp`, which RFC 2861 does not: whoever writes less than the window keeps it.
#[test]
fn a_window_through_which_data_flows_does_not_decay() {
    let mut script = avoiding();
    for number in 0..8 {
        script.at(ms(300 + 100 * number)).write(12 * MSS);
        assert_eq!(script.cwnd(), 21);
        script.at(ms(390 + 100 * number)).ack((52 + 12 * number) * MSS);
    }
}

/// RFC 2861 §3.1: slow start leads back to three quarters of a window that was not used, whatever control it has.
#[test]
fn ssthresh_remembers_the_window_of_every_control() {
    let controls = [
        Congestion::Reno(RenoConfig::default()),
        Congestion::Cubic(CubicConfig::default()),
        Congestion::Ratcp(RatcpConfig::default()),
        Congestion::RateAdaptiveWindow(RateAdaptiveWindowConfig::default()),
        Congestion::RateAdaptiveWindow(RateAdaptiveWindowConfig {
            grow: Growth::Cubic,
            ..Default::default()
        }),
        Congestion::Vegas(VegasConfig::default()),
        Congestion::AccelBrake,
    ];
    for congestion in controls {
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS),
            initial_window: Bytes::new(40 * MSS),
            initial_ssthresh: Bytes::new(4 * MSS),
            counting: Counting::Segments,
            rounding: varicap_tcp::congestion::Rounding::None,
        };
        let mut control = Controller::new(&congestion, &start);
        control.on_unused(Bytes::new(16 * MSS));
        let found = (control.cwnd(), control.ssthresh());
        assert_eq!(found, (Bytes::new(16 * MSS), Some(Bytes::new(30 * MSS))), "{congestion:?}");
    }
}
