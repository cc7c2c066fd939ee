//! The questions of an observer of a connection: what the scoreboard believes, and the acknowledgement that data carries.

use crate::common;

use common::{MSS, Script, answer, config, data, held, ms, timer};
use varicap_tcp::{AckPolicy, Beliefs, DelayedAck, Receiver, Recovery};
use varicap_units::Span;

#[test]
fn a_sender_with_a_scoreboard_counts_what_is_sacked_lost_and_resent() {
    let mut script = Script::greedy(&config(Recovery::Sack, 10));
    assert_eq!(script.sender.beliefs(), Some(Beliefs::default()));
    script.at(ms(100)).sack(0, &[held(1, 4)]);
    // RFC 6675 §4: with three segments SACKed above it the first is lost, and it is resent at once.
    let expected = Beliefs { sacked: 3 * MSS, lost: MSS, resent: MSS };
    assert_eq!(script.sender.beliefs(), Some(expected));
    script.at(ms(200)).ack(4 * MSS);
    assert_eq!(script.sender.beliefs(), Some(Beliefs::default()));
}

#[test]
fn a_sender_without_sack_believes_nothing() {
    let script = Script::greedy(&config(Recovery::NewReno, 10));
    assert_eq!(script.sender.beliefs(), None);
}

#[test]
fn expiries_in_a_row_are_counted_until_new_data_is_acknowledged() {
    let mut script =
        Script::greedy(&varicap_tcp::TcpConfig { timer: timer(200, 1), ..config(Recovery::Reno, 1) });
    assert_eq!(script.sender.expiries(), 0);
    script.at(ms(3500));
    assert_eq!(script.sender.expiries(), 2);
    script.ack(MSS);
    assert_eq!(script.sender.expiries(), 0);
}

#[test]
fn data_carries_the_delayed_acknowledgement_along() {
    let mut settings = config(Recovery::Sack, 10);
    settings.ack = AckPolicy::Delayed(DelayedAck {
        segments: 2,
        timeout: Span::from_millis(40),
        ..DelayedAck::default()
    });
    let mut receiver = Receiver::new(&settings, ms(0));
    assert!(answer(&mut receiver, ms(10), &data(0)).is_empty());
    assert_eq!(receiver.acknowledge(ms(20)).ack, MSS);
    // Nothing is left to delay, and the next segment is the first of two again.
    assert!(receiver.poll(ms(100)).is_none());
    assert!(answer(&mut receiver, ms(110), &data(1)).is_empty());
    assert_eq!(receiver.poll_at(), ms(150));
}
