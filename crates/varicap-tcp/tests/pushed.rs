//! Where the writes of an application end (PSH of RFC 9293 §3.9.1.2), as a receiver hears it that heeds it.

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::{AckPolicy, DelayedAck, Flags, Receiver, Recovery, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Time};

fn heeding(pushed_at_once: bool) -> TcpConfig {
    let ack = AckPolicy::Delayed(DelayedAck { pushed_at_once, ..DelayedAck::default() });
    TcpConfig { ack, ..config(Recovery::Sack, 10) }
}

/// Where the segments begin that say that a write ends in them.
fn pushed(script: &Script) -> Vec<u64> {
    let said = script.log().iter().filter(|sent| sent.segment.flags.has(Flags::PUSH));
    said.map(|sent| sent.data.start).collect()
}

#[test]
fn the_segment_in_which_a_write_ends_says_so() {
    let mut script = Script::offering(&heeding(true), 2 * MSS + 300);
    script.at(ms(1)).write(700).write(MSS);
    assert_eq!(pushed(&script), [2 * MSS, 2 * MSS + 300, 3 * MSS]);
    let mut silent = Script::offering(&heeding(false), 2 * MSS + 300);
    silent.at(ms(1)).write(700);
    assert_eq!(pushed(&silent), [0; 0], "nobody heeds it");
}

#[test]
fn a_write_that_waited_for_the_window_ends_where_it_did() {
    let mut script = Script::offering(&heeding(true), 10 * MSS);
    script.write(MSS).write(2 * MSS);
    assert_eq!(pushed(&script), [9 * MSS]);
    script.at(ms(50)).ack(10 * MSS);
    assert_eq!(pushed(&script), [9 * MSS, 10 * MSS, 12 * MSS]);
}

#[test]
fn what_is_sent_again_says_so_again_and_what_never_ends_does_not() {
    let mut script = Script::offering(&heeding(true), MSS);
    script.at(ms(5000));
    assert!(script.log().len() > 1, "sent again");
    assert_eq!(pushed(&script).len(), script.log().len());
    let mut greedy = Script::greedy(&heeding(true));
    greedy.at(ms(50)).ack(10 * MSS);
    assert_eq!(pushed(&greedy), [0; 0]);
}

#[test]
fn what_was_taken_back_ends_no_write() {
    let mut script = Script::offering(&heeding(true), 20 * MSS);
    script.sender.withdraw();
    script.at(ms(50)).ack(10 * MSS);
    script.write(MSS);
    assert_eq!(pushed(&script), [10 * MSS]);
}

/// The acknowledgement of a source that writes a packet every 30 ms comes with each packet, and not with every second one.
#[test]
fn a_source_that_writes_packet_by_packet_hears_of_each_at_once() {
    let waited = |pushed_at_once| {
        let config = heeding(pushed_at_once);
        let (mut sender, mut receiver) =
            (Sender::new(&config, Time::ZERO), Receiver::new(&config, Time::ZERO));
        let mut longest = Span::ZERO;
        for at in (0..10).map(|step| ms(30 * step)) {
            sender.write(Bytes::new(MSS));
            let segment = sender.poll(at).expect("there is room");
            receiver.push(at, &segment);
            while let Some(ack) = receiver.poll(at) {
                longest = longest.max(at - ack.echo);
                sender.push(at, &ack);
            }
        }
        longest
    };
    assert_eq!((waited(true), waited(false)), (Span::ZERO, Span::from_millis(30)));
}
