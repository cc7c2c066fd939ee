//! How connections end: a FIN in each direction. Source: RFC 9293 §3.6; Linux `tcp_send_fin`, `tcp_fin`.

use crate::common;

use common::*;
use proptest::prelude::*;
use varicap_tcp::{
    AckPolicy, DelayedAck, EcnMode, Flags, LinuxTimer, RackConfig, Receiver, Recovery, Segment, Sender,
    State, TcpConfig, Timer,
};
use varicap_units::{Amount, Bytes, Span, Streams, Time};

fn by_time(initial_window: u64) -> TcpConfig {
    TcpConfig { timer: timer(200, 1), ..config(Recovery::Rack(RackConfig::default()), initial_window) }
}

/// A sender whose application writes so many segments and closes, before anything leaves.
fn transfer(config: &TcpConfig, count: u64) -> Script {
    let mut script = Script::offering(config, 0);
    script.sender.write(Bytes::new(count * MSS));
    script.sender.close();
    script.at(Time::ZERO);
    script
}

/// Where each segment begins, its length, and whether it has the FIN.
fn numbers(script: &Script) -> Vec<(u64, u32, bool)> {
    script.log().iter().map(|sent| of(&sent.segment)).collect()
}

fn of(segment: &Segment) -> (u64, u32, bool) {
    (segment.seq, segment.len, segment.flags.has(Flags::FIN))
}

/// A FIN of the receiver, which has sent no data.
fn fin(ack: u64) -> Segment {
    Segment { ack, flags: Flags::ACK.with(Flags::FIN), window: u32::MAX, wire_size: 40, ..Segment::default() }
}

fn last(script: &Script) -> (Time, (u64, u32, bool)) {
    (script.last().at, of(&script.last().segment))
}

#[test]
fn what_has_left_is_followed_by_a_fin_of_its_own() {
    let script = transfer(&by_time(10), 2);
    assert_eq!(numbers(&script), [(0, 1000, false), (1000, 1000, false), (2000, 0, true)]);
    assert_eq!(script.last().segment.wire_size, 40);
    assert_eq!(script.sender.in_flight(), Bytes::new(2 * MSS + 1), "it takes a sequence number");
}

/// Sockets take data once the handshake is over, so that an application which has it all closes after what may leave then.
#[test]
fn what_is_written_before_the_handshake_is_over_leaves_first() {
    let handshake = TcpConfig { handshake: true, handshake_ack: true, ..by_time(2) };
    let mut script = transfer(&handshake, 2);
    let flags = Flags::SYN.with(Flags::ACK);
    script.at(ms(100)).push(Segment { flags, window: u32::MAX, ..Segment::default() });
    assert_eq!(numbers(&script)[2..], [(0, 1000, false), (1000, 1000, false)], "the window is full");
    script.at(ms(200)).ack(MSS);
    assert_eq!(last(&script), (ms(200), (2000, 0, true)));
}

#[test]
fn what_has_not_left_takes_the_fin_along() {
    let mut script = transfer(&by_time(2), 3);
    script.at(ms(100)).ack(MSS);
    assert_eq!(numbers(&script), [(0, 1000, false), (1000, 1000, false), (2000, 1000, true)]);
    assert_eq!(script.last().segment.wire_size, 1040, "it takes no room");
    script.at(ms(200)).ack(3 * MSS);
    assert!(!script.sender.is_done(), "all data is acknowledged, and the FIN is not");
    script.ack(3 * MSS + 1);
    assert!(script.sender.is_done() && script.sender.poll_at().is_never());
    assert_eq!(script.sender.counters().acked_bytes, 3 * MSS);
}

/// It leaves at once where nothing is in flight, too: an idle connection is closed.
#[test]
fn a_connection_without_data_in_flight_is_closed_by_a_bare_fin() {
    let mut script = Script::offering(&by_time(4), MSS);
    script.at(ms(100)).ack(MSS);
    script.at(ms(5000)).sender.close();
    script.at(ms(5000));
    assert_eq!(last(&script), (ms(5000), (1000, 0, true)));
}

