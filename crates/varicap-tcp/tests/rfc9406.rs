//! RFC 9406: HyStart++.

use crate::common;

use common::{MSS, Script, config, held, ms};
use varicap_tcp::congestion::{ByteCounting, Counting, CubicConfig, Hystart, PlusPlusConfig, RenoConfig};
use varicap_tcp::{Congestion, Recovery, TcpConfig};

fn controls() -> [Congestion; 2] {
    let hystart = Hystart::PlusPlus(PlusPlusConfig::default());
    [
        Congestion::Reno(RenoConfig { hystart, ..RenoConfig::default() }),
        Congestion::Cubic(CubicConfig { hystart, ..CubicConfig::default() }),
    ]
}

/// A greedy sender whose peer acknowledges rounds as they come.
struct Rounds {
    script: Script,
    /// When the next round is acknowledged [ms], and how much was [segments].
    at: u64,
    acked: u64,
}

impl Rounds {
    fn new(congestion: Congestion) -> Rounds {
        let config = TcpConfig { congestion, ..config(Recovery::Sack, 10) };
        Rounds { script: Script::greedy(&config), at: 0, acked: 0 }
    }

    /// All in flight is acknowledged after `rtt` ms, segment by segment; the window afterwards.
    fn round(&mut self, rtt: u64) -> u64 {
        self.at += rtt;
        let flight = self.script.in_flight();
        for _ in 0..flight {
            self.acked += 1;
            self.script.at(ms(self.at)).ack(self.acked * MSS);
        }
        self.script.cwnd()
    }

    fn ends(&self) -> bool {
        self.script.ssthresh() < 1 << 40
    }
}

/// RFC 9406 §4.2: min(N, L*SMSS), where RFC 5681 has min(N, SMSS).
#[test]
fn its_limit_holds_whatever_the_connection_counts() {
    for congestion in controls() {
        for counting in [Counting::Acks, Counting::Bytes(ByteCounting { limit: 2 }), Counting::Segments] {
            let config = TcpConfig { congestion: congestion.clone(), counting, ..config(Recovery::Sack, 10) };
            let mut script = Script::greedy(&config);
            script.at(ms(100)).ack(10 * MSS);
            assert_eq!(script.cwnd(), 18, "{congestion:?}, {counting:?}");
        }
    }
}

#[test]
fn without_an_increase_slow_start_goes_on() {
    for control in controls() {
        let mut rounds = Rounds::new(control);
        // An eighth of 100 ms is 12.5 ms: 12 ms more than in the last round are no increase.
        for (number, rtt) in [100, 100, 112, 124, 136].into_iter().enumerate() {
            assert_eq!(rounds.round(rtt), 20 << number);
        }
        assert!(!rounds.ends());
    }
}

/// A window of 80 in slow start on a path of 100 ms whose RTT has grown by an eighth: seven samples of the last round trip
/// belong to the round that is under way, since SND.NXT was that much lower when the round began, and the next one ends
/// slow start. From there on the window opens by a quarter.
fn late(congestion: Congestion) -> Rounds {
    let mut rounds = Rounds::new(congestion);
    assert_eq!((rounds.round(100), rounds.round(100), rounds.round(113)), (20, 40, 80));
    assert_eq!(rounds.round(113), 80 + 20);
    rounds
}

#[test]
fn an_increase_slows_slow_start_down_for_five_rounds_and_ends_it() {
    for control in controls() {
        // The first of five rounds.
        let mut rounds = late(control);
        for _ in 2..=4 {
            let before = rounds.script.cwnd();
            let grown = rounds.round(113) - before;
            assert!(grown.abs_diff(before / 4) <= 1, "{grown} after {before}");
            assert!(!rounds.ends());
        }
        // The fifth ends somewhat before the round trip.
        let before = rounds.script.cwnd();
        let grown = rounds.round(113) - before;
        assert!(grown > before / 8 && grown < before / 4, "{grown} after {before}");
        assert!(rounds.ends());
        assert!(rounds.script.cwnd().abs_diff(rounds.script.ssthresh()) <= 1);
    }
}

#[test]
fn an_increase_that_does_not_stay_was_none() {
    for control in controls() {
        let mut rounds = late(control);
        // Below the baseline of 113 ms slow start is what it was, and looks for an increase again.
        rounds.round(110);
        let before = rounds.script.cwnd();
        assert_eq!(rounds.round(110), 2 * before);
        rounds.round(130);
        let before = rounds.script.cwnd();
        assert!(rounds.round(130) < before + before / 3);
        assert!(!rounds.ends());
    }
}

#[test]
fn short_rtts_must_grow_by_four_milliseconds() {
    for (rtt, usual) in [(13, true), (14, false)] {
        for control in controls() {
            let mut rounds = Rounds::new(control);
            assert_eq!((rounds.round(10), rounds.round(10), rounds.round(rtt)), (20, 40, 80));
            assert_eq!(rounds.round(rtt) == 160, usual, "{rtt} ms");
        }
    }
}

#[test]
fn seven_samples_say_nothing() {
    for control in controls() {
        let mut rounds = Rounds::new(control);
        rounds.round(100);
        rounds.at += 200;
        // Seven ACKs of a round that takes twice as long; the rest of it comes in one.
        for number in 1..=6 {
            rounds.script.at(ms(rounds.at)).ack((10 + number) * MSS);
        }
        rounds.script.ack(30 * MSS);
        assert_eq!(rounds.script.cwnd(), 20 + 6 + 8);
    }
}

#[test]
fn an_ack_opens_the_window_by_eight_segments_at_most() {
    for control in controls() {
        let mut rounds = Rounds::new(control);
        rounds.script.at(ms(100)).ack(10 * MSS);
        assert_eq!(rounds.script.cwnd(), 18);
    }
}

/// RFC 9406 §4.3: in the initial slow start alone.
#[test]
fn after_a_loss_slow_start_is_the_usual_one() {
    for control in controls() {
        let mut rounds = Rounds::new(control);
        for _ in 0..3 {
            rounds.round(100);
        }
        rounds.script.sack(rounds.acked * MSS, &[held(rounds.acked + 1, rounds.acked + 9)]);
        assert!(rounds.ends());
        rounds.script.at(ms(60_000));
        assert_eq!(rounds.script.cwnd(), 1);
        let sent = rounds.script.sender.sent();
        rounds.script.ack(sent);
        // One segment for one ACK.
        assert_eq!(rounds.script.cwnd(), 2);
    }
}
