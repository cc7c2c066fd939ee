//! RFC 3465 and Linux: how much of what an acknowledgement covers opens the window.

use crate::common;

use common::{MSS, Script, config, held, ms};
use varicap_tcp::congestion::{ByteCounting, Counting, CubicConfig, RenoConfig};
use varicap_tcp::{Congestion, Recovery, State, TcpConfig};
use varicap_units::{Amount, Bytes};

const ALL: [Counting; 3] = [Counting::Acks, bytes(2), Counting::Segments];

const fn bytes(limit: u32) -> Counting {
    Counting::Bytes(ByteCounting { limit })
}

fn reno() -> Congestion {
    Congestion::Reno(RenoConfig::default())
}

/// With the arithmetic of RFC 9438, in which a window may have a fraction of a segment.
fn cubic() -> Congestion {
    Congestion::Cubic(CubicConfig::default())
}

/// A greedy sender of `window` segments with this threshold [segments].
fn greedy(counting: Counting, congestion: Congestion, window: u64, ssthresh: u64) -> Script {
    let initial_ssthresh = Amount::Packets(ssthresh);
    let config = TcpConfig { counting, congestion, initial_ssthresh, ..config(Recovery::Sack, window) };
    let mut script = Script::greedy(&config);
    script.at(ms(100));
    script
}

/// The windows after acknowledgements of so many segments each.
fn windows(script: &mut Script, sizes: &[u64]) -> Vec<u64> {
    let mut acked = 0;
    let mut after = |size: &u64| {
        acked += size * MSS;
        script.ack(acked);
        script.cwnd()
    };
    sizes.iter().map(&mut after).collect()
}

#[test]
fn slow_start_counts_up_to_its_limit() {
    for congestion in [reno(), cubic()] {
        let grown = |counting| windows(&mut greedy(counting, congestion.clone(), 10, 1000), &[1, 2, 4, 3]);
        assert_eq!(grown(Counting::Acks), [11, 12, 13, 14]);
        assert_eq!(grown(bytes(2)), [11, 13, 15, 17]);
        assert_eq!(grown(bytes(3)), [11, 13, 16, 19]);
        assert_eq!(grown(Counting::Segments), [11, 13, 17, 20]);
    }
}

#[test]
fn congestion_avoidance_of_reno_takes_a_window_of_whatever_counts() {
    let grown = |counting, sizes: &[u64]| windows(&mut greedy(counting, reno(), 4, 4), sizes);
    // Each acknowledged by itself: no difference.
    for counting in ALL {
        assert_eq!(grown(counting, &[1; 9]), [4, 4, 4, 5, 5, 5, 5, 5, 6], "{counting:?}");
    }
    // Delayed acknowledgements: half as fast, unless more than the acknowledgements count.
    assert_eq!(grown(Counting::Acks, &[2; 6]), [4, 4, 4, 5, 5, 5]);
    for counting in [bytes(1), bytes(2), Counting::Segments] {
        assert_eq!(grown(counting, &[2; 6]), [4, 5, 5, 5, 6, 6], "{counting:?}");
    }
}

/// Linux: an acknowledgement of several windows is worth several steps.
#[test]
fn segments_are_never_wasted() {
    let mut script = greedy(Counting::Segments, reno(), 10, 2);
    assert_eq!(windows(&mut script, &[10, 10]), [11, 11]);
    let mut script = greedy(Counting::Segments, reno(), 10, 12);
    // Two open slow start up to 12, eight count towards the 12 of the next step; four more complete it.
    assert_eq!(windows(&mut script, &[10, 3, 1]), [12, 12, 13]);
    // Otherwise what slow start leaves is lost.
    let mut script = greedy(bytes(10), reno(), 10, 12);
    assert_eq!(windows(&mut script, &[10, 4, 7, 1]), [12, 12, 12, 13]);
}

#[test]
fn cubic_goes_on_in_congestion_avoidance_with_what_slow_start_leaves() {
    let mut script = greedy(Counting::Segments, cubic(), 10, 12);
    script.ack(10 * MSS);
    let cwnd = script.sender.cwnd();
    assert!(cwnd > Bytes::new(12 * MSS) && cwnd < Bytes::new(13 * MSS), "{cwnd}");
    // Without, an acknowledgement of slow start is one of slow start only.
    let mut script = greedy(bytes(2), cubic(), 10, 12);
    script.ack(10 * MSS);
    assert_eq!(script.cwnd(), 12);
}

/// RFC 3465 §2.3: L is 1 in the slow start that follows a timeout.
#[test]
fn after_a_timeout_the_limit_is_a_segment_until_slow_start_has_ended() {
    for congestion in [reno(), cubic()] {
        let mut script = greedy(bytes(2), congestion, 16, 16);
        script.at(ms(1100));
        assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 1));
        script.at(ms(1200)).ack(2 * MSS);
        assert_eq!(script.cwnd(), 2);
        script.at(ms(1300)).ack(16 * MSS);
        assert_eq!((script.sender.state(), script.cwnd()), (State::Open, 3));
        script.at(ms(1301)).ack(18 * MSS);
        assert_eq!(script.cwnd(), 4);
    }
}

/// Linux keeps windows in whole segments.
#[test]
fn segments_halve_an_odd_window_to_whole_ones() {
    for (counting, cwnd) in [(bytes(2), 3500), (Counting::Segments, 3000)] {
        let mut script = greedy(counting, reno(), 7, 7);
        for end in 2..=4 {
            script.sack(0, &[held(1, end)]);
        }
        assert_eq!((script.sender.state(), script.sender.cwnd()), (State::Recovery, Bytes::new(cwnd)));
    }
}

/// Linux: what was SACKed has been delivered, and does not count again when it is acknowledged.
#[test]
fn segments_count_when_they_arrive() {
    for (counting, expected) in [(bytes(16), 11), (Counting::Segments, 9)] {
        let mut script = greedy(counting, reno(), 8, 1000);
        script.sack(0, &[held(1, 3)]);
        // Reordering: the first segment arrives last.
        script.ack(3 * MSS);
        assert_eq!((script.sender.state(), script.cwnd()), (State::Open, expected), "{counting:?}");
    }
}

#[test]
fn the_setting_of_reno_overrides_that_of_the_connection() {
    let congestion = Congestion::Reno(RenoConfig { byte_counting: Some(2), ..RenoConfig::default() });
    let mut script = greedy(Counting::Segments, congestion, 10, 1000);
    assert_eq!(windows(&mut script, &[4, 4]), [12, 14]);
}

#[test]
fn the_limit_is_at_least_one() {
    use varicap_units::part::Part;
    let faulty = TcpConfig { counting: bytes(0), ..TcpConfig::default() };
    assert_eq!(faulty.check().unwrap_err().key, "counting.bytes.limit");
    assert_eq!(TcpConfig { counting: bytes(1), ..TcpConfig::default() }.check(), Ok(()));
}

/// Linux without SACK: a duplicate counts for a segment when it arrives, in a state in which no window opens.
#[test]
fn what_duplicates_stood_for_opens_no_window_a_second_time() {
    for (counting, grown) in [(Counting::Segments, 11), (Counting::Acks, 11), (bytes(3), 13)] {
        let config = TcpConfig { counting, ..config(Recovery::NewReno, 10) };
        let mut script = Script::greedy(&config);
        script.at(ms(100)).duplicates(2);
        script.at(ms(110)).ack(3 * MSS);
        assert_eq!(script.cwnd(), grown, "{counting:?}");
    }
}
