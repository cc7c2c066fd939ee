//! How far the window of a sender opens that is limited by something else. Source:
//! draft-ietf-ccwg-ratelimited-increase-11 §3 (maxFS).

use proptest::prelude::*;

use crate::common;

use common::*;
use varicap_tcp::congestion::{Counting, CubicConfig, DctcpConfig, GrowWhen, RenoConfig, VegasConfig};
use varicap_tcp::{Congestion, Recovery, State, TcpConfig};
use varicap_units::Amount;

fn max_fs(congestion: Congestion, counting: Counting) -> TcpConfig {
    TcpConfig { congestion, counting, grow_when: GrowWhen::MaxFs, ..config(Recovery::Sack, 10) }
}

fn reno() -> TcpConfig {
    max_fs(Congestion::Reno(RenoConfig::default()), Counting::Acks)
}

/// Controls with a window that acknowledgements open, as segments are counted in one way or another.
fn controls() -> impl Iterator<Item = TcpConfig> {
    let controls = [
        Congestion::Reno(RenoConfig::default()),
        Congestion::Cubic(CubicConfig::default()),
        Congestion::Dctcp(DctcpConfig::default()),
    ];
    let countings = [Counting::Acks, Counting::Segments];
    controls.into_iter().flat_map(move |control| countings.map(|counting| max_fs(control.clone(), counting)))
}

/// Each round trip of 100 ms the application offers one of these numbers of segments, which are acknowledged one by one; cwnd
/// after each.
fn windows(script: &mut Script, start_ms: u64, flights: &[u64]) -> Vec<u64> {
    let mut after = Vec::new();
    for (round, &flight) in flights.iter().enumerate() {
        script.write(flight * MSS);
        script.at(ms(start_ms + 100 * (round as u64 + 1)));
        let acked = script.sender.counters().acked_bytes;
        (1..=flight).for_each(|number| _ = script.ack(acked + number * MSS));
        after.push(script.cwnd());
    }
    after
}

/// §3.1: ten segments, a pause, four segments: 20, and no more.
#[test]
fn slow_start_ends_at_twice_the_most_that_was_in_flight() {
    for config in controls() {
        let flown = |flights: &[u64]| windows(&mut Script::offering(&config, 0), 0, flights);
        assert_eq!(flown(&[10, 4, 4]), [20, 20, 20], "{:?}", config.congestion);
        // maxFS begins as the initial window, whatever was in flight.
        assert_eq!(flown(&[4, 4, 4, 4]), [14, 18, 20, 20], "{:?}", config.congestion);
        assert_eq!(flown(&[4, 10, 12, 20, 3]), [14, 20, 24, 40, 40], "{:?}", config.congestion);
        let others = TcpConfig { grow_when: GrowWhen::WindowLimited, ..config.clone() };
        assert_eq!(windows(&mut Script::offering(&others, 0), 0, &[4, 4]), [10, 10]);
    }
}

/// §3, congestion avoidance: a segment more than maxFS.
#[test]
fn congestion_avoidance_ends_at_a_segment_more() {
    for config in controls() {
        let config = TcpConfig { initial_ssthresh: Amount::Packets(10), ..config };
        let flown = windows(&mut Script::offering(&config, 0), 0, &[8, 8, 9, 9, 9, 9, 9, 9, 9, 9]);
        assert_eq!(*flown.last().unwrap(), 11, "{:?}: {flown:?}", config.congestion);
        assert!(flown.is_sorted());
    }
}

/// §3: maxFS begins anew with the first FlightSize after cwnd fell: eight segments, of twenty before. A window that is larger
/// than its limit would stay.
#[test]
fn max_fs_starts_anew_when_the_window_falls() {
    let mut script = Script::offering(&reno(), 0);
    assert_eq!(windows(&mut script, 0, &[10, 20]), [20, 40]);
    script.write(8 * MSS);
    script.at(ms(300)).sack(30 * MSS, &[held(31, 34)]);
    assert_eq!((script.sender.state(), script.ssthresh()), (State::Recovery, 4));
    script.at(ms(400)).ack(38 * MSS);
    let fallen = script.cwnd();
    assert!((2..=4).contains(&fallen), "{fallen}");
    let grown = windows(&mut script, 400, &[2; 100]);
    assert_eq!(*grown.last().unwrap(), 9, "{grown:?}");
}