/// The case of the simulator's first version: without the FIN a probe would have to come after 400 ms.
#[test]
fn the_fin_shows_that_the_last_segment_is_lost_a_quarter_of_a_round_trip_later() {
    let mut script = transfer(&by_time(10), 3);
    script.skip();
    script.at(ms(100)).ack(2 * MSS);
    script.sack(2 * MSS, std::slice::from_ref(&(3 * MSS..3 * MSS + 1)));
    script.expect_nothing();
    // 25 ms for reordering, and a tick of the clock.
    script.at(ms(130));
    script.expect_at(ms(126), nth(2));
    assert!(!script.last().segment.flags.has(Flags::FIN), "that has arrived");
    script.at(ms(226)).ack(3 * MSS + 1);
    assert!(script.sender.is_done());
    let counters = script.sender.counters();
    assert_eq!((counters.sent_packets, counters.empty_packets, counters.retransmitted_packets), (4, 1, 1));
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
}

/// RFC 8985 §6.2 step 4 counts segments (RACK.segs_sacked), as Linux does (sacked_out): the FIN is the third one.
#[test]
fn the_fin_counts_among_the_segments_that_show_a_loss_at_once() {
    for (held_until, shows) in [(4 * MSS, false), (4 * MSS + 1, true)] {
        let mut script = transfer(&by_time(10), 4);
        script.at(ms(100)).ack(MSS);
        script.skip();
        script.sack(MSS, std::slice::from_ref(&(2 * MSS..held_until)));
        script.expect(&segments(1, u64::from(shows)));
    }
}

/// RFC 8985 §7.2: a single segment may be waiting for a delayed acknowledgement; two are not, and the FIN is one.
#[test]
fn the_tail_is_probed_after_two_round_trips_unless_it_is_one_segment() {
    let probed = |initial_window: u64, count: u64, acknowledged: u64| {
        let mut script = transfer(&TcpConfig { timer: timer(1000, 1), ..by_time(initial_window) }, count);
        script.at(ms(100)).ack(acknowledged);
        let before = script.log().len();
        script.at(ms(3000));
        script.log()[before].at.since(ms(100)).as_millis_f64().round()
    };
    let (alone, beside) = (probed(10, 1, MSS), probed(10, 2, MSS));
    assert!((200.0..210.0).contains(&beside), "a segment and the FIN: {beside} ms");
    assert!(alone > 399.0, "the FIN: {alone} ms");
    let riding = probed(1, 2, MSS);
    assert!(riding > 399.0, "the last segment with the FIN: {riding} ms");
}

#[test]
fn a_lost_fin_is_probed_for_and_then_times_out() {
    let mut script = transfer(&by_time(10), 1);
    script.at(ms(100)).ack(MSS);
    script.skip();
    // RFC 8985 §7.2: two round trips and the longest delay of an acknowledgement, at most an RTO of 300 ms.
    script.at(ms(420));
    assert_eq!(last(&script), (ms(400), (1000, 0, true)));
    assert_eq!(script.sender.counters().timeouts, 0);
    script.at(ms(800));
    assert_eq!(last(&script), (ms(700), (1000, 0, true)));
    let counters = script.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmitted_packets), (1, 2));
    assert_eq!((counters.sent_packets, counters.empty_packets), (1, 3), "a FIN is no data");
    script.ack(MSS + 1);
    assert!(script.sender.is_done() && script.sender.poll_at().is_never());
}

/// RFC 5681 §2: what answers a FIN out of order is a duplicate ACK, the third one here.
#[test]
fn a_fin_brings_another_duplicate_acknowledgement() {
    let mut script = transfer(&config(Recovery::NewReno, 10), 3);
    script.skip();
    let mut receiver = Receiver::new(&config(Recovery::NewReno, 10), Time::ZERO);
    let sent: Vec<_> = script.log().iter().skip(1).map(|sent| sent.segment).collect();
    for (number, segment) in sent.iter().enumerate() {
        script.at(ms(100 + number as u64));
        for acknowledgement in answer(&mut receiver, ms(50), segment) {
            assert_eq!(acknowledgement.ack, 0);
            script.push(acknowledgement);
        }
    }
    assert_eq!(sent.len(), 3, "two segments and the FIN");
    script.expect(&[nth(0)]);
    assert_eq!(script.sender.state(), State::Recovery);
}

