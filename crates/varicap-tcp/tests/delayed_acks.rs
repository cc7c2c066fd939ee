//! Delayed acknowledgements as Linux sends them, one option at a time; the standards' are in rfc1122.rs.

use crate::common;

use common::{MSS, answer, config, data, ms};
use varicap_tcp::{AckPolicy, DelayedAck, Flags, Receiver, Recovery, Segment, TcpConfig};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Span, Time};

fn plain() -> DelayedAck {
    DelayedAck::default()
}

fn with(ack: DelayedAck) -> Receiver {
    Receiver::new(&TcpConfig { ack: AckPolicy::Delayed(ack), ..config(Recovery::Sack, 10) }, Time::ZERO)
}

/// A segment of any length.
fn short(number: u64, seq: u64, len: u32) -> Segment {
    Segment { seq, len, ..data(number) }
}

/// Which of the segments 0, 1, … that arrive at these instants [ms] are acknowledged at once.
fn at_once(receiver: &mut Receiver, arrivals: &[u64]) -> Vec<u64> {
    let first = receiver.delivered() / MSS;
    let mut acknowledged = Vec::new();
    for (number, &at) in (first..).zip(arrivals) {
        while receiver.poll_at() < ms(at) {
            let expired = receiver.poll_at();
            receiver.poll(expired).expect("its time has come");
        }
        if !answer(receiver, ms(at), &data(number)).is_empty() {
            acknowledged.push(number);
        }
    }
    acknowledged
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let mut receiver = with(DelayedAck { quick: 3, ..plain() });
    assert_eq!(at_once(&mut receiver, &[0, 1, 2, 3, 4, 5, 6]), [0, 1, 2, 4, 6]);
}

#[test]
fn no_more_than_half_of_the_window_is() {
    let ack = AckPolicy::Delayed(DelayedAck { quick: 16, ..plain() });
    let window = Amount::Bytes(Bytes::new(8 * MSS));
    let config = TcpConfig { ack, receive_window: window, ..config(Recovery::Sack, 10) };
    let mut receiver = Receiver::new(&config, Time::ZERO);
    assert_eq!(at_once(&mut receiver, &[0, 1, 2, 3, 4, 5, 6, 7]), [0, 1, 2, 3, 5, 7]);
}

#[test]
fn after_a_pause_longer_than_an_rto_they_are_again() {
    // Nothing is known of the round-trip time: the RTO is a second.
    let arrivals = [0, 1, 2, 3, 900, 901, 902, 2000, 2001, 2002, 2003];
    let mut receiver = with(DelayedAck { quick: 2, ..plain() });
    assert_eq!(at_once(&mut receiver, &arrivals), [0, 1, 3, 5, 7, 8, 10]);
}

#[test]
fn the_handshake_says_how_long_an_rto_is() {
    let mut receiver = with(DelayedAck { quick: 2, ..plain() });
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    assert_eq!(answer(&mut receiver, ms(0), &syn).len(), 1);
    // 20 ms later the first data: an RTO of 220 ms.
    assert_eq!(at_once(&mut receiver, &[20, 21, 22, 23, 240, 241, 470, 471]), [0, 1, 3, 5, 6, 7]);
}

/// Linux measures it when a SYN-ACK is acknowledged, with data or without.
#[test]
fn a_pause_before_the_first_data_is_no_part_of_the_handshake() {
    let mut receiver = with(DelayedAck { quick: 2, ..plain() });
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    answer(&mut receiver, ms(0), &syn);
    let ack = Segment { flags: Flags::ACK, ..Segment::default() };
    assert!(answer(&mut receiver, ms(20), &ack).is_empty());
    // An RTO of 220 ms, as if data had come at once.
    assert_eq!(at_once(&mut receiver, &[900, 901, 902, 903, 1120, 1121, 1350, 1351]), [0, 1, 3, 5, 6, 7]);
}

