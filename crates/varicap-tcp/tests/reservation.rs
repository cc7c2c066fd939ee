//! A sender with a reservation, as dialogues: marking, timed and delayed transmissions, the safeguard. Source:
//! [minrate].

use crate::common;

use common::{MSS, Script, config, held, ms, nth, segments};
use varicap_tcp::{
    DelayedConfig, Flags, Recovery, Reservation, TcpConfig, TimedConfig, TimerOwner, lossless_interval,
};
use varicap_units::{Amount, BucketDepth, Bytes, Rate, Span, Streams, Time};

/// Wire size of a segment: 1000 bytes and no header, so that numbers are round.
fn plain(recovery: Recovery, initial_window: u64) -> TcpConfig {
    TcpConfig { header: Bytes::ZERO, ..config(recovery, initial_window) }
}

/// A packet each 2 ms, and a bucket of `packets`.
fn terms(packets: u64) -> Reservation {
    Reservation::new(Rate::from_bps(4_000_000), BucketDepth::Bytes(Bytes::new(packets * MSS)))
}

fn every(interval_ms: u64) -> Option<TimedConfig> {
    Some(TimedConfig { interval: Some(Span::from_millis(interval_ms)), timer: TimerOwner::Own })
}

fn reserved(config: &TcpConfig, terms: &Reservation) -> Script {
    Script::reserved(config, terms, u64::MAX)
}

/// Which of the segments from number `first` on were marked.
fn marks(script: &Script, first: usize) -> Vec<bool> {
    script.log()[first..].iter().map(|sent| sent.segment.flags.has(Flags::RESERVED)).collect()
}

#[test]
fn what_conforms_is_marked_with_its_size_on_the_wire() {
    let mut script = reserved(&plain(Recovery::Reno, 5), &terms(3));
    assert_eq!(marks(&script, 0), [true, true, true, false, false]);
    script.at(ms(2)).ack(1000); // tokens of one packet have come
    assert_eq!(marks(&script, 5), [true, false]);
    // 40 bytes of header: three packets of 1040 bytes do not fit into 3000 tokens.
    let headed = reserved(&config(Recovery::Reno, 3), &terms(3));
    assert_eq!(marks(&headed, 0), [true, true, false]);
}

#[test]
fn tokens_that_find_the_bucket_full_are_lost_exactly() {
    let mut script = reserved(&plain(Recovery::Reno, 2), &terms(3));
    // 2 of 3 gone at 0 ms; full again at 4 ms; 50 packets' worth in 100 ms.
    assert_eq!(script.sender.lost_tokens(ms(4)), Some(varicap_units::Work::ZERO));
    assert_eq!(script.sender.lost_tokens(ms(100)), Some(varicap_units::Work::of(Bytes::new(48_000))));
    script.at(ms(100)).ack(2000);
    assert_eq!(script.sender.marked_packets(), 5);
}

#[test]
fn retransmissions_are_marked_if_they_conform() {
    let mut script = reserved(&plain(Recovery::Reno, 5), &terms(5));
    script.at(ms(100)).duplicates(3);
    script.skip();
    let last = script.log().iter().rposition(|sent| sent.data == nth(0)).unwrap();
    assert!(last >= 5 && marks(&script, last)[0]);
}

#[test]
fn marking_alone_changes_nothing_else() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        let config = TcpConfig { limited_transmit: true, ..plain(recovery, 10) };
        let mut sent = Vec::new();
        for mut script in [Script::greedy(&config), reserved(&config, &terms(3))] {
            // Two losses: Reno's recovery ends at the first, with more in flight than its halved cwnd when the timer
            // expires.
            script.at(ms(100)).duplicates(5);
            script.at(ms(200)).ack(2 * MSS);
            script.skip();
            script.at(ms(5_000)).skip();
            let data: Vec<_> = script.log().iter().map(|each| each.data.clone()).collect();
            sent.push((data, script.cwnd(), script.ssthresh()));
        }
        assert_eq!(sent[0], sent[1], "{recovery:?}");
    }
}