/// The receiver's FIN is no duplicate ACK, though it acknowledges nothing new.
#[test]
fn a_fin_of_the_other_side_is_no_duplicate_acknowledgement() {
    let mut script = transfer(&config(Recovery::NewReno, 10), 6);
    script.skip();
    for number in 0..4 {
        script.at(ms(100 + number)).push(fin(0));
    }
    let bare = 6 * MSS + 1..6 * MSS + 1;
    script.expect(&[0; 4].map(|_| bare.clone()));
    assert_eq!(script.sender.state(), State::Open);
}

#[test]
fn going_back_takes_the_fin_along_with_the_last_segment() {
    for recovery in [Recovery::OldTahoe, Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        let mut script = transfer(&config(recovery, 10), 2);
        script.skip();
        script.at(ms(1000)).ack(0);
        script.expect_at(ms(1000), nth(0));
        script.ack(MSS);
        assert_eq!(last(&script).1, (1000, 1000, true), "{recovery:?}");
        script.ack(2 * MSS + 1);
        assert!(script.sender.is_done());
    }
}

#[test]
fn a_fin_alone_goes_back_alone() {
    for recovery in [Recovery::OldTahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = transfer(&config(recovery, 10), 2);
        script.at(ms(100)).ack(2 * MSS);
        script.at(ms(1200));
        assert_eq!(last(&script), (ms(1100), (2000, 0, true)), "{recovery:?}");
    }
}

/// It is subject to both windows, as any segment (Linux: `tcp_cwnd_test`, `tcp_snd_wnd_test`).
#[test]
fn a_fin_waits_for_the_windows() {
    let mut script = transfer(&by_time(2), 2);
    script.skip();
    script.at(ms(100)).window(0).ack(2 * MSS);
    script.expect_nothing();
    script.at(ms(450));
    script.window(1000).ack(2 * MSS);
    assert_eq!(last(&script), (ms(450), (2000, 0, true)));
}

/// RFC 9293 §3.8.6.1: a window that stays closed is probed, here by the FIN, which is what comes next.
#[test]
fn a_closed_window_is_probed_for_a_fin() {
    let mut script = transfer(&config(Recovery::NewReno, 2), 2);
    script.at(ms(100)).window(0).ack(2 * MSS);
    script.at(ms(1300));
    assert_eq!(last(&script), (ms(1100), (2000, 0, true)));
    script.at(ms(1400)).ack(2 * MSS + 1);
    assert!(script.sender.is_done());
}

#[test]
fn a_fin_is_not_ecn_capable() {
    let ecn = TcpConfig { ecn: EcnMode::Classic, ..by_time(10) };
    let script = transfer(&ecn, 1);
    let capable: Vec<_> = script.log().iter().map(|sent| sent.segment.flags.has(Flags::ECT)).collect();
    assert_eq!(capable, [true, false]);
}

#[test]
fn without_fins_a_connection_is_over_when_all_data_is_acknowledged() {
    let mut script = transfer(&TcpConfig { fin: false, ..by_time(10) }, 2);
    assert_eq!(numbers(&script), [(0, 1000, false), (1000, 1000, false)]);
    script.at(ms(100)).ack(2 * MSS);
    assert!(script.sender.is_done() && script.sender.is_over());
}

/// RFC 9293 §3.6, case 2 here: the connection is over for this side once both FINs are acknowledged.
#[test]
fn the_other_sides_fin_is_acknowledged_each_time_that_it_arrives() {
    let mut script = transfer(&by_time(10), 1);
    script.skip();
    script.at(ms(100)).ack(MSS + 1);
    assert!(script.sender.is_done() && !script.sender.is_over());
    script.push(fin(MSS + 1));
    assert!(script.sender.is_over());
    for at in [101, 500] {
        script.at(ms(at)).push(fin(MSS + 1));
    }
    let acknowledged: Vec<_> =
        script.log()[2..].iter().map(|sent| (of(&sent.segment), sent.segment.ack)).collect();
    assert_eq!(acknowledged, [((1001, 0, false), 1); 3]);
    let counters = script.sender.counters();
    assert_eq!((counters.sent_packets, counters.empty_packets), (1, 4), "none of them is data");
}

