//! When a silent peer is given up. Source: Linux 6.12 and 6.18, `tcp_write_timeout` (`tcp_retries2`, `tcp_syn_retries`) and
//! `tcp_probe_timer`.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::{Flags, LinuxTimer, RackConfig, Recovery, Segment, Sender, TcpConfig, Timer, WindowProbe};
use varicap_units::{Bytes, Span, Time};

fn linux(timer: LinuxTimer) -> TcpConfig {
    let timer = Timer::Linux(LinuxTimer { wheel: false, hertz: 1000, ..timer });
    let recovery = Recovery::Rack(RackConfig { tail_loss_probe: false, ..RackConfig::linux() });
    TcpConfig { timer, ..config(recovery, 1) }
}

/// A sender whose RTT is 100 ms, and of which a segment leaves at 100 ms that nobody answers.
fn unanswered(config: &TcpConfig) -> Script {
    let mut script = Script::offering(config, MSS);
    script.at(ms(100)).ack(MSS);
    script.skip();
    script.write(MSS);
    script
}

fn seconds(script: &Script) -> Vec<f64> {
    script.log()[1..].iter().map(|sent| sent.at.as_secs_f64()).collect()
}

/// 15 retransmissions: of 0.3 s, doubled to 76.8 s, and then 120 s apart.
#[test]
fn linux_gives_up_when_so_many_retransmissions_are_over_as_take_924_600_ms_from_200_ms_on() {
    let mut script = unanswered(&linux(LinuxTimer::default()));
    script.at(ms(993_399));
    let sent = seconds(&script);
    assert_eq!(sent.len(), 1 + 15, "{sent:?}");
    assert!(
        !script.sender.gave_up() && script.sender.poll_at() == ms(993_400),
        "{:?}",
        script.sender.poll_at()
    );
    script.at(ms(5_000_000));
    assert!(script.sender.gave_up() && script.log().len() == 17, "nothing leaves any more");
    assert!(script.sender.poll_at().is_never());
    assert_eq!(script.sender.counters().timeouts, 16);
}

#[test]
fn how_long_it_takes_follows_from_the_count_and_the_largest_rto() {
    let ends = |retries2, maximum| {
        let config = linux(LinuxTimer { retries2, maximum, ..LinuxTimer::default() });
        let mut script = unanswered(&config);
        script.at(ms(5_000_000));
        assert!(script.sender.gave_up());
        script.last().at.as_secs_f64()
    };
    // Three doublings: 3 s from the first retransmission, at 0.4 s, on. The expiry at 4.6 s is the first one after that.
    assert!((ends(3, Span::from_secs(120)) - 2.2).abs() < 1e-9);
    // (2^4 - 1) 200 ms and three times 2 s: 9 s. Retransmissions at 0.4, 1, 2.2, 4.2, 6.2, 8.2 s; the next is due at 10.2 s.
    assert!((ends(6, Span::from_secs(2)) - 8.2).abs() < 1e-9);
    // The first expiry never is the last.
    assert!((ends(0, Span::from_secs(120)) - 0.4).abs() < 1e-9);
}

#[test]
fn the_standards_timer_asks_indefinitely() {
    let mut script = unanswered(&config(Recovery::Sack, 1));
    script.at(ms(10_000_000));
    assert!(!script.sender.gave_up() && !script.sender.poll_at().is_never());
}

/// Data that is acknowledged begins the count anew.
#[test]
fn a_peer_that_answers_in_time_is_not_given_up() {
    let mut script = unanswered(&linux(LinuxTimer { retries2: 3, ..LinuxTimer::default() }));
    for round in 1..20 {
        // The window is one segment: the next one follows the acknowledgement.
        script.at(ms(2_000 * round)).write(MSS).ack((1 + round) * MSS);
    }
    assert!(!script.sender.gave_up());
    script.at(ms(60_000));
    assert!(script.sender.gave_up());
}