/// After a timeout, too.
#[test]
fn max_fs_starts_anew_after_a_timeout() {
    let mut script = Script::offering(&reno(), 0);
    windows(&mut script, 0, &[10, 16]);
    script.write(6 * MSS);
    script.at(ms(1700));
    assert_eq!((script.sender.state(), script.cwnd(), script.ssthresh()), (State::Loss, 1, 3));
    script.ack(32 * MSS);
    let grown = windows(&mut script, 1700, &[1; 100]);
    assert_eq!(*grown.last().unwrap(), 7, "{grown:?}");
}

/// The receiver's window, and the largest one that is set, limit as the application does.
#[test]
fn a_small_receive_window_is_opened_for_twice() {
    let small = Amount::Packets(6);
    for (receive_window, max_window) in [(small, Amount::Unlimited), (Amount::Unlimited, small)] {
        let config = TcpConfig { receive_window, max_window, initial_window: Amount::Packets(4), ..reno() };
        let mut script = Script::greedy(&config);
        script.window(6 * MSS as u32);
        for number in 1..100 {
            script.at(ms(100 * number)).ack(number * MSS);
        }
        // The limit of the window is shown as cwnd.
        let most = if max_window == small { 6 } else { 12 };
        assert_eq!(script.cwnd(), most, "{receive_window:?}");
    }
}

/// A window that is used opens as ever, in slow start and beyond.
#[test]
fn a_window_that_is_used_opens_as_without_the_rule() {
    for config in controls().chain([max_fs(Congestion::Vegas(VegasConfig::default()), Counting::Acks)]) {
        let run = |grow_when| {
            let initial_ssthresh = Amount::Packets(30);
            let mut script = Script::greedy(&TcpConfig { grow_when, initial_ssthresh, ..config.clone() });
            for number in 1..400 {
                script.at(ms(100 + 10 * (number / 20))).ack(number * MSS);
            }
            script.at(ms(400)).ack(430 * MSS);
            script.cwnd()
        };
        assert_eq!(run(GrowWhen::MaxFs), run(GrowWhen::WindowLimited), "{:?}", config.congestion);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However much is offered, in whole segments or not, and however much each acknowledgement covers.
    #[test]
    fn the_window_never_exceeds_its_limit(
        which in 0usize..6, limited in any::<bool>(), flights in prop::collection::vec((1u64..40_000, 1u64..5000), 1..40),
    ) {
        let initial_ssthresh = if limited { Amount::Packets(12) } else { Amount::Unlimited };
        let config = TcpConfig { initial_ssthresh, ..controls().nth(which).unwrap() };
        let mut script = Script::offering(&config, 0);
        let (mut most, mut now) = (10 * MSS, 0);
        for (offered, step) in flights {
            now += 100;
            script.write(offered);
            let (mut acked, before) = (script.sender.counters().acked_bytes, script.sender.cwnd().as_u64());
            let sent = script.sender.sent();
            most = most.max(sent - acked);
            script.at(ms(now));
            while acked < sent {
                acked = (acked + step).min(sent);
                script.ack(acked);
                let flight = script.sender.sent() - acked;
                most = most.max(flight);
            }
            let in_slow_start = script.sender.ssthresh().is_none_or(|ssthresh| before < ssthresh.as_u64());
            // The rest of a segment counts as room that was used.
            let limit = if in_slow_start { 2 * most } else { most + MSS } + MSS;
            let cwnd = script.sender.cwnd().as_u64();
            prop_assert!(cwnd <= limit.max(before), "{cwnd} after {before}, maxFS {most}, {:?}", config.congestion);
            // The rest is acknowledged, too.
            while script.sender.counters().acked_bytes < script.sender.sent() {
                let sent = script.sender.sent();
                most = most.max(sent - script.sender.counters().acked_bytes);
                script.ack(sent);
            }
        }
    }
}
