//! From what ssthresh is computed, and how often the window falls.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{CubicConfig, Halving, Rounding, VegasConfig};
use varicap_tcp::{Congestion, EcnMode, Flags, Recovery, State, TcpConfig};
use varicap_units::Amount;

const ALL: [Halving; 3] = [Halving::FlightSize, Halving::Window, Halving::OfferedWindow];

/// Twenty segments of window, of which the application fills eight and the receiver offers sixteen.
fn partly_used(initial: TcpConfig) -> Script {
    let config = TcpConfig {
        initial_window: Amount::Packets(20),
        initial_ssthresh: Amount::Packets(20),
        receive_window: Amount::Packets(16),
        ..initial
    };
    let mut script = Script::offering(&config, 8 * MSS);
    script.window(16 * MSS as u32);
    script.at(ms(100));
    script
}

#[test]
fn a_fast_retransmit_halves_what_the_option_says() {
    for (halving, expected) in ALL.into_iter().zip([4, 10, 8]) {
        let mut script = partly_used(TcpConfig { halving, ..config(Recovery::Reno, 20) });
        script.duplicates(3);
        assert_eq!((script.cwnd(), script.ssthresh()), (expected, expected), "{halving:?}");
    }
}

#[test]
fn a_timeout_halves_what_the_option_says() {
    for (halving, expected) in ALL.into_iter().zip([4, 10, 8]) {
        let mut script = partly_used(TcpConfig { halving, ..config(Recovery::NewReno, 20) });
        script.at(ms(1100));
        assert_eq!((script.cwnd(), script.ssthresh()), (1, expected), "{halving:?}");
    }
}

#[test]
fn the_option_holds_for_every_control() {
    let cubic = Congestion::Cubic(CubicConfig::default());
    let vegas = Congestion::Vegas(VegasConfig::default());
    for (congestion, expected) in [(cubic, 14), (vegas, 10)] {
        let halving = Halving::Window;
        let mut script = partly_used(TcpConfig { halving, congestion, ..config(Recovery::Reno, 20) });
        script.duplicates(3);
        assert_eq!(script.ssthresh(), expected);
    }
}

/// 4.3BSD and ns-2: a timeout in fast recovery halves the halved window, Linux holds what recovery set.
#[test]
fn a_timeout_in_recovery_reduces_again_unless_once() {
    for (reduce_once, expected) in [(false, 4), (true, 8)] {
        let halving = Halving::Window;
        let initial_ssthresh = Amount::Packets(16);
        let config = TcpConfig { halving, reduce_once, initial_ssthresh, ..config(Recovery::NewReno, 16) };
        let mut script = Script::greedy(&config);
        script.at(ms(100)).duplicates(3);
        assert_eq!((script.sender.state(), script.ssthresh()), (State::Recovery, 8));
        script.at(ms(1200));
        assert_eq!(script.sender.counters().timeouts, 1);
        assert_eq!((script.cwnd(), script.ssthresh()), (1, expected));
        // The next timeout without progress holds it as well, one of other data does not.
        script.at(ms(3500));
        assert_eq!((script.sender.counters().timeouts, script.ssthresh()), (2, expected));
        script.ack(MSS);
        script.at(ms(10_000));
        assert_eq!((script.sender.counters().timeouts > 2, script.ssthresh()), (true, 2));
    }
}

