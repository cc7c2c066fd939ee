//! The cost to a sender of a lost SYN, or of one that is answered late. Source: RFC 5681 §3.1 and §4.1, RFC 6298 (5.7); Linux
//! 6.12 and 6.18, `tcp_init_transfer`, `tcp_try_undo_spurious_syn` and `tcp_cwnd_restart`.

use crate::common;

use common::{MSS, config, ms, segments};
use varicap_tcp::congestion::CubicConfig;
use varicap_tcp::{
    Congestion, Flags, LinuxTimer, RackConfig, Recovery, Segment, Sender, Stack, TcpConfig, Timer,
};
use varicap_units::{Amount, Bytes, Span, Time};

/// The stacks that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    Rfc,
    Linux,
}

/// A connection with the habits of a stack about its SYN, a window of ten segments and exact timers.
fn habits(habit: Habit, timestamps: bool) -> TcpConfig {
    let base = TcpConfig { handshake: true, timestamps, ..config(Recovery::Rack(RackConfig::linux()), 10) };
    match habit {
        Habit::Rfc => base,
        Habit::Linux => TcpConfig {
            stack: Stack::Linux,
            timer: Timer::Linux(LinuxTimer { wheel: false, ..LinuxTimer::default() }),
            after_lost_syn: varicap_tcp::AfterLostSyn::Linux,
            ..base
        },
    }
}

/// A sender that has sent SYNs until `now`, of which the one number `answered` is answered then; and when each left.
fn connected(config: &TcpConfig, now: Time, answered: usize) -> (Sender, Vec<Time>) {
    let mut sender = Sender::new(config, Time::ZERO);
    sender.write(Bytes::MAX);
    let mut syns = Vec::new();
    while sender.poll_at() <= now || syns.is_empty() {
        let at = if syns.is_empty() { Time::ZERO } else { sender.poll_at() };
        let syn = sender.poll(at).expect("a SYN");
        assert!(syn.flags.has(Flags::SYN));
        syns.push(at);
        assert!(sender.poll(at).is_none());
    }
    let resent = if answered > 0 { Flags::RESENT } else { Flags::default() };
    let flags = Flags::SYN.with(Flags::ACK).with(resent);
    sender.push(now, &Segment { flags, window: 1 << 30, echo: syns[answered], ..Segment::default() });
    (sender, syns)
}

fn window(sender: &Sender) -> u64 {
    sender.cwnd().as_u64() / MSS
}

/// The first window after the SYN has timed out `losses` times, and the SYN number `answered` was answered after 200 ms; or
/// 200 ms after the last one was sent if an earlier one was.
fn first_window(habit: Habit, timestamps: bool, losses: usize, answered: usize) -> u64 {
    let config = habits(habit, timestamps);
    let (_, syns) = connected(&config, ms(60_000), 0);
    let (sender, sent) = connected(&config, syns[losses] + Span::from_millis(200), answered);
    assert_eq!(sent.len(), losses + 1);
    window(&sender)
}

#[test]
fn one_lost_syn_costs_linux_nothing_and_the_standard_all_but_one_segment() {
    for timestamps in [false, true] {
        assert_eq!(first_window(Habit::Linux, timestamps, 0, 0), 10);
        assert_eq!(first_window(Habit::Linux, timestamps, 1, 1), 10);
        assert_eq!(first_window(Habit::Rfc, timestamps, 0, 0), 10);
        assert_eq!(first_window(Habit::Rfc, timestamps, 1, 1), 1);
    }
}

#[test]
fn a_syn_that_is_answered_late_costs_linux_nothing_however_often_it_timed_out() {
    for losses in 1..=4 {
        assert_eq!(first_window(Habit::Linux, true, losses, 0), 10, "{losses} losses");
        // RFC 5681 knows no late answers: RFC 6298's timer expired.
        assert_eq!(first_window(Habit::Rfc, true, losses, 0), 1, "{losses} losses");
    }
}

#[test]
fn two_losses_cost_linux_all_but_one_segment_unless_the_first_syn_is_answered() {
    for (timestamps, losses, answered) in
        [(true, 2, 2), (true, 2, 1), (true, 3, 3), (true, 3, 1), (false, 2, 2), (false, 3, 3), (false, 2, 0)]
    {
        let found = first_window(Habit::Linux, timestamps, losses, answered);
        assert_eq!(found, 1, "{losses} losses, answered {answered}, timestamps {timestamps}");
    }
}

/// All that is sent after it was idle for ten seconds, in a connection whose SYN timed out `losses` times and whose SYN
/// number `answered` was answered.
fn restart_window(config: &TcpConfig, losses: usize, answered: usize) -> u64 {
    let (_, syns) = connected(config, ms(60_000), 0);
    let mut now = syns[losses] + Span::from_millis(200);
    let mut sender = Sender::new(config, Time::ZERO);
    sender.write(Bytes::new(60 * MSS));
    for &at in &syns[..=losses] {
        sender.poll(at).expect("a SYN");
    }
    let flags = Flags::SYN.with(Flags::ACK);
    sender.push(now, &Segment { flags, window: 1 << 30, echo: syns[answered], ..Segment::default() });
    let mut acked = 0;
    while acked < 60 * MSS {
        let sent = now;
        while let Some(segment) = sender.poll(now) {
            acked = segment.seq + u64::from(segment.len);
        }
        now += Span::from_millis(100);
        let ack =
            Segment { ack: acked, flags: Flags::ACK, window: 1 << 30, echo: sent, ..Segment::default() };
        sender.push(now, &ack);
    }
    assert!(window(&sender) > 10, "it has opened to {}", window(&sender));
    now += Span::from_secs(60);
    sender.write(Bytes::new(200 * MSS));
    let leaving: Vec<_> = std::iter::from_fn(|| sender.poll(now)).map(|sent| sent.seq).collect();
    assert_eq!(leaving[0], segments(60, 1)[0].start);
    leaving.len() as u64
}

/// RFC 5681 §4.1: RW = min(IW, cwnd), where IW is what §3.1 allows: the one segment after a lost SYN is the first window of
/// that moment, and says nothing of a path on which data has been acknowledged since. Linux: `tcp_init_cwnd`.
#[test]
fn a_restart_after_idle_begins_with_the_configured_window_whatever_became_of_the_syn() {
    let cubic = Congestion::Cubic(CubicConfig::default());
    for habit in [Habit::Rfc, Habit::Linux] {
        for congestion in [config(Recovery::Sack, 1).congestion, cubic.clone()] {
            for (losses, answered) in [(0, 0), (1, 1), (1, 0), (2, 2), (2, 0)] {
                let config = TcpConfig { congestion: congestion.clone(), ..habits(habit, true) };
                assert_eq!(restart_window(&config, losses, answered), 10, "{habit:?}, {losses} losses");
            }
        }
    }
}

/// A window of four in the configuration is four after a lost SYN, and after idle.
#[test]
fn the_configured_window_is_what_counts() {
    let config = TcpConfig { initial_window: Amount::Packets(4), ..habits(Habit::Linux, true) };
    assert_eq!(window(&connected(&config, ms(1200), 1).0), 4);
    assert_eq!(restart_window(&config, 2, 2), 4);
}