#[test]
fn a_timer_sends_while_there_are_tokens_whatever_cwnd_says() {
    let mut script = reserved(&plain(Recovery::Reno, 1), &Reservation { timed: every(20), ..terms(25) });
    script.expect(&segments(0, 1));
    script.at(Time::from_nanos(19_999_999)).expect_nothing();
    // 24 were left; 10 came by 20 ms, of which one filled the bucket: a loop, not one packet (claims: Fig. 5).
    script.at(ms(20)).expect(&segments(1, 25));
    assert!(marks(&script, 0).iter().all(|marked| *marked));
    assert_eq!((script.cwnd(), script.in_flight()), (1, 26));
    // The timer is reset; what came in 20 ms is 10 packets, which 9 of an acknowledgement-less sender leave at once.
    script.at(ms(40)).expect(&segments(26, 10));
    script.at(ms(59)).expect_nothing();
}

#[test]
fn acknowledgements_still_obey_cwnd_and_carry_unmarked_packets() {
    let mut script = reserved(&plain(Recovery::Reno, 2), &Reservation { timed: every(20), ..terms(2) });
    script.expect(&segments(0, 2));
    script.at(ms(20)).expect(&segments(2, 2));
    // In flight 4, cwnd 2: three acknowledgements open nothing but the window.
    script.at(ms(21)).ack(1000);
    script.expect_nothing();
    script.at(ms(21)).ack(2000);
    script.expect(&segments(4, 2)); // cwnd is 4 by now, 2 are in flight
    assert_eq!(marks(&script, 4), [false, false]);
}

#[test]
fn the_advertised_window_holds_for_the_timer_too() {
    let small = TcpConfig { receive_window: Amount::Packets(4), ..plain(Recovery::Reno, 1) };
    let mut script = reserved(&small, &Reservation { timed: every(20), ..terms(25) });
    script.at(ms(20)).expect(&segments(0, 4));
    script.at(ms(500)).expect_nothing();
    script.window(4000).ack(1000);
    script.expect_nothing(); // room for one, but not under cwnd
    script.at(ms(520)).expect(&segments(4, 1));
    // So does the maximum window.
    let limited = TcpConfig { max_window: Amount::Packets(3), ..plain(Recovery::Reno, 1) };
    let mut script = reserved(&limited, &Reservation { timed: every(20), ..terms(25) });
    script.at(ms(60)).expect(&segments(0, 3));
}

#[test]
fn without_the_application_the_timer_sends_nothing() {
    let timed = Reservation { timed: every(20), ..terms(25) };
    let mut script = Script::reserved(&plain(Recovery::Reno, 1), &timed, 2500);
    script.at(ms(20)).expect(&[0..1000, 1000..2000, 2000..2500]);
    script.sender.close();
    script.at(ms(50)).ack(2501);
    assert!(script.sender.is_done(), "the FIN, too");
    script.at(ms(60));
    assert_eq!(script.sender.poll_at(), Time::NEVER);
}

#[test]
fn before_the_handshake_is_over_the_timer_waits_for_its_next_expiry() {
    let handshake = TcpConfig { handshake: true, ..plain(Recovery::Reno, 1) };
    let mut script = reserved(&handshake, &Reservation { timed: every(20), ..terms(25) });
    script.skip();
    script.at(ms(90)).expect_nothing();
    assert_eq!(script.sender.poll_at(), ms(100));
}

#[test]
fn a_shared_timer_expires_for_all_at_once() {
    let timed = Some(TimedConfig { interval: Some(Span::from_millis(20)), timer: TimerOwner::Shared });
    let mut script = Script::offering(&plain(Recovery::Reno, 1), u64::MAX);
    script.at(ms(7));
    script.reserve(&Reservation { timed: timed.clone(), ..terms(3) });
    script.skip();
    script.at(ms(19)).expect_nothing();
    script.at(ms(20)).expect(&segments(1, 3));
    let mut own = Script::offering(&plain(Recovery::Reno, 1), u64::MAX);
    own.at(ms(7));
    own.reserve(&Reservation { timed: every(20), ..terms(3) });
    own.skip();
    own.at(ms(26)).expect_nothing();
    own.at(ms(27)).expect(&segments(1, 3));
}