/// RFC 9293 §3.6, case 3: both sides close before they hear of each other.
#[test]
fn both_sides_may_close_at_the_same_time() {
    let settings = by_time(2);
    let mut receiver = Receiver::new(&settings, Time::ZERO);
    let mut script = transfer(&settings, 2);
    receiver.close();
    let first = receiver.poll(Time::ZERO).expect("its FIN");
    assert_eq!((of(&first), first.ack), ((0, 0, true), 0));
    script.at(ms(10)).push(first);
    let segments: Vec<_> = script.log().iter().map(|sent| sent.segment).collect();
    assert_eq!(
        segments.iter().map(of).collect::<Vec<_>>(),
        [(0, 1000, false), (1000, 1000, false), (2000, 0, false)]
    );
    assert_eq!(segments[2].ack, 1, "the FIN waits for the window, its acknowledgement does not");
    for segment in &segments {
        for acknowledgement in answer(&mut receiver, ms(20), segment) {
            assert_eq!(of(&acknowledgement), (1, 0, false), "no second FIN");
            script.at(ms(20)).push(acknowledgement);
        }
    }
    assert!(!receiver.is_closing() && !receiver.has_ended());
    assert_eq!(last(&script), (ms(20), (2000, 0, true)));
    let end = script.last().segment;
    for acknowledgement in answer(&mut receiver, ms(30), &end) {
        script.at(ms(30)).push(acknowledgement);
    }
    assert!(receiver.has_ended() && script.sender.is_over());
}

fn receiver() -> Receiver {
    let linux = DelayedAck { quick: 0, autotuning: false, ..DelayedAck::linux() };
    let timer = Timer::Linux(LinuxTimer::default());
    let ack = AckPolicy::Delayed(linux);
    let mut receiver = Receiver::new(&TcpConfig { ack, timer, handshake: true, ..by_time(10) }, Time::ZERO);
    answer(&mut receiver, ms(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    answer(&mut receiver, ms(100), &Segment::default());
    receiver
}

fn ending(seq: u64, len: u64) -> Segment {
    Segment { seq, len: len as u32, flags: Flags::FIN, wire_size: 40 + len as u16, ..Segment::default() }
}

/// The application reads the end at once, and closes: its FIN takes the acknowledgement along.
#[test]
fn a_receiver_answers_a_fin_by_its_own() {
    for end in [ending(MSS, 0), ending(MSS, 500)] {
        let mut receiver = receiver();
        answer(&mut receiver, ms(110), &data(0));
        let added = receiver.push(ms(111), &end);
        assert_eq!((added, receiver.delivered()), (u64::from(end.len), MSS + added));
        let answer = receiver.poll(ms(111)).expect("an answer");
        assert_eq!((of(&answer), answer.ack), ((0, 0, true), MSS + added + 1));
        assert!(receiver.poll(ms(111)).is_none(), "one segment");
        assert!(receiver.has_ended() && receiver.is_closing());
    }
}

/// By the round trip of the handshake: an RTO of 300 ms in ticks of 4 ms, which doubles.
#[test]
fn the_receivers_fin_is_sent_again_until_it_is_acknowledged() {
    let mut receiver = receiver();
    answer(&mut receiver, ms(110), &ending(0, MSS));
    let mut again = Vec::new();
    for _ in 0..3 {
        let due = receiver.poll_at();
        assert!(receiver.poll(Time::from_nanos(due.as_nanos() - 1)).is_none());
        let segment = receiver.poll(due).expect("the FIN");
        assert_eq!((of(&segment), segment.ack), ((0, 0, true), MSS + 1));
        again.push(due.since(ms(110)).as_millis_f64().round());
    }
    assert!((300.0..320.0).contains(&again[0]), "{again:?}");
    assert!((900.0..940.0).contains(&again[1]) && (2100.0..2200.0).contains(&again[2]), "{again:?}");
    // The sender has missed the answer to its own FIN: that is acknowledged again, without another FIN.
    let repeated = answer(&mut receiver, ms(2400), &ending(0, MSS));
    assert_eq!(repeated.iter().map(|one| (of(one), one.ack)).collect::<Vec<_>>(), [((1, 0, false), MSS + 1)]);
    assert!(!receiver.poll_at().is_never());
    assert_eq!(answer(&mut receiver, ms(2401), &Segment { seq: MSS + 1, ack: 1, ..Segment::default() }), []);
    assert!(!receiver.is_closing() && receiver.poll_at().is_never());
}

#[test]
fn a_fin_that_comes_before_data_is_held_and_reported() {
    let mut receiver = receiver();
    answer(&mut receiver, ms(110), &data(0));
    let reports = answer(&mut receiver, ms(120), &ending(2 * MSS, 0));
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].blocks().collect::<Vec<_>>(), [(2 * MSS, 2 * MSS + 1)]);
    assert!(!receiver.has_ended());
    assert_eq!(receiver.push(ms(130), &data(1)), MSS, "the FIN is no data");
    let answer = receiver.poll(ms(130)).expect("an answer");
    assert_eq!((of(&answer), answer.ack, receiver.delivered()), ((0, 0, true), 2 * MSS + 1, 2 * MSS));
}