#[test]
fn a_duplicate_makes_the_next_ones_quick() {
    let mut receiver = with(DelayedAck { quick: 4, ..plain() });
    at_once(&mut receiver, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(answer(&mut receiver, ms(6), &data(0)).len(), 1);
    // Four were granted, and the acknowledgement of the duplicate was one of them.
    assert_eq!(at_once(&mut receiver, &[7, 8, 9, 10, 11, 12]), [6, 7, 8, 10]);
}

#[test]
fn a_mark_makes_two_quick_and_cwr_is_answered_at_once() {
    let mut receiver = with(DelayedAck { quick: 16, ..plain() });
    at_once(&mut receiver, &[0; 17]);
    let marked = |number, flags| Segment { flags, ..data(number) };
    let ce = Flags::ECT.with(Flags::CE);
    assert_eq!(answer(&mut receiver, ms(1), &marked(17, ce)).len(), 1);
    assert_eq!(answer(&mut receiver, ms(2), &marked(18, ce)).len(), 1);
    assert!(answer(&mut receiver, ms(3), &marked(19, ce)).is_empty(), "only the first mark counts");
    answer(&mut receiver, ms(4), &marked(20, ce));
    let ack = answer(&mut receiver, ms(5), &marked(21, Flags::ECT.with(Flags::CWR)));
    assert!(ack.len() == 1 && !ack[0].flags.has(Flags::ECE));
}

#[test]
fn data_without_ect_makes_two_quick_where_other_data_had_it() {
    let mut receiver = with(DelayedAck { quick: 16, ..plain() });
    at_once(&mut receiver, &[0; 17]);
    let capable = |number| Segment { flags: Flags::ECT, ..data(number) };
    answer(&mut receiver, ms(1), &data(17));
    assert!(answer(&mut receiver, ms(1), &capable(18)).is_empty(), "none was capable before");
    answer(&mut receiver, ms(2), &capable(19));
    let answers = (20..24).map(|number| answer(&mut receiver, ms(3), &data(number)).len());
    assert_eq!(answers.collect::<Vec<_>>(), [1, 1, 1, 1], "probably resent, each of them");
    // One of the two is left for what comes next.
    let answers = (24..27).map(|number| answer(&mut receiver, ms(3), &capable(number)).len());
    assert_eq!(answers.collect::<Vec<_>>(), [1, 0, 1]);
}

/// Marks, CWR and data that is not ECN-capable shorten the waiting of those alone who ever acknowledge at once.
#[test]
fn without_quick_acknowledgements_ecn_changes_no_delay() {
    let capable = |number, more: Flags| Segment { flags: Flags::ECT.with(more), ..data(number) };
    let cases = [capable(1, Flags::CE), capable(1, Flags::CWR), data(1)];
    for segment in cases {
        let mut receiver = with(adaptive());
        answer(&mut receiver, ms(0), &capable(0, Flags::default()));
        // In vain: from now on it waits 80 ms.
        receiver.poll(ms(40)).expect("its time has come");
        assert!(answer(&mut receiver, ms(500), &segment).is_empty(), "{segment:?}");
        assert_eq!(receiver.poll_at(), ms(580), "{segment:?}");
    }
    let mut receiver = with(adaptive());
    answer(&mut receiver, ms(0), &data(0));
    receiver.poll(ms(40)).expect("its time has come");
    assert_eq!(answer(&mut receiver, ms(400), &data(0)).len(), 1, "a duplicate");
    answer(&mut receiver, ms(500), &data(1));
    assert_eq!(receiver.poll_at(), ms(580));
}

#[test]
fn bytes_are_counted_and_not_segments() {
    let mut segments = with(plain());
    assert!(answer(&mut segments, ms(0), &short(0, 0, 400)).is_empty());
    assert_eq!(answer(&mut segments, ms(0), &short(1, 400, 400)).len(), 1);
    let mut bytes = with(DelayedAck { count_bytes: true, ..plain() });
    for start in [0, 400] {
        assert!(answer(&mut bytes, ms(0), &short(0, start, 400)).is_empty());
    }
    assert_eq!(answer(&mut bytes, ms(0), &short(0, 800, 400))[0].ack, 1200, "more than a segment");
    // A whole segment is not more than a segment.
    assert!(answer(&mut bytes, ms(1), &short(0, 1200, 1000)).is_empty());
    assert_eq!(answer(&mut bytes, ms(1), &short(0, 2200, 1))[0].ack, 2201);
}

#[test]
fn a_short_segment_is_acknowledged_as_soon_as_it_is_read() {
    let policy = DelayedAck { short_at_once: true, ..plain() };
    let mut receiver = with(policy);
    assert!(answer(&mut receiver, ms(0), &data(0)).is_empty());
    assert_eq!(answer(&mut receiver, ms(0), &short(0, MSS, 1))[0].ack, MSS + 1);
    assert_eq!(answer(&mut receiver, ms(1), &short(0, MSS + 1, 999))[0].ack, 2 * MSS);
    let mut unread = with(policy);
    unread.read_on_demand();
    assert!(answer(&mut unread, ms(0), &short(0, 0, 999)).is_empty());
}

/// Linux since 6.6 (`tcp_measure_rcv_mss`): the end of a write is the end of what there is to say, whatever its size.
#[test]
fn a_full_segment_with_which_a_write_ends_is_acknowledged_as_soon_as_it_is_read() {
    let pushed = |number| Segment { flags: Flags::PUSH, ..data(number) };
    let policy = DelayedAck { pushed_at_once: true, ..plain() };
    let mut receiver = with(policy);
    assert!(answer(&mut receiver, ms(0), &data(0)).is_empty());
    assert_eq!(answer(&mut receiver, ms(0), &data(1)).len(), 1);
    assert_eq!(answer(&mut receiver, ms(1), &pushed(2)).len(), 1);
    assert!(answer(&mut receiver, ms(2), &data(3)).is_empty());
    // Data that goes the other way may carry it.
    receiver.acknowledge(ms(3));
    assert!(answer(&mut receiver, ms(4), &pushed(4)).is_empty());
    let mut unread = with(policy);
    unread.read_on_demand();
    assert!(answer(&mut unread, ms(0), &pushed(0)).is_empty(), "nobody has read it");
    assert!(answer(&mut with(plain()), ms(0), &pushed(0)).is_empty(), "the standard waits for a second one");
}

/// When the acknowledgement of the last segment is due, if each comes alone [ms after it].
fn delay_after(policy: DelayedAck, arrivals: &[u64]) -> f64 {
    let mut receiver = with(policy);
    at_once(&mut receiver, arrivals);
    let last = *arrivals.last().expect("some");
    (receiver.poll_at() - ms(last)).as_millis_f64()
}

fn adaptive() -> DelayedAck {
    DelayedAck { segments: 100, maximum: Some(Span::from_millis(200)), ..plain() }
}

#[test]
fn the_delay_follows_the_pauses() {
    assert_eq!(delay_after(plain(), &[0, 100, 200]), 40.0);
    assert_eq!(delay_after(adaptive(), &[0]), 40.0);
    // Waited for in vain once: 80 ms, and a pause of 50 ms: 40 + 50.
    assert_eq!(delay_after(adaptive(), &[0, 50]), 90.0);
    // Three times in vain: 80, 160 and 320 ms, of which no more than the maximum is used.
    assert_eq!(delay_after(adaptive(), &[0, 500, 1000, 1500]), 200.0);
    // A short pause takes away half of what is beyond the least: 80/2 + 20, of which 5 ms later all is left.
    assert_eq!(delay_after(DelayedAck { segments: 2, ..adaptive() }, &[0, 80, 85, 90]), 50.0);
}

#[test]
fn an_acknowledgement_that_waits_is_not_put_off() {
    let mut receiver = with(adaptive());
    at_once(&mut receiver, &[0, 10, 20]);
    assert_eq!(receiver.poll_at(), ms(40));
    // Almost due: it goes with the segment that arrives.
    assert_eq!(answer(&mut receiver, ms(31), &data(3)).len(), 1);
}

#[test]
fn out_of_order_data_is_acknowledged_together_after_the_third() {
    let mut receiver = with(DelayedAck { sack_compression: Some(Span::from_millis(1)), ..plain() });
    answer(&mut receiver, ms(0), &data(0));
    for number in 2..5 {
        assert_eq!(answer(&mut receiver, ms(1), &data(number)).len(), 1, "segment {number}");
    }
    for number in 5..9 {
        assert!(answer(&mut receiver, ms(2), &data(number)).is_empty(), "segment {number}");
    }
    let due = ms(3) + Span::from_micros(100);
    assert_eq!(receiver.poll_at(), due, "with the slack of its timer");
    let ack = receiver.poll(due).expect("compressed");
    assert_eq!(ack.blocks().collect::<Vec<_>>(), [(2000, 9000)]);
    assert_eq!(receiver.poll_at(), Time::NEVER);
    // The segment that fills the gap is acknowledged at once, and the count begins anew.
    answer(&mut receiver, ms(4), &data(9));
    assert_eq!(answer(&mut receiver, ms(4), &data(1))[0].ack, 10 * MSS);
    assert_eq!(answer(&mut receiver, ms(5), &data(11)).len(), 1);
}

#[test]
fn a_third_block_and_forty_four_segments_end_the_compression() {
    let compressing = || {
        let mut receiver = with(DelayedAck { sack_compression: Some(Span::from_millis(1)), ..plain() });
        for number in [1, 2, 3] {
            assert_eq!(answer(&mut receiver, ms(0), &data(number)).len(), 1);
        }
        receiver
    };
    let mut receiver = compressing();
    let saved = (4..200).take_while(|&number| answer(&mut receiver, ms(0), &data(number)).is_empty()).count();
    assert_eq!(saved, 44);
    let mut receiver = compressing();
    assert!(answer(&mut receiver, ms(0), &data(10)).is_empty(), "the second block");
    assert_eq!(answer(&mut receiver, ms(0), &data(20)).len(), 1, "the third block");
}

#[test]
fn compression_waits_a_twentieth_of_a_short_round_trip() {
    let mut receiver = with(DelayedAck { sack_compression: Some(Span::from_millis(1)), ..plain() });
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    answer(&mut receiver, ms(0), &syn);
    answer(&mut receiver, ms(4), &data(0));
    for number in 2..6 {
        answer(&mut receiver, ms(5), &data(number));
    }
    assert_eq!(receiver.poll_at() - ms(5), Span::from_micros(200 + 100));
}

#[test]
fn without_sack_each_is_acknowledged() {
    let ack = AckPolicy::Delayed(DelayedAck::linux());
    let mut receiver = Receiver::new(&TcpConfig { ack, ..config(Recovery::NewReno, 10) }, Time::ZERO);
    for number in 1..20 {
        assert_eq!(answer(&mut receiver, ms(0), &data(number)).len(), 1);
    }
}

#[test]
fn data_that_goes_the_other_way_ends_the_quick_phase() {
    let mut receiver = with(DelayedAck { quick: 16, ..adaptive() });
    assert_eq!(answer(&mut receiver, ms(0), &data(0)).len(), 1);
    receiver.acknowledge(ms(1));
    assert!(answer(&mut receiver, ms(2), &data(1)).is_empty(), "an answer may carry it");
    // None came: the timer ends that.
    assert_eq!(receiver.poll_at(), ms(42));
    receiver.poll(ms(42)).expect("its time has come");
    assert_eq!(answer(&mut receiver, ms(43), &data(2)).len(), 1);
}

/// Linux's `__tcp_cleanup_rbuf`: a second short segment does not wait for an answer.
#[test]
fn an_answer_may_carry_the_acknowledgement_of_one_short_segment() {
    let mut receiver = with(DelayedAck { short_at_once: true, segments: 100, ..plain() });
    assert_eq!(answer(&mut receiver, ms(0), &short(0, 0, 100)).len(), 1);
    receiver.acknowledge(ms(1));
    for start in [100, 300] {
        assert!(answer(&mut receiver, ms(2), &short(0, start, 100)).is_empty(), "an answer may carry it");
        assert_eq!(answer(&mut receiver, ms(3), &short(0, start + 100, 100)).len(), 1);
    }
}

/// Linux 6.18 with 250 ticks a second: the delay is ten of them from the one under way, and the timer fires in the next one.
#[test]
fn ticks_hold_a_delayed_acknowledgement_for_up_to_two_of_them() {
    let ticking = DelayedAck { hertz: Some(250), ..plain() };
    for (arrives, leaves) in [(0, 44), (1, 44), (3, 44), (4, 48), (7, 48)] {
        let mut receiver = with(ticking);
        assert!(answer(&mut receiver, ms(arrives), &data(0)).is_empty());
        assert_eq!(receiver.poll_at(), ms(leaves), "arrived at {arrives} ms");
    }
    // RFC 5681 §4.2: none leaves after 500 ms.
    let longest = DelayedAck { hertz: Some(4), timeout: Span::from_millis(500), ..plain() };
    assert_eq!(delay_after(longest, &[0]), 500.0);
}

/// After 80 ms in vain, and with 4 ms until the timer fires: 51 ms are a pause of 12 ticks, and 53 ms one of 13.
#[test]
fn pauses_are_measured_in_ticks() {
    let ticking = DelayedAck { hertz: Some(250), ..adaptive() };
    assert_eq!(delay_after(ticking, &[0, 51]), (48 + 4 + 40 + 48 - 51) as f64);
    assert_eq!(delay_after(ticking, &[0, 53]), (52 + 4 + 40 + 52 - 53) as f64);
}

#[test]
fn delays_beyond_the_standard_are_refused() {
    assert!(DelayedAck::linux().check().is_ok());
    let half = Some(Span::from_millis(501));
    assert!(DelayedAck { maximum: half, ..plain() }.check().is_err());
    assert!(DelayedAck { maximum: Some(Span::from_millis(39)), ..plain() }.check().is_err());
    assert!(DelayedAck { sack_compression: half, ..plain() }.check().is_err());
    assert!(DelayedAck { hertz: Some(3), ..plain() }.check().is_err());
    assert!(DelayedAck { sack_compression: Some(Span::ZERO), ..plain() }.check().is_err());
}

/// Ethernet's segments, 1.2 ms apart, in bursts that begin at these times [ms] and have so many: which are acknowledged at
/// once. Each leaves 20 ms before it arrives; the SYN is answered at 80 ms, and the handshake ends at 120 ms.
fn bursts_at_once(ack: DelayedAck, receive_window: Amount, bursts: &[(u64, u64)]) -> Vec<(u64, u64)> {
    const MSS: u64 = 1448;
    let ack = AckPolicy::Delayed(ack);
    let config = TcpConfig { ack, receive_window, mss: Bytes::new(MSS), ..config(Recovery::Sack, 10) };
    let mut receiver = Receiver::new(&config, Time::ZERO);
    answer(&mut receiver, ms(80), &Segment { flags: Flags::SYN, ..Segment::default() });
    answer(&mut receiver, ms(120), &Segment { sent_at: ms(100), ..Segment::default() });
    let (mut number, mut alone) = (0, Vec::new());
    for &(begin, count) in bursts {
        for place in 0..count {
            let sent_at = ms(begin - 20) + Span::from_micros(1200 * place);
            let segment = Segment { seq: number * MSS, len: MSS as u32, sent_at, ..data(0) };
            while receiver.poll_at() < sent_at + Span::from_millis(20) {
                let expired = receiver.poll_at();
                receiver.poll(expired).expect("its time has come");
            }
            if !answer(&mut receiver, sent_at + Span::from_millis(20), &segment).is_empty() {
                alone.push(number);
            }
            number += 1;
        }
    }
    // First and last of those in a row.
    alone.chunk_by(|one, next| next - one == 1).map(|row| (row[0], row[row.len() - 1])).collect()
}

/// Linux 6.18, 10 Mb/s and 2 x 20 ms: six segments let the window grow from 65,160 to 80,480 bytes, the room that 128 KiB are
/// less the segment itself, and do not count among the 16 that are quick.
#[test]
fn a_segment_that_lets_the_window_grow_is_acknowledged_at_once() {
    let linux = DelayedAck::linux();
    let begun = [(121, 10), (162, 20)];
    let of = |rows: Vec<(u64, u64)>| rows[0];
    assert_eq!(
        of(bursts_at_once(DelayedAck { autotuning: false, ..linux }, Amount::Unlimited, &begun)),
        (0, 15)
    );
    assert_eq!(of(bursts_at_once(linux, Amount::Unlimited, &begun)), (0, 21));
    let scarce = Amount::Bytes(Bytes::new(50 * 1448));
    assert_eq!(of(bursts_at_once(linux, scarce, &begun)), (0, 18), "three more segments");
}

/// A round trip later 21 segments have been read instead of ten, so that 80 in the next one would be no surprise.
#[test]
fn the_window_grows_by_what_is_read_in_a_round_trip() {
    let linux = DelayedAck { quick: 0, ..DelayedAck::linux() };
    let rows = bursts_at_once(linux, Amount::Unlimited, &[(121, 10), (162, 20), (203, 40), (260, 80)]);
    let long: Vec<_> = rows.iter().filter(|row| row.1 - row.0 > 3).collect();
    assert_eq!(long.len(), 3, "{rows:?}");
    assert_eq!(*long[0], (0, 5), "{rows:?}");
    // Nothing of the kind without.
    let fixed = DelayedAck { autotuning: false, ..linux };
    let rows = bursts_at_once(fixed, Amount::Unlimited, &[(121, 10), (162, 20), (203, 40), (260, 80)]);
    assert!(rows.iter().all(|row| row.1 - row.0 <= 1), "{rows:?}");
}
