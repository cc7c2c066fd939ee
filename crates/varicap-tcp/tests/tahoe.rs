//! [jacobson88]: fast retransmit, then slow start from the hole on, over data that may be in flight still.

use crate::common::{MSS, Script, config, ms, nth};
use varicap_tcp::{Recovery, State, TahoeResends, TcpConfig};

/// A Tahoe that heeds duplicate ACKs at any time, with eight segments in flight, of which it takes the first for lost.
fn repeating() -> Script {
    let config = TcpConfig { repeat_fast_retransmit: true, ..config(Recovery::Tahoe, 8) };
    let mut script = Script::greedy(&config);
    script.skip();
    script.at(ms(100)).duplicates(3);
    script.expect(&[nth(0)]);
    script
}

/// The first copies of all segments arrive, and then the second ones, which went out in answer to their ACKs.
#[test]
fn duplicates_of_its_own_second_copies_start_no_fast_retransmit() {
    let mut script = repeating();
    for number in 1..=8 {
        script.at(ms(100 + number)).ack(number * MSS);
    }
    assert_eq!(script.sender.state(), State::Open);
    let copies = script.sender.counters().retransmitted_packets;
    assert!(copies > 3, "{copies}");
    script.skip();
    script.at(ms(200)).duplicates(6);
    script.expect_nothing();
    assert_eq!((script.sender.state(), script.cwnd()), (State::Disorder, 5));
    assert_eq!(script.sender.counters().fast_retransmits, 1);
}

#[test]
fn a_second_hole_of_the_window_starts_one_while_it_resends() {
    let mut script = repeating();
    script.at(ms(200)).ack(4 * MSS);
    script.skip();
    script.duplicates(3);
    script.expect(&[nth(4)]);
    assert_eq!(script.sender.counters().fast_retransmits, 2);
    assert_eq!(script.cwnd(), 1);
}

#[test]
fn a_hole_beyond_the_window_starts_one() {
    let mut script = repeating();
    script.at(ms(200)).ack(8 * MSS);
    script.at(ms(300)).ack(9 * MSS);
    script.skip();
    script.duplicates(3);
    script.expect(&[nth(9)]);
    assert_eq!(script.sender.counters().fast_retransmits, 2);
}

/// 4.3BSD-Tahoe: `snd_nxt` goes back to where it was, so that what is beyond the lost segment counts as in flight.
#[test]
fn the_lost_segment_alone_is_resent_if_it_is_to() {
    let settings = |tahoe_resends| TcpConfig { tahoe_resends, ..config(Recovery::Tahoe, 8) };
    for (resends, after_partial) in
        [(TahoeResends::GoBackN, vec![nth(4), nth(5)]), (TahoeResends::LostSegment, vec![])]
    {
        let mut script = Script::greedy(&settings(resends));
        script.skip();
        script.at(ms(100)).duplicates(3);
        script.expect(&[nth(0)]);
        // Segment 4 is lost, too: without duplicates it waits for the timer, and then all is resent from there on.
        script.at(ms(200)).ack(4 * MSS);
        script.expect(&after_partial);
        assert_eq!(script.cwnd(), 2);
        if resends == TahoeResends::LostSegment {
            script.duplicates(2);
            script.expect_nothing();
            script.at(ms(1500));
            script.expect(&[nth(4)]);
            script.at(ms(1600)).ack(5 * MSS);
            script.expect(&[nth(5), nth(6)]);
        }
    }
    let mut script = Script::greedy(&settings(TahoeResends::LostSegment));
    script.skip();
    script.at(ms(100)).duplicates(7);
    script.expect(&[nth(0)]);
    script.at(ms(200)).ack(8 * MSS);
    script.expect(&[nth(8), nth(9)]);
}