/// A receiver that closes before the sender does still delays acknowledgements, and its FIN is sent again in time; the
/// acknowledgement of that FIN may ride on data.
#[test]
fn a_delayed_acknowledgement_waits_beside_a_fin() {
    for ack in [DelayedAck::default(), DelayedAck { quick: 0, autotuning: false, ..DelayedAck::linux() }] {
        let delay = ack.timeout;
        let closed = || {
            let config = TcpConfig { ack: AckPolicy::Delayed(ack), ..by_time(10) };
            let mut receiver = Receiver::new(&config, Time::ZERO);
            receiver.read_on_demand();
            receiver.close();
            assert_eq!(receiver.poll(ms(0)).map(|one| of(&one)), Some((0, 0, true)));
            receiver
        };
        // Data comes a millisecond before the FIN is due again, and is acknowledged with it.
        let mut receiver = closed();
        let again = receiver.poll_at();
        let now = Time::from_nanos(again.as_nanos() - 1_000_000);
        assert!(answer(&mut receiver, now, &data(0)).is_empty(), "{ack:?}");
        assert_eq!(receiver.poll_at(), again, "{ack:?}: the FIN is not late");
        assert_eq!(receiver.poll(again).map(|one| (of(&one), one.ack)), Some(((0, 0, true), MSS)));
        // Data whose acknowledgement number is behind the FIN: that is over, and the data's acknowledgement waits on.
        let mut receiver = closed();
        assert!(answer(&mut receiver, ms(100), &Segment { ack: 1, ..data(0) }).is_empty(), "{ack:?}");
        assert!(!receiver.is_closing(), "{ack:?}");
        let due = receiver.poll_at();
        // The delay, and a tick.
        assert!(due > ms(100) && due <= ms(104) + delay, "{ack:?}: {due:?}");
        assert_eq!(receiver.poll(due).map(|one| (of(&one), one.ack)), Some(((1, 0, false), MSS)));
        assert!(receiver.poll_at().is_never(), "{ack:?}");
    }
}

#[test]
fn an_application_that_reads_on_demand_closes_when_it_wants_to() {
    let mut receiver = receiver();
    receiver.read_on_demand();
    let acknowledged = answer(&mut receiver, ms(110), &ending(0, MSS));
    assert_eq!(
        acknowledged.iter().map(|one| (of(one), one.ack)).collect::<Vec<_>>(),
        [((0, 0, false), MSS + 1)]
    );
    assert!(receiver.has_ended() && !receiver.is_closing());
    receiver.close();
    assert_eq!(receiver.poll(ms(500)).map(|one| of(&one)), Some((0, 0, true)));
}

