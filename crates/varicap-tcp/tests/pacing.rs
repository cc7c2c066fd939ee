//! Pacing by Linux's ratios: `tcp_update_pacing_rate`, `tcp_update_skb_after_send`.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{RatcpConfig, RenoConfig};
use varicap_tcp::{Congestion, Pacing, PacingRatios, RackConfig, Recovery, TcpConfig};
use varicap_units::{Amount, Bytes, Rate, Time};

fn paced(recovery: Recovery, initial_window: u64) -> TcpConfig {
    TcpConfig { pacing: Pacing::Linux(PacingRatios::default()), ..config(recovery, initial_window) }
}

/// The gaps between segments that left from `from` on [us].
fn gaps(script: &Script, from: usize) -> Vec<u64> {
    let times: Vec<_> = script.log()[from..].iter().map(|sent| sent.at).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() / 1000).collect()
}

/// Forty segments in flight in slow start, RTT 100 ms: an acknowledgement of all of them opens the window to 80.
fn after_a_flight_of_forty(config: &TcpConfig) -> (Script, usize) {
    let mut script = Script::greedy(config);
    let sent = script.log().len();
    script.at(ms(100)).ack(40 * MSS);
    script.at(ms(199));
    (script, sent)
}

#[test]
fn the_first_ten_segments_leave_at_once_and_without_a_round_trip_all_do() {
    let script = Script::greedy(&paced(Recovery::Sack, 40));
    assert_eq!((script.log().len(), script.last().at), (40, Time::ZERO));
    let mut script = Script::greedy(&paced(Recovery::Sack, 2));
    script.at(ms(100)).ack(2 * MSS);
    script.at(ms(199));
    // Two, and three more in slow start by acknowledgements.
    assert_eq!((script.log().len(), script.last().at), (5, ms(100)));
}

#[test]
fn slow_start_is_paced_at_twice_the_window_per_round_trip() {
    let (script, sent) = after_a_flight_of_forty(&paced(Recovery::Sack, 40));
    // A segment in 100 ms / 41 / 2. The first one is late, which makes up half a gap.
    let gaps = gaps(&script, sent);
    assert_eq!(gaps[0], 609);
    assert!(gaps[1..].iter().all(|gap| gap.abs_diff(1219) <= 1), "{gaps:?}");
    assert_eq!(gaps.len(), 40);
    let unpaced = after_a_flight_of_forty(&config(Recovery::Sack, 40)).0;
    assert_eq!(unpaced.last().at, ms(100));
}

#[test]
fn avoidance_is_paced_a_fifth_faster_than_the_window_per_round_trip() {
    let config = TcpConfig { initial_ssthresh: Amount::Packets(40), ..paced(Recovery::Sack, 40) };
    let (script, sent) = after_a_flight_of_forty(&config);
    let gaps = gaps(&script, sent);
    // 100 ms / 41 / 1.2.
    assert!(gaps[1..].iter().all(|gap| gap.abs_diff(2032) <= 52), "{gaps:?}");
    let slow = PacingRatios { slow_start: 2.0, avoidance: 0.6 };
    let (script, sent) = after_a_flight_of_forty(&TcpConfig { pacing: Pacing::Linux(slow), ..config });
    assert_eq!(script.log().len() - sent, 25, "the window takes longer than a round trip");
}

/// A pause earns at most half a gap: nothing leaves in a burst afterwards.
#[test]
fn a_pause_lets_no_burst_out() {
    let mut script = Script::offering(&paced(Recovery::Sack, 40), 40 * MSS);
    script.at(ms(100)).ack(40 * MSS);
    script.at(ms(500)).write(40 * MSS);
    script.at(ms(699));
    let gaps = gaps(&script, 40);
    assert!(gaps[0] > 500 && gaps[1..].iter().all(|gap| *gap > 1200), "{gaps:?}");
}

#[test]
fn retransmissions_are_paced_too() {
    let rack = Recovery::Rack(RackConfig::linux());
    let config = TcpConfig { initial_ssthresh: Amount::Packets(40), ..paced(rack, 40) };
    let mut script = Script::greedy(&config);
    script.at(ms(100)).ack(MSS);
    let sent = script.log().len();
    let held = 20 * MSS..40 * MSS;
    script.at(ms(120)).sack(MSS, std::slice::from_ref(&held));
    script.at(ms(180));
    let resent: Vec<_> = script.log()[sent..].iter().filter(|sent| sent.data.start < 20 * MSS).collect();
    assert!(resent.len() > 3, "{}", resent.len());
    assert!(gaps(&script, sent).iter().all(|gap| *gap > 0), "{:?}", gaps(&script, sent));
}

/// A control with a rate of its own keeps it.
#[test]
fn the_rate_of_a_control_comes_first() {
    let ratcp = RatcpConfig { pacing: true, ..RatcpConfig::default() };
    let config = TcpConfig { congestion: Congestion::Ratcp(ratcp), ..paced(Recovery::Sack, 40) };
    let script = |config: &TcpConfig| {
        let mut script = Script::offering(config, 0);
        // 1040 bytes on the wire in 10 ms.
        script.sender.on_rate_feedback(ms(0), Rate::from_bps(832_000));
        script.write(u64::MAX);
        (1..=20).for_each(|number| {
            script.at(ms(100 + 10 * number)).ack(number * MSS);
        });
        (gaps(&script, 0), script.sender.cwnd())
    };
    let with = script(&config);
    assert_eq!(with, script(&TcpConfig { pacing: Pacing::Off, ..config }));
    assert!(with.0.len() > 20 && with.0.iter().all(|gap| *gap >= 10_000), "{with:?}");
}

/// The integers of the schedule do not drift: so many segments take as long as their bytes at the rate, to a nanosecond.
#[test]
fn the_schedule_is_exact() {
    let reno = Congestion::Reno(RenoConfig::default());
    let window = Amount::Packets(30);
    let base = paced(Recovery::Sack, 30);
    let config = TcpConfig { congestion: reno, initial_ssthresh: window, max_window: window, ..base };
    let mut script = Script::greedy(&config);
    // An acknowledgement of all that is out, late enough for all to have left: the window is in the last ones.
    script.at(ms(100)).ack(30 * MSS);
    let sent = script.log().len();
    script.at(ms(190));
    let times: Vec<_> = script.log()[sent..].iter().map(|sent| sent.at).collect();
    assert_eq!(times.len(), 29);
    // Rounded up one by one they would take 6 ns more.
    let together = Rate::from_bps(30 * 1000 * 8 * 12).transmission_time(Bytes::new(28 * 1000));
    assert_eq!(*times.last().unwrap() - times[0], together);
}

/// A rate of the control's own: a segment in 10 ms, in a window of ten.
#[test]
fn what_left_late_shortens_the_next_gap_where_the_stack_gives_credit() {
    let gaps_after_a_pause = |pacing_credit: bool| {
        let config = TcpConfig {
            congestion: Congestion::Ratcp(RatcpConfig { pacing: true, ..RatcpConfig::default() }),
            pacing_credit,
            ..config(Recovery::Sack, 10)
        };
        let mut script = Script::offering(&config, 4 * MSS);
        script.sender.on_rate_feedback(ms(0), Rate::from_bps(8 * config.packet().as_u64() * 100));
        script.at(ms(100)).ack(4 * MSS);
        script.at(ms(500)).write(4 * MSS);
        let sent = script.log().len() - 1;
        script.at(ms(600));
        gaps(&script, sent)
    };
    assert_eq!(gaps_after_a_pause(false), [10_000, 10_000, 10_000]);
    assert_eq!(gaps_after_a_pause(true), [5_000, 10_000, 10_000]);
}