#[test]
fn what_comes_after_the_end_changes_nothing() {
    let mut script = unanswered(&linux(LinuxTimer { retries2: 2, ..LinuxTimer::default() }));
    script.at(ms(60_000));
    assert!(script.sender.gave_up());
    script.skip();
    script.ack(2 * MSS);
    script.write(10 * MSS);
    script.sender.close();
    script.at(ms(90_000));
    script.expect_nothing();
    assert_eq!(script.sender.counters().acked_bytes, MSS);
    assert!(!script.sender.is_done() && script.sender.poll_at().is_never());
}

/// The instants at which SYNs leave that nobody answers, and that at which the sender gives up [s].
fn syns(timer: LinuxTimer) -> (Vec<f64>, f64) {
    let mut sender = Sender::new(&TcpConfig { handshake: true, ..linux(timer) }, Time::ZERO);
    sender.write(Bytes::new(MSS));
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    while !sender.gave_up() {
        left.extend(std::iter::from_fn(|| sender.poll(now)).map(|syn| syn.sent_at.as_secs_f64()));
        if !sender.gave_up() {
            now = sender.poll_at();
        }
    }
    let late = Segment { flags: Flags::SYN.with(Flags::ACK), window: 1 << 20, ..Segment::default() };
    sender.push(now, &late);
    assert!(sender.poll(now).is_none() && sender.poll_at().is_never(), "an answer that is too late");
    (left, now.as_secs_f64())
}

#[test]
fn linux_gives_up_connecting_after_131_seconds() {
    let (left, end) = syns(LinuxTimer::default());
    assert_eq!(left, [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67].map(f64::from));
    assert!((end - 131.0).abs() < 1e-9, "{end}");
    let (left, end) = syns(LinuxTimer { linear_syn_timeouts: 0, syn_retries: 2, ..LinuxTimer::default() });
    assert_eq!((left, end), (vec![0.0, 1.0, 3.0], 7.0));
}

/// A receiver that closed its window, and is silent or says so again and again.
#[test]
fn probes_count_until_one_is_answered() {
    for window_probe in [WindowProbe::OldSequence, WindowProbe::Byte] {
        for answers in [false, true] {
            let timer = LinuxTimer { retries2: 4, maximum: Span::from_secs(2), ..LinuxTimer::default() };
            let mut script = Script::offering(&TcpConfig { window_probe, ..linux(timer) }, 9 * MSS);
            script.window(0).at(ms(100)).ack(MSS);
            let first = script.log().len();
            for tenth in 2..400 {
                let sent = script.log().len();
                script.at(ms(100 * tenth));
                if answers && script.log().len() > sent {
                    script.ack(MSS);
                }
            }
            assert_eq!(script.sender.gave_up(), !answers, "{window_probe:?}");
            assert_eq!(script.log().len() - first == 4, !answers, "{window_probe:?}");
        }
    }
}

/// Twice the largest RTO: the expiry before which nothing arrived for longer than 4 s. RFC 1122 §4.2.2.17 asks for patience
/// with receivers that answer alone.
#[test]
fn a_receiver_that_takes_its_window_back_and_falls_silent_is_given_up() {
    let timer = LinuxTimer { retries2: 2, maximum: Span::from_secs(2), ..LinuxTimer::default() };
    let mut script = unanswered(&linux(timer));
    script.window(0);
    for second in 1..20 {
        script.at(ms(1000 * second)).ack(MSS);
    }
    script.at(ms(23_000));
    assert!(!script.sender.gave_up());
    script.at(ms(28_000));
    assert!(script.sender.gave_up());
    let mut asked = unanswered(&config(Recovery::Sack, 1));
    asked.window(0).at(ms(1000)).ack(MSS);
    asked.at(ms(10_000_000));
    assert!(
        !asked.sender.gave_up() && !asked.sender.poll_at().is_never(),
        "the standards' timer never gives up"
    );
}

/// RFC 9293 §3.8.6: what is resent into a window that was taken back asks whether it has opened, and is answered.
#[test]
fn a_receiver_that_takes_its_window_back_and_answers_is_not_given_up() {
    let timer = LinuxTimer { retries2: 2, maximum: Span::from_secs(2), ..LinuxTimer::default() };
    let mut script = unanswered(&linux(timer));
    script.window(0);
    for second in 1..60 {
        script.at(ms(1000 * second)).ack(MSS);
    }
    assert!(!script.sender.gave_up());
}
