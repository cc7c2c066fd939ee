//! Duplicates reported in the first SACK block: RFC 2883, by the cases of its section 4.

use crate::common;

use std::ops::Range;

use common::{MSS, Script, answer, config, data, held, ms, nth};
use varicap_tcp::{RackConfig, Receiver, Recovery, Segment, State, TcpConfig};
use varicap_units::{Amount, Time};

fn reporting(recovery: Recovery) -> TcpConfig {
    TcpConfig { dsack: true, ..config(recovery, 10) }
}

fn receiver() -> Receiver {
    Receiver::new(&reporting(Recovery::Sack), Time::ZERO)
}

/// Any bytes for a receiver.
fn bytes(range: Range<u64>) -> Segment {
    Segment { seq: range.start, len: (range.end - range.start) as u32, wire_size: 1040, ..Segment::default() }
}

/// The edges of a SACK block [B].
type Block = (u64, u64);

/// The answer to data: acknowledgement number, the duplicate, and all blocks.
fn heard(receiver: &mut Receiver, at: u64, range: Range<u64>) -> (u64, Option<Block>, Vec<Block>) {
    let acks = answer(receiver, ms(at), &bytes(range));
    assert_eq!(acks.len(), 1);
    (acks[0].ack, acks[0].duplicate_block(), acks[0].blocks().collect())
}

#[test]
fn a_full_duplicate_below_the_acknowledgement_is_reported_once() {
    // §4.1.1: the acknowledgements of 3000-3499 and 3500-3999 were lost.
    let mut receiver = receiver();
    for start in (0..4000).step_by(500) {
        heard(&mut receiver, 0, start..start + 500);
    }
    assert_eq!(heard(&mut receiver, 1, 3000..3500), (4000, Some((3000, 3500)), vec![(3000, 3500)]));
    // §4 (1): each duplicate once.
    assert_eq!(heard(&mut receiver, 2, 4000..4500), (4500, None, vec![]));
}

#[test]
fn a_duplicate_beside_data_that_is_missing_comes_before_its_blocks() {
    // §4.1.2: 3000-3499 is duplicated, 4000-4499 is missing.
    let mut receiver = receiver();
    for start in (0..4000).step_by(500) {
        heard(&mut receiver, 0, start..start + 500);
    }
    assert_eq!(heard(&mut receiver, 1, 4500..5000), (4000, None, vec![(4500, 5000)]));
    assert_eq!(
        heard(&mut receiver, 2, 3000..3500),
        (4000, Some((3000, 3500)), vec![(3000, 3500), (4500, 5000)])
    );
}

#[test]
fn a_duplicate_of_data_out_of_order_is_followed_by_the_block_that_holds_it() {
    // §4.1.3.
    let mut receiver = receiver();
    heard(&mut receiver, 0, 0..4000);
    heard(&mut receiver, 1, 4500..5000);
    heard(&mut receiver, 2, 5000..5500);
    assert_eq!(
        heard(&mut receiver, 3, 5000..5500),
        (4000, Some((5000, 5500)), vec![(5000, 5500), (4500, 5500)])
    );
    assert_eq!(heard(&mut receiver, 4, 5500..6000), (4000, None, vec![(4500, 6000)]));
}

#[test]
fn only_the_part_that_is_duplicate_is_reported() {
    // §4.2.1: 500-999 is there, 500-1499 arrives.
    let mut receiver = receiver();
    heard(&mut receiver, 0, 0..1000);
    assert_eq!(heard(&mut receiver, 1, 500..1500), (1500, Some((500, 1000)), vec![(500, 1000)]));
    // §4.2.2: the same out of order.
    assert_eq!(heard(&mut receiver, 2, 3000..3500).0, 1500);
    assert_eq!(
        heard(&mut receiver, 3, 3000..4000),
        (1500, Some((3000, 3500)), vec![(3000, 3500), (3000, 4000)])
    );
}

#[test]
fn of_several_duplicates_in_a_segment_the_first_is_reported() {
    // §4.2.3: 500-999 and 1500-1999 are held, 0-1999 arrives.
    let mut receiver = receiver();
    heard(&mut receiver, 0, 500..1000);
    heard(&mut receiver, 1, 1500..2000);
    assert_eq!(heard(&mut receiver, 2, 0..2000), (2000, Some((500, 1000)), vec![(500, 1000)]));
}

