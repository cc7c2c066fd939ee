//! No moderation of the window after it has fallen, as in Linux since 3.7: `tcp_end_cwnd_reduction` sets it to ssthresh,
//! and an undo to what it was, however little is in flight.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{Counting, GrowWhen, Halving};
use varicap_tcp::{EcnMode, Flags, RackConfig, Recovery, Segment, TcpConfig};

fn linux(initial_window: u64) -> TcpConfig {
    TcpConfig {
        counting: Counting::Segments,
        grow_when: GrowWhen::WindowUsed,
        halving: Halving::Window,
        reduce_once: true,
        ecn: EcnMode::Classic,
        ..config(Recovery::Rack(RackConfig::linux()), initial_window)
    }
}

/// How much leaves at once when the application has more.
fn burst(script: &mut Script) -> usize {
    let before = script.log().len();
    script.write(100 * MSS);
    script.log().len() - before
}

#[test]
fn after_recovery_the_window_is_ssthresh_with_nothing_in_flight() {
    let mut script = Script::offering(&linux(40), 40 * MSS);
    let held = MSS..40 * MSS;
    script.at(ms(100)).sack(0, std::slice::from_ref(&held));
    assert_eq!((script.in_flight(), script.ssthresh()), (1, 20));
    script.at(ms(200)).ack(40 * MSS);
    assert_eq!((script.cwnd(), script.in_flight()), (20, 0));
    assert_eq!(burst(&mut script), 20);
}

#[test]
fn after_an_undo_the_window_is_what_it_was_with_nothing_in_flight() {
    let mut script = Script::offering(&TcpConfig { timestamps: true, ..linux(40) }, 40 * MSS);
    let held = MSS..40 * MSS;
    script.at(ms(100)).sack(0, std::slice::from_ref(&held));
    script.at(ms(101));
    // The original arrived after all: the echo is of the time before the retransmission.
    let late = Segment {
        ack: 40 * MSS,
        sent_at: ms(101),
        echo: ms(0),
        window: u32::MAX,
        flags: Flags::ACK,
        wire_size: 40,
        ..Segment::default()
    };
    script.push(late);
    // And slow start goes on: one segment newly arrived.
    assert_eq!((script.cwnd(), script.in_flight()), (41, 0));
    assert_eq!(burst(&mut script), 41);
}

/// RFC 9937: an acknowledgement that advances and shows no loss lets a segment more out than arrived, after a mark too.
#[test]
fn after_a_mark_the_window_follows_what_is_in_flight_until_it_is_ssthresh() {
    let mut script = Script::offering(&linux(16), 4 * MSS);
    let marked = Segment {
        ack: MSS,
        echo: ms(0),
        window: u32::MAX,
        flags: Flags::ACK.with(Flags::ECE),
        wire_size: 40,
        ..Segment::default()
    };
    script.at(ms(100)).push(marked);
    assert_eq!((script.in_flight(), script.cwnd(), script.ssthresh()), (3, 5, 8));
    script.at(ms(101)).ack(4 * MSS);
    assert_eq!(script.cwnd(), 5, "the reduction is reported with the next data");
    script.write(MSS);
    script.at(ms(200)).ack(5 * MSS);
    assert_eq!((script.cwnd(), script.in_flight()), (8, 0));
    assert_eq!(burst(&mut script), 8);
}