/// Both halves over a path of 20 ms each way that loses what it is told to. Returns when the sender was done, and when it was
/// over for both.
fn play(
    config: &TcpConfig,
    count: u64,
    mut loses: impl FnMut(bool, &Segment) -> bool,
) -> (Time, Time, Sender) {
    let mut sender = Sender::new(config, Time::ZERO);
    let mut receiver = Receiver::new(config, Time::ZERO);
    sender.write(Bytes::new(count * MSS));
    sender.close();
    let (mut now, mut done) = (Time::ZERO, None);
    let mut flying: Vec<(Time, bool, Segment)> = Vec::new();
    for _ in 0..100_000 {
        while let Some(segment) = sender.poll(now) {
            flying.push((now + Span::from_millis(20), true, segment));
        }
        while let Some(segment) = receiver.poll(now) {
            flying.push((now + Span::from_millis(20), false, segment));
        }
        if sender.is_done() && done.is_none() {
            done = Some(now);
        }
        if sender.is_over() && !receiver.is_closing() {
            assert_eq!(receiver.delivered(), count * MSS);
            return (done.expect("it is over"), now, sender);
        }
        let next = flying.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
        now = next.min(sender.poll_at()).min(receiver.poll_at());
        assert!(!now.is_never(), "a dead end: {sender:?} {receiver:?}");
        if let Some(index) = flying.iter().position(|(at, ..)| *at == now) {
            let (_, forward, segment) = flying.remove(index);
            if loses(forward, &segment) {
                continue;
            }
            if forward {
                receiver.push(now, &segment);
            } else {
                sender.push(now, &segment);
            }
        }
    }
    panic!("no end in sight: {sender:?} {receiver:?}");
}

fn every(recovery: Recovery) -> TcpConfig {
    TcpConfig { handshake: true, ..config(recovery, 10) }
}

#[test]
fn each_segment_of_the_end_may_be_lost_once() {
    let recoveries = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack(RackConfig::linux())];
    for recovery in recoveries {
        for lost in 0..8u32 {
            let mut seen = [false; 3];
            let (_, over, sender) = play(&every(recovery), 3, |forward, segment| {
                let is_fin = segment.flags.has(Flags::FIN);
                let place = match (forward, is_fin) {
                    (true, true) => 0,
                    (false, true) => 1,
                    (true, false) if segment.ack == 1 => 2,
                    _ => return false,
                };
                lost >> place & 1 == 1 && !std::mem::replace(&mut seen[place], true)
            });
            let counters = sender.counters();
            assert_eq!(counters.sent_packets, 3, "{recovery:?}: three segments once each");
            // The receiver's FIN has the acknowledgement: without it the sender may probe before that is sent again.
            let resent = if lost & 2 == 0 { lost & 1..=lost & 1 } else { lost & 1..=3 };
            assert!(resent.contains(&(counters.retransmitted_packets as u32)), "{recovery:?}: {counters:?}");
            assert!(lost == 0 || over > ms(120), "{recovery:?}: over at {over:?} although {lost} was lost");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each connection ends, whatever is lost of it, and counts what it has sent.
    #[test]
    fn every_connection_ends(
        count in 1u64..30, loss in 0.0..0.4, ack_loss in 0.0..0.4, seed: u64, delayed: bool, window in 1u64..8,
        recovery in prop_oneof![
            Just(Recovery::OldTahoe), Just(Recovery::Tahoe), Just(Recovery::Reno), Just(Recovery::NewReno),
            Just(Recovery::Sack), Just(Recovery::Rack(RackConfig::linux())),
        ],
    ) {
        let ack = if delayed { AckPolicy::Delayed(DelayedAck::linux()) } else { AckPolicy::Every };
        let initial_window = Amount::Packets(window);
        let settings = TcpConfig { ack, initial_window, ..every(recovery) };
        let mut draws = Streams::new(seed, 0).stream("path");
        let (mut data, mut empty) = (0, 0);
        let (done, over, sender) = play(&settings, count, |forward, segment| {
            if forward {
                *(if segment.len > 0 { &mut data } else { &mut empty }) += 1;
            }
            draws.chance(if forward { loss } else { ack_loss })
        });
        let counters = sender.counters();
        prop_assert!(done <= over);
        prop_assert_eq!(counters.acked_bytes, count * MSS);
        prop_assert!(counters.sent_packets >= data.max(count) && counters.empty_packets >= empty);
        // All but the data, the SYN and the acknowledgement of the receiver's FIN, once each.
        let again = counters.sent_packets + counters.empty_packets - count - 2;
        prop_assert!(counters.retransmitted_packets <= again, "{:?}", counters);
    }
}
