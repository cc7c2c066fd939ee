//! Linux's retransmission timer, by the numbers of its `tcp_rtt_estimator`, `tcp_set_rto` and timer wheel.

use crate::common;

use common::{MSS, Script, config, ms, nth};
use varicap_tcp::{Flags, LinuxTimer, Recovery, Sender, TcpConfig, Timer};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Span, Time};

/// Without the wheel, so that deadlines are exact.
fn exact() -> LinuxTimer {
    LinuxTimer { wheel: false, ..LinuxTimer::default() }
}

fn with(timer: LinuxTimer, window: u64) -> TcpConfig {
    TcpConfig {
        timer: Timer::Linux(timer),
        initial_window: Amount::Packets(window),
        ..config(Recovery::Reno, window)
    }
}

/// The RTO after round trips of one segment each that take this long [us].
fn rto_after(timer: LinuxTimer, rtts_us: &[u64]) -> Span {
    let mut script = Script::greedy(&TcpConfig { max_window: Amount::Packets(1), ..with(timer, 1) });
    let mut now = Time::ZERO;
    for (number, &rtt) in (1..).zip(rtts_us) {
        now += Span::from_micros(rtt);
        assert_eq!(script.at(now).ack(number * MSS).rtt, Some(Span::from_micros(rtt)));
    }
    script.sender.rto()
}

#[test]
fn the_deviation_is_at_least_the_minimum() {
    // SRTT 40 + max(4 * 20, 200); RFC 6298 would have 200.
    assert_eq!(rto_after(exact(), &[40_000]), Span::from_millis(240));
    let steady = [40_000; 50];
    assert_eq!(rto_after(exact(), &steady), Span::from_millis(240));
    let long = LinuxTimer { minimum: Span::from_secs(1), ..exact() };
    assert_eq!(rto_after(long, &steady), Span::from_millis(1040));
}

#[test]
fn the_first_sample_counts_three_times() {
    assert_eq!(rto_after(exact(), &[150_000]), Span::from_millis(450 + 2));
    assert_eq!(rto_after(LinuxTimer { hertz: 1000, ..exact() }, &[150_000]), Span::from_millis(450));
}

#[test]
fn the_rto_is_rounded_up_to_ticks() {
    assert_eq!(rto_after(exact(), &[33_001]), Span::from_millis(236));
    assert_eq!(rto_after(exact(), &[36_000]), Span::from_millis(236));
    assert_eq!(rto_after(LinuxTimer { hertz: 1000, ..exact() }, &[33_001]), Span::from_millis(234));
}

/// So small a minimum that the deviation shows.
fn small() -> LinuxTimer {
    LinuxTimer { minimum: Span::from_millis(20), ..exact() }
}

#[test]
fn a_longer_round_trip_raises_the_deviation_at_once() {
    // The error is 60, the mean deviation 20: four of them are 80 - 20 + 60 = 120; SRTT 40 + 60/8 = 47.5.
    assert_eq!(rto_after(small(), &[40_000, 100_000]), Span::from_millis(168));
}

#[test]
fn a_shorter_round_trip_counts_an_eighth() {
    // The error is 300, the mean deviation 200: four of them are 800 + 100/8; SRTT 400 - 300/8 = 362.5.
    assert_eq!(rto_after(exact(), &[400_000, 100_000]), Span::from_millis(1176));
}

#[test]
fn the_deviation_falls_by_a_quarter_of_the_way_in_a_round_trip() {
    // 120 as above; then the largest one of the round trip is 120 - 30 = 90: 120 - 30/4 = 112.5; SRTT 47.5.
    assert_eq!(rto_after(small(), &[40_000, 100_000, 47_500]), Span::from_millis(160));
}

#[test]
fn it_falls_once_a_round_trip_and_not_with_each_sample() {
    // Ten segments are in flight, and each is acknowledged by itself: a round trip gives ten equal samples.
    let mut script = Script::greedy(&TcpConfig { max_window: Amount::Packets(10), ..with(exact(), 10) });
    let mut rtos = Vec::new();
    for number in 1..=40_u64 {
        let round = number.div_ceil(10);
        script.at(ms(400 * round)).ack(number * MSS);
        rtos.push(script.sender.rto().as_millis_f64());
    }
    // The first sample gives 800; the largest of the first round trip is the same, that of the second the minimum, 200.
    assert_eq!(rtos[..20], [1200.0; 20]);
    assert_eq!(rtos[20..30], [1052.0; 10], "400 + 800 - 600/4, rounded up");
    assert_eq!(rtos[30..], [940.0; 10], "400 + 650 - 450/4, rounded up");
}