#[test]
fn the_duplicate_takes_the_room_of_a_block_and_counts_on_the_wire() {
    let mut receiver = receiver();
    heard(&mut receiver, 0, 0..1000);
    for number in [2, 4, 6, 8] {
        answer(&mut receiver, ms(number), &data(number));
    }
    let ack = answer(&mut receiver, ms(9), &data(0))[0];
    assert_eq!(ack.blocks().collect::<Vec<_>>(), [(0, 1000), (8000, 9000), (6000, 7000), (4000, 5000)]);
    assert_eq!((ack.sack_count, ack.wire_size), (4, 40 + 36));
    // A lone duplicate needs an option too.
    let mut receiver = self::receiver();
    heard(&mut receiver, 0, 0..1000);
    assert_eq!(answer(&mut receiver, ms(1), &data(0))[0].wire_size, 40 + 12);
}

#[test]
fn it_is_reported_only_on_request_and_with_sack() {
    for config in [config(Recovery::Sack, 10), reporting(Recovery::NewReno)] {
        let mut receiver = Receiver::new(&config, Time::ZERO);
        answer(&mut receiver, ms(0), &data(0));
        let ack = answer(&mut receiver, ms(1), &data(0))[0];
        assert_eq!((ack.sack_count, ack.duplicate_block()), (0, None));
    }
}

#[test]
fn blocks_without_a_duplicate_report_none() {
    let mut receiver = receiver();
    for number in [1, 3, 5] {
        let ack = answer(&mut receiver, ms(number), &data(number))[0];
        assert!(ack.sack_count > 0 && ack.duplicate_block().is_none());
    }
}

/// An acknowledgement with blocks that may lie below it.
fn acknowledging(ack: u64, blocks: &[Range<u64>]) -> Segment {
    let mut segment = Segment { ack, window: u32::MAX, flags: varicap_tcp::Flags::ACK, ..Segment::default() };
    for block in blocks {
        let edges = segment.offset(block.start).zip(segment.offset(block.end)).expect("near");
        segment.sack[usize::from(segment.sack_count)] = edges;
        segment.sack_count += 1;
    }
    segment
}

#[test]
fn a_sender_holds_a_duplicate_for_no_news() {
    let mut script = Script::greedy(&reporting(Recovery::Sack));
    script.at(ms(100)).ack(4 * MSS);
    let before = script.sender.beliefs();
    for _ in 0..5 {
        script.push(acknowledging(4 * MSS, &[held(1, 2)]));
    }
    assert_eq!((script.sender.beliefs(), script.sender.state()), (before, State::Open));
    // One inside of a block that is known changes nothing either.
    script.push(acknowledging(4 * MSS, &[held(6, 8)]));
    let before = script.sender.beliefs();
    assert_eq!(before.unwrap().sacked, 2 * MSS);
    script.skip();
    for _ in 0..5 {
        script.push(acknowledging(4 * MSS, &[held(6, 7), held(6, 8)]));
    }
    assert_eq!((script.sender.beliefs(), script.sender.state()), (before, State::Disorder));
    assert!(script.log().iter().all(|sent| sent.data != nth(4) || sent.at == ms(0)), "nothing is resent");
}

/// RFC 6675 §2 (DupAck), RFC 5681 §2: what reports duplicates shows no loss and lets nothing out, however often, in any
/// recovery; those that go on saying the same after it do.
#[test]
fn a_reported_duplicate_is_no_duplicate_acknowledgement() {
    let family = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno];
    let selective =
        [Recovery::Sack, Recovery::Rack(RackConfig { tail_loss_probe: false, ..RackConfig::default() })];
    for recovery in family.into_iter().chain(selective) {
        let config =
            TcpConfig { limited_transmit: true, initial_ssthresh: Amount::Packets(6), ..reporting(recovery) };
        let mut script = Script::greedy(&config);
        script.at(ms(100)).ack(2 * MSS);
        script.skip();
        for _ in 0..5 {
            script.at(ms(101)).sack(2 * MSS, &[held(0, 1)]);
        }
        script.expect_nothing();
        assert_eq!(script.sender.state(), State::Open, "{recovery:?}");
        if !recovery.is_selective() {
            script.duplicates(3);
            assert!(script.log().last().is_some_and(|sent| sent.data == nth(2)), "{recovery:?}");
        }
    }
}

/// The same in fast recovery: no window is inflated by it (RFC 5681 §3.2 (4)), and no new data lets it out.
#[test]
fn a_reported_duplicate_inflates_no_window() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = Script::greedy(&reporting(recovery));
        script.at(ms(100)).ack(MSS);
        for end in 3..=8 {
            if recovery.is_selective() {
                script.sack(MSS, &[held(2, end)]);
            } else {
                script.duplicates(1);
            }
        }
        assert_eq!(script.sender.state(), State::Recovery, "{recovery:?}");
        script.skip();
        for _ in 0..4 {
            script.at(ms(101)).sack(MSS, &[held(0, 1)]);
        }
        script.expect_nothing();
    }
}
