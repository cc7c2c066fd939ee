//! Timeouts that were spurious, and other reductions that are taken back. Source: RFC 5682, RFC 4015, RFC 3708.

use crate::common;

use common::*;
use varicap_tcp::{EchoCheck, Flags, RackConfig, Recovery, Segment, State, TcpConfig};

fn testing() -> TcpConfig {
    let rack = RackConfig { frto: true, undo: true, tail_loss_probe: false, ..RackConfig::default() };
    TcpConfig { timer: timer(200, 1), ..config(Recovery::Rack(rack), 5) }
}

/// A sender whose retransmission timer has just expired at 400 ms, with segments 5 to 14 in flight and cwnd 10.
fn expired(config: &TcpConfig) -> Script {
    let mut script = Script::greedy(config);
    for number in 1..=5 {
        script.at(ms(100)).ack(number * MSS);
    }
    assert_eq!((script.cwnd(), script.in_flight()), (10, 10));
    script.skip();
    script.at(ms(400));
    script.expect(&[nth(5)]);
    assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 1));
    script
}

/// RFC 5682 §3.1 (2 b) and (3 b): late acknowledgements of originals show that nothing was lost.
#[test]
fn a_spurious_timeout_is_recognised_by_new_data_and_undone() {
    let mut script = expired(&testing());
    // The acknowledgement of the original segment 5, late. Two new segments go out, and no retransmission.
    script.at(ms(410)).ack(6 * MSS);
    script.expect(&segments(15, 2));
    script.at(ms(411)).ack(7 * MSS);
    assert_eq!((script.sender.state(), script.sender.counters().timeouts), (State::Open, 1));
    assert!(script.cwnd() >= 10, "cwnd {}", script.cwnd());
    assert!(script.log().iter().filter(|sent| sent.at > ms(400)).all(|sent| sent.data.start >= 15 * MSS));
}

/// RFC 5682 §3.1 (3 a): a duplicate shows that the timeout was right.
#[test]
fn a_genuine_timeout_resends_after_the_test() {
    let mut script = expired(&testing());
    // Segment 5, resent, arrives; the others are gone.
    script.at(ms(500)).ack(6 * MSS);
    script.expect(&segments(15, 2));
    script.at(ms(600)).sack(6 * MSS, &[held(15, 16)]);
    assert_eq!(script.sender.state(), State::Loss);
    let next = script.log().last().expect("something").data.clone();
    assert!(next.start < 15 * MSS, "{next:?} is no retransmission");
    assert_eq!(script.ssthresh(), 5);
}

/// RFC 5682 §3.1 (3 b): the receiver had the resent segment already, and says so before the next original arrives. That is
/// no duplicate acknowledgement (RFC 2883; Linux d9157f6806d1), whether a probe of the tail went before or not.
#[test]
fn a_reported_duplicate_does_not_end_the_test() {
    for tail_loss_probe in [false, true] {
        let recovery = Recovery::Rack(RackConfig { tail_loss_probe, ..RackConfig::linux() });
        let mut script = Script::offering(&TcpConfig { recovery, ..testing() }, 15 * MSS);
        for number in 1..=5 {
            script.at(ms(100)).ack(number * MSS);
        }
        script.at(ms(650));
        assert_eq!((script.sender.state(), &script.last().data), (State::Loss, &nth(5)));
        assert_eq!(script.sender.counters().retransmitted_packets, 1 + u64::from(tail_loss_probe));
        script.write(10 * MSS);
        script.at(ms(660)).ack(6 * MSS);
        assert!(script.last().data.start >= 15 * MSS, "{:?} is no new data", script.last());
        script.at(ms(661)).sack(6 * MSS, &[nth(5)]);
        assert_eq!(script.sender.state(), State::Loss);
        script.at(ms(662)).ack(7 * MSS);
        assert_eq!(script.sender.state(), State::Open);
        assert!(script.cwnd() >= 10, "cwnd {}", script.cwnd());
        assert!(
            script.log().iter().filter(|sent| sent.at >= ms(660)).all(|sent| sent.data.start >= 15 * MSS)
        );
    }
}

/// RFC 5682 §3.1 (3 a): what the path has doubled was not resent; the duplicate that reports it counts, as in Linux
/// (`tcp_dsack_seen`).
#[test]
fn a_duplicate_of_what_was_not_resent_ends_the_test() {
    let mut script = expired(&testing());
    script.at(ms(410)).ack(6 * MSS);
    script.expect(&segments(15, 2));
    script.at(ms(411)).sack(6 * MSS, &[held(1, 4)]);
    script.at(ms(412)).ack(7 * MSS);
    assert_eq!(script.sender.state(), State::Loss);
}