#[test]
fn the_interval_of_the_formula_loses_no_token() {
    // [minrate, §IV-A]: 4 Mb/s, 50 ms, 1000-byte packets: (25000 - 999) * 8 / 4e6 s.
    let rate = Rate::from_bps(4_000_000);
    let packet = Bytes::new(1000);
    assert_eq!(lossless_interval(Bytes::new(25_000), rate, packet), Span::from_micros(48_002));
    assert_eq!(
        lossless_interval(Bytes::new(6250), Rate::from_bps(1_000_000), packet),
        Span::from_micros(42_008)
    );
    // A sender that nothing limits but the timer, with an odd packet size.
    let odd = TcpConfig { header: Bytes::new(37), ..config(Recovery::Reno, 1) };
    let depth = BucketDepth::Time(Span::from_millis(50));
    let by_formula = Reservation { timed: Some(TimedConfig::default()), ..Reservation::new(rate, depth) };
    let mut script = reserved(&odd, &by_formula);
    script.at(ms(5000));
    let first = script.sender.lost_tokens(ms(49)).unwrap();
    assert_eq!(script.sender.lost_tokens(ms(5000)), Some(first), "only before the first expiry");
    // A millisecond longer loses some.
    let longer = Some(TimedConfig { interval: Some(Span::from_millis(49)), timer: TimerOwner::Own });
    let mut script =
        reserved(&plain(Recovery::Reno, 1), &Reservation { timed: longer, ..Reservation::new(rate, depth) });
    script.at(ms(5000));
    assert!(script.sender.lost_tokens(ms(5000)).unwrap() > first);
}

#[test]
fn after_a_timeout_the_timer_goes_back_too() {
    let mut script = reserved(&plain(Recovery::Reno, 2), &Reservation { timed: every(20), ..terms(2) });
    script.at(ms(20)).expect(&segments(0, 4));
    script.at(ms(21)).window(4000).ack(0);
    script.skip();
    let before = script.log().len();
    script.at(ms(1000)); // the RTO, and an expiry of the timer at the same time
    let resent: Vec<_> = script.log()[before..].iter().filter(|sent| sent.at == ms(1000)).collect();
    assert_eq!(resent[0].data, nth(0));
    assert!(resent.len() >= 2 && resent.iter().all(|sent| sent.segment.flags.has(Flags::RESERVED)));
    assert_eq!(resent[1].data, nth(1), "from the hole on");
}

#[test]
fn with_sack_the_timer_resends_holes_first() {
    let mut script = reserved(&plain(Recovery::Sack, 20), &Reservation { timed: every(20), ..terms(3) });
    script.at(ms(10)).sack(0, &[held(1, 2)]);
    script.sack(0, &[held(1, 3)]);
    script.skip();
    script.sack(0, &[held(17, 20), held(1, 3)]);
    // Lost are 0 and 3 to 16; cwnd, 10 by now, lets 10 of these go.
    script.expect(&[segments(0, 1), segments(3, 9)].concat());
    script.at(ms(20)).expect(&segments(12, 3));
    assert!(marks(&script, 30).iter().all(|marked| *marked));
}

#[test]
fn a_loss_halves_cwnd_and_not_what_the_timer_sent_beyond_it() {
    let mut script = reserved(&plain(Recovery::Reno, 8), &Reservation { timed: every(20), ..terms(25) });
    script.at(ms(20));
    assert_eq!((script.cwnd(), script.in_flight()), (8, 33));
    script.skip();
    script.duplicates(3);
    assert_eq!(script.ssthresh(), 4);
}

#[test]
fn a_changed_reservation_counts_from_its_instant_on() {
    let depth = BucketDepth::Time(Span::from_millis(50));
    let low = Reservation { timed: every(20), ..Reservation::new(Rate::from_bps(500_000), depth) };
    let mut script = reserved(&plain(Recovery::Reno, 1), &low);
    script.at(ms(20)).expect(&segments(0, 4)); // 3125 B deep: one at once, then three
    script.sender.set_reserved_rate(ms(30), Rate::from_bps(6_000_000));
    // 125 B were left at 20 ms, 625 B came by 30 ms, 7500 B by 40 ms.
    script.at(ms(40)).expect(&segments(4, 8));
    assert_eq!(script.sender.reserved_rate(), Some(Rate::from_bps(6_000_000)));
    script.sender.set_reserved_rate(ms(50), Rate::ZERO);
    script.at(ms(2000));
    let late = script
        .log()
        .iter()
        .filter(|sent| sent.at > ms(50))
        .all(|sent| !sent.segment.flags.has(Flags::RESERVED));
    assert!(late, "without a reservation nothing conforms");
}