/// RFC 3168 §6.1.2: not more than once per window of data.
#[test]
fn a_loss_in_the_window_of_an_echo_reduces_again_unless_once() {
    for (reduce_once, expected) in [(false, 4), (true, 8)] {
        let initial_ssthresh = Amount::Packets(16);
        let halving = Halving::Window;
        let config = TcpConfig {
            ecn: EcnMode::Classic,
            halving,
            reduce_once,
            initial_ssthresh,
            ..config(Recovery::Reno, 16)
        };
        let mut script = Script::greedy(&config);
        script.at(ms(100));
        let mut echo = varicap_tcp::Segment { ack: MSS, window: u32::MAX, ..Default::default() };
        echo.flags = Flags::ACK.with(Flags::ECE);
        script.push(echo);
        assert_eq!((script.sender.counters().ecn_reductions, script.cwnd()), (1, 8));
        script.duplicates(3);
        assert_eq!((script.sender.counters().fast_retransmits, script.cwnd()), (1, expected));
        // Data that was sent since then is another window.
        let sent = script.sender.sent();
        script.at(ms(200)).ack(sent);
        script.at(ms(300)).ack(sent + MSS);
        script.duplicates(3);
        assert_eq!((script.sender.counters().fast_retransmits, script.cwnd()), (2, expected / 2));
    }
}

/// A sender whose window of `window` segments is lost whole.
fn lost_whole(window: u64, initial: TcpConfig) -> Script {
    let initial_window = Amount::Packets(window);
    Script::greedy(&TcpConfig { initial_window, initial_ssthresh: Amount::Packets(64), ..initial })
}

/// ssthresh after each of the first three expiries [MSS].
fn at_expiries(mut script: Script) -> Vec<f64> {
    let mut found = Vec::new();
    for time in [1000, 3000, 7000] {
        script.at(ms(time));
        found.push(script.sender.ssthresh().unwrap().as_u64() as f64 / MSS as f64);
    }
    assert_eq!(script.sender.counters().timeouts, 3);
    found
}

/// RFC 5681 §3.1 holds ssthresh while the same segment times out; 4.3BSD and ns-2 halve what is left of the window.
#[test]
fn each_expiry_halves_again_if_it_is_to() {
    for (window, first) in [(1, 2.0), (2, 2.0), (5, 2.5), (12, 6.0), (13, 6.5)] {
        for halving in ALL {
            let initial = TcpConfig { halving, ..config(Recovery::NewReno, 1) };
            assert_eq!(at_expiries(lost_whole(window, initial.clone())), [first; 3], "{window} {halving:?}");
            let each = TcpConfig { halve_at_each_timeout: true, ..initial };
            assert_eq!(at_expiries(lost_whole(window, each)), [first, 2.0, 2.0], "{window} {halving:?}");
        }
    }
}

#[test]
fn rounding_leaves_whole_segments_in_ssthresh_and_in_the_window_or_not() {
    for (rounding, cwnd, ssthresh) in
        [(Rounding::None, 4500, 4500), (Rounding::Ssthresh, 4500, 4000), (Rounding::Window, 4000, 4000)]
    {
        for recovery in [Recovery::Reno, Recovery::NewReno] {
            let halving = Halving::OfferedWindow;
            let mut script = lost_whole(9, TcpConfig { halving, rounding, ..config(recovery, 1) });
            script.at(ms(100)).duplicates(3);
            let found = (script.sender.cwnd().as_u64(), script.sender.ssthresh().unwrap().as_u64());
            assert_eq!(found, (cwnd, ssthresh), "{rounding:?} {recovery:?}");
        }
        let mut script = lost_whole(9, TcpConfig { rounding, ..config(Recovery::Reno, 1) });
        script.at(ms(1000));
        assert_eq!(script.sender.ssthresh().unwrap().as_u64(), ssthresh, "{rounding:?}");
    }
}

/// A control without Reno's arithmetic has the option, too: it hears of each expiry as of a first one.
#[test]
fn each_expiry_halves_for_every_control() {
    let cubic = Congestion::Cubic(CubicConfig::default());
    for (each, expected) in [(false, [14.0, 14.0, 14.0]), (true, [14.0, 2.0, 2.0])] {
        let halving = Halving::Window;
        let initial = TcpConfig {
            congestion: cubic.clone(),
            halving,
            halve_at_each_timeout: each,
            ..config(Recovery::NewReno, 1)
        };
        assert_eq!(at_expiries(lost_whole(20, initial)), expected);
    }
}