/// RFC 5682 §3.1 (2 b): without new data to send there is no test.
#[test]
fn without_new_data_a_timeout_is_taken_at_its_word() {
    let mut script = Script::offering(&testing(), 10 * MSS);
    script.at(ms(100)).ack(5 * MSS);
    script.skip();
    script.at(ms(400));
    script.expect(&[nth(5)]);
    script.at(ms(500)).ack(6 * MSS);
    script.expect(&segments(6, 2));
}

/// An acknowledgement of segment 5 as it left first.
fn late() -> Segment {
    Segment {
        ack: 6 * MSS,
        echo: ms(100),
        flags: Flags::ACK,
        window: u32::MAX,
        wire_size: 40,
        ..Segment::default()
    }
}

/// RFC 4015 §3: a timestamp from before the retransmission shows that the original arrived.
#[test]
fn timestamps_undo_a_timeout_at_the_first_acknowledgement() {
    let rack = RackConfig { undo: true, tail_loss_probe: false, ..RackConfig::default() };
    let config = TcpConfig { timestamps: true, recovery: Recovery::Rack(rack), ..testing() };
    let mut script = expired(&config);
    script.at(ms(410)).push(late());
    assert_eq!(script.sender.state(), State::Open);
    assert!(script.cwnd() >= 10, "cwnd {}", script.cwnd());
    let rack = RackConfig { undo: false, ..rack };
    let config = TcpConfig { recovery: Recovery::Rack(rack), ..config };
    let mut script = expired(&config);
    script.at(ms(410)).push(late());
    assert_eq!((script.sender.state(), script.cwnd()), (State::Loss, 2));
}

/// RFC 8985 §6.2 step 2: the link was out for so long that the round trip would fit the retransmission, too. It was the
/// original that arrived, which says of nothing that left after it that it is lost.
#[test]
fn after_an_outage_nothing_is_resent_that_only_came_late() {
    for check_echo in [EchoCheck::Always, EchoCheck::Cumulative] {
        let rack = RackConfig { tail_loss_probe: false, check_echo, ..RackConfig::linux() };
        let config = TcpConfig { timestamps: true, recovery: Recovery::Rack(rack), ..testing() };
        let mut script = expired(&config);
        script.at(ms(690)).push(late());
        assert_eq!(script.sender.state(), State::Open, "{check_echo:?}");
        assert!(script.log().iter().filter(|sent| sent.at > ms(400)).all(|sent| sent.data.start >= 15 * MSS));
    }
}

/// RFC 3708 §3: every retransmission of a recovery was reported as a duplicate.
#[test]
fn duplicates_of_all_retransmissions_undo_a_recovery() {
    let mut script = Script::greedy(&testing());
    for number in 1..=5 {
        script.at(ms(100)).ack(number * MSS);
    }
    script.at(ms(200)).sack(5 * MSS, &[held(6, 9)]);
    assert_eq!(
        (script.sender.state(), script.cwnd(), script.last().data.clone()),
        (State::Recovery, 5, nth(5))
    );
    script.at(ms(201)).ack(15 * MSS);
    assert_eq!((script.sender.state(), script.cwnd() < 10), (State::Open, true));
    // The retransmission arrives after all, and is reported (RFC 2883).
    let mut report = script.last().segment;
    report = varicap_tcp::Segment {
        ack: 15 * MSS,
        flags: varicap_tcp::Flags::ACK,
        window: u32::MAX,
        len: 0,
        seq: 0,
        ..report
    };
    report.sack[0] = (report.offset(5 * MSS).expect("near"), report.offset(6 * MSS).expect("near"));
    report.sack_count = 1;
    assert_eq!(report.duplicate_block(), Some((5 * MSS, 6 * MSS)));
    script.at(ms(300)).push(report);
    assert!(script.cwnd() >= 10, "cwnd {}", script.cwnd());
}

/// RFC 5682 §3.1: an original that is SACKed late shows it, too, and the next timeout is the first one again.
#[test]
fn a_timeout_that_is_undone_counts_as_none() {
    let mut script = expired(&testing());
    script.at(ms(410)).sack(5 * MSS, &[held(6, 7)]);
    assert_eq!((script.sender.state(), script.sender.expiries()), (State::Disorder, 0));
    assert!(script.cwnd() >= 10, "cwnd {}", script.cwnd());
}
