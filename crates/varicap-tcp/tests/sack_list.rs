//! Which blocks a receiver reports: all that it holds around a segment, or Linux's list of four.
//! Source: `tcp_sack_new_ofo_skb`, `tcp_sack_remove` and `tcp_sack_compress_send_ack` in Linux's net/ipv4/tcp_input.c.

use crate::common;

use common::{MSS, answer, config, data, ms};
use varicap_tcp::{AckPolicy, DelayedAck, Receiver, Recovery, SackList, TcpConfig};
use varicap_units::{Span, Time};

fn receiver(sack_list: SackList) -> Receiver {
    Receiver::new(&TcpConfig { sack_list, ..config(Recovery::Sack, 10) }, Time::ZERO)
}

/// The blocks, in segments, of the last acknowledgement after these segments.
fn reported(receiver: &mut Receiver, numbers: &[u64]) -> Vec<(u64, u64)> {
    let mut last = Vec::new();
    for &number in numbers {
        let acks = answer(receiver, ms(1), &data(number));
        last = acks[0].blocks().map(|(start, end)| (start / MSS, end / MSS)).collect();
    }
    last
}

#[test]
fn linux_grows_what_it_has_reported_and_forgets_the_fifth_block() {
    let apart = [2, 4, 6, 8];
    for list in [SackList::Held, SackList::Linux] {
        let mut receiver = receiver(list);
        assert_eq!(reported(&mut receiver, &apart), [(8, 9), (6, 7), (4, 5), (2, 3)]);
        assert_eq!(reported(&mut receiver, &[10]), [(10, 11), (8, 9), (6, 7), (4, 5)]);
        // Segment 2 is held, and pushed out of the list; segment 3 lies between it and 4.
        let grown = if list == SackList::Linux { (3, 5) } else { (2, 5) };
        assert_eq!(reported(&mut receiver, &[3]), [grown, (10, 11), (8, 9), (6, 7)]);
        // Two that are reported become one.
        assert_eq!(reported(&mut receiver, &[7]), [(6, 9), grown, (10, 11)]);
    }
}

#[test]
fn what_is_in_order_leaves_the_list_and_what_was_forgotten_does_not_come_back() {
    let mut receiver = receiver(SackList::Linux);
    reported(&mut receiver, &[20, 8, 6, 4, 2]);
    assert_eq!(reported(&mut receiver, &[0, 1]), [(4, 5), (6, 7), (8, 9)]);
    assert_eq!(reported(&mut receiver, &[3, 5, 7]), [], "segment 20 is held, and nobody says so");
    assert_eq!(receiver.out_of_order().as_u64(), MSS);
    assert_eq!(reported(&mut receiver, &[21]), [(21, 22)], "nor is it told with its neighbour");
}

#[test]
fn timestamps_leave_room_for_three_of_the_four() {
    let config = TcpConfig { sack_list: SackList::Linux, timestamps: true, ..config(Recovery::Sack, 10) };
    let mut receiver = Receiver::new(&config, Time::ZERO);
    assert_eq!(reported(&mut receiver, &[2, 4, 6, 8]), [(8, 9), (6, 7), (4, 5)]);
    // The fourth was remembered.
    assert_eq!(reported(&mut receiver, &[3]), [(2, 5), (8, 9), (6, 7)]);
}

#[test]
fn what_compression_saved_leaves_before_a_block_that_is_not_among_the_first() {
    let ack = AckPolicy::Delayed(DelayedAck {
        sack_compression: Some(Span::from_millis(1)),
        ..DelayedAck::default()
    });
    let config = TcpConfig { ack, sack_list: SackList::Linux, ..config(Recovery::Sack, 10) };
    let mut receiver = Receiver::new(&config, Time::ZERO);
    for number in [2, 4, 6] {
        assert_eq!(answer(&mut receiver, ms(0), &data(number)).len(), 1);
    }
    assert!(answer(&mut receiver, ms(1), &data(7)).is_empty(), "the fourth waits");
    let saved = answer(&mut receiver, ms(1), &data(10));
    let blocks: Vec<_> = saved.iter().map(|ack| ack.blocks().collect::<Vec<_>>()).collect();
    assert_eq!(blocks, [[(6 * MSS, 8 * MSS), (4 * MSS, 5 * MSS), (2 * MSS, 3 * MSS)]], "as they were");
    // The block that came then waits for its own.
    let due = ms(2) + Span::from_micros(100);
    assert_eq!(receiver.poll_at(), due);
    let ack = receiver.poll(due).expect("its time has come");
    assert_eq!(ack.blocks().next(), Some((10 * MSS, 11 * MSS)));
}

#[test]
fn a_timer_of_an_acknowledgement_that_has_left_sends_what_compression_saved() {
    let ack = AckPolicy::Delayed(DelayedAck {
        sack_compression: Some(Span::from_millis(1)),
        ..DelayedAck::default()
    });
    let config = TcpConfig { ack, ..config(Recovery::Sack, 10) };
    let mut receiver = Receiver::new(&config, Time::ZERO);
    assert!(answer(&mut receiver, ms(0), &data(0)).is_empty(), "until 40 ms");
    for number in [2, 3, 4] {
        assert_eq!(answer(&mut receiver, ms(39), &data(number)).len(), 1);
    }
    let saved = ms(39) + Span::from_micros(500);
    assert!(answer(&mut receiver, saved, &data(5)).is_empty());
    assert_eq!(receiver.poll_at(), ms(40), "tcp_delack_timer_handler");
    assert_eq!(receiver.poll(ms(40)).map(|ack| ack.blocks().count()), Some(1));
    // It expires once.
    assert!(answer(&mut receiver, ms(41), &data(6)).is_empty());
    assert_eq!(receiver.poll_at(), ms(42) + Span::from_micros(100));
}