#[test]
fn before_the_first_sample_it_is_a_second_and_doubles_up_to_two_minutes() {
    let mut script = Script::greedy(&with(exact(), 1));
    script.skip();
    let mut at = 0;
    for wait in [1, 2, 4, 8, 16, 32, 64, 120, 120] {
        at += wait;
        script.at(ms(at * 1000));
        script.expect_at(ms(at * 1000), nth(0));
    }
}

#[test]
fn a_sample_ends_the_backoff() {
    let mut script = Script::greedy(&with(exact(), 1));
    script.at(ms(1100));
    assert_eq!(script.sender.rto(), Span::from_secs(2));
    assert_eq!(script.ack(MSS).rtt, None);
    assert_eq!(script.sender.rto(), Span::from_secs(2));
    script.at(ms(1140)).ack(2 * MSS);
    assert_eq!(script.sender.rto(), Span::from_millis(240));
}

#[test]
fn the_wheel_fires_in_the_next_tick_or_at_the_end_of_its_slot() {
    // 240 ms are 60 ticks: one slot each. From 40 ms, that is tick 10, they end with tick 71.
    let mut script = Script::greedy(&with(LinuxTimer::default(), 1));
    // 250 ticks: slots of eight ticks.
    assert_eq!(script.sender.poll_at(), ms(256 * 4));
    script.at(ms(40)).ack(MSS);
    assert_eq!(script.sender.poll_at(), ms(71 * 4));
    // 43 ms are still in tick 10.
    let mut script = Script::greedy(&with(LinuxTimer::default(), 1));
    script.at(ms(43)).ack(MSS);
    assert_eq!((script.sender.rto(), script.sender.poll_at()), (Span::from_millis(244), ms(72 * 4)));
}

fn syns(timer: LinuxTimer, count: usize) -> Vec<Time> {
    let mut sender = Sender::new(&TcpConfig { handshake: true, ..with(timer, 1) }, Time::ZERO);
    sender.write(Bytes::MAX);
    let mut now = Time::ZERO;
    let mut times = Vec::new();
    while times.len() < count {
        let syn = sender.poll(now).expect("a SYN");
        assert!(syn.flags.has(Flags::SYN) && sender.poll(now).is_none());
        times.push(now);
        now = sender.poll_at();
    }
    times
}

#[test]
fn the_first_syns_follow_each_other_evenly() {
    assert_eq!(syns(exact(), 8), [0, 1, 2, 3, 4, 5, 7, 11].map(|at| ms(at * 1000)));
    let at_once = LinuxTimer { linear_syn_timeouts: 0, ..exact() };
    assert_eq!(syns(at_once, 4), [0, 1, 3, 7].map(|at| ms(at * 1000)));
}

#[test]
fn data_after_a_lost_syn_starts_with_three_seconds() {
    let mut sender = Sender::new(&TcpConfig { handshake: true, ..with(exact(), 1) }, Time::ZERO);
    sender.write(Bytes::MAX);
    sender.poll(Time::ZERO).expect("a SYN");
    sender.poll(ms(1000)).expect("another");
    let answer = varicap_tcp::Segment {
        flags: Flags::SYN.with(Flags::ACK).with(Flags::RESENT),
        window: u32::MAX,
        ..Default::default()
    };
    sender.push(ms(1040), &answer);
    sender.poll(ms(1040)).expect("data");
    assert_eq!((sender.rto(), sender.poll_at()), (Span::from_secs(3), ms(4040)));
    // The expiries of data double it at once.
    sender.poll(ms(4040)).expect("data");
    assert_eq!(sender.rto(), Span::from_secs(6));
}

#[test]
fn nonsense_is_refused() {
    let default = LinuxTimer::default();
    assert!(default.check().is_ok());
    assert!(LinuxTimer { hertz: 0, ..default }.check().is_err());
    assert!(LinuxTimer { minimum: Span::ZERO, ..default }.check().is_err());
    assert!(LinuxTimer { minimum: Span::from_secs(121), ..default }.check().is_err());
    assert!(LinuxTimer { initial: Span::from_secs(121), ..default }.check().is_err());
}