#[test]
fn a_segment_without_tokens_is_held_back_and_then_goes_as_it_is() {
    let longest = Some(Span::from_millis(10));
    let delayed = Reservation { delayed: Some(DelayedConfig { longest }), ..terms(1) };
    let mut script = reserved(&plain(Recovery::Reno, 3), &delayed);
    script.expect(&segments(0, 1));
    let until = script.sender.poll_at();
    assert!(until > ms(0) && until <= ms(10), "{until:?}");
    script.at(Time::from_nanos(until.as_nanos() - 1)).expect_nothing();
    script.at(until).expect(&segments(1, 1));
    let found_tokens = until >= ms(2);
    assert_eq!(marks(&script, 1), [found_tokens]);
}

#[test]
fn held_segments_are_drawn_from_the_stream_that_was_given() {
    let delayed = Reservation { delayed: Some(DelayedConfig::default()), ..terms(1) };
    let first_hold = |seed| {
        let mut script = Script::offering(&plain(Recovery::Reno, 3), 0);
        script.sender.reserve(ms(0), &delayed, Streams::new(seed, 0).stream("delay"));
        script.write(u64::MAX);
        script.sender.poll_at()
    };
    assert_eq!(first_hold(1), first_hold(1));
    assert_ne!(first_hold(1), first_hold(2));
    // The default: at most the depth of the bucket, a packet of 2 ms.
    assert!((0..50).all(|seed| first_hold(seed) <= ms(2)));
}

#[test]
fn the_safeguard_ends_timed_transmissions_when_a_marked_packet_is_lost() {
    let careful = Reservation { timed: every(20), safeguard: true, ..terms(25) };
    let mut script = reserved(&plain(Recovery::Reno, 8), &careful);
    script.at(ms(10)).duplicates(3); // segment 0 was marked
    assert_eq!(script.sender.counters().reservations_given_up, 1);
    script.skip();
    script.sender.set_reserved_rate(ms(10), Rate::from_bps(8_000_000));
    script.at(ms(900)).expect_nothing();
    // Marking goes on.
    script.ack(8000);
    assert!(script.last().segment.flags.has(Flags::RESERVED));
    // Without it the timer goes on.
    let mut script = reserved(&plain(Recovery::Reno, 8), &Reservation { timed: every(20), ..terms(25) });
    script.at(ms(10)).duplicates(3);
    script.skip();
    script.at(ms(20));
    assert!(script.log().iter().any(|sent| sent.at == ms(20)));
}

#[test]
fn the_safeguard_lets_unmarked_losses_pass() {
    let careful = Reservation { timed: every(20), safeguard: true, ..terms(2) };
    let mut script = reserved(&plain(Recovery::Reno, 8), &careful);
    script.at(ms(10)).ack(2000);
    script.at(ms(15)).duplicates(3); // segment 2 found no tokens
    assert_eq!(script.sender.counters().fast_retransmits, 1);
    assert_eq!(script.sender.counters().reservations_given_up, 0);
    // Its retransmission was marked: if that is lost too, a marked packet was lost.
    script.at(ms(2000));
    assert_eq!(script.sender.counters().reservations_given_up, 1);
}

#[test]
fn every_recovery_takes_a_reservation() {
    for recovery in [Recovery::OldTahoe, Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = reserved(&plain(recovery, 4), &Reservation { timed: every(20), ..terms(3) });
        script.at(ms(20)).duplicates(4);
        script.at(ms(3000));
        let acked = script.log().iter().map(|sent| sent.data.end).max().unwrap();
        script.ack(acked);
        assert!(script.log().len() > 7, "{recovery:?}");
        let marked = script.log().iter().filter(|sent| sent.segment.flags.has(Flags::RESERVED)).count();
        assert!(marked as u64 <= 3 + 1500, "{recovery:?}: more than the bucket lets pass");
    }
}
